"""The table of real servers: how each is started, its eras, and one harmless call with the answer to expect."""

import json
import shutil
import socket
import subprocess
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
                {"path": str(notes / "hello.txt")},
                "hello from a file",
                14,
                LEGACY_ONLY,
                node("server-filesystem", str(notes)),
            ),
            Server(
                "memory",
                "read_graph",
                {},
                "wrote the first program",
                9,
                LEGACY_ONLY,
                node("server-memory"),
                {"MEMORY_FILE_PATH": str(memory)},
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
                {"repo_path": str(repository)},
                "nothing to commit",
                12,
                BOTH,
                [modern, "-m", "mcp_server_git", "--repository", str(repository)],
            ),
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
    git = [
        shutil.which("git") or "git",
        "-C",
        str(scratch),
        "-c",
        "user.name=interop",
        "-c",
        "user.email=interop@example.org",
    ]
    subprocess.run([*git, "init", "--quiet", str(repository)], check=True)
    subprocess.run([*git, "-C", str(repository), "commit", "--quiet", "--allow-empty", "-m", "empty"], check=True)
    return notes, memory, repository
