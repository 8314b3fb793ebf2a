"""Speaks to the edge over HTTP in both eras, and holds every answer against the protocol's own models."""

import json
from dataclasses import dataclass, field
from typing import Any

import httpx
from mcp_types import methods

from tests.system.edge.running import Running
from tests.system.edge.world import Known

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
JSON_HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


def auth(known: Known) -> dict[str, str]:
    """The header of a key."""
    return {"authorization": f"Bearer {known.key.text}"}


def meta(version: str = MODERN, capabilities: dict[str, Any] | None = None) -> dict[str, Any]:
    """What every modern request carries."""
    return {f"{META}protocolVersion": version, f"{META}clientCapabilities": capabilities or {}}


def request(method: str, params: dict[str, Any] | None = None, id_: Any = 1) -> dict[str, Any]:
    """A JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": id_, "method": method} | ({} if params is None else {"params": params})


@dataclass
class Wire:
    """One client with one key."""

    edge: Running
    known: Known
    http: httpx.Client
    session: str | None = None
    version: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    capabilities: dict[str, Any] = field(default_factory=dict)

    def send(self, body: Any, headers: dict[str, str] | None = None, *, content: bytes | None = None) -> httpx.Response:
        """Posts a body as it is; a header given as an empty text is left out."""
        sent = JSON_HEADERS | auth(self.known) | self.headers
        if self.session is not None:
            sent["mcp-session-id"] = self.session
        sent = {k: v for k, v in (sent | (headers or {})).items() if v}
        return self.http.post(self.edge.url, content=json.dumps(body).encode() if content is None else content, headers=sent)

    def initialize(self, version: str = "2025-11-25") -> "Wire":
        """Opens a session."""
        params = {"protocolVersion": version, "capabilities": self.capabilities, "clientInfo": {"name": "test", "version": "1"}}
        answer = self.send(request("initialize", params))
        assert answer.status_code == 200, answer.text
        result = answer.json()["result"]
        self.session, self.version = answer.headers["mcp-session-id"], result["protocolVersion"]
        valid("initialize", self.version, result)
        return self

    def call(self, method: str, params: dict[str, Any] | None = None, id_: Any = 1) -> httpx.Response:
        """Sends a request of the session."""
        return self.send(request(method, params, id_))

    def result(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Its result, held against the model of the revision."""
        answer = self.call(method, params)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()["result"]
        valid(method, self.version, found)
        return found

    def modern(
        self, method: str, params: dict[str, Any] | None = None, headers: dict[str, str] | None = None, id_: Any = 1, version: str = MODERN
    ) -> httpx.Response:
        """Sends a request of the stateless era with the headers that belong to it."""
        params = {"_meta": meta(version, self.capabilities)} | (params or {})
        routing = {"mcp-protocol-version": version, "mcp-method": method}
        if method == "tools/call" and isinstance(params.get("name"), str):
            routing["mcp-name"] = params["name"]
        return self.send(request(method, params, id_), routing | (headers or {}))

    def modern_result(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Its result, held against the model of the revision."""
        answer = self.modern(method, params)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()["result"]
        valid(method, MODERN, found)
        return found


def valid(method: str, version: str, result: dict[str, Any]) -> None:
    """Fails where the protocol's models do not know the result, or where a field says null instead of being absent."""
    methods.validate_server_result(method, version, result)
    nulls = [path for path in _nulls(result, ()) if "structuredContent" not in path and "outputSchema" not in path]
    assert nulls == []


def _nulls(node: Any, path: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    if node is None:
        return [path]
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [found for key, value in items for found in _nulls(value, (*path, key))]


def _last(answer: httpx.Response) -> Any:
    """The message that a request ends with: alone, or after the comments of a stream that was held while it took its time."""
    if not answer.headers.get("content-type", "").startswith("text/event-stream"):
        return answer.json()
    told = [e.partition("data: ")[2] for e in answer.text.split("\n\n") if "data: " in e]
    return json.loads(told[-1])


def error(answer: httpx.Response, status: int, code: int) -> dict[str, Any]:
    """The JSON-RPC error of an answer."""
    body: dict[str, Any] = _last(answer)
    assert (answer.status_code, body["error"]["code"]) == (status, code), (answer.status_code, answer.text)
    assert body.get("id", 0) is not None
    return body


def messages(answer: httpx.Response) -> list[dict[str, Any]]:
    """The messages of a stream that has ended, or the one of an answer that is none."""
    assert answer.status_code == 200, answer.text
    if answer.headers["content-type"] == "application/json":
        return [answer.json()]
    assert answer.headers["content-type"] == "text/event-stream"
    events = answer.text.removesuffix("\n\n").split("\n\n")
    assert all(e.startswith("event: message\ndata: ") for e in events)
    return [json.loads(e.partition("data: ")[2]) for e in events]
