"""Makes the call that a task stands for, as the edge would make it for the key: the same message, the same answer, the same bytes."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson
from google.protobuf.message import Message
from substrate.common.v1 import error_reason_pb2 as reasons

from kit import results
from kit.catalogue import Catalogue, Tool
from kit.client import Method
from kit.decode import Decoder
from kit.errors import INTERNAL_MESSAGE, Refusal
from kit.results import Treatment
from services.tasks.keys import Keys


@dataclass(frozen=True, slots=True)
class Ended:
    """The call was answered."""

    result: bytes
    is_error: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """The call has to be made again with answers."""

    questions: bytes
    state: bytes


@dataclass(frozen=True, slots=True)
class Broke:
    """The call has no answer, and will have none."""

    status: str
    message: str


@dataclass(frozen=True, slots=True)
class Away:
    """What the call needs did not answer; it may be made again. Where it may not, this is its result."""

    result: bytes


End = Ended | Asked | Broke | Away
KEY_ENDED = "The key that began it may not make this call any more."


@dataclass(frozen=True, slots=True)
class Launch:
    """A call to make."""

    run_id: uuid.UUID
    key_id: uuid.UUID
    tool: str
    arguments: bytes


@dataclass(frozen=True)
class Callee:
    """A tool, and how to reach it."""

    tool: Tool
    method: Method

    @cached_property
    def decode(self) -> Decoder:
        """From arguments to the request."""
        return Decoder(self.tool.request)


class Calling:
    """Makes calls."""

    def __init__(self, catalogue: Catalogue, methods: Mapping[str, Method], keys: Keys) -> None:
        self._callees = {t.name: Callee(t, methods[t.path]) for t in catalogue.tools if t.task_support != "forbidden"}
        self._keys = keys

    async def call(self, launch: Launch, timeout_seconds: float) -> End:
        """Makes one call. What it may do is decided now, for the key, where it arrives."""
        callee = self._callees.get(launch.tool)
        if callee is None:
            return Broke("FAILED", INTERNAL_MESSAGE)  # made by a version of this program that had the tool
        try:
            request = callee.decode(orjson.loads(launch.arguments))
            metadata = await self._keys.metadata(launch.key_id, callee.tool.path, request)
            answer = await callee.method(request, metadata=metadata, timeout_seconds=timeout_seconds)
        except Refusal as refusal:
            return _refused(refusal)
        return _answered(callee.tool, answer)


def _answered(tool: Tool, answer: Message) -> End:
    return Ended(orjson.dumps(results.answered(orjson.dumps(tool.encode(answer)))), is_error=False)


def _refused(refusal: Refusal) -> End:
    match results.treatment(refusal):
        case Treatment.RESULT if refusal.reason == reasons.ERROR_REASON_UNAVAILABLE:
            return Away(_bytes(results.tool_result(refusal)))
        case Treatment.RESULT:
            return Ended(_bytes(results.tool_result(refusal)), is_error=True)
        case Treatment.CHALLENGE:
            return Broke("ABORTED", KEY_ENDED)
        case Treatment.INTERNAL:
            return Broke("FAILED", results.internal_words(refusal))


def _bytes(result: Mapping[str, Any]) -> bytes:
    return orjson.dumps(result)
