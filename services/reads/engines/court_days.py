"""Which days are legal holidays of the federal courts, and which version of Rule 6 governs a day. Dated data, with its source.

Sources: 5 U.S.C. § 6103 and its amendments; Fed. R. Civ. P. 6 as amended effective on the days named. The texts were not compared with
an official copy by this program, and an answer made from them says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

TABLE_AS_OF = "2026-11-01"
LAST_YEAR = 2100
_STATUTE = "5 U.S.C. § 6103(a)"


@dataclass(frozen=True, slots=True)
class RuleVersion:
    """What Rule 6 said from a day on."""

    id: str
    valid_from: date
    cite: str
    # Periods shorter than this many days skip Saturdays, Sundays and holidays; 0 where every day counts.
    skips_below: int
    backward: bool
    hours: bool
    three_days_for: frozenset[str]


_MAIL = frozenset({"mail"})
_AGREED = frozenset({"mail", "clerk", "electronic", "other_agreed"})
VERSIONS = (
    RuleVersion("frcp-6/1963", date(1963, 7, 1), "Fed. R. Civ. P. 6(a), (e) (1963)", 7, False, False, _MAIL),
    RuleVersion("frcp-6/1985", date(1985, 8, 1), "Fed. R. Civ. P. 6(a), (e) (1985)", 11, False, False, _MAIL),
    RuleVersion("frcp-6/2001", date(2001, 12, 1), "Fed. R. Civ. P. 6(a), (e) (2001)", 11, False, False, _AGREED),
    RuleVersion("frcp-6/2007", date(2007, 12, 1), "Fed. R. Civ. P. 6(a), (d) (2007)", 11, False, False, _AGREED),
    RuleVersion("frcp-6/2009", date(2009, 12, 1), "Fed. R. Civ. P. 6(a), (d) (2009)", 0, True, True, _AGREED),
    RuleVersion("frcp-6/2016", date(2016, 12, 1), "Fed. R. Civ. P. 6(a), (d) (2016)", 0, True, True, _AGREED - {"electronic"}),
)


@dataclass(frozen=True, slots=True)
class Period:
    """A period that a rule sets, from a day on."""

    rule: str
    valid_from: date
    cite: str
    days: int
    backward: bool = False


PERIODS = (
    Period("frcp_12_answer", date(1938, 9, 16), "Fed. R. Civ. P. 12(a)", 20),
    Period("frcp_12_answer", date(2009, 12, 1), "Fed. R. Civ. P. 12(a)(1)(A)(i)", 21),
    Period("frcp_33_answers", date(1970, 7, 1), "Fed. R. Civ. P. 33", 30),
    Period("frcp_34_response", date(1970, 7, 1), "Fed. R. Civ. P. 34", 30),
    Period("frcp_36_response", date(1970, 7, 1), "Fed. R. Civ. P. 36(a)", 30),
    Period("frcp_6_motion_notice", date(1938, 9, 16), "Fed. R. Civ. P. 6(d)", 5, backward=True),
    Period("frcp_6_motion_notice", date(2009, 12, 1), "Fed. R. Civ. P. 6(c)(1)", 14, backward=True),
    Period("frcp_59_motion", date(1938, 9, 16), "Fed. R. Civ. P. 59(b), (e)", 10),
    Period("frcp_59_motion", date(2009, 12, 1), "Fed. R. Civ. P. 59(b), (e)", 28),
    Period("frap_4_notice_of_appeal", date(1968, 7, 1), "Fed. R. App. P. 4(a)(1)(A)", 30),
)
RULES = tuple(sorted({p.rule for p in PERIODS}))

# Days on which executive departments were closed by order of the President. Whether Rule 6 counts one as a holiday is for a lawyer to say.
CLOSED_BY_ORDER: Mapping[date, str] = {
    date(2004, 6, 11): "day of mourning for President Reagan (Exec. Order 13343)",
    date(2007, 1, 2): "day of mourning for President Ford (Exec. Order 13421)",
    date(2018, 12, 5): "day of mourning for President G. H. W. Bush (Exec. Order 13852)",
    date(2025, 1, 9): "day of mourning for President Carter (Exec. Order 14133)",
}


def version_on(day: date) -> RuleVersion | None:
    """The version of Rule 6 in force on a day; None before the first that is held here."""
    return next((v for v in reversed(VERSIONS) if v.valid_from <= day), None)


def period_on(rule: str, day: date) -> Period | None:
    """The period that a rule set on a day."""
    return next((p for p in reversed(PERIODS) if p.rule == rule and p.valid_from <= day), None)


def _nth(year: int, month: int, weekday: int, n: int) -> date:
    """The nth such weekday of a month; the last where n is -1."""
    if n > 0:
        first = date(year, month, 1)
        return first + timedelta((weekday - first.weekday()) % 7 + 7 * (n - 1))
    last = date(year + month // 12, month % 12 + 1, 1) - timedelta(1)
    return last - timedelta((last.weekday() - weekday) % 7)


def _statutory(year: int) -> list[tuple[date, str]]:
    monday, thursday = 0, 3
    days = [
        (date(year, 1, 1), "New Year's Day"),
        (date(year, 7, 4), "Independence Day"),
        (_nth(year, 9, monday, 1), "Labor Day"),
        (_nth(year, 11, thursday, 4), "Thanksgiving Day"),
        (date(year, 12, 25), "Christmas Day"),
        (_nth(year, 2, monday, 3) if year >= 1971 else date(year, 2, 22), "Washington's Birthday"),
        (_nth(year, 5, monday, -1) if year >= 1971 else date(year, 5, 30), "Memorial Day"),
        (_nth(year, 10, monday, 4) if 1971 <= year <= 1977 else date(year, 11, 11), "Veterans Day"),
    ]
    if year >= 1971:
        days.append((_nth(year, 10, monday, 2), "Columbus Day"))
    if year >= 1986:
        days.append((_nth(year, 1, monday, 3), "Birthday of Martin Luther King, Jr."))
    if year >= 2021:
        days.append((date(year, 6, 19), "Juneteenth National Independence Day"))
    return days


def holidays(year: int) -> dict[date, str]:
    """The federal holidays that fall in a year, or are observed in it, with their source."""
    found: dict[date, str] = {}
    for day, name in (d for y in (year, year + 1) for d in _statutory(y)):
        # Observed on the Friday before a Saturday and the Monday after a Sunday: New Year's Day can be observed in the year before.
        observed = day + timedelta({5: -1, 6: 1}.get(day.weekday(), 0))
        if day.year == year:
            found.setdefault(day, f"{name} ({_STATUTE})")
        if observed != day and observed.year == year:
            found.setdefault(observed, f"{name}, observed ({_STATUTE.replace('(a)', '(b)')})")
    return found
