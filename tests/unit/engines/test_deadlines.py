"""Rule 6 in each of its versions, on days whose answer is known."""

from __future__ import annotations

from datetime import date, time

import pytest

from services.reads.engines import court_days, deadlines
from services.reads.engines.deadlines import CannotCompute, Question

# The calendars of 2021 and 2027 are the same.
LATE_2027 = {"10-11", "11-11", "11-25", "12-24", "12-25", "12-31"}


def due(trigger: date, amount: int, **more: object) -> date:
    return deadlines.compute(Question(trigger, amount, **more)).due  # type: ignore[arg-type]


def test_the_docket_of_soilworks_bears_out_the_arithmetic() -> None:
    """ECF 43 serves requests on 2007-11-26; ECF 52 shows responses served on 2007-12-31."""
    found = deadlines.compute(Question(date(2007, 11, 26), 30, service="electronic"))
    assert found.due == date(2007, 12, 31)
    assert len(found.steps) == 4
    assert list(found.holidays) == [date(2007, 12, 25)]


@pytest.mark.parametrize(
    ("trigger", "amount", "more", "expected"),
    [
        (date(2009, 11, 30), 10, {}, date(2009, 12, 14)),  # short under the old rule: ten court days
        (date(2009, 12, 1), 10, {}, date(2009, 12, 11)),  # the day the rule changed: every day counts
        (date(2009, 11, 2), 11, {}, date(2009, 11, 13)),  # eleven days are not short
        (date(1985, 7, 31), 7, {}, date(1985, 8, 7)),  # nor were seven before August 1985
        (date(1985, 8, 1), 7, {}, date(1985, 8, 12)),  # they were from then on
        (date(2016, 11, 30), 14, {"service": "electronic"}, date(2016, 12, 19)),  # 17 days, a Saturday, rolls on
        (date(2016, 12, 1), 14, {"service": "electronic"}, date(2016, 12, 15)),
        (date(2016, 12, 1), 14, {"service": "mail"}, date(2016, 12, 19)),  # the eighteenth is a Sunday
        (date(2001, 11, 30), 30, {"service": "electronic"}, date(2001, 12, 31)),  # e-service was none of (d)'s then
        (date(2027, 12, 24), 7, {}, date(2028, 1, 3)),  # New Year's Day 2028 is observed on December 31
        (date(2024, 6, 5), 14, {}, date(2024, 6, 20)),  # Juneteenth
        (date(2020, 6, 5), 14, {}, date(2020, 6, 19)),  # not a holiday yet
        (date(2024, 7, 18), 14, {"backward": True}, date(2024, 7, 3)),  # July 4 rolls back
        (date(2024, 3, 18), 2, {"backward": True}, date(2024, 3, 15)),  # a Saturday rolls back to Friday
        (date(2024, 4, 8), 7, {"more_holidays": (date(2024, 4, 15),)}, date(2024, 4, 16)),  # Patriots' Day, named by the caller
        (date(2024, 4, 22), 7, {"more_holidays": (date(2024, 4, 15),), "backward": True}, date(2024, 4, 15)),  # not for backward periods
    ],
)
def test_the_last_day_is_known(trigger: date, amount: int, more: dict[str, object], expected: date) -> None:
    assert due(trigger, amount, **more) == expected


def test_hours_count_through_nights_and_end_at_the_same_time_of_the_next_court_day() -> None:
    found = deadlines.compute(Question(date(2024, 5, 24), 72, "hours", trigger_time=time(9, 30)))
    assert (found.due, found.due_time) == (date(2024, 5, 28), time(9, 30))  # Monday the 27th is Memorial Day
    found = deadlines.compute(Question(date(2024, 5, 21), 20, "hours", trigger_time=time(9, 30)))
    assert (found.due, found.due_time) == (date(2024, 5, 22), time(5, 30))


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (Question(date(1950, 1, 1), 10), "1963"),
        (Question(date(2101, 1, 1), 10), "2100"),
        (Question(date(9999, 12, 30), 10), "2100"),
        (Question(date(2008, 1, 2), 24, "hours", trigger_time=time(9)), "hours"),
        (Question(date(2020, 1, 2), 24, "hours"), "time of the trigger"),
        (Question(date(2020, 1, 2), 24, "hours", service="mail", trigger_time=time(9)), "takes none"),
    ],
)
def test_what_the_rule_of_the_day_does_not_say_is_not_computed(question: Question, words: str) -> None:
    with pytest.raises(CannotCompute, match=words):
        deadlines.compute(question)


def test_a_day_of_mourning_is_noted_and_not_counted_as_a_holiday() -> None:
    found = deadlines.compute(Question(date(2025, 1, 2), 7))
    assert found.due == date(2025, 1, 9)
    assert any("Exec. Order 14133" in n for n in found.notes)


def test_backward_periods_before_2009_say_whose_way_was_used() -> None:
    assert any("2009" in n for n in deadlines.compute(Question(date(2008, 7, 18), 14, backward=True)).notes)


@pytest.mark.parametrize(
    ("year", "expected"),
    [
        (1970, {"01-01", "02-22", "02-23", "05-30", "05-29", "07-04", "07-03", "09-07", "11-11", "11-26", "12-25"}),
        (1975, {"01-01", "02-17", "05-26", "07-04", "09-01", "10-13", "10-27", "11-27", "12-25"}),
        (2024, {"01-01", "01-15", "02-19", "05-27", "06-19", "07-04", "09-02", "10-14", "11-11", "11-28", "12-25"}),
        (2021, {"01-01", "01-18", "02-15", "05-31", "06-18", "06-19", "07-04", "07-05", "09-06"} | LATE_2027),
        (2027, {"01-01", "01-18", "02-15", "05-31", "06-18", "06-19", "07-04", "07-05", "09-06"} | LATE_2027),
    ],
)  # fmt: skip
def test_the_holidays_of_a_year_are_those_of_its_law(year: int, expected: set[str]) -> None:
    assert {f"{d:%m-%d}" for d in court_days.holidays(year)} == expected


def test_a_period_of_a_rule_is_that_of_its_day() -> None:
    assert [court_days.period_on("frcp_12_answer", d).days for d in (date(2009, 11, 30), date(2009, 12, 1))] == [20, 21]  # type: ignore[union-attr]
    assert court_days.period_on("frcp_36_response", date(1950, 1, 1)) is None
    assert court_days.period_on("frcp_6_motion_notice", date(2020, 1, 1)).backward  # type: ignore[union-attr]
