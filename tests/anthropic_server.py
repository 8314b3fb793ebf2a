"""A local server that speaks the Messages API of Anthropic as far as a rerank needs it, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# What the server is asked to what it answers: a status and a body.
Reply = Callable[[dict[str, Any]], tuple[int, Any]]


@dataclass
class Provider:
    """The running server."""

    url: str
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    reply: Reply = lambda _: (500, {})
    hold: threading.Event = field(default_factory=threading.Event)


def order(*numbers: Any) -> Reply:
    """A model that reports this order."""
    return tool_use("report_order", {"order": list(numbers)})


def tool_use(name: str, arguments: Any) -> Reply:
    """A model that uses a tool with these arguments."""
    return message([{"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}], "tool_use")


def message(content: list[dict[str, Any]], stop: str = "end_turn") -> Reply:
    """A model that answers with this content."""

    def reply(asked: dict[str, Any]) -> tuple[int, Any]:
        usage = {"input_tokens": 1, "output_tokens": 1}
        body = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked["model"], "content": content, "usage": usage}
        return 200, {**body, "stop_reason": stop, "stop_sequence": None}

    return reply


def error(status: int, kind: str) -> Reply:
    """A provider that refuses."""
    return lambda _: (status, {"type": "error", "error": {"type": kind, "message": "sk-ant-should-not-be-repeated"}})


@contextmanager
def provider() -> Iterator[Provider]:
    """The server on a port of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            made.asked.append({"path": self.path, **asked})
            made.headers.append({k.lower(): v for k, v in self.headers.items()})
            status, body = made.reply(asked)
            if status == 0:  # says nothing until the test lets go
                made.hold.wait(30)
                return
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Provider(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.hold.set()
        server.shutdown()
        server.server_close()
        thread.join()
