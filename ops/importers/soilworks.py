"""Imports Soilworks v. Midwest: the docket, its people, and the deadlines that its orders set."""

import re
from dataclasses import replace
from datetime import date
from typing import Any

from ops.importers import assemble, docket, facts
from ops.importers.assemble import Index
from ops.importers.docket import CAPTION_UNIT, Docket, Entry, Party
from ops.importers.library import Library, Paper, count_checks
from ops.importers.pages import ImportFailure, Reading
from ops.importers.rows import Source

_STATUSES = {"met", "held", "passed", "superseded", "pending"}
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")


def rows(library: Library, given: Index, index: Index) -> None:
    """Every row of the matter."""
    file = library.read("docket.json")
    sheet = docket.read(file.name, file.text(), frozenset(int(n) for n in given["sealed_entries"]))
    spec = {**index["docket"], "reader": "docket", "source_class": "public_record", "document_date": _iso(sheet.last_day)}
    units = docket.units(sheet)
    paper = library.register(spec, [file], Reading(units, len(units), (), sheet.remarks))
    own = {"matter": {"jurisdiction": None, "status": None}}
    assemble.matter(library, given, own, paper.at(CAPTION_UNIT, quote=sheet.caption["docket_number"]))
    _people(library, sheet, paper)
    ids = _entries(library, sheet, paper)
    _deadlines(library, given["deadlines"], paper, ids)
    for fact in index["facts"]:
        if any(_withheld(paper, a["entry"]) for a in fact["assertions"]):
            raise ImportFailure(f"{fact['fact_id']} quotes an entry whose text is not loaded: a sealed entry cannot stand behind a fact.")
    found = [{**f, "assertions": [{**a, "document": spec["key"], "page": a["entry"]} for a in f["assertions"]]} for f in index["facts"]]
    facts.facts(library, found, index, {})


def _iso(day: date | None) -> str | None:
    return day.isoformat() if day else None


def _midnight(day: date | None) -> str | None:
    return f"{day.isoformat()}T00:00:00Z" if day else None


def _people(library: Library, sheet: Docket, paper: Paper) -> None:
    position = 0
    for order, found in enumerate(sheet.parties, 1):
        where = paper.at(found.unit)
        values = {
            "name": found.name,
            "party_type": found.party_type,
            "description": found.description,
            "date_terminated": _iso(found.terminated),
        }
        party_id = assemble.party(library.rows, order, values, where)
        for attorney in found.attorneys:
            position += 1
            assemble.counsel(library.rows, position, _appearance(attorney, found, party_id), where)
    library.report.append(f"{len(sheet.parties)} parties, {position} appearances")


def _appearance(attorney: docket.Attorney, party: Party, party_id: str) -> dict[str, Any]:
    return {
        "attorney": attorney.name,
        "printed_as": attorney.printed_as if attorney.printed_as != attorney.name else None,
        "firm": attorney.firm,
        "party_id": party_id,
        "appears_for": party.name,
        "roles": attorney.roles,
        "pro_se": attorney.pro_se,
        "date_terminated": _iso(attorney.terminated),
    }


def _entries(library: Library, sheet: Docket, paper: Paper) -> dict[int, str]:
    ids: dict[int, str] = {}
    for position, entry in enumerate(sheet.entries, 1):
        ids[entry.number] = _entry(library, entry, position, paper)
    attached = sum(len(e.attachments) for e in sheet.entries)
    library.report.append(
        f"{len(ids)} docket entries, {attached} attachments, {sum(e.corrected_by is not None for e in sheet.entries)} disregarded"
    )
    return ids


