"""The table of real servers: how each is started, its eras, and one harmless call with the answer to expect."""

import json
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from .process import Program, free_port, until
from .server import Server

PROGRAMS = Path(__file__).parent.parent / "programs"
BOTH, LEGACY_ONLY = ("modern", "legacy"), ("legacy",)
# A Python server with cold caches on a busy machine.
START_SECONDS = 30.0


class Servers:
    """The table of servers; starts those that speak HTTP and makes the files that others work on."""

    def __init__(self, installed: Path, logs: Path, scratch: Path):
        self._installed = installed
        self._logs = logs
        self._programs: list[Program] = []
        try:
            self.all: list[Server] = self._table(scratch)
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
        files = Files(scratch)
        return [
            *self._everything("modern", BOTH, least_tools=28),
            *self._everything("legacy", LEGACY_ONLY, least_tools=13),
            *self._tasks(),
            *self._on_node(files),
            *self._on_python(files),
        ]

    def _on_node(self, files: "Files") -> list[Server]:
        node = self._node
        return [
            Server(
                "everything",
                "echo",
                {"message": "Grüße 1.0"},
                "Echo: Grüße 1.0",
                13,
                LEGACY_ONLY,
                node("server-everything", "stdio"),
                most_tools=17,
            ),
            Server(
                "filesystem",
                "read_text_file",
                {"path": str(files.notes / "hello.txt")},
                "hello from a file",
                14,
                LEGACY_ONLY,
                node("server-filesystem", str(files.notes)),
            ),
            Server(
                "memory",
                "read_graph",
                {},
                "wrote the first program",
                9,
                LEGACY_ONLY,
                node("server-memory"),
                {"MEMORY_FILE_PATH": str(files.memory)},
            ),
            # It counts the thoughts of its process.
            Server(
                "sequential-thinking",
                "sequentialthinking",
                {"thought": "one", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1},
                "thoughtHistoryLength",
                1,
                LEGACY_ONLY,
                node("server-sequential-thinking"),
                stable=False,
            ),
            # Of 2024-11-05 only. What its tools answer is on the network, so it is listed and not called.
            Server(
                "github",
                "",
                {},
                "",
                26,
                LEGACY_ONLY,
                node("server-github"),
                {"GITHUB_PERSONAL_ACCESS_TOKEN": "none"},
                newest="2024-11-05",
            ),
            Server(
                "apps",
                "get-time",
                {},
                "T",
                1,
                LEGACY_ONLY,
                node("server-basic-vanillajs", "--stdio"),
                stable=False,
            ),
        ]

    def _on_python(self, files: "Files") -> list[Server]:
        modern, legacy = self._python("modern"), self._python("legacy")
        pages = self._serve("pages", lambda port: _page_server(port, files.notes))
        return [
            Server(
                "time",
                "convert_time",
                {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
                "T21:00:00+09:00",
                2,
                BOTH,
                [modern, "-m", "mcp_server_time", "--local-timezone", "UTC"],
            ),
            Server(
                "git",
                "git_status",
                {"repo_path": str(files.repository)},
                "nothing to commit",
                12,
                BOTH,
                [modern, "-m", "mcp_server_git", "--repository", str(files.repository)],
            ),
            Server(
                "fetch",
                "fetch",
                {"url": f"{pages}/hello.txt"},
                "hello from a file",
                1,
                BOTH,
                [modern, "-m", "mcp_server_fetch", "--ignore-robots-txt", "--allow-private-ips"],
            ),
            Server(
                "sqlite",
                "list_tables",
                {},
                "planets",
                6,
                LEGACY_ONLY,
                [legacy, "-c", "import mcp_server_sqlite as s; s.main()", "--db-path", str(files.database)],
            ),
        ]

    def _everything(self, kind: str, eras: tuple[str, ...], least_tools: int) -> list[Server]:
        """The Python SDK's reference server, once over stdio and once over HTTP."""
        python, env = self._python(kind), {"PYTHONPATH": str(self._installed / f"reference-{kind}")}
        command = [python, "-m", "mcp_everything_server", "--log-level", "WARNING", "--port"]
        address = self._serve(f"{kind}-http", lambda port: [*command, str(port)], env)
        call = ("test_simple_text", {}, "This is a simple text response for testing.", least_tools, eras)
        return [
            Server(f"{kind}-http", *call, url=f"{address}/mcp"),
            Server(f"{kind}-stdio", *call, command=[python, str(PROGRAMS / "everything_stdio.py")], env=env),
        ]

    def _tasks(self) -> list[Server]:
        command = [self._python("modern"), str(PROGRAMS / "tasks_server.py")]
        env = {"FASTMCP_CHECK_FOR_UPDATES": "off", "FASTMCP_LOG_LEVEL": "WARNING"}
        address = self._serve("tasks-http", lambda port: [*command, "http", str(port)], env)
        call = ("greet", {"name": "Ada"}, "Hello, Ada!", 7, BOTH)
        return [
            Server("tasks-http", *call, url=f"{address}/mcp"),
            Server("tasks-stdio", *call, command=[*command, "stdio"], env=env),
        ]

    def _serve(self, name: str, command: Callable[[int], list[str]], env: dict[str, str] | None = None) -> str:
        """Starts a program on a free port; its address. `close` ends it."""
        port = free_port()
        program = Program(name, command(port), self._logs / f"server-{name}.log", env)
        self._programs.append(program)
        until(f"{name} over HTTP", START_SECONDS, lambda: accepts(program, port))
        return f"http://127.0.0.1:{port}"

    def _python(self, kind: str) -> str:
        return str(self._installed / kind / "bin" / "python")

    def _node(self, package: str, *arguments: str) -> list[str]:
        folder = self._installed / "npm/node_modules/@modelcontextprotocol" / package
        (script,) = json.loads((folder / "package.json").read_text())["bin"].values()
        return [str(self._installed / "node"), str(folder / script), *arguments]


def accepts(program: Program, port: int) -> bool:
    program.must_run()
    socket.create_connection(("127.0.0.1", port), 1).close()
    return True


def _page_server(port: int, folder: Path) -> list[str]:
    return [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(folder)]


class Files:
    """What the servers have to show."""

    def __init__(self, scratch: Path):
        self.notes, self.memory = scratch / "notes", scratch / "memory.jsonl"
        self.repository, self.database = scratch / "repository", scratch / "test.db"
        self.notes.mkdir()
        (self.notes / "hello.txt").write_text("hello from a file\n")
        fact = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}
        self.memory.write_text(json.dumps(fact) + "\n")
        with closing(sqlite3.connect(self.database)) as database:
            database.execute("create table planets (name text)")
        who = ["-c", "user.name=interop", "-c", "user.email=interop@example.org"]
        git = [shutil.which("git") or "git", *who]
        subprocess.run([*git, "init", "--quiet", str(self.repository)], check=True)
        commit = ["-C", str(self.repository), "commit", "--quiet", "--allow-empty", "-m", "empty"]
        subprocess.run([*git, *commit], check=True)
