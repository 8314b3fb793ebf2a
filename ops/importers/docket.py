"""Reads a docket as juriscraper writes it: parties, counsel and entries, each as a located unit of the docket sheet."""

import json
import re
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from ops.importers.pages import ImportFailure, Page

CAPTION_UNIT = 0
PARTY_UNITS = 100_000  # units that are no entries come after every entry number
_CAPTION = ("case_name", "docket_number", "court_id", "assigned_to_str", "nature_of_suit", "cause", "date_filed", "date_terminated")
_ENTERED = re.compile(r"\(Entered: (\d{2})/(\d{2})/(\d{4})\)")
_MODIFIED = re.compile(r"Modified on \d{1,2}/\d{1,2}/\d{2,4}.*?(?=\s*\(Entered:|$)", re.DOTALL)
_REFERS = re.compile(
    r"\b(?:re:?|granting|denying|part|the|to|in) (\d{1,4})(?= (?:[A-Z]|order\b))"
    r"|\b(?:docket|Dkt\.) ?#(\d{1,4})\b|\bDocket Entry (\d{1,4})\b",
)
_DISREGARD = re.compile(r"order at Docket Entry (\d{1,4}) was entered in error .* should be disregarded")
_TERMINATED = re.compile(r"TERMINATED: (\d{2})/(\d{2})/(\d{4})")
_SEALED = re.compile(r"\s*sealed\b", re.IGNORECASE)
_KINDS = (
    (
        "order",
        ("ORDER", "MINUTE ORDER", "AMENDED ORDER", "STIPULATED PROTECTIVE ORDER", "CASE MANAGEMENT ORDER", "SETTLEMENT CONFERENCE ORDER"),
    ),
    ("minute_entry", ("MINUTE ENTRY",)),
    ("motion", ("MOTION", "FIRST MOTION", "SECOND MOTION", "JOINT MOTION", "CONSENT MOTION", "EX PARTE MOTION")),
    ("notice_of_appeal", ("NOTICE OF INTERLOCUTORY APPEAL", "NOTICE OF APPEAL")),
    ("notice", ("NOTICE",)),
    ("response", ("RESPONSE",)),
    ("reply", ("REPLY",)),
    ("objection", ("OBJECTION",)),
    ("stipulation", ("STIPULATION", "JOINT STIPULATION")),
    ("complaint", ("COMPLAINT", "AMENDED COMPLAINT", "FIRST AMENDED COMPLAINT")),
    ("answer", ("ANSWER",)),
    ("memorandum", ("MEMORANDUM",)),
    ("statement", ("STATEMENT", "CORPORATE DISCLOSURE STATEMENT")),
    ("supplement", ("SUPPLEMENT", "ADDITIONAL ATTACHMENTS")),
    ("proposed", ("PROPOSED", "LODGED")),
    ("service", ("RETURN OF SERVICE", "CERTIFICATE OF SERVICE", "SUMMONS")),
    ("transcript", ("TRANSCRIPT",)),
    ("exhibit", ("EXHIBIT",)),
    ("report", ("REPORT", "JOINT REPORT")),
    ("mandate", ("MANDATE",)),
    ("returned_mail", ("MAIL RETURNED",)),
)


@dataclass(frozen=True, slots=True)
class Attorney:
    """One lawyer of one party."""

    name: str
    printed_as: str
    firm: str | None
    roles: tuple[str, ...]
    pro_se: bool
    terminated: date | None


@dataclass(frozen=True, slots=True)
class Party:
    """One party in one role."""

    unit: int
    name: str
    party_type: str
    description: str | None
    terminated: date | None
    attorneys: tuple[Attorney, ...]


