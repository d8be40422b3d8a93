"""docs/conformance.md: the table of scenario by leg. It is made of expectations.toml alone; that the gateway is as the
table says is what the other rows check."""

from collections.abc import Callable

from .check_auth import MODES, PREFIX
from .check_conformance import LEGS, TASK_LEGS
from .check_features import CLIENTS, FACES, legs
from .check_suite_client import CLIENT_LEGS
from .expectations import Expectations
from .feature_servers import KINDS
from .features import FEATURES
from .gateway import CHECKOUT
from .probe import LEGACY, MODERN
from .process import Failed
from .suite import Suite

DOCUMENT = CHECKOUT / "docs/conformance.md"
INTRODUCTION = """\
# Conformance

<!-- Made by `.ci/interop/run --table` from .ci/interop/expectations.toml; do not edit. -->

What the official conformance suite (`@modelcontextprotocol/conformance` {version}) and the official SDKs show through
`gatewayd`, and what they show without it. `.ci/run interop` runs every cell and fails if one is not as it says here.

✓ passes; a number is an exception with its reason at the end of the page. *Direct* has no gateway in between, *same era* a
gateway that speaks to the server as the client speaks to it, *cross era* one that translates. A scenario in italics
is run, but the revision does not require it.
"""
SERVER_COLUMNS = {
    "direct": "direct",
    "http": "same era, HTTP",
    "stdio": "same era, stdio",
    "prefixed": "same era, `/mcp`",
    "legacy-direct": "legacy, direct",
    "legacy-http": "legacy, HTTP",
    "legacy-stdio": "legacy, stdio",
    "pinned-http": "pinned, HTTP",
    "pinned-stdio": "pinned, stdio",
}
SERVER_TEXT = """\
The suite as client of the Python SDK's reference servers on `/mcp/NAME`, reached over HTTP or stdio; `/mcp` offers two
downstreams with prefixed names, which a shim takes off. The modern reference server has both eras; *legacy* is the one of
SDK 1, which has the handshake revisions alone, so it is {legacy} here{pinned}."""
PINNED_TEXT = "; *pinned* is the modern one spoken to in 2026-07-28 alone: cross era"
CLIENT_TEXT = """\
The suite's mock server as the only downstream, the official Python SDK as the client in front: what is judged is the
gateway as a client. The client has the mock's era, or the other one."""
AUTH_TEXT = """\
The suite's `auth/*`: its mock server and its authorization servers, at which the operator has authorized the gateway
with `gatewayd login`. *extension* are those of extensions to no one revision, which need no login."""
TASKS_TEXT = "In front of a server made with FastMCP's tasks extension."
FEATURES_TEXT = """\
The official SDKs complete an elicitation, a sampling, a question for roots, a progress, a cancellation, a subscription and
a list change. Servers: *modern* and *legacy* are the Python SDK's reference servers with five more tools, for what they
lack (a call that waits, a changing resource, a tool that comes and goes, a question for roots); *pinned* is the modern one spoken to in 2026-07-28 alone; *everything* is the
TypeScript SDK's `server-everything`, which is legacy. With HTTP towards the gateway the client is on `/mcp/NAME`, with stdio
on `/mcp`; the servers are behind HTTP and stdio by turns, so that every combination occurs."""


