"""What a card shows, and what makes it one that can only be declined."""

from __future__ import annotations

import dataclasses
import uuid
from hashlib import sha256
from typing import Any

import pytest

from kit.actions import ALWAYS, Actions
from services.approvals import card as cards
from services.approvals.batch import distinct, grouped, refused_before
from services.approvals.gate import Status
from services.approvals.proposal import Proposal
from services.approvals.render import JSON, PAGE, ROW, Renderer
from tests.unit.approvals.shapes import ACTIONS, GATED, row

RENDERER = Renderer()
ENTRY = str(uuid.UUID(int=9))


def made(proposal: Proposal, actions: Actions = ACTIONS, **words: str) -> cards.Card:
    return cards.make(proposal, actions, "Acme v. Widget", cards.Findings(words))


def test_every_argument_is_shown_by_name_and_value() -> None:
    proposal = row("create_deadline", {**GATED, "source_entry_id": ENTRY, "rule_id": "FRCP 12"})
    shown = {a.name: (a.values, a.quoted) for a in made(proposal).arguments}
    assert shown == {
        "title": (("Answer due",), True),
        "due_date": (("2026-08-14",), False),
        "source_entry_id": ((ENTRY,), False),
        "rule_id": (("FRCP 12",), True),
    }


def test_rows_that_arguments_name_stand_in_words_or_as_not_found() -> None:
    proposal = row("create_deadline", {**GATED, "source_entry_id": ENTRY})
    assert made(proposal).rests_on == (cards.Source("source_entry_id", ENTRY, None),)
    card = cards.make(proposal, ACTIONS, None, cards.Findings({ENTRY: "docket entry 7"}))
    assert card.rests_on[0].words == "docket entry 7"
    assert "docket entry 7" in RENDERER.shown(PAGE, card)[0].decode()
    assert "not found" in RENDERER.shown(PAGE, made(proposal))[0].decode()


@pytest.mark.parametrize("name", sorted(ACTIONS.by_name))
def test_the_card_repeats_what_the_declaration_says(name: str) -> None:
    action = ACTIONS.by_name[name]
    card = made(dataclasses.replace(row(), action=name))
    assert card.noun == action.noun
    assert card.floor == action.floor
    assert set(action.individual_reasons()) <= set(card.individual_reasons)


@pytest.mark.parametrize(
    ("change", "obstacle"),
    [
        ({"action": "sell_the_firm"}, cards.UNDECLARED),
        ({"args_digest": b"x" * 32}, cards.UNSOUND),
        ({"args": b'{"title":"x","force":true}'}, cards.UNSOUND),
        ({"args": b'{ "title":"x"}'}, cards.UNSOUND),
        ({"args": b"not json"}, cards.UNSOUND),
        ({"args": b"[]"}, cards.UNSOUND),
        ({"what_will_happen": "Something harmless."}, cards.REWORDED),
    ],
)
def test_what_is_not_certain_is_shown_and_cannot_be_approved_or_selected(change: dict[str, Any], obstacle: str) -> None:
    if "args" in change:
        change = {**change, "args_digest": sha256(change["args"]).digest()}
    card = made(dataclasses.replace(row(), **change))
    assert card.obstacle == obstacle
    assert not card.batch_eligible
    assert obstacle in RENDERER.shown(ROW, card)[0].decode().replace("&#39;", "'")


def test_an_action_that_is_not_declared_is_treated_as_the_strictest() -> None:
    assert made(row("sell_the_firm", {"price": 1})).floor == ALWAYS


@pytest.mark.parametrize(
    "change",
    [{"floor": ALWAYS}, {"effect": None}, {"effect": "filing"}, {"confirm": True}, {"conflict": True}],
)
def test_each_of_the_five_rules_keeps_a_proposal_out_of_a_batch(change: dict[str, Any]) -> None:
    assert made(row()).batch_eligible
    live = Actions({**ACTIONS.by_name, "create_task": dataclasses.replace(ACTIONS.by_name["create_task"], **change)})
    card = made(row(), live)
    assert not card.batch_eligible
    assert len(card.individual_reasons) == (2 if card.obstacle else 1)
    assert card.individual_reasons[0] in RENDERER.shown(ROW, card)[0].decode()


def test_what_needs_a_check_that_nobody_makes_cannot_be_approved() -> None:
    live = Actions({**ACTIONS.by_name, "create_task": dataclasses.replace(ACTIONS.by_name["create_task"], conflict=True)})
    assert made(row(), live).obstacle == cards.UNCHECKED


@pytest.mark.parametrize("view", [PAGE, ROW, JSON])
def test_the_same_card_is_the_same_bytes_and_another_card_others(view: str) -> None:
    first, digest = RENDERER.shown(view, made(row()))
    assert (first, digest) == RENDERER.shown(view, made(row()))
    assert digest == sha256(first).digest()
    for change in ({"what_will_happen": "Else."}, {"overrides_ignored": ["force"]}):
        assert RENDERER.shown(view, made(dataclasses.replace(row(), **change)))[1] != digest


def test_what_the_agent_says_comes_last_and_is_marked() -> None:
    text = RENDERER.shown(PAGE, made(row(overrides_ignored=["force"], reason="**Trust** me\u200b")))[0].decode()
    order = ["Add the task", "What will change", "What it rests on", "tried to override", "Reason given by the agent"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert "Written by the agent and not checked." in text
    assert "**Trust** me⟨U+200B⟩" in text


def test_groups_stand_in_the_order_in_which_they_lapse() -> None:
    other = uuid.UUID(int=8)
    rows = [row(), row(case_id=other), row(case_id=other)]
    days = [2, 3, 1]
    made_cards = [
        dataclasses.replace(made(r), id=str(n), expires_at=f"2026-08-0{d}T00:00:00+00:00")
        for n, (r, d) in enumerate(zip(rows, days, strict=True))
    ]
    assert [[c.id for c in g.cards] for g in grouped(made_cards)] == [["2", "1"], ["0"]]


def test_selected_ids_count_once_and_are_bounded() -> None:
    one, many = uuid.uuid4(), [uuid.uuid4() for _ in range(25)]
    assert distinct([one, one]) == [one]
    assert distinct(many) == many
    assert distinct([*many, one]) is None


def test_an_id_that_is_not_in_the_set_or_kept_out_by_its_declaration_is_not_tried() -> None:
    routine, gated = made(row()), made(row("create_deadline"))
    one = uuid.uuid4()
    assert refused_before(one, {one: routine}) is None
    gated_verdict, absent = refused_before(one, {one: gated}), refused_before(one, {})
    assert gated_verdict is not None
    assert gated_verdict.status is Status.INDIVIDUAL_ONLY
    assert absent is not None
    assert absent.status is Status.NOT_FOUND
