"""A file through the whole system: the official client gets a link, anybody downloads by it, and the digest is the one that was cited."""

from __future__ import annotations

from hashlib import sha256

import httpx2
import pytest

from tests.system.client import MODES, call, client
from tests.system.stack import Stack


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_gets_a_link_and_the_bytes_behind_it_have_the_digest_that_was_cited(stack: Stack, mode: str) -> None:
    async with client(stack.mcp_url, stack.keys["firm"], mode) as connected:
        listed = await call(connected, "list_documents", case_id=stack.matters["mata"])
        answer = await call(connected, "get_document", case_id=stack.matters["mata"], document_id=listed["documents"][0]["id"])
    document = answer["document"]
    assert document["citation_gate"]["status"] == "defects_open"
    async with httpx2.AsyncClient(timeout=30) as http:
        served = await http.get(document["url"])
        altered = await http.get(document["url"][:-2] + ("AA" if not document["url"].endswith("AA") else "BB"))
        bare = await http.get(document["url"].rpartition("/")[0])
    assert served.status_code == 200
    assert sha256(served.content).hexdigest() == document["sha256"] == listed["documents"][0]["sha256"]
    assert (altered.status_code, bare.status_code) == (404, 404)
    token = document["url"].rpartition("/")[2]
    assert token not in stack.log("files") + stack.log("reads") + stack.log("edge"), "whoever reads a log gets no link"


async def test_a_client_safe_key_gets_clean_documents_only(stack: Stack) -> None:
    async with client(stack.mcp_url, stack.keys["client_safe"]) as connected:
        listed = await call(connected, "list_documents", case_id=stack.matters["mclean"])
        answer = await call(connected, "get_document", case_id=stack.matters["mclean"], document_id=listed["documents"][0]["id"])
        withheld = await call(
            connected, "get_document", case_id=stack.matters["mclean"], document_id="37e855df-355f-5d68-be07-1131d2842fdb"
        )
    assert answer["document"]["url"].startswith("http://127.0.0.1:")
    assert (withheld["read_state"], withheld["document"]) == ("empty", None)
