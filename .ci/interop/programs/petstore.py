"""An HTTP API that does what the classic petstore description says, and a little more for photos. Arguments: port, and a
file to which each request is appended as one line of JSON.

The first segment of a path names a store of its own: /A/pet/1 and /B/pet/1 are two pets. Each operation needs the
credentials that the description names, and `/token` gives the token that they may be (RFC 6749 §4.4)."""

import base64
import json
import re
import sys
import threading
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, parse_qsl, urlsplit

KEY, TOKEN = "special-key", "a-token"
CLIENT = base64.b64encode(b"interop:client%20secret").decode()
RECORDED = ("accept", "api_key", "authorization", "content-type", "cookie")
JSON = "application/json"


class Problem(Exception):
    """The status and the words of a refusal."""


class Store:
    def __init__(self):
        self.pets, self.orders, self.users, self.photos = {}, {}, {}, {}


stores: dict[str, Store] = {}
lock = threading.Lock()


def found(table: dict, key, kind: str):
    if key not in table:
        raise Problem(404, f"{kind} not found")
    return table[key]


def add_pet(store, request):
    pet = request.json()
    store.pets[pet["id"]] = pet
    return pet


def update_pet(store, request):
    pet = request.json()
    found(store.pets, pet["id"], "Pet")
    store.pets[pet["id"]] = pet
    return pet


def find_by_status(store, request):
    wanted = request.query.get("status", [])
    return [pet for pet in store.pets.values() if pet.get("status") in wanted]


def find_by_tags(store, request):
    wanted = set(request.query.get("tags", []))
    return [pet for pet in store.pets.values() if wanted & {tag["name"] for tag in pet.get("tags", [])}]


def get_pet(store, _request, pet):
    return found(store.pets, int(pet), "Pet")


def update_pet_with_form(store, request, pet):
    found(store.pets, int(pet), "Pet").update(request.form())
    return {"code": 200, "type": "unknown", "message": pet}


def delete_pet(store, _request, pet):
    found(store.pets, int(pet), "Pet")
    del store.pets[int(pet)]
    return {"code": 200, "type": "unknown", "message": pet}


def upload_file(store, request, pet):
    found(store.pets, int(pet), "Pet")
    parts = request.multipart()
    words = f"additionalMetadata: {parts['additionalMetadata'].decode()}, {len(parts['file'])} bytes"
    return {"code": 200, "type": "unknown", "message": words}


def upload_photo(store, request, pet):
    if request.headers.get_content_type() != "application/octet-stream":
        raise Problem(415, "not an octet-stream")
    store.photos[int(pet)] = request.body
    return {"bytes": len(request.body)}


def get_photo(store, _request, pet):
    return "image/png", found(store.photos, int(pet), "Photo")


def inventory(store, _request):
    states = [pet.get("status", "available") for pet in store.pets.values()]
    return {state: states.count(state) for state in states}


def place_order(store, request):
    order = request.json()
    store.orders[order["id"]] = order
    return order


def get_order(store, _request, order):
    return found(store.orders, int(order), "Order")


def delete_order(store, _request, order):
    found(store.orders, int(order), "Order")
    del store.orders[int(order)]
    return {"code": 200, "type": "unknown", "message": order}


def create_user(store, request):
    return create_users(store, [request.json()])


def create_users_of(store, request):
    return create_users(store, request.json())


def create_users(store, users):
    store.users.update({user["username"]: user for user in users})
    return {"code": 200, "type": "unknown", "message": "ok"}


def login(store, request):
    user = found(store.users, request.query["username"][0], "User")
    if request.query["password"] != [user["password"]]:
        raise Problem(400, "Invalid username/password supplied")
    return f"logged in user session:{len(store.users)}"


def logout(_store, _request):
    return "text/plain", b"bye"


def get_user(store, _request, name):
    return found(store.users, name, "User")


def update_user(store, request, name):
    found(store.users, name, "User")
    store.users[name] = request.json()
    return {"code": 200, "type": "unknown", "message": name}


def delete_user(store, _request, name):
    found(store.users, name, "User")
    del store.users[name]
    # Nothing to say, not even of what type it is.
    return "", b""


