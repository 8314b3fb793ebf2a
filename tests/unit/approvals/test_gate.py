"""The rules of a decision: each refuses by itself, in an order that tells nobody more than they may know."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest

from services.approvals.gate import MESSAGES, Ask, Facts, Status, judge
from tests.unit.approvals.shapes import ADA, CASE, NOW, ask, facts, nonce, person, row

GATED = row("create_deadline")
ROUTINE = row()


def status(asked: Ask, so: Facts) -> Status:
    return judge(asked, so).status


def test_where_nothing_is_wrong_it_is_allowed() -> None:
    assert status(ask(GATED), facts(GATED)) is Status.ALLOWED
    assert status(ask(ROUTINE, nonce_hash=None, code=None), facts(ROUTINE, nonce=None)) is Status.ALLOWED


@pytest.mark.parametrize(
    "so",
    [
        facts(None),
        facts(GATED, person=person(id=uuid.uuid4())),
        facts(GATED, person=person(case_ids=frozenset())),
        facts(GATED, person=person(case_ids=frozenset({uuid.uuid4()}))),
    ],
)
def test_who_may_not_see_it_learns_that_there_is_nothing(so: Facts) -> None:
    assert status(ask(GATED, args_digest=b"", decision="declined"), so) is Status.NOT_FOUND


@pytest.mark.parametrize("state", ["approved", "declined", "sent_back", "withdrawn", "superseded", "expired"])
def test_what_has_ended_is_not_decided_again(state: str) -> None:
    ended = row("create_deadline", state=state, decided_by=uuid.uuid4())
    assert status(ask(ended), facts(ended)) is Status.NOT_UNDECIDED


def test_what_lapses_at_this_instant_is_not_decided() -> None:
    over = row(expires_at=NOW)
    assert status(ask(over), facts(over)) is Status.NOT_UNDECIDED


def test_the_same_decision_again_is_told_from_another() -> None:
    made = row("create_deadline", state="approved", decided_by=ADA, nonce_hash=b"n" * 32)
    assert status(ask(made), facts(made)) is Status.ALREADY_RECORDED
    for other in ({"decision": "declined", "reason": "No."}, {"nonce_hash": b"m" * 32}, {"nonce_hash": None}, {"args_digest": b"x"}):
        assert status(ask(made, **other), facts(made)) is Status.NOT_UNDECIDED


@pytest.mark.parametrize("stale", [{"args_digest": b"x" * 32}, {"args_digest": b""}, {"shown_sha256": b"x" * 32}, {"shown_sha256": b""}])
def test_what_is_not_what_was_shown_is_refused(stale: dict[str, bytes]) -> None:
    assert status(ask(GATED, **stale), facts(GATED)) is Status.CHANGED


@pytest.mark.parametrize("decision", ["declined", "sent_back"])
def test_declining_and_sending_back_need_a_reason_of_some_length(decision: str) -> None:
    for reason, expected in ((None, Status.REASON_REQUIRED), ("x" * 4001, Status.REASON_TOO_LONG), ("x" * 4000, Status.ALLOWED)):
        assert status(ask(GATED, decision=decision, reason=reason), facts(GATED)) is expected


@pytest.mark.parametrize(
    "wrong",
    [
        {"proposal_id": uuid.uuid4()},
        {"action": "add_note"},
        {"case_id": uuid.uuid4()},
        {"user_id": uuid.uuid4()},
        {"args_digest": b"x" * 32},
        {"expires_at": NOW},
        {"expires_at": NOW - timedelta(seconds=1)},
        {"used_at": NOW},
    ],
)
def test_a_confirmation_holds_for_exactly_what_it_was_minted_for(wrong: dict[str, Any]) -> None:
    for proposal in (GATED, ROUTINE):
        assert status(ask(proposal), facts(proposal, nonce=nonce(proposal, **wrong))) is Status.CONFIRMATION_INVALID


def test_a_confirmation_that_nobody_minted_is_refused_even_where_none_is_needed() -> None:
    assert status(ask(ROUTINE), facts(ROUTINE, nonce=None)) is Status.CONFIRMATION_INVALID


def test_what_is_decided_by_itself_needs_a_confirmation_and_declining_it_does_not() -> None:
    assert status(ask(GATED, nonce_hash=None), facts(GATED)) is Status.CONFIRMATION_REQUIRED
    assert status(ask(GATED, nonce_hash=None, decision="declined", reason="No."), facts(GATED)) is Status.ALLOWED
    assert status(ask(ROUTINE, nonce_hash=None, always_confirm=True), facts(ROUTINE)) is Status.CONFIRMATION_REQUIRED


def test_in_a_batch_nothing_makes_an_individual_proposal_pass() -> None:
    assert status(ask(GATED, in_batch=True), facts(GATED)) is Status.INDIVIDUAL_ONLY
    assert status(ask(ROUTINE, in_batch=True), facts(ROUTINE)) is Status.ALLOWED


@pytest.mark.parametrize(
    "broken", [row("sell_the_firm", {"price": 1}), row(what_will_happen="Something harmless."), row(args_digest=b"x" * 32)]
)
def test_what_its_declaration_does_not_cover_can_be_declined_but_not_approved(broken: Any) -> None:
    assert status(ask(broken), facts(broken)) is Status.CANNOT_BE_APPROVED
    assert status(ask(broken, decision="declined", reason="No."), facts(broken)) is Status.ALLOWED


def test_an_always_confirm_action_asks_for_a_code_last() -> None:
    assert status(ask(GATED, code=None), facts(GATED)) is Status.STEP_UP_REQUIRED
    assert status(ask(GATED, code=""), facts(GATED)) is Status.STEP_UP_REQUIRED
    assert status(ask(GATED), facts(GATED, person=person(totp_enrolled=False))) is Status.STEP_UP_UNAVAILABLE
    assert status(ask(GATED, code=None), facts(GATED, nonce=None)) is Status.CONFIRMATION_INVALID
    assert status(ask(ROUTINE, code=None), facts(ROUTINE)) is Status.ALLOWED


def test_on_the_way_to_the_confirmation_neither_it_nor_the_code_is_asked_for() -> None:
    assert status(ask(GATED, confirming=False, nonce_hash=None, code=None), facts(GATED, nonce=None)) is Status.ALLOWED


def test_every_status_has_its_words() -> None:
    assert set(MESSAGES) == set(Status)
    assert CASE in person().case_ids
