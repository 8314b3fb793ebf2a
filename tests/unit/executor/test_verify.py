"""A decision is carried out only as it was signed: each field that was signed, changed by itself, makes it void."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kit import actions, decisions
from services.executor import verify

KEY = Ed25519PrivateKey.generate()
KNOWN = actions.load()
CHANGES: dict[str, Any] = {
    "id": uuid.uuid4(),
    "args_digest": bytes(32),
    "decision": "declined",
    "decided_by": uuid.uuid4(),
    "decided_at": datetime(2026, 12, 1, tzinfo=UTC) + timedelta(microseconds=1),
    "reason": "Because.",
    "shown_sha256": bytes(31) + b"x",
    "nonce_hash": bytes(31) + b"x",
    "step_up": "webauthn",
    "signature": bytes(64),
}


@dataclass
class Row:
    """A stored decision."""

    values: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


def row(action: str = "create_deadline", args: bytes = b'{"due_date":"2027-08-14","title":"Answer due"}', **changes: Any) -> Any:
    values: dict[str, Any] = {
        "id": uuid.uuid4(),
        "case_id": uuid.uuid4(),
        "action": action,
        "args": args,
        "args_digest": sha256(args).digest(),
        "decision": "approved",
        "decided_by": uuid.uuid4(),
        "decided_at": datetime(2026, 12, 1, tzinfo=UTC),
        "reason": None,
        "shown_sha256": bytes(32),
        "nonce_hash": bytes(32),
        "step_up": "totp",
        **changes,
    }
    made = Row(values)
    signed: Any = made
    values["signature"] = decisions.sign(KEY, verify.signed(signed))
    return made


def why(stored: Any) -> str:
    with pytest.raises(verify.Unsound) as caught:
        verify.order(stored, KNOWN, KEY.public_key())
    return str(caught.value)


def test_a_signed_decision_gives_the_order_that_was_decided() -> None:
    stored = row()
    order = verify.order(stored, KNOWN, KEY.public_key())
    assert (order.action.name, dict(order.values)) == ("create_deadline", {"title": "Answer due", "due_date": "2027-08-14"})
    assert (order.proposal_id, order.decided_by) == (stored["id"], stored["decided_by"])


@pytest.mark.parametrize("name", list(CHANGES))
def test_a_field_changed_after_it_was_signed_voids_the_decision(name: str) -> None:
    stored = row()
    stored.values[name] = CHANGES[name]
    assert why(stored) == verify.UNSIGNED


def test_other_arguments_under_the_same_digest_are_found() -> None:
    stored = row()
    stored.values["args"] = b'{"due_date":"2031-08-14","title":"Answer due"}'
    assert why(stored) == verify.CHANGED


@pytest.mark.parametrize(
    "args",
    [
        b'{"title":"Answer due","due_date":"2027-08-14"}',
        b'{"due_date":"2027-08-14","title":"Answer due" }',
        b'{"due_date":"2027-02-30","title":"Answer due"}',
        b'{"due_date":"2027-08-14","force":true,"title":"Answer due"}',
        b'{"due_date":"2027-08-14"}',
        b"[]",
        b"\xff",
    ],
)
def test_arguments_that_are_not_exactly_what_the_declaration_takes_are_refused_even_when_signed(args: bytes) -> None:
    assert why(row(args=args)) == verify.UNFIT


def test_an_action_that_is_not_declared_is_refused() -> None:
    assert why(row(action="move_trust_funds")) == verify.UNDECLARED


@pytest.mark.parametrize(("name", "sentence"), [("nonce_hash", verify.UNCONFIRMED), ("step_up", verify.NOT_SHOWN_AGAIN)])
def test_what_an_action_asks_of_who_approves_it_must_be_signed_too(name: str, sentence: str) -> None:
    missing: dict[str, Any] = {name: None}
    assert why(row(**missing)) == sentence


def test_a_routine_action_asks_for_neither() -> None:
    stored = row("create_task", orjson.dumps({"title": "x"}), nonce_hash=None, step_up=None)
    assert verify.order(stored, KNOWN, KEY.public_key()).action.name == "create_task"
