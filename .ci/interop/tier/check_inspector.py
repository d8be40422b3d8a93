"""The inspector's command line as a client: a process for the list, and one for each call."""

import json
import time
from dataclasses import dataclass
from pathlib import Path

from .json_text import loads
from .process import Failed, run

# For one process, which connects, asks once and ends.
SECONDS = 20.0


@dataclass(frozen=True)
class Inspector:
    installed: Path
    logs: Path

    def use(self, url: str, era: str, job: dict) -> dict:
        """The same job and answer as the client programs."""
        end = time.monotonic() + job["seconds"]
        tools = self._tools(url, era)
        while not set(job["wanted"]) <= set(tools) and time.monotonic() < end:
            tools = self._tools(url, era)
        calls = [["--tool-name", one["name"], "--tool-args-json", json.dumps(one["arguments"])] for one in job["calls"]]
        return {"tools": tools, "answers": [self._run(url, era, "tools/call", *call) for call in calls]}

    def _tools(self, url: str, era: str) -> list[str]:
        return [tool["name"] for tool in self._run(url, era, "tools/list")["tools"]]

    def _run(self, url: str, era: str, method: str, *arguments: str) -> dict:
        script = self.installed / "npm/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
        command = [str(self.installed / "node"), str(script), "--cli", url, "--protocol-era", era]
        log = self.logs / f"inspector-{era}.log"
        # It keeps files in the home folder.
        home = self.logs / f"inspector-{era}"
        home.mkdir(exist_ok=True)
        full = [*command, "--method", method, "--format", "json", "-q", *arguments]
        code, out = run(full, log, SECONDS, {"HOME": str(home)})
        # A tool that refuses has an exit code of its own, and its result all the same.
        if not out.strip():
            raise Failed(f"{method} {' '.join(arguments)}: exit code {code} (log: {log})")
        return loads(out)["result"]
