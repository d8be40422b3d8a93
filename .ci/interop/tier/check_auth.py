"""Rows `auth/REVISION/SCENARIO`: the suite's auth/* in client mode. What it judges is the gateway as a client of
authorization servers, which its operator has authorized there."""

import shlex
from functools import partial
from pathlib import Path

from .expectations import Expectations
from .probe import LEGACY, MODERN
from .process import Failed
from .report import Report
from .servers import PROGRAMS
from .suite import Suite

# Scenarios of extensions are in no revision's set; what the suite calls them is `auth/NAME` throughout.
EXTENSION = "extension"
MODES = {LEGACY: "legacy", MODERN: "auto", "2025-03-26": "legacy", EXTENSION: "legacy"}
PREFIX = "auth/"

# Where the gateway has to refuse, the suite passes one that does not even begin. What `gatewayd login` says shows that it
# refused, and why.
OTHER_ISSUER = "the answer is not from the authorization server that was asked"
REFUSALS = {
    "resource-mismatch": "metadata is for another server than the one that is called",
    "iss-supported-missing": OTHER_ISSUER,
    "iss-wrong-issuer": OTHER_ISSUER,
    "iss-unexpected": OTHER_ISSUER,
    "iss-normalized": OTHER_ISSUER,
    "metadata-issuer-mismatch": "no metadata of the authorization server has exactly its issuer",
}


class Auth:
    def __init__(self, suite: Suite, report: Report, expectations: Expectations, installed: Path, binary: str):
        self._suite = suite
        self._report = report
        self._expectations = expectations
        self._command = shlex.join([str(installed / "modern/bin/python"), str(PROGRAMS / "auth_client.py")])
        self._binary = binary

    def jobs(self) -> list:
        """One job for each wanted scenario."""
        rows = [(revision, name) for revision in MODES for name in self._expectations.scenarios("auth", revision)]
        return [partial(self._scenario, *row) for row in rows if self._report.wants(f"auth/{row[0]}/{row[1]}")]

    def _scenario(self, revision: str, scenario: str) -> None:
        logs = self._report.logs / f"auth-{revision}-{scenario}"
        logs.mkdir()
        env = {"INTEROP_MODE": MODES[revision], "INTEROP_GATEWAYD": self._binary, "INTEROP_LOGS": str(logs)}
        version = None if revision == EXTENSION else revision
        try:
            problem = self._suite.client("auth", self._command, version, PREFIX + scenario, env)
            problem = problem or _wrong_refusal(scenario, logs / "login.log")
        except Failed as error:
            problem = str(error)
        self._expectations.judge(self._report, f"auth/{revision}/{scenario}", problem)


def _wrong_refusal(scenario: str, log: Path) -> str | None:
    wanted = REFUSALS.get(scenario)
    if not wanted or (log.is_file() and wanted in log.read_text(errors="replace")):
        return None
    return f"gatewayd login did not refuse with {wanted!r} (see {log})"
