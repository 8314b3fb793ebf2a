"""The headers by which proxies route a modern request without reading its body: they must agree with it."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Any

from edge.eras import VERSION_META
from edge.errors import HEADER_MISMATCH, Fault

VERSION = "mcp-protocol-version"
METHOD = "mcp-method"
NAME = "mcp-name"
PARAM_PREFIX = "mcp-param-"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"} | dict.fromkeys(
    ("tasks/get", "tasks/update", "tasks/cancel"), "taskId"
)
_ENCODED = re.compile(r"=\?base64\?(.*)\?=", re.DOTALL)
_DECIMAL = re.compile(r"(-?[0-9]{1,20})(?:\.0{1,20})?")

Headers = Mapping[str, Sequence[str]]
Path = tuple[str, ...]


def _mismatch(message: str) -> Fault:
    return Fault(HEADER_MISMATCH, message)


def decode(value: str) -> str | None:
    """The text of a header value: itself, or what `=?base64?…?=` wraps. None where the wrapping is not exact."""
    wrapped = _ENCODED.fullmatch(value)
    if wrapped is None:
        return value
    try:
        data = base64.b64decode(wrapped[1], validate=True)
        text = data.decode("utf-8")
    except (binascii.Error, ValueError):
        return None
    # One text has one spelling: what a lenient decoder forgives could route and act differently.
    return text if base64.b64encode(data).decode("ascii") == wrapped[1] else None


def check(headers: Headers, method: str, params: Mapping[str, Any]) -> None:
    """Version, method and name, each given once and equal to the body's."""
    _agree(headers, VERSION, params["_meta"][VERSION_META], encoded=False)
    _agree(headers, METHOD, method, encoded=False)
    member = _NAMED_BY.get(method)
    if member is not None and isinstance(params.get(member), str):
        _agree(headers, NAME, params[member], encoded=True)


def _agree(headers: Headers, name: str, expected: str, *, encoded: bool) -> None:
    values = headers.get(name, ())
    if len(values) > 1:
        raise _mismatch(f"The header {name} is given more than once.")
    if not values:
        raise _mismatch(f"The header {name} is missing.")
    given = values[0].strip(" \t")
    if (decode(given) if encoded else given) != expected:
        raise _mismatch(f"The header {name} does not agree with the body.")


def check_arguments(headers: Headers, mirrored: Mapping[Path, str], arguments: Mapping[str, Any]) -> None:
    """Each argument whose schema has `x-mcp-header` is mirrored in its header, and absent where the argument is."""
    for path, token in mirrored.items():
        name = PARAM_PREFIX + token.lower()
        value = _at(arguments, path)
        values = headers.get(name, ())
        if value is None:
            if values:
                raise _mismatch(f"The header {name} is given, but the argument is not.")
        elif len(values) != 1:
            raise _mismatch(f"The header {name} is missing or given more than once.")
        elif not _equal(decode(values[0].strip(" \t")), value):
            raise _mismatch(f"The header {name} does not agree with the argument.")


def _at(arguments: Any, path: Path) -> Any:
    for key in path:
        if not isinstance(arguments, Mapping):
            return None
        arguments = arguments.get(key)
    return arguments


def _equal(given: str | None, value: Any) -> bool:
    if given is None:
        return False
    if isinstance(value, bool):
        return given == ("true" if value else "false")
    if isinstance(value, int | float):
        number = _DECIMAL.fullmatch(given)
        return number is not None and int(number[1]) == value
    return bool(given == value)
