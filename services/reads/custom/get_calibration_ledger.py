"""get_calibration_ledger: rows of one matter beside a verdict and a summary over the whole ledger, which may be withheld."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import Message
from substrate.common.v1 import attestation_pb2 as common
from substrate.reads.v1 import accuracy_pb2 as pb

from kit.attestation import Item
from kit.catalogue import Tool
from kit.db import Record
from kit.server import Call
from services.reads import ledger
from services.reads.custom import Stores
from services.reads.engine import Engine
from services.reads.engines import calibration

_PLAIN = ("id", "seq", "question", "probability", "made_by", "row_hash")
_MAYBE = ("resolves_by", "source")


def _item(response: Any, row: Record) -> Item:
    made = response.predictions.add(**{name: _text(row[name]) for name in _PLAIN}, verification_status=common.VERIFICATION_STATUS_UNKNOWN)
    made.made_at.FromDatetime(row["made_at"])
    made.provenance_ids.extend(row["provenance_ids"])
    for name in _MAYBE:
        if row[name] is not None:
            setattr(made, name, row[name])
    if row["happened"] is None:
        made.outcome = "open"
    else:
        made.outcome = "happened" if row["happened"] else "did_not_happen"
        made.resolved_at.FromDatetime(row["resolved_at"])
        made.squared_error = f"{(float(row['probability']) - row['happened']) ** 2:.6f}"
    return Item(made, row["as_of"])


def _text(value: Any) -> Any:
    return value if isinstance(value, int) else str(value)


async def answer(tool: Tool, engine: Engine, stores: Stores, request: Any, call: Call) -> Message:
    """This matter's predictions, the chain's verdict, and the summary or why it is withheld."""
    del engine
    reading, whole = stores.readings[tool.name], stores.readings["verify_ledger_chain"]
    found = await reading.find(request, call)
    response = pb.GetCalibrationLedgerResponse()
    if found.unreadable is not None:
        return reading.attest(response, request, [], found)
    items = [_item(response, row) for row in found.rows]
    response.count, response.open_count = len(items), sum(row["happened"] is None for row in found.rows)
    links = await whole.find(request, call, ledger.row_limit())
    if links.unreadable is not None:
        response.summary_withheld = "The ledger could not be read as a whole."
        return reading.attest(response, request, items, found, [links.unreadable])
    chain = ledger.verdict(links.rows)
    ledger.write_verdict(response.chain, chain)
    rows = ledger.graded(links.rows)
    withheld = calibration.why_withheld(rows, chain, truncated=ledger.is_truncated(links.rows))
    if withheld is None:
        ledger.write_summary(response.summary, calibration.summary(rows))
    else:
        response.summary_withheld = withheld
    return reading.attest(response, request, items, found, [f"The summary is withheld: {withheld}"] if withheld else [])
