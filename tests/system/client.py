"""The official MCP client against the running stack, in either era."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

MODES = ("2026-07-28", "legacy")


@asynccontextmanager
async def client(url: str, key: str, mode: Any = MODES[0]) -> AsyncIterator[Client]:
    """A connected client with one key."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as connected,
    ):
        yield connected


async def call(connected: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured answer of a tool that succeeds."""
    result = await connected.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def refused(connected: Client, tool: str, **arguments: Any) -> str:
    """The sentence of a tool that refuses."""
    result = await connected.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    return "".join(getattr(block, "text", "") for block in result.content)
