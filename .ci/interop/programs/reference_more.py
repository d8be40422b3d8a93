"""The SDK's reference server, of either SDK, and what it lacks for the rows `features/…`: a call that waits to be
cancelled, a resource that changes, a tool that comes and goes, a question for roots.   reference_more.py stdio | reference_more.py http PORT
INTEROP_SHARED is a folder that all processes of this server share, as real ones share a database: over stdio each client
may have a process of its own."""

import asyncio
import os
import sys
from pathlib import Path

from mcp_everything_server import server as reference

try:
    from mcp.server.mcpserver import Context

    MODERN_SDK = True
except ImportError:
    from mcp.server.fastmcp import Context
    from mcp.server.lowlevel.server import NotificationOptions
    from pydantic import AnyUrl

    MODERN_SDK = False

mcp = reference.mcp
SHARED = Path(os.environ["INTEROP_SHARED"])
WAIT_SECONDS = 30


@mcp.tool()
async def interop_wait(label: str, ctx: Context) -> str:
    """Reports progress once and then waits; `interop_outcome` tells how it ended."""
    outcome = SHARED / f"outcome-{label}"
    outcome.write_text("running")
    await ctx.report_progress(progress=1, total=2, message="waiting")
    try:
        await asyncio.sleep(WAIT_SECONDS)
    except asyncio.CancelledError:
        outcome.write_text("cancelled")
        raise
    outcome.write_text("finished")
    return "nobody cancelled"


@mcp.tool()
def interop_outcome(label: str) -> str:
    """How the wait of this label ended: running, cancelled, finished or unknown."""
    outcome = SHARED / f"outcome-{label}"
    return outcome.read_text() if outcome.exists() else "unknown"


@mcp.tool()
async def interop_touch(uri: str, ctx: Context) -> str:
    """Says that a resource has changed."""
    if is_modern(ctx):
        await ctx.notify_resource_updated(uri)
    else:
        await ctx.session.send_resource_updated(uri if MODERN_SDK else AnyUrl(uri))
    return "touched"


@mcp.tool()
async def interop_toggle(label: str, ctx: Context) -> str:
    """Adds the tool interop_extra_LABEL, or takes it away again, and says that the list has changed."""
    extra = SHARED / f"extra-{label}"
    if extra.exists():
        extra.unlink()
    else:
        extra.touch()
    if is_modern(ctx):
        await ctx.notify_tools_changed()
    else:
        await ctx.session.send_tool_list_changed()
    return "toggled"


@mcp.tool()
async def interop_roots(ctx: Context) -> str:
    """Asks for the client's roots in the middle of the call, which works in the handshake revisions."""
    return f"Client exposed {len((await ctx.session.list_roots()).roots)} root(s)."


def is_modern(ctx: Context) -> bool:
    return MODERN_SDK and (ctx.protocol_version or "") >= "2026-07-28"


def extra_tool() -> str:
    return "extra"


def list_with_extras(original):
    """What the folder says now, whichever process was asked to change it."""

    def list_tools():
        wanted = {f"interop_extra_{path.name.removeprefix('extra-')}" for path in SHARED.glob("extra-*")}
        there = {tool.name for tool in original() if tool.name.startswith("interop_extra_")}
        for name in wanted - there:
            mcp.add_tool(extra_tool, name=name)
        for name in there - wanted:
            mcp.remove_tool(name)
        return original()

    return list_tools


def announce_all(original):
    """SDK v1 announces neither what this server notifies nor its handler of resources/subscribe."""

    def get_capabilities(_options, experimental):
        options = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        found = original(options, experimental)
        found.resources.subscribe = True
        return found

    return get_capabilities


manager = mcp._tool_manager
manager.list_tools = list_with_extras(manager.list_tools)
if not MODERN_SDK:
    mcp._mcp_server.get_capabilities = announce_all(mcp._mcp_server.get_capabilities)

if sys.argv[1] == "stdio":
    mcp.run("stdio")
elif MODERN_SDK:
    mcp.run("streamable-http", port=int(sys.argv[2]), event_store=reference.event_store, retry_interval=100)
else:
    mcp.settings.port = int(sys.argv[2])
    mcp.run("streamable-http")
