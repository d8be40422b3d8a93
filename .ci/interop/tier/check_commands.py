"""Rows `commands/…`: `gatewayd check`, `tools` and `call`, their output and their exit codes."""

import json
from pathlib import Path

from .check_servers import by_downstream, check_definitions
from .gateway import command
from .json_text import loads
from .process import Failed, run
from .report import Report
from .server import Reference, Server

SECONDS = 30.0


class Commands:
    def __init__(self, report: Report, binary: str, config: Path, servers: list[Server], known: dict[str, Reference]):
        self._report = report
        self._binary = binary
        self._config = config
        self._servers = [server for server in servers if server.name in known]
        self._known = known

    def rows(self) -> None:
        tool = f"{self._servers[0].name}__{self._servers[0].tool}"
        self._report.row("commands/check", self._check)
        self._report.row("commands/tools", self._tools)
        self._report.row("commands/call", self._call)
        self._report.row("commands/call-unknown-tool", lambda: self._run(1, "call", "nothing__here", "{}"))
        self._report.row("commands/call-malformed-json", lambda: self._run(2, "call", tool, "{"))

    def _check(self) -> None:
        found = loads(self._run(0, "check", "--json"))["downstreams"]
        states = {downstream["name"]: downstream["state"] for downstream in found}
        if states != (wanted := {server.name: "ready" for server in self._servers}):
            raise Failed(f"states {states}, expected {wanted}")

    def _tools(self) -> None:
        listed = by_downstream(loads(self._run(0, "tools", "--json"))["tools"])
        for server in self._servers:
            check_definitions(listed.get(server.name, []), self._known[server.name])

    def _call(self) -> None:
        for server in self._servers:
            answer = self._run(0, "call", f"{server.name}__{server.tool}", json.dumps(server.arguments))
            server.check_answer(loads(answer))

    def _run(self, exit_code: int, name: str, *arguments: str) -> str:
        log = self._report.logs / f"gateway-{name}.log"
        code, out = run(command(self._binary, name, self._config, *arguments), log, SECONDS)
        if code != exit_code:
            raise Failed(f"{name} {' '.join(arguments)}: exit code {code}, expected {exit_code} (log: {log})")
        return out
