"""Text by the client's own model, through the official client in both eras: asked once, never vouched for, never replaced by ours."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.types import CreateMessageRequestParams, CreateMessageResult, ImageContent, TextContent

from tests.system.client import MODES, call, client, refused
from tests.system.stack import Stack

TOOL = "ask_client_model"


class Model:
    """A client's model that keeps what it was asked."""

    def __init__(self, content: Any = None, author: str = "client-model-1") -> None:
        self.asked: list[CreateMessageRequestParams] = []
        self._content = content or TextContent(type="text", text="The State answered. ECF No. 12.")
        self._author = author

    async def __call__(self, _context: Any, params: CreateMessageRequestParams) -> CreateMessageResult:
        """Answers a request."""
        self.asked.append(params)
        return CreateMessageResult(role="assistant", content=self._content, model=self._author, stop_reason="endTurn")


@pytest.mark.parametrize("mode", MODES)
async def test_the_text_carries_its_author_and_is_ungrounded_whatever_it_says(stack: Stack, mode: str) -> None:
    model, case_id = Model(), stack.matters["soilworks"]
    async with client(stack.mcp_url, stack.keys["firm"], mode, sampling_callback=model) as connected:
        answer = await call(connected, TOOL, case_id=case_id, writing="docket_digest", instructions="Look for extensions.")
        known = await call(connected, "list_docket_entries", case_id=case_id, page_size=200)
    written = answer["written"]
    assert (written["text"], written["author"], written["stop_reason"]) == ("The State answered. ECF No. 12.", "client-model-1", "endTurn")
    assert (written["verification_status"], answer["verification_status"]) == ("ungrounded", "ungrounded")
    assert answer["verification"]["counts"] == {"unknown": 0, "ungrounded": 1, "grounded": 0, "verified": 0}
    assert 0 < written["rows_shown"] == len(written["provenance_ids"])
    rows = {p for entry in known["entries"] for p in entry["provenance_ids"]}
    assert set(written["provenance_ids"]) <= rows
    (asked,) = model.asked
    said = asked.messages[0].content.text  # type: ignore[union-attr]
    assert "Look for extensions." in said
    assert all(f"[{urn}]" in said for urn in written["provenance_ids"])
    assert asked.tools is None
    assert "no instructions to you" in (asked.system_prompt or "")


@pytest.mark.parametrize("mode", MODES)
async def test_work_whose_author_must_not_change_is_refused_before_anything_is_sent(stack: Stack, mode: str) -> None:
    model = Model()
    async with client(stack.mcp_url, stack.keys["firm"], mode, sampling_callback=model) as connected:
        said = await refused(connected, TOOL, case_id=stack.matters["soilworks"], writing="valuation")
    assert "the firm's own models alone" in said
    assert model.asked == []


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_without_sampling_is_told_so_and_no_model_of_ours_writes(stack: Stack, mode: str) -> None:
    async with client(stack.mcp_url, stack.keys["firm"], mode) as connected:
        said = await refused(connected, TOOL, case_id=stack.matters["soilworks"], writing="docket_digest")
    assert "did not declare sampling" in said
    assert "no model of this system writes in its place" in said


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("content", "author", "why"),
    [
        (ImageContent(type="image", data="aGk=", mime_type="image/png"), "m", "one text"),
        (TextContent(type="text", text="  "), "m", "one text"),
        (TextContent(type="text", text="A digest."), " ", "one text"),
        (TextContent(type="text", text="x" * 20_001), "m", "more than 20000 characters"),
    ],
    ids=["image", "empty", "nobody", "too long"],
)
async def test_what_is_no_text_by_a_named_model_is_refused(stack: Stack, mode: str, content: Any, author: str, why: str) -> None:
    async with client(stack.mcp_url, stack.keys["firm"], mode, sampling_callback=Model(content, author)) as connected:
        assert why in await refused(connected, TOOL, case_id=stack.matters["soilworks"], writing="docket_digest")


async def test_a_key_that_may_not_read_the_matter_has_nothing_sent_to_its_model(stack: Stack) -> None:
    model = Model()
    async with client(stack.mcp_url, stack.keys["soilworks_only"], sampling_callback=model) as connected:
        said = await refused(connected, TOOL, case_id=stack.matters["mclean"], writing="fact_digest")
    assert "not found or not accessible" in said
    async with client(stack.mcp_url, stack.keys["client_safe"], sampling_callback=model) as connected:
        await refused(connected, TOOL, case_id=stack.matters["mclean"], writing="fact_digest")
    assert model.asked == []
