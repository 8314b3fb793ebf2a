"""Starts the edge: python -m edge --config FILE."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import sys

from edge import app
from edge.config import EdgeConfig, Timing
from kit import catalogue, limits, listener
from kit.program import main
from kit.ready import announce

log = logging.getLogger("edge")


async def serve(settings: EdgeConfig) -> None:
    """Serves until SIGTERM or SIGINT."""
    sock = listener.bind(settings.http.listen)
    bound = listener.address(sock)
    timing = Timing()
    edge = app.build(settings, catalogue.load(), settings.http.public_url or f"http://{bound}", timing)

    def ready() -> None:
        if settings.http.ready_file:
            announce(settings.http.ready_file, bound)
        log.info("serving", extra={"address": bound})

    server = listener.Listener(listener.configured(edge.app, timing), ready, edge.end_streams)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.handle_exit, number, None)
    await server.serve([sock])


def _raise_file_limit() -> None:
    """A connection is a file; the usual limit of 1024 is below the cap on connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * limits.HTTP_CONNECTIONS_MAX
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


async def run(settings: EdgeConfig) -> None:
    """Serves MCP to whoever holds a key."""
    _raise_file_limit()
    await serve(settings)


if __name__ == "__main__":
    sys.exit(main("edge", "Translates MCP to gRPC and decides nothing.", EdgeConfig, run))
