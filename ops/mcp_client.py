"""A small MCP client for one call: revision 2026-07-28, where a call needs no session."""

import json
from base64 import b64encode
from typing import Any

import httpx

from kit import limits
from ops.cli import OperatorError

REVISION = "2026-07-28"


def request(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The JSON-RPC request of a call."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "substrate-run", "version": "1"},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}


def headers(key: str, method: str, name: str | None) -> dict[str, str]:
    """The headers that must agree with the body."""
    found = {
        "Authorization": f"Bearer {key}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": REVISION,
        "Mcp-Method": method,
    }
    if name is not None:
        plain = name.isascii() and name.isprintable() and name == name.strip()
        found["Mcp-Name"] = name if plain else f"=?base64?{b64encode(name.encode()).decode()}?="
    return found


def answer(content_type: str, body: str) -> dict[str, Any]:
    """The JSON-RPC response in a body, which may be JSON or an event stream."""
    if not content_type.startswith("text/event-stream"):
        found: dict[str, Any] = json.loads(body)
        return found
    for event in body.replace("\r\n", "\n").split("\n\n"):
        data = "\n".join(line[5:].removeprefix(" ") for line in event.split("\n") if line.startswith("data:"))
        if data and ("result" in (message := json.loads(data)) or "error" in message):
            return dict(message)
    raise OperatorError("the answer's stream ended without a response.")


def call(url: str, key: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The result of one call."""
    name = params.get("name")
    try:
        got = httpx.post(
            url, json=request(method, params), headers=headers(key, method, name), timeout=limits.OPERATOR_CALL_SECONDS, trust_env=False
        )
    except httpx.HTTPError as error:
        raise OperatorError(f"{url} does not answer ({error}); is the stack running? Start it with ./run up.") from None
    if got.status_code == httpx.codes.UNAUTHORIZED:
        raise OperatorError("the key was refused: it is unknown, revoked or expired.")
    try:
        message = answer(got.headers.get("content-type", ""), got.text)
    except ValueError:
        raise OperatorError(f"{url} answered {got.status_code} with something that is no MCP response.") from None
    if "error" in message:
        raise OperatorError(f"{message['error'].get('message', 'failed')} (code {message['error'].get('code')})")
    result: dict[str, Any] = message["result"]
    return result
