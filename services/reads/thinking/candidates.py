"""Collects candidates for a question by words, by likeness and, where a model is installed, by vectors, and puts them in one order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kit import embedding, limits
from kit.db import Connection, Record, Statement, arguments, load_statements
from services.reads.thinking.fusion import fuse

SQL = Path(__file__).parent / "sql"
PASSAGES, WORK_PRODUCTS = (load_statements(SQL / f"{name}.sql") for name in ("passages", "work_products"))
WORDS_ONLY = "Searched by words and likeness only: no embedding model is installed here."
NO_VECTORS = "Searched by words and likeness only: nothing of this matter has been embedded with the installed model."


@dataclass(frozen=True, slots=True)
class Candidates:
    """Ids best first, each with what found it, and what is to be said of the search."""

    ids: list[tuple[str, tuple[str, ...]]]
    notes: list[str]


async def collect(
    connection: Connection[Record], statements: Mapping[str, Statement], asked: Mapping[str, Any], model: embedding.Model | None
) -> Candidates:
    """The candidates for a question, within what was asked."""
    orders: dict[str, list[str]] = {}
    for name in ("words", "likeness"):
        rows = await _rows(connection, statements[name], {**asked, "most": limits.RETRIEVAL_CANDIDATES_MAX})
        orders[name] = [str(row["id"]) for row in rows]
    notes = []
    if model is None:
        notes.append(WORDS_ONLY)
    else:
        values = {**asked, "model": embedding.NAME, "most": limits.RETRIEVAL_VECTORS_MAX + 1}
        rows = await _rows(connection, statements["vectors"], values)
        if not rows:
            notes.append(NO_VECTORS)
        if len(rows) > limits.RETRIEVAL_VECTORS_MAX:
            notes.append(f"The search by vectors looked at {limits.RETRIEVAL_VECTORS_MAX} passages of more.")
        orders["vectors"] = await asyncio.to_thread(_nearest, model, asked["query"], rows[: limits.RETRIEVAL_VECTORS_MAX])
    return Candidates(fuse(orders), notes)


def _nearest(model: embedding.Model, query: str, rows: list[Record]) -> list[str]:
    if not rows:
        return []
    (vector,) = model.embed([query])
    near = zip(model.nearness(vector, [row["vector"] for row in rows]), (str(row["id"]) for row in rows), strict=True)
    return [each for _, each in sorted(near, key=lambda n: (-n[0], n[1]))[: limits.RETRIEVAL_VECTOR_CANDIDATES_MAX]]


async def fetch(connection: Connection[Record], statements: Mapping[str, Statement], case_id: str, ids: list[str]) -> list[Record]:
    """The rows of these candidates, in this order."""
    return await _rows(connection, statements["found"], {"case_id": case_id, "ids": ids})


async def _rows(connection: Connection[Record], statement: Statement, values: Mapping[str, Any]) -> list[Record]:
    return list(await connection.fetch(statement.sql, *arguments(statement, values)))
