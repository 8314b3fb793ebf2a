"""The stateless era, 2026-07-28: every request says who it is and what it can do; routing headers must agree with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from edge import eras, identity, jsonrpc, routing_headers, streams
from edge.call import ToolCalls
from edge.caller import Caller
from edge.errors import MODERN_STATUS, UNSUPPORTED_VERSION, Fault
from edge.http import ACCEPTED, JSON_TYPE, Answer, Disconnected, Exchange
from edge.negotiation import Accepts
from edge.revisions import REVISIONS
from edge.rounds import Rounds
from edge.tools import Card, Toolbox

CAPABILITIES_META = "io.modelcontextprotocol/clientCapabilities"


@dataclass(frozen=True, slots=True)
class Turn:
    """One request, which stands for itself."""

    exchange: Exchange
    caller: Caller
    params: Mapping[str, Any]
    version: str
    capabilities: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Method:
    """How a method is served. `forwards` leaves the judgement on the key to the service that the call goes to."""

    run: Callable[[Turn], Awaitable[Any]]
    forwards: bool = False


class Modern:
    """Serves the era. What it cannot do it does not advertise, and answers as unknown."""

    def __init__(self, toolbox: Toolbox, calls: ToolCalls, rounds: Rounds) -> None:
        self._toolbox, self._calls, self._rounds = toolbox, calls, rounds
        self._methods = {
            "server/discover": Method(self._discover),
            "tools/list": Method(self._list_tools),
            "tools/call": Method(self._call_tool, forwards=True),
        }

    async def post(self, exchange: Exchange, caller: Caller, tree: Any, accepts: Accepts) -> Answer:
        """Answers one posted body."""
        message = jsonrpc.read(tree)
        if isinstance(message, jsonrpc.Response):
            raise jsonrpc.Invalid("This revision has no responses of clients.", message.id)
        if isinstance(message, jsonrpc.Notification):
            await caller.authenticate()
            return ACCEPTED
        try:
            result = await self._run(exchange, caller, message)
        except Fault as fault:
            status = MODERN_STATUS.get(fault.code, 200)
            body = jsonrpc.error(message.id, fault.code, fault.message, fault.data)
            return streams.whole(body, accepts) if status == 200 else Answer(status, body, (JSON_TYPE,))
        return streams.whole(jsonrpc.result(message.id, result), accepts)

    async def _run(self, exchange: Exchange, caller: Caller, request: jsonrpc.Request) -> Any:
        """The checks in the order that clients count on: shape, headers, version, method, and then the method's own."""
        version, capabilities = _meta(request.params)
        routing_headers.check(exchange.headers, request.method, request.params)
        if version not in eras.MODERN_VERSIONS:
            raise unsupported(version)
        method = self._methods.get(request.method)
        if method is None or not method.forwards:
            await caller.authenticate()
        if method is None:
            raise Fault(jsonrpc.METHOD_NOT_FOUND, "Unknown method.")
        return await method.run(Turn(exchange, caller, request.params, version, capabilities))

    async def _discover(self, turn: Turn) -> Any:
        found = {"supportedVersions": list(eras.SUPPORTED_VERSIONS), "capabilities": identity.CAPABILITIES}
        return REVISIONS[turn.version].listed(found | {"instructions": identity.INSTRUCTIONS})

    async def _list_tools(self, turn: Turn) -> Any:
        if turn.params.get("cursor") is not None:
            raise Fault(jsonrpc.INVALID_PARAMS, "Unknown cursor: the list has one page.")
        return self._toolbox.listings[turn.version]

    async def _call_tool(self, turn: Turn) -> Any:
        def check(card: Card, arguments: Mapping[str, Any]) -> None:
            routing_headers.check_arguments(turn.exchange.headers, card.mirrored, arguments)

        revision = REVISIONS[turn.version]
        round_ = self._rounds.of(turn.caller, turn.params, turn.capabilities, revision)
        call = self._calls.call(turn.caller, turn.params, revision, round_, check)
        return await _while_connected(turn.exchange, call)


def unsupported(requested: str) -> Fault:
    """The revision is not served. The list is the one of server/discover."""
    data = {"supported": list(eras.SUPPORTED_VERSIONS), "requested": requested}
    return Fault(UNSUPPORTED_VERSION, "Unsupported protocol version", data)


def _meta(params: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Revision and capabilities, which every request carries."""
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        raise Fault(jsonrpc.INVALID_PARAMS, f"params._meta must be an object with {eras.VERSION_META} and {CAPABILITIES_META}.")
    version, capabilities = meta.get(eras.VERSION_META), meta.get(CAPABILITIES_META)
    if not isinstance(version, str):
        raise Fault(jsonrpc.INVALID_PARAMS, f"params._meta must have {eras.VERSION_META}, a string.")
    if not isinstance(capabilities, dict):
        raise Fault(jsonrpc.INVALID_PARAMS, f"params._meta must have {CAPABILITIES_META}, an object.")
    return version, capabilities


async def _while_connected(exchange: Exchange, work: Awaitable[Any]) -> Any:
    """Awaits the work; a client that goes away takes it back, the call to the service included."""
    task, watch = asyncio.current_task(), asyncio.create_task(exchange.gone())
    assert task is not None
    working, taken_back = True, False

    def take_back(done: asyncio.Task[None]) -> None:
        nonlocal taken_back
        if working and not done.cancelled():
            taken_back = task.cancel()

    watch.add_done_callback(take_back)
    try:
        return await work
    except asyncio.CancelledError:
        if not taken_back:
            raise
        task.uncancel()
        raise Disconnected from None
    finally:
        working = False
        watch.cancel()
