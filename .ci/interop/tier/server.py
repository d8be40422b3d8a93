"""One real server as a downstream, and what it says when it is asked directly."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

from .json_text import difference
from .probe import ALL_CAPABILITIES, LEGACY, HttpProbe, Probe, StdioProbe
from .process import Failed, until

# Some servers add tools after the handshake, with list_changed.
SETTLE_SECONDS = 10.0


@dataclass(frozen=True)
class Server:
    """One downstream. `stable` says that the same call has the same answer each time; without `tool` none can be called."""

    name: str
    tool: str
    arguments: dict
    expect: str
    least_tools: int
    eras: tuple[str, ...]
    command: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    url: str | None = None
    stable: bool = True
    # The only revision in which the gateway may speak to it.
    protocol: str | None = None
    # The newest handshake revision that it knows.
    newest: str = LEGACY
    # How many tools a client with every capability is offered, where that is more.
    most_tools: int | None = None
    # Whether its list is the same for every client.
    public_tool_list: bool = True

    def pinned(self, name: str, revision: str) -> "Server":
        """The same one under another name, spoken to in one revision alone."""
        return replace(self, name=name, protocol=revision)

    def entry(self) -> dict:
        """Its entry in an mcpServers file."""
        if self.url:
            return {"type": "http", "url": self.url}
        entry = {"command": self.command[0], "args": self.command[1:]}
        return entry | {"env": self.env} if self.env else entry

    def probe(self, era: str, log: Path, capabilities: dict | None = None) -> Probe:
        """A client that speaks to the server itself."""
        if self.url:
            probe = HttpProbe(self.url, era, capabilities)
        else:
            probe = StdioProbe(self.command, log, era, capabilities, self.env)
        probe.handshake_revision = self.newest
        return probe

    def check_answer(self, result: dict) -> None:
        if "problem" in result:
            raise Failed(f"{self.tool}: the client says {result['problem']}")
        text = json.dumps(result.get("content"), ensure_ascii=False)
        if result.get("isError") or self.expect not in text:
            raise Failed(f"{self.tool}: expected {self.expect!r} in {text[:300]}")


@dataclass(frozen=True)
class Reference:
    """What a server says when it is asked directly, per era."""

    definitions: dict[str, list[dict]]
    required: frozenset[str]
    answers: dict[str, dict]

    @property
    def names(self) -> set[str]:
        return set(self.definitions)


def reference(server: Server, logs: Path) -> Reference:
    """Asks the server itself, in each of its eras; fails if it is not what the table of servers says."""
    definitions: dict[str, list[dict]] = {}
    required, answers = None, {}
    for era in server.eras:
        with server.probe(era, logs / f"direct-{server.name}.log") as probe:
            tools = probe.tools()
            answers[era] = probe.call(server.tool, server.arguments) if server.tool else {}
        if server.tool:
            server.check_answer(answers[era])
        names = {tool["name"] for tool in tools}
        if len(names) < server.least_tools:
            raise Failed(f"{era}: {len(names)} tools, expected {server.least_tools}")
        required = names if required is None else required & names
        _add(definitions, tools)
    if server.most_tools:
        with server.probe("legacy", logs / f"direct-{server.name}.log", ALL_CAPABILITIES) as probe:
            enough = lambda: tools if len(tools := probe.tools()) >= server.most_tools else None
            _add(definitions, until(f"{server.most_tools} tools", SETTLE_SECONDS, enough))
    return Reference(definitions, frozenset(required or ()), answers)


def _add(definitions: dict[str, list[dict]], tools: list[dict]) -> None:
    for tool in tools:
        known = definitions.setdefault(tool["name"], [])
        if all(difference(one, tool) for one in known):
            known.append(tool)
