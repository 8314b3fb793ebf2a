"""Record cites of a text, by our own grammar: Bates numbers, trial and deposition pages, docket entries, exhibits; and whether the
ledgers have them.

Source: The Bluebook B17 for the forms, and what CM/ECF, reporters and load files print. Nothing here looks at what a cite is cited for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_TO = r"\s*[-–—]\s*"
_PLACE = rf"(?P<page>\d{{1,4}})(?::(?P<line>\d{{1,2}}))?(?:{_TO}(?:(?P<page_to>\d{{1,4}}):)?(?P<to>\d{{1,4}}))?"
_SIDE = r"(?:(?P<side>Pls?|Plaintiffs?|Defs?|Defendants?|Joint|Jt|Court)(?:\.?['’]s?|s['’]|\.)?\s+)?"
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("deposition", re.compile(rf"(?P<name>[A-ZÀ-Þ][\w'’\-]+)\s+Dep(?:o)?\.?(?:\s+Tr\.)?(?:\s+at)?\s+{_PLACE}")),
    ("trial", re.compile(rf"(?<!Dep\. )(?<!Dep )\bTr(?:ial\s+Tr)?\.(?:\s+at)?\s+{_PLACE}")),
    ("ecf", re.compile(r"\b(?:ECF|Dkt\.?|Docket|D\.E\.)(?:\s+Nos?\.|\s+Entry|\s+#)?\s*(?P<number>\d{1,5})(?:-(?P<attachment>\d{1,3}))?\b")),
    (
        "exhibit",
        re.compile(rf"\b{_SIDE}Exh?(?:ibits?|s?\.)\s*(?:Nos?\.\s*)?(?P<number>\d{{1,4}}|[A-Z]{{1,2}})(?:{_TO}(?P<to>\d{{1,4}}))?\b"),
    ),
    (
        "bates",
        re.compile(
            rf"\b(?P<prefix>[A-Z]{{2,10}})[-_ ]?(?P<number>\d{{5,9}})(?:{_TO}(?P<prefix_to>[A-Z]{{2,10}})?[-_ ]?(?P<to>\d{{1,9}}))?\b"
        ),
    ),
)
_SIDES = {"p": "plaintiffs", "d": "defendants", "j": "joint", "c": "court"}


@dataclass(frozen=True, slots=True)
class RecordCite:
    """One cite to the record."""

    kind: str  # bates, trial, deposition, ecf, exhibit
    text: str
    start: int
    end: int
    name: str | None = None  # Bates prefix, deponent, or side
    number: int = 0  # Bates number, page, entry or exhibit
    number_to: int = 0
    line_from: int | None = None
    line_to: int | None = None
    attachment: int | None = None
    well_formed: bool = True


@dataclass(frozen=True, slots=True)
class Held:
    """One thing that a ledger holds: a Bates range, a transcript, a docket entry or exhibits."""

    kind: str
    name: str | None
    number_from: int
    number_to: int
    provenance_id: str
    label: str
    # Of a transcript: the loaded pages, each with the highest line number it bears (None where its lines bear none), and whether
    # all are loaded.
    pages: dict[int, int | None] = field(default_factory=dict)
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """What the ledgers say of one cite."""

    cite: RecordCite
    result: str  # found, not_found, not_loaded, ambiguous, malformed
    held: tuple[Held, ...] = ()
    why: str | None = None


def find(text: str) -> tuple[RecordCite, ...]:
    """Every record cite of a text, in order; where two forms overlap, the longer form that begins first stands."""
    found = [_made(kind, m) for kind, form in _FORMS for m in form.finditer(text)]
    kept: list[RecordCite] = []
    for each in sorted(found, key=lambda c: (c.start, -c.end)):
        if not kept or each.start >= kept[-1].end:
            kept.append(each)
    return tuple(kept)


def _made(kind: str, found: re.Match[str]) -> RecordCite:
    groups = found.groupdict()
    text, start, end = found[0], found.start(), found.end()
    if kind in ("trial", "deposition"):
        return _place(kind, text, start, end, groups)
    if not (groups["number"] or "").isdigit():  # an exhibit with a letter
        return RecordCite(kind, text, start, end, _SIDES.get((groups["side"] or " ")[0].lower()))
    number = int(groups["number"])
    if kind == "ecf":
        attached = groups["attachment"]
        return RecordCite(
            kind, text, start, end, None, number, number, attachment=int(attached) if attached else None, well_formed=number > 0
        )
    to = _completed(groups["number"], groups["to"])
    name = groups["prefix"] if kind == "bates" else _SIDES.get((groups["side"] or " ")[0].lower())
    same = kind != "bates" or groups["prefix_to"] in (None, groups["prefix"])
    return RecordCite(kind, text, start, end, name, number, to, well_formed=same and to >= number)


def _completed(first: str, last: str | None) -> int:
    """The end of a range that may be cut short: 000016-20 ends at 000020."""
    if last is None:
        return int(first)
    return int(first[: len(first) - len(last)] + last) if len(last) < len(first) else int(last)


def _place(kind: str, text: str, start: int, end: int, groups: dict[str, str | None]) -> RecordCite:
    """Pages and lines: 375:7-9 is lines of one page, 375:7-376:2 lines of two, 375-76 pages."""
    page, line = int(groups["page"] or 0), groups["line"]
    name = groups.get("name")
    if line is None and groups["page_to"] is None:
        to = _completed(groups["page"] or "", groups["to"])
        return RecordCite(kind, text, start, end, name, page, to, well_formed=to >= page > 0)
    page_to = int(groups["page_to"]) if groups["page_to"] else page
    line_from = int(line) if line else 1
    line_to = int(groups["to"]) if groups["to"] else line_from
    good = page > 0 and line_from > 0 and (page_to, line_to) >= (page, line_from)
    return RecordCite(kind, text, start, end, name, page, page_to, line_from, line_to, well_formed=good)


def check(cite: RecordCite, held: Sequence[Held]) -> Checked:
    """Whether the ledgers hold what a cite names."""
    if not cite.well_formed:
        return Checked(cite, "malformed", why="the range ends before it begins, or mixes two series")
    return _CHECKS[cite.kind](cite, [h for h in held if h.kind == cite.kind])


def _ranges(cite: RecordCite, held: list[Held]) -> Checked:
    """Bates numbers: every number of the range must lie in a document."""
    rows = sorted((h for h in held if h.name == cite.name), key=lambda h: h.number_from)
    if not held:
        return Checked(cite, "not_loaded", why="no document of this matter bears Bates numbers")
    if not rows:
        return Checked(cite, "not_found", why=f"no document bears the prefix {cite.name}")
    inside = tuple(h for h in rows if h.number_from <= cite.number_to and cite.number <= h.number_to)
    reached = cite.number
    for each in inside:
        if each.number_from > reached:
            break
        reached = max(reached, each.number_to + 1)
    if reached > cite.number_to:
        return Checked(cite, "found", inside)
    return Checked(cite, "not_found", inside, "not every number of it lies in a document of the ledger")


def _transcripts(cite: RecordCite, held: list[Held]) -> Checked:
    wanted = (cite.name or "").lower()
    rows = [h for h in held if cite.kind == "trial" or wanted in re.findall(r"[\w'’\-]+", (h.name or "").lower())]
    if not held:
        return Checked(cite, "not_loaded", why="no such transcript is in the ledger")
    if not rows:
        return Checked(cite, "not_found", why=f"no deposition of a witness named {cite.name} is in the ledger")
    pages = range(cite.number, cite.number_to + 1)
    if len(pages) > max(len(h.pages) for h in rows) + 1:
        return Checked(cite, "not_loaded", tuple(rows), "more pages are cited than are loaded")
    hits = [h for h in rows if all(p in h.pages for p in pages)]
    if len(hits) > 1:
        return Checked(cite, "ambiguous", tuple(hits), "more than one transcript has such a page")
    if not hits:
        certain = all(h.complete for h in rows)
        return Checked(cite, "not_found" if certain else "not_loaded", tuple(rows), "a cited page is not among the loaded pages")
    return _lines(cite, hits[0])


def _lines(cite: RecordCite, held: Held) -> Checked:
    if cite.line_from is None or cite.line_to is None:
        return Checked(cite, "found", (held,))
    for page, line in ((cite.number, cite.line_from), (cite.number_to, cite.line_to)):
        last = held.pages[page]
        if last is None:
            return Checked(cite, "not_loaded", (held,), f"the lines of page {page} bear no numbers in this transcription")
        if line > last:
            return Checked(cite, "not_found", (held,), f"page {page} has no line {line}")
    return Checked(cite, "found", (held,))


def _entries(cite: RecordCite, held: list[Held]) -> Checked:
    if not held:
        return Checked(cite, "not_loaded", why="no docket sheet of this matter is loaded")
    hits = [h for h in held if h.number_from == cite.number]
    if hits and cite.attachment is not None and not hits[0].number_to >= cite.attachment:
        return Checked(cite, "not_found", tuple(hits), f"entry {cite.number} has no attachment {cite.attachment} on the docket sheet")
    return (
        Checked(cite, "found", tuple(hits[:1])) if hits else Checked(cite, "not_found", why="the docket sheet has no entry of this number")
    )


def _exhibits(cite: RecordCite, held: list[Held]) -> Checked:
    if not held:
        return Checked(cite, "not_loaded", why="no exhibits of this matter are loaded")
    if not cite.number:
        return Checked(cite, "not_loaded", why="exhibits with letters are not looked up")
    hits = [h for h in held if cite.name in (None, h.name) and h.number_from <= cite.number and cite.number_to <= h.number_to]
    if len({h.name for h in hits}) > 1:
        return Checked(cite, "ambiguous", tuple(hits), "each side has an exhibit of this number; say whose it is")
    return Checked(cite, "found", tuple(hits[:1])) if hits else Checked(cite, "not_found", why="the exhibit ledger has no such number")


_CHECKS: dict[str, Callable[[RecordCite, list[Held]], Checked]] = {
    "bates": _ranges,
    "trial": _transcripts,
    "deposition": _transcripts,
    "ecf": _entries,
    "exhibit": _exhibits,
}
