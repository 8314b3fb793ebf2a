"""Starts auth."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from kit import callers, catalogue, config, db
from kit.clock import system_clock
from kit.program import main
from kit.server import GrpcProgram
from services.auth import admin, inference, person, server, worker
from services.auth.passes import Passes
from services.auth.store import Store


@dataclass(frozen=True)
class Keys:
    """The secret under which key secrets are hashed."""

    pepper_file: str


@dataclass(frozen=True)
class AuthConfig:
    """Sections of auth's configuration."""

    server: config.Server
    tls: config.Tls
    database: config.DatabaseConfig
    keys: Keys


async def run(settings: AuthConfig) -> None:
    """Serves AuthService to programs and AuthAdminService to the operator."""
    database = await db.connect(config.secret(settings.database.dsn_file), settings.database.pool_size)
    pepper = config.secret(settings.keys.pepper_file).encode("utf-8")
    store = Store(database)
    program = GrpcProgram(settings.server, settings.tls, callers.load("auth"), db.explain)
    tools = catalogue.load()
    program.add(server.NAME, server.AuthService(store, tools, pepper).methods(), None)
    program.add(admin.NAME, admin.AuthAdminService(store, pepper).methods(), None)
    program.add(worker.NAME, worker.WorkerService(store, tools, Passes(pepper), time.time).methods(), None)
    program.add(inference.NAME, inference.InferenceService(store).methods(), None)
    program.add(inference.ADMIN_NAME, inference.InferenceAdminService(store).methods(), None)
    people = person.PersonService(store, person.Passwords(), person.Seal(pepper), system_clock)
    program.add(person.NAME, people.methods(), None)
    await program.serve(store.ready)
    await database.close()


if __name__ == "__main__":
    sys.exit(main("auth", "Decides who may do what.", AuthConfig, run))
