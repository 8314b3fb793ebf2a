"""Starts files: python -m services.files --config FILE."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import time
from dataclasses import dataclass

from kit import config, file_links, listener
from kit.object_store import StoreConfig, open_store
from kit.program import main
from kit.ready import announce
from services.files import app

log = logging.getLogger("files")


@dataclass(frozen=True)
class Http:
    """Where the links of reads lead. Port 0 takes any free port, written to `ready_file`."""

    listen: str
    ready_file: str = ""
    public_url: str = ""  # read by nobody here: reads is told where links lead
    allowed_hosts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Links:
    """The half of the key that checks links; reads holds the other."""

    public_key_file: str


@dataclass(frozen=True)
class FilesConfig:
    """Sections of the configuration."""

    http: Http
    tls: config.Tls
    links: Links
    store: StoreConfig


async def run(settings: FilesConfig) -> None:
    """Serves until SIGTERM or SIGINT."""
    sock = listener.bind(settings.http.listen)
    bound = listener.address(sock)
    key = file_links.public_key(config.secret(settings.links.public_key_file))
    application = app.build(key, open_store(settings.store), time.time)

    def ready() -> None:
        if settings.http.ready_file:
            announce(settings.http.ready_file, bound)
        log.info("serving", extra={"address": bound})

    serving = listener.Listener(listener.configured(application), ready)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, serving.handle_exit, number, None)
    await serving.serve([sock])


if __name__ == "__main__":
    sys.exit(main("files", "Serves documents by the signed links of reads.", FilesConfig, run))
