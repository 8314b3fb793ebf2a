"""Page tokens: opaque, bound to the other arguments, and without any authority (row security decides what a page may hold)."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from google.protobuf.message import Message

from kit import limits
from kit.errors import FieldError, invalid

_PAGING = ("page_size", "page_token")


@dataclass(frozen=True, slots=True)
class Page:
    """Where a page begins and how long it may be."""

    after: str | None
    size: int


def binding(request: Message) -> str:
    """Digest of the question that a token belongs to: the tool and its other arguments."""
    rest = type(request)()
    rest.CopyFrom(request)
    for name in _PAGING:
        rest.ClearField(name)
    question = f"{rest.DESCRIPTOR.full_name}\n".encode() + rest.SerializeToString(deterministic=True)
    return sha256(question).hexdigest()[:16]


def token(request: Message, after: str) -> str:
    """The token of the page that begins after a row."""
    body = json.dumps([binding(request), after], ensure_ascii=False).encode("utf-8")
    return base64.urlsafe_b64encode(body).decode("ascii").rstrip("=")


def opened(request: Any) -> Page:
    """The page that a request asks for; a token of another question is refused."""
    size = min(request.page_size or limits.PAGE_SIZE_DEFAULT, limits.PAGE_SIZE_MAX)
    if not request.page_token:
        return Page(None, size)
    refused = invalid(
        [FieldError("page_token", "expected the next_page_token of an answer to the same arguments, or nothing for the first page")]
    )
    try:
        text = request.page_token.encode("ascii")
        bound, after = json.loads(base64.b64decode(text + b"=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (ValueError, TypeError, UnicodeError, RecursionError, binascii.Error):
        raise refused from None
    if bound != binding(request) or not isinstance(after, str) or not _storable(after):
        raise refused
    return Page(after, size)


def _storable(text: str) -> bool:
    """Whether a store could hold the text: no NUL, no lone surrogate."""
    try:
        return b"\0" not in text.encode("utf-8")
    except UnicodeEncodeError:
        return False
