"""How a credential for a model provider is sealed by the operator's command and opened by reads; auth, which keeps it, can do neither."""

from __future__ import annotations

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE_BYTES = 12
KEY_BYTES = 32


class Unsealable(Exception):
    """The bytes were not sealed with this key for this holder."""


def _bound(kind: str, owner_id: str) -> bytes:
    """What a sealed credential is bound to: a row that was moved to somebody else does not open."""
    return f"substrate/inference/1:anthropic:{kind}:{owner_id}".encode("ascii")


def seal(key: bytes, kind: str, owner_id: str, credential: str, nonce: bytes) -> bytes:
    """Seals a credential for its holder; the owner is empty but for a personal one."""
    return nonce + AESGCM(key).encrypt(nonce, credential.encode("utf-8"), _bound(kind, owner_id))


def unseal(key: bytes, kind: str, owner_id: str, sealed: bytes) -> str:
    """Opens a sealed credential of this holder."""
    try:
        return AESGCM(key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], _bound(kind, owner_id)).decode("utf-8")
    except (InvalidTag, ValueError) as error:
        raise Unsealable from error


def read_key(text: str) -> bytes:
    """The key as its file holds it: 64 hexadecimal digits."""
    if len(text) != KEY_BYTES * 2 or set(text) - set("0123456789abcdef"):
        raise ValueError(f"the key of the sealed credentials must be {KEY_BYTES * 2} hexadecimal digits")
    return bytes.fromhex(text)
