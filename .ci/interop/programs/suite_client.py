"""The command of the suite's client mode. It starts a gateway whose only downstream is the suite's mock server, and
does with the official SDK what the scenario needs a client to do.   suite_client.py URL
INTEROP_GATEWAYD is the gateway (without it the client speaks to the mock itself), INTEROP_MODE the SDK's mode,
INTEROP_PROTOCOL the only revision in which the gateway may speak to the mock server (without it any), INTEROP_LOGS the
folder for the gateway's log and configuration."""

import asyncio
import json
import os
import signal
import sys
import urllib.request
from pathlib import Path

from mcp import Client
from mcp_types import CreateMessageResult, ElicitResult, ListRootsResult, TextContent

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tier.gateway import Gateway, toml_file
from tier.process import until
from tier.server import Server

SCENARIO = os.environ["MCP_CONFORMANCE_SCENARIO"]
# On a time-out the suite ends only the shell, so this program has to end first, and its gateway with it.
SECONDS = 40
READY_SECONDS = 10.0
STUB_ARGUMENTS = {"string": "x", "integer": 0, "number": 0, "boolean": False, "object": {}, "array": []}


async def accept(_context, params) -> ElicitResult:
    """Accepts with the defaults of the form, as a user does who only presses the button."""
    fields = (getattr(params, "requested_schema", None) or {}).get("properties", {})
    defaults = {name: field["default"] for name, field in fields.items() if "default" in field}
    return ElicitResult(action="accept", content=defaults or {"confirmed": True})


async def sample(_context, _params) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(type="text", text="sampled"), model="interop")


async def roots(_context) -> ListRootsResult:
    return ListRootsResult(roots=[])


# What the client declares is part of a scenario: by default it can do nothing.
CALLBACKS = {
    "request-metadata": {
        "elicitation_callback": accept,
        "sampling_callback": sample,
        "list_roots_callback": roots,
    },
    "elicitation-sep1034-client-defaults": {"elicitation_callback": accept},
    "sep-2322-client-request-state": {"elicitation_callback": accept},
}


async def list_only(_client: Client, _tools: list) -> None:
    """The list alone shows it."""


def call(*names: str, arguments: dict | None = None):
    async def drive(client: Client, _tools: list) -> None:
        for name in names:
            await client.call_tool(name, arguments or {})

    return drive


async def unknown_tool(client: Client, _tools: list) -> None:
    """The mock server has no tools, so a gateway refuses the call itself."""
    await tolerant_call(client, "add_numbers", {"a": 5, "b": 3})


async def echo_schema(client: Client, tools: list) -> None:
    schema = next(tool.input_schema for tool in tools if tool.name == "json_schema_2020_12_tool")
    await client.call_tool("json_schema_echo", {"schema": schema})


async def one_of_each(client: Client, tools: list) -> None:
    await client.call_tool(tools[0].name, stub_arguments(tools[0]))
    await client.read_resource((await client.list_resources()).resources[0].uri)
    await client.get_prompt((await client.list_prompts()).prompts[0].name)


async def questions(client: Client, tools: list) -> None:
    await call("test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state")(client, tools)
    # Its answer has no resultType, which this SDK takes from no modern server.
    await tolerant_call(client, "test_mrtr_no_result_type", {})


async def every_tool(client: Client, tools: list) -> None:
    for tool in tools:
        await tolerant_call(client, tool.name, stub_arguments(tool))


async def given_calls(client: Client, tools: list) -> None:
    names = {tool.name for tool in tools}
    for one in json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])["toolCalls"]:
        if one["name"] in names:
            await tolerant_call(client, one["name"], one.get("arguments") or {})


async def tolerant_call(client: Client, name: str, arguments: dict) -> None:
    """Scenarios about headers judge what arrives, and answer some calls with errors."""
    try:
        await client.call_tool(name, arguments)
    except Exception as error:
        print(f"{name}: {error!r}", file=sys.stderr)


def stub_arguments(tool) -> dict:
    fields = tool.input_schema.get("properties", {})
    return {
        name: STUB_ARGUMENTS.get(fields.get(name, {}).get("type"), "x")
        for name in tool.input_schema.get("required", [])
    }


SCENARIOS = {
    "initialize": list_only,
    "tools_call": call("add_numbers", arguments={"a": 5, "b": 3}),
    "request-metadata": unknown_tool,
    "elicitation-sep1034-client-defaults": call("test_client_elicitation_defaults"),
    "sse-retry": call("test_reconnection"),
    "sep-2322-client-request-state": questions,
    "json-schema-2020-12-preservation": echo_schema,
    "json-schema-ref-no-deref": list_only,
    "http-standard-headers": one_of_each,
    "http-invalid-tool-headers": every_tool,
    "http-custom-headers": given_calls,
}


async def drive(url: str, mode: str) -> None:
    async with Client(url, mode=mode, cache=None, **CALLBACKS.get(SCENARIO, {})) as client:
        await SCENARIOS[SCENARIO](client, (await client.list_tools()).tools)


def ready(gateway: Gateway) -> bool:
    page = gateway.url.removesuffix("/mcp") + "/readyz"
    with urllib.request.urlopen(page, timeout=2) as answer:
        return answer.status == 200


def main(url: str) -> None:
    mode, binary = os.environ["INTEROP_MODE"], os.environ.get("INTEROP_GATEWAYD")
    if not binary:
        asyncio.run(drive(url, mode))
        return
    logs = Path(os.environ["INTEROP_LOGS"])
    mock = Server("mock", "", {}, "", 0, (), url=url, protocol=os.environ.get("INTEROP_PROTOCOL"))
    config = toml_file(logs / "mock.toml", [mock])
    with Gateway(binary, config, logs / "gateway.log") as gateway:
        until("the mock server behind the gateway", READY_SECONDS, lambda: ready(gateway))
        asyncio.run(drive(gateway.one(mock), mode))


signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"not done within {SECONDS} s"))
signal.alarm(SECONDS)
main(sys.argv[1])
