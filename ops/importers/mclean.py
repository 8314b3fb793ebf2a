"""Imports McLean v. Arkansas: pleadings, opinion, statute, depositions and trial transcript, with facts, exhibits and objections."""

import re
from dataclasses import replace
from typing import Any

from kit import typography
from ops.importers import assemble, facts, testimony
from ops.importers.assemble import Index
from ops.importers.library import Library, Paper, count_checks
from ops.importers.rows import Source

_POSTURES = {"stipulated": "undisputed_stipulated", "admitted": "undisputed_admitted"}
_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen"),
    *("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_INDEX_PAGES = {"II": 241, "IV": 707}


def rows(library: Library, given: Index, index: Index) -> None:
    """Every row of the matter."""
    for spec in index["documents"]:
        library.load(spec)
    own = index["matter"]
    assemble.matter(library, given, index, library.place(own))
    for spec in index["withheld_documents"]:
        library.withheld(spec, library.place(spec["source"]))
    assemble.people(library, index)
    elements = assemble.claims(library, given, index)
    stipulated = [{**_with_keys(f), "basis": "Joint Stipulation of Fact, decided for demonstration"} for f in given["facts"]]
    others = [{**_with_keys(f), "basis": f.get("basis") or "Decided for demonstration"} for f in index["facts"]]
    facts.facts(library, [*stipulated, *others], index, elements)
    testimony.depositions(library, index)
    days = index["trial_days"]
    _exhibits(library, given["exhibits"], days)
    _objections(library, given["trial_objections"], days)


def _with_keys(fact: Index) -> dict[str, Any]:
    """A fact whose assertions name their document by key, and its posture in our words."""
    assertions = [{**a, "document": _key(a["document"])} for a in fact["assertions"]]
    return {**fact, "assertions": assertions, "posture": _POSTURES.get(fact["posture"], fact["posture"])}


def _key(document: str) -> str:
    return "stipulation" if document == "pleadings/joint_stipulation_of_fact.pdf" else document


def in_words(number: int) -> str:
    """A number below a hundred as a reporter spells it: "ninety-four"."""
    if number < len(_ONES):
        return _ONES[number]
    tens, ones = divmod(number, 10)
    return _TENS[tens - 2] + (f"-{_ONES[ones]}" if ones else "")


def find_offer(text: str, first: int, last: int) -> str | None:
    """The words of a page that name an exhibit, or both ends of a range of exhibits."""
    page = typography.normalize(text)
    forms = rf"(?:{first}|{in_words(first)})" if first < 100 else str(first)
    patterns = [rf"Exhibits?,? (?:Number |No\. )?{forms}\b", rf"Number {forms}\b"]
    if last != first:
        whole = [rf"Exhibits? (?:Numbers? )?{first} through {last}\b", rf"Exhibits? {first}, [\d, ]{{0,20}}and {last}\b"]
        patterns = [*whole, *patterns, rf"Exhibits? \d{{1,3}} through {last}\b"]
    found = (re.search(p, page, re.IGNORECASE) for p in patterns)
    return next((m[0] for m in found if m), None)


def _day(days: list[Index], page: int) -> str | None:
    return next((d["date"] for d in days if d["page_from"] <= page <= d["page_to"]), None)


def _on_day(source: Source, day: str | None) -> Source:
    """A place in the transcript, true on the day of trial that it records."""
    return replace(source, as_of=f"{day}T00:00:00Z") if day else source


def _exhibits(library: Library, exhibits: list[Index], days: list[Index]) -> None:
    trial = library.papers["trial"]
    checks: list[tuple[str, bool | None]] = []
    for position, given in enumerate(exhibits, 1):
        first, last = (int(n) for n in (given["exhibit_no"].split("-") * 2)[:2])
        name = f"{'Pls.' if given['offered_by'] == 'plaintiffs' else 'Defs.'}' Ex. {given['exhibit_no']}"
        page = trial.pages.get(given["offered_page"])
        words = find_offer(page.text, first, last) if page and page.text else None
        # Where the page does not name the exhibit, the check must fail there: so its plain name is what has to be found.
        quote = words or f"Exhibit {given['exhibit_no']}"
        checks.append((f"{name} at Tr. {given['offered_page']}", trial.holds(quote, given["offered_page"])))
        row_id = library.rows.add(
            "exhibits",
            (given["offered_by"], given["exhibit_no"]),
            name,
            _on_day(trial.at(given["offered_page"], quote=quote), _day(days, given["offered_page"])),
            {
                "position": position,
                "exhibit_number": given["exhibit_no"],
                "number_from": first,
                "number_to": last,
                "side": given["offered_by"],
                "description": given.get("description"),
                "document_id": None,
                "offered_page": given["offered_page"],
                "received_page": given["received_page"],
                "volume": given["volume"],
                "objection": None,
                "ruling": None,
                "stipulated": None,
            },
        )
        _index_line(library, trial, row_id, name, given, checks)
    library.report += count_checks(f"{len(exhibits)} exhibits", checks)


def _index_line(library: Library, trial: Paper, row_id: str, name: str, given: Index, checks: list[tuple[str, bool | None]]) -> None:
    """The line of the transcript's own exhibit index, where that page is loaded."""
    page = _INDEX_PAGES.get(given["volume"])
    if page is None:
        return
    number = given["exhibit_no"].replace("-", " - ")
    pages = f"{given['offered_page']} {given['received_page']}" if given["received_page"] else str(given["offered_page"])
    line = f"{given['offered_by'].capitalize()}' No. {number} {pages}"
    checks.append((f"{name} in the index at Tr. {page}", trial.holds(line, page)))
    library.rows.source("exhibits", row_id, name, trial.at(page), "index")


def _objections(library: Library, objections: list[Index], days: list[Index]) -> None:
    trial = library.papers["trial"]
    checks: list[tuple[str, bool | None]] = []
    for given in objections:
        page, first, last = given["transcript_page"], given["line_from"], given["line_to"]
        locator = f"Tr. {page}:{first}-{last}"
        checks.append((locator, trial.holds(given["text_as_typed"], page)))
        counsel, _, side = given["objecting_counsel"].partition(" (")
        day = _day(days, page)
        row_id = library.rows.add(
            "trial_objections",
            (page, first),
            locator,
            _on_day(trial.at(page), day),
            {
                "transcript_page": page,
                "line_from": first,
                "line_to": last,
                "trial_date": day,
                "witness": given.get("witness"),
                "objecting_counsel": counsel,
                "objecting_side": side.rstrip(")") or None,
                "ground": given["ground"],
                "text_as_typed": given["text_as_typed"],
                "ruling": given["ruling"],
                "court_words": given["ruling_text"],
                "ruling_page": given["ruling_page"],
                "ruling_line": given["ruling_line"],
                "note": given["note"],
            },
        )
        if given["ruling_page"]:
            checks.append((f"the court at Tr. {given['ruling_page']}", trial.holds(given["ruling_text"], given["ruling_page"])))
            library.rows.source("trial_objections", row_id, locator, trial.at(given["ruling_page"]), "ruling")
    library.report += count_checks(f"{len(objections)} objections, {sum(o['ruling'] is None for o in objections)} without a ruling", checks)
