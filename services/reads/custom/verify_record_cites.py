"""verify_record_cites: the cites are found in the text by a grammar, which no statement is, and looked up in four ledgers at once."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson
from google.protobuf.message import Message
from substrate.reads.v1 import record_checks_pb2 as pb

from kit import limits
from kit.attestation import Item, status_from_word
from kit.catalogue import Tool
from kit.db import Record
from kit.server import Call
from services.reads.custom import Stores
from services.reads.engine import Engine
from services.reads.engines import record_cites
from services.reads.engines.record_cites import Checked, Held

_STATUS = {"found": "grounded", "not_found": "ungrounded", "malformed": "ungrounded", "ambiguous": "ungrounded", "not_loaded": "unknown"}
NOTHING_FOUND = "No record cite of a form that is known here was found in the text; a cite of another form was not looked for."


def held(row: Record) -> Held:
    """One thing of a ledger, from its row."""
    pages = {int(page): last for page, last in orjson.loads(row["pages"]).items()} if row["pages"] else {}
    return Held(row["kind"], row["name"], row["number_from"], row["number_to"], row["provenance_id"], row["label"], pages, row["complete"])


def _item(response: Any, checked: Checked, when: dict[str, datetime | None], none_known: datetime | None) -> Item:
    cite = checked.cite
    made = response.cites.add(
        kind=cite.kind,
        text=cite.text,
        start=cite.start,
        result=checked.result,
        verification_status=status_from_word(_STATUS[checked.result]),
    )
    if checked.why:
        made.why = checked.why
    if checked.held:
        made.leads_to = "; ".join(h.label for h in checked.held[:3])
        made.provenance_ids.extend(h.provenance_id for h in checked.held[:20])
    known = [when[h.provenance_id] for h in checked.held]
    # A cite that leads nowhere was looked for in the ledgers as they are: they are as old as the oldest of their rows.
    return Item(made, min((k for k in known if k is not None), default=None) if known else none_known)


async def answer(tool: Tool, engine: Engine, stores: Stores, request: Any, call: Call) -> Message:
    """Every record cite of the text, each looked up."""
    del engine
    reading = stores.readings[tool.name]
    found = await reading.find(request, call)
    response = pb.VerifyRecordCitesResponse()
    if found.unreadable is not None:
        return reading.attest(response, request, [], found)
    if not found.rows:  # not even the matter itself can be seen
        response.count = 0
        return reading.attest(response, request, [], found)
    ledgers = [held(row) for row in found.rows]
    when = {row["provenance_id"]: row["as_of"] for row in found.rows}
    oldest = min((w for w in when.values() if w is not None), default=found.refreshed)
    cites = record_cites.find(request.text)
    items = [_item(response, record_cites.check(c, ledgers), when, oldest) for c in cites[: limits.CITES_SHOWN_MAX]]
    response.count = len(items)
    notes = [f"Only the first {len(items)} of {len(cites)} cites were looked up."] if len(cites) > len(items) else []
    notes += [f"{i.message.text}: {i.message.why}." for i in items if i.message.why]  # type: ignore[attr-defined]
    return reading.attest(response, request, items, found, notes if items else [NOTHING_FOUND])
