"""The prefix shim (programs/prefix_shim.mjs) as a program with an address."""

import socket
from pathlib import Path

from .process import Program, free_port, until
from .servers import PROGRAMS

START_SECONDS = 10.0


class Shim:
    def __init__(self, installed: Path, logs: Path, target: str, prefix: str):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/mcp"
        options = ["--target", target, "--prefix", prefix, "--port", str(port)]
        command = [str(installed / "node"), str(PROGRAMS / "prefix_shim.mjs"), *options]
        self._program = Program("prefix shim", command, logs / f"shim-{port}.log")
        self._port = port

    def __enter__(self):
        until("the prefix shim", START_SECONDS, self._accepts)
        return self

    def __exit__(self, *_):
        self._program.stop()

    def _accepts(self) -> bool:
        self._program.must_run()
        socket.create_connection(("127.0.0.1", self._port), 1).close()
        return True
