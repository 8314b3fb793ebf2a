"""get_data_freshness: each store is looked at by itself, so that one that cannot be read hides none of the others."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from google.protobuf.message import Message
from substrate.common.v1 import attestation_pb2 as common
from substrate.reads.v1 import substrate_pb2 as pb

from kit import attestation
from kit.attestation import Basis, Item
from kit.catalogue import Tool
from kit.db import why_unreadable
from kit.server import Call
from services.reads.custom import Stores
from services.reads.engine import Engine, unreadable_note

METHOD = "Rows were counted and their newest as_of was read; nothing was checked against a source document."
FRESHNESS = "SELECT row_count, oldest_as_of, newest_as_of, last_refresh FROM record.store_freshness($1)"


async def _look(engine: Engine, call: Call, store: str) -> tuple[pb.StoreFreshness, datetime | None, str | None]:
    """State of one store, when its oldest row was true, and a note when it could not be read."""
    label = store.replace("_", " ")
    found = pb.StoreFreshness(store=store, label=label, verification_status=common.VERIFICATION_STATUS_UNKNOWN)
    try:
        async with engine.record(call) as connection:
            row = await connection.fetchrow(FRESHNESS, store)
    except Exception as error:
        words = why_unreadable(error)
        if words is None:
            raise
        found.read_state = common.READ_STATE_UNREADABLE
        return found, None, unreadable_note(label, words)
    assert row is not None
    found.row_count = row["row_count"]
    found.read_state = common.READ_STATE_READ if found.row_count else common.READ_STATE_EMPTY
    for name in ("newest_as_of", "last_refresh"):
        if row[name] is not None:
            getattr(found, name).FromDatetime(row[name])
    return found, row["oldest_as_of"], None


async def answer(_tool: Tool, engine: Engine, stores: Stores, request: Any, call: Call) -> Message:
    """The state of every store of a matter."""
    response = pb.GetDataFreshnessResponse(read_state=common.READ_STATE_READ)
    notes: list[str] = []
    items: list[Item] = []
    for store in sorted(stores.names):
        found, oldest, note = await _look(engine, call, store)
        response.stores.append(found)
        items.append(Item(response.stores[-1], oldest))
        notes += [note] if note else []
    response.count = len(response.stores)
    basis = Basis(request.case_id, engine.now(), METHOD, notes)
    response.attestation.CopyFrom(attestation.make(items, basis))
    return response