KEYED, TOKENED, OPEN = "api_key", "authorization", None
ROUTES = [
    ("POST", "/pet", TOKENED, add_pet),
    ("PUT", "/pet", TOKENED, update_pet),
    ("GET", "/pet/findByStatus", TOKENED, find_by_status),
    ("GET", "/pet/findByTags", TOKENED, find_by_tags),
    ("GET", r"/pet/(\d+)", KEYED, get_pet),
    ("POST", r"/pet/(\d+)", TOKENED, update_pet_with_form),
    ("DELETE", r"/pet/(\d+)", TOKENED, delete_pet),
    ("POST", r"/pet/(\d+)/uploadImage", TOKENED, upload_file),
    ("PUT", r"/pet/(\d+)/photo", OPEN, upload_photo),
    ("GET", r"/pet/(\d+)/photo", OPEN, get_photo),
    ("GET", "/store/inventory", KEYED, inventory),
    ("POST", "/store/order", OPEN, place_order),
    ("GET", r"/store/order/(\d+)", OPEN, get_order),
    ("DELETE", r"/store/order/(\d+)", OPEN, delete_order),
    ("POST", "/user", OPEN, create_user),
    ("POST", "/user/createWithArray", OPEN, create_users_of),
    ("POST", "/user/createWithList", OPEN, create_users_of),
    ("GET", "/user/login", OPEN, login),
    ("GET", "/user/logout", OPEN, logout),
    ("GET", "/user/([^/]+)", OPEN, get_user),
    ("PUT", "/user/([^/]+)", OPEN, update_user),
    ("DELETE", "/user/([^/]+)", OPEN, delete_user),
]


class Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def json(self):
        if self.headers.get_content_type() != JSON:
            raise Problem(415, "not JSON")
        return json.loads(self.body)

    def form(self) -> dict:
        if self.headers.get_content_type() != "application/x-www-form-urlencoded":
            raise Problem(415, "not a form")
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True, strict_parsing=True))

    def multipart(self) -> dict[str, bytes]:
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        message = message_from_bytes(head + self.body, policy=policy.HTTP)
        if message.get_content_type() != "multipart/form-data":
            raise Problem(415, "not a multipart form")
        parts = message.iter_parts()
        return {part.get_param("name", header="content-disposition"): part.get_payload(decode=True) for part in parts}

    def answer(self):
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        self.query = parse_qs(url.query, keep_blank_values=True)
        _, name, *rest = url.path.split("/", 2)
        with lock:
            self.record(name, "/" + "".join(rest), url.query)
            try:
                self.reply(200, self.token() if name == "token" else self.result(name, "/" + "".join(rest)))
            except Problem as problem:
                status, words = problem.args
                self.reply(status, {"code": status, "type": "error", "message": words})

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def record(self, store: str, path: str, query: str) -> None:
        seen = {name: self.headers.get_all(name) for name in RECORDED if name in self.headers}
        body = self.body.decode("latin-1")
        line = {"store": store, "call": f"{self.command} {path}", "query": query, "headers": seen, "body": body}
        with open(sys.argv[2], "a") as file:
            file.write(json.dumps(line) + "\n")

    def token(self):
        if self.headers["Authorization"] != f"Basic {CLIENT}" or self.form()["grant_type"] != "client_credentials":
            raise Problem(401, "who is that?")
        return {"access_token": TOKEN, "token_type": "bearer", "expires_in": 3600}

    def result(self, store: str, path: str):
        for method, pattern, needed, handler in ROUTES:
            if method == self.command and (match := re.fullmatch(pattern, path)):
                if needed and self.headers.get_all(needed) != [KEY if needed == KEYED else f"Bearer {TOKEN}"]:
                    raise Problem(401, f"needs {needed}")
                return handler(stores.setdefault(store, Store()), self, *match.groups())
        raise Problem(404, "no such operation")

    def reply(self, status: int, result) -> None:
        kind, body = result if isinstance(result, tuple) else (JSON, json.dumps(result).encode())
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Request).serve_forever()
