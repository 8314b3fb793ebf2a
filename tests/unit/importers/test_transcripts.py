"""Transcripts are read by page and line, and what is missing is named."""

import pytest

from ops.importers.pages import ImportFailure
from ops.importers.transcripts import read_deposition, read_trial

TRIAL = """234.
1 MR. CAMPBELL: (Continuing)
2 Q Do you remember making that statement?
3
236.
1 A There were
2 12 of them, or
7 through 12.
3 THE COURT: That's overruled.
CROSS EXAMINATION
22.. Q So
237
Page is missing.
238. Page is missing.
"""


def test_trial_lines_keep_their_numbers_and_the_text_loses_them() -> None:
    page = read_trial("tr", TRIAL, 234, 238).pages[0]
    assert (page.number, page.label) == (234, "page 234")
    assert page.text == "MR. CAMPBELL: (Continuing)\nQ Do you remember making that statement?\n"
    assert page.line_numbers == (1, 2, 3)


def test_pages_that_the_source_lacks_are_named_as_missing() -> None:
    assert read_trial("tr", TRIAL, 234, 238).missing == (235, 237, 238)


def test_a_line_without_a_number_stays_where_it_stands() -> None:
    page = read_trial("tr", TRIAL, 234, 238).pages[1]
    assert page.text is not None
    assert page.line_numbers is not None
    assert list(zip(page.line_numbers, page.text.split("\n"), strict=True)) == [
        (1, "A There were"),
        (2, "12 of them, or"),
        (None, "7 through 12."),
        (3, "THE COURT: That's overruled."),
        (None, "CROSS EXAMINATION"),
        (None, "22.. Q So"),
    ]


def test_text_before_the_first_page_of_a_trial_is_refused_by_name() -> None:
    with pytest.raises(ImportFailure, match="tr_x"):
        read_trial("tr_x", "a stray line\n234.\n1 text\n", 234, 235)


def test_a_deposition_opens_with_page_one_when_two_is_the_first_number() -> None:
    reading = read_deposition("dep", "cover\n2\nbody\n3\nmore\n")
    assert [(p.number, p.text) for p in reading.pages] == [(1, "cover"), (2, "body"), (3, "more")]
    assert reading.missing == ()


def test_a_deposition_that_begins_later_says_which_pages_are_missing() -> None:
    reading = read_deposition("dep", "a note of the transcriber\n3\nbody\n4\nmore\n")
    assert [p.number for p in reading.pages] == [3, 4]
    assert reading.missing == (1, 2)


def test_a_misprinted_page_number_is_counted_on_and_told() -> None:
    reading = read_deposition("dep", "cover\n2\na\n13\nb\n4\nc\n5\nd\n")
    assert [(p.number, p.label) for p in reading.pages][2] == (3, "page 3 (printed as 13)")
    assert "page 3 is printed as 13" in reading.remarks


def test_a_gap_in_a_deposition_is_a_gap_and_not_a_misprint() -> None:
    reading = read_deposition("dep", "cover\n2\na\n9\nb\n10\nc\n")
    assert [p.number for p in reading.pages] == [1, 2, 9, 10]
    assert reading.missing == tuple(range(3, 9))
    assert reading.page_count == 10


def test_a_number_that_fills_a_line_of_testimony_is_no_page() -> None:
    reading = read_deposition("dep", "cover\n2\nHow many?\n1\nI see.\n3\nb\n")
    assert [p.number for p in reading.pages] == [1, 2, 3]
    assert reading.pages[1].text == "How many?\n1\nI see."


def test_a_deposition_without_page_numbers_is_refused_by_name() -> None:
    with pytest.raises(ImportFailure, match="dep_x"):
        read_deposition("dep_x", "no numbers here\n")
