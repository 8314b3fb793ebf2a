"""Loads matters into the record: reads their papers, checks every quote, and writes what is new or changed."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kit import db
from kit.object_store import FolderStore, ObjectStore
from ops.importers import checks, graph, mata, mclean, predictions, receipts, soilworks, vectors, work_product
from ops.importers.assemble import Index
from ops.importers.library import Library
from ops.importers.pages import ImportFailure, read_file
from ops.importers.rows import TABLES, Rows

RECORDED_BY = "import:ops.load/1"
_KEYS = {"matters": "case_id", "provenance": "urn", "kg_provenance": "urn", "passage_vectors": "passage_id"}
_UNCOUNTED = ("store_refreshes", "production_documents")  # rows without a key of their own
_REVIEWED_AT = "2026-11-01T09:00:00Z"
_IMPORTERS: dict[str, Callable[[Library, Index, Index], None]] = {"mclean": mclean.rows, "soilworks": soilworks.rows, "mata": mata.rows}


def prepare(name: str, folder: Path, store: ObjectStore | None = None) -> tuple[Rows, list[str]]:
    """Reads a matter and returns its rows with a report; the database is not needed for it."""
    given = _index(folder, "matter.json")
    index = _index(folder, "record.json")
    rows = Rows(name, RECORDED_BY)
    undated = index.get("undated_as_of")
    library = Library(folder, rows, index.get("attorney", "the firm"), _REVIEWED_AT, f"{undated}T00:00:00Z" if undated else None)
    library.store = store
    checked = _index(folder, checks.NAME)
    try:
        library.numbers = receipts.numbers(library, checked.get("imports", []))
        _IMPORTERS[name](library, given, index)
        graph.build(library)
        work_product.build(library, index)
        vectors.build(library)
        checks.build(library, checked)
    except KeyError as error:
        raise ImportFailure(f"{name}: the index lacks {error}.") from None
    return rows, library.report


def _index(folder: Path, name: str) -> dict[str, Any]:
    file = read_file(folder / name, f"{folder.name}/{name}")
    try:
        found = json.loads(file.text())
    except ValueError as error:
        raise ImportFailure(f"{file.name} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ImportFailure(f"{file.name} must hold one JSON object.")
    return found


async def write(connection: db.Connection[db.Record], rows: Rows) -> int:
    """Writes the rows of a matter in one transaction and returns how many were new or changed; when it was refreshed does not count."""
    written = 0
    async with connection.transaction():
        for table in TABLES:
            batch = uniform(rows.tables.get(table, []))
            if batch:
                count = await connection.fetchval("SELECT record.load_rows($1, $2::jsonb)", table, json.dumps(batch))
                written += 0 if table == "store_refreshes" else count
    return written


async def gone(connection: db.Connection[db.Record], rows: Rows) -> dict[str, int]:
    """Rows that an importer wrote before and that the sources no longer give, counted by table. They stay: others may cite them."""
    counts = {}
    for table, key in ((t, _KEYS.get(t, "id")) for t in TABLES if t not in _UNCOUNTED):
        keys = [row[key] for row in rows.tables.get(table, ())]
        counts[table] = await connection.fetchval("SELECT record.left_over($1, $2, $3)", table, rows.case_id, keys)
    return {table: count for table, count in counts.items() if count}


def uniform(batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same rows, each with every column that one of them has."""
    columns = {c for row in batch for c in row}
    return [{c: row.get(c) for c in sorted(columns)} for row in batch]


async def load(dsn: str, data: Path, names: Iterable[str], tell: Callable[[str], None], store: ObjectStore | None = None) -> dict[str, str]:
    """Loads matters and returns their ids by name. Files of documents go to the store before the rows that cite them."""
    made: dict[str, str] = {}
    connection = await db.connect_one(dsn)
    try:
        for name in names:
            began = time.monotonic()
            rows, report = await asyncio.to_thread(prepare, name, data / name, store)
            rows.refreshed(datetime.now(UTC).isoformat())
            written = await write(connection, rows)
            total = sum(len(batch) for table, batch in rows.tables.items() if table != "store_refreshes")
            tell(f"{name}: {total} rows, {written} new or changed, {time.monotonic() - began:.1f} s")
            for line in report:
                tell(f"  {line}")
            if stayed := await gone(connection, rows):
                counted = ", ".join(f"{count} {table}" for table, count in stayed.items())
                tell(f"  rows that are gone from the source and stay in the record: {counted}")
            made[name] = rows.case_id
        if set(made) == set(_IMPORTERS):
            ledger = predictions.rows(read_file(data / predictions.NAME, predictions.NAME), made, RECORDED_BY)
            tell(f"ledger of predictions: {len(ledger)} rows, {await predictions.write(connection, ledger)} new")
    finally:
        await connection.close()
    return made


def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(
        prog="python -m ops.load",
        description=__doc__,
        epilog="example: python -m ops.load --dsn-file .substrate/secrets/substrate_loader.dsn --matter soilworks",
    )
    parser.add_argument("--dsn-file", type=Path, required=True, help="file with the address of the database for the login substrate_loader")
    parser.add_argument(
        "--data", type=Path, default=Path(__file__).resolve().parent.parent / "data", help="folder with one folder a matter"
    )
    parser.add_argument("--store", type=Path, help="folder that the files of documents are kept in; without it no document has a file")
    parser.add_argument("--matter", action="append", choices=sorted(_IMPORTERS), help="load this matter only; may be repeated")
    options = parser.parse_args(arguments)
    try:
        dsn = options.dsn_file.read_text(encoding="utf-8").strip()
        store = FolderStore(options.store) if options.store else None
        made = asyncio.run(load(dsn, options.data, options.matter or list(_IMPORTERS), print, store))
    except (ImportFailure, db.Error, OSError) as error:
        print(f"load: {error}", file=sys.stderr)
        return 1
    print(json.dumps({"matters": made}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
