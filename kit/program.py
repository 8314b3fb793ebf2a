"""How every program starts: one flag, logging, uvloop, and a clear sentence when the configuration is wrong."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Awaitable, Callable

import uvloop

from kit import rooms
from kit.config import Config, ConfigError, load
from kit.log import configure


def main(name: str, summary: str, schema: type[Config], run: Callable[[Config], Awaitable[None]]) -> int:
    """Reads --config into `schema` and runs the program until it stops. Exit codes: 0 stopped, 1 failed, 2 wrong usage."""
    parser = argparse.ArgumentParser(prog=name, description=summary, epilog=f"example: ./run serve {name} --config {name}.toml")
    parser.add_argument(
        "--config", required=True, metavar="FILE", help="TOML file; SUBSTRATE_<SECTION>_<KEY> in the environment overrides it"
    )
    given = parser.parse_args()
    configure(name)
    rooms.close(sys.modules["__main__"].__package__ or name)
    try:
        config = load(given.config, schema)
    except ConfigError as error:
        sys.stderr.write(f"{name}: {error}\n")
        return 2

    async def start() -> None:
        await run(config)

    try:
        uvloop.run(start())
    except Exception as error:  # noqa: BLE001 - the outermost place: whatever stopped the start is said, once, and is the exit code
        logging.getLogger(__name__).critical("start refused", extra={"because": str(error), "kind": type(error).__name__})
        return 1
    return 0
