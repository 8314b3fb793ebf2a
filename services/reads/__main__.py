"""Starts reads."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kit import callers, catalogue, config, db
from kit.authority import Authority
from kit.clock import system_clock
from kit.program import main
from kit.server import GrpcProgram, Handler
from services.reads import custom, tool
from services.reads.engine import Engine

PACKAGE = "substrate.reads.v1."
SQL = Path(__file__).parent / "sql"


@dataclass(frozen=True)
class ReadsConfig:
    """Sections of the configuration of reads."""

    server: config.Server
    tls: config.Tls
    database: config.DatabaseConfig
    auth: config.Peer


async def handlers(engine: Engine, tools: catalogue.Catalogue) -> dict[str, dict[str, Handler]]:
    """Service to method to handler, every statement prepared and compared; the first that does not fit stops the start."""
    bound: dict[str, dict[str, Handler]] = {}
    stores = custom.Stores()
    for each in (t for t in tools.tools if t.service.startswith(PACKAGE)):
        handler = custom.find(each, engine, stores)
        if handler is None:
            read = tool.load(each, SQL)
            await engine.verify(read)
            stores.add(read)
            handler = partial(engine.answer, read)
        bound.setdefault(each.service, {})[each.path.rpartition("/")[2]] = handler
    return bound


async def run(settings: ReadsConfig) -> None:
    """Serves every read the protos declare."""
    database = await db.connect(config.secret(settings.database.dsn_file), settings.database.pool_size)
    authority = Authority(settings.auth, settings.tls)
    engine = Engine(database, system_clock)
    program = GrpcProgram(settings.server, settings.tls, callers.load("reads"), db.explain)
    for service, methods in (await handlers(engine, catalogue.load())).items():
        program.add(service, methods, authority)
    await program.serve(engine.ready)
    await authority.close()
    await database.close()


if __name__ == "__main__":
    sys.exit(main("reads", "Answers reads from the record, attested.", ReadsConfig, run))
