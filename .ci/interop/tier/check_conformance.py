"""Rows `conformance/LEG/REVISION/SCENARIO` and `tasks/LEG/REVISION/SCENARIO`: the suite in server mode."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from .expectations import Expectations
from .probe import LEGACY, MODERN
from .process import Failed
from .report import Report
from .suite import Suite

HANDSHAKE = ("2025-03-26", "2025-06-18", LEGACY)
EVERY = (*HANDSHAKE, MODERN)
NEWEST = (LEGACY, MODERN)


@dataclass(frozen=True)
class Leg:
    """What stands between the suite and which server. `server` names the one that two legs must not share at once."""

    name: str
    server: str
    revisions: tuple[str, ...]


# A stdio server is one process for each handshake session, which takes a minute a revision: the older ones are left to
# HTTP, and the newest to the server that has nothing else.
LEGS = [
    Leg("direct", "modern-http", EVERY),
    Leg("legacy-stdio", "legacy-stdio", NEWEST),
    Leg("http", "modern-http", EVERY),
    Leg("stdio", "modern-stdio", (MODERN,)),
    Leg("legacy-direct", "legacy-http", HANDSHAKE),
    Leg("pinned-stdio", "modern-stdio", (LEGACY,)),
    Leg("legacy-http", "legacy-http", EVERY),
    Leg("pinned-http", "modern-http", (LEGACY,)),
    Leg("prefixed", "modern-http", NEWEST),
]
TASK_LEGS = [
    Leg("direct", "tasks-http", (MODERN,)),
    Leg("stdio", "tasks-stdio", (MODERN,)),
    Leg("http", "tasks-http", (MODERN,)),
]
DIRECT = ("direct", "legacy-direct")

# Makes a leg's address, which lives as long as the block.
Address = Callable[[Leg], AbstractContextManager[str]]


class Conformance:
    def __init__(self, suite: Suite, report: Report, expectations: Expectations):
        self._suite = suite
        self._report = report
        self._expectations = expectations

    def revision(self, leg: Leg, revision: str, address: Address) -> None:
        """All scenarios of one revision through one leg."""
        at = f"conformance/{leg.name}/{revision}"
        if not self.wants("server", at, revision):
            return
        try:
            with address(leg) as url:
                outcomes = self._suite.server(leg.name, url, revision)
        except Failed as error:
            self._report.add(f"{at}/run", str(error), always=True)
            return
        self._expectations.table(self._report, "server", at, revision, outcomes)

    def tasks(self, leg: Leg, revision: str, address: Address) -> None:
        """The scenarios of the tasks extension, which no revision's set has."""
        at = f"tasks/{leg.name}/{revision}"
        scenarios = [
            name for name in self._expectations.scenarios("tasks", revision) if self._report.wants(f"{at}/{name}")
        ]
        if not scenarios:
            return
        try:
            with address(leg) as url:
                outcomes = {name: self._suite.server_scenario(f"tasks-{leg.name}", url, name) for name in scenarios}
        except Failed as error:
            self._report.add(f"{at}/run", str(error), always=True)
            return
        for scenario, problem in outcomes.items():
            self._expectations.judge(self._report, f"{at}/{scenario}", problem)

    def wants(self, section: str, at: str, revision: str) -> bool:
        return any(self._report.wants(f"{at}/{name}") for name in self._expectations.scenarios(section, revision))
