"""Turns a request body into JSON, refusing what could mean two things or cost too much, in one linear pass."""

from __future__ import annotations

import itertools
import json
import math
import re
from typing import Any, Never

from kit import limits

# The JSON-RPC codes of what is not taken.
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INVALID_PARAMS = -32602

Id = str | int

# Each expression consumes everything it looks at, so a hostile body cannot make it start over: linear in the length of the body.
_STRING = re.compile(r'"(?:[^"\\]++|\\.|\\\Z)*+(?:"|\Z)', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")
_SUSPECT_ESCAPE = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")
_ID = re.compile(r'"id"[ \t\r\n]*:[ \t\r\n]*("(?:[^"\\]++|\\.)*+"|-?[0-9]{1,16})(?=[ \t\r\n]*(?:,|\Z))', re.DOTALL)


class Rejected(Exception):
    """A body that is not taken, with the id of the request where it could be read safely."""

    def __init__(self, code: int, message: str, id_: Id | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.id = code, message, id_


class _Malformed(Exception):
    """Not JSON, or JSON that two readers could understand differently."""


class _Excess(Exception):
    """JSON, but beyond a limit or with a value that cannot be carried on exactly."""


def parse(body: bytes) -> Any:
    """The JSON value of a body."""
    text = _text(body)
    try:
        _measure(text)
        tree = _DECODE(text)
        if len(body) > limits.JSON_STRING_MAX_BYTES or ("\\u" in text and _SUSPECT_ESCAPE.search(text)):
            _check_strings(tree)
    except json.JSONDecodeError as error:
        raise Rejected(PARSE_ERROR, f"The body is not valid JSON (character {error.pos}).") from None
    except _Malformed as error:
        raise Rejected(PARSE_ERROR, str(error), recover_id(text)) from None
    except _Excess as error:
        id_ = recover_id(text)
        raise Rejected(INVALID_REQUEST if id_ is None else INVALID_PARAMS, str(error), id_) from None
    return tree


def _text(body: bytes) -> str:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise Rejected(PARSE_ERROR, "The body is not valid UTF-8.") from None
    if text.startswith("\ufeff"):
        raise Rejected(PARSE_ERROR, "The body starts with a byte order mark; send plain UTF-8.")
    return text


def _measure(text: str) -> None:
    """Depth and size of the structure, before anything is built from it."""
    opened, commas = text.count("{") + text.count("["), text.count(",")
    if opened <= limits.JSON_DEPTH_MAX and opened + commas <= limits.JSON_MEMBERS_MAX:
        return  # The usual body: brackets and commas inside strings only make this estimate too high.
    bare = _STRING.sub("", text)
    depth = 0
    for bracket in itertools.islice(_BRACKET.finditer(bare), 2 * limits.JSON_MEMBERS_MAX + 1):
        depth += 1 if bracket[0] in "{[" else -1
        if depth > limits.JSON_DEPTH_MAX:
            raise _Malformed(f"The body is nested deeper than {limits.JSON_DEPTH_MAX} levels.")
    if bare.count("{") + bare.count("[") + bare.count(",") > limits.JSON_MEMBERS_MAX:
        raise _Excess(f"The body has more than {limits.JSON_MEMBERS_MAX} members.")


def _check_strings(tree: Any) -> None:
    """Strings that no UTF-8 text can hold, that databases cut short, or that are too long."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            stack.extend(node)
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, str):
            _check_string(node)


def _check_string(text: str) -> None:
    if "\0" in text:
        raise _Excess("A string holds the character NUL.")
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise _Excess("A string holds half of a surrogate pair.") from None
    if size > limits.JSON_STRING_MAX_BYTES:
        raise _Excess(f"A string is longer than {limits.JSON_STRING_MAX_BYTES} bytes.")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Malformed("An object has the same key twice.")
    return members


def _integer(literal: str) -> int:
    # Sixteen digits and a sign hold 2^53; what is longer is never converted.
    if len(literal) > 17 or abs(number := int(literal)) > limits.JSON_INTEGER_MAX or literal == "-0":
        raise _Excess(f"An integer is outside ±{limits.JSON_INTEGER_MAX}, or is minus zero, and would not arrive exactly.")
    return number


def _real(literal: str) -> float:
    number = float(literal) if len(literal) <= limits.JSON_NUMBER_MAX_CHARS else math.inf
    if not math.isfinite(number):
        raise _Excess("A number is too large to be carried.")
    return number


def _constant(_literal: str) -> Never:
    raise _Malformed("The body holds NaN or Infinity, which JSON does not know.")


_DECODE = json.JSONDecoder(object_pairs_hook=_members, parse_int=_integer, parse_float=_real, parse_constant=_constant).decode


def recover_id(text: str) -> Id | None:
    """The id at the top level of a request that was not parsed: it stands before its first inner bracket or after its last."""
    whole = text.strip(" \t\r\n")
    if not (whole.startswith("{") and whole.endswith("}")):
        return None
    inner = whole[1:-1]
    ends = [at for at in (inner.find("{"), inner.find("[")) if at >= 0]
    head = inner[: min(ends)] if ends else inner
    tail = inner[max(inner.rfind("}"), inner.rfind("]")) + 1 :] if ends else ""
    found = [*_ID.finditer(head), *_ID.finditer(tail)]
    if len(found) != 1:
        return None
    try:
        id_ = json.loads(found[0][1], strict=True)
        _check_string(str(id_))
    except (ValueError, _Excess):
        return None
    return id_ if isinstance(id_, str) or abs(id_) <= limits.JSON_INTEGER_MAX else None
