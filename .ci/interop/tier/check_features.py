"""Rows `features/FACE-SERVER/SDK/FEATURE`: the official SDKs complete an elicitation, a sampling, a question for
roots, a progress, a cancellation, a subscription and a list change, directly and through both faces of the gateway."""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from .expectations import Expectations
from .feature_servers import KINDS, FeatureServers
from .features import FEATURES, Feature, everything_features, plan, problem, reference_features
from .gateway import command, toml_file
from .json_text import plain_loads
from .probe import LEGACY, MODERN
from .process import Failed, run
from .report import Report
from .server import Server
from .servers import PROGRAMS

# For one feature; the longest waits are those of a failed one.
FEATURE_SECONDS = 8
READY_SECONDS = 20
# Their tools may be there only for clients that can answer.
QUESTIONS = ("elicitation", "sampling", "roots")
FACES = ("direct", "http", "stdio")


@dataclass(frozen=True)
class Client:
    """An SDK in one mode, and the revision at which it arrives."""

    name: str
    program: str
    mode: str
    revision: str

    @property
    def modern(self) -> bool:
        return self.revision == MODERN


CLIENTS = [
    Client("python-auto", "python_features.py", "auto", MODERN),
    Client("python-legacy", "python_features.py", "legacy", LEGACY),
    Client("typescript-v1", "typescript_features.cjs", "v1", LEGACY),
    Client("typescript-v2-auto", "typescript_features.cjs", "auto", MODERN),
    Client("typescript-v2-legacy", "typescript_features.cjs", "legacy", LEGACY),
]


def transport(face: str, client: Client) -> str:
    """How the server is reached: with two languages and two faces, every combination comes up in each era."""
    return "stdio" if (face == "stdio") == client.program.endswith(".py") else "http"


def legs() -> list[tuple[str, str, Client]]:
    """Face, server and client. A server with both eras is spoken to in the client's; only where it is pinned to the
    modern one does a handshake client need the gateway to translate."""

    def there(face: str, kind: str, client: Client) -> bool:
        return kind != "pinned" or (face != "direct" and not client.modern)

    return [(face, kind, client) for kind in KINDS for face in FACES for client in CLIENTS if there(face, kind, client)]


class FeatureRows:
    def __init__(self, installed: Path, report: Report, expectations: Expectations, servers: FeatureServers):
        self._installed = installed
        self._report = report
        self._expectations = expectations
        self._servers = servers

    def jobs(self, faces: tuple[str, ...], address, binary: str | None) -> list:
        """`address(server)` is where the gateway offers one server, names unprefixed."""
        wanted = [leg for leg in legs() if leg[0] in faces and self._wanted(*leg)]
        return [partial(self._leg, *leg, address, binary) for leg in wanted]

    def _wanted(self, face: str, kind: str, client: Client) -> bool:
        return any(self._report.wants(f"features/{face}-{kind}/{client.name}/{name}") for name in FEATURES)

    def _leg(self, face: str, kind: str, client: Client, address, binary: str | None) -> None:
        server = self._servers.named(f"{kind}-{transport(face, client)}")
        at = f"features/{face}-{kind}/{client.name}"
        features = self._features(kind, client, f"{face}_{kind}_{client.name}".replace("-", "_"))
        try:
            saw = self._saw(face, server, client, features, address, binary)
        except Failed as error:
            saw = {name: {"problem": str(error)} for name in FEATURES}
        for name in FEATURES:
            self._expectations.judge(self._report, f"{at}/{name}", problem(name, features[name], saw.get(name)))

    def _features(self, kind: str, client: Client, label: str) -> dict[str, Feature]:
        if kind == "everything":
            return everything_features(label)
        return reference_features(kind == "pinned" or (kind == "modern" and client.modern), label)

    def _saw(self, face: str, server: Server, client: Client, features, address, binary) -> dict:
        if face == "direct":
            return self._run(face, server, client, features, _directly(server), "", LEGACY if _old(server) else None)
        if face == "stdio":
            config = toml_file(self._report.logs / f"features-{server.name}-{client.name}.toml", [server])
            where = {"command": command(binary, "stdio", config)}
            return self._run(face, server, client, features, where, f"{server.name}__")
        return self._run(face, server, client, features, {"url": address(server)}, "")

    def _run(
        self, face: str, server: Server, client: Client, features, where: dict, prefix: str, revision=None
    ) -> dict:
        job = {
            **where,
            "mode": client.mode,
            "seconds": FEATURE_SECONDS,
            "ready_seconds": READY_SECONDS,
            "wanted": [prefix + one.tool for name, one in features.items() if name not in QUESTIONS],
            "plan": plan(features, prefix),
        }
        log = self._report.logs / f"features-{face}-{server.name}-{client.name}.log"
        runner = "modern/bin/python" if client.program.endswith(".py") else "node"
        arguments = [str(self._installed / runner), str(PROGRAMS / client.program), json.dumps(job)]
        limit = READY_SECONDS + FEATURE_SECONDS * len(FEATURES) + 10
        code, out = run(arguments, log, limit, {"INTEROP_NPM": str(self._installed / "npm")})
        if code != 0:
            raise Failed(f"exit code {code} (log: {log})")
        answer = plain_loads(out)
        if answer["revision"] != (revision or client.revision):
            raise Failed(f"it speaks {answer['revision']}, not {revision or client.revision}")
        return answer["saw"]


def _old(server: Server) -> bool:
    return server.name.startswith(("legacy", "everything"))


def _directly(server: Server) -> dict:
    if server.url:
        return {"url": server.url}
    return {"command": ["env", *(f"{name}={value}" for name, value in server.env.items()), *server.command]}
