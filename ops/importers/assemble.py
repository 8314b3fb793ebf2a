"""Makes the rows that every matter has in common out of its index: the matter itself, parties, counsel and claims."""

from collections.abc import Mapping
from typing import Any

from ops.importers.library import Library, count_checks
from ops.importers.rows import Rows, Source

Index = Mapping[str, Any]
Checks = list[tuple[str, bool | None]]


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
        (values["name"], values["party_type"], values.get("capacity")),
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
        (values["attorney"], values["appears_for"], values.get("party_id")),
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
    checks: Checks = []
    for position, values in enumerate(index.get("parties", ()), 1):
        ids[values["name"]] = party(library.rows, position, values, library.place(values))
        checks += _printed(library, values, values["name"])
    for position, values in enumerate(index.get("counsel", ()), 1):
        counsel(library.rows, position, {**values, "party_id": ids.get(values.get("party", ""))}, library.place(values))
        checks += _printed(library, values, values["attorney"])
    library.report += count_checks(f"{len(ids)} parties, {len(index.get('counsel', ()))} appearances", checks)


def _printed(library: Library, values: Index, name: str) -> Checks:
    """Whether a name stands where the index says, if it says so."""
    return [(name, stands(library, values, values.get("printed_as") or name))] if values.get("document") else []


def stands(library: Library, place: Index, quote: str) -> bool | None:
    """Whether a quote stands where an index row says; None where that page is not loaded."""
    page_from = place["page"] if "page" in place else place["page_from"]
    return library.papers[place["document"]].holds(quote, page_from, place.get("page_to"))


def claims(library: Library, given: Index, index: Index) -> dict[str, str]:
    """Claims with their elements; returns the ids of the elements by code."""
    places = index.get("claims", {})
    ids: dict[str, str] = {}
    checks: Checks = []
    for position, claim in enumerate(given.get("claims", ()), 1):
        place = places[claim["id"]]
        checks.append((claim["id"], stands(library, place, place["pleaded_as"])))
        claim_id = library.rows.add(
            "claims",
            (claim["id"],),
            claim["id"],
            library.place(place),
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
            own = index["elements"][element["id"]]
            checks.append((element["id"], stands(library, own, own["quote"])))
            ids[element["id"]] = _element(library, claim_id, order, element["id"], own)
    library.report += count_checks(f"{len(given.get('claims', ()))} claims, {len(ids)} elements", checks)
    return ids


def _element(library: Library, claim_id: str, order: int, code: str, own: Index) -> str:
    """One thing that a claim takes to prove."""
    return library.rows.add(
        "claim_elements",
        (code,),
        code,
        library.place(own),
        {
            "claim_id": claim_id,
            "position": order,
            "code": code,
            "text": own["text"],
            "burden": own.get("burden"),
            "authority": own.get("authority"),
        },
    )
