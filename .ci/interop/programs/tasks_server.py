"""A server for the suite's tasks-* scenarios, on FastMCP's implementation of the tasks extension. Its tools are those
that the scenarios ask for by name.   tasks_server.py stdio | tasks_server.py http PORT"""

import asyncio
import sys

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.utilities.tasks import TaskConfig
from fastmcp_tasks import TasksExtension
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

server = FastMCP("interop-tasks")
server.add_extension(TasksExtension())
only_as_task = TaskConfig(mode="required")


@server.tool
def greet(name: str) -> str:
    return f"Hello, {name}!"


@server.tool(task=True)
async def slow_compute(seconds: float = 1, label: str = "") -> str:
    await asyncio.sleep(seconds)
    return f"done {label}".strip()


@server.tool(task=only_as_task)
async def failing_job() -> str:
    await asyncio.sleep(1)
    raise ToolError("failing_job fails, as it says")


@server.tool(task=True)
async def protocol_error_job() -> str:
    raise MCPError(code=-32603, message="protocol_error_job fails, as it says")


@server.tool(task=True)
async def test_tool_with_task() -> str:
    await asyncio.sleep(0.2)
    return "done"


def form(message: str, **properties) -> ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def unanswered(context: Context, questions: dict[str, ElicitRequest]) -> InputRequiredResult | None:
    answered = context.input_responses or {}
    left = {key: question for key, question in questions.items() if key not in answered}
    return InputRequiredResult(input_requests=left) if left else None


@server.tool(task=only_as_task)
async def confirm_delete(context: Context, filename: str = ""):
    open_questions = unanswered(context, {"confirm": form(f"Delete {filename}?", confirm={"type": "boolean"})})
    return open_questions or f"{filename}: answered"


@server.tool(task=only_as_task)
async def multi_input(context: Context):
    questions = {
        "name": form("Your name?", name={"type": "string"}),
        "sure": form("Sure?", confirm={"type": "boolean"}),
    }
    return unanswered(context, questions) or "both answered"


if sys.argv[1] == "http":
    server.run("http", host="127.0.0.1", port=int(sys.argv[2]), show_banner=False)
else:
    server.run("stdio", show_banner=False)
