"""Rows `api/…`: the official SDKs call every operation of the petstore through the gateway, which has its descriptions in
three generations of OpenAPI, and `gatewayd check` tells what becomes of them."""

import json
import sys
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from . import petstore
from .check_clients import SDKS, Sdk
from .gateway import Gateway, command
from .json_text import plain_loads
from .petstore import OPERATIONS, STORES, Operation
from .probe import MODERN
from .process import Failed, Program, free_port, run, until
from .report import Report
from .servers import PROGRAMS, START_SECONDS, accepts

SECONDS = 20
FACES = ("http", "stdio")
# The rest of the modes arrives at the same revisions.
CLIENTS = [sdk for sdk in SDKS if sdk.language != "inspector" and sdk.mode != MODERN]
# Of the petstore: all, and those that only read.
ALL, READING = 20, 8


class Apis:
    def __init__(self, installed: Path, report: Report, binary: str):
        self._installed = installed
        self._report = report
        self._binary = binary

    def jobs(self) -> list[Callable[[], None]]:
        legs = [partial(self._leg, face, sdk) for face in FACES for sdk in CLIENTS if self._wanted(face, sdk)]
        return [*legs, self._checks]

    def _wanted(self, face: str, sdk: Sdk) -> bool:
        return any(self._report.wants(f"api/{face}/{sdk.name}/{operation.name}") for operation in OPERATIONS)

    @contextmanager
    def _store(self, name: str):
        """A petstore of its own for each leg: its address, and the file with what arrives."""
        log = self._report.logs / f"server-petstore-{name}.log"
        seen, port = log.with_suffix(".jsonl"), free_port()
        seen.touch()
        program = [sys.executable, str(PROGRAMS / "petstore.py"), str(port), str(seen)]
        with Program("petstore", program, log) as running:
            until("the petstore", START_SECONDS, lambda: accepts(running, port))
            yield f"http://127.0.0.1:{port}", seen

    def _leg(self, face: str, sdk: Sdk) -> None:
        name = f"{face}-{sdk.name}"
        with ExitStack() as stack:
            address, seen = stack.enter_context(self._store(name))
            config = petstore.config(self._report.logs / f"api-{name}.toml", self._installed, address, read_only=False)
            if face == "http":
                log = self._report.logs / f"gateway-api-{sdk.name}.log"
                where = {"url": stack.enter_context(Gateway(self._binary, config, log)).url}
            else:
                where = {"command": command(self._binary, "stdio", config)}
            try:
                answers = self._run(name, sdk, where)
            except Failed as error:
                answers = [{"problem": str(error)}] * len(petstore.calls())
            requests = [json.loads(line) for line in seen.read_text().splitlines()]
        self._rows(f"api/{face}/{sdk.name}", sdk, answers, requests)

    def _run(self, name: str, sdk: Sdk, where: dict) -> list[dict]:
        calls = [
            {"name": f"{store}__{operation.tool}", "arguments": operation.arguments}
            for store, operation in petstore.calls()
        ]
        wanted = sorted({call["name"] for call in calls})
        job = {**where, "mode": sdk.mode, "wanted": wanted, "calls": calls, "seconds": SECONDS}
        log = self._report.logs / f"client-api-{name}.log"
        env = {"INTEROP_NPM": str(self._installed / "npm")}
        code, out = run([*sdk.program(self._installed), json.dumps(job)], log, 3 * SECONDS, env)
        if code != 0:
            raise Failed(f"exit code {code} (log: {log})")
        saw = plain_loads(out)
        if saw["revision"] != sdk.revision:
            raise Failed(f"it speaks {saw['revision']}, not {sdk.revision}")
        if set(saw["tools"]) != set(wanted):
            raise Failed(f"other tools than wanted: {sorted(set(saw['tools']) ^ set(wanted))}")
        return saw["answers"]

    def _rows(self, at: str, sdk: Sdk, answers: list[dict], requests: list[dict]) -> None:
        problems: dict[str, list[str]] = {}
        for (store, operation), answer in zip(petstore.calls(), answers, strict=True):
            found = problems.setdefault(operation.name, [])
            try:
                petstore.check_result(operation, answer, sdk.revision == MODERN)
                petstore.check_request(operation, _of(operation, store, requests))
            except Failed as error:
                found.append(f"{store}: {error}")
        for name, found in problems.items():
            self._report.add(f"{at}/{name}", "; ".join(found) or None)
        self._report.row(f"{at}/requests", lambda: _check_count(requests))

    def _checks(self) -> None:
        for name, read_only, count in (("all", False, ALL), ("read-only", True, READING)):
            self._report.row(f"api/check/{name}", lambda: self._check(name, read_only, count))

    def _check(self, name: str, read_only: bool, count: int) -> None:
        with self._store(f"check-{name}") as (address, seen):
            config = petstore.config(self._report.logs / f"api-check-{name}.toml", self._installed, address, read_only)
            log = self._report.logs / f"gateway-api-check-{name}.log"
            code, out = run(command(self._binary, "check", config, "--json"), log, SECONDS)
            arrived = seen.read_text()
        if code != 0:
            raise Failed(f"exit code {code} (log: {log})")
        found = {entry["name"]: (entry["state"], entry["tools"]) for entry in plain_loads(out)["downstreams"]}
        wanted = {store: ("ready", count) for store in petstore.DESCRIPTIONS}
        wanted[petstore.PHOTOS] = ("ready", 2 if read_only else 3)
        if found != wanted:
            raise Failed(f"{found}, expected {wanted}")
        if arrived:
            raise Failed(f"the API was asked: {arrived}")


def _of(operation: Operation, store: str, requests: list[dict]) -> list[dict]:
    call = operation.seen and operation.seen.call
    return [request for request in requests if (request["store"], request["call"]) == (store, call)]


def _check_count(requests: list[dict]) -> None:
    """One for each call that makes one, and one for the token that many of them need."""
    wanted = sum(operation.seen is not None for _, operation in petstore.calls())
    tokens = sum(request["store"] == "token" for request in requests)
    others = sum(request["store"] in STORES for request in requests)
    if (tokens, others) != (1, wanted) or len(requests) != tokens + others:
        saw = f"{len(requests)} requests arrived, {others} of them calls and {tokens} for tokens"
        raise Failed(f"{saw}; expected {wanted} and 1")
