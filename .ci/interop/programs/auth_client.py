"""The command of the suite's client mode for auth/*. It has the operator's gateway authorized at the suite's mock server,
as `gatewayd login` does it, and then calls the server's tools through that gateway.   auth_client.py URL
INTEROP_GATEWAYD is the gateway, INTEROP_MODE the SDK's mode, INTEROP_LOGS the folder for configuration, tokens and logs."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from mcp import Client

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tier.gateway import Gateway, command
from tier.process import Failed

# On a time-out the suite ends only the shell, so this program has to end first, and its gateway with it.
SECONDS = 40
# The operator gives up after this many logins.
MOST_LOGINS = 3
LIST_SECONDS = 8.0
INTERACTIVE = "gateway"
# The scenarios in which nobody logs in.
MACHINE = {
    "client-credentials-basic": "client_credentials",
    "client-credentials-jwt": "client_credentials",
    "wif-jwt-bearer": "jwt_bearer",
    "enterprise-managed-authorization": "enterprise_managed",
}
CLIENT_METADATA = "https://conformance-test.local/client-metadata.json"
BROWSER = Path(__file__).parent / "browser.py"


def scenario() -> str:
    return os.environ["MCP_CONFORMANCE_SCENARIO"].removeprefix("auth/")


def secret(path: Path, text: str) -> dict:
    path.touch(mode=0o600)
    path.write_text(text)
    return {"file": str(path)}


def issuer(url: str) -> str:
    """Whoever has a client secret knows of which authorization server; the suite does not always say."""
    place = url.removesuffix("/mcp") + "/.well-known/oauth-protected-resource/mcp"
    with urllib.request.urlopen(place, timeout=5) as document:
        return json.load(document)["authorization_servers"][0]


def auth(url: str, logs: Path) -> dict:
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    keys = {"type": "oauth", "mode": MACHINE.get(scenario(), INTERACTIVE), "loopback_issuers": True}
    if keys["mode"] == INTERACTIVE:
        keys |= {"client_metadata_url": CLIENT_METADATA, "legacy_discovery": True, "store": str(logs / "tokens")}
    if "client_id" in context:
        keys["client_id"] = context["client_id"]
    if "client_secret" in context:
        keys["client_secret"] = secret(logs / "client-secret", context["client_secret"])
        keys["issuer"] = context.get("issuer") or issuer(url)
    if "private_key_pem" in context:
        keys["private_key"] = secret(logs / "client-key.pem", context["private_key_pem"])
    if "valid_jwt" in context:
        keys["assertion"] = secret(logs / "assertion", context["valid_jwt"])
        keys["issuer"] = issuer(url)
    if "idp_id_token" in context:
        keys["idp"] = {
            "token_url": context["idp_token_endpoint"],
            "client_id": context["idp_client_id"],
            "subject_token": secret(logs / "id-token", context["idp_id_token"]),
        }
    return keys


def toml(value) -> str:
    """Strings, booleans, arrays and tables, which are inline."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


def configuration(url: str, logs: Path) -> Path:
    path = logs / "mock.toml"
    lines = [
        "[login]",
        f"command = {toml([sys.executable, str(BROWSER)])}",
        "[downstreams.mock]",
        f"url = {toml(url)}",
        f"auth = {toml(auth(url, logs))}",
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def login(binary: str, config: Path, logs: Path) -> None:
    with (logs / "login.log").open("ab") as log:
        done = subprocess.run(command(binary, "login", config, "mock"), check=False, stdout=log, stderr=log, timeout=15)
    if done.returncode != 0:
        raise Failed(f"gatewayd login: exit code {done.returncode}")


async def use(url: str, mode: str) -> None:
    """Every tool is called once. A gateway may need a moment until it lists what a downstream has."""
    end = time.monotonic() + LIST_SECONDS
    async with Client(url, mode=mode, cache=None) as client:
        while not (tools := (await client.list_tools()).tools):
            if time.monotonic() > end:
                raise Failed("no tools")
            await asyncio.sleep(0.2)
        for tool in tools:
            answer = await client.call_tool(tool.name, {})
            if answer.is_error:
                raise Failed(f"{tool.name}: {answer.content}")


def main(url: str) -> None:
    binary, mode, logs = (os.environ[f"INTEROP_{name}"] for name in ("GATEWAYD", "MODE", "LOGS"))
    logs = Path(logs)
    config = configuration(url, logs)
    interactive = scenario() not in MACHINE
    logins = MOST_LOGINS if interactive else 1
    if interactive:
        login(binary, config, logs)
    with Gateway(binary, config, logs / "gateway.log") as gateway:
        for left in reversed(range(logins)):
            try:
                asyncio.run(use(f"{gateway.url}/mock", mode))
                return
            except Exception as error:
                print(repr(error), file=sys.stderr)
            if left:
                login(binary, config, logs)
    raise Failed("the server's tools cannot be called")


signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"not done within {SECONDS} s"))
signal.alarm(SECONDS)
try:
    main(sys.argv[1])
except Failed as reason:
    sys.exit(str(reason))
