"""The official conformance suite as a program: runs it and reads what it found."""

import json
import os
import re
from pathlib import Path

from .process import Failed, run

# A scenario of the server mode gives up by itself after this.
SCENARIO_MS = 10_000
# A whole revision takes three seconds where all is well.
SUITE_SECONDS = 240.0
# A client has to start a gateway first.
CLIENT_MS = 45_000


class Suite:
    def __init__(self, installed: Path, logs: Path):
        self._package = installed / "npm/node_modules/@modelcontextprotocol/conformance"
        self._command = [str(installed / "node"), str(self._package / "dist/index.js")]
        self._logs = logs
        # `npx`-like children of the client mode must find the same Node.
        self._env = {"PATH": f"{installed}{os.pathsep}{os.environ['PATH']}", "NODE_NO_WARNINGS": "1"}

    def scored(self, mode: str, revision: str) -> list[str]:
        """The scenarios that a revision requires, as frozen in the package; none for revisions without such a set."""
        path = self._package / "requirements" / f"{revision}.yaml"
        if not path.is_file():
            return []
        section = re.search(rf"^{mode}:\n((?:  - .*\n|\n|\s*#.*\n)+)", path.read_text(), re.M)
        return re.findall(r"^  - (\S+)", section[1], re.M) if section else []

    def server(self, name: str, url: str, revision: str) -> dict[str, str | None]:
        """All scenarios of a revision in server mode: scenario to problem, None where it passes."""
        selection = ["--suite", "all", "--spec-version", revision, "--timeout", str(SCENARIO_MS)]
        results, code, out = self._run(f"server-{name}-{revision}", ["server", "--url", url, *selection], SUITE_SECONDS)
        found = re.findall(r"^([✓✗]) (\S+): (\d+) passed, (\d+) failed", out.partition("=== SUMMARY ===")[2], re.M)
        if not found:
            raise Failed(f"exit code {code} and no summary (see {results}/stdout.txt)")
        return {scenario: _problem(results, f"server-{scenario}") for _, scenario, _, _ in found}

    def server_scenario(self, name: str, url: str, scenario: str) -> str | None:
        """One scenario that no revision's set has: those of extensions."""
        arguments = ["server", "--url", url, "--scenario", scenario, "--timeout", str(2 * SCENARIO_MS)]
        results, _, _ = self._run(f"server-{name}", arguments, 3 * SCENARIO_MS / 1000)
        return _problem(results, f"server-{scenario}")

    def client(self, name: str, command: str, revision: str | None, scenario: str, env: dict[str, str]):
        """One scenario in client mode, its problem or None: the suite starts its mock server and then the command with its
        address. Without a revision it is one of an extension."""
        arguments = ["client", "--command", command, "--scenario", scenario, "--timeout", str(CLIENT_MS)]
        arguments += ["--spec-version", revision] if revision else []
        results, code, _ = self._run(f"client-{name}-{revision or 'extension'}", arguments, 1.5 * CLIENT_MS / 1000, env)
        # A warning is about what a client should do, which the gateway does.
        problem = _problem(results, scenario, ("FAILURE", "WARNING"))
        return problem or (None if code == 0 else f"exit code {code} (see {results})")

    def _run(self, name: str, arguments: list[str], seconds: float, env: dict[str, str] | None = None):
        results = self._logs / f"suite-{name}"
        command = [*self._command, *arguments, "-o", str(results)]
        code, out = run(command, Path(f"{results}.log"), seconds, {**self._env, **(env or {})})
        results.mkdir(exist_ok=True)
        plain = re.sub(r"\x1b\[[0-9;]*m", "", out)
        with (results / "stdout.txt").open("a") as file:
            file.write(plain)
        return results, code, plain


def _problem(results: Path, scenario: str, faults: tuple[str, ...] = ("FAILURE",)) -> str | None:
    """Why a scenario failed, from its checks; one of which none passed shows nothing, so it failed too."""
    files = list(results.glob(f"{scenario}-[0-9]*/checks.json"))
    checks = [check for file in files for check in json.loads(file.read_text())]
    bad = [f"{one['id']}: {one.get('errorMessage') or one['description']}" for one in checks if one["status"] in faults]
    if bad:
        return "; ".join(bad)[:400]
    if not any(check["status"] in ("SUCCESS", "WARNING") for check in checks):
        return f"no check of it passed (see {results})"
    return None
