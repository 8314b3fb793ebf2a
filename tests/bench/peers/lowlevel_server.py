"""The official SDK's low-level server: stateless HTTP, JSON answers, one process."""

from __future__ import annotations

from typing import Any

import mcp.types as types
import pydantic_core
import uvicorn
import uvloop
from mcp.server.lowlevel import Server

from tests.bench.peers.reading import TOOL, Orders, Reader, listening

SCHEMA = {
    "type": "object",
    "properties": {"case_id": {"type": "string", "format": "uuid"}, "page_size": {"type": "integer", "minimum": 1, "maximum": 200}},
    "required": ["case_id"],
}


async def main() -> None:
    """Serves until it is ended."""
    reader = Reader(Orders.received())
    await reader.open()

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        tool = types.Tool(name=TOOL, description="One page of the docket.", input_schema=SCHEMA, output_schema={"type": "object"})
        return types.ListToolsResult(tools=[tool])

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        given = params.arguments or {}
        found = await reader.page(given["case_id"], given.get("page_size", 50))
        text = pydantic_core.to_json(found).decode()
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=found)

    server: Server[Any] = Server("peer", on_list_tools=list_tools, on_call_tool=call_tool)
    app = server.streamable_http_app(json_response=True, stateless_http=True)
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    await uvicorn.Server(config).serve(sockets=[listening()])


if __name__ == "__main__":
    uvloop.run(main())
