"""Rows `clients/…`: the official SDKs and the inspector list and call through the gateway, in each era that they have."""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from .check_inspector import Inspector
from .json_text import loads
from .probe import LEGACY, MODERN
from .process import Failed, run
from .report import Report
from .server import Reference, Server
from .servers import PROGRAMS

# What a client waits for: the last server to be listed, and each of its calls.
SECONDS = 30
# What a client calls that is not in the mode `auto`: both eras and both transports. A process of its own for every
# server would take it a quarter of a minute, and the rows `servers/…` call every server in each era.
CALLED = ("everything", "modern-http", "modern-stdio")


@dataclass(frozen=True)
class Sdk:
    """One SDK in one mode, and the revision that it must arrive at."""

    name: str
    language: str
    mode: str
    revision: str

    def program(self, installed: Path) -> list[str]:
        """What runs a job, which is its last argument."""
        if self.language == "python":
            return [str(installed / "modern/bin/python"), str(PROGRAMS / "python_client.py")]
        return [str(installed / "node"), str(PROGRAMS / "typescript_client.cjs")]


SDKS = [
    Sdk("python-auto", "python", "auto", MODERN),
    Sdk("python-legacy", "python", "legacy", LEGACY),
    Sdk("python-pinned", "python", MODERN, MODERN),
    Sdk("typescript-v1", "typescript", "v1", LEGACY),
    Sdk("typescript-v2-auto", "typescript", "auto", MODERN),
    Sdk("typescript-v2-legacy", "typescript", "legacy", LEGACY),
    Sdk("typescript-v2-pinned", "typescript", MODERN, MODERN),
    Sdk("inspector-modern", "inspector", "modern", MODERN),
    Sdk("inspector-legacy", "inspector", "legacy", LEGACY),
]


@dataclass(frozen=True)
class Target:
    """What the clients are pointed at: an address or a command, and the servers behind it."""

    name: str
    where: dict
    servers: list[Server]
    prefixed: bool

    def exposed(self, server: Server, tool: str) -> str:
        return f"{server.name}__{tool}" if self.prefixed else tool


class Clients:
    def __init__(self, installed: Path, report: Report, known: dict[str, Reference]):
        self._installed = installed
        self._report = report
        self._known = known

    def jobs(self, target: Target) -> list:
        """One for each client. The inspector ends after each request, so it cannot wait for a gateway of its own."""
        sdks = [sdk for sdk in SDKS if sdk.language != "inspector" or "url" in target.where]
        return [partial(self._row, sdk, target) for sdk in sdks]

    def _row(self, sdk: Sdk, target: Target) -> None:
        self._report.row(f"clients/{target.name}/{sdk.name}", lambda: self._check(sdk, target))

    def _check(self, sdk: Sdk, target: Target) -> None:
        servers = [server for server in target.servers if server.name in self._known]
        required = {target.exposed(s, tool) for s in servers for tool in self._known[s.name].required}
        allowed = {target.exposed(s, tool) for s in servers for tool in self._known[s.name].names}
        called = [s for s in servers if s.tool and (sdk.mode == "auto" or s.name in CALLED)]
        calls = [{"name": target.exposed(s, s.tool), "arguments": s.arguments} for s in called]
        job = {**target.where, "mode": sdk.mode, "wanted": sorted(required), "calls": calls, "seconds": SECONDS}

        if sdk.language == "inspector":
            inspector = Inspector(self._installed, self._report.logs)
            saw = {"revision": sdk.revision, **inspector.use(target.where["url"], sdk.mode, job)}
        else:
            saw = self._run(sdk, target, job)
        if saw["revision"] != sdk.revision:
            raise Failed(f"it speaks {saw['revision']}, not {sdk.revision}")
        tools = set(saw["tools"])
        if not required <= tools <= allowed:
            missing, unknown = sorted(required - tools), sorted(tools - allowed)
            raise Failed(f"tools missing: {missing[:5]} of {len(missing)}; unknown: {unknown[:5]} of {len(unknown)}")
        if len(tools) != len(saw["tools"]):
            raise Failed("a tool is listed twice")
        for server, answer in zip(called, saw["answers"], strict=True):
            server.check_answer(answer)

    def _run(self, sdk: Sdk, target: Target, job: dict) -> dict:
        log = self._report.logs / f"client-{target.name}-{sdk.name}.log"
        env = {"INTEROP_NPM": str(self._installed / "npm")}
        code, out = run([*sdk.program(self._installed), json.dumps(job)], log, 2 * SECONDS, env)
        if code != 0:
            raise Failed(f"exit code {code}: {_last_error(log)} (log: {log})")
        return loads(out)


def _last_error(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    named = [line for line in lines if "Error" in line]
    return (named or lines or ["nothing on stderr"])[-1][:300]
