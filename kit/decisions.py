"""A person's decision as something that can be checked without trusting the row it is stored in: approvals signs, the executor verifies."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from kit.canonical import canonical

CONTEXT = "substrate/decision/1"


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided about which bytes, seeing which card."""

    proposal_id: str
    # The matter and the action are signed with the arguments: the same arguments elsewhere would be another act.
    case_id: str
    action: str
    args_digest: bytes
    decision: str
    decided_by: str
    decided_at: datetime
    reason: str | None
    shown_sha256: bytes
    nonce_hash: bytes | None
    step_up: str | None

    def statement(self) -> bytes:
        """The bytes that are signed: every field, under a name that says what they are."""
        fields: dict[str, Any] = {
            "context": CONTEXT,
            "proposal_id": self.proposal_id,
            "case_id": self.case_id,
            "action": self.action,
            "args_digest": self.args_digest.hex(),
            "decision": self.decision,
            "decided_by": self.decided_by,
            "decided_at_us": round(self.decided_at.timestamp() * 1_000_000),
            "reason": self.reason,
            "shown_sha256": self.shown_sha256.hex(),
            "nonce_hash": None if self.nonce_hash is None else self.nonce_hash.hex(),
            "step_up": self.step_up,
        }
        return canonical(fields)


def sign(key: Ed25519PrivateKey, decision: Decision) -> bytes:
    """The signature of a decision."""
    return key.sign(decision.statement())


def verify(key: Ed25519PublicKey, decision: Decision, signature: bytes) -> bool:
    """Whether approvals made this decision, exactly as it stands."""
    try:
        key.verify(signature, decision.statement())
    except InvalidSignature:
        return False
    return True


def private_key(text: str) -> Ed25519PrivateKey:
    """The signing key from its 64 hexadecimal digits."""
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(text))


def public_key(text: str) -> Ed25519PublicKey:
    """The verifying key from its 64 hexadecimal digits."""
    return Ed25519PublicKey.from_public_bytes(bytes.fromhex(text))
