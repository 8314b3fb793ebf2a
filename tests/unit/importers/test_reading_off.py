"""What is read off a page: the words that offer an exhibit, and the words that set a deadline."""

from datetime import date

import pytest

from ops.importers.mclean import find_offer, in_words
from ops.importers.pages import ImportFailure
from ops.importers.rows import Rows, Source
from ops.importers.soilworks import setting_words


@pytest.mark.parametrize(
    ("text", "first", "last", "words"),
    [
        ("marked as Exhibit Ninety-Four for identification", 94, 94, "Exhibit Ninety-Four"),
        ("admission of Plaintiffs' Exhibit\nNumber 40, which", 40, 40, "Exhibit Number 40"),
        ("Plaintiffs' Exhibits 41 through 50.", 41, 50, "Exhibits 41 through 50"),
        ("Plaintiffs' Exhibit 36, 37, 38 and 39.", 36, 39, "Exhibit 36, 37, 38 and 39"),
        ("we would offer Number 24 and Number 25.", 25, 25, "Number 25"),
        ("Exhibit 128 is received", 12, 12, None),
        ("a plaintiffs' exhibit. THE COURT: It will be received.", 121, 121, None),
    ],
)
def test_the_words_that_name_an_exhibit_are_found_or_not(text: str, first: int, last: int, words: str | None) -> None:
    assert find_offer(text, first, last) == words


def test_numbers_are_spelled_as_a_reporter_spells_them() -> None:
    assert [in_words(n) for n in (7, 15, 40, 86, 94)] == ["seven", "fifteen", "forty", "eighty-six", "ninety-four"]


@pytest.mark.parametrize(
    ("text", "day", "words"),
    [
        ("ORDER: Discovery due by 1/11/2008. Motions due by 5/9/2008. Signed by", date(2008, 5, 9), "Motions due by 5/9/2008."),
        ("ORDER re additional briefing due 1/9/2009. Signed by Judge", date(2009, 1, 9), "ORDER re additional briefing due 1/9/2009."),
        (
            "ORDERED continuing to February 27, 2008 at 2:00 p.m.",
            date(2008, 2, 27),
            "ORDERED continuing to February 27, 2008 at 2:00 p.m.",
        ),
        ("ORDER without a day", date(2008, 2, 27), None),
    ],
)
def test_the_clause_that_sets_a_deadline_is_found_verbatim_or_not_at_all(text: str, day: date, words: str | None) -> None:
    found = setting_words(text, day)
    assert found == words
    assert found is None or found in text


def test_the_same_thing_has_the_same_id_whenever_it_is_loaded() -> None:
    first, second = Rows("mclean", "a"), Rows("mclean", "b")
    assert first.case_id == second.case_id
    assert first.id("parties", 1, "x") == second.id("parties", 1, "x")
    assert first.id("parties", 1, "x") != first.id("parties", 2, "x")
    assert first.case_id != Rows("mata", "a").case_id


def test_two_rows_that_are_the_same_thing_are_refused_by_name() -> None:
    rows = Rows("mclean", "a")
    rows.add("parties", ("x",), "x", Source(), {"name": "x"})
    with pytest.raises(ImportFailure, match=r"two rows of parties.*'name': 'x'"):
        rows.add("parties", ("x",), "x", Source(), {"name": "x"})


def test_every_place_behind_a_row_has_an_urn_of_its_own() -> None:
    rows = Rows("mclean", "a")
    exhibit = rows.add("exhibits", (1,), "Pls.' Ex. 1", Source("v", 1, 1), {})
    assert rows.source("exhibits", exhibit, "Pls.' Ex. 1", Source("v", 2, 2), "index") == f"urn:substrate:record:exhibit_index:{exhibit}"
    assert rows.tables["exhibits"][0]["provenance_id"] == f"urn:substrate:record:exhibit:{exhibit}"
