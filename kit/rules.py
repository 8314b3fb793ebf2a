"""Holds a message against the rules that are declared on its fields, and names what breaks them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import protovalidate
from google.protobuf.message import Message

from kit.errors import FieldError

_VALIDATOR = protovalidate.Validator()


def field_errors(request: Message) -> list[FieldError]:
    """Arguments that break the rules declared on their fields."""
    found = []
    for violation in _VALIDATOR.collect_violations(request):
        proto: Any = violation.proto
        # A rule of the whole message has no field; it is the request that breaks it.
        path = ".".join(e.field_name for e in proto.field.elements) if proto.field is not None else "request"
        found.append(FieldError(path, proto.message))
    return found + [FieldError(path, "expected text without a NUL character") for path in _with_nul(request)]


def _with_nul(message: Message) -> Iterator[str]:
    """Paths of texts that hold a NUL, which no store can keep."""
    for field, value in message.ListFields():
        for one in value if field.is_repeated else (value,):
            if isinstance(one, str) and "\0" in one:
                yield field.name
            elif isinstance(one, Message):
                yield from (f"{field.name}.{inner}" for inner in _with_nul(one))
