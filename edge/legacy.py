"""The handshake era, 2025-03-26 to 2025-11-25: sessions, a held GET, one message a POST."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message as Proto

from edge import eras, identity, jsonrpc, session_talk, sessions, streams
from edge.call import ToolCalls
from edge.caller import Caller
from edge.changes import Watches
from edge.channel import Channel, Full
from edge.config import Timing
from edge.errors import REQUEST_CANCELLED, Fault
from edge.families import Asked, Family, Serve, served
from edge.handoff import Called
from edge.http import ACCEPTED, Answer, Exchange, Header, refuse
from edge.link_requests import LinkRequests
from edge.negotiation import Accepts
from edge.resuming import Replay, Resuming
from edge.revisions import REVISIONS, Revision
from edge.session_talk import SessionTalk
from edge.sessions import Capabilities, Session
from edge.talk import Ear, Tell, level, progress_token
from edge.task_sessions import CAPABILITY, WAITS, Augmented, SessionTasks
from edge.tools import Toolbox
from edge.waiting import Waiting
from kit import limits
from kit.catalogue import Tool

SESSION_HEADER = "mcp-session-id"
Now = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a session. `before` takes what is sent ahead of its answer, where the answer can be a stream."""

    session: Session
    caller: Caller
    params: Mapping[str, Any]
    before: list[bytes] | None = None
    links: LinkRequests | None = None
    tell: Tell | None = None
    pause: Callable[[int], None] | None = None

    async def resume(self, _tool: Tool, _request: Proto) -> None:
        """No call of this era is the second half of another."""

    async def offer(self, called: Called, _receipt: bytes) -> None:
        """The receipt is the answer; a request to open a link may go ahead of it."""
        if self.before is not None and self.links is not None:
            asked = await self.links.ask(self.session, self.caller, called)
            self.before.extend([asked] if asked is not None else [])


@dataclass(frozen=True, slots=True)
class Method:
    """How a method is served. `forwards` leaves the judgement on the key to the service that the call goes to."""

    run: Callable[[Turn], Awaitable[Any]]
    forwards: bool = False


@dataclass(frozen=True, slots=True)
class Beside:
    """What is offered where there is a program for it."""

    links: LinkRequests | None = None
    tasks: SessionTasks | None = None
    watches: Watches | None = None


