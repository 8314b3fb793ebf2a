"""A filter that no row could match is refused by name: a day that the calendar lacks, a range that ends before it begins."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import catalogue
from kit.server import field_errors

CASE = "00000000-0000-4000-8000-000000000000"
TOOLS = catalogue.load().by_name
DATES = [
    ("list_deadlines", "due_from", "due_to"),
    ("list_documents", "dated_from", "dated_to"),
    ("list_docket_entries", "filed_from", "filed_to"),
]
NUMBERS = [("list_docket_entries", "number_from", "number_to"), ("get_trial_objections", "page_from", "page_to")]


def wrong(tool: str, **arguments: Any) -> list[tuple[str, str]]:
    """What a request of a tool is refused for."""
    return [(e.path, e.expected) for e in field_errors(TOOLS[tool].request_class(case_id=CASE, **arguments))]


def is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(("tool", "first", "last"), DATES)
@pytest.mark.parametrize("day", ["2026-02-30", "2026-02-29", "1900-02-29", "2026-04-31", "2026-11-31"])
def test_a_day_that_the_calendar_lacks_is_refused_by_name(tool: str, first: str, last: str, day: str) -> None:
    for name in (first, last):
        assert wrong(tool, **{name: day}) == [(name, "expected a day that the calendar has")]


@pytest.mark.parametrize(("tool", "first", "last"), DATES)
def test_a_range_of_days_that_ends_before_it_begins_is_refused_by_name(tool: str, first: str, last: str) -> None:
    assert wrong(tool, **{first: "2009-01-02", last: "2009-01-01"}) == [("request", f"{first} must not be after {last}")]
    assert wrong(tool, **{first: "2009-01-01", last: "2009-01-01"}) == []
    assert wrong(tool, **{first: "2009-01-02"}) == []
    assert wrong(tool, **{last: "2009-01-01"}) == []
    assert wrong(tool) == []


@pytest.mark.parametrize(("tool", "first", "last"), NUMBERS)
def test_a_range_of_numbers_that_ends_before_it_begins_is_refused_by_name(tool: str, first: str, last: str) -> None:
    assert wrong(tool, **{first: 2, last: 1}) == [("request", f"{first} must not be after {last}")]
    assert wrong(tool, **{first: 1, last: 1}) == []
    assert wrong(tool, **{first: 2}) == []
    assert wrong(tool, **{last: 0}) == []


@given(st.builds("{:04d}-{:02d}-{:02d}".format, st.integers(1, 9999), st.integers(1, 12), st.integers(1, 31)))
def test_every_day_of_the_calendar_is_taken_and_no_other(day: str) -> None:
    assert (wrong("list_deadlines", due_from=day) == []) == is_day(day)


@given(st.integers(1, 9999))
def test_the_29th_of_february_is_taken_in_leap_years_only(year: int) -> None:
    day = f"{year:04d}-02-29"
    assert (wrong("list_deadlines", due_from=day) == []) == is_day(day)
