"""The one request of the bench, the same for every server, and the judgement on an answer."""

from __future__ import annotations

import json
from typing import Any

import httpx

from tests.bench.environment import CannotMeasure
from tests.bench.load import Target

TOOL = "list_docket_entries"
REVISION = "2025-11-25"
ROWS = 50
_ACCEPT = "application/json, text/event-stream"
_UNLIKE = ("generated_at", "next_page_token")  # a time and a token of the server's own
_LENGTH_TOLERANCE = 0.02


def _body(case_id: str) -> bytes:
    params = {"name": TOOL, "arguments": {"case_id": case_id, "page_size": ROWS}}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


def handshake(port: int, key: str) -> dict[str, str]:
    """Opens a session of ours; the headers that its calls carry."""
    own = {"Authorization": f"Bearer {key}"}
    params = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    got = httpx.post(f"http://127.0.0.1:{port}/mcp", json=body, headers=own | {"Accept": _ACCEPT}, trust_env=False, timeout=10)
    if got.status_code != httpx.codes.OK:
        raise CannotMeasure(f"initialize was answered with {got.status_code}")
    return own | {"Mcp-Session-Id": got.headers["mcp-session-id"]}


def target(name: str, port: int, case_id: str, own: dict[str, str], like: dict[str, Any] | None = None) -> tuple[Target, dict[str, Any]]:
    """A server to load, and its content. A first answer is read whole: right, and the same content as `like`."""
    body = _body(case_id)
    headers = {"Content-Type": "application/json", "Accept": _ACCEPT, "MCP-Protocol-Version": REVISION} | own
    got = httpx.post(f"http://127.0.0.1:{port}/mcp", content=body, headers=headers, trust_env=False, timeout=10)
    content = _content(name, got)
    if like is not None and (unlike := [k for k in like if k not in _UNLIKE and content.get(k) != like[k]]):
        raise CannotMeasure(f"{name} answers with another {', '.join(unlike)}; there is nothing to compare")
    lines = [f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}", *(f"{k}: {v}" for k, v in headers.items()), f"Content-Length: {len(body)}"]
    length = len(got.content)

    def fault(head: bytes, answer: bytes) -> str | None:
        if not head.startswith(b"HTTP/1.1 200 "):
            return f"HTTP {head[9:12].decode('latin-1')}"
        if abs(len(answer) - length) > length * _LENGTH_TOLERANCE:
            return f"{len(answer)} bytes instead of {length}: {answer[:200].decode('utf-8', 'replace')}"
        return "an error as a result" if b'"isError":true' in answer else None

    return Target(name, port, ("\r\n".join(lines) + "\r\n\r\n").encode() + body, fault), content


def _content(name: str, got: httpx.Response) -> dict[str, Any]:
    try:
        result = got.json()["result"]
        content: dict[str, Any] = result["structuredContent"]
        right = not result.get("isError") and len(content["entries"]) == ROWS and json.loads(result["content"][0]["text"]) == content
    except (ValueError, KeyError, TypeError, IndexError):
        raise CannotMeasure(f"{name} answered {got.status_code}: {got.text[:300]}") from None
    if not right:
        raise CannotMeasure(f"{name} did not answer with {ROWS} rows, as content and the same as text")
    return content
