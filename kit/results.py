"""What a tool call is answered with, whoever makes it: an answer as a CallToolResult, and the one table of what becomes of refusals."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from enum import Enum
from typing import Any

import orjson
from google.protobuf.message import Message
from substrate.common.v1 import error_reason_pb2 as reasons
from substrate.tools.v1 import exchange_pb2

from kit.errors import INTERNAL_MESSAGE, Reason, Refusal

REQUEST_CANCELLED = -32800
_INCIDENT = re.compile(r"incident ([0-9a-f]{8})\b")
REFUSAL_META = "substrate/refusal"


class Treatment(Enum):
    """What becomes of a refusal of a tool call."""

    RESULT = "a result with isError, so that a model can read it and do better"
    CHALLENGE = "HTTP 401 with WWW-Authenticate"
    INTERNAL = "JSON-RPC -32603 that says nothing but an id to report"


TREATMENTS: dict[int, Treatment] = {
    reasons.ERROR_REASON_UNSPECIFIED: Treatment.INTERNAL,
    reasons.ERROR_REASON_UNAUTHENTICATED: Treatment.CHALLENGE,
    reasons.ERROR_REASON_SCOPE_MISSING: Treatment.RESULT,
    reasons.ERROR_REASON_CLASS_REFUSED: Treatment.RESULT,
    reasons.ERROR_REASON_MATTER_NOT_ACCESSIBLE: Treatment.RESULT,
    reasons.ERROR_REASON_RATE_LIMITED: Treatment.RESULT,
    reasons.ERROR_REASON_INVALID_ARGUMENT: Treatment.RESULT,
    reasons.ERROR_REASON_CALLER_REFUSED: Treatment.INTERNAL,
    reasons.ERROR_REASON_UNAVAILABLE: Treatment.RESULT,
    reasons.ERROR_REASON_INTERNAL: Treatment.INTERNAL,
    reasons.ERROR_REASON_NOT_FOUND: Treatment.RESULT,
    reasons.ERROR_REASON_CONFLICT: Treatment.RESULT,
}


def treatment(refusal: Refusal) -> Treatment:
    """The row of the table; a reason that is not in it says nothing."""
    return TREATMENTS.get(refusal.reason, Treatment.INTERNAL)


def tool_result(refusal: Refusal) -> dict[str, Any]:
    """A refusal as the result of a tool call: the sentence for a model, and the same for a program."""
    detail: dict[str, Any] = {"reason": Reason.Name(refusal.reason).removeprefix("ERROR_REASON_").lower(), "retryable": refusal.retryable}
    if refusal.limit_per_minute is not None:
        detail["limitPerMinute"] = refusal.limit_per_minute
    if refusal.retry_after_seconds is not None:
        detail["retryAfterSeconds"] = refusal.retry_after_seconds
    if refusal.fields:
        detail["fields"] = [{"path": f.path, "expected": f.expected} for f in refusal.fields]
    return {"content": [{"type": "text", "text": refusal.message}], "isError": True, "_meta": {REFUSAL_META: detail}}


def answered(data: bytes, *, structured: bool = True) -> dict[str, Any]:
    """A tool's answer, encoded once: as it is for programs, and as text for those that read only text."""
    content: dict[str, Any] = {"content": [{"type": "text", "text": data.decode()}]}
    return content | ({"structuredContent": orjson.Fragment(data)} if structured else {})


def free(content: exchange_pb2.Content) -> dict[str, Any]:
    """Free content as a result: its blocks in order, and isError only where it failed."""
    return {"content": [block(part) for part in content.blocks]} | ({"isError": True} if content.is_error else {})


def asked(name: str | None, answer: Message) -> exchange_pb2.Asking | None:
    """What an answer asks, in the field of this name, in place of being one."""
    return getattr(answer, name) if name is not None and answer.HasField(name) else None


def block(part: exchange_pb2.Block) -> dict[str, Any]:
    """One block in the form of the protocol, the same in every revision."""
    return _BLOCKS[str(part.WhichOneof("kind"))](part)


def _media(kind: str, block: exchange_pb2.MediaBlock) -> dict[str, Any]:
    return {"type": kind, "data": base64.b64encode(block.data).decode("ascii"), "mimeType": block.mime_type}


def _resource(block: exchange_pb2.ResourceBlock) -> dict[str, Any]:
    body = {"blob": base64.b64encode(block.blob).decode("ascii")} if block.WhichOneof("body") == "blob" else {"text": block.text}
    return {"type": "resource", "resource": {"uri": block.uri, "mimeType": block.mime_type} | body}


_BLOCKS: dict[str, Callable[[exchange_pb2.Block], dict[str, Any]]] = {
    "text": lambda block: {"type": "text", "text": block.text.text},
    "image": lambda block: _media("image", block.image),
    "audio": lambda block: _media("audio", block.audio),
    "resource": lambda block: _resource(block.resource),
}


def internal_words(refusal: Refusal) -> str:
    """What is said of a defect of a service: its id passes, its words do not."""
    found = _INCIDENT.search(refusal.message)
    return f"{INTERNAL_MESSAGE} Report incident {found[1]}." if found else INTERNAL_MESSAGE
