"""Starts the executor."""

from __future__ import annotations

import secrets
import sys
from dataclasses import dataclass

from kit import actions, callers, config, db, decisions, limits
from kit.program import main
from kit.server import GrpcProgram, all_of
from services.executor import handlers
from services.executor.connectors.smtp import Mail, SmtpConfig
from services.executor.lease import owner_name
from services.executor.people import People
from services.executor.run import Executor, Loop
from services.executor.store import Store


@dataclass(frozen=True)
class Decisions:
    """The public half of the key that approvals signs decisions with."""

    public_key_file: str


@dataclass(frozen=True)
class Execution:
    """How long a claim holds without a word of its holder, and how often to look for what nobody announced."""

    lease_seconds: float = limits.EXECUTION_LEASE_SECONDS
    sweep_seconds: float = limits.EXECUTION_SWEEP_SECONDS


@dataclass(frozen=True)
class ExecutorConfig:
    """Sections of the executor's configuration."""

    server: config.Server
    tls: config.Tls
    database: config.DatabaseConfig
    auth: config.Peer
    decision: Decisions
    execution: Execution
    smtp: SmtpConfig


async def run(settings: ExecutorConfig) -> None:
    """Carries out decisions. The server answers nothing but whether the program is well."""
    dsn = config.secret(settings.database.dsn_file)
    database = await db.connect(dsn, settings.database.pool_size)
    store = Store(database, owner_name(secrets.token_hex(8)), settings.execution.lease_seconds)
    known = actions.load()
    found = handlers.find(known)
    for handler in found.values():
        await handler.prepare(store)
    people = People(settings.auth, settings.tls)
    key = decisions.public_key(config.secret(settings.decision.public_key_file))
    tools = handlers.Tools(store, Mail(settings.smtp))
    loop = Loop(Executor(known, found, key, people, tools, settings.execution.sweep_seconds), dsn, settings.execution.sweep_seconds)
    program = GrpcProgram(settings.server, settings.tls, callers.load("executor"))
    loop.start()
    await program.serve(all_of(store.ready, loop.alive))
    await loop.stop(limits.SHUTDOWN_GRACE_SECONDS)
    await people.close()
    await database.close()


if __name__ == "__main__":
    sys.exit(main("executor", "Carries out what a person decided, once.", ExecutorConfig, run))
