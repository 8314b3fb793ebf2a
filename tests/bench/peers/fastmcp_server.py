"""FastMCP: stateless HTTP, JSON answers, one process; the tool is a plain function, as its users write it."""

from __future__ import annotations

from typing import Any

import uvicorn
import uvloop
from fastmcp import FastMCP  # type: ignore[import-not-found]  # it is only where the peers run

from tests.bench.peers.reading import Orders, Reader, listening


async def main() -> None:
    """Serves until it is ended."""
    reader = Reader(Orders.received())
    await reader.open()
    server = FastMCP("peer")

    @server.tool  # type: ignore[untyped-decorator]
    async def list_docket_entries(case_id: str, page_size: int = 50) -> dict[str, Any]:
        """One page of the docket."""
        return await reader.page(case_id, page_size)

    app = server.http_app(path="/mcp", json_response=True, stateless_http=True)
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    await uvicorn.Server(config).serve(sockets=[listening()])


if __name__ == "__main__":
    uvloop.run(main())
