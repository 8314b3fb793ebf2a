"""Makes the rows of depositions: transcripts, the register of designations over them, and their older sidecars."""

from ops.importers.assemble import Index
from ops.importers.library import Library, count_checks
from ops.importers.pages import ImportFailure

_DESIGNATION = ("page_from", "line_from", "page_to", "line_to", "side", "kind", "opening_words", "objection", "ruling")


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
                **{column: given.get(column) for column in _DESIGNATION},
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
