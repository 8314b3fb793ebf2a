"""The official MCP client against the running stack, in either era."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CreateMessageRequestParams, CreateMessageResult, TextContent

MODES = ("2026-07-28", "legacy")


@asynccontextmanager
async def client(url: str, key: str, mode: Any = MODES[0], **can: Any) -> AsyncIterator[Client]:
    """A connected client with one key; `can` holds callbacks of the client, each of which declares that it can be asked."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, **can) as connected,
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


async def writes(_context: Any, params: CreateMessageRequestParams) -> CreateMessageResult:
    """A client's model that says how much it was shown."""
    shown = getattr(params.messages[0].content, "text", "")
    said = TextContent(type="text", text=f"A digest of {len(shown)} characters.")
    return CreateMessageResult(role="assistant", content=said, model="client-model-1", stop_reason="endTurn")
