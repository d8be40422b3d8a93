"""The official Python SDK as a client. Reads a job (JSON, first argument), prints what it saw (JSON).

Job: {url | command, mode, wanted: [tool], calls: [{name, arguments}], seconds}. It lists every page until all
wanted tools are there, then makes the calls; the answer of one that raises is {problem}."""

import asyncio
import json
import sys
import time

from mcp import Client, StdioServerParameters


async def every_page(client: Client) -> tuple[list[str], int]:
    names, pages, cursor = [], 0, None
    while pages == 0 or cursor is not None:
        page = await client.list_tools(cursor=cursor)
        names += [tool.name for tool in page.tools]
        pages, cursor = pages + 1, page.next_cursor
    return names, pages


async def main(job: dict) -> dict:
    command = job.get("command")
    target = StdioServerParameters(command=command[0], args=command[1:]) if command else job["url"]
    async with Client(target, mode=job["mode"], cache=None, read_timeout_seconds=job["seconds"]) as client:
        end = time.monotonic() + job["seconds"]
        names, pages = await every_page(client)
        while not set(job["wanted"]) <= set(names) and time.monotonic() < end:
            await asyncio.sleep(0.25)
            names, pages = await every_page(client)
        answers = []
        for call in job["calls"]:
            try:
                result = await client.call_tool(call["name"], call["arguments"])
                answers.append(result.model_dump(mode="json", by_alias=True, exclude_none=True))
            except Exception as error:
                answers.append({"problem": f"{type(error).__name__}: {error}"})
        return {"revision": client.protocol_version, "pages": pages, "tools": names, "answers": answers}


print(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
