"""The official Python SDK as a client that uses more than lists and calls. Reads a job (JSON, first argument), prints
what it saw of each feature (JSON).
Job: {url | command, mode, seconds, plan}; `plan` and the answer are described in tier/features.py."""

import asyncio
import json
import sys
import traceback
from contextlib import asynccontextmanager

from mcp import Client, StdioServerParameters
from mcp_types import CreateMessageResult, ElicitResult, ListRootsResult, Root, TextContent

MODERN = "2026-07-28"


class Watcher:
    """What the server asked and said by itself."""

    def __init__(self):
        self.asked: list[str] = []
        self.notes: asyncio.Queue = asyncio.Queue(maxsize=1000)

    async def elicit(self, _context, params) -> ElicitResult:
        self.asked.append(params.message)
        fields = params.requested_schema.get("required", [])
        return ElicitResult(action="accept", content={name: "Ada" for name in fields})

    async def sample(self, _context, params) -> CreateMessageResult:
        self.asked.append(params.messages[0].content.text)
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text="Paris"), model="interop")

    async def roots(self, _context) -> ListRootsResult:
        self.asked.append("roots")
        return ListRootsResult(roots=[Root(uri="file:///interop", name="interop")])

    async def message(self, message) -> None:
        found = getattr(message, "root", message)
        if method := getattr(found, "method", None):
            uri = getattr(getattr(found, "params", None), "uri", None)
            self.notes.put_nowait((method, uri and str(uri)))

    async def note(self, wanted: tuple[str, str | None]) -> None:
        while await self.notes.get() != wanted:
            pass


def text_of(result) -> str:
    return " ".join(part.text for part in result.content if hasattr(part, "text"))


async def names(client: Client, kind: str) -> list[str]:
    found, cursor, fetch = [], None, {"tools": client.list_tools, "resources": client.list_resources}[kind]
    while True:
        page = await fetch(cursor=cursor)
        found += [item.name for item in getattr(page, kind)]
        if (cursor := page.next_cursor) is None:
            return found


@asynccontextmanager
async def changes(client: Client, watcher: Watcher, kind: str | None = None, uri: str | None = None):
    """Yields what waits for the next change of a list or of a resource, by the means of the era."""
    if client.protocol_version == MODERN:
        wanted = {"resource_subscriptions": [uri]} if uri else {f"{kind}_list_changed": True}
        async with client.listen(**wanted) as subscription:
            yield lambda: anext(subscription)
        return
    if uri:
        await client.subscribe_resource(uri)
        yield lambda: watcher.note(("notifications/resources/updated", uri))
        await client.unsubscribe_resource(uri)
    else:
        yield lambda: watcher.note((f"notifications/{kind}/list_changed", None))


class Features:
    def __init__(self, client: Client, watcher: Watcher, plan: dict):
        self.client, self.watcher, self.plan = client, watcher, plan

    async def call(self, wanted: dict, **options):
        return await self.client.call_tool(wanted["tool"], wanted["arguments"], **options)

    async def question(self, plan: dict) -> dict:
        self.watcher.asked.clear()
        return {"text": text_of(await self.call(plan)), "asked": list(self.watcher.asked)}

    elicitation = sampling = roots = question

    async def progress(self, plan: dict) -> dict:
        seen = []

        async def progress(value, _total, _message) -> None:
            seen.append(value)

        return {"text": text_of(await self.call(plan, progress_callback=progress)), "progress": seen}

    async def cancellation(self, plan: dict) -> dict:
        started = asyncio.Event()

        async def progress(*_) -> None:
            started.set()

        running = asyncio.create_task(self.call(plan, progress_callback=progress))
        await started.wait()
        running.cancel()
        (ended,) = await asyncio.gather(running, return_exceptions=True)
        return {"ended": isinstance(ended, asyncio.CancelledError), "outcome": await self.outcome(plan["after"])}

    async def outcome(self, after: dict) -> str:
        """The server hears of it a moment later."""
        while (text := text_of(await self.call(after))) == "running":
            await asyncio.sleep(0.1)
        return text

    async def subscription(self, plan: dict) -> dict:
        async with changes(self.client, self.watcher, uri=plan["uri"]) as change:
            await self.call(plan)
            await change()
        return {"updated": True}

    async def list_change(self, plan: dict) -> dict:
        async with changes(self.client, self.watcher, kind=plan["kind"]) as change:
            await self.call(plan)
            await change()
            # A gateway also tells of what others have changed.
            while plan["appears"] not in await names(self.client, plan["kind"]):
                await change()
        if plan["undo"]:
            await self.call(plan)
        return {"listed": True}


async def main(job: dict) -> dict:
    command, watcher = job.get("command"), Watcher()
    target = StdioServerParameters(command=command[0], args=command[1:]) if command else job["url"]
    callbacks = {
        "elicitation_callback": watcher.elicit,
        "sampling_callback": watcher.sample,
        "list_roots_callback": watcher.roots,
    }
    async with Client(target, mode=job["mode"], cache=None, message_handler=watcher.message, **callbacks) as client:
        async with asyncio.timeout(job["ready_seconds"]):
            while not set(job["wanted"]) <= set(await names(client, "tools")):
                await asyncio.sleep(0.25)
        features, saw = Features(client, watcher, job["plan"]), {}
        for feature, plan in job["plan"].items():
            try:
                async with asyncio.timeout(job["seconds"]):
                    saw[feature] = await getattr(features, feature)(plan)
            except Exception as error:
                traceback.print_exc()
                saw[feature] = {"problem": f"{type(error).__name__}: {error}"}
        return {"revision": client.protocol_version, "saw": saw}


print(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
