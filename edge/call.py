"""The one path of every tool call: JSON arguments to a message, one RPC with the caller's own key, the answer back to JSON."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Any, Protocol

import orjson
from google.protobuf.message import Message
from substrate.tools.v1 import exchange_pb2

from edge.caller import Caller
from edge.errors import Fault, Treatment, internal_of, tool_result, treatment
from edge.handoff import Called
from edge.jsonrpc import INVALID_PARAMS
from edge.revisions import Revision
from edge.talk import Result, Talk
from edge.tools import Card, Toolbox
from kit import results
from kit.catalogue import Tool
from kit.client import Method, StreamMethod
from kit.errors import Refusal

log = logging.getLogger(__name__)
_NAME_SHOWN_MAX = 128
Check = Callable[[Card, Mapping[str, Any]], None]


def _unchecked(_card: Card, _arguments: Mapping[str, Any]) -> None:
    """The handshake era has nothing to hold against a call before its arguments are read."""


class Handover(Protocol):
    """What an era has to say of a call besides its answer."""

    async def resume(self, tool: Tool, request: Message) -> dict[str, Any] | None:
        """The result of a call that is the second half of one before; None where it is a call of its own."""

    async def offer(self, called: Called, receipt: bytes) -> dict[str, Any] | None:
        """A result in place of the receipt; None where the receipt is the result."""


class ToolCalls:
    """Calls tools. Which of them may be called, and what they may read, is decided where they are served."""

    def __init__(self, toolbox: Toolbox, methods: Mapping[str, Method | StreamMethod]) -> None:
        self._toolbox, self._methods = toolbox, methods

    def talks(self, name: Any) -> bool:
        """Whether the tool of this name may have something to say before its answer."""
        card = self._toolbox.cards.get(name) if isinstance(name, str) else None
        return card is not None and (card.tool.streams or card.tool.given is not None)

    async def call(
        self, caller: Caller, params: Mapping[str, Any], revision: Revision, handover: Handover, talking: Talk, check: Check = _unchecked
    ) -> Result:
        """The result of tools/call in the words of the revision."""
        try:
            card, request = self._read(params, check)
        except Fault:
            await caller.authenticate()  # who may not call learns nothing of what a right call looks like
            raise
        except Refusal as refusal:
            await caller.authenticate()
            return revision.result(tool_result(refusal))
        try:
            if (resumed := await handover.resume(card.tool, request)) is not None:
                return resumed
            answer = await self.answer(card.tool, request, caller, talking)
        except Refusal as refusal:
            return revision.result(self._refused(refusal))
        if isinstance(answer, dict):
            return answer
        if isinstance(answer, exchange_pb2.Content):
            return revision.result(results.free(answer))
        data = orjson.dumps(card.tool.encode(answer))
        return await self._offered(handover, Called(card.tool, request, answer), data) or revision.called(data)

    async def asked_first(self, tool: Tool, request: Message, caller: Caller, talking: Talk) -> exchange_pb2.Given | Result | None:
        """All that a tool is told besides its arguments before it becomes a task, or the result that asks for more of it."""
        if tool.given is None:
            return None
        given = await talking.given(tool.path, request)
        while tool.asks_first:
            given.asking_only = True
            asking = results.asked(tool.asking, await self._once(tool, request, given, caller, talking))
            given.asking_only = False
            if asking is None:
                break
            told = await talking.ask(tool.path, request, asking)
            if isinstance(told, dict):
                return told
            given = told
        return given

    async def answer(self, tool: Tool, request: Message, caller: Caller, talking: Talk) -> Message | Result:
        """The answer of a tool, or the result that its talk with the client ends in for now."""
        given = await talking.given(tool.path, request) if tool.given is not None else None
        while True:
            answer = await self._once(tool, request, given, caller, talking)
            asking = results.asked(tool.asking, answer)
            if asking is None:
                return answer
            told = await talking.ask(tool.path, request, asking)
            if isinstance(told, dict):
                return told
            given = told

    async def _once(self, tool: Tool, request: Message, given: exchange_pb2.Given | None, caller: Caller, talking: Talk) -> Message:
        if given is not None and tool.given is not None:
            bare, request = request, tool.request_class()
            request.CopyFrom(bare)
            getattr(request, tool.given).CopyFrom(given)
        method = self._methods[tool.path]
        if isinstance(method, Method):
            return await method(request, metadata=caller.metadata)
        async with aclosing(method(request, metadata=caller.metadata)) as events:
            async for event in events:
                assert isinstance(event, exchange_pb2.Event)
                if event.WhichOneof("kind") == "content":
                    return event.content
                await talking.hear(event)
        raise ValueError(f"{tool.name}: a stream ended without content")

    @staticmethod
    async def _offered(handover: Handover, called: Called, data: bytes) -> dict[str, Any] | None:
        """Whatever fails here, the call was answered, and its answer goes out."""
        if not called.tool.handoff:
            return None
        try:
            return await handover.offer(called, data)
        except Exception:
            log.exception("no handover")
            return None

    def _read(self, params: Mapping[str, Any], check: Check) -> tuple[Card, Message]:
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str):
            raise Fault(INVALID_PARAMS, "The name of the tool must be a string.")
        if not isinstance(arguments, dict):
            raise Fault(INVALID_PARAMS, "The arguments of a tool must be an object.")
        card = self._toolbox.cards.get(name)
        if card is None:
            raise Fault(INVALID_PARAMS, f"Unknown tool: {name[:_NAME_SHOWN_MAX]}")
        check(card, arguments)
        return card, card.decode(arguments)

    @staticmethod
    def _refused(refusal: Refusal) -> dict[str, Any]:
        match treatment(refusal):
            case Treatment.RESULT:
                return tool_result(refusal)
            case Treatment.CHALLENGE:
                raise refusal
            case Treatment.INTERNAL:
                raise internal_of(refusal)
