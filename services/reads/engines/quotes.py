"""Quote check: a quote stands on its page, letter by letter after typographic normalization, or it does not. A score decides nothing.

Source: the rule of record.normalize (kit/typography.py is its twin); marked alterations as The Bluebook R. 5.2-5.3 has them: an
omission is "[...]" or ". . .", and a changed letter or word stands in brackets. Fuzzy search (rapidfuzz) only shows where the nearest
passage is.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from kit import typography

_OMISSION = re.compile(r"\s*(?:\[\s*(?:\.\s*){3}\]|\[\s*…\s*\]|(?:\.\s+){2,3}\.|…)\s*")
_BRACKETED = re.compile(r"\[[^\[\]]{1,60}\]")
_WORD = re.compile(r"[a-z0-9]{2,}")
_HINT_SCORE, _HINT_CHARS, _HINT_PAGES, _HINT_PAGE_CHARS = 60.0, 300, 8, 20_000


@dataclass(frozen=True, slots=True)
class PageText:
    """One page as it was loaded; its text is None where it has no text layer."""

    number: int
    text: str | None
    ocr: bool = False


@dataclass(frozen=True, slots=True)
class Hint:
    """The nearest passage, for a person to look at."""

    page: int
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a quote."""

    result: str  # exact, altered_as_marked, wrong_page, misquote, not_loaded, no_text, ocr_differs
    found_on: int | None = None
    hint: Hint | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a quote that must stand in the source. A bracket right beside it may have taken letters of its first or last word."""

    text: str
    cut_before: bool
    cut_after: bool


def pieces(quote: str) -> tuple[Piece, ...]:
    """The parts of a quote that must stand in the source, in order; what is in brackets is the writer's."""
    found: list[Piece] = []
    for span in _OMISSION.split(quote):
        parts = _BRACKETED.split(span)
        for place, part in enumerate(parts):
            if any(c.isalnum() for c in part):
                before = place > 0 and not part[0].isspace()
                after = place < len(parts) - 1 and not part[-1].isspace()
                found.append(Piece(typography.normalize(part), before, after))
    return tuple(found)


def is_altered(quote: str) -> bool:
    """Whether a quote marks an omission or a change."""
    return bool(_OMISSION.search(quote) or _BRACKETED.search(quote))


def stands(quote: str, text: str) -> bool:
    """Whether the whole quote stands in a text as it is."""
    return typography.stands_in(quote, text)


def stands_altered(quote: str, text: str) -> bool:
    """Whether every piece of a marked quote stands in a text, one after the other and in whole words."""
    whole, at = typography.normalize(text), 0
    wanted = pieces(quote)
    for piece in wanted:
        at = _after(piece, whole, at)
        if at < 0:
            return False
    return bool(wanted)


def _after(piece: Piece, whole: str, start: int) -> int:
    """Where a piece ends that begins at a place or behind it; -1 where there is none."""
    at = whole.find(piece.text, start)
    while at >= 0:
        end = at + len(piece.text)
        inside_before = not piece.cut_before and at > 0 and whole[at - 1].isalnum() and piece.text[0].isalnum()
        inside_after = not piece.cut_after and end < len(whole) and whole[end].isalnum() and piece.text[-1].isalnum()
        if not inside_before and not inside_after:
            return end
        at = whole.find(piece.text, at + 1)
    return -1


def _how(quote: str, text: str) -> str | None:
    if stands(quote, text):
        return "exact"
    return "altered_as_marked" if is_altered(quote) and stands_altered(quote, text) else None


def check(quote: str, pages: Mapping[int, PageText], cited: Sequence[int]) -> Verdict:
    """Looks for a quote on the pages cited, then on all others. Without a cited page, any page will do."""
    here = [pages.get(n) for n in cited]
    if cited and any(p is None for p in here):
        return Verdict("not_loaded")
    if cited and any(p is not None and p.text is None for p in here):
        return Verdict("no_text")
    if cited:
        found = _how(quote, "\n".join(p.text for p in here if p is not None and p.text is not None))
        if found:
            return Verdict(found, cited[0])
    elsewhere = _elsewhere(quote, pages, cited)
    if elsewhere is not None:
        found, page = elsewhere
        return Verdict("wrong_page" if cited else found, page)
    return _not_found(quote, pages, here)


def _elsewhere(quote: str, pages: Mapping[int, PageText], cited: Sequence[int]) -> tuple[str, int] | None:
    for number in sorted(pages):
        text = pages[number].text
        found = None if number in cited or text is None else _how(quote, text)
        if found:
            return found, number
    return None


def _not_found(quote: str, pages: Mapping[int, PageText], here: Sequence[PageText | None]) -> Verdict:
    hint = nearest(quote, pages)
    looked_at = [p for p in here if p is not None] or list(pages.values())
    if any(p.ocr for p in looked_at):
        return Verdict("ocr_differs", hint=hint)
    if not any(p.text for p in looked_at):
        return Verdict("no_text" if looked_at else "not_loaded")
    return Verdict("misquote", hint=hint)


def nearest(quote: str, pages: Mapping[int, PageText]) -> Hint | None:
    """The passage that is most like a quote. It is a hint where to look and never a result.

    Only its beginning is looked for, on the few pages that share most words with it: a likeness costs the product of both lengths."""
    wanted = typography.normalize(quote)[:_HINT_CHARS]
    best: tuple[float, int, str] | None = None
    for number, text in _alike(wanted, pages):
        found = fuzz.partial_ratio_alignment(wanted, text, score_cutoff=best[0] if best else _HINT_SCORE)
        if found is not None and (best is None or found.score > best[0]):
            best = (found.score, number, text[found.dest_start : found.dest_end])
    return Hint(best[1], best[2]) if best else None


def _alike(wanted: str, pages: Mapping[int, PageText]) -> list[tuple[int, str]]:
    """The pages that share most words with a quote, normalized, and no longer than can be compared in time."""
    words = set(_WORD.findall(wanted.lower()))
    shared = [(len(words & set(_WORD.findall(p.text.lower()))), -n, p.text) for n, p in pages.items() if p.text]
    best = heapq.nlargest(_HINT_PAGES, (s for s in shared if s[0]), key=lambda s: s[:2])
    return [(-number, typography.normalize(text[:_HINT_PAGE_CHARS])) for _, number, text in best]
