"""What one run does: its gateways, and its legs in the order in which they are begun."""

import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import Lock

from . import check_servers, check_workflows, gateway
from .check_apis import Apis
from .check_auth import Auth
from .check_clients import Clients, Target
from .check_commands import Commands
from .check_conformance import DIRECT, LEGS, TASK_LEGS, Conformance, Leg
from .check_features import FeatureRows
from .check_mcpcheck import mcpcheck
from .check_suite_client import CLIENT_LEGS, SuiteClient
from .expectations import Expectations
from .feature_servers import FeatureServers
from .probe import ERAS, MODERN, HttpProbe, StdioProbe
from .report import Report
from .server import Reference, Server
from .servers import Servers
from .shim import Shim
from .suite import Suite

# Clients that start a gateway of their own get a small one.
FEW = ("everything", "modern-http", "modern-stdio")
SUITE_SERVERS = ("modern-http", "modern-stdio", "legacy-http", "legacy-stdio", "tasks-http", "tasks-stdio")
PREFIXED, BESIDE = "modern-http", "time"


class Plan:
    def __init__(
        self,
        stack: ExitStack,
        report: Report,
        installed: Path,
        servers: Servers,
        known: dict[str, Reference],
        direct: bool,
    ):
        """`stack` ends what the plan starts; `direct`: without a gateway."""
        self._stack = stack
        self._report = report
        self._installed = installed
        self._servers = servers
        self._known = known
        self._binary = None if direct else gateway.binary()
        self._gateways: list[gateway.Gateway] = []
        self.expectations = Expectations()
        # Two legs at one server would see each other's changes.
        self._locks = {leg.server: Lock() for leg in [*LEGS, *TASK_LEGS]}

    def legs(self) -> list[Callable[[], None]]:
        """The longest first, so that none is left over at the end."""
        parts = {
            "conformance": self._conformance,
            "clients": self._clients,
            "tasks": self._tasks,
            "servers": self._through,
            "client": self._suite_client,
            "auth": self._auth,
            "features": self._features,
            "workflows": self._workflows,
            "api": self._apis,
            "mcpcheck": self._mcpcheck,
            "commands": self._commands,
        }
        wanted = [part for section, part in parts.items() if self._report.wants_any(section)]
        return [partial(self._guard, leg) for part in wanted for leg in part()]

    def _guard(self, leg: Callable[[], None]) -> None:
        """A mistake in the tier fails its leg, not the others."""
        try:
            leg()
        except Exception as error:
            traceback.print_exc()
            parts = [str(getattr(part, "name", part)) for part in getattr(leg, "args", ()) if not callable(part)]
            self._report.add(f"leg/{'/'.join(parts)}", f"{type(error).__name__}: {error}", always=True)

    def stop(self) -> None:
        for one in self._gateways:
            self._report.row(f"gateway/stops/{one.name}", one.stop)

    def _serve(self, name: str, config: Path) -> gateway.Gateway:
        log = self._report.logs / f"gateway-{name}.log"
        found = self._stack.enter_context(gateway.Gateway(self._binary, config, log))
        self._gateways.append(found)
        return found

    def _toml(self, name: str, servers: list[Server]) -> Path:
        return gateway.toml_file(self._report.logs / f"{name}.toml", servers)

    def _all(self) -> gateway.Gateway:
        for one in self._gateways:
            if one.name == "all":
                return one
        # As editors and desktop clients write it.
        return self._serve("all", gateway.mcp_servers_file(self._report.logs / "all.json", self._servers.all))

    def _few(self) -> list[Server]:
        return [self._servers.named(name) for name in FEW]

    def _through(self) -> Iterator[Callable[[], None]]:
        if not self._binary:
            return
        url, logs = self._all().url, self._report.logs
        command = gateway.command(self._binary, "stdio", self._toml("all", self._servers.all))
        for era in ERAS:
            http = partial(HttpProbe, url, era)
            stdio = partial(StdioProbe, command, logs / f"gateway-stdio-{era}.log", era)
            for face, probe in (("http", http), ("stdio", stdio)):
                yield partial(check_servers.through, self._report, face, era, probe, self._servers, self._known)

    def _clients(self) -> list[Callable[[], None]]:
        clients = Clients(self._installed, self._report, self._known)
        if not self._binary:
            server = self._servers.named("modern-http")
            return clients.jobs(Target("http", {"url": server.url}, [server], prefixed=False))
        few = self._few()
        stdio = {"command": gateway.command(self._binary, "stdio", self._toml("few", few))}
        http = {"url": self._all().url}
        return [
            *clients.jobs(Target("http", http, self._servers.all, prefixed=True)),
            *clients.jobs(Target("stdio", stdio, few, prefixed=True)),
        ]

    def _mcpcheck(self) -> Iterator[Callable[[], None]]:
        server = self._servers.named("modern-http")
        paths = {"all": self._all().url, "one": self._all().one(server)} if self._binary else {"direct": server.url}
        for name, url in paths.items():
            yield partial(mcpcheck, self._report, self._installed, name, url)

    def _apis(self) -> list[Callable[[], None]]:
        return Apis(self._installed, self._report, self._binary).jobs() if self._binary else []

    def _commands(self) -> list[Callable[[], None]]:
        if not self._binary:
            return []
        return [Commands(self._report, self._binary, self._toml("few", self._few()), self._few(), self._known).rows]

    def _workflows(self) -> list[Callable[[], None]]:
        if not self._binary:
            return []
        config = self._report.logs / "workflows.toml"
        toml = check_workflows.config(config, self._servers.named("legacy-stdio"))
        rows = check_workflows.WorkflowRows(self._installed, self._report, self._binary, toml)
        return rows.jobs(self._serve("workflows", toml).url)

    def _suite(self) -> Suite:
        return Suite(self._installed, self._report.logs)

    def _conformance(self) -> Iterator[Callable[[], None]]:
        suite = Conformance(self._suite(), self._report, self.expectations)
        for leg in LEGS:
            if leg.name in DIRECT or self._binary:
                for revision in leg.revisions:
                    yield partial(suite.revision, leg, revision, self._address)

    def _tasks(self) -> Iterator[Callable[[], None]]:
        suite = Conformance(self._suite(), self._report, self.expectations)
        for leg in TASK_LEGS:
            if leg.name in DIRECT or self._binary:
                yield partial(suite.tasks, leg, MODERN, self._address)

    @contextmanager
    def _address(self, leg: Leg) -> Iterator[str]:
        with self._locks[leg.server]:
            if leg.name in DIRECT:
                yield self._servers.named(leg.server).url
            elif leg.name == "prefixed":
                target = self._prefixed.url
                check_servers.wait_for_tool(target, f"{PREFIXED}__{self._servers.named(PREFIXED).tool}")
                with Shim(self._installed, self._report.logs, target, f"{PREFIXED}__") as shim:
                    yield shim.url
            else:
                name = leg.server.replace("modern", "pinned") if leg.name.startswith("pinned") else leg.server
                url = f"{self._for_suite.url}/{name}"
                check_servers.wait_for_tool(url, self._servers.named(leg.server).tool)
                yield url

    def start_for_suite(self) -> None:
        """The gateways of the suite: one with each reference server by itself, one with two downstreams on one path."""
        if not self._binary or not any(map(self._report.wants_any, ("conformance", "tasks"))):
            return
        servers = [self._servers.named(name) for name in SUITE_SERVERS]
        pinned = [one.pinned(one.name.replace("modern", "pinned"), MODERN) for one in servers if "modern" in one.name]
        self._for_suite = self._serve("suite", self._toml("suite", [*servers, *pinned]))
        both = [self._servers.named(name) for name in (PREFIXED, BESIDE)]
        self._prefixed = self._serve("prefixed", self._toml("prefixed", both))

    def _suite_client(self) -> Iterator[Callable[[], None]]:
        client = SuiteClient(self._suite(), self._report, self.expectations, self._installed, self._binary)
        for leg in CLIENT_LEGS:
            if self._binary or not leg.gateway:
                yield from client.jobs(leg)

    def _auth(self) -> list[Callable[[], None]]:
        if not self._binary:
            return []
        return Auth(self._suite(), self._report, self.expectations, self._installed, self._binary).jobs()

    def _features(self) -> list[Callable[[], None]]:
        scratch = self._report.logs / "features"
        scratch.mkdir()
        servers = self._stack.enter_context(FeatureServers(self._installed, self._report.logs, scratch))
        rows = FeatureRows(self._installed, self._report, self.expectations, servers)
        if not self._binary:
            return rows.jobs(("direct",), None, None)
        serve = self._serve("features", self._toml("features", servers.all))
        return rows.jobs(("direct", "http", "stdio"), serve.one, self._binary)
