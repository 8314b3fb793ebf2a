"""Makes the rows of the fact record: facts, the assertions behind them, their links to elements, and what a model proposed."""

from collections.abc import Mapping, Sequence

from ops.importers.assemble import Index, stands
from ops.importers.library import Library, count_checks
from ops.importers.rows import Rows, Source


def facts(library: Library, records: Sequence[Index], index: Index, elements: Mapping[str, str]) -> None:
    """Facts with their assertions, links and a model's proposals."""
    rows = library.rows
    known = {f["fact_id"]: rows.id("case_fact_records", f["fact_id"]) for f in records}
    checks: list[tuple[str, bool | None]] = []
    for fact in records:
        code, decided = fact["fact_id"], fact["posture"] != "not_decided"
        rows.add(
            "case_fact_records",
            (code,),
            code,
            Source(as_of=_as_of(library, fact)),
            {
                "code": code,
                "proposition": fact["proposition"],
                "event_date": fact.get("event_date") or index.get("event_dates", {}).get(code),
                "event_date_precision": "day" if fact.get("event_date") or code in index.get("event_dates", {}) else None,
                "posture": fact["posture"],
                "decided_by": library.reviewed_by if decided else None,
                "decided_at": index.get("decided_at") if decided else None,
                "basis": fact.get("basis") if decided else None,
                "note": fact.get("note"),
                "retired_at": fact.get("retired_at"),
                "retired_reason": fact.get("retired_reason"),
                "merged_into": known.get(fact.get("merged_into", "")),
            },
        )
        for position, assertion in enumerate(fact["assertions"], 1):
            checks.append((code, _assertion(library, code, known[code], position, assertion)))
        for element in fact["elements"]:
            rows.plain(
                "fact_element_links",
                rows.id("fact_element_links", code, element),
                {"fact_id": known[code], "element_id": elements[element], "role": "supports", "linked_by": library.reviewed_by},
            )
    for proposal in index.get("posture_proposals", ()):
        _proposal(rows, proposal, known)
    library.report += count_checks(f"{len(records)} facts", checks)


def _as_of(library: Library, fact: Index) -> str | None:
    whens = [library.papers[a["document"]].as_of for a in fact["assertions"]]
    return min((w for w in whens if w), default=None)


def _assertion(library: Library, code: str, fact_id: str, position: int, given: Index) -> bool | None:
    source = library.place(given)
    library.rows.add(
        "case_fact_assertions",
        (code, position),
        code,
        Source(locator=source.locator, source_class=given["source_class"], as_of=source.as_of),
        {
            "fact_id": fact_id,
            "position": position,
            "source_class": given["source_class"],
            "party": given.get("party"),
            "document_version_id": source.version_id,
            "page_from": source.page_from,
            "page_to": source.page_to,
            "quote": given["quote"],
            "stance": given.get("stance", "supports"),
            "under_oath": given.get("under_oath"),
        },
    )
    return stands(library, given, given["quote"])


def _proposal(rows: Rows, given: Index, facts_by_code: Mapping[str, str]) -> None:
    rows.plain(
        "fact_posture_proposals",
        rows.id("fact_posture_proposals", given["fact_id"], given["model"], given["proposed_at"]),
        {
            "fact_id": facts_by_code[given["fact_id"]],
            "model": given["model"],
            "proposed_posture": given["proposed_posture"],
            "basis": given["basis"],
            "proposed_at": given["proposed_at"],
        },
    )
