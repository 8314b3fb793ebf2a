"""Starts reads."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kit import callers, catalogue, config, db, embedding, file_links
from kit.authority import Authority
from kit.clock import system_clock
from kit.object_store import StoreConfig, open_store
from kit.program import main
from kit.sealed_credentials import read_key
from kit.server import GrpcProgram, Handler
from services.reads import custom, paid, prompts, tool
from services.reads.engine import Engine
from services.reads.reading import Reading
from services.reads.thinking import Thinking
from services.reads.thinking.clearance import Files
from services.reads.thinking.credential import SealedCredentials
from services.reads.thinking.rerank import AnthropicReranker

PACKAGE = "substrate.reads.v1."
SQL = Path(__file__).parent / "sql"


@dataclass(frozen=True)
class Inference:
    """What opens the credentials that pay, and where the model behind them is asked."""

    key_file: str
    base_url: str = "https://api.anthropic.com"
    model: str = "claude-haiku-5-5"


@dataclass(frozen=True)
class Links:
    """Where links to files lead, and the half of the key that makes them; files holds the other."""

    base_url: str
    key_file: str


@dataclass(frozen=True)
class ReadsConfig:
    """Sections of the configuration of reads."""

    server: config.Server
    tls: config.Tls
    database: config.DatabaseConfig
    auth: config.Peer
    inference: Inference
    links: Links
    store: StoreConfig


async def handlers(engine: Engine, tools: catalogue.Catalogue, thinking: Thinking) -> dict[str, dict[str, Handler]]:
    """Service to method to handler, every statement prepared and compared; the first that does not fit stops the start."""
    bound: dict[str, dict[str, Handler]] = {}
    stores = custom.Stores()
    for each in (t for t in tools.tools if t.service.startswith(PACKAGE)):
        if each.cost == "firm_credential":
            handler: Handler | None = paid.find(each, engine, thinking)
        else:
            handler = custom.find(each, engine, stores)
            await _prepare(each, engine, stores, has_module=handler is not None)
        if handler is None:
            handler = partial(engine.answer, stores.reads[each.name])
        bound.setdefault(each.service, {})[each.path.rpartition("/")[2]] = handler
    return bound


async def _prepare(each: catalogue.Tool, engine: Engine, stores: custom.Stores, *, has_module: bool) -> None:
    """Prepares a tool's statement. A module may do without one, or have one whose rows only it understands (`-- shape: own`)."""
    file = SQL / f"{each.name}.sql"
    if has_module and not file.exists():
        return
    statement = db.load_statement(file)
    if has_module and statement.one("shape") == "own":
        reading = Reading(engine, statement)
        await reading.verify()
        stores.add_reading(each.name, reading)
        return
    read = tool.load(each, SQL)
    await engine.verify(read)
    stores.add(read)


async def run(settings: ReadsConfig) -> None:
    """Serves every read the protos declare."""
    database = await db.connect(config.secret(settings.database.dsn_file), settings.database.pool_size)
    authority = Authority(settings.auth, settings.tls)
    engine = Engine(database, system_clock)
    key = read_key(config.secret(settings.inference.key_file))
    credentials = SealedCredentials(settings.auth, settings.tls, key)
    link_key = file_links.private_key(config.secret(settings.links.key_file))
    files = Files(open_store(settings.store), link_key, settings.links.base_url)
    reranker = AnthropicReranker(settings.inference.base_url, settings.inference.model)
    thinking = Thinking(credentials, reranker, embedding.load(), files)
    program = GrpcProgram(settings.server, settings.tls, callers.load("reads"), db.explain)
    for service, methods in (await handlers(engine, catalogue.load(), thinking)).items():
        program.add(service, methods, authority)
    program.add(prompts.SERVICE, prompts.Prompts(database).handlers(), authority)
    await program.serve(engine.ready)
    await credentials.close_channel()
    await authority.close()
    await database.close()


if __name__ == "__main__":
    sys.exit(main("reads", "Answers reads from the record, attested.", ReadsConfig, run))
