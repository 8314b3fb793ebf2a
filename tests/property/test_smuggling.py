"""Names that try to change how a proposal is handled, in every spelling, at every depth: none is stored, each is said."""

from __future__ import annotations

import random
from typing import Any

import orjson
import pytest

from kit import actions, smuggling
from kit.errors import Refusal

NAMES = ("override", "force", "case_id", "confirmation_token", "nonce")
CYRILLIC = str.maketrans("aceopxyi", "асеорхуі")
GOOD: dict[str, Any] = {"title": "Answer due", "due_date": "2026-08-14"}
INPUTS = 20_000


def wide(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


SPELLINGS = (
    str,
    str.upper,
    str.title,
    wide,
    lambda n: n.replace("_", "-"),
    lambda n: n.replace("_", ""),
    lambda n: n.replace("_", "."),
    "\u200b".join,
    lambda n: n[0] + "\u00ad" + n[1:],
    lambda n: n + "\u202e",
    lambda n: " " + n + " ",
    lambda n: n.translate(CYRILLIC),
    lambda n: n[:2] + "\u0301" + n[2:],
    lambda n: "".join(w.title() for w in n.split("_")),
    lambda n: n.replace("o", "\u03bf"),
    lambda n: f"__{n}__",
)


def planted(rng: random.Random, name: str, depth: int) -> dict[str, Any]:
    """Good arguments with a name planted at a depth, in objects and arrays."""
    value: Any = {name: rng.choice([True, 1, "yes", None, {"a": 1}])}
    for _ in range(depth):
        value = {"x": value} if rng.random() < 0.5 else {"sources": [value]}
    return {**GOOD, **value}


def test_in_twenty_thousand_inputs_no_forbidden_name_is_stored_and_each_is_surfaced() -> None:
    rng, action, stored, silent = random.Random(5), actions.load().by_name["create_deadline"], 0, 0
    for _ in range(INPUTS):
        name = rng.choice(SPELLINGS)(rng.choice(NAMES))
        tree = planted(rng, name, rng.randint(0, 12))
        try:
            taken = action.accept(orjson.dumps(tree))
        except Refusal as refusal:
            silent += not refusal.fields
            continue
        stored += set(orjson.loads(taken.args)) != set(GOOD)
        silent += not taken.overrides_ignored
    assert (stored, silent) == (0, 0)


@pytest.mark.parametrize("spell", SPELLINGS)
@pytest.mark.parametrize("name", NAMES)
def test_every_spelling_is_recognized_and_shown_on_the_card_rather_than_only_refused(name: str, spell: Any) -> None:
    assert smuggling.forbidden(spell(name))


@pytest.mark.parametrize("name", ["title", "due_date", "reason", "responsible", "overriding_royalty", "forces", "case", "announced"])
def test_an_honest_name_is_not_taken_for_one(name: str) -> None:
    assert not smuggling.forbidden(name)


@pytest.mark.parametrize("text", ['{"force": true}', "see {'override': 1}", '{"\\u006eonce": "x"}', '[{"case_id" : 1}]'])
def test_json_in_a_text_that_names_one_is_refused_by_field(text: str) -> None:
    with pytest.raises(Refusal, match="title"):
        actions.load().by_name["create_deadline"].accept(orjson.dumps({**GOOD, "title": text}))


def test_ordinary_words_in_a_text_are_left_alone() -> None:
    text = 'Counsel said: "we will not force the issue": see Tr. 12.'
    assert actions.load().by_name["add_note"].accept(orjson.dumps({"text": text})).values == {"text": text}
