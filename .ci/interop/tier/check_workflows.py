"""Rows `workflows/FACE/SDK/WHAT`: to the official SDKs a workflow is a tool like any other, also where it, or the tool
of one of its steps, asks the user."""

import json
from functools import partial
from pathlib import Path

from .check_features import CLIENTS, Client
from .features import feature, plan, problem
from .gateway import command, toml_file
from .json_text import plain_loads
from .process import Failed, run
from .report import Report
from .server import Server
from .servers import PROGRAMS

SECONDS = 8
READY_SECONDS = 20

# By what the client programs call the feature.
ROWS = {
    # The workflow itself asks.
    "elicitation": feature("greet", expect={"text": "Hello Ada"}),
    # The server that it calls asks: one that knows the handshake only, in the middle of the call.
    "sampling": feature("relay", {"prompt": "Capital of France?"}, {"text": "Paris"}),
    "progress": feature("greetings", expect={"text": "Hello Eve"}),
}

WORKFLOWS = """
[downstreams.demo]
command = ["gatewayd", "demo-server"]

[workflows.greet]
description = "Asks for a name and greets."
[[workflows.greet.steps]]
id = "who"
type = "elicitation"
message = "Who are you?"
schema = { type = "object", properties = { name = { type = "string" } }, required = ["name"] }
[[workflows.greet.steps]]
id = "hello"
dependsOn = ["who"]
tool = "demo__echo"
arguments = { text = "Hello {{ steps.who.output.content.name }}" }

[workflows.relay]
description = "Has a server ask the client's model."
parameters = { type = "object", properties = { prompt = { type = "string" } }, required = ["prompt"] }
[[workflows.relay.steps]]
id = "ask"
tool = "SERVER.test_sampling"
arguments = { prompt = "{{ params.prompt }}" }

[workflows.greetings]
description = "Greets two, one after the other, and waits."
[[workflows.greetings.steps]]
id = "first"
tool = "demo__echo"
arguments = { text = "Hello Adam" }
[[workflows.greetings.steps]]
id = "second"
dependsOn = ["first"]
tool = "demo__echo"
arguments = { text = "Hello Eve" }
# Takes a moment: a client that reads the result together with the progress before it may not show that.
[[workflows.greetings.steps]]
id = "pause"
dependsOn = ["second"]
tool = "SERVER.test_tool_with_progress"
[workflows.greetings.output.properties]
text = { type = "string", description = "The second greeting.", value = "{{ steps.second.output.text }}" }
"""


def config(path: Path, server: Server) -> Path:
    """A gateway's, with workflows over the demonstration and this server."""
    toml_file(path, [server])
    path.write_text(path.read_text() + WORKFLOWS.replace("SERVER", server.name))
    return path


class WorkflowRows:
    def __init__(self, installed: Path, report: Report, binary: str, toml: Path):
        self._installed = installed
        self._report = report
        self._binary = binary
        self._toml = toml

    def jobs(self, url: str) -> list:
        faces = {"http": {"url": url}, "stdio": {"command": command(self._binary, "stdio", self._toml)}}
        legs = [(face, where, client) for face, where in faces.items() for client in CLIENTS]
        return [partial(self._leg, *leg) for leg in legs if self._wanted(leg[0], leg[2])]

    def _wanted(self, face: str, client: Client) -> bool:
        return any(self._report.wants(f"workflows/{face}/{client.name}/{name}") for name in ROWS)

    def _leg(self, face: str, where: dict, client: Client) -> None:
        try:
            saw = self._saw(face, where, client)
        except Failed as error:
            saw = {name: {"problem": str(error)} for name in ROWS}
        for name, wanted in ROWS.items():
            self._report.add(f"workflows/{face}/{client.name}/{name}", _problem(name, wanted, saw.get(name)))

    def _saw(self, face: str, where: dict, client: Client) -> dict:
        wanted = [one.tool for one in ROWS.values()]
        job = {**where, "mode": client.mode, "seconds": SECONDS, "ready_seconds": READY_SECONDS}
        job |= {"wanted": wanted, "plan": plan(ROWS, "")}
        log = self._report.logs / f"workflows-{face}-{client.name}.log"
        runner = "modern/bin/python" if client.program.endswith(".py") else "node"
        arguments = [str(self._installed / runner), str(PROGRAMS / client.program), json.dumps(job)]
        limit = READY_SECONDS + SECONDS * len(ROWS) + 10
        code, out = run(arguments, log, limit, {"INTEROP_NPM": str(self._installed / "npm")})
        if code != 0:
            raise Failed(f"exit code {code} (log: {log})")
        answer = plain_loads(out)
        if answer["revision"] != client.revision:
            raise Failed(f"it speaks {answer['revision']}, not {client.revision}")
        return answer["saw"]


def _problem(name: str, wanted, saw: dict | None) -> str | None:
    if found := problem(name, wanted, saw):
        return found
    if name == "progress" and (not (steps := saw["progress"]) or steps != sorted(set(steps)) or steps[-1] > 3):
        return f"progress is {steps}, not up to three steps and growing"
    return None
