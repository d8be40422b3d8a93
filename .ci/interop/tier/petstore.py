"""The petstore behind `gatewayd`: its descriptions, what each of its operations is called with, and what must become of
that on both sides."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from .process import Failed
from .servers import PROGRAMS

# What programs/petstore.py takes.
KEY, TOKEN, CLIENT_ID, CLIENT_SECRET = "special-key", "a-token", "interop", "client secret"
# Downstream, and where its description is; the first three are one API in three generations of OpenAPI.
DESCRIPTIONS = {"pets20": "2.0/json", "pets30": "3.0/yaml", "pets31": "3.1/json"}
PHOTOS = "photos"
STORES = (*DESCRIPTIONS, PHOTOS)

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PET = {
    "id": 9007199254740991,
    "category": {"id": 1, "name": "dogs"},
    "name": "Rex & Söhne",
    "photoUrls": ["https://example.org/a?b=c"],
    "tags": [{"id": 2, "name": "a b"}, {"id": 3, "name": "c,d"}],
    "status": "pending",
}
ORDER = {"id": 7, "petId": PET["id"], "quantity": 2, "status": "placed", "complete": False}
ADA = {"id": 1, "username": "ada/l", "firstName": "Ada", "password": "p&=?", "userStatus": 1}
BOB = {"id": 2, "username": "bob", "firstName": "Bob", "password": "q", "userStatus": 0}


def done(message: str) -> dict:
    return {"code": 200, "type": "unknown", "message": message}


@dataclass(frozen=True)
class Seen:
    """A request as it must arrive. `auth` is the scheme whose credential it carries, and no other."""

    call: str
    query: str = ""
    auth: str | None = None
    kind: str | None = None
    # The body, or what tells whether it is right.
    body: bytes | Callable[[bytes], bool] = b""


@dataclass(frozen=True)
class Operation:
    """One call. `seen` is the one request that it makes, or None if none may be made."""

    tool: str
    arguments: dict
    seen: Seen | None
    # What the API answers: a JSON value, text, a PNG, or nothing at all.
    answer: object = None
    # Whether the description has a schema for it, so that it is structured content.
    structured: bool = False
    # With this text at the beginning, if the result is flagged as an error.
    error: str | None = None
    row: str = ""
    stores: tuple[str, ...] = field(default=tuple(DESCRIPTIONS))

    @property
    def name(self) -> str:
        return self.row or self.tool


def sends_json(value) -> Callable[[bytes], bool]:
    return lambda body: json.loads(body) == value


def is_upload(body: bytes) -> bool:
    parts = (b'; name="additionalMetadata"', b'; name="file"', "größer".encode(), PNG)
    return all(body.count(part) == 1 for part in parts)


def is_form(body: bytes) -> bool:
    return sorted(body.split(b"&")) == [b"name=Rex%2B1", b"status=sold"]


JSON, FORM, UPLOAD = "application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary="
BYTES = "application/octet-stream"
OWNER = "petstore_auth"
PET_PATH = f"/pet/{PET['id']}"
ADA_PATH = f"/user/{quote(ADA['username'], safe='')}"
UPDATED = PET | {"status": "available"}
RENAMED = UPDATED | {"name": "Rex+1", "status": "sold"}
LISTED = [ADA, BOB]

# In this order: later calls find what earlier ones made.
OPERATIONS = [
    Operation("addPet", {"body": PET}, Seen("POST /pet", "", OWNER, JSON, sends_json(PET)), PET),
    Operation("updatePet", {"body": UPDATED}, Seen("PUT /pet", "", OWNER, JSON, sends_json(UPDATED)), UPDATED),
    Operation(
        "findPetsByStatus",
        {"status": ["available", "sold"]},
        Seen("GET /pet/findByStatus", "status=available&status=sold", OWNER),
        [UPDATED],
        True,
    ),
    Operation(
        "findPetsByTags",
        {"tags": ["c,d", "e&f"]},
        Seen("GET /pet/findByTags", "tags=c%2Cd&tags=e%26f", OWNER),
        [UPDATED],
        True,
    ),
    Operation("getPetById", {"petId": PET["id"]}, Seen(f"GET {PET_PATH}", "", "api_key"), UPDATED, True),
    Operation(
        "updatePetWithForm",
        {"petId": PET["id"], "body": {"name": "Rex+1", "status": "sold"}},
        Seen(f"POST {PET_PATH}", "", OWNER, FORM, is_form),
        done(str(PET["id"])),
    ),
    Operation(
        "uploadFile",
        {"petId": PET["id"], "body": {"additionalMetadata": "größer", "file": base64.b64encode(PNG).decode()}},
        Seen(f"POST {PET_PATH}/uploadImage", "", OWNER, UPLOAD, is_upload),
        done(f"additionalMetadata: größer, {len(PNG)} bytes"),
        True,
        stores=("pets20", "pets30"),
    ),
    Operation(
        "uploadFile",
        {"petId": PET["id"], "body": base64.b64encode(PNG).decode()},
        Seen(f"POST {PET_PATH}/uploadImage", "", OWNER, BYTES, PNG),
        done(f"{len(PNG)} bytes"),
        True,
        stores=("pets31",),
    ),
    Operation("getInventory", {}, Seen("GET /store/inventory", "", "api_key"), {"sold": 1}, True),
    Operation("placeOrder", {"body": ORDER}, Seen("POST /store/order", "", None, JSON, sends_json(ORDER)), ORDER, True),
    Operation("getOrderById", {"orderId": 7}, Seen("GET /store/order/7"), ORDER, True),
    # The document says at most 10; nobody is asked.
    Operation("getOrderById", {"orderId": 11}, None, error="invalid arguments", row="refused"),
    Operation("getPetById", {}, None, error="invalid arguments", row="required"),
    Operation("deleteOrder", {"orderId": 7}, Seen("DELETE /store/order/7"), done("7")),
    Operation("createUser", {"body": ADA}, Seen("POST /user", "", None, JSON, sends_json(ADA)), done("ok")),
    Operation(
        "createUsersWithArrayInput",
        {"body": LISTED},
        Seen("POST /user/createWithArray", "", None, JSON, sends_json(LISTED)),
        done("ok"),
    ),
    Operation(
        "createUsersWithListInput",
        {"body": LISTED},
        Seen("POST /user/createWithList", "", None, JSON, sends_json(LISTED)),
        done("ok"),
    ),
    Operation(
        "loginUser",
        {"username": "ada/l", "password": "p&=?"},
        Seen("GET /user/login", "password=p%26%3D%3F&username=ada%2Fl"),
        "logged in user session:2",
        True,
    ),
    Operation("logoutUser", {}, Seen("GET /user/logout"), "bye"),
    Operation("getUserByName", {"username": "ada/l"}, Seen(f"GET {ADA_PATH}"), ADA, True),
    Operation(
        "updateUser",
        {"username": "ada/l", "body": ADA | {"firstName": "Augusta"}},
        Seen(f"PUT {ADA_PATH}", "", None, JSON, sends_json(ADA | {"firstName": "Augusta"})),
        done("ada/l"),
    ),
    Operation("deleteUser", {"username": "ada/l"}, Seen(f"DELETE {ADA_PATH}")),
    # `api_key` is the name of a credential, which no argument is.
    Operation(
        "deletePet",
        {"petId": PET["id"], "api_key": "of the model"},
        Seen(f"DELETE {PET_PATH}", "", OWNER),
        done(str(PET["id"])),
    ),
    Operation("getPetById", {"petId": 4}, Seen("GET /pet/4", "", "api_key"), error="HTTP 404\n", row="not-found"),
    Operation(
        "uploadPhoto",
        {"petId": 1, "body": base64.b64encode(PNG).decode()},
        Seen("PUT /pet/1/photo", "", None, BYTES, PNG),
        {"bytes": len(PNG)},
        True,
        stores=(PHOTOS,),
    ),
    Operation("getPhoto", {"petId": 1}, Seen("GET /pet/1/photo"), PNG, stores=(PHOTOS,)),
    # Official clients throw away structured content that does not fit, and all else with it.
    Operation(
        "getSize",
        {"petId": 1},
        Seen("GET /pet/1/photo/size"),
        error="The call succeeded (HTTP 200), but the answer does not match the documented schema",
        row="unfit",
        stores=(PHOTOS,),
    ),
]


def calls() -> list[tuple[str, Operation]]:
    """Every operation of every store, in the order in which they are called."""
    return [(store, operation) for store in STORES for operation in OPERATIONS if store in operation.stores]


def config(path: Path, installed: Path, address: str, read_only: bool) -> Path:
    """A configuration with all the stores of the API at `address`. The credentials of the schemes are written in each
    way that there is."""
    examples = installed / "npm/node_modules/@readme/oas-examples"
    client = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "token_url": f"{address}/token"}
    lines = []
    for store in STORES:
        kind = DESCRIPTIONS.get(store)
        document = examples / kind / f"petstore.{kind[4:]}" if kind else PROGRAMS / "photos.yaml"
        lines += [f"[downstreams.{store}]", f"openapi = {json.dumps(str(document))}"]
        lines += [f"base_url = {json.dumps(f'{address}/{store}')}", f"read_only = {str(read_only).lower()}"]
        if kind:
            lines += [f"auth.api_key = {json.dumps(KEY)}"]
            written = client if store == "pets30" else TOKEN
            lines += [f"auth.{OWNER} = {_toml(written)}"]
    path.write_text("\n".join(lines) + "\n")
    return path


def _toml(value) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {json.dumps(text)}" for name, text in value.items()) + " }"
    return json.dumps(value)


def check_request(operation: Operation, found: list[dict]) -> None:
    """`found` are the requests that arrived for this call."""
    if operation.seen is None:
        return
    if len(found) != 1:
        raise Failed(f"{len(found)} requests {operation.seen.call} arrived, not 1")
    (request,), seen = found, operation.seen
    if request["query"] != seen.query:
        raise Failed(f"the query {request['query']!r} arrived, not {seen.query!r}")
    headers = request["headers"]
    credentials = {"api_key": {"api_key": [KEY]}, OWNER: {"authorization": [f"Bearer {TOKEN}"]}}.get(seen.auth, {})
    sent = {name: headers[name] for name in ("api_key", "authorization", "cookie") if name in headers}
    if sent != credentials:
        raise Failed(f"the credentials {sent} arrived, not {credentials}")
    kind = headers.get("content-type", [None])
    if kind != [seen.kind] and not (seen.kind == UPLOAD and kind[0].startswith(UPLOAD)):
        raise Failed(f"a body of the type {kind} arrived, not {seen.kind}")
    body = request["body"].encode("latin-1")
    if not (seen.body(body) if callable(seen.body) else seen.body == body):
        raise Failed(f"the body {body[:300]!r} arrived")


def check_result(operation: Operation, result: dict, is_modern: bool) -> None:
    """`result` is what an official client made of the answer."""
    if "problem" in result:
        raise Failed(f"the client says {result['problem']}")
    content = result.get("content") or []
    texts = [block["text"] for block in content if block["type"] == "text"]
    if operation.error is not None:
        if not result.get("isError") or not texts or not texts[0].startswith(operation.error):
            raise Failed(f"expected an error {operation.error!r}, not {result}")
        return
    if result.get("isError"):
        raise Failed(f"an error: {texts}")
    _check_content(operation.answer, content, texts)
    # Handshake clients know objects only.
    wanted = operation.structured and (is_modern or isinstance(operation.answer, dict))
    structured = result.get("structuredContent")
    if wanted and structured != operation.answer:
        raise Failed(f"the structured content is {structured}, not {operation.answer}")


def _check_content(answer, content: list[dict], texts: list[str]) -> None:
    if isinstance(answer, bytes):
        wanted = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(answer).decode()}
        if not any(wanted.items() <= block.items() for block in content):
            raise Failed(f"no picture in {content}")
    elif answer is not None:
        if answer not in texts and not any(_reads(text) == answer for text in texts):
            raise Failed(f"the text is {texts}, not {answer}")


def _reads(text: str):
    try:
        return json.loads(text)
    except ValueError:
        return None
