"""One HTTP exchange as the edge sees it: headers read once, a body with a cap, an answer sent in two messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from edge import jsonrpc
from kit import limits

Event = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
Header = tuple[bytes, bytes]

JSON_TYPE: Header = (b"content-type", b"application/json")
SSE_TYPE: Header = (b"content-type", b"text/event-stream")
ALWAYS: tuple[Header, ...] = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


class Disconnected(Exception):
    """The client went away; nobody reads what would be said."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole response."""

    status: int
    body: bytes = b""
    headers: tuple[Header, ...] = ()


class Refused(Exception):
    """A request that ends here, with its answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


def refuse(status: int, message: str, *headers: Header, code: int = jsonrpc.INVALID_REQUEST, id_: jsonrpc.Id | None = None) -> Refused:
    """A refusal at the level of HTTP, with a JSON-RPC error as its body for whoever reads it."""
    return Refused(Answer(status, jsonrpc.error(id_, code, message), (JSON_TYPE, *headers)))


ACCEPTED = Answer(202)


class Exchange:
    """One request and the way back."""

    __slots__ = ("_receive", "_send", "headers", "method", "query")

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self.method: str = scope["method"]
        self.query: str = scope["query_string"].decode("latin-1")
        self.headers: dict[str, tuple[str, ...]] = {}
        for raw_name, raw_value in scope["headers"]:
            name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1").strip(" \t")
            self.headers[name] = (*self.headers[name], value) if name in self.headers else (value,)

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of a header."""
        return self.headers.get(name, ())

    def one(self, name: str) -> str | None:
        """The value of a header that makes sense only once."""
        values = self.headers.get(name)
        if values is None:
            return None
        if len(values) > 1:
            raise refuse(400, f"The header {name} is given more than once.")
        return values[0]

    async def body(self) -> bytes:
        """The whole body, or a refusal as soon as it is too large."""
        declared = self.one("content-length")
        if declared is not None and declared.isdigit() and int(declared) > limits.HTTP_BODY_MAX_BYTES:
            raise self._too_large()
        parts: list[bytes] = []
        size = 0
        while True:
            event = await self._receive()
            if event["type"] == "http.disconnect":
                raise Disconnected
            part: bytes = event.get("body", b"")
            size += len(part)
            if size > limits.HTTP_BODY_MAX_BYTES:
                raise self._too_large()
            parts.append(part)
            if not event.get("more_body", False):
                return parts[0] if len(parts) == 1 else b"".join(parts)

    @staticmethod
    def _too_large() -> Refused:
        """The body is over the cap. The connection ends, so that nobody has to read the rest."""
        return refuse(413, f"The body is larger than {limits.HTTP_BODY_MAX_BYTES} bytes.", (b"connection", b"close"))

    async def gone(self) -> None:
        """Returns when the client has gone. Only after the body was read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def answer(self, answer: Answer, extra: tuple[Header, ...] = ()) -> None:
        """Sends a whole response."""
        headers = [*answer.headers, *ALWAYS, *extra]
        if answer.status != 204:
            headers.append((b"content-length", b"%d" % len(answer.body)))
        await self._send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await self._send({"type": "http.response.body", "body": b"" if self.method == "HEAD" else answer.body})

    async def begin(self, headers: tuple[Header, ...]) -> None:
        """Starts a response whose parts follow."""
        await self._send({"type": "http.response.start", "status": 200, "headers": list(headers)})

    async def part(self, data: bytes) -> None:
        """One part of it."""
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        """Its end."""
        await self._send({"type": "http.response.body", "body": b""})
