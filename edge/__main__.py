"""Starts the edge: python -m edge --config FILE."""

from __future__ import annotations

import argparse
import asyncio
import logging
import resource
import signal
import sys

import uvloop

from edge import app, listener
from edge.config import EdgeConfig, Timing
from kit import catalogue, config, limits
from kit import log as kit_log

log = logging.getLogger("edge")


async def serve(settings: EdgeConfig) -> None:
    """Serves until SIGTERM or SIGINT."""
    sock = listener.bind(settings.http.listen)
    bound = listener.address(sock)
    timing = Timing()
    edge = app.build(settings, catalogue.load(), settings.http.public_url or f"http://{bound}", timing)

    def ready() -> None:
        if settings.http.ready_file:
            listener.announce(settings.http.ready_file, bound)
        log.info("serving", extra={"address": bound})

    server = listener.Listener(listener.configured(edge.app, timing), ready, edge.channel.end_streams)
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


def main() -> int:
    """Reads the configuration and serves."""
    parser = argparse.ArgumentParser(prog="python -m edge", description=__doc__, epilog="example: python -m edge --config edge.toml")
    parser.add_argument("--config", required=True, help="TOML file with [http], [tls] and [backends]")
    arguments = parser.parse_args()
    kit_log.configure("edge")
    try:
        settings = config.load(arguments.config, EdgeConfig)
    except config.ConfigError as error:
        print(f"edge: {error}", file=sys.stderr)  # noqa: T201
        return 2
    _raise_file_limit()
    uvloop.run(serve(settings))
    return 0


if __name__ == "__main__":
    sys.exit(main())
