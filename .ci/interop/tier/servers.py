"""The real servers: how each is started, which eras it speaks, and one harmless call with the answer to expect."""

import json
import shutil
import socket
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from .json_text import difference
from .probe import ALL_CAPABILITIES, HttpProbe, Probe, StdioProbe
from .process import Failed, Program, free_port, until

PROGRAMS = Path(__file__).parent.parent / "programs"
BOTH, LEGACY_ONLY = ("modern", "legacy"), ("legacy",)
# A Python server with cold caches on a busy machine.
START_SECONDS = 30.0
# Some servers add tools after the handshake, with list_changed.
SETTLE_SECONDS = 10.0


@dataclass(frozen=True)
class Server:
    """One downstream. `stable` says that the same call has the same answer each time."""

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
    # How many tools a client with every capability is offered, where that is more.
    most_tools: int | None = None

    def entry(self) -> dict:
        """Its entry in an mcpServers file."""
        if self.url:
            return {"type": "http", "url": self.url}
        entry = {"command": self.command[0], "args": self.command[1:]}
        return entry | {"env": self.env} if self.env else entry

    def probe(self, era: str, log: Path, capabilities: dict | None = None) -> Probe:
        """A client that speaks to the server itself."""
        if self.url:
            return HttpProbe(self.url, era, capabilities)
        return StdioProbe(self.command, log, era, capabilities, self.env)

    def check_answer(self, result: dict) -> None:
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
    """Asks the server itself, in each of its eras; fails if it is not what the table below says."""
    definitions: dict[str, list[dict]] = {}
    required, answers = None, {}
    for era in server.eras:
        with server.probe(era, logs / f"direct-{server.name}.log") as probe:
            tools = probe.tools()
            answers[era] = probe.call(server.tool, server.arguments)
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


class Servers:
    """The table of servers; starts those that speak HTTP and makes the files that others work on."""

    def __init__(self, installed: Path, logs: Path, scratch: Path):
        self._installed = installed
        self._logs = logs
        self._programs: list[Program] = []
        try:
            self.all = self._table(scratch)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        for program in self._programs:
            program.stop()

    def named(self, name: str) -> Server:
        return next(server for server in self.all if server.name == name)

    def _table(self, scratch: Path) -> list[Server]:
        notes, memory, repository = _files(scratch)
        node, modern = self._node, self._python("modern")
        return [
            *self._everything("modern", BOTH, least_tools=28),
            *self._everything("legacy", LEGACY_ONLY, least_tools=13),
            Server("everything", "echo", {"message": "Grüße 1.0"}, "Echo: Grüße 1.0", 13, LEGACY_ONLY,
                   node("server-everything", "stdio"), most_tools=17),
            Server("filesystem", "read_text_file", {"path": str(notes / "hello.txt")}, "hello from a file", 14, LEGACY_ONLY,
                   node("server-filesystem", str(notes))),
            Server("memory", "read_graph", {}, "wrote the first program", 9, LEGACY_ONLY,
                   node("server-memory"), {"MEMORY_FILE_PATH": str(memory)}),
            # It counts the thoughts of its process.
            Server("sequential-thinking", "sequentialthinking",
                   {"thought": "one", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
                   "thoughtHistoryLength", 1, LEGACY_ONLY, node("server-sequential-thinking"), stable=False),
            Server("time", "convert_time",
                   {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}, "T21:00:00+09:00", 2, BOTH,
                   [modern, "-m", "mcp_server_time", "--local-timezone", "UTC"]),
            Server("git", "git_status", {"repo_path": str(repository)}, "nothing to commit", 12, BOTH,
                   [modern, "-m", "mcp_server_git", "--repository", str(repository)]),
        ]

    def _everything(self, kind: str, eras: tuple[str, ...], least_tools: int) -> list[Server]:
        """The Python SDK's reference server, once over stdio and once over HTTP."""
        python, env = self._python(kind), {"PYTHONPATH": str(self._installed / f"reference-{kind}")}
        port = free_port()
        command = [python, "-m", "mcp_everything_server", "--log-level", "WARNING", "--port", str(port)]
        program = Program(f"{kind}-http", command, self._logs / f"server-{kind}-http.log", env)
        self._programs.append(program)
        until(f"reference server {kind} over HTTP", START_SECONDS, lambda: _accepts(program, port))
        call = ("test_simple_text", {}, "This is a simple text response for testing.", least_tools, eras)
        return [
            Server(f"{kind}-http", *call, url=f"http://127.0.0.1:{port}/mcp"),
            Server(f"{kind}-stdio", *call, command=[python, str(PROGRAMS / "everything_stdio.py")], env=env),
        ]

    def _python(self, kind: str) -> str:
        return str(self._installed / kind / "bin" / "python")

    def _node(self, package: str, *arguments: str) -> list[str]:
        folder = self._installed / "npm/node_modules/@modelcontextprotocol" / package
        (script,) = json.loads((folder / "package.json").read_text())["bin"].values()
        return [str(self._installed / "node"), str(folder / script), *arguments]


def _accepts(program: Program, port: int) -> bool:
    program.must_run()
    socket.create_connection(("127.0.0.1", port), 1).close()
    return True


def _files(scratch: Path) -> tuple[Path, Path, Path]:
    """What filesystem, memory and git have to show."""
    notes, memory, repository = scratch / "notes", scratch / "memory.jsonl", scratch / "repository"
    notes.mkdir()
    (notes / "hello.txt").write_text("hello from a file\n")
    fact = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}
    memory.write_text(json.dumps(fact) + "\n")
    git = [shutil.which("git") or "git", "-C", str(scratch), "-c", "user.name=interop", "-c", "user.email=interop@example.org"]
    subprocess.run([*git, "init", "--quiet", str(repository)], check=True)
    subprocess.run([*git, "-C", str(repository), "commit", "--quiet", "--allow-empty", "-m", "empty"], check=True)
    return notes, memory, repository
