"""The stateless era, 2026-07-28: every request says who it is and what it can do; routing headers must agree with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edge import eras, identity, jsonrpc, routing_headers, streams
from edge.call import Handover, ToolCalls
from edge.caller import Caller
from edge.config import Timing
from edge.errors import MODERN_STATUS, UNSUPPORTED_VERSION, Fault
from edge.families import Asked, Family, served
from edge.http import ACCEPTED, JSON_TYPE, Answer, Disconnected, Exchange, Header, refuse
from edge.negotiation import Accepts
from edge.revisions import REVISIONS
from edge.rounds import Rounds
from edge.sealed_talk import SealedTalk, Seals
from edge.sessions import Capabilities
from edge.subscriptions import Subscriptions
from edge.talk import LOG_LEVEL_META, Ear, Tell, level, progress_token
from edge.task_extension import CAPABILITY, Deferred, ExtensionTasks, declared, missing
from edge.tools import Card, Toolbox
from edge.waiting import Waiting

STREAMED = object()  # what a method returns whose answer is out already
CAPABILITIES_META = "io.modelcontextprotocol/clientCapabilities"


@dataclass(frozen=True, slots=True)
class Turn:
    """One request, which stands for itself."""

    exchange: Exchange
    caller: Caller
    request: jsonrpc.Request
    version: str
    capabilities: Mapping[str, Any]
    accepts: Accepts
    extra: tuple[Header, ...]

    @property
    def params(self) -> Mapping[str, Any]:
        """What the request says."""
        return self.request.params


@dataclass(frozen=True, slots=True)
class Method:
    """How a method is served. `forwards` leaves the judgement on the key to the service that the call goes to."""

    run: Callable[[Turn], Awaitable[Any]]
    forwards: bool = False


class Modern:
    """Serves the era. What it cannot do it does not advertise, and answers as unknown."""

    def __init__(
        self,
        toolbox: Toolbox,
        calls: ToolCalls,
        rounds: Rounds,
        seals: Seals,
        timing: Timing,
        families: Sequence[Family] = (),
        tasks: ExtensionTasks | None = None,
        subscriptions: Subscriptions | None = None,
    ) -> None:
        self._toolbox, self._calls, self._rounds, self._tasks = toolbox, calls, rounds, tasks
        self._seals, self._timing = seals, timing
        self._subscriptions = subscriptions
        modern = REVISIONS[eras.MODERN_VERSIONS[0]]
        changing = subscriptions is not None and subscriptions.changing
        tools_said = identity.CAPABILITIES | ({"tools": identity.LIST_CHANGED} if changing else {})
        self._offered = tools_said | (CAPABILITY if tasks is not None else {})
        for family in families:
            self._offered = self._offered | family.capabilities(modern)
        self._served = {name: serve for family in families for name, serve in family.methods.items()}
        self._methods = {
            "server/discover": Method(self._discover),
            "tools/list": Method(self._list_tools),
            "tools/call": Method(self._call_tool, forwards=True),
        } | {name: Method(self._on_task, forwards=True) for name in (tasks.methods if tasks is not None else ())}
        self._methods |= {name: Method(self._of_family, forwards=True) for name in self._served}
        if subscriptions is not None:
            self._methods["subscriptions/listen"] = Method(self._listen)

    async def post(self, exchange: Exchange, caller: Caller, tree: Any, accepts: Accepts, extra: tuple[Header, ...] = ()) -> Answer | None:
        """Answers one posted body; None where the answer was streamed."""
        message = jsonrpc.read(tree)
        if isinstance(message, jsonrpc.Response):
            raise jsonrpc.Invalid("This revision has no responses of clients.", message.id)
        if isinstance(message, jsonrpc.Notification):
            await caller.authenticate()
            return ACCEPTED
        try:
            result = await self._run(exchange, caller, message, accepts, extra)
        except Fault as fault:
            status = MODERN_STATUS.get(fault.code, 200)
            body = jsonrpc.error(message.id, fault.code, fault.message, fault.data)
            return streams.whole(body, accepts) if status == 200 else Answer(status, body, (JSON_TYPE,))
        if isinstance(result, Answer) or result is STREAMED:
            return result if isinstance(result, Answer) else None
        return streams.whole(jsonrpc.result(message.id, result), accepts)

    async def _run(self, exchange: Exchange, caller: Caller, request: jsonrpc.Request, accepts: Accepts, extra: tuple[Header, ...]) -> Any:
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
        return await method.run(Turn(exchange, caller, request, version, capabilities, accepts, extra))

    async def _discover(self, turn: Turn) -> Any:
        found = {"supportedVersions": list(eras.SUPPORTED_VERSIONS), "capabilities": self._offered}
        return REVISIONS[turn.version].listed(found | {"instructions": identity.INSTRUCTIONS})

    async def _list_tools(self, turn: Turn) -> Any:
        if turn.params.get("cursor") is not None:
            raise Fault(jsonrpc.INVALID_PARAMS, "Unknown cursor: the list has one page.")
        return self._toolbox.listings[turn.version]

    async def _call_tool(self, turn: Turn) -> Any:
        def check(card: Card, arguments: Mapping[str, Any]) -> None:
            routing_headers.check_arguments(turn.exchange.headers, card.mirrored, arguments)

        revision = REVISIONS[turn.version]
        waiting = Waiting(turn.exchange, turn.accepts, self._timing, turn.extra)
        talks = turn.accepts.sse and self._calls.talks(turn.params.get("name"))
        talking = self._talk(turn, waiting.tell if talks else None)
        round_ = self._rounds.of(turn.caller, turn.params, turn.capabilities, revision)
        handover: Handover = round_
        if self._tasks is not None:
            handover = Deferred(self._tasks, round_, turn.caller, turn.params, declared(turn.capabilities), revision, talking)
        call = self._calls.call(turn.caller, turn.params, revision, handover, talking, check)
        if not talks:
            return await _while_connected(turn.exchange, call)
        return await waiting.answer(_told(turn.request.id, call), turn.request.id) or STREAMED

    async def _of_family(self, turn: Turn) -> Any:
        asked = Asked(turn.caller, turn.params, REVISIONS[turn.version], self._talk(turn, None))
        return await _while_connected(turn.exchange, served(self._served[turn.request.method], asked))

    def _talk(self, turn: Turn, tell: Tell | None) -> SealedTalk:
        wanted = turn.params["_meta"].get(LOG_LEVEL_META)
        ear = Ear(tell, progress_token(turn.params), None if wanted is None else level(wanted))
        capabilities, revision = Capabilities.of(turn.capabilities), REVISIONS[turn.version]
        return SealedTalk(self._seals, turn.caller, turn.params, capabilities, revision, ear)

    async def _listen(self, turn: Turn) -> Any:
        assert self._subscriptions is not None
        wanted = self._subscriptions.read(turn.params, declared(turn.capabilities))
        if not turn.accepts.sse:
            raise refuse(406, "A subscription is answered with text/event-stream only.", id_=turn.request.id)
        asked = Asked(turn.caller, turn.params, REVISIONS[turn.version], self._talk(turn, None))
        await self._subscriptions.listen(turn.exchange, asked, turn.request.id, wanted, turn.extra)
        return STREAMED

    async def _on_task(self, turn: Turn) -> Any:
        assert self._tasks is not None
        if not declared(turn.capabilities):
            await turn.caller.authenticate()
            raise missing()
        return REVISIONS[turn.version].result(await self._tasks.methods[turn.request.method](turn.caller, turn.params))


async def _told(id_: jsonrpc.Id, call: Awaitable[Any]) -> bytes:
    return jsonrpc.result(id_, await call)


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
