"""Makes the rows that checks leave and answers rest on: brief, authorities, cite audits, stipulations, errata, outcomes."""

from ops.importers import receipts
from ops.importers.assemble import Index, stands
from ops.importers.library import Library, count_checks
from ops.importers.pages import ImportFailure
from ops.importers.rows import TABLES, Source

NAME = "checks.json"
_STIPULATION = ("kind", "title", "stipulated_by", "filed_on", "entry_number", "order_entry_number")
_OUTCOME = ("disposition", "for_whom", "relief", "amount", "decided_on", "decided_by", "appealed", "note")
_ERRATUM = ("page", "line", "from_text", "to_text", "reason", "signed_on")
_AUTHORITY = ("volume", "reporter", "page_from", "page_to", "found", "name", "court", "year", "basis", "checked_at")


def build(library: Library, index: Index) -> None:
    """Every such row that the index of a matter names."""
    _transcripts(library, index)
    receipts.build(library, index)
    for position, spec in enumerate(index.get("stipulations", ()), 1):
        _placed(library, "stipulations", position, spec, _STIPULATION)
    for position, spec in enumerate(index.get("outcomes", ()), 1):
        _placed(library, "matter_outcomes", position, spec, _OUTCOME)
    for spec in index.get("authorities", ()):
        key = (spec["volume"], spec["reporter"], spec["page_from"])
        library.rows.add(
            "authorities", key, " ".join(map(str, key)), Source(as_of=spec["checked_at"]), {k: spec.get(k) for k in _AUTHORITY}
        )
    for spec in index.get("cite_audits", ()):
        _audit(library, spec)
    for spec in index.get("briefs", ()):
        _brief(library, spec)


def _placed(library: Library, table: str, position: int, spec: Index, columns: tuple[str, ...]) -> None:
    """A row that quotes words of a paper."""
    if spec.get("quote"):
        library.report += count_checks(f"{table} {position}", [(spec["quote"][:60], stands(library, spec, spec["quote"]))])
    values = {"position": position, **{k: spec.get(k) for k in columns}}
    if table == "stipulations":
        values["document_id"] = library.papers[spec["own_document"]].document_id if spec.get("own_document") else None
    subject = spec.get("title") or str(spec.get("disposition")).replace("_", " ").capitalize()
    library.rows.add(table, (position,), subject, library.place(spec), values)


def _transcripts(library: Library, index: Index) -> None:
    """Trial transcripts, and what witnesses corrected in their depositions."""
    rows = library.rows
    for spec in index.get("transcripts", ()):
        paper = library.papers[spec["document"]]
        values = {
            "kind": spec["kind"],
            "volume": spec["volume"],
            "short_cite": paper.short_cite,
            "taken_on": spec["taken_on"],
            "certified": None,
        }
        ids = {"document_id": paper.document_id, "document_version_id": paper.version_id}
        rows.add(
            "transcripts", (spec["document"],), paper.title, paper.whole(), {"witness": None, "legacy_designations": None, **values, **ids}
        )
    for position, spec in enumerate(index.get("errata", ()), 1):
        paper = library.papers[spec["transcript"]]
        place = paper.at(spec["page"], quote=spec["from_text"])
        values = {"transcript_id": rows.id("transcripts", spec["transcript"]), **{k: spec.get(k) for k in _ERRATUM}}
        rows.add("errata", (spec["transcript"], position), f"Erratum to {place.locator}", place, values)


def _audit(library: Library, spec: Index) -> None:
    rows, paper = library.rows, library.papers[spec["document"]]
    counts = {k: spec[k] for k in ("ran_at", "citations_found", "authorities_found", "not_parsed")}
    audit_id = rows.id("cite_audits", spec["document"], spec["ran_at"])
    rows.plain("cite_audits", audit_id, {"document_version_id": paper.version_id, **counts})
    for position, found in enumerate(spec["findings"], 1):
        place = paper.at(found["page"], quote=found["cite"])
        values = {k: found.get(k) for k in ("kind", "cite", "page", "expected", "closed_at", "closed_by", "closing_note")}
        rows.add(
            "cite_audit_findings",
            (audit_id, position),
            f"{found['kind'].replace('_', ' ').capitalize()}: {found['cite'][:80]}",
            Source(place.version_id, place.page_from, place.page_to, place.locator, place.quote, place.source_class, spec["ran_at"]),
            {"audit_id": audit_id, "document_version_id": paper.version_id, **values},
        )


def _brief(library: Library, spec: Index) -> None:
    rows = library.rows
    source = Source(as_of=spec["computed_at"])
    values = {k: spec[k] for k in ("title", "composed_by", "computed_at")}
    brief_id = rows.add("matter_briefs", (spec["title"], spec["computed_at"]), spec["title"], source, values)
    known = {row["urn"] for row in rows.tables["provenance"]}
    for position, section in enumerate(spec["sections"], 1):
        cites = [_urn(library, *cite) for cite in section["cites"]]
        if lost := next((c for c, urn in zip(section["cites"], cites, strict=True) if urn not in known), None):
            raise ImportFailure(f"the brief cites {lost}, which is no row of the matter.")
        text = {"heading": section["heading"], "text": section["text"]}
        rows.plain(
            "brief_sections",
            rows.id("brief_sections", brief_id, position),
            {"brief_id": brief_id, "position": position, "cites": cites, **text},
        )


def _urn(library: Library, table: str, *key: object) -> str:
    return f"urn:substrate:record:{TABLES[table]}:{library.rows.id(table, *key)}"
