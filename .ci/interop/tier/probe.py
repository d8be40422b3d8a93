"""A raw MCP client for either era over stdio or HTTP. It checks nothing and changes nothing: what the other side wrote
is what a row compares."""

import http.client
import json
import queue
import threading
from pathlib import Path
from urllib.parse import urlsplit

from .json_text import loads
from .process import Failed, Program

MODERN, LEGACY = "2026-07-28", "2025-11-25"
ERAS = {"modern": MODERN, "legacy": LEGACY}
# What a client that can do everything declares; some servers offer more tools to it.
ALL_CAPABILITIES = {"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {"listChanged": True}}
MAX_PAGES = 50
TIMEOUT_SECONDS = 20.0
CLIENT_INFO = {"name": "interop-probe", "version": "1"}


class Probe:
    """What both transports share: the requests. A subclass has `exchange`, `notify` and `close`."""

    def __init__(self, era: str, capabilities: dict):
        self.era = era
        self.capabilities = capabilities
        # What `initialize` must be answered with.
        self.handshake_revision = LEGACY
        # Of the latest tools/list.
        self.page_sizes: list[int] = []
        self._id = 0

    def __enter__(self):
        try:
            self._open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def _open(self) -> None:
        if self.era == "modern":
            self.request("server/discover", {})
            return
        hello = {"protocolVersion": LEGACY, "capabilities": self.capabilities, "clientInfo": CLIENT_INFO}
        answer = self.request("initialize", hello)
        if (found := answer.get("protocolVersion")) != self.handshake_revision:
            raise Failed(f"initialize answered protocolVersion {found!r}, not {self.handshake_revision}")
        self.notify({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def request(self, method: str, params: dict) -> dict:
        """The result of one request; an error answer is a failure."""
        self._id += 1
        if self.era == "modern":
            params = {**params, "_meta": self._meta()}
        message = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        answer = self.exchange(message)
        if "error" in answer:
            raise Failed(f"{method}: error {json.dumps(answer['error'])[:300]}")
        if not isinstance(answer.get("result"), dict):
            raise Failed(f"{method}: no result in {json.dumps(answer)[:300]}")
        return answer["result"]

    def tools(self) -> list[dict]:
        """Every page of tools/list."""
        found, cursor = [], None
        self.page_sizes = []
        for _ in range(MAX_PAGES):
            result = self.request("tools/list", {"cursor": cursor} if cursor is not None else {})
            found += result["tools"]
            self.page_sizes.append(len(result["tools"]))
            cursor = result.get("nextCursor")
            if cursor is None:
                return found
        raise Failed(f"tools/list: more than {MAX_PAGES} pages")

    def call(self, name: str, arguments: dict) -> dict:
        return self.request("tools/call", {"name": name, "arguments": arguments})

    def _meta(self) -> dict:
        key = "io.modelcontextprotocol/"
        return {
            f"{key}protocolVersion": MODERN,
            f"{key}clientInfo": CLIENT_INFO,
            f"{key}clientCapabilities": self.capabilities,
        }

    def _answer_of(self, message: dict, own_id: int) -> bool:
        return message.get("id") == ("number", str(own_id)) and "method" not in message


class StdioProbe(Probe):
    """Starts the command and speaks to its stdin and stdout."""

    def __init__(
        self, command: list[str], log: Path, era: str, capabilities: dict | None = None, env: dict | None = None
    ):
        super().__init__(era, capabilities or {})
        self._program = Program(command[0], command, log, env, pipes=True)
        self._lines: queue.Queue = queue.Queue(maxsize=1024)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._program.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def notify(self, message: dict) -> None:
        try:
            self._program.process.stdin.write(json.dumps(message).encode() + b"\n")
            self._program.process.stdin.flush()
        except OSError:
            raise Failed(f"the program ended (log: {self._program.log})") from None

    def exchange(self, message: dict) -> dict:
        self.notify(message)
        while True:
            try:
                line = self._lines.get(timeout=TIMEOUT_SECONDS)
            except queue.Empty:
                raise Failed(f"{message['method']}: no answer within {TIMEOUT_SECONDS:.0f} s") from None
            if line is None:
                raise Failed(f"{message['method']}: the program ended (log: {self._program.log})")
            got = loads(line)
            if self._answer_of(got, message["id"]):
                return got
            if "method" in got and "id" in got:
                self._refuse(got)

    def _refuse(self, request: dict) -> None:
        """Servers may ask something at start-up; the probe has no answers, only good manners."""
        own_id = request["id"]
        plain = json.loads(own_id[1]) if isinstance(own_id, tuple) else own_id
        error = {"code": -32601, "message": "the probe answers no requests"}
        self.notify({"jsonrpc": "2.0", "id": plain, "error": error})

    def close(self) -> None:
        self._program.stop()


class HttpProbe(Probe):
    """One POST per message; JSON and SSE answers."""

    def __init__(self, url: str, era: str, capabilities: dict | None = None):
        super().__init__(era, capabilities or {})
        self._url = urlsplit(url)
        self._session: str | None = None

    def notify(self, message: dict) -> None:
        status, _, body = self._post(message)
        if status != 202:
            raise Failed(f"{message['method']}: HTTP {status}, not 202: {body[:200]!r}")

    def exchange(self, message: dict) -> dict:
        status, headers, body = self._post(message)
        self._session = headers.get("mcp-session-id") or self._session
        kind = (headers.get("content-type") or "").partition(";")[0].strip()
        if kind not in ("application/json", "text/event-stream"):
            raise Failed(f"{message['method']}: HTTP {status}, {kind or 'no content type'}: {body[:200]!r}")
        answers = [loads(body)] if kind == "application/json" else [loads(data) for data in _events(body)]
        for answer in answers:
            if self._answer_of(answer, message["id"]) or "error" in answer:
                return answer
        raise Failed(f"{message['method']}: HTTP {status}, no answer with this id in {body[:200]!r}")

    def _post(self, message: dict):
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        if self.era == "modern":
            headers |= {"mcp-protocol-version": MODERN, "mcp-method": message["method"]}
            if name := message.get("params", {}).get("name"):
                headers["mcp-name"] = name
        elif message["method"] != "initialize":
            headers["mcp-protocol-version"] = LEGACY
        return self._send("POST", headers, json.dumps(message).encode())

    def _send(self, method: str, headers: dict, body: bytes | None = None):
        if self._session:
            headers["mcp-session-id"] = self._session
        connection = http.client.HTTPConnection(self._url.hostname, self._url.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, self._url.path, body, headers)
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise Failed(f"{method} {self._url.geturl()}: {error!r}") from None
        finally:
            connection.close()

    def close(self) -> None:
        if self._session:
            try:
                self._send("DELETE", {"mcp-protocol-version": LEGACY})
            except Failed:
                pass


def _events(body: bytes) -> list[str]:
    blocks = body.decode().replace("\r\n", "\n").replace("\r", "\n").split("\n\n")
    data = (
        "\n".join(line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:"))
        for block in blocks
    )
    return [text for text in data if text.strip()]
