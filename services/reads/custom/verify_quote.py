"""verify_quote: marked alterations and the nearest passage are beyond what a statement can say of a page."""

from __future__ import annotations

import asyncio
from typing import Any

from google.protobuf.message import Message
from substrate.reads.v1 import record_checks_pb2 as pb

from kit import limits
from kit.attestation import Item, status_from_word
from kit.catalogue import Tool
from kit.errors import FieldError, invalid
from kit.server import Call
from services.reads.custom import Stores
from services.reads.engine import Engine
from services.reads.engines import quotes
from services.reads.engines.quotes import PageText

_STATUS = {
    **dict.fromkeys(("exact", "altered_as_marked"), "grounded"),
    **dict.fromkeys(("wrong_page", "misquote"), "ungrounded"),
    **dict.fromkeys(("not_loaded", "no_text", "ocr_differs"), "unknown"),
}
_NOTES = {
    "altered_as_marked": "The quote marks omissions or changes: its pieces stand on the page in this order. "
    "What lies between them, or in brackets, was not compared.",
    "wrong_page": "The words are right and the page is not: they stand on another page.",
    "misquote": "The words as quoted stand nowhere in the document.",
    "not_loaded": "A page that is cited is not loaded, so nothing was checked; this is not a failed check.",
    "no_text": "What would have to be compared has no text layer, so nothing was checked.",
    "ocr_differs": "The words were not found in machine-read text, which gets letters wrong; this counts as not checked.",
}
_SPAN_MAX = limits.QUOTE_PAGES_MAX
NO_DOCUMENT = "The matter has no document of this id, or it may not be shown."


def cited_pages(request: Any) -> range:
    """The pages that are cited; none where any page will do."""
    last = request.page_to or request.page
    if last < request.page or (request.page_to and not request.page):
        raise invalid([FieldError("page_to", "expected the last page cited, not before page; leave it out where one page is cited")])
    if last - request.page > _SPAN_MAX:
        raise invalid([FieldError("page_to", f"expected at most {_SPAN_MAX} pages after page; cite the pages where the quote stands")])
    return range(request.page, last + 1) if request.page else range(0)


async def answer(tool: Tool, engine: Engine, stores: Stores, request: Any, call: Call) -> Message:
    """What became of one quote."""
    del engine
    cited, reading = cited_pages(request), stores.readings[tool.name]
    found = await reading.find(request, call)
    response = pb.VerifyQuoteResponse()
    if found.unreadable is not None or not found.rows:
        return reading.attest(response, request, [], found, () if found.unreadable else [NO_DOCUMENT])
    by_page = {row["page_number"]: row for row in found.rows if row["page_number"] is not None}
    pages = {n: PageText(n, row["text"], row["ocr"]) for n, row in by_page.items()}
    verdict = await asyncio.to_thread(quotes.check, request.quote, pages, cited)  # a long document takes a while, and other calls wait
    first, check = found.rows[0], response.check
    check.result, check.document_title, check.document_id = verdict.result, first["title"], first["document_id"]
    check.verification_status = status_from_word(_STATUS[verdict.result])
    if first["sha256"]:
        check.document_sha256 = first["sha256"]
    place = by_page[verdict.found_on] if verdict.found_on is not None else first
    check.provenance_ids.extend(place["provenance_ids"] if verdict.found_on is not None else place["provenance_ids"][:1])
    if verdict.found_on is not None:
        check.found_on_page, check.citation = verdict.found_on, place["citation"]
    if verdict.hint is not None:
        check.hint_page, check.hint = verdict.hint.page, verdict.hint.text
    notes = [_NOTES[verdict.result]] if verdict.result in _NOTES else []
    if verdict.found_on is not None and place["ocr"]:
        notes.append(f"The quote was found in machine-read text, {place['citation']}.")
    return reading.attest(response, request, [Item(check, first["as_of"])], found, notes)
