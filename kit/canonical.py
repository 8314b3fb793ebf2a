"""One byte form of a value, made once and never made again to check it: canonical JSON (RFC 8785) inside a profile that we enforce."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import orjson

SAFE_INTEGER = 2**53 - 1


def _check(value: Any) -> None:
    """Refuses what two canonicalizers could write differently: fractions, huge integers, keys beyond ASCII, lone surrogates."""
    match value:
        case None | bool():
            return
        case int():
            if abs(value) > SAFE_INTEGER:
                raise ValueError("a number beyond 2^53 has no canonical form")
        case str():
            value.encode("utf-8")
        case list() | tuple():
            for item in value:
                _check(item)
        case dict():
            for key, item in value.items():
                if not isinstance(key, str) or not key.isascii():
                    raise ValueError("a key beyond ASCII has no canonical form here")
                _check(item)
        case _:
            raise ValueError(f"{type(value).__name__} has no canonical form")


def canonical(value: Any) -> bytes:
    """The canonical bytes of a JSON value."""
    _check(value)
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def digest(data: bytes) -> bytes:
    """SHA-256 of canonical bytes."""
    return sha256(data).digest()