class Legacy:
    """Serves the era. What it cannot do it does not advertise, and answers as unknown."""

    def __init__(
        self,
        toolbox: Toolbox,
        calls: ToolCalls,
        channel: Channel,
        now: Now,
        timing: Timing,
        families: Sequence[Family] = (),
        beside: Beside | None = None,
    ) -> None:
        self._toolbox, self._calls, self._channel, self._now, self._timing = toolbox, calls, channel, now, timing
        beside = beside or Beside()
        self.resuming = Resuming(timing)
        self._links, self._tasks, watches = beside.links, beside.tasks, beside.watches
        self._methods = {
            "ping": Method(self._ping),
            "tools/list": Method(self._list_tools),
            "tools/call": Method(self._call_tool, forwards=True),
            "logging/setLevel": Method(self._set_level),
        }
        self._families = families
        for family in families:
            self._methods |= {name: Method(self._of_family(serve), forwards=True) for name, serve in family.methods.items()}
        self._tools = identity.LIST_CHANGED if watches is not None else {}
        if watches is not None:
            watching = {"resources/subscribe": watches.subscribe, "resources/unsubscribe": watches.unsubscribe}
            self._methods |= {name: Method(self._of_session(serve), forwards=True) for name, serve in watching.items()}
        self._notifications: dict[str, Callable[[Turn], None]] = {"notifications/cancelled": self._cancelled}

    async def post(self, exchange: Exchange, caller: Caller, tree: Any, accepts: Accepts, extra: tuple[Header, ...] = ()) -> Answer | None:
        """Answers one posted body; None where the answer was streamed."""
        if isinstance(tree, list):
            return await self._batch(exchange, caller, tree, accepts)
        message = jsonrpc.read(tree)
        if isinstance(message, jsonrpc.Request) and message.method == "initialize":
            return await self._initialize(exchange, caller, message, accepts)
        session = await self._session(exchange, caller, getattr(message, "id", None))
        before: list[bytes] | None = [] if accepts.sse else None
        if isinstance(message, jsonrpc.Request) and self._resumes(session, message, accepts):

            async def work(replay: Replay) -> bytes:
                with session.in_use(self._now):
                    return await self._request(Turn(session, caller, message.params, tell=replay.tell, pause=replay.pause), message)

            return await self.resuming.answer(exchange, accepts, (session, caller), work, message.id, extra)
        with session.in_use(self._now):
            if isinstance(message, jsonrpc.Request) and self._talks(message):
                waiting = Waiting(exchange, accepts, self._timing, extra)
                turn = Turn(session, caller, message.params, tell=waiting.tell if accepts.sse else None)
                return await waiting.answer(self._request(turn, message), message.id)
            body = await self._message(session, caller, message, before)
        return ACCEPTED if body is None else streams.whole(body, accepts, before=before or ())

    def _talks(self, message: jsonrpc.Request) -> bool:
        """Whether there may be something to say before the answer."""
        return message.method == WAITS or (message.method == "tools/call" and self._calls.talks(message.params.get("name")))

    def _resumes(self, session: Session, message: jsonrpc.Request, accepts: Accepts) -> bool:
        """Whether its client can lose the stream and come back for the rest."""
        able = accepts.sse and REVISIONS[session.version].resumes and message.method == "tools/call"
        return able and self._talks(message) and self.resuming.room(session)

    async def _message(self, session: Session, caller: Caller, message: jsonrpc.Message, before: list[bytes] | None = None) -> bytes | None:
        """The answer to one message; None where it gets none."""
        if isinstance(message, jsonrpc.Request):
            return await self._request(Turn(session, caller, message.params, before, self._links), message)
        await caller.authenticate()
        if isinstance(message, jsonrpc.Response):
            if session_talk.answered(session, message):
                return None
            for asking in (self._links, self._tasks):
                if asking is not None and await asking.answered(session, caller, message):
                    return None
            raise jsonrpc.Invalid("No request of the server is waiting for this response.", message.id)
        if (noticed := self._notifications.get(message.method)) is not None:
            noticed(Turn(session, caller, message.params))
        return None

    async def _request(self, turn: Turn, request: jsonrpc.Request) -> bytes:
        try:
            return jsonrpc.result(request.id, await self._cancellable(turn, request))
        except Fault as fault:
            return jsonrpc.error(request.id, fault.code, fault.message, fault.data)

    async def _cancellable(self, turn: Turn, request: jsonrpc.Request) -> Any:
        """Runs a request until it is done or the client takes it back. That the client is gone does not end it in this era."""
        task, taken_back = asyncio.current_task(), False
        assert task is not None

        def take_back() -> None:
            nonlocal taken_back
            taken_back = task.cancel()

        with turn.session.running(request.id, take_back):
            try:
                return await self._run(turn, request)
            except asyncio.CancelledError:
                if not taken_back:
                    raise
                task.uncancel()
                raise Fault(REQUEST_CANCELLED, "The request was cancelled.") from None

    async def _run(self, turn: Turn, request: jsonrpc.Request) -> Any:
        method = self._methods.get(request.method) or self._task_method(turn, request.method)
        if method is None or not method.forwards:
            await turn.caller.authenticate()
        if request.method == "initialize":
            raise Fault(jsonrpc.INVALID_REQUEST, "initialize stands alone in its POST.")
        if method is None:
            raise Fault(jsonrpc.METHOD_NOT_FOUND, "Unknown method.")
        return await method.run(turn)

    def _task_method(self, turn: Turn, name: str) -> Method | None:
        if self._tasks is None or not REVISIONS[turn.session.version].tasks:
            return None
        serve = self._tasks.method(name, turn.session, turn.tell)
        return None if serve is None else Method(lambda turn: serve(turn.caller, turn.params), forwards=True)

    async def _batch(self, exchange: Exchange, caller: Caller, tree: list[Any], accepts: Accepts) -> Answer:
        """Several messages in one body, which only the oldest revision knows."""
        session = await self._session(exchange, caller, None)
        if not REVISIONS[session.version].batches:
            raise jsonrpc.Invalid("Batches are not part of this revision: send one message a request.")
        if not 0 < len(tree) <= limits.JSON_BATCH_MAX:
            raise jsonrpc.Invalid(f"A batch holds 1 to {limits.JSON_BATCH_MAX} messages.")
        answers = []
        with session.in_use(self._now):
            for item in tree:
                try:
                    answers.append(await self._message(session, caller, jsonrpc.read(item)))
                except jsonrpc.Invalid as invalid:
                    answers.append(jsonrpc.error(invalid.id, jsonrpc.INVALID_REQUEST, invalid.message))
        said = [a for a in answers if a is not None]
        return streams.whole(b"[" + b",".join(said) + b"]", accepts) if said else ACCEPTED

    async def _session(self, exchange: Exchange, caller: Caller, id_: jsonrpc.Id | None) -> Session:
        """The session that the request names. Whether an id is unknown, expired or another key's is not told."""
        given = exchange.one(SESSION_HEADER)
        session = await self._channel.find(given) if given is not None else None
        if session is not None and session.owned_by(caller.key):
            return session
        await caller.authenticate()
        if given is None:
            raise refuse(400, "The header Mcp-Session-Id is missing. It is on the answer to initialize.", id_=id_)
        if not sessions.valid_id(given):
            raise refuse(400, "The header Mcp-Session-Id is not a session id.", id_=id_)
        raise refuse(404, "Session not found. Send initialize again.", id_=id_)

    async def _initialize(self, exchange: Exchange, caller: Caller, request: jsonrpc.Request, accepts: Accepts) -> Answer:
        principal = await caller.authenticate()
        given = exchange.one(SESSION_HEADER)
        live = await self._channel.find(given) if given is not None else None
        if live is not None and live.owned_by(caller.key):
            raise jsonrpc.Invalid("This session is initialized already.", request.id)
        try:
            version, can = _offer(request.params)
        except Fault as fault:
            return streams.whole(jsonrpc.error(request.id, fault.code, fault.message), accepts)
        session = Session(sessions.new_id(), principal.key_id, sessions.digest(caller.key), version, can, self._now())
        try:
            await self._channel.open(session)
        except Full:
            raise refuse(503, "Too many sessions are open. Try again later.", (b"retry-after", b"60"), id_=request.id) from None
        revision = REVISIONS[version]
        capabilities = self._offered(revision) | (CAPABILITY if self._tasks is not None and revision.tasks else {})
        result = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": revision.server}
        body = jsonrpc.result(request.id, result | {"instructions": identity.INSTRUCTIONS})
        return streams.whole(body, accepts, (SESSION_HEADER.encode(), session.id.encode()))

    async def get(self, exchange: Exchange, caller: Caller, accepts: Accepts, extra: tuple[Header, ...]) -> None:
        """Holds the session's stream open."""
        if not accepts.sse:
            raise refuse(406, "A GET is answered with text/event-stream only.")
        await caller.authenticate()
        session = await self._session(exchange, caller, None)
        if (event_id := exchange.one("last-event-id")) is not None:
            await self._resume(exchange, session, caller, event_id, extra)
            return
        try:
            stream = await self._channel.hold(session)
        except Full:
            raise refuse(503, "Too many streams are open. Try again later.", (b"retry-after", b"60")) from None
        try:
            with session.in_use(self._now):
                await streams.hold(exchange, stream, caller, self._timing, extra)
        finally:
            await self._channel.release(stream)

    async def _resume(self, exchange: Exchange, session: Session, caller: Caller, event_id: str, extra: tuple[Header, ...]) -> None:
        """Goes on with the stream of a call, and with no other."""
        reader = self.resuming.find(session, event_id)
        if reader is None:
            raise refuse(400, "Unknown Last-Event-ID: no event of this session has it, or what followed is no longer kept. Call again.")
        with session.in_use(self._now):
            await streams.hold(exchange, reader, caller, self._timing, extra)

    async def delete(self, exchange: Exchange, caller: Caller) -> Answer:
        """Ends the session. What still runs in it finishes, and cannot bring it back."""
        await caller.authenticate()
        session = await self._session(exchange, caller, None)
        await self._channel.close(session.id)
        return Answer(204)

    async def _ping(self, _turn: Turn) -> Any:
        return {}

    async def _list_tools(self, turn: Turn) -> Any:
        if turn.params.get("cursor") is not None:
            raise Fault(jsonrpc.INVALID_PARAMS, "Unknown cursor: the list has one page.")
        return self._toolbox.listings[turn.session.version]

    async def _call_tool(self, turn: Turn) -> Any:
        revision, talking = REVISIONS[turn.session.version], self._talk(turn)
        if self._tasks is None or not revision.tasks:
            return await self._calls.call(turn.caller, turn.params, revision, turn, talking)
        call = Augmented(self._tasks, turn, turn.session, turn.caller, turn.params, talking)
        return call.checked(await self._calls.call(turn.caller, turn.params, revision, call, talking))

    def _offered(self, revision: Revision) -> dict[str, Any]:
        offered: dict[str, Any] = identity.CAPABILITIES | {"tools": self._tools, "logging": {}}
        for family in self._families:
            offered |= family.capabilities(revision)
        return offered

    async def _set_level(self, turn: Turn) -> Any:
        turn.session.log_floor = level(turn.params.get("level"))
        return {}

    def _of_family(self, serve: Serve) -> Callable[[Turn], Awaitable[Any]]:
        return lambda turn: served(serve, Asked(turn.caller, turn.params, REVISIONS[turn.session.version], self._talk(turn)))

    def _of_session(self, serve: Callable[[Session, Asked], Awaitable[Any]]) -> Callable[[Turn], Awaitable[Any]]:
        """A method of a family that is about the session itself."""

        async def run(turn: Turn) -> Any:
            async def in_session(asked: Asked) -> Any:
                return await serve(turn.session, asked)

            return await self._of_family(in_session)(turn)

        return run

    @staticmethod
    def _talk(turn: Turn) -> SessionTalk:
        ear = Ear(turn.tell, progress_token(turn.params), turn.session.log_floor)
        return SessionTalk(turn.session, turn.tell, ear, turn.pause)

    def _cancelled(self, turn: Turn) -> None:
        turn.session.cancel(turn.params.get("requestId"))


def _offer(params: Mapping[str, Any]) -> tuple[str, Capabilities]:
    """The revision to speak, and what the client says it can do."""
    asked, capabilities = params.get("protocolVersion"), params.get("capabilities", {})
    if not isinstance(asked, str):
        raise Fault(jsonrpc.INVALID_PARAMS, "protocolVersion must be a string.")
    if not isinstance(capabilities, dict):
        raise Fault(jsonrpc.INVALID_PARAMS, "capabilities must be an object.")
    return eras.negotiate(asked), Capabilities.of(capabilities)
