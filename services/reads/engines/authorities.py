"""What the firm's ledger of authorities says of a cited case. A cite that the ledger does not know was not checked; it is never taken
for good.

Source: the failure that made the rule is on record: a look-up by page alone returns the real case around a made-up cite (174 F.3d 366
lies in Greenleaf v. Garlock, 352-368), so the name is compared too, and a name that differs is a finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from services.reads.engines.citations import Citation, words


@dataclass(frozen=True, slots=True)
class Known:
    """One row of the ledger: what somebody found when they looked a place up."""

    volume: str
    reporter: str
    page_from: int
    page_to: int
    exists: bool  # False: somebody looked, and there is no such case
    name: str | None = None
    court: str | None = None
    year: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one authority."""

    kind: str  # matches, authority_not_found, name_mismatch, court_or_year_mismatch, not_checked
    cited: Citation
    expected: str | None = None  # what the ledger has at that place


def check(cited: Citation, ledger: Sequence[Known]) -> Finding:
    """Compares one authority with the ledger."""
    if cited.kind != "case":
        return Finding("not_checked", cited)
    at = [
        (k, exact) for where in cited.reported for k in ledger if (exact := _place(where.volume, where.reporter, where.page, k)) is not None
    ]
    if not at:
        return Finding("not_checked", cited)
    missing = [k for k, exact in at if exact and not k.exists]
    if missing:
        return Finding("authority_not_found", cited, missing[0].name)
    for known, _ in sorted(at, key=lambda found: not found[1]):
        kind = _compared(cited, known)
        if kind != "matches" or any(exact for _, exact in at):
            return Finding(kind, cited, _described(known))
    return Finding("authority_not_found", cited, _described(at[0][0]))


def _place(volume: str, reporter: str, page: str, known: Known) -> bool | None:
    """True where a case of the ledger begins there, False where it only covers that page, None where it does neither."""
    if (volume, reporter.replace(" ", "")) != (known.volume, known.reporter.replace(" ", "")) or not page.isdigit():
        return None
    number = int(page)
    if number == known.page_from:
        return True
    return False if known.exists and known.page_from < number <= known.page_to else None


def _compared(cited: Citation, known: Known) -> str:
    if not same_case(cited.case_name, known.name):
        return "name_mismatch"
    if cited.year and known.year and cited.year != known.year:
        return "court_or_year_mismatch"
    if cited.court and known.court and cited.court != known.court:
        return "court_or_year_mismatch"
    return "matches"


def same_case(cited: str | None, known: str | None) -> bool:
    """Whether two names are of one case: each side of the cited one that has words of its own shares one with the known one."""
    if not cited or not known:
        return False
    theirs = words(known)
    sides = [words(side) for side in cited.split(" v. ")]
    return any(sides) and all(side & theirs for side in sides if side)


def _described(known: Known) -> str:
    year = f" ({known.year})" if known.year else ""
    return f"{known.name}, {known.volume} {known.reporter} {known.page_from}{year}"
