"""Writes the firm's ledger of predictions: rows of many matters in one order, which the database chains."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from kit import db
from ops.importers.pages import File, ImportFailure

NAME = "predictions.json"
_NAMESPACE = uuid.UUID("0f0c5a1e-6f0e-5d0b-9d57-1d5d6b0c9a44")


def rows(file: File, matters: Mapping[str, str], recorded_by: str) -> list[dict[str, Any]]:
    """The ledger's rows: each prediction, and behind it in time what came of it."""
    given = json.loads(file.text())
    if not given["predictions"]:
        raise ImportFailure(f"{file.name} holds no prediction.")
    return made(given["predictions"], matters, recorded_by)


def made(entries: list[dict[str, Any]], matters: Mapping[str, str], recorded_by: str) -> list[dict[str, Any]]:
    """The rows of these predictions, in the order of time."""
    found = [row for entry in entries for row in _pair(entry, matters, recorded_by)]
    return sorted(found, key=lambda r: (r["at"], r["id"]))


def _pair(entry: Mapping[str, Any], matters: Mapping[str, str], recorded_by: str) -> list[dict[str, Any]]:
    name = entry["matter"]
    case_id = matters.get(name) or str(uuid.uuid5(_NAMESPACE, f"matter:{name}"))
    prediction_id = str(uuid.uuid5(_NAMESPACE, f"{name}:{entry['question']}"))
    common = {"case_id": case_id, "recorded_by": recorded_by}
    first = {
        **_row(prediction_id, "prediction", entry["made_by"], entry["made_at"]),
        **common,
        **{k: entry.get(k) for k in ("question", "probability", "resolves_by")},
    }
    if "happened" not in entry:
        return [first]
    outcome_id = str(uuid.uuid5(_NAMESPACE, f"{prediction_id}:outcome"))
    resolved = {"prediction_id": prediction_id, "happened": entry["happened"], "source": entry["source"]}
    return [first, {**_row(outcome_id, "outcome", entry["made_by"], entry["resolved_at"]), **common, **resolved}]


def _row(row_id: str, kind: str, made_by: str, at: str) -> dict[str, Any]:
    return {
        "id": row_id,
        "kind": kind,
        "made_by": made_by,
        "at": at,
        "as_of": at,
        "urn": f"urn:substrate:record:prediction:{row_id}",
    }


async def write(connection: db.Connection[db.Record], ledger: list[dict[str, Any]]) -> int:
    """Writes what is new, in its order, and returns how many rows that were."""
    columns = sorted({c for row in ledger for c in row})
    batch = [{c: row.get(c) for c in columns} for row in ledger]
    async with connection.transaction():
        written = await connection.fetchval("SELECT record.load_rows('prediction_outcomes', $1::jsonb)", json.dumps(batch))
    return int(written)
