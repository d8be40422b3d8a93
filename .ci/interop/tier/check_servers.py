"""Rows `direct/…` and `servers/…`: every real server asked directly, and through one gateway that has them all."""

from collections.abc import Callable
from functools import partial

from .json_text import difference
from .probe import HttpProbe, Probe
from .process import Failed, until
from .report import Report
from .server import Reference, Server, reference
from .servers import Servers
from .side_by_side import side_by_side

# The last of all servers on two busy cores; the first answer may come without it.
READY_SECONDS = 45.0
# Tools per page of the gateway's tools/list; the servers have more together.
PAGE_SIZE = 100
# What a call's answer is made of in every era; the rest belongs to the envelope of an era.
ANSWER_MEMBERS = ("content", "structuredContent", "isError")


def direct(report: Report, servers: Servers) -> dict[str, Reference]:
    """The baseline: what each server says itself. The other rows compare with it."""
    found: dict[str, Reference] = {}

    def check(server: Server) -> None:
        found[server.name] = reference(server, report.logs)

    def row(server: Server) -> None:
        # A row that is left out is still needed as the reference of others.
        if report.wants(f"direct/{server.name}"):
            report.row(f"direct/{server.name}", lambda: check(server))
        else:
            check(server)

    side_by_side(partial(row, server) for server in servers.all)
    return found


def through(
    report: Report, face: str, era: str, probe: Callable[[], Probe], servers: Servers, known: dict[str, Reference]
) -> None:
    """Lists and calls every server through the gateway's one endpoint, in one era."""
    name = f"servers/{face}-{era}"
    if not any(report.wants(f"{name}/{row}") for row in ["pages", *known]):
        return
    try:
        with probe() as client:
            listed = _all_tools(client, known)
            report.row(f"{name}/pages", lambda: _check_pages(client))
            for server in servers.all:
                check = lambda: _check(client, listed, server, known.get(server.name), era)
                report.row(f"{name}/{server.name}", check)
    except Failed as error:
        report.add(f"{name}/list", str(error), always=True)


def _all_tools(client: Probe, known: dict[str, Reference]) -> dict[str, list[dict]]:
    """The list, as soon as every server is in it; else what is there when the time is up."""
    listed: dict[str, list[dict]] = {}

    def attempt() -> bool:
        listed.clear()
        listed.update(by_downstream(client.tools()))
        return all(name in listed for name in known)

    try:
        until("every server listed", READY_SECONDS, attempt, every=0.25)
    except Failed:
        if not listed:
            raise
    return listed


def _check_pages(client: Probe) -> None:
    sizes = client.page_sizes
    if max(sizes) > PAGE_SIZE or len(sizes) != -(-sum(sizes) // PAGE_SIZE):
        raise Failed(f"pages of {sizes} tools, expected full ones of {PAGE_SIZE} and a rest")


def _check(client: Probe, listed: dict, server: Server, known: Reference | None, era: str) -> None:
    if known is None:
        raise Failed("no reference: see its row `direct/…`")
    check_definitions(listed.get(server.name, []), known)
    if not server.tool:
        return
    result = client.call(f"{server.name}__{server.tool}", server.arguments)
    server.check_answer(result)
    if server.stable:
        wanted = known.answers.get(era) or known.answers["legacy"]
        parts = [{key: answer[key] for key in ANSWER_MEMBERS if key in answer} for answer in (wanted, result)]
        if found := difference(*parts):
            raise Failed(f"the answer of {server.tool} changed at {found}")


def by_downstream(tools: list[dict]) -> dict[str, list[dict]]:
    """Exposed tools under the names that their servers gave them."""
    found: dict[str, list[dict]] = {}
    for tool in tools:
        downstream, _, own = tool["name"].partition("__")
        found.setdefault(downstream, []).append({**tool, "name": own})
    return found


def wait_for_tool(url: str, tool: str) -> None:
    """Returns when a tool is offered at this address of the gateway; the suite itself does not wait."""

    def attempt() -> bool:
        with HttpProbe(url, "legacy") as client:
            return any(found["name"] == tool for found in client.tools())

    until(f"the tool {tool} at {url}", READY_SECONDS, attempt, every=0.25)


def check_definitions(tools: list[dict], known: Reference) -> None:
    """Every definition is one that the server gives itself, member for member, and none is missing. `execution` is not
    passed on: it offers the tasks of 2025-11-25, which the gateway does not."""
    names = [tool["name"] for tool in tools]
    if missing := known.required - set(names):
        raise Failed(f"{len(missing)} of {len(known.required)} tools not listed: {sorted(missing)[:5]}")
    if len(set(names)) != len(names):
        raise Failed("a tool is listed twice")
    for tool in tools:
        originals = known.definitions.get(tool["name"])
        if not originals:
            raise Failed(f"{tool['name']}: the server has no such tool")
        differences = [difference(_without_execution(original), tool) for original in originals]
        if all(differences):
            raise Failed(f"the definition of {tool['name']} changed at {differences[0]}")


def _without_execution(tool: dict) -> dict:
    return {name: value for name, value in tool.items() if name != "execution"}
