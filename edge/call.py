"""The one path of every tool call: JSON arguments to a message, one RPC with the caller's own key, the answer back to JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson
from google.protobuf.message import Message

from edge.caller import Caller
from edge.errors import Fault, Treatment, internal_of, tool_result, treatment
from edge.jsonrpc import INVALID_PARAMS
from edge.revisions import Revision
from edge.tools import Card, Toolbox
from kit.client import Method
from kit.errors import Refusal

_NAME_SHOWN_MAX = 128
Check = Callable[[Card, Mapping[str, Any]], None]


def _unchecked(_card: Card, _arguments: Mapping[str, Any]) -> None:
    """The handshake era has nothing to hold against a call before its arguments are read."""


class ToolCalls:
    """Calls tools. Which of them may be called, and what they may read, is decided where they are served."""

    def __init__(self, toolbox: Toolbox, methods: Mapping[str, Method]) -> None:
        self._toolbox, self._methods = toolbox, methods

    async def call(self, caller: Caller, params: Mapping[str, Any], revision: Revision, check: Check = _unchecked) -> dict[str, Any]:
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
            answer = await self._methods[card.tool.path](request, metadata=caller.metadata)
        except Refusal as refusal:
            return revision.result(self._refused(refusal))
        return revision.called(orjson.dumps(card.tool.encode(answer)))

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