class Table:
    def __init__(self, expectations: Expectations):
        self._expectations = expectations
        self._reasons: list[str] = []

    def text(self) -> str:
        parts = [INTRODUCTION.format(version=self._expectations.suite)]
        parts += [self._server(revision) for revision in (LEGACY, MODERN, "2025-06-18", "2025-03-26")]
        parts += [self._client(), self._auth(), self._tasks(), self._features()]
        parts.append(
            "## Exceptions\n\n" + "\n".join(f"{n}. {reason}" for n, reason in enumerate(self._reasons, 1)) + "\n"
        )
        return "\n".join(parts)

    def _cell(self, row: str) -> str:
        exception = self._expectations.exception(row)
        if not exception:
            return "✓"
        return f"({self._number(exception.reason)})"

    def _number(self, reason: str) -> int:
        if reason not in self._reasons:
            self._reasons.append(reason)
        return self._reasons.index(reason) + 1

    def _server(self, revision: str) -> str:
        columns = [leg for name in SERVER_COLUMNS for leg in LEGS if leg.name == name and revision in leg.revisions]
        legacy = "cross era" if revision == MODERN else "the same era"
        pinned = PINNED_TEXT if any(leg.name.startswith("pinned") for leg in columns) else ""
        scenarios = self._expectations.scenarios("server", revision)
        scored = [name for name in scenarios if self._expectations.is_scored(name, revision)]
        cell = lambda scenario, leg: self._cell(f"conformance/{leg.name}/{revision}/{scenario}")
        rows = [[self._name(name, revision), *(cell(name, leg) for leg in columns)] for name in scenarios]
        if scored:
            sums = [sum(cell(name, leg) == "✓" for name in scored) for leg in columns]
            rows.append(["**required**", *(f"**{passed}/{len(scored)}**" for passed in sums)])
        return _section(
            f"Server, {revision}",
            SERVER_TEXT.format(legacy=legacy, pinned=pinned),
            ["scenario", *(SERVER_COLUMNS[leg.name] for leg in columns)],
            rows,
        )

    def _name(self, scenario: str, revision: str) -> str:
        return scenario if self._expectations.is_scored(scenario, revision) else f"*{scenario}*"

    def _client(self) -> str:
        def row(revision: str, scenario: str) -> list[str]:
            cells = (self._cell(f"client/{leg.name}/{revision}/{scenario}") for leg in CLIENT_LEGS)
            return [revision, self._name(scenario, revision), *cells]

        names = self._expectations.scenarios
        rows = [row(revision, scenario) for revision in (LEGACY, MODERN) for scenario in names("client", revision)]
        return _section("Client", CLIENT_TEXT, ["revision", "scenario", "direct", "same era", "cross era"], rows)

    def _auth(self) -> str:
        names = self._expectations.scenarios
        pairs = [(revision, name) for revision in MODES for name in names("auth", revision)]
        rows = [
            [revision, self._name(name, revision), self._cell(f"auth/{revision}/{name}")] for revision, name in pairs
        ]
        return _section("Authorization", AUTH_TEXT, ["revision", "scenario", "through the gateway"], rows)

    def _tasks(self) -> str:
        def row(scenario: str) -> list[str]:
            return [f"*{scenario}*", *(self._cell(f"tasks/{leg.name}/{MODERN}/{scenario}") for leg in order)]

        order = sorted(TASK_LEGS, key=lambda leg: ("direct", "http", "stdio").index(leg.name))
        rows = [row(scenario) for scenario in self._expectations.scenarios("tasks", MODERN)]
        return _section(
            f"Tasks, {MODERN}", TASKS_TEXT, ["scenario", "direct", "same era, HTTP", "same era, stdio"], rows
        )

    def _features(self) -> str:
        there = {(face, kind, client.name) for face, kind, client in legs()}

        def cell(face: str, kind: str, client) -> str:
            if (face, kind, client.name) not in there:
                return ""
            cells = {name: self._cell(f"features/{face}-{kind}/{client.name}/{name}") for name in FEATURES}
            bad = [f"{name} {mark}" for name, mark in cells.items() if mark != "✓"]
            return "✓" if not bad else f"✓ but {', '.join(bad)}"

        def row(kind: str, client) -> list[str]:
            crosses = kind == "pinned" or (kind != "modern" and client.modern)
            cells = (cell(face, kind, client) for face in FACES)
            return [kind, client.name, "cross" if crosses else "same", *cells]

        wanted = {(kind, name) for _, kind, name in there}
        rows = [row(kind, client) for kind in KINDS for client in CLIENTS if (kind, client.name) in wanted]
        head = ["server", "client", "era", "direct", "through HTTP", "through stdio"]
        return _section("SDKs", FEATURES_TEXT, head, rows)


def _section(title: str, text: str, head: list[str], rows: list[list[str]]) -> str:
    line: Callable[[list[str]], str] = lambda cells: "| " + " | ".join(cells) + " |"
    body = [line(head), line(["---"] * len(head)), *map(line, rows)]
    return f"## {title}\n\n{text}\n\n" + "\n".join(body) + "\n"


def write(expectations: Expectations) -> None:
    DOCUMENT.write_text(Table(expectations).text())


def check_current(expectations: Expectations) -> None:
    if not DOCUMENT.is_file() or DOCUMENT.read_text() != Table(expectations).text():
        raise Failed("docs/conformance.md is not what expectations.toml says: .ci/interop/run --table")


def check_scored(expectations: Expectations, suite: Suite) -> None:
    """The suite's own sets of what a revision requires are in the package; ours must be the same."""
    for mode in ("server", "client", "auth"):
        for revision in (LEGACY, MODERN):
            theirs = suite.scored("client" if mode == "auth" else mode, revision)
            theirs = {name.removeprefix(PREFIX) for name in theirs if name.startswith(PREFIX) == (mode == "auth")}
            names = expectations.scenarios(mode, revision)
            ours = {name for name in names if expectations.is_scored(name, revision)}
            if not theirs or theirs != ours:
                raise Failed(
                    f"{mode} {revision}: the suite requires {sorted(theirs - ours)}, we {sorted(ours - theirs)}"
                )
