"""Places every passage of a matter among the others in meaning, where an embedding model is installed."""

from __future__ import annotations

from kit import embedding
from ops.importers.library import Library


def build(library: Library) -> None:
    """A vector for each passage of documents and of the firm's own work; nothing where no model is installed."""
    model = embedding.load()
    if model is None:
        library.report.append("no embedding model is installed: retrieval will search by words and likeness only")
        return
    rows = library.rows
    passages = [p for table in ("passages", "work_product_passages") for p in rows.tables.get(table, ())]
    for passage, vector in zip(passages, model.embed([p["text"] for p in passages]), strict=True):
        rows.tables["passage_vectors"].append(
            {
                "passage_id": passage["id"],
                "case_id": rows.case_id,
                "model": embedding.NAME,
                "vector": f"\\x{vector.hex()}",
                "recorded_by": rows.recorded_by,
            }
        )
    library.report.append(f"{len(passages)} passages embedded with {embedding.NAME}")
