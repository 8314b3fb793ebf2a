"""The rules of a decision, without any IO: what was asked and what is so, in; allowed or a named refusal, out."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from kit import limits
from services.approvals.card import Card
from services.approvals.passkeys import Answer
from services.approvals.proposal import Nonce, Person, Proposal

DECISIONS = ("approved", "declined", "sent_back")


class Status(StrEnum):
    """What became of one decision."""

    ALLOWED = "allowed"
    RECORDED = "recorded"
    ALREADY_RECORDED = "already_recorded"
    NOT_FOUND = "not_found"
    NOT_UNDECIDED = "not_undecided"
    CHANGED = "changed"
    REASON_REQUIRED = "reason_required"
    REASON_TOO_LONG = "reason_too_long"
    INDIVIDUAL_ONLY = "individual_only"
    CANNOT_BE_APPROVED = "cannot_be_approved"
    CONFIRMATION_REQUIRED = "confirmation_required"
    CONFIRMATION_INVALID = "confirmation_invalid"
    CONFIRMATIONS_EXHAUSTED = "confirmations_exhausted"
    STEP_UP_UNAVAILABLE = "step_up_unavailable"
    STEP_UP_REQUIRED = "step_up_required"
    STEP_UP_WRONG = "step_up_wrong"
    WAIT = "wait"
    UNAVAILABLE = "unavailable"


OK = frozenset({Status.RECORDED, Status.ALREADY_RECORDED})
MESSAGES = {
    Status.ALLOWED: "It may be decided.",
    Status.RECORDED: "Your decision is recorded.",
    Status.ALREADY_RECORDED: "This decision of yours was recorded before.",
    Status.NOT_FOUND: "There is no such proposal that waits for you.",
    Status.NOT_UNDECIDED: "This proposal no longer waits for a decision. Your decision was not recorded.",
    Status.CHANGED: "This proposal has changed since you opened it. Your decision was not recorded.",
    Status.REASON_REQUIRED: "Give a reason. The person or agent that proposed it reads it.",
    Status.REASON_TOO_LONG: f"Give a reason of at most {limits.DECISION_REASON_MAX_CHARS} characters.",
    Status.INDIVIDUAL_ONLY: "This proposal has to be decided by itself.",
    Status.CANNOT_BE_APPROVED: "This proposal cannot be approved. Decline it or send it back.",
    Status.CONFIRMATION_REQUIRED: "This proposal needs a second confirmation. Nothing was recorded yet.",
    Status.CONFIRMATION_INVALID: "The confirmation is over or was used. Nothing was recorded; open the proposal again.",
    Status.CONFIRMATIONS_EXHAUSTED: "Too many confirmations are open. Wait a few minutes.",
    Status.STEP_UP_UNAVAILABLE: "This decision needs a one-time code or a passkey, and you have neither. Ask whoever runs this system.",
    Status.STEP_UP_REQUIRED: "Enter the six digits of your one-time code, or use a passkey.",
    Status.STEP_UP_WRONG: "The one-time code is wrong, or was used before. Wait for the next one.",
    Status.WAIT: "Too many wrong codes. Wait a while.",
    Status.UNAVAILABLE: "The decision could not be taken in now. Nothing was recorded; try again shortly.",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to one decision."""

    status: Status
    message: str

    @classmethod
    def of(cls, status: Status, message: str | None = None) -> Verdict:
        """A verdict in its usual words, or in these."""
        return cls(status, message or MESSAGES[status])

    @property
    def ok(self) -> bool:
        """Whether the decision stands."""
        return self.status in OK


@dataclass(frozen=True, slots=True)
class Ask:
    """One decision as a person sends it, and how it came."""

    proposal_id: uuid.UUID
    decision: str
    reason: str | None
    args_digest: bytes
    shown_sha256: bytes
    view: str  # which rendering of the card was shown
    nonce_hash: bytes | None = None
    code: str | None = None
    passkey: Answer | None = None
    confirming: bool = True  # False while the person is only led to the confirmation
    always_confirm: bool = False  # a way in that asks for a confirmation whatever the action says
    in_batch: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What is so at this instant, read under the lock that ends a proposal once."""

    now: datetime
    person: Person
    row: Proposal | None
    card: Card | None
    shown_sha256: bytes | None
    nonce: Nonce | None
    passkeys: bool = False  # whether the person has any


def judge(ask: Ask, facts: Facts) -> Verdict:
    """The first rule that refuses, or allowed. The order matters: who may not see a proposal learns nothing else of it."""
    row, card = facts.row, facts.card
    if row is None or card is None or row.owner_id != facts.person.id or row.case_id not in facts.person.case_ids:
        return Verdict.of(Status.NOT_FOUND)
    if row.state != "undecided" or row.expires_at <= facts.now:
        return Verdict.of(Status.ALREADY_RECORDED if _same(ask, facts, row) else Status.NOT_UNDECIDED)
    if ask.args_digest != row.args_digest or ask.shown_sha256 != facts.shown_sha256:
        return Verdict.of(Status.CHANGED)
    for rule in (_reason, _approval, _confirmation, _step_up):
        refused = rule(ask, facts, row, card)
        if refused:
            return Verdict.of(refused)
    return Verdict.of(Status.ALLOWED)


def _same(ask: Ask, facts: Facts, row: Proposal) -> bool:
    """Whether this very decision stands already: a button pressed twice."""
    made = (row.decided_by, row.state, row.args_digest, row.nonce_hash, row.decision_reason)
    return made == (facts.person.id, ask.decision, ask.args_digest, ask.nonce_hash, ask.reason)


def _reason(ask: Ask, _facts: Facts, _row: Proposal, _card: Card) -> Status | None:
    if ask.decision != "approved" and not ask.reason:
        return Status.REASON_REQUIRED
    return Status.REASON_TOO_LONG if len(ask.reason or "") > limits.DECISION_REASON_MAX_CHARS else None


def _approval(ask: Ask, _facts: Facts, _row: Proposal, card: Card) -> Status | None:
    if ask.in_batch and not card.batch_eligible:
        return Status.INDIVIDUAL_ONLY
    return Status.CANNOT_BE_APPROVED if ask.decision == "approved" and card.obstacle else None


def _confirmation(ask: Ask, facts: Facts, row: Proposal, card: Card) -> Status | None:
    if not ask.confirming:
        return None
    if ask.nonce_hash is None:
        needed = ask.always_confirm or (ask.decision == "approved" and not card.batch_eligible)
        return Status.CONFIRMATION_REQUIRED if needed else None
    nonce = facts.nonce
    bound = nonce and (nonce.proposal_id, nonce.action, nonce.case_id, nonce.user_id, nonce.args_digest)
    if nonce is None or bound != (row.id, row.action, row.case_id, facts.person.id, row.args_digest):
        return Status.CONFIRMATION_INVALID
    return Status.CONFIRMATION_INVALID if nonce.used_at is not None or nonce.expires_at <= facts.now else None


def _step_up(ask: Ask, facts: Facts, _row: Proposal, card: Card) -> Status | None:
    if ask.decision != "approved" or not card.needs_step_up:
        return None
    if not facts.person.totp_enrolled and not facts.passkeys:
        return Status.STEP_UP_UNAVAILABLE
    return Status.STEP_UP_REQUIRED if ask.confirming and not (ask.code or ask.passkey) else None
