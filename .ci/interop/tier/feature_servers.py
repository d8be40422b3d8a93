"""The servers of the rows `features/…`: the reference servers of both SDKs, over HTTP and over stdio. They are other
processes than those of the rest, because what these rows do to them is seen by everybody."""

from pathlib import Path

from .probe import MODERN
from .server import Server
from .servers import PROGRAMS, Servers

# Server to the name of its downstream's kind; `pinned` is the modern one spoken to in its newest revision alone.
KINDS = ("modern", "pinned", "legacy", "everything")
TRANSPORTS = ("http", "stdio")


class FeatureServers(Servers):
    def _table(self, scratch: Path) -> list[Server]:
        shared = scratch / "shared"
        shared.mkdir()
        modern, legacy = self._reference("modern", shared), self._reference("legacy", shared)
        pinned = [server.pinned(server.name.replace("modern", "pinned"), MODERN) for server in modern]
        return [*modern, *pinned, *legacy, *self._published()]

    def _reference(self, kind: str, shared: Path) -> list[Server]:
        env = {"PYTHONPATH": str(self._installed / f"reference-{kind}"), "INTEROP_SHARED": str(shared)}
        command = [self._python(kind), str(PROGRAMS / "reference_more.py")]
        address = self._serve(f"more-{kind}", lambda port: [*command, "http", str(port)], env)
        return [
            _server(f"{kind}-http", url=f"{address}/mcp"),
            _server(f"{kind}-stdio", command=[*command, "stdio"], env=env),
        ]

    def _published(self) -> list[Server]:
        node, *arguments = self._node("server-everything")
        command = [node, "--require", str(PROGRAMS / "loopback.cjs"), *arguments, "streamableHttp"]
        address = self._serve("everything-http", lambda port: ["env", f"PORT={port}", *command])
        # Its tools that ask are offered to clients that can answer, its files belong to the session.
        return [
            _server("everything-http", url=f"{address}/mcp", public_tool_list=False),
            _server("everything-stdio", command=[node, *arguments, "stdio"], public_tool_list=False),
        ]


def _server(name: str, **where) -> Server:
    return Server(name, "", {}, "", 0, (), **where)
