"""get_document: between the row and the answer lie the stored bytes, the citation gate over the exact version, and a signature."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from google.protobuf.message import Message
from substrate.common.v1 import attestation_pb2 as common
from substrate.reads.v1 import document_file_pb2 as pb
from substrate.reads.v1 import documents_pb2

from kit import attestation
from kit.attestation import Basis, Item
from kit.catalogue import Tool
from kit.db import why_unreadable
from kit.object_store import OutOfReach
from kit.server import Call
from services.reads.engine import Engine, unreadable_note
from services.reads.thinking import Thinking, clearance
from services.reads.thinking.clearance import Cleared

METHOD = (
    "The stored bytes of this version were digested now and compared with the digest that the record cites; every page that it says it has "
    "is loaded; the citations of its text were checked against the firm's ledger of authorities. What the document says was not checked."
)
SCOPE = "Only a document that was reviewed and found not privileged has a link; privileged, unreviewed and absent ones are not told apart."
_COPIED = ("title", "document_type", "sha256", "byte_count", "media_type", "page_count", "citation")
_STATUSES = {
    "no_findings_recorded": documents_pb2.CITATION_GATE_STATUS_NO_FINDINGS_RECORDED,
    "defects_open": documents_pb2.CITATION_GATE_STATUS_DEFECTS_OPEN,
}


async def answer(_tool: Tool, engine: Engine, thinking: Thinking, request: Any, call: Call) -> Message:
    """A link to the file of one exact version, after clearance and gate."""
    paid_by = await thinking.credentials.resolve_owner_credential(call)
    notes = [SCOPE]
    if not paid_by.pays:
        notes.append(f"The citation gate ran on this machine and asked no model; {paid_by.reason}.")
    asked = {name: getattr(request, name) or None for name in ("case_id", "document_id", "document_version_id")}
    try:
        async with engine.record(call) as connection:
            cleared = await clearance.clear(connection, asked)
    except Exception as error:
        words = why_unreadable(error)
        if words is None:
            raise
        return _attested(engine, request, None, [*notes, unreadable_note("documents", words)], unreadable=True)
    if cleared is None:
        return _attested(engine, request, None, notes, store_as_of=await engine.refreshed(call, "documents"))
    try:
        missing = await clearance.why_no_file(thinking.files.store, cleared.row["sha256"])
    except OutOfReach:
        return _attested(engine, request, None, [*notes, unreadable_note("document files", "could not be reached")], unreadable=True)
    document = await _document(engine, thinking, cleared, missing, notes)
    return _attested(engine, request, (document, cleared.row["as_of"]), notes)


async def _document(engine: Engine, thinking: Thinking, cleared: Cleared, missing: str | None, notes: list[str]) -> pb.DocumentFile:
    """The item: what the gate says, and a link where the bytes are those that the record cites."""
    row, said = cleared.row, await clearance.pass_gate(cleared)
    document = pb.DocumentFile(
        document_id=str(row["document_id"]),
        document_version_id=str(row["document_version_id"]),
        file_name=clearance.file_name(row["title"], row["media_type"]),
        citation_gate=pb.DocumentGate(
            status=_STATUSES[said.status],
            open_defects=said.open_defects,
            citations_found=said.citations_found,
            authorities_found=said.authorities_found,
            authorities_not_checked=said.not_checked,
            cite_like_strings_not_parsed=said.cite_like_strings_not_parsed,
        ),
        provenance_ids=[row["provenance_id"]],
        verification_status=attestation.status_from_word(row["status"]),
    )
    for name in _COPIED:
        if row[name] is not None:
            setattr(document, name, row[name])
    notes += [note for note in (row["note"], *said.notes) if note]
    if missing is None:
        document.url, ends = thinking.files.link(row, document.file_name, engine.now())
        document.url_ends_at.FromDatetime(ends)
        notes.append(clearance.ENDS)
    else:
        document.verification_status = min(document.verification_status, common.VERIFICATION_STATUS_UNGROUNDED)
        notes.append(missing)
    return document


def _attested(
    engine: Engine,
    request: Any,
    found: tuple[pb.DocumentFile, datetime | None] | None,
    notes: list[str],
    *,
    store_as_of: datetime | None = None,
    unreadable: bool = False,
) -> Message:
    """The answer around the item."""
    response = pb.GetDocumentResponse(read_state=common.READ_STATE_EMPTY)
    items = []
    if unreadable:
        response.read_state = common.READ_STATE_UNREADABLE
    elif found is not None:
        response.read_state = common.READ_STATE_READ
        response.document.CopyFrom(found[0])
        items = [Item(response.document, found[1])]
    basis = Basis(request.case_id.lower(), engine.now(), METHOD, notes, store_as_of, unchecked=unreadable)
    response.attestation.CopyFrom(attestation.make(items, basis))
    return response
