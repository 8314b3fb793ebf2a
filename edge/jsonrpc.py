"""JSON-RPC 2.0 envelopes, one message a body. Knows nothing of MCP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from kit.json_gate import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, Id

__all__ = ["INTERNAL_ERROR", "INVALID_PARAMS", "INVALID_REQUEST", "METHOD_NOT_FOUND", "PARSE_ERROR", "Id", "Invalid"]

METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603


@dataclass(frozen=True, slots=True)
class Request:
    """A call that wants an answer."""

    id: Id
    method: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Notification:
    """A message that wants none."""

    method: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Response:
    """An answer of the client to a request of ours."""

    id: Id
    body: dict[str, Any]


Message = Request | Notification | Response


class Invalid(Exception):
    """JSON that is no JSON-RPC message, with its id where that much is right."""

    def __init__(self, message: str, id_: Id | None = None) -> None:
        super().__init__(message)
        self.message, self.id = message, id_


def is_id(value: Any) -> bool:
    """Whether this can be an id: text or a whole number. True is a number to Python and none to JSON."""
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def read(tree: Any) -> Message:
    """The message that a JSON value is."""
    if isinstance(tree, list):
        raise Invalid("Batches are not accepted: send one message a request.")
    if not isinstance(tree, dict):
        raise Invalid("A message must be a JSON object.")
    id_ = tree.get("id")
    if "id" in tree and not is_id(id_):
        raise Invalid("The id must be a string or an integer.")
    if tree.get("jsonrpc") != "2.0":
        raise Invalid('The member "jsonrpc" must be "2.0".', id_)
    if "method" not in tree:
        return _response(tree, id_)
    method, params = tree["method"], tree.get("params", {})
    if not isinstance(method, str):
        raise Invalid("The method must be a string.", id_)
    if not isinstance(params, dict):
        raise Invalid("The params must be an object where they are present.", id_)
    if "result" in tree or "error" in tree:
        raise Invalid("A message is either a request or a response.", id_)
    return Notification(method, params) if id_ is None else Request(id_, method, params)


def _response(tree: dict[str, Any], id_: Id | None) -> Response:
    if ("result" in tree) == ("error" in tree):
        raise Invalid("A message needs a method, a result or an error.", id_)
    if id_ is None:
        raise Invalid("A response needs the id of its request.")
    return Response(id_, tree)


def request(id_: Id, method: str, params: dict[str, Any]) -> bytes:
    """A request of ours."""
    return orjson.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})


def notification(method: str, params: dict[str, Any]) -> bytes:
    """A notification of ours."""
    return orjson.dumps({"jsonrpc": "2.0", "method": method, "params": params})


def result(id_: Id, value: Any) -> bytes:
    """A successful response. `value` may hold orjson fragments."""
    return orjson.dumps({"jsonrpc": "2.0", "id": id_, "result": value})


def error(id_: Id | None, code: int, message: str, data: Any = None) -> bytes:
    """An error response. An id that could not be read is left out: MCP's schema knows no null id."""
    body: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        body["data"] = data
    envelope = {"jsonrpc": "2.0", "error": body} if id_ is None else {"jsonrpc": "2.0", "id": id_, "error": body}
    return orjson.dumps(envelope)
