"""expectations.toml: which scenarios there are, and which rows fail for a reason that is written down."""

import fnmatch
import threading
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from .report import Report

EXPECTATIONS = Path(__file__).parent.parent / "expectations.toml"


@dataclass
class KnownFailure:
    """Rows that fail, and why. A row is `AT/SCENARIO`, where AT matches one of the patterns."""

    reason: str
    at: list[str]
    scenarios: list[str]
    seen: set[str] = field(default_factory=set)

    def covers(self, row: str) -> bool:
        at, _, scenario = row.rpartition("/")
        return scenario in self.scenarios and any(fnmatch.fnmatchcase(at, pattern) for pattern in self.at)


class Expectations:
    """Every row of a table must pass, unless an exception names it; that one must fail."""

    def __init__(self, path: Path = EXPECTATIONS):
        content = tomllib.loads(path.read_text())
        self._lock = threading.Lock()
        self.exceptions = [KnownFailure(**entry) for entry in content.pop("exception", [])]
        self.suite: str = content.pop("suite")
        self._not_scored: dict[str, list[str]] = content.pop("not_scored")
        # Section (server, client, auth, tasks, features) to scenario to the revisions that have it.
        self.sections: dict[str, dict[str, list[str]]] = content

    def scenarios(self, section: str, revision: str) -> list[str]:
        return [name for name, revisions in self.sections[section].items() if revision in revisions]

    def is_scored(self, scenario: str, revision: str) -> bool:
        """Whether the revision requires it; only the newer two have such a set."""
        return revision in self._not_scored and scenario not in self._not_scored[revision]

    def exception(self, row: str) -> KnownFailure | None:
        return next((entry for entry in self.exceptions if entry.covers(row)), None)

    def judge(self, report: Report, row: str, problem: str | None) -> None:
        """Reports one row: as expected, a regression, or a stale exception."""
        exception = self.exception(row)
        if exception:
            with self._lock:
                exception.seen.add(row)
        if problem and exception:
            report.known(row, exception.reason)
        elif exception:
            report.add(
                row, f"passes, but is an exception in expectations.toml ({exception.reason}): narrow or delete it"
            )
        else:
            report.add(row, problem)

    def table(self, report: Report, section: str, at: str, revision: str, outcomes: dict[str, str | None]) -> None:
        """Reports what one run of a revision's scenarios showed, and what it left out."""
        wanted = self.scenarios(section, revision)
        for scenario in wanted:
            self.judge(report, f"{at}/{scenario}", outcomes.get(scenario, "the suite did not run it"))
        for scenario in outcomes.keys() - set(wanted):
            report.add(f"{at}/{scenario}", f"not in expectations.toml: name it in [{section}]")

    def check_used(self, report: Report) -> None:
        """After a run of everything: an exception of which no row was seen is one that nobody needs."""
        for entry in self.exceptions:
            for at in entry.at:
                for scenario in entry.scenarios:
                    if not any(fnmatch.fnmatchcase(row, f"{at}/{scenario}") for row in entry.seen):
                        report.add(f"expectations/{at}/{scenario}", f"no such row; delete it from {entry.reason!r}")
