"""Rows `conformance/…`: the official suite in server mode, scenario by scenario, against the expectations."""

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from .process import Failed, run
from .report import Report

EXPECTATIONS = Path(__file__).parent.parent / "expectations.toml"
REVISIONS = ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
# A whole revision takes three seconds where all is well; a scenario gives up by itself after ten.
SCENARIO_MS = 10_000
SUITE_SECONDS = 240.0


@dataclass(frozen=True)
class KnownFailure:
    """Scenarios that fail for now, and why; without revisions or faces, in all of them."""

    reason: str
    scenarios: list[str]
    revisions: tuple[str, ...] = REVISIONS
    downstreams: tuple[str, ...] = ("http", "stdio")

    def covers(self, scenario: str, revision: str, downstream: str) -> bool:
        return scenario in self.scenarios and revision in self.revisions and downstream in self.downstreams


class Expectations:
    """expectations.toml: each scenario is required, or a known failure, or both in different revisions."""

    def __init__(self, path: Path = EXPECTATIONS):
        content = tomllib.loads(path.read_text())
        self.required: dict[str, list[str]] = content["required"]
        self.known = [KnownFailure(**entry) for entry in content.get("known_failure", [])]

    def known_reason(self, scenario: str, revision: str, downstream: str) -> str | None:
        return next((entry.reason for entry in self.known if entry.covers(scenario, revision, downstream)), None)

    def unexpected_pass(self, scenario: str, known_reason: str | None) -> str | None:
        """Why a scenario that passes is not as expected, or None."""
        if known_reason:
            return f"passes, but expectations.toml knows it as failing ({known_reason}): narrow or delete that entry"
        return None if scenario in self.required else "passes, but is not in expectations.toml: name it in [required]"

    def missing(self, revision: str, seen: set[str]) -> list[str]:
        """Required scenarios of the revision that the suite did not run."""
        return sorted(name for name, revisions in self.required.items() if revision in revisions and name not in seen)


class Conformance:
    def __init__(self, installed: Path, report: Report, expectations: Expectations | None):
        """Without expectations every scenario must pass."""
        self._report = report
        self._expectations = expectations
        script = installed / "npm/node_modules/@modelcontextprotocol/conformance/dist/index.js"
        self._suite = [str(installed / "node"), str(script)]

    def wanted(self, downstream: str) -> list[str]:
        """The revisions of which some row is asked for."""

        def wants(revision: str) -> bool:
            rows = (f"conformance/{downstream}/{revision}/{name}" for name in self._names(revision))
            return any(map(self._report.wants, rows))

        return [revision for revision in REVISIONS if wants(revision)]

    def rows(self, downstream: str, url: str) -> None:
        """The wanted scenarios of every revision against one address."""
        for revision in self.wanted(downstream):
            prefix = f"conformance/{downstream}/{revision}"
            try:
                outcomes = self._run(downstream, revision, url)
            except Failed as error:
                self._report.add(f"{prefix}/run", str(error), always=True)
                continue
            for scenario, problem in outcomes.items():
                self._judge(prefix, downstream, revision, scenario, problem)
            if self._expectations:
                for scenario in self._expectations.missing(revision, set(outcomes)):
                    self._report.add(f"{prefix}/{scenario}", "required, but the suite did not run it")

    def _judge(self, prefix: str, downstream: str, revision: str, scenario: str, problem: str | None) -> None:
        row, expected = f"{prefix}/{scenario}", self._expectations
        known = expected.known_reason(scenario, revision, downstream) if expected else None
        if problem and known:
            self._report.known(row, known)
        elif problem or not expected:
            self._report.add(row, problem)
        else:
            self._report.add(row, expected.unexpected_pass(scenario, known))

    def _names(self, revision: str) -> list[str]:
        code, out = run([*self._suite, "list", "--spec-version", revision], self._report.logs / "suite-list.log", 30)
        if code != 0:
            raise Failed(f"the suite's list of scenarios: exit code {code}")
        servers = out.partition("Server scenarios")[2].partition("\nClient scenarios")[0]
        return re.findall(r"^  - (\S+) \[", servers, re.M)

    def _run(self, downstream: str, revision: str, url: str) -> dict[str, str | None]:
        """Scenario to problem; None where it passes."""
        results = self._report.logs / f"suite-{downstream}-{revision}"
        log = Path(f"{results}.log")
        selection = ["--suite", "all", "--spec-version", revision, "--timeout", str(SCENARIO_MS)]
        command = [*self._suite, "server", "--url", url, *selection, "-o", str(results)]
        code, out = run(command, log, SUITE_SECONDS)
        results.mkdir(exist_ok=True)
        (results / "stdout.txt").write_text(out)
        summary = re.sub(r"\x1b\[[0-9;]*m", "", out).partition("=== SUMMARY ===")[2]
        found = re.findall(r"^([✓✗]) (\S+): (\d+) passed, (\d+) failed", summary, re.M)
        if not found:
            raise Failed(f"exit code {code} and no summary (see {results}/stdout.txt)")
        return {name: self._problem(results, name, mark, int(passed)) for mark, name, passed, _ in found}

    def _problem(self, results: Path, scenario: str, mark: str, passed: int) -> str | None:
        if mark == "✓":
            return None if passed else "no check of it passed"
        checks = [
            check
            for file in results.glob(f"server-{scenario}-[0-9]*/checks.json")
            for check in json.loads(file.read_text())
        ]
        bad = [
            f"{check['id']}: {check.get('errorMessage', 'no message')}"
            for check in checks
            if check["status"] == "FAILURE"
        ]
        return "; ".join(bad)[:400] or "failed without a failed check (see its stdout.txt)"
