"""Programs that the tier starts: each in a process group of its own, each ended when the tier ends."""

import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

# A gateway that drains may take six seconds; after that it is killed.
GRACE_SECONDS = 8.0


class Failed(Exception):
    """A row failed; the text is the reason that the report shows."""


class Ended(Failed):
    """A program ended by itself, so waiting for it is pointless."""


# What runs now, for the case that all must end at once.
_live: set["Program"] = set()
_live_lock = threading.Lock()
_ending = threading.Event()


def end_all() -> None:
    """Ends what runs, and what another leg starts from now on fails."""
    _ending.set()
    with _live_lock:
        programs = list(_live)
    for program in programs:
        program.stop()


class Program:
    """One running program. Leave the `with` block and its whole group is gone."""

    def __init__(
        self, name: str, command: list[str], log: Path, env: dict[str, str] | None = None, pipes: bool = False
    ):
        if _ending.is_set():
            raise Failed("the tier is ending")
        self.name = name
        self.log = log
        self._errors = log.open("ab")
        self.process = subprocess.Popen(
            command,
            env={**os.environ, **(env or {})},
            stdin=subprocess.PIPE if pipes else subprocess.DEVNULL,
            stdout=subprocess.PIPE if pipes else self._errors,
            stderr=self._errors,
            start_new_session=True,
        )
        self._stopping = threading.Lock()
        with _live_lock:
            _live.add(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def must_run(self) -> None:
        if self.process.poll() is not None:
            raise Ended(f"{self.name} ended with exit code {self.process.returncode} (log: {self.log})")

    def stop(self) -> None:
        """End of input, then TERM, then KILL, each to the whole group."""
        with self._stopping:
            if not self._errors.closed:
                self._stop()
        with _live_lock:
            _live.discard(self)

    def _stop(self) -> None:
        if self.process.stdin:
            try:
                self.process.stdin.close()
                self.process.wait(1)
            except (OSError, subprocess.TimeoutExpired):
                pass
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, sign)
                self.process.wait(GRACE_SECONDS)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass
        self.process.wait()
        self._errors.close()


def run(command: list[str], log: Path, timeout: float, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Runs a program to its end; its exit code and stdout. On a time-out its group is ended."""
    with Program(command[0], command, log, env, pipes=True) as program:
        try:
            out, _ = program.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            raise Failed(f"no end after {timeout:.0f} s (log: {log})") from None
        return program.process.returncode, out.decode(errors="replace")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(what: str, seconds: float, attempt, every: float = 0.05):
    """Repeats `attempt` until it returns something true; fails with the last reason when the time is up."""
    end = time.monotonic() + seconds
    reason = ""
    while True:
        try:
            if value := attempt():
                return value
        except Ended as error:
            raise Failed(f"{what}: {error}") from None
        except (Failed, OSError) as error:
            reason = f": {error}"
        if time.monotonic() > end:
            raise Failed(f"{what}: not within {seconds:.0f} s{reason}")
        time.sleep(every)