@dataclass(frozen=True, slots=True)
class Attachment:
    """One attachment of an entry."""

    number: int
    description: str | None
    pacer_doc_id: str | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. A sealed one has lost its text already."""

    number: int
    filed: date | None
    entered: date | None
    text: str | None
    sealed: bool
    kind: str | None
    text_only: bool
    modification_note: str | None
    pacer_doc_id: str | None
    refers_to: tuple[int, ...]
    corrected_by: int | None
    attachments: tuple[Attachment, ...]


@dataclass(frozen=True, slots=True)
class Docket:
    """A whole docket."""

    caption: dict[str, str]
    parties: tuple[Party, ...]
    entries: tuple[Entry, ...]
    last_day: date | None
    remarks: tuple[str, ...]


def read(name: str, text: str, sealed: frozenset[int]) -> Docket:
    """The docket. Entries that say they are sealed, and those named in `sealed`, lose their text here."""
    try:
        raw: dict[str, Any] = json.loads(text)
        entries = [_entry(e, sealed) for e in raw["docket_entries"]]
        parties = tuple(_party(i, p) for i, p in enumerate(raw["parties"], 1))
        caption = {k: str(raw[k]) for k in _CAPTION if raw.get(k)}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ImportFailure(f"{name} is not a docket as juriscraper writes it: {error!r}") from None
    numbers = [e.number for e in entries]
    if len(set(numbers)) != len(numbers):
        raise ImportFailure(f"{name}: an entry number occurs twice.")
    told = {e.number for e in entries if e.sealed} - sealed
    by_list = sorted(n for n in sealed if not _says_sealed(raw, n))
    days = [d for e in entries for d in (e.filed, e.entered) if d]
    remarks = [f"{sum(e.sealed for e in entries)} sealed entries: their text is not loaded"]
    if told:
        remarks.append(f"entries {sorted(told)} say that they are sealed and are not on the matter's list of sealed entries")
    if by_list:
        remarks.append(f"entries {by_list} are withheld because the matter's list of sealed entries names them; their text does not say so")
    blank = [e.number for e in entries if e.text is None and not e.sealed]
    if blank:
        remarks.append(f"{len(blank)} entries have no text on the docket")
    return Docket(caption, parties, _corrected(entries), max(days, default=None), tuple(remarks))


def _says_sealed(raw: dict[str, Any], number: int) -> bool:
    return any(int(e["document_number"]) == number and _SEALED.match(e["description"]) for e in raw["docket_entries"])


def _day(value: str | None) -> date | None:
    return date.fromisoformat(value) if value else None


def _mdy(found: re.Match[str] | None) -> date | None:
    return date(int(found[3]), int(found[1]), int(found[2])) if found else None


def kind_of(text: str) -> str:
    """The kind of an entry, read off its first words."""
    words = text.lstrip("* ").upper()
    return next((kind for kind, starts in _KINDS if words.startswith(starts)), "other")


def _entry(raw: dict[str, Any], sealed: frozenset[int]) -> Entry:
    text = str(raw["description"] or "").strip()
    number = int(raw["document_number"])
    hidden = number in sealed or bool(_SEALED.match(text))
    shown = text if text and not hidden else ""
    noted = _MODIFIED.search(shown)
    return Entry(
        number=number,
        filed=_day(raw["date_filed"]),
        entered=_mdy(_ENTERED.search(text)),
        text=shown or None,
        sealed=hidden,
        kind=kind_of(shown) if shown else None,
        text_only="TEXT ENTRY ONLY" in text,
        modification_note=noted[0].strip() if noted else None,
        pacer_doc_id=raw.get("pacer_doc_id"),
        refers_to=tuple(sorted({int(n) for m in _REFERS.findall(shown) for n in m if n and int(n) < number})),
        corrected_by=None,
        attachments=tuple(
            Attachment(int(a["attachment_number"]), (None if hidden else (a["description"] or "").strip() or None), a.get("pacer_doc_id"))
            for a in raw.get("attachments", ())
        ),
    )


def _corrected(entries: list[Entry]) -> tuple[Entry, ...]:
    """Marks entries that a later one says to disregard; a number that is no entry is no reference."""
    known = {e.number for e in entries}
    by = {int(m[1]): e.number for e in entries if e.text and (m := _DISREGARD.search(e.text))}
    return tuple(replace(e, corrected_by=by.get(e.number), refers_to=tuple(n for n in e.refers_to if n in known)) for e in entries)


def _party(unit: int, raw: dict[str, Any]) -> Party:
    return Party(
        unit=PARTY_UNITS + unit,
        name=raw["name"].strip(),
        party_type=raw["type"].strip(),
        description=(raw.get("extra_info") or "").strip() or None,
        terminated=_day(raw.get("date_terminated")),
        attorneys=tuple(_attorney(a) for a in raw.get("attorneys", ())),
    )


def _attorney(raw: dict[str, Any]) -> Attorney:
    contact = [x.strip() for x in (raw.get("contact") or "").splitlines() if x.strip()]
    pro_se = "PRO SE" in contact
    roles = [r.strip() for r in raw.get("roles") or ()]
    ended = next((m for m in map(_TERMINATED.fullmatch, roles) if m), None)
    # Of the contact block only the firm is kept: addresses and numbers of people are nobody's evidence.
    return Attorney(
        name=re.sub(r"\s*,\s*$", "", raw["name"]).replace(" ,", ",").strip(),
        printed_as=raw["name"].strip(),
        firm=None if pro_se or not contact else contact[0],
        roles=tuple(r for r in roles if not _TERMINATED.fullmatch(r)),
        pro_se=pro_se,
        terminated=_mdy(ended),
    )


def units(docket: Docket) -> tuple[Page, ...]:
    """The docket sheet as located units: its caption, its entries by number, its parties. Sealed entries are units without text."""
    caption = Page(CAPTION_UNIT, "caption", "\n".join(docket.caption.values()))
    entries = [
        Page(e.number, f"entry {e.number}", text or None, "native" if text else "none") for e in docket.entries for text in [_entry_text(e)]
    ]
    parties = [Page(p.unit, f"party {p.unit - PARTY_UNITS}", _party_text(p)) for p in docket.parties]
    return (caption, *entries, *parties)


def _entry_text(entry: Entry) -> str:
    lines = [entry.text or "", *(f"{a.number} {a.description}" for a in entry.attachments if a.description)]
    return "\n".join(x for x in lines if x)


def _party_text(party: Party) -> str:
    lines = [party.name, party.party_type, party.description or ""]
    for a in party.attorneys:
        lines += [a.printed_as, a.firm or ("PRO SE" if a.pro_se else ""), *a.roles]
    return "\n".join(x for x in lines if x)
