"""Time-based one-time passwords (RFC 6238, SHA-1, 30 seconds, six digits), without IO."""

from __future__ import annotations

import base64
import hmac
from datetime import datetime
from hashlib import sha1
from urllib.parse import quote

from kit import limits

SECRET_BYTES = 20
DIGITS = 6


def step(at: datetime) -> int:
    """The time step that an instant lies in."""
    return int(at.timestamp()) // limits.TOTP_STEP_SECONDS


def code(secret: bytes, at_step: int) -> str:
    """The code of a time step (RFC 4226 §5.3)."""
    mac = hmac.digest(secret, at_step.to_bytes(8, "big"), sha1)
    offset = mac[-1] & 0x0F
    number = int.from_bytes(mac[offset : offset + 4], "big") & 0x7FFFFFFF
    return f"{number % 10**DIGITS:0{DIGITS}d}"


def matching(secret: bytes, typed: str, at: datetime) -> int | None:
    """The step whose code was typed, within one step of now; every candidate is compared, so that the time taken says nothing."""
    now, found = step(at), None
    for around in range(-limits.TOTP_STEPS_AROUND, limits.TOTP_STEPS_AROUND + 1):
        if hmac.compare_digest(code(secret, now + around), typed):
            found = now + around
    return found


def base32(secret: bytes) -> str:
    """The secret as authenticator apps take it."""
    return base64.b32encode(secret).decode("ascii").rstrip("=")


def uri(secret: bytes, email: str) -> str:
    """The otpauth address that an app reads from a picture."""
    return f"otpauth://totp/substrate:{quote(email)}?secret={base32(secret)}&issuer=substrate"
