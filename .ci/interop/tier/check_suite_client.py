"""Rows `client/LEG/REVISION/SCENARIO`: the suite in client mode. Its mock server is the only downstream of a gateway, and
what it judges is the gateway as a client."""

import shlex
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from .expectations import Expectations
from .probe import LEGACY, MODERN
from .process import Failed
from .report import Report
from .servers import PROGRAMS
from .suite import Suite


@dataclass(frozen=True)
class ClientLeg:
    """Whether a gateway stands in between, and the era of the client that uses it, by the revision of the mock."""

    name: str
    gateway: bool
    modes: dict[str, str]
    # Some mock servers take both eras, and such a server is spoken to in the client's: then nothing is translated.
    pinned: bool = False


SAME_ERA = {LEGACY: "legacy", MODERN: "auto"}
CLIENT_LEGS = [
    ClientLeg("direct", False, SAME_ERA),
    ClientLeg("same", True, SAME_ERA),
    ClientLeg("cross", True, {LEGACY: "auto", MODERN: "legacy"}, pinned=True),
]
# Its mock server knows the handshake alone, whatever revision the suite says.
HANDSHAKE_MOCK = "json-schema-ref-no-deref"


class SuiteClient:
    def __init__(self, suite: Suite, report: Report, expectations: Expectations, installed: Path, binary: str | None):
        self._suite = suite
        self._report = report
        self._expectations = expectations
        self._command = shlex.join([str(installed / "modern/bin/python"), str(PROGRAMS / "suite_client.py")])
        self._binary = binary

    def jobs(self, leg: ClientLeg) -> list:
        """One job for each wanted scenario."""
        rows = [(revision, name) for revision in leg.modes for name in self._expectations.scenarios("client", revision)]
        wanted = [row for row in rows if self._report.wants(f"client/{leg.name}/{row[0]}/{row[1]}")]
        return [partial(self._scenario, leg, *row) for row in wanted]

    def _scenario(self, leg: ClientLeg, revision: str, scenario: str) -> None:
        logs = self._report.logs / f"client-{leg.name}-{revision}-{scenario}"
        logs.mkdir()
        try:
            problem = self._suite.client(
                leg.name, self._command, revision, scenario, self._env(leg, revision, scenario, logs)
            )
        except Failed as error:
            problem = str(error)
        self._expectations.judge(self._report, f"client/{leg.name}/{revision}/{scenario}", problem)

    def _env(self, leg: ClientLeg, revision: str, scenario: str, logs: Path) -> dict[str, str]:
        handshake = scenario == HANDSHAKE_MOCK
        if not leg.gateway:
            return {"INTEROP_MODE": "legacy" if handshake else leg.modes[revision]}
        env = {"INTEROP_MODE": leg.modes[revision], "INTEROP_GATEWAYD": self._binary, "INTEROP_LOGS": str(logs)}
        if leg.pinned and not handshake:
            env["INTEROP_PROTOCOL"] = revision
        return env
