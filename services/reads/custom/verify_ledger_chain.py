"""verify_ledger_chain: rows are compared with their neighbours, and the answer is one verdict over all of them."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import Message
from substrate.common.v1 import attestation_pb2 as common
from substrate.reads.v1 import accuracy_pb2 as pb

from kit import limits
from kit.attestation import Item
from kit.catalogue import Tool
from kit.server import Call
from services.reads import ledger
from services.reads.custom import Stores
from services.reads.engine import Engine

HOW = (
    "SHA-256 over lines: hash of the row before (64 zeros for the first), seq, id, matter, kind, id of the prediction it resolves, "
    "question, probability, who, microseconds since 1970, day it resolves by in days since 1970, 1 or 0 for what happened, source; "
    "'-' where there is none."
)


async def answer(tool: Tool, engine: Engine, stores: Stores, request: Any, call: Call) -> Message:
    """The chain, recomputed."""
    del engine
    reading = stores.readings[tool.name]
    found = await reading.find(request, call, ledger.row_limit())
    response = pb.VerifyLedgerChainResponse()
    if found.unreadable is not None or not found.rows:
        return reading.attest(response, request, [], found)
    first = found.rows[0]
    chain = response.chain
    ledger.write_verdict(chain.verdict, ledger.verdict(found.rows))
    chain.rows, chain.rows_of_matter, chain.how = min(len(found.rows), limits.LEDGER_ROWS_MAX), first["rows_of_matter"], HOW
    chain.provenance_ids.extend(first["provenance_ids"] or ())
    chain.verification_status = common.VERIFICATION_STATUS_UNKNOWN
    notes = [f"The chain is {chain.verdict.state.replace('_', ' ')}: {chain.verdict.reason}."] if chain.verdict.reason else []
    return reading.attest(response, request, [Item(chain, first["as_of"])], found, notes)
