"""Secrets that a browser holds: session tokens, form tokens and confirmations. What is stored of each is a hash."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256

TOKEN_BYTES = 32
SESSION_PREFIX = "ses_"  # so that a session is never taken for a key, nor a key for a session
KEY_PREFIX = "brk_"
TOKEN_MAX_CHARS = 128


def session_token(random: Callable[[int], bytes]) -> str:
    """A new session token: 256 bits."""
    return SESSION_PREFIX + _text(random(TOKEN_BYTES))


def nonce(random: Callable[[int], bytes]) -> str:
    """A new confirmation: 256 bits."""
    return _text(random(TOKEN_BYTES))


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def hashed(token: str) -> bytes:
    """What is stored of a token, and looked up."""
    return sha256(token.encode("utf-8")).digest()


def well_formed(token: str) -> bool:
    """Whether it can be a session token at all."""
    return token.startswith(SESSION_PREFIX) and token.isascii() and len(token) <= TOKEN_MAX_CHARS


def form_token(session: str, path: str) -> str:
    """The token of one form in one session: the path names the form and, where it has one, the proposal."""
    return hmac.new(session.encode("utf-8"), f"form\n{path}".encode(), sha256).hexdigest()


def form_token_holds(session: str, path: str, given: str) -> bool:
    """Whether the token belongs to this form in this session."""
    return hmac.compare_digest(form_token(session, path).encode(), given.encode("utf-8", "replace"))
