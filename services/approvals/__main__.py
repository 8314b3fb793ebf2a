"""Starts approvals: python -m services.approvals --config FILE."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.types import ASGIApp

from kit import actions, config, db, listener
from kit.clock import system_clock
from kit.decisions import private_key
from kit.program import main
from kit.ready import announce
from services.approvals import server
from services.approvals.api import Api
from services.approvals.config import ApprovalsConfig
from services.approvals.desk import Desk
from services.approvals.identity import LocalAccounts
from services.approvals.incoming import Site
from services.approvals.outcomes import Outcomes
from services.approvals.pages import Pages
from services.approvals.render import Renderer
from services.approvals.sessions import Sessions
from services.approvals.store import Store

log = logging.getLogger("approvals")


async def application(settings: ApprovalsConfig, bound: str) -> tuple[ASGIApp, Site]:
    """The application with everything it stands on; what it opens is closed when it stops."""
    dsn = config.secret(settings.database.dsn_file)
    database = await db.connect(dsn, settings.database.pool_size)
    store, renderer, waiting = Store(database), Renderer(), Outcomes(dsn)
    accounts = LocalAccounts(settings.auth, settings.tls)
    key = private_key(config.secret(settings.decision.key_file))
    site = Site.of(settings.http.public_url or f"http://{bound}", settings.http.allowed_hosts)
    desk = Desk(store, accounts, accounts, actions.load(), renderer, key, system_clock)
    entrance = server.Entrance(site, Sessions(store, accounts), accounts, renderer)
    pages, api = Pages(store, desk, renderer, waiting), Api(store, desk, renderer)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        listening = asyncio.create_task(waiting.listen())
        yield
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        await accounts.close()
        await database.close()

    table = server.routes(entrance, pages, api, store, renderer)
    return server.build(site, table, renderer, lifespan), site


async def run(settings: ApprovalsConfig) -> None:
    """Serves people until SIGTERM or SIGINT."""
    sock = listener.bind(settings.http.listen)
    bound = listener.address(sock)
    app, site = await application(settings, bound)

    def ready() -> None:
        if settings.http.ready_file:
            announce(settings.http.ready_file, bound)
        log.info("serving", extra={"address": bound, "origin": site.origin})

    serving = listener.Listener(listener.configured(app), ready)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, serving.handle_exit, number, None)
    await serving.serve([sock])


if __name__ == "__main__":
    sys.exit(main("approvals", "Where people at the firm decide what agents propose.", ApprovalsConfig, run))
