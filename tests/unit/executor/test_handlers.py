"""Each declared action is carried out by something, and by one statement wherever it can be."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from kit import actions
from services.executor import handlers
from services.executor.handlers.issue_hold_notices import letter, summary
from services.executor.handlers.mailing import HERE
from services.executor.handlers.statement import SqlHandler

TEXTS = {path.stem: path.read_text("utf-8") for path in (HERE / "texts").glob("*.txt")}


def notice(**changes: Any) -> Any:
    return {
        "message_id": "<1@firm.example>",
        "address": "jane@client.example",
        "template": "standard",
        "caption": "Doe v. Roe",
        "name": "Jane Roe",
        "trigger_event": "Suit {filed} {0}",
        "scope": "All mail",
        "effective_from": date(2026, 1, 1),
        **changes,
    }


def test_every_declared_action_has_a_handler_and_only_mail_needs_a_module() -> None:
    found = handlers.find(actions.load())
    assert list(found) == list(actions.load().by_name)
    assert [name for name, handler in found.items() if not isinstance(handler, SqlHandler)] == ["send_client_message", "issue_hold_notices"]


def test_every_text_that_an_action_may_name_is_there() -> None:
    assert set(TEXTS) == {"standard", "reminder"}


@pytest.mark.parametrize("template", sorted(TEXTS))
def test_a_notice_says_what_to_keep_and_braces_in_a_record_are_only_braces(template: str) -> None:
    made = letter(notice(template=template), TEXTS)
    assert "Doe v. Roe" in made.subject
    assert all(words in made.text for words in ("Jane Roe", "All mail", "2026-01-01", "Suit {filed} {0}"))
    assert "\n" not in made.subject


def test_a_caption_of_several_lines_makes_one_subject() -> None:
    assert letter(notice(caption="Doe\nBcc: x@y.example"), TEXTS).subject == "Legal hold: Doe"


def test_the_end_of_notices_names_those_that_did_not_go() -> None:
    rows: list[Any] = [{"status": "sent", "name": "A", "detail": None}, {"status": "failed", "name": "B", "detail": "it rained"}]
    assert summary(rows) == ("failed", "1 of 2 notices were sent. Not sent: B: it rained.")
    assert summary(rows[:1]) == ("done", "1 of 1 notices were sent.")
