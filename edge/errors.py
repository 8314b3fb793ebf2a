"""JSON-RPC errors: their codes, the HTTP status that they travel with, and the one for a defect of ours."""

from __future__ import annotations

from typing import Any

from edge import jsonrpc
from kit.errors import INTERNAL_MESSAGE, Refusal
from kit.results import REQUEST_CANCELLED, TREATMENTS, Treatment, internal_words, tool_result, treatment

HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

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


def internal(incident: str | None) -> Fault:
    """The answer to a defect of ours."""
    return Fault(jsonrpc.INTERNAL_ERROR, f"{INTERNAL_MESSAGE} Report incident {incident}." if incident else INTERNAL_MESSAGE)


def internal_of(refusal: Refusal) -> Fault:
    """The same for a defect of a service: its id passes, its words do not."""
    return Fault(jsonrpc.INTERNAL_ERROR, internal_words(refusal))


__all__ = [
    "HEADER_MISMATCH",
    "MISSING_CAPABILITY",
    "MODERN_STATUS",
    "REQUEST_CANCELLED",
    "TREATMENTS",
    "UNSUPPORTED_VERSION",
    "Fault",
    "Treatment",
    "internal",
    "internal_of",
    "tool_result",
    "treatment",
]
