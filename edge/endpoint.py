"""The MCP endpoint: who is asking from where, with what key and in which form, and then the era that answers."""

from __future__ import annotations

import logging
import secrets
import time
from typing import Any

from substrate.common.v1 import error_reason_pb2 as reasons

from edge import eras, jsonrpc, negotiation
from edge.authorization import Authorization
from edge.caller import Caller
from edge.eras import Era
from edge.errors import internal
from edge.http import JSON_TYPE, Answer, Disconnected, Exchange, Header, Receive, Refused, Scope, Send, refuse
from edge.legacy import Legacy
from edge.modern import Modern, unsupported
from edge.origins import Origins
from edge.routing_headers import VERSION
from kit import credentials, limits
from kit import json_gate as gate
from kit.authority import Authority
from kit.errors import Refusal

log = logging.getLogger(__name__)
METHODS = b"GET, POST, DELETE"
_KEY_HEADERS = ("authorization", "x-api-key")
_PREFLIGHT: tuple[Header, ...] = (
    (b"access-control-allow-methods", METHODS),
    (
        b"access-control-allow-headers",
        b"authorization, x-api-key, content-type, accept, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name",
    ),
    (b"access-control-max-age", b"600"),
)
_EXPOSED: Header = (b"access-control-expose-headers", b"mcp-session-id, www-authenticate")


class Endpoint:
    """A raw ASGI application, so that both spellings of the path answer without a redirect."""

    def __init__(self, origins: Origins, authorization: Authorization, authority: Authority, legacy: Legacy, modern: Modern) -> None:
        self._origins, self._authorization, self._authority = origins, authorization, authority
        self._legacy, self._modern = legacy, modern

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one HTTP request."""
        started = time.perf_counter()
        exchange = Exchange(scope, receive, send)
        status = 200
        try:
            answer = await self._guarded(exchange)
            if answer is not None:
                status = answer.status
                await exchange.answer(answer, self._cross_origin(exchange))
        except Disconnected:
            status = 499
        took = time.perf_counter() - started
        # What goes well is logged where it is decided and served; a line here would cost as much as all else the edge does.
        if status >= 400 or took >= limits.HTTP_SLOW_SECONDS:
            log.info("http", extra={"method": exchange.method, "status": status, "ms": round(took * 1000, 2)})

    async def _guarded(self, exchange: Exchange) -> Answer | None:
        """The answer, whatever goes wrong; None where it was streamed already."""
        try:
            return await self._answer(exchange)
        except Refused as refused:
            return refused.answer
        except (Disconnected, GeneratorExit):
            raise
        except Exception:
            incident = secrets.token_hex(4)
            log.exception("unexpected", extra={"incident": incident})
            return _error(500, None, internal(incident).code, internal(incident).message)

    async def _answer(self, exchange: Exchange) -> Answer | None:
        self._check_origin(exchange)
        if exchange.method == "OPTIONS":
            return Answer(204, headers=((b"allow", METHODS), *_PREFLIGHT) if exchange.all("origin") else ((b"allow", METHODS),))
        if exchange.method not in ("GET", "POST", "DELETE"):
            raise refuse(405, "The endpoint knows GET, POST and DELETE.", (b"allow", METHODS))
        try:
            caller = Caller(credentials.present(self._offered(exchange), exchange.query), self._authority)
            return await (self._post(exchange, caller) if exchange.method == "POST" else self._bodyless(exchange, caller))
        except Refusal as refusal:
            return self._refused(exchange, refusal, None)

    def _check_origin(self, exchange: Exchange) -> None:
        hosts = exchange.all("host")
        if not self._origins.host_allowed(hosts):
            raise refuse(403, "This server does not answer to that Host.")
        if not self._origins.origin_allowed(exchange.all("origin"), hosts):
            raise refuse(403, "This Origin may not call this server.")

    @staticmethod
    def _offered(exchange: Exchange) -> list[tuple[str, str]]:
        return [(name, value) for name in _KEY_HEADERS for value in exchange.all(name)]

    async def _post(self, exchange: Exchange, caller: Caller) -> Answer | None:
        if not negotiation.is_json(exchange.all("content-type"), exchange.all("content-encoding")):
            raise refuse(415, "The body must be application/json in UTF-8.")
        accepts = negotiation.accepts(exchange.all("accept"))
        if not (accepts.json or accepts.sse):
            raise refuse(406, "Answers are application/json or text/event-stream.")
        try:
            tree = gate.parse(await exchange.body())
        except gate.Rejected as rejected:
            return _error(400, rejected.id, rejected.code, rejected.message)
        try:
            era = eras.of_body(exchange.one(VERSION), tree)
            serving = self._modern if era is Era.MODERN else self._legacy
            return await serving.post(exchange, caller, tree, accepts, self._cross_origin(exchange))
        except jsonrpc.Invalid as invalid:
            return _error(400, invalid.id, jsonrpc.INVALID_REQUEST, invalid.message)
        except eras.UnsupportedVersion as other:
            return _unsupported(_id(tree), other.requested)
        except Refusal as refusal:
            return self._refused(exchange, refusal, _id(tree))

    async def _bodyless(self, exchange: Exchange, caller: Caller) -> Answer | None:
        try:
            era = eras.of_header(exchange.one(VERSION))
        except eras.UnsupportedVersion as other:
            return _unsupported(None, other.requested)
        if era is Era.MODERN:
            raise refuse(405, "This revision has neither GET nor DELETE.", (b"allow", b"POST"))
        if exchange.method == "DELETE":
            return await self._legacy.delete(exchange, caller)
        await self._legacy.get(exchange, caller, negotiation.accepts(exchange.all("accept")), self._cross_origin(exchange))
        return None

    def _refused(self, exchange: Exchange, refusal: Refusal, id_: jsonrpc.Id | None) -> Answer:
        """No usable key: a challenge. Nobody to say whether it is usable: nothing is served."""
        if refusal.reason == reasons.ERROR_REASON_UNAUTHENTICATED:
            challenge = self._authorization.challenge(presented=bool(self._offered(exchange) or exchange.query))
            return _error(401, id_, jsonrpc.INVALID_REQUEST, refusal.message, challenge)
        return _error(503, id_, jsonrpc.INTERNAL_ERROR, "The key could not be checked. Try again shortly.", (b"retry-after", b"1"))

    def _cross_origin(self, exchange: Exchange) -> tuple[Header, ...]:
        """What a browser needs to hand the answer to a page of an allowed origin."""
        origins = exchange.all("origin")
        if not origins or not self._origins.origin_allowed(origins, exchange.all("host") or ("",)):
            return ()
        return ((b"access-control-allow-origin", origins[0].encode("latin-1")), _EXPOSED, (b"vary", b"origin"))


def _error(status: int, id_: jsonrpc.Id | None, code: int, message: str, *headers: Header, data: Any = None) -> Answer:
    return Answer(status, jsonrpc.error(id_, code, message, data), (JSON_TYPE, *headers))


def _unsupported(id_: jsonrpc.Id | None, requested: str) -> Answer:
    fault = unsupported(requested)
    return _error(400, id_, fault.code, fault.message, data=fault.data)


def _id(tree: Any) -> jsonrpc.Id | None:
    """The id of a message that is not answered by its method."""
    found = tree.get("id") if isinstance(tree, dict) and "method" in tree else None
    return found if jsonrpc.is_id(found) else None
