"""A stored proposal, as this room reads it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

FINAL = ("approved", "declined", "sent_back", "withdrawn", "superseded", "expired")


@dataclass(frozen=True, slots=True)
class Proposal:
    """One row, with what became of it."""

    id: uuid.UUID
    key_id: uuid.UUID
    owner_id: uuid.UUID
    case_id: uuid.UUID
    action: str
    args: bytes
    args_digest: bytes
    what_will_happen: str
    reason: str
    overrides_ignored: list[str]
    filed_at: datetime
    expires_at: datetime
    state: str
    superseded_by: uuid.UUID | None
    decided_by: uuid.UUID | None
    decided_at: datetime | None
    decision_reason: str | None
    nonce_hash: bytes | None
    step_up: str | None
    execution: str | None
    attempts: int | None
    detail: str | None
    finished_at: datetime | None
    retry_requested: bool

    @property
    def may_be_retried(self) -> bool:
        """Whether a person may ask for it to be tried again."""
        return self.execution == "failed" and not self.retry_requested


@dataclass(frozen=True, slots=True)
class Nonce:
    """What a confirmation was minted for."""

    proposal_id: uuid.UUID
    action: str
    case_id: uuid.UUID
    user_id: uuid.UUID
    args_digest: bytes
    expires_at: datetime
    used_at: datetime | None


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who signed in, and the matters they may act in at this moment."""

    id: uuid.UUID
    name: str
    email: str
    case_ids: frozenset[uuid.UUID]
    totp_enrolled: bool