def _entry(library: Library, entry: Entry, position: int, paper: Paper) -> str:
    where = paper.at(entry.number)
    when = _midnight(entry.entered or entry.filed) or paper.as_of
    entry_id = library.rows.add(
        "docket_entries",
        (entry.number,),
        f"ECF No. {entry.number}",
        _dated(where, when),
        {
            "position": position,
            "entry_number": entry.number,
            "date_filed": _iso(entry.filed),
            "date_entered": _iso(entry.entered),
            "kind": entry.kind,
            "text": entry.text,
            "sealed": entry.sealed,
            "text_only": entry.text_only,
            "modification_note": entry.modification_note,
            "pacer_doc_id": entry.pacer_doc_id,
            "refers_to": list(entry.refers_to),
            "corrected_by": entry.corrected_by,
        },
    )
    for attachment in entry.attachments:
        library.rows.add(
            "docket_attachments",
            (entry.number, attachment.number),
            f"ECF No. {entry.number}-{attachment.number}",
            _dated(where, when),
            {
                "docket_entry_id": entry_id,
                "attachment_number": attachment.number,
                "description": attachment.description,
                "pacer_doc_id": attachment.pacer_doc_id,
            },
        )
    return entry_id


def _dated(source: Source, when: str | None) -> Source:
    return replace(source, as_of=when)


def day_forms(day: date) -> tuple[str, ...]:
    """How a clerk writes a day: 1/9/2009, 01/09/2009, January 9, 2009."""
    return (
        f"{day.month}/{day.day}/{day.year}",
        f"{day.month:02d}/{day.day:02d}/{day.year}",
        f"{_MONTHS[day.month - 1]} {day.day}, {day.year}",
    )


def setting_words(text: str, day: date) -> str | None:
    """The clause of an entry that names a day: what a deadline is read from."""
    hits = [(text.find(form), form) for form in day_forms(day) if form in text]
    if not hits:
        return None
    at, form = min(hits)
    starts = [m.end() for m in re.finditer(r"(?:[.;:]|ORDERED) (?=[A-Z])", text[:at])]
    end = re.compile(r"[.;](?= [A-Z(]|$)").search(text, at + len(form))
    return text[starts[-1] if starts else 0 : end.start() + 1 if end else len(text)].strip()


def _deadlines(library: Library, deadlines: list[Index], paper: Paper, ids: dict[int, str]) -> None:
    keys = [(d["title"], d["due"], int(d["source"]["docket_entry"])) for d in deadlines]
    made = {key: library.rows.id("deadlines", *key) for key in keys}
    checks: list[tuple[str, bool | None]] = []
    for given, key in zip(deadlines, keys, strict=True):
        title, due, entry = key
        day, _, time = due.partition("T")
        words = setting_words(given["source"]["text"], date.fromisoformat(day))
        # What a sealed entry says is not repeated here either.
        quote = None if _withheld(paper, entry) else words or given["source"]["text"]
        checks.append((f"{title}, {due}", paper.holds(words, entry) if words else False))
        by = int(given["superseded_by"]["docket_entry"]) if given["superseded_by"] else None
        status, note = _status(given["status"])
        library.rows.add(
            "deadlines",
            key,
            f"{title}, {due.replace('T', ' ')}",
            paper.at(entry, quote=quote),
            {
                "title": title,
                "due_date": day,
                "due_time": time or None,
                "source_kind": "order",
                "source_entry_id": ids[entry],
                "rule": None,
                "status": status,
                "status_note": note,
                "superseded_by_entry_id": ids[by] if by else None,
                "superseded_by_id": next((made[k] for k in keys if by and k[0] == title and k[2] == by), None),
                "responsible": None,
            },
        )
    chained = sum(d["superseded_by"] is not None for d in deadlines)
    library.report += count_checks(f"{len(deadlines)} deadlines, {chained} of them superseded or vacated", checks)


def _withheld(paper: Paper, entry: int) -> bool:
    return entry not in paper.pages or paper.pages[entry].text is None


def _status(words: str) -> tuple[str, str | None]:
    """Our word for a status, and the index's own words where they say more."""
    if words in _STATUSES:
        return words, None
    return ("vacated" if words.startswith("vacated") else "unclear"), words
