"""The official Python client against the edge, in both of its modes."""

import contextlib
from collections.abc import AsyncIterator

import httpx2
import jsonschema_rs
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests.poll import until_async
from tests.system.edge.running import Running
from tests.system.edge.world import CASE, Known, World

MODES = ["legacy", "auto", "2026-07-28"]


@contextlib.asynccontextmanager
async def client(edge: Running, known: Known, mode: str) -> AsyncIterator[Client]:
    """A connected client with the key in its header."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {known.key.text}"}, timeout=20) as http,
        Client(streamable_http_client(edge.url, http_client=http), mode=mode) as connected,
    ):
        yield connected


@pytest.mark.parametrize("mode", MODES)
async def test_it_lists_and_calls_and_its_answers_fit_their_schemas(edge: Running, world: World, mode: str) -> None:
    async with client(edge, world.new_key(), mode) as connected:
        listed = {t.name: t for t in (await connected.list_tools()).tools}
        assert len(listed) > 1
        for name, arguments in (("list_matters", {}), ("get_matter", {"case_id": CASE})):
            result = await connected.call_tool(name, arguments)
            assert not result.is_error
            jsonschema_rs.validate(listed[name].output_schema or {}, result.structured_content)
        wrong = await connected.call_tool("get_matter", {"case": CASE})
        assert wrong.is_error
        assert "perhaps case_id is meant" in str(wrong.content[0])


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
async def test_it_finds_the_newest_revision_of_its_mode(edge: Running, world: World, mode: str, version: str) -> None:
    async with client(edge, world.new_key(), mode) as connected:
        assert connected.session.protocol_version == version
        server = connected.session.server_info
        assert server is not None
        assert server.name == "verified-substrate"


@pytest.mark.parametrize("mode", MODES)
async def test_an_unknown_tool_is_an_error_of_the_protocol(edge: Running, world: World, mode: str) -> None:
    async with client(edge, world.new_key(), mode) as connected:
        with pytest.raises(MCPError) as caught:
            await connected.call_tool("nope", {})
        assert caught.value.code == -32602


async def test_it_holds_its_stream_and_leaves_nothing_behind(edge: Running, world: World) -> None:
    before = edge.channel.counts
    async with client(edge, world.new_key(), "legacy"):

        async def streaming() -> bool:
            return edge.channel.counts == (before[0] + 1, before[1] + 1)

        await until_async(streaming, "its stream is open")

    async def gone() -> bool:
        return edge.channel.counts == before

    await until_async(gone, "session and stream are gone")


@pytest.mark.parametrize("mode", MODES)
async def test_a_revoked_key_is_refused_in_the_middle_of_a_conversation(edge: Running, world: World, mode: str) -> None:
    known = world.new_key()
    async with client(edge, known, mode) as connected:
        await connected.call_tool("list_matters", {})
        known.revoked = True
        with pytest.raises(MCPError):
            await connected.call_tool("list_matters", {})
