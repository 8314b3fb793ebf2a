"""Citations of a text: found by eyecite, parallel cites folded, and what looks like a cite and was not parsed counted.

Source: eyecite 2.7 (Free Law Project) for case and statute cites; its issues 76 (parallel cites), 348 and 349 (Id.) are why mentions
are folded and short forms resolved here. A reader gets what was found and what was not: never "all citations".
"""

from __future__ import annotations

import bisect
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from eyecite import get_citations
from eyecite.models import CaseCitation, FullCaseCitation, FullCitation, FullLawCitation, IdCitation, ShortCaseCitation, SupraCitation

from kit import limits

# eyecite logs the text it stumbles over, which is matter text: none of it belongs in a log.
logging.getLogger("eyecite").setLevel(logging.CRITICAL + 1)
# What a reader's eye takes for a cite: a volume or year, a reporter with a full stop or a known word in it, and a page or serial number.
_LOOKS_LIKE_A_CITE = re.compile(
    r"\b\d{1,4}\s+(?:[A-Z][A-Za-z]*\.\s?(?:[A-Z0-9][A-Za-z0-9]*\.?\s?){0,4}|(?:WL|LEXIS|[A-Z]{2}(?:\s+App)?(?:\s*\([^)\n]{1,6}\))?)\s+)\d{2,9}(?:-[A-Z])?\b"
)
_NOT_A_CITE = re.compile(
    r"^\d{1,4}\s+(?:a\.?m|p\.?m|No|Nos|Ex|Pp|Vol|Sec|St|Ave|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.", re.IGNORECASE
)
_STRETCH, _AROUND = 8_000, 500
_PIN = re.compile(r"\d+(?:\s?[-–]\s?\d+)?|\([^\s]+\)")
_SPACES = re.compile(r"[\s_]+")


@dataclass(frozen=True, slots=True)
class Reported:
    """Where a case is printed: volume, reporter and first page."""

    volume: str
    reporter: str
    page: str

    @property
    def text(self) -> str:
        """In the usual form: 391 U.S. 593."""
        return f"{self.volume} {self.reporter} {self.page}"


