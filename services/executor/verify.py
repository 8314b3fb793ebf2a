"""Whether a person made a stored decision, about exactly these arguments. Trusts the signature and the digest, never the row."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from kit import decisions
from kit.actions import ALWAYS, Action, Actions
from kit.db import Record
from kit.errors import Refusal

UNSIGNED = "The decision does not bear the signature of the approvals program, so nothing was done."
CHANGED = "The arguments are not the ones that were decided on, so nothing was done."
UNDECLARED = "This installation does not know the action, so nothing was done."
UNFIT = "The arguments are not what the action takes, so nothing was done."
UNCONFIRMED = "The action needs a second confirmation and the decision carries none, so nothing was done."
NOT_SHOWN_AGAIN = "Who approves this action has to show again who they are; the decision does not say that they did, so nothing was done."


class Unsound(Exception):
    """A decision that is not carried out; the text says why, to a person."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be carried out, once everything about it was checked."""

    proposal_id: uuid.UUID
    case_id: uuid.UUID
    action: Action
    values: Mapping[str, Any]
    args_digest: bytes
    decided_by: uuid.UUID
    decided_at: datetime


def signed(row: Record) -> decisions.Decision:
    """The decision as approvals signed it."""
    return decisions.Decision(
        proposal_id=str(row["id"]),
        case_id=str(row["case_id"]),
        action=row["action"],
        args_digest=row["args_digest"],
        decision=row["decision"],
        decided_by=str(row["decided_by"]),
        decided_at=row["decided_at"],
        reason=row["reason"],
        shown_sha256=row["shown_sha256"],
        nonce_hash=row["nonce_hash"],
        step_up=row["step_up"],
    )


def order(row: Record, known: Actions, key: Ed25519PublicKey) -> Order:
    """The order that a stored decision gives, or why it gives none."""
    if row["decision"] != "approved" or not decisions.verify(key, signed(row), row["signature"]):
        raise Unsound(UNSIGNED)
    if sha256(row["args"]).digest() != row["args_digest"]:
        raise Unsound(CHANGED)
    action = known.by_name.get(row["action"])
    if action is None:
        raise Unsound(UNDECLARED)
    try:
        values = action.read(row["args"])
    except (Refusal, ValueError):
        raise Unsound(UNFIT) from None
    if action.confirm_required and row["nonce_hash"] is None:
        raise Unsound(UNCONFIRMED)
    if action.floor == ALWAYS and not row["step_up"]:
        raise Unsound(NOT_SHOWN_AGAIN)
    return Order(row["id"], row["case_id"], action, values, row["args_digest"], row["decided_by"], row["decided_at"])
