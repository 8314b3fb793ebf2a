"""Links to documents: what a link names is in the link, signed by reads and checked by files, and it ends after five minutes."""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import asdict, dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from kit import limits

_DOMAIN = b"substrate/file/1\n"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SIGNATURE_BYTES = 64


class NoLink(Exception):
    """The text is no link of ours, or was altered."""


class Ended(Exception):
    """The link was good once."""


@dataclass(frozen=True, slots=True)
class Link:
    """What a link stands for."""

    sha256: str
    media_type: str
    name: str  # what the file may be called
    ends: int  # seconds since the epoch


def private_key(text: str) -> Ed25519PrivateKey:
    """The half that makes links, from 64 hexadecimal digits."""
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(text))


def public_key(text: str) -> Ed25519PublicKey:
    """The half that checks them."""
    return Ed25519PublicKey.from_public_bytes(bytes.fromhex(text))


def make(key: Ed25519PrivateKey, link: Link) -> str:
    """The token of a link."""
    body = json.dumps(asdict(link), sort_keys=True, separators=(",", ":")).encode("ascii")
    return base64.urlsafe_b64encode(key.sign(_DOMAIN + body) + body).decode("ascii").rstrip("=")


def read(key: Ed25519PublicKey, token: str, now: float) -> Link:
    """What a token stands for now. One that was altered says nothing; one that has ended says so."""
    if len(token) > limits.FILE_LINK_MAX_CHARS:
        raise NoLink
    try:
        data = base64.b64decode(token.encode("ascii") + b"=" * (-len(token) % 4), altchars=b"-_", validate=True)
        key.verify(data[:_SIGNATURE_BYTES], _DOMAIN + data[_SIGNATURE_BYTES:])
        link = Link(**json.loads(data[_SIGNATURE_BYTES:]))
    except (ValueError, TypeError, UnicodeError, binascii.Error, InvalidSignature):
        raise NoLink from None
    if base64.urlsafe_b64encode(data).decode("ascii").rstrip("=") != token or not _DIGEST.fullmatch(link.sha256):
        raise NoLink
    if now >= link.ends:
        raise Ended
    return link
