"""get_substrate_contract: what the words of an answer mean. It reads no row, so it has nothing to check."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import Message
from substrate.common.v1 import attestation_pb2 as common
from substrate.reads.v1 import substrate_pb2 as pb

from kit import attestation, limits
from kit.attestation import Basis, Item
from kit.catalogue import Tool
from kit.server import Call
from services.reads.custom import Stores
from services.reads.engine import Engine

METHOD = "The contract is part of this program: no row was read and nothing was checked."
AS_OF = (
    "When the data was true: the oldest as_of of the rows behind the answer; of an empty answer the last refresh of its store, "
    "or null with a note. Never the time of the answer, which is generated_at."
)


def contract() -> pb.SubstrateContract:
    """What every answer promises."""
    return pb.SubstrateContract(
        schema_version=attestation.SCHEMA_VERSION,
        status_order=["unknown", "ungrounded", "grounded", "verified"],
        statuses=pb.StatusMeanings(
            unknown="Not checked, or the check could not be read. Every empty answer is unknown.",
            ungrounded="Checked, and no source that bears it out was found.",
            grounded="Custody is shown: a document version, a page and, where there is a quote, the quote found on that page. "
            "Of a row that cites a document as a whole and no page of it, it says that the version has a digest and that every page "
            "it says it has is loaded, with or without text; no words were compared. It does not say that what the document says is true.",
            verified="Reserved. Nothing returns it today.",
        ),
        read_states=pb.ReadStateMeanings(
            read="The collection was read and has at least one row.",
            empty="The collection was read and has no row. That is not proof that nothing exists.",
            unreadable="The collection could not be read: it and its counts are null, and the notes say what failed.",
        ),
        as_of_meaning=AS_OF,
        limits=pb.ContractLimits(
            page_size_default=limits.PAGE_SIZE_DEFAULT,
            page_size_max=limits.PAGE_SIZE_MAX,
            provenance_ids_listed_max=limits.PROVENANCE_IDS_LISTED_MAX,
        ),
        verification_status=common.VERIFICATION_STATUS_UNKNOWN,
    )


async def answer(_tool: Tool, engine: Engine, _stores: Stores, _request: Any, _call: Call) -> Message:
    """The contract, attested like any answer."""
    response = pb.GetSubstrateContractResponse(contract=contract(), read_state=common.READ_STATE_READ)
    basis = Basis(None, engine.now(), METHOD)
    response.attestation.CopyFrom(attestation.make([Item(response.contract, None)], basis))
    return response
