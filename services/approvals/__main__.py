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
from kit.clock import Clock, system_clock
from kit.decisions import private_key
from kit.program import main
from kit.ready import announce
from services.approvals import server
from services.approvals.api import Api
from services.approvals.config import ApprovalsConfig, SignInConfig
from services.approvals.desk import Desk
from services.approvals.firm import FirmEntrance, LeavingSeal
from services.approvals.identity import Directory, LocalAccounts
from services.approvals.incoming import Site
from services.approvals.oidc import Provider
from services.approvals.outcomes import Outcomes
from services.approvals.pages import Pages
from services.approvals.passkey_pages import PasskeyPages
from services.approvals.passkeys import Passkeys, party
from services.approvals.render import Renderer
from services.approvals.sessions import Sessions
from services.approvals.step_up import StepUps
from services.approvals.store import Store

log = logging.getLogger("approvals")


def firm_entrance(
    settings: SignInConfig, site: Site, sessions: Sessions, directory: Directory, renderer: Renderer, clock: Clock
) -> tuple[Provider | None, FirmEntrance | None]:
    """The identity provider and the way in through it, where the firm has one."""
    if not settings.issuer:
        return None, None
    secret = config.secret(settings.client_secret_file)
    provider = Provider(settings, secret, site.origin + "/sign-in/return", clock)
    return provider, FirmEntrance(site, provider, LeavingSeal(secret), sessions, directory, renderer, clock)


async def application(settings: ApprovalsConfig, bound: str, clock: Clock = system_clock) -> tuple[ASGIApp, Site]:
    """The application with everything it stands on; what it opens is closed when it stops."""
    dsn = config.secret(settings.database.dsn_file)
    database = await db.connect(dsn, settings.database.pool_size)
    store, renderer, waiting = Store(database), Renderer(), Outcomes(dsn)
    accounts = LocalAccounts(settings.auth, settings.tls)
    key = private_key(config.secret(settings.decision.key_file))
    site = Site.of(settings.http.public_url or f"http://{bound}", settings.http.allowed_hosts)
    sessions = Sessions(store, accounts)
    provider, firm = firm_entrance(settings.sign_in.checked(), site, sessions, accounts, renderer, clock)
    passkeys = Passkeys(party(site, settings.passkeys.rp_id))
    step_ups = StepUps(accounts, passkeys)
    desk = Desk(store, accounts, step_ups, actions.load(), renderer, key, clock)
    entrance = server.Entrance(site, sessions, accounts if settings.sign_in.local_accounts else None, renderer, provider)
    pages, api = Pages(store, desk, renderer, waiting, passkeys), Api(store, desk, renderer)
    doors = server.doors(pages, PasskeyPages(store, step_ups, renderer), api)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        listening = asyncio.create_task(waiting.listen())
        yield
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        await accounts.close()
        await database.close()

    table = server.routes(entrance, doors, store, renderer, firm)
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
