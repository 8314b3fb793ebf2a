"""Makes the rows of the discovery record: load files received, productions served, redactions made, and validation of the review."""

import random
from hashlib import sha256
from typing import Any

import pypdfium2

from kit import limits
from ops.importers import loadfile
from ops.importers.assemble import Index
from ops.importers.library import Library
from ops.importers.loadfile import LoadFile, Member
from ops.importers.pages import File, ImportFailure
from ops.importers.rows import Source


def numbers(library: Library, imports: list[Index]) -> dict[str, Member]:
    """Which numbers, and which tier of confidentiality, load files give to titles: documents are numbered when they are registered."""
    found: dict[str, Member] = {}
    for spec in imports:
        for member in loadfile.read(library.read(spec["load_file"])).members:
            if member.title:
                found.setdefault(member.title, member)
                found.setdefault(f"{member.title}, {member.date}", member)
    return found


def build(library: Library, index: Index) -> None:
    """Every receipt that the index of a matter names."""
    for spec in index.get("imports", ()):
        _import(library, spec)
    for spec in index.get("productions", ()):
        _production(library, spec)
    for spec in index.get("redactions", ()):
        _redaction(library, spec)
    for spec in index.get("validation_runs", ()):
        _validation_run(library, spec)


def _at(when: str) -> Source:
    """A receipt is a row of ours: it cites no paper."""
    return Source(as_of=when)


def _import(library: Library, spec: Index) -> None:
    rows, file = library.rows, library.read(spec["load_file"])
    read = loadfile.read(file)
    images = library.read(spec["image_file"]) if spec.get("image_file") else None
    findings = [*read.findings, *(loadfile.check_images(images, read.members) if images else ())]
    import_id = rows.add(
        "inbound_imports",
        (spec["producing_party"], spec["volume"]),
        f"{spec['producing_party']}, {spec['volume']}",
        _at(spec["attempts"][-1]["at"]),
        {
            "producing_party": spec["producing_party"],
            "volume": spec["volume"],
            "received_on": spec.get("received_on"),
            "load_file_sha256": file.sha256,
            "image_file_sha256": images.sha256 if images else None,
            "member_set_sha256": read.member_set_sha256,
            "encoding": read.encoding,
            "delimiters": "field U+0014, quote U+00FE",
            "row_count": len(read.members),
            "findings": findings,
        },
    )
    matched = _members(library, import_id, read)
    for number, attempt in enumerate(spec["attempts"], 1):
        rows.plain("import_attempts", rows.id("import_attempts", import_id, number), {"import_id": import_id, "attempt": number, **attempt})
    library.report.append(f"{spec['volume']}: {len(read.members)} members, {matched} matched, {len(findings)} findings")


def _members(library: Library, import_id: str, read: LoadFile) -> int:
    by_title = {title: p for p in library.papers.values() for title in (p.title,)}
    seen: set[str] = set()
    matched = 0
    for position, member in enumerate(read.members[: limits.IMPORT_MEMBERS_MAX], 1):
        paper = by_title.get(member.title or "") or by_title.get(f"{member.title}, {member.date}")
        match = "duplicate" if member.bates_begin in seen else "matched" if paper else "unmatched"
        seen.add(member.bates_begin)
        matched += match == "matched"
        library.rows.plain(
            "import_members",
            library.rows.id("import_members", import_id, position),
            {
                "import_id": import_id,
                "position": position,
                "bates_begin": member.bates_begin,
                "bates_end": member.bates_end,
                "sha256": member.sha256,
                "match": match,
                "document_id": paper.document_id if paper and match == "matched" else None,
            },
        )
    return matched


def _production(library: Library, spec: Index) -> None:
    rows, number = library.rows, spec["bates_first"]
    production_id = rows.id("productions", spec["volume"])
    last = number
    for position, key in enumerate(spec["documents"], 1):
        paper = library.papers[key]
        last = number + len(paper.pages) - 1
        rows.tables["production_documents"].append(
            {
                "case_id": rows.case_id,
                "production_id": production_id,
                "position": position,
                "document_id": paper.document_id,
                "document_version_id": paper.version_id,
                "sha256": paper.sha256,
                "bates_begin": f"{spec['bates_prefix']}{number:06d}",
                "bates_end": f"{spec['bates_prefix']}{last:06d}",
            }
        )
        number = last + 1
    made = {k: spec[k] for k in ("volume", "format", "bates_prefix", "bates_first")}
    rows.add("productions", (spec["volume"],), f"Production {spec['volume']}", _at(spec["built_at"]), {**made, "bates_last": last})
    for order, receipt in enumerate(spec["served"], 1):
        values = {**receipt, "production_id": production_id}
        rows.add("service_receipts", (spec["volume"], order), f"Service of {spec['volume']}", _at(receipt["served_at"]), values)
    library.report.append(f"{spec['volume']}: {len(spec['documents'])} documents, {len(spec['served'])} services")


def _redaction(library: Library, spec: Index) -> None:
    paper, output = library.papers[spec["document"]], library.read(spec["output"])
    source = library.read(spec["source"])
    removed = _pages_that_lost_text(source, output)
    rows = library.rows
    rows.add(
        "redaction_receipts",
        (spec["document"], output.sha256),
        f"Redaction of {paper.title}",
        _at(spec["redacted_at"]),
        {
            "document_id": paper.document_id,
            "source_version_id": paper.version_id,
            "source_sha256": source.sha256,
            "derivative_id": rows.id("derivatives", output.sha256),
            "output_sha256": output.sha256,
            "region_count": spec["region_count"],
            "page_count": len(spec["pages"]),
            "pages": spec["pages"],
            "reason_codes": spec["reason_codes"],
            "text_check": "text_removed" if set(spec["pages"]) <= removed else "text_still_there",
            "redacted_by": spec["redacted_by"],
            "redacted_at": spec["redacted_at"],
        },
    )


def _pages_that_lost_text(source: File, output: File) -> set[int]:
    """The pages whose text layer is shorter in the output: what was drawn over and not taken away is still there."""
    before, after = (_letters(f) for f in (source, output))
    if len(before) != len(after):
        raise ImportFailure(f"{output.name} has {len(after)} pages, and its source {len(before)}.")
    return {n for n, (b, a) in enumerate(zip(before, after, strict=True), 1) if a < b}


def _letters(file: File) -> list[int]:
    document = pypdfium2.PdfDocument(file.content)
    try:
        return [len("".join(page.get_textpage().get_text_range().split())) for page in document]
    finally:
        document.close()


def _validation_run(library: Library, spec: Index) -> None:
    """A run with its items. What was coded is given by counts, and laid over the items in the order that the seed gives."""
    rows, report = library.rows, spec.get("report")
    given = {k: v for k, v in spec.items() if k not in ("items", "report")}
    run_id = rows.add(
        "validation_runs",
        (spec["code"],),
        f"Validation run {spec['code']}",
        _at(spec["drawn_at"]),
        {**given, "report": report, "report_sha256": sha256(report.encode()).hexdigest() if report else None},
    )
    items: list[dict[str, Any]] = [
        {"retrieved": i["retrieved"], "responsive": i["responsive"]} for i in spec["items"] for _ in range(i["count"])
    ]
    random.Random(spec["draw_seed"]).shuffle(items)  # noqa: S311 - the order of a sample, which must repeat
    for position, item in enumerate(items, 1):
        rows.plain("validation_items", rows.id("validation_items", run_id, position), {"run_id": run_id, "position": position, **item})
