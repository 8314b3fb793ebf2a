"""Deadline arithmetic by Fed. R. Civ. P. 6: pure, with its steps. It writes nothing and decides nothing that a lawyer has to decide.

The version of the rule is the one in force on the day of the trigger. What is applied: (a)(1) days, (a)(2) hours, (a)(5) forward and
backward, (a)(6) holidays by statute, (d) three more days; before December 1, 2009, short periods without weekends and holidays. What is
not: (a)(3), a clerk's office that cannot be reached; orders and local rules; and the holidays of a state, unless the caller names them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta

from services.reads.engines import court_days
from services.reads.engines.court_days import RuleVersion

_ONE = timedelta(1)
_SATURDAY = 5


class CannotCompute(Exception):
    """Why no date follows, in words for the caller."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be computed."""

    trigger: date
    amount: int
    unit: str = "days"  # days or hours
    backward: bool = False
    service: str = "none"  # none, personal, mail, clerk, electronic, other_agreed
    trigger_time: time | None = None
    more_holidays: tuple[date, ...] = ()  # named by the caller: holidays of the state where the court sits


@dataclass(slots=True)
class Answer:
    """A date, and how it was reached."""

    version: RuleVersion
    due: date
    due_time: time | None = None
    steps: list[str] = field(default_factory=list)
    holidays: dict[date, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class _Calendar:
    """Which days do not count, and which of them were met on the way."""

    def __init__(self, answer: Answer, more: tuple[date, ...], *, forward: bool) -> None:
        self._answer, self._more, self._forward = answer, more, forward
        self._years: dict[int, Mapping[date, str]] = {}

    def holiday(self, day: date) -> str | None:
        """The holiday of a day. A state's holiday counts for forward periods only, (a)(6)(C)."""
        if day.year not in self._years:
            self._years[day.year] = court_days.holidays(day.year)
        name = self._years[day.year].get(day)
        if name is None and self._forward and day in self._more:
            name = "named by the caller as a holiday of the state where the court sits"
        if name is not None:
            self._answer.holidays[day] = name
        elif day in court_days.CLOSED_BY_ORDER:
            note = (
                f"{day} was a {court_days.CLOSED_BY_ORDER[day]}; it was not counted as a legal holiday, which a lawyer may see otherwise."
            )
            if note not in self._answer.notes:
                self._answer.notes.append(note)
        return name

    def closed(self, day: date) -> str | None:
        """Why a day is no court day."""
        if day.weekday() >= _SATURDAY:
            return f"a {day:%A}"
        return self.holiday(day)


def compute(question: Question) -> Answer:
    """The last day of a period, with every step."""
    version = court_days.version_on(question.trigger)
    if question.trigger.year > court_days.LAST_YEAR:
        raise CannotCompute(f"nobody knows the holidays of a year after {court_days.LAST_YEAR}")
    if version is None:
        raise CannotCompute(f"no version of Rule 6 from before {court_days.VERSIONS[0].valid_from} is held here")
    if question.backward and not version.backward:
        return _with_note(
            _days(question, version), f"{version.cite} says nothing of periods that are counted backward: the way of 2009 was used."
        )
    if question.unit == "hours":
        if not version.hours:
            raise CannotCompute(f"{version.cite} has no rule for periods in hours; it came on 2009-12-01")
        return _hours(question, version)
    return _days(question, version)


def _with_note(answer: Answer, note: str) -> Answer:
    answer.notes.append(note)
    return answer


def _days(question: Question, version: RuleVersion) -> Answer:
    answer = Answer(version, question.trigger)
    calendar = _Calendar(answer, question.more_holidays, forward=not question.backward)
    step = -_ONE if question.backward else _ONE
    answer.steps.append(f"{question.trigger} ({question.trigger:%A}) is the day of the trigger and is not counted.")
    if 0 < question.amount < version.skips_below:
        _skip(question, answer, calendar, step)
    else:
        answer.due = question.trigger + step * question.amount
        way = "before" if question.backward else "after"
        answer.steps.append(f"{question.amount} days {way} it, counting every day, is {answer.due} ({answer.due:%A}).")
    _three_days(question, answer)
    _roll(answer, calendar, step)
    _holidays_between(question.trigger, answer, calendar)
    return answer


def _holidays_between(trigger: date, answer: Answer, calendar: _Calendar) -> None:
    """Notes every holiday of the period, counted or not, so that a reader sees what was known of it."""
    first, last = sorted((trigger, answer.due))
    for ordinal in range(first.toordinal(), last.toordinal() + 1):
        calendar.holiday(date.fromordinal(ordinal))


def _skip(question: Question, answer: Answer, calendar: _Calendar, step: timedelta) -> None:
    """Short periods of the old rule: Saturdays, Sundays and holidays in between do not count."""
    day, left, skipped = question.trigger, question.amount, 0
    while left:
        day += step
        if calendar.closed(day):
            skipped += 1
        else:
            left -= 1
    answer.due = day
    answer.steps.append(
        f"The period is shorter than {answer.version.skips_below} days, so Saturdays, Sundays and holidays in it do not count: "
        f"{question.amount} court days, {skipped} days skipped, is {day} ({day:%A})."
    )


def _three_days(question: Question, answer: Answer) -> None:
    if question.service in ("none", "personal"):
        return
    if question.backward:
        answer.steps.append("Three days for service are added to periods after service only.")
        return
    if question.service not in answer.version.three_days_for:
        answer.steps.append(f"Service by {question.service.replace('_', ' ')} adds no days under {answer.version.cite}.")
        return
    answer.due += 3 * _ONE
    answer.steps.append(f"Service by {question.service.replace('_', ' ')} adds 3 days: {answer.due} ({answer.due:%A}).")


def _roll(answer: Answer, calendar: _Calendar, step: timedelta) -> None:
    """The period runs on to the next day that is no Saturday, Sunday or holiday; backward, to the one before."""
    began = answer.due
    why = []
    while (closed := calendar.closed(answer.due)) is not None:
        why.append(f"{answer.due} is {closed}")
        answer.due += step
    if why:
        answer.steps.append(
            f"{'; '.join(why)}: the period {'runs on' if step > timedelta(0) else 'runs back'} to {answer.due} ({answer.due:%A})."
        )
    else:
        answer.steps.append(f"{began} is no Saturday, Sunday or legal holiday: it is the last day.")


def _hours(question: Question, version: RuleVersion) -> Answer:
    if question.trigger_time is None:
        raise CannotCompute("a period in hours needs the time of the trigger")
    if question.service not in ("none", "personal"):
        raise CannotCompute("Rule 6(d) adds days to periods in days; a period in hours takes none")
    sign = -1 if question.backward else 1
    answer = Answer(version, question.trigger)
    calendar = _Calendar(answer, question.more_holidays, forward=not question.backward)
    end = datetime.combine(question.trigger, question.trigger_time) + sign * timedelta(hours=question.amount)
    answer.due, answer.due_time = end.date(), end.time()
    answer.steps.append(f"Counting begins at once, at {question.trigger} {question.trigger_time:%H:%M}.")
    answer.steps.append(f"{question.amount} hours, counting every hour, is {answer.due} {answer.due_time:%H:%M} ({answer.due:%A}).")
    _roll(answer, calendar, sign * _ONE)
    _holidays_between(question.trigger, answer, calendar)
    return answer
