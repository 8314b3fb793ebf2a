"""Makes the call that a task stands for, as the edge would make it for the key: the same message, the same answer, the same bytes."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import orjson
from google.protobuf.message import Message
from substrate.common.v1 import error_reason_pb2 as reasons
from substrate.tools.v1 import exchange_pb2

from kit import limits, results
from kit.catalogue import Catalogue, Tool
from kit.client import Method, StreamMethod
from kit.decode import Decoder, whole
from kit.errors import INTERNAL_MESSAGE, Refusal
from kit.results import Treatment
from services.tasks.keys import Keys
from services.tasks.progress import Progress


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
Note = Callable[[Progress], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Launch:
    """A call to make."""

    run_id: uuid.UUID
    key_id: uuid.UUID
    tool: str
    arguments: bytes
    given: exchange_pb2.Given


@dataclass(frozen=True, slots=True)
class Callee:
    """A tool, and how to reach it."""

    tool: Tool
    decode: Callable[[Mapping[str, Any]], Message]
    method: Method | StreamMethod


def callee(tool: Tool, method: Method | StreamMethod) -> Callee:
    """A tool as it is called."""
    return Callee(tool, whole if tool.arguments_schema else Decoder(tool.request), method)


class Calling:
    """Makes calls."""

    def __init__(self, catalogue: Catalogue, methods: Mapping[str, Method | StreamMethod], keys: Keys) -> None:
        self._callees = {t.name: callee(t, methods[t.path]) for t in catalogue.tools if t.task_support != "forbidden"}
        self._keys = keys

    async def call(self, launch: Launch, timeout_seconds: float, note: Note) -> End:
        """Makes one call. What it may do is decided now, for the key, where it arrives."""
        found = self._callees.get(launch.tool)
        if found is None:
            return Broke("FAILED", INTERNAL_MESSAGE)  # made by a version of this program that had the tool
        try:
            request = found.decode(orjson.loads(launch.arguments))
            if found.tool.given is not None:
                getattr(request, found.tool.given).CopyFrom(launch.given)
            metadata = await self._keys.metadata(launch.key_id, found.tool.path, request)
            if isinstance(found.method, StreamMethod):
                answer = await _spoken(found.method(request, metadata=metadata, timeout_seconds=timeout_seconds), note)
            else:
                answer = await found.method(request, metadata=metadata, timeout_seconds=timeout_seconds)
        except Refusal as refusal:
            return _refused(refusal)
        return _answered(found.tool, answer)


async def _spoken(events: AsyncIterator[Message], note: Note) -> Message | None:
    """The content that a stream ends with; None where it ends without. How far it has come is noted; a log is for who listens."""
    async with aclosing(events) as stream:  # type: ignore[type-var]  # an async generator, which is more than its type says
        async for event in stream:
            assert isinstance(event, exchange_pb2.Event)
            match event.WhichOneof("kind"):
                case "progress":
                    told = event.progress
                    await note(Progress(told.progress, told.total if told.HasField("total") else None, told.message))
                case "content":
                    return event.content
    return None


def _answered(tool: Tool, answer: Message | None) -> End:
    if answer is None:
        return Broke("FAILED", INTERNAL_MESSAGE)
    asking = results.asked(tool.asking, answer)
    if asking is not None:
        return _asked(asking)
    if isinstance(answer, exchange_pb2.Content):
        return Ended(orjson.dumps(results.free(answer)), answer.is_error)
    return Ended(orjson.dumps(results.answered(orjson.dumps(tool.encode(answer)))), is_error=False)


def _asked(asking: exchange_pb2.Asking) -> End:
    if not 0 < len(asking.questions) <= limits.TASK_QUESTIONS_MAX:
        return Broke("FAILED", INTERNAL_MESSAGE)
    questions = {q.key: {"method": q.method, "params": orjson.loads(q.params_json or b"{}")} for q in asking.questions}
    return Asked(orjson.dumps(questions), asking.state)


def _refused(refusal: Refusal) -> End:
    match results.treatment(refusal):
        case Treatment.RESULT if refusal.reason == reasons.ERROR_REASON_UNAVAILABLE:
            return Away(orjson.dumps(results.tool_result(refusal)))
        case Treatment.RESULT:
            return Ended(orjson.dumps(results.tool_result(refusal)), is_error=True)
        case Treatment.CHALLENGE:
            return Broke("ABORTED", KEY_ENDED)
        case Treatment.INTERNAL:
            return Broke("FAILED", results.internal_words(refusal))


def composed(given: bytes, state: bytes | None, answered: bytes | None) -> exchange_pb2.Given:
    """What a call is told besides its arguments: what its creator gave, and the answers to what it asked last."""
    made = exchange_pb2.Given.FromString(given)
    if state is not None:
        replies = {reply.key: reply.result_json for reply in made.replies}
        replies |= {key: orjson.dumps(value) for key, value in (orjson.loads(answered) if answered else {}).items()}
        del made.replies[:]
        made.replies.extend(exchange_pb2.Reply(key=key, result_json=value) for key, value in replies.items())
        made.state = state
    return made
