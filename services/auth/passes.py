"""Passes: what lets a worker make one call for a key that nobody presents. Made and read here alone; a pass is a name, not a permission."""

from __future__ import annotations

import base64
import binascii
import hmac
import uuid
from hashlib import sha256

from kit import limits
from kit.credentials import PASS_PREFIX

_KEY, _BOUND, _UNTIL = 16, 32, 4


class Passes:
    """Seals and opens passes under a secret that only auth has."""

    def __init__(self, pepper: bytes) -> None:
        self._secret = hmac.digest(pepper, b"passes of workers", sha256)

    def give(self, key_id: str, method: str, request_sha256: bytes, now: float) -> str:
        """A pass for one call."""
        until = int(now + limits.WORKER_PASS_SECONDS).to_bytes(_UNTIL, "big")
        body = uuid.UUID(key_id).bytes + _bound(method, request_sha256) + until
        return PASS_PREFIX + base64.urlsafe_b64encode(body + self._sealed(body)).decode("ascii")

    def key_id(self, text: str, method: str, request_sha256: bytes, now: float) -> uuid.UUID | None:
        """The key that a pass stands for; None where it is not ours, is over, or was given for another call."""
        try:
            raw = base64.b64decode(text.removeprefix(PASS_PREFIX).encode("ascii"), altchars=b"-_", validate=True)
        except (ValueError, binascii.Error):
            return None
        size = _KEY + _BOUND + _UNTIL
        body, seal = raw[:size], raw[size:]
        if not hmac.compare_digest(self._sealed(body), seal) or len(body) != size:
            return None
        bound, until = body[_KEY : _KEY + _BOUND], int.from_bytes(body[_KEY + _BOUND :], "big")
        if not hmac.compare_digest(bound, _bound(method, request_sha256)) or until < now:
            return None
        return uuid.UUID(bytes=body[:_KEY])

    def _sealed(self, body: bytes) -> bytes:
        return hmac.digest(self._secret, body, sha256)


def _bound(method: str, request_sha256: bytes) -> bytes:
    return sha256(method.encode("utf-8") + b"\n" + request_sha256).digest()
