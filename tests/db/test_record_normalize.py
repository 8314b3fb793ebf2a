"""The rule by which quotes are compared is written twice, in SQL and in Python, and both say the same of any text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit import db, typography
from tests.cluster import Database

PIECES = st.sampled_from([
    *"aAzZ09 .,;:'\"()§¶&/`´-–—−‘’“”éßﬁ½…１Ⅳİ", "\n", "\r\n", "\r", "\t", "\u00a0", "\u00ad", "\u2011", "\u2032", "\u2033", "\u02bc",
    "\u200b", "\u2060", "\ufeff", "\u2028", "\u2029", "\u0085", "\u1680", "e\u0301", "-\n", "-\r\n  ", "\u2010\n", "\u00ad\n",
    "creation-\nscience", "expe-\nrience", "12\n13 ", "\n 7 Q ", "\n25", "McLean", "word",
])  # fmt: skip
TEXTS = st.lists(PIECES, max_size=30).map("".join)
Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def ask(shared_database: Database) -> Iterator[Ask]:
    """Runs one query on a connection that stays open."""
    with asyncio.Runner() as runner:
        connection = runner.run(db.connect_one(shared_database.dsn("substrate_loader")))
        yield lambda query, *values: runner.run(connection.fetchval(query, *values))
        runner.run(connection.close())


thorough = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@thorough
@given(text=TEXTS)
def test_both_normalize_a_text_to_the_same_letters(ask: Ask, text: str) -> None:
    assert ask("SELECT record.normalize($1)", text) == typography.normalize(text)
    assert ask("SELECT record.normalize_hyphenated($1)", text) == typography.normalize_hyphenated(text)


@thorough
@given(before=TEXTS, quote=TEXTS, after=TEXTS, other=st.booleans())
def test_both_say_the_same_of_a_quote_and_a_page(ask: Ask, before: str, quote: str, after: str, other: bool) -> None:
    page = before + (after if other else quote + after)
    said = ask("SELECT record.stands_in($1, $2, record.normalize($2), false)", quote, page)
    assert said == typography.stands_in(quote, page)


@thorough
@given(words=st.text("ab1 .", max_size=4), whole=st.text("ab1 .", max_size=20))
def test_both_find_whole_words_and_only_whole_words(ask: Ask, words: str, whole: str) -> None:
    assert ask("SELECT record.occurs($1, $2)", words, whole) == typography.occurs(words, whole)
