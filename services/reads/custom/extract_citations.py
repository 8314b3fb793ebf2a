"""extract_citations: parsing is no work for a statement, and the text may be the caller's own."""

from __future__ import annotations

import asyncio
import bisect
from collections.abc import Sequence
from typing import Any

from google.protobuf.message import Message
from substrate.common.v1 import attestation_pb2 as common
from substrate.reads.v1 import citations_pb2 as pb

from kit import limits
from kit.attestation import Item
from kit.catalogue import Tool
from kit.db import Record
from kit.server import Call
from services.reads.custom import Stores
from services.reads.engine import Engine
from services.reads.engines import citations
from services.reads.engines.citations import Extraction
from services.reads.reading import Found

NO_DOCUMENT = "The matter has no document of this id, or it may not be shown."
NO_TEXT = "The document has no page with text, so there was nothing to parse."


class _Pages:
    """Pages put one after another, and the way back from a place in them."""

    def __init__(self, rows: Sequence[Record]) -> None:
        self.rows = [r for r in rows if r["text"]]
        self.starts: list[int] = []
        size = 0
        for row in self.rows:
            self.starts.append(size)
            size += len(row["text"]) + 1
        self.text = "\n".join(r["text"] for r in self.rows)

    def at(self, place: int) -> tuple[Record, int]:
        """The page of a place, and where on it that is."""
        index = bisect.bisect_right(self.starts, place) - 1
        return self.rows[index], place - self.starts[index]


def _items(response: Any, found: Extraction, pages: _Pages | None) -> list[Item]:
    items = []
    for each in found.citations[: limits.CITES_SHOWN_MAX]:
        made = response.citations.add(kind=each.kind, text=each.text, start=each.start, reported=[r.text for r in each.reported])
        made.verification_status = common.VERIFICATION_STATUS_UNKNOWN
        if each.authority is not None:
            made.authority = each.authority + 1
        for name, value in (("case_name", each.case_name), ("court", each.court), ("year", each.year), ("pin_cite", each.pin_cite)):
            if value:
                setattr(made, name, value)
        as_of = None
        if pages is not None:
            row, made.start = pages.at(each.start)
            made.page, as_of = row["page_number"], row["as_of"]
            made.provenance_ids.extend(row["provenance_ids"])
        items.append(Item(made, as_of))
    return items


def _notes(found: Extraction, pages: _Pages | None) -> list[str]:
    notes = [f"Cites that were parsed: {len(found.citations)}, of authorities: {len(found.authorities)}. None of them was checked."]
    if found.not_parsed:
        many = len(found.not_parsed)
        notes.append(f"{many} cite-like {'string was' if many == 1 else 'strings were'} not parsed, so this list is not complete.")
    if found.truncated:
        notes.append("The text is longer, or holds more cites, than one answer takes in: its end was not read.")
    if len(found.citations) > limits.CITES_SHOWN_MAX:
        notes.append(f"Only the first {limits.CITES_SHOWN_MAX} of {len(found.citations)} cites are in this answer.")
    if pages is not None and any(r["ocr"] for r in pages.rows):
        notes.append("The text was read off pictures by machine, which gets letters wrong: cites can be missing for that.")
    return notes


async def answer(tool: Tool, engine: Engine, stores: Stores, request: Any, call: Call) -> Message:
    """Every citation of a text or document."""
    del engine
    reading, response = stores.readings[tool.name], pb.ExtractCitationsResponse()
    found, pages = Found(), None
    if request.document_id:
        found = await reading.find(request, call)
        pages = _Pages(found.rows)
        if found.unreadable is None and not pages.rows:
            response.count = response.authority_count = response.not_parsed_count = 0
            return reading.attest(response, request, [], found, [NO_TEXT if found.rows else NO_DOCUMENT])
        if found.unreadable is not None:
            return reading.attest(response, request, [], found)
    # In a thread: a long text takes seconds, and other calls are waiting.
    parsed = await asyncio.to_thread(citations.extract, request.text if pages is None else pages.text)
    items = _items(response, parsed, pages)
    response.count, response.authority_count = len(items), len(parsed.authorities)
    response.not_parsed_count = len(parsed.not_parsed)
    response.not_parsed.extend(parsed.not_parsed[: limits.NOTES_MAX])
    return reading.attest(response, request, items, found, _notes(parsed, pages))
