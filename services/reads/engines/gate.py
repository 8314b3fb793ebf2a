"""The citation gate over one exact version of a document: stored findings, and the cites of its text against the ledger of authorities.

It is for tools that run on the firm's credential; a free tool that can reach this module breaks the cost contract. It never says
"clean": that nothing is recorded is not evidence that a check ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from services.reads.engines import authorities, citations
from services.reads.engines.authorities import Finding, Known

DEFECTS = frozenset({"authority_not_found", "name_mismatch", "court_or_year_mismatch", "misquote", "wrong_pincite", "pincite_out_of_range"})


@dataclass(frozen=True, slots=True)
class Gate:
    """What the gate says of a version."""

    status: str  # no_findings_recorded or defects_open
    open_defects: int
    citations_found: int
    authorities_found: int
    cite_like_strings_not_parsed: int
    matches: int
    not_checked: int
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]


def check(text: str, open_findings: Sequence[str], ledger: Sequence[Known]) -> Gate:
    """Runs the gate over the text of a version.

    `open_findings` are the kinds of the findings that an audit stored for it and nobody closed.
    """
    found = citations.extract(text)
    checked = [authorities.check(a, ledger) for a in found.authorities]
    fresh = tuple(f for f in checked if f.kind in DEFECTS)
    stored = sum(kind in DEFECTS for kind in open_findings)
    # An audit stored what this run finds again: the larger number is the one that no reader may miss.
    defects = max(stored, len(fresh))
    unchecked = sum(f.kind == "not_checked" for f in checked)
    return Gate(
        status="defects_open" if defects else "no_findings_recorded",
        open_defects=defects,
        citations_found=len(found.citations),
        authorities_found=len(found.authorities),
        cite_like_strings_not_parsed=len(found.not_parsed),
        matches=sum(f.kind == "matches" for f in checked),
        not_checked=unchecked,
        findings=fresh,
        notes=_notes(found, unchecked),
    )


def _notes(found: citations.Extraction, unchecked: int) -> tuple[str, ...]:
    notes = []
    if found.not_parsed:
        notes.append(f"{len(found.not_parsed)} strings look like a cite and were not parsed: they were not checked.")
    if unchecked:
        notes.append(
            f"{unchecked} of {len(found.authorities)} authorities are not in the firm's ledger or are no cases: they were not checked."
        )
    if found.truncated:
        notes.append("The text is longer than what the gate reads; the rest was not checked.")
    return tuple(notes)
