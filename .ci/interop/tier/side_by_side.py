"""Runs the tier's legs two at a time: on two cores most of a leg is waiting for the other side to start."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from .process import end_all

AT_ONCE = 2


def side_by_side(legs: Iterable[Callable[[], None]]) -> None:
    """Returns when every leg has ended. A leg reports its own failures; what it raises is a mistake in the tier."""
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        for leg in [pool.submit(leg) for leg in legs]:
            leg.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        # A leg waits for its programs, so it ends when they do.
        end_all()
        raise
    pool.shutdown()
