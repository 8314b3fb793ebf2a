"""Starts proposals."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from kit import actions, callers, config, db
from kit.authority import Authority
from kit.clock import system_clock
from kit.program import main
from kit.server import GrpcProgram
from services.proposals import handoff, server
from services.proposals.store import Store


@dataclass(frozen=True)
class ProposalsConfig:
    """Sections of the configuration of proposals."""

    server: config.Server
    tls: config.Tls
    database: config.DatabaseConfig
    auth: config.Peer


async def run(settings: ProposalsConfig) -> None:
    """Serves what an agent may write: proposals, and nothing that acts on them."""
    database = await db.connect(config.secret(settings.database.dsn_file), settings.database.pool_size)
    store, authority = Store(database), Authority(settings.auth, settings.tls)
    program = GrpcProgram(settings.server, settings.tls, callers.load("proposals"), db.explain)
    program.add(server.NAME, server.ProposalService(store, actions.load(), system_clock).methods(), authority)
    program.add(handoff.NAME, handoff.HandoffService(store, system_clock).methods(), authority)
    await program.serve(store.ready)
    await authority.close()
    await database.close()


if __name__ == "__main__":
    sys.exit(main("proposals", "Files proposals; decides and executes nothing.", ProposalsConfig, run))
