"""Makes the rows that every matter has in common out of its index: parties, counsel, claims, facts, transcripts and designations."""

from collections.abc import Mapping
from typing import Any

from ops.importers.library import Library, count_checks
from ops.importers.pages import ImportFailure
from ops.importers.rows import Rows, Source

Index = Mapping[str, Any]
_STANCE = "supports"


def matter(library: Library, given: Index, index: Index, source: Source) -> None:
    """The matter itself."""
    own = index.get("matter", {})
    outcome = given.get("outcome")
    if isinstance(outcome, Mapping):
        outcome = "; ".join(str(outcome[k]) for k in ("kind", "relief", "settlement_reported", "order") if outcome.get(k))
    library.rows.matter_row(
        source,
        {
            "caption": given["caption"],
            "short_name": given.get("short_name") or own.get("short_name"),
            "court": given["court"],
            "court_id": given.get("court_id") or own.get("court_id"),
            "docket_number": given["docket_number"],
            "judge": given.get("judge"),
            "nature_of_suit": given.get("nature_of_suit"),
            "cause": given.get("cause"),
            "jury_demand": given.get("jury_demand"),
            "jurisdiction": given.get("jurisdiction_alleged") or own.get("jurisdiction"),
            "status": given.get("status") or own.get("status") or ("closed" if given.get("date_terminated") else "open"),
            "date_filed": given.get("date_filed") or own.get("date_filed"),
            "date_terminated": given.get("date_terminated") or own.get("date_terminated"),
            "outcome": outcome,
            "reported_as": given.get("reported_as") or own.get("reported_as"),
        },
    )


def party(rows: Rows, position: int, values: Index, source: Source) -> str:
    """One party."""
    return rows.add(
        "parties",
        (position, values["name"], values["party_type"]),
        values["name"],
        source,
        {
            "position": position,
            "name": values["name"],
            "printed_as": values.get("printed_as"),
            "party_type": values["party_type"],
            "capacity": values.get("capacity"),
            "description": values.get("description"),
            "date_joined": values.get("date_joined"),
            "date_terminated": values.get("date_terminated"),
        },
    )


def counsel(rows: Rows, position: int, values: Index, source: Source) -> str:
    """One appearance."""
    return rows.add(
        "counsel_appearances",
        (position, values["attorney"], values["appears_for"]),
        values["attorney"],
        source,
        {
            "position": position,
            "attorney": values["attorney"],
            "printed_as": values.get("printed_as"),
            "firm": values.get("firm"),
            "party_id": values.get("party_id"),
            "appears_for": values["appears_for"],
            "roles": list(values.get("roles", ())),
            "pro_se": values.get("pro_se", False),
            "date_appeared": values.get("date_appeared"),
            "date_terminated": values.get("date_terminated"),
        },
    )


def people(library: Library, index: Index) -> None:
    """Parties and counsel of a matter whose index names the page where each is printed."""
    ids: dict[str, str] = {}
    for position, values in enumerate(index.get("parties", ()), 1):
        ids[values["name"]] = party(library.rows, position, values, library.place(values))
    checks = [(v["name"], _stands(library, v, v.get("printed_as") or v["name"])) for v in index.get("parties", ())]
    for position, values in enumerate(index.get("counsel", ()), 1):
        counsel(library.rows, position, {**values, "party_id": ids.get(values.get("party", ""))}, library.place(values))
    checks += [(v["attorney"], _stands(library, v, v.get("printed_as") or v["attorney"])) for v in index.get("counsel", ()) if v.get("document")]
    library.report += count_checks(f"{len(ids)} parties, {len(index.get('counsel', ()))} appearances", checks)


def _stands(library: Library, place: Index, quote: str) -> bool | None:
    page_from = place["page"] if "page" in place else place["page_from"]
    return library.papers[place["document"]].holds(quote, page_from, place.get("page_to"))


def claims(library: Library, given: Index, index: Index) -> dict[str, str]:
    """Claims with their elements; returns the ids of the elements by code."""
    places, elements = index.get("claims", {}), index.get("elements", {})
    ids: dict[str, str] = {}
    checks: list[tuple[str, bool | None]] = []
    for position, claim in enumerate(given.get("claims", ()), 1):
        place = places[claim["id"]]
        checks.append((claim["id"], _stands(library, place, place["pleaded_as"])))
        claim_id = library.rows.add(
            "claims",
            (claim["id"],),
            claim["id"],
            library.place(place, place["pleaded_as"]),
            {
                "position": position,
                "code": claim["id"],
                "kind": "claim",
                "name": claim["name"],
                "pleaded_as": place["pleaded_as"],
                "asserted_by": places.get("asserted_by"),
                "asserted_against": places.get("asserted_against"),
            },
        )
        for order, element in enumerate(claim["elements"], 1):
            own = elements[element["id"]]
            checks.append((element["id"], _stands(library, own, own["quote"])))
            ids[element["id"]] = library.rows.add(
                "claim_elements",
                (element["id"],),
                element["id"],
                library.place(own),
                {
                    "claim_id": claim_id,
                    "position": order,
                    "code": element["id"],
                    "text": own["text"],
                    "burden": own.get("burden"),
                    "authority": own.get("authority"),
                },
            )
    library.report += count_checks(f"{len(given.get('claims', ()))} claims, {len(ids)} elements", checks)
    return ids


def facts(library: Library, records: list[Index], index: Index, elements: Mapping[str, str]) -> None:
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
            "stance": given.get("stance", _STANCE),
            "under_oath": given.get("under_oath"),
        },
    )
    return _stands(library, given, given["quote"])


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


def depositions(library: Library, index: Index) -> None:
    """Transcripts of depositions, the register of designations over them, and older sidecars."""
    rows = library.rows
    sidecars: dict[str, list[Index]] = {}
    for entry in index.get("legacy_designations", ()):
        sidecars.setdefault(entry["transcript"], []).append({k: v for k, v in entry.items() if k != "transcript"})
    ids: dict[str, str] = {}
    for spec in index["documents"]:
        if spec["reader"] == "deposition":
            ids[spec["key"]] = _transcript(library, spec, sidecars.get(spec["key"]))
    checks: list[tuple[str, bool | None]] = []
    for position, given in enumerate(index.get("designations", ()), 1):
        if given["transcript"] not in ids:
            raise ImportFailure(f"designation {position} names the transcript {given['transcript']}, which is not among the depositions.")
        paper = library.papers[given["transcript"]]
        place = paper.at(given["page_from"], given["page_to"], given["opening_words"])
        checks.append((str(place.locator), paper.holds(given["opening_words"], given["page_from"], given["page_to"])))
        rows.add(
            "designations",
            (given["transcript"], position),
            f"Designation {place.locator}",
            place,
            {
                "transcript_id": ids[given["transcript"]],
                "note": index.get("designation_note"),
                **{k: given.get(k) for k in ("page_from", "line_from", "page_to", "line_to", "side", "kind", "opening_words", "objection", "ruling")},
            },
        )
    library.report += count_checks(f"{len(ids)} depositions, {len(index.get('designations', ()))} designations", checks)


def _transcript(library: Library, spec: Index, sidecar: list[Index] | None) -> str:
    paper = library.papers[spec["key"]]
    return library.rows.add(
        "transcripts",
        (spec["key"],),
        spec["title"],
        paper.whole(),
        {
            "document_id": paper.document_id,
            "document_version_id": paper.version_id,
            "kind": "deposition",
            "witness": spec["witness"],
            "short_cite": paper.short_cite,
            "taken_on": spec["document_date"],
            "volume": None,
            "certified": None,
            "legacy_designations": sidecar,
        },
    )
