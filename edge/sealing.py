"""Text that only we can make and read, for what a client has to carry for us between two requests."""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Callable, Sequence
from hashlib import sha256

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from kit.config import ConfigError

KEY_BYTES = 32
_NAME_BYTES, _NONCE_BYTES = 4, 12


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _bytes(text: str) -> bytes | None:
    """The bytes of a text, or None where it is not the one spelling of them."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if _text(data) == text else None


class Ring:
    """The keys: the first seals, each opens, so that a key can be replaced while what it sealed is still out."""

    def __init__(self, keys: Sequence[bytes], random: Callable[[int], bytes] = secrets.token_bytes) -> None:
        if not keys or any(len(key) != KEY_BYTES for key in keys):
            raise ConfigError(f"a key ring needs keys of {KEY_BYTES} bytes, and at least one")
        self._random = random
        self._keys = {sha256(key).digest()[:_NAME_BYTES]: AESGCM(key) for key in keys}

    @classmethod
    def read(cls, text: str) -> Ring:
        """Reads a ring: one key a line, in base64url without padding."""
        return cls([_bytes(line) or b"" for line in text.split()])

    def seal(self, plain: bytes, bound: bytes) -> str:
        """Seals what can be opened only where the same `bound` is given."""
        name, key = next(iter(self._keys.items()))
        nonce = self._random(_NONCE_BYTES)
        return _text(name + nonce + key.encrypt(nonce, plain, bound))

    def open(self, sealed: str, bound: bytes) -> bytes | None:
        """What was sealed; None where it was not sealed by us, for this, and as it is."""
        data = _bytes(sealed) if sealed.isascii() else None
        key = self._keys.get(data[:_NAME_BYTES]) if data is not None else None
        if data is None or key is None:
            return None
        try:
            return key.decrypt(data[_NAME_BYTES : _NAME_BYTES + _NONCE_BYTES], data[_NAME_BYTES + _NONCE_BYTES :], bound)
        except (InvalidTag, ValueError):
            return None
