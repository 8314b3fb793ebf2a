"""The one table from refusals to what an MCP client sees: a result a model can read, a JSON-RPC error, or a challenge."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

from substrate.common.v1 import error_reason_pb2 as reasons

from edge import jsonrpc
from kit.errors import INTERNAL_MESSAGE, Reason, Refusal

HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
REQUEST_CANCELLED = -32800
REFUSAL_META = "substrate/refusal"
_INCIDENT = re.compile(r"incident ([0-9a-f]{8})\b")

# HTTP status of a JSON-RPC error of the modern era. What is not listed travels with 200, as everything does in the handshake era.
MODERN_STATUS = {
    jsonrpc.PARSE_ERROR: 400,
    jsonrpc.INVALID_REQUEST: 400,
    jsonrpc.INVALID_PARAMS: 400,
    jsonrpc.METHOD_NOT_FOUND: 404,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
}


class Fault(Exception):
    """A JSON-RPC error as the answer to a well-formed request."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


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


def internal(incident: str | None) -> Fault:
    """The answer to a defect of ours."""
    return Fault(jsonrpc.INTERNAL_ERROR, f"{INTERNAL_MESSAGE} Report incident {incident}." if incident else INTERNAL_MESSAGE)


def internal_of(refusal: Refusal) -> Fault:
    """The same for a defect of a service: its id passes, its words do not."""
    found = _INCIDENT.search(refusal.message)
    return internal(found[1] if found else None)


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