@dataclass(frozen=True, slots=True)
class Citation:
    """One mention of an authority, with its parallel cites in it."""

    kind: str  # case, statute, short_case, id, supra
    text: str
    start: int
    end: int
    reported: tuple[Reported, ...] = ()
    case_name: str | None = None
    court: str | None = None
    year: str | None = None
    pin_cite: str | None = None
    authority: int | None = None  # place in Extraction.authorities; None where a short form leads nowhere


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found in a text, and what was not."""

    citations: tuple[Citation, ...]
    authorities: tuple[Citation, ...]  # the first mention of each
    not_parsed: tuple[str, ...]
    truncated: bool = False


def extract(text: str) -> Extraction:
    """Every citation of a text, in order. Only the first CITE_TEXT_MAX_CHARS are read."""
    read, places = _on_one_line(text[: limits.CITE_TEXT_MAX_CHARS])
    found, end = _mentions(read)
    read, mentions = read[:end], _folded(read, found)
    left = _not_parsed(read, [(c.start, c.end) for c in mentions])
    citations, authorities = _resolved([replace(c, start=places[c.start], end=places[c.end - 1] + 1) for c in mentions])
    return Extraction(tuple(citations), tuple(authorities), left, end < len(places) or len(text) > limits.CITE_TEXT_MAX_CHARS)


def _mentions(text: str) -> tuple[list[Citation], int]:
    """The mentions of a text, and where reading ended: a text with more of them than anybody writes is not read to its end."""
    found: list[Citation] = []
    for at in range(0, len(text), _STRETCH):
        found += _stretch(text, at)
        if len(found) > limits.CITES_READ_MAX:
            return found, min(at + _STRETCH, len(text))
    return found, len(text)


def _stretch(text: str, at: int) -> list[Citation]:
    """The mentions that begin in one stretch of a text. It is read with some text around it, where names and years stand.

    eyecite takes time by the square of the cites it is given: stretches keep a text that is full of them from holding everybody up."""
    first = max(0, at - _AROUND)
    window = text[first : at + _STRETCH + _AROUND]
    if not window.strip():
        return []
    found: list[Any] = sorted(get_citations(window), key=_begins)
    made = [m for each in found if (m := _mention(window, each)) is not None]
    return [replace(m, start=m.start + first, end=m.end + first) for m in made if at <= m.start + first < at + _STRETCH]


def _begins(found: Any) -> int:
    return int(found.span()[0])


def _on_one_line(text: str) -> tuple[str, list[int]]:
    """The text with each run of white space made one space, so that a cite broken over lines is seen; and where each letter stood."""
    letters: list[str] = []
    places: list[int] = []
    for at, letter in enumerate(text):
        if not letter.isspace():
            letters.append(letter)
        elif letters and letters[-1] != " ":
            letters.append(" ")
        else:
            continue
        places.append(at)
    return "".join(letters), places


def _folded(text: str, found: Sequence[Citation]) -> list[Citation]:
    """Mentions, with the cites of one string of parallel cites made one."""
    mentions: list[Citation] = []
    for made in found:
        before = mentions[-1] if mentions else None
        if before is not None and made.kind == before.kind == "case" and _same_string(text, before, made):
            mentions[-1] = replace(
                before,
                text=text[before.start : made.end],
                end=made.end,
                reported=(*before.reported, *made.reported),
                year=before.year or made.year,
                court=before.court or made.court,
                pin_cite=before.pin_cite or made.pin_cite,
            )
        else:
            mentions.append(made)
    return mentions


def _same_string(text: str, before: Citation, after: Citation) -> bool:
    """Whether only commas, pages and spaces stand between two cites: 391 U.S. 593, 598, 88 S. Ct. 1753."""
    return re.fullmatch(r"[,\s\d\-–]*,[,\s\d\-–]*", text[before.end : after.start]) is not None


def _mention(text: str, found: Any) -> Citation | None:
    """What eyecite found, in our words; None where it is no cite to an authority."""
    start, end = found.span()
    plain = {"text": text[start:end], "start": start, "end": end, "pin_cite": _pin(found.metadata.pin_cite)}
    if isinstance(found, FullCitation):
        return _full(found, plain)
    if isinstance(found, ShortCaseCitation):
        short = Reported(found.groups["volume"] or "", _reporter(found), "")
        return Citation("short_case", **plain, reported=(short,), case_name=found.metadata.antecedent_guess)
    if isinstance(found, SupraCitation):
        return Citation("supra", **plain, case_name=found.metadata.antecedent_guess)
    return Citation("id", **plain) if isinstance(found, IdCitation) else None


def _full(found: Any, plain: dict[str, Any]) -> Citation:
    """A citation in full: of a case, of a statute, or of something else."""
    groups = found.groups
    if isinstance(found, FullCaseCitation):
        where = Reported(groups["volume"] or "", _reporter(found), groups["page"] or "")
        return Citation("case", **plain, reported=(where,), case_name=_name(found), court=found.metadata.court, year=found.metadata.year)
    if isinstance(found, FullLawCitation):
        law = Reported(groups.get("title") or groups.get("chapter") or "", groups.get("reporter") or "", groups.get("section") or "")
        return Citation("statute", **plain, reported=(law,), year=found.metadata.year)
    return Citation("other", **plain)


def _reporter(found: Any) -> str:
    """The reporter in its usual spelling: S.Ct. and S. Ct. are one."""
    return str(found.corrected_reporter())


def _pin(value: str | None) -> str | None:
    """The page or subsection that is pointed to: "166" of "at 166, 119"."""
    found = _PIN.search(value or "")
    return found[0].strip(" ,-–") if found else None


def _name(found: CaseCitation) -> str | None:
    """Plaintiff v. defendant as the text prints it, on one line; "In re …" where there is one side."""
    sides = [_SPACES.sub(" ", side or "").strip(" ,;") for side in (found.metadata.plaintiff, found.metadata.defendant)]
    plaintiff, defendant = (re.sub(r"\.{2,}$", ".", side) for side in sides)
    if plaintiff and defendant:
        return f"{plaintiff} v. {defendant}"
    return f"In re {defendant}" if defendant else plaintiff or None


def _resolved(mentions: Sequence[Citation]) -> tuple[list[Citation], list[Citation]]:
    """Each mention with the authority it leads to.

    Id. leads to the cite before it, whichever that is; where that leads nowhere, so does Id.
    """
    authorities: list[Citation] = []
    by_place: dict[Reported, int] = {}
    citations: list[Citation] = []
    last: int | None = None
    for each in mentions:
        if each.kind in ("case", "statute", "other"):
            last = next((by_place[r] for r in each.reported if r in by_place), None)
            if last is None:
                last = len(authorities)
                authorities.append(replace(each, authority=last))
            by_place.update(dict.fromkeys(each.reported, last))
        elif each.kind != "id":
            last = _antecedent(each, authorities)
        citations.append(replace(each, authority=last))
    return citations, authorities


def _antecedent(short: Citation, authorities: Sequence[Citation]) -> int | None:
    """The one authority that a short form can mean; None where there is none, or more than one."""
    fits = [
        number
        for number, full in enumerate(authorities)
        if full.kind == "case"
        and (
            not short.reported
            or any(r.volume == short.reported[0].volume and r.reporter == short.reported[0].reporter for r in full.reported)
        )
        and (not short.case_name or words(short.case_name) & words(full.case_name))
    ]
    return fits[0] if len(fits) == 1 and (short.reported or short.case_name) else None


_SMALL = frozenset(
    {"v", "in", "re", "the", "of", "and", "inc", "co", "corp", "ltd", "llc", "lp", "company", "et", "al", "estate", "near", "ex", "rel"}
)


def words(name: str | None) -> frozenset[str]:
    """The words of a case name that tell it from others."""
    return frozenset(w for w in re.findall(r"[a-z0-9]+", (name or "").lower().replace(".", "")) if w not in _SMALL and len(w) > 1)


def _not_parsed(text: str, parsed: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """Strings that look like a cite and lie in none that was parsed."""
    left = []
    starts = [start for start, _ in parsed]
    for found in _LOOKS_LIKE_A_CITE.finditer(text):
        # Mentions stand in order and apart, so only the last that begins before the end of the string can overlap it.
        before = bisect.bisect_left(starts, found.end()) - 1
        inside = before >= 0 and parsed[before][1] > found.start()
        if not inside and not _NOT_A_CITE.match(found[0]) and not _numbers_of_lines(found[0]):
            left.append(_SPACES.sub(" ", found[0]))
    return tuple(left)


def _numbers_of_lines(looks: str) -> bool:
    """Whether the two numbers are those of neighbouring lines of a numbered page: 10 Chambers. 11."""
    first, last = re.match(r"\d+", looks), re.search(r"\d+$", looks)
    return first is not None and last is not None and int(last[0]) == int(first[0]) + 1
