"""`gatewayd` under test: built once, run with a configuration made of real servers."""

import json
import os
import re
import subprocess
from pathlib import Path

from .process import Failed, Program, until
from .server import Server

CHECKOUT = Path(__file__).resolve().parents[3]
LISTEN_SECONDS = 5.0


def binary() -> str:
    """The program that the variable GATEWAYD names, else a release build."""
    if named := os.environ.get("GATEWAYD"):
        return str(Path(named).resolve())
    command = ["cargo", "build", "--release", "--locked", "-p", "gatewayd", "--message-format=json-render-diagnostics"]
    built = subprocess.run(command, cwd=CHECKOUT, check=False, stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        raise Failed("cargo build --release -p gatewayd failed")
    artifacts = (json.loads(line) for line in built.stdout.splitlines())
    found = [artifact["executable"] for artifact in artifacts if artifact.get("executable")]
    if not found:
        raise Failed("cargo build -p gatewayd made no executable")
    return found[-1]


def mcp_servers_file(path: Path, servers: list[Server]) -> Path:
    """The configuration as editors and desktop clients write it."""
    path.write_text(json.dumps({"mcpServers": {server.name: server.entry() for server in servers}}, indent=1))
    return path


def toml_file(path: Path, servers: list[Server]) -> Path:
    """The same as the gateway's own TOML; JSON strings and arrays of strings are valid TOML."""
    lines = []
    for server in servers:
        lines.append(f"[downstreams.{server.name}]")
        if server.url:
            lines.append(f"url = {json.dumps(server.url)}")
        else:
            lines.append(f"command = {json.dumps(server.command)}")
        if server.protocol:
            lines.append(f"protocol = {json.dumps(server.protocol)}")
        if not server.public_tool_list:
            lines.append("public_tool_list = false")
        lines += [f"env.{name} = {json.dumps(value)}" for name, value in server.env.items()]
    path.write_text("\n".join(lines) + "\n")
    return path


class Gateway:
    """`gatewayd serve` on a free port of the loopback."""

    def __init__(self, binary_path: str, config: Path, log: Path):
        self.name = log.stem.removeprefix("gateway-")
        log.touch()
        self._program = Program("gatewayd", command(binary_path, "serve", config, "--listen", "127.0.0.1:0"), log)
        try:
            self.url = until("the line `listening on …`", LISTEN_SECONDS, self._listening)
        except BaseException:
            self._program.stop()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._program.stop()

    def stop(self) -> None:
        """TERM drains; anything but exit code 0 is a failure."""
        self._program.stop()
        if code := self._program.process.returncode:
            raise Failed(f"exit code {code} after TERM, not 0")

    def _listening(self) -> str | None:
        if found := re.search(r"listening on (http://\S+/mcp)", self._program.log.read_text(errors="replace")):
            return found[1]
        self._program.must_run()
        return None

    def one(self, server: Server) -> str:
        """The address at which one downstream is offered without prefix."""
        return f"{self.url}/{server.name}"


def command(binary_path: str, name: str, config: Path, *arguments: str) -> list[str]:
    """`gatewayd NAME` with this configuration."""
    return [binary_path, name, "--config", str(config), *arguments]
