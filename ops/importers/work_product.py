"""Imports the firm's own memos and drafts: their text as it stands, cut at headings and paragraphs."""

from __future__ import annotations

from collections.abc import Iterator

from kit import limits
from ops.importers.assemble import Index
from ops.importers.library import Library
from ops.importers.pages import ImportFailure
from ops.importers.rows import Source


def build(library: Library, index: Index) -> None:
    """Every memo and draft that the index names."""
    found = [_one(library, spec) for spec in index.get("work_product", ())]
    if found:
        library.report.append(f"{len(found)} memos and drafts of the firm, {sum(found)} passages")


def _one(library: Library, spec: Index) -> int:
    file = library.read(spec["file"])
    text = file.text()
    when = f"{spec['written_on']}T00:00:00Z"
    values = {k: spec[k] for k in ("kind", "title", "author", "written_on", "version", "status")}
    source = Source(source_class="attorney_note", as_of=when)
    product = library.rows.add("work_products", (spec["key"],), spec["title"], source, {**values, "text": text, "sha256": file.sha256})
    position = 0
    for section, piece in passages(text):
        if piece not in text:
            raise ImportFailure(f"{file.name}: a passage is not the file's own text.")
        position += 1
        library.rows.add(
            "work_product_passages",
            (spec["key"], position),
            f"{spec['title']}, passage {position}",
            source,
            {"work_product_id": product, "position": position, "section": section, "text": piece},
        )
    return position


def passages(text: str) -> Iterator[tuple[str | None, str]]:
    """Paragraphs with the heading they stand under, each a piece of the text as it is."""
    section: str | None = None
    for paragraph in text.split("\n\n"):
        piece = paragraph.strip("\n")
        if piece.startswith("#"):
            section = piece.lstrip("# ").split("\n", 1)[0]
        elif piece:
            yield from ((section, part) for part in _parts(piece))


def _parts(piece: str) -> Iterator[str]:
    while len(piece) > limits.PASSAGE_MAX_CHARS:
        at = piece.rfind(" ", 1, limits.PASSAGE_MAX_CHARS + 1)
        cut = at if at > 0 else limits.PASSAGE_MAX_CHARS
        yield piece[:cut]
        piece = piece[cut:].lstrip(" ")
    yield piece
