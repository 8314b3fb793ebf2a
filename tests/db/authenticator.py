"""A device that keeps passkeys, in software. It does what a browser and its authenticator do, and lies where a test tells it to."""

from __future__ import annotations

import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


def b64(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


@dataclass
class Device:
    """One passkey, and what the device says with it."""

    origin: str
    rp_id: str = "localhost"
    flags: int = PRESENT | VERIFIED
    count: int = 0
    counts: bool = True
    id: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def _client(self, kind: str, challenge: str, **changes: Any) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False, **changes}).encode()

    def _data(self, more: bytes = b"", flags: int = 0) -> bytes:
        return sha256(self.rp_id.encode()).digest() + bytes([self.flags | flags]) + self.count.to_bytes(4, "big") + more

    def make(self, options: str, **changes: Any) -> str:
        """What a browser answers to the options of a new passkey."""
        asked = json.loads(options)
        numbers = self.key.public_key().public_numbers()
        public = cbor2.dumps({1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")})
        data = self._data(bytes(16) + len(self.id).to_bytes(2, "big") + self.id + public, ATTESTED)
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client("webauthn.create", asked["challenge"], **changes)
        return self._credential({"clientDataJSON": b64(client), "attestationObject": b64(attestation)})

    def show(self, options: str, **changes: Any) -> str:
        """What a browser answers to the options of a decision."""
        self.count += self.counts
        client, data = self._client("webauthn.get", json.loads(options)["challenge"], **changes), self._data()
        signature = self.key.sign(data + sha256(client).digest(), ec.ECDSA(SHA256()))
        return self._credential({"clientDataJSON": b64(client), "authenticatorData": b64(data), "signature": b64(signature)})

    def _credential(self, response: dict[str, Any]) -> str:
        made = {"id": b64(self.id), "rawId": b64(self.id), "type": "public-key", "response": response, "clientExtensionResults": {}}
        return json.dumps(made)


def challenge_of(options: str) -> bytes:
    """The bytes of a challenge."""
    text = json.loads(options)["challenge"]
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
