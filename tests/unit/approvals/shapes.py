"""Rows, people and facts for tests of the pure rules."""

from __future__ import annotations

import dataclasses
import uuid
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import orjson

from kit import actions
from services.approvals import card as cards
from services.approvals.gate import Ask, Facts
from services.approvals.proposal import Nonce, Person, Proposal

ACTIONS = actions.load()
NOW = datetime(2026, 8, 1, 12, 0, tzinfo=UTC)
CASE, ADA = uuid.UUID(int=1), uuid.UUID(int=2)
ROUTINE: dict[str, Any] = {"title": "Draft the answer"}
GATED: dict[str, Any] = {"title": "Answer due", "due_date": "2026-08-14"}


def row(action: str = "create_task", args: dict[str, Any] | None = None, **changes: Any) -> Proposal:
    """An undecided proposal as the store gives it."""
    declared = ACTIONS.by_name.get(action)
    tree = args or (GATED if action == "create_deadline" else ROUTINE)
    accepted = declared.accept(orjson.dumps(tree)) if declared else None
    raw = accepted.args if accepted else orjson.dumps(tree)
    fields: dict[str, Any] = dict.fromkeys(f.name for f in dataclasses.fields(Proposal))
    fields |= {
        "id": uuid.UUID(int=3),
        "key_id": uuid.UUID(int=4),
        "owner_id": ADA,
        "case_id": CASE,
        "action": action,
        "args": raw,
        "args_digest": sha256(raw).digest(),
        "what_will_happen": declared.sentence(accepted.values) if declared and accepted else "Something.",
        "reason": "Because.",
        "overrides_ignored": [],
        "filed_at": NOW - timedelta(hours=1),
        "expires_at": NOW + timedelta(days=1),
        "state": "undecided",
        "retry_requested": False,
    }
    return Proposal(**{**fields, **changes})


def person(**changes: Any) -> Person:
    """Somebody who may decide it."""
    return Person(
        **{"id": ADA, "name": "Ada", "email": "ada@firm.example", "case_ids": frozenset({CASE}), "totp_enrolled": True, **changes}
    )


def nonce(proposal: Proposal, **changes: Any) -> Nonce:
    """A confirmation that holds."""
    fields = {"proposal_id": proposal.id, "action": proposal.action, "case_id": CASE, "user_id": ADA, "args_digest": proposal.args_digest}
    return Nonce(**{**fields, "expires_at": NOW + timedelta(minutes=5), "used_at": None, **changes})


def facts(proposal: Proposal | None, **changes: Any) -> Facts:
    """What is so, with a confirmation that holds."""
    made = cards.make(proposal, ACTIONS, "Acme v. Widget", cards.Findings({})) if proposal else None
    fields = {"now": NOW, "person": person(), "row": proposal, "card": made, "shown_sha256": b"s" * 32}
    return Facts(**{**fields, "nonce": nonce(proposal) if proposal else None, **changes})


def ask(proposal: Proposal, **changes: Any) -> Ask:
    """An approval in which nothing is wrong."""
    fields: dict[str, Any] = {"proposal_id": proposal.id, "decision": "approved", "reason": None, "args_digest": proposal.args_digest}
    fields |= {"shown_sha256": b"s" * 32, "view": "page", "nonce_hash": b"n" * 32, "code": "123456"}
    return Ask(**{**fields, **changes})
