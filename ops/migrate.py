"""Brings a database to the current schema: logins, the database, numbered migrations, then every grant anew."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from kit import db
from ops import cli, database, migrations, programs
from ops.database import OWNER, Target
from ops.layout import ROOT, DataDir

_LOCK = 0x5375_6273_7472  # "Substr": one migration at a time on a server
_LOGIN = "LOGIN NOINHERIT NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION"
_HISTORY = """
CREATE SCHEMA IF NOT EXISTS ops;
CREATE TABLE IF NOT EXISTS ops.migrations (
  name text PRIMARY KEY,
  sha256 text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);
"""


@dataclass(frozen=True)
class Source:
    """Where the SQL is."""

    migrations: Path = ROOT / "db" / "migrations"
    roles: Path = ROOT / "db" / "roles.sql"


async def migrate(target: Target, secrets_dir: Path, source: Source | None = None) -> list[str]:
    """Bring the database to the current schema and return the names of the migrations that were applied."""
    source = source or Source()
    files = migrations.read(source.migrations)  # refused before anything is touched
    logins = {role: database.login_password(secrets_dir, role) for role in programs.load().logins}
    async with _connected(target.admin_dsn) as admin:
        await admin.execute("SELECT pg_advisory_lock($1)", _LOCK)
        await _check_server(admin)
        await _make_logins(admin, logins)
        await _make_database(admin, target)
        async with _connected(target.dsn(OWNER, logins[OWNER])) as owner:
            applied = await _apply(owner, files)
            async with owner.transaction():
                await owner.execute(source.roles.read_text(encoding="utf-8"))
    for role, password in logins.items():
        database.keep_login(secrets_dir, role, target.dsn(role, password))
    return applied


@asynccontextmanager
async def _connected(dsn: str) -> AsyncIterator[db.Connection[db.Record]]:
    connection = await db.connect_one(dsn)
    try:
        yield connection
    finally:
        await connection.close()


async def _check_server(admin: db.Connection[db.Record]) -> None:
    version, encoding = await admin.fetchval("SHOW server_version_num"), await admin.fetchval("SHOW server_encoding")
    if int(version) < 150000:
        raise migrations.MigrationError(
            f"PostgreSQL 15 or newer is needed, and the server is {await admin.fetchval('SHOW server_version')}."
        )
    if encoding != "UTF8":
        raise migrations.MigrationError(f"the database must have the encoding UTF8, and it has {encoding}.")


async def _run_formatted(admin: db.Connection[db.Record], template: str, *values: str) -> None:
    """Run a statement that takes no parameters, its values quoted by the server itself."""
    await admin.execute(await admin.fetchval("SELECT format($1, VARIADIC $2::text[])", template, list(values)))


async def _make_logins(admin: db.Connection[db.Record], logins: dict[str, str]) -> None:
    rows = await admin.fetch("SELECT rolname, rolsuper OR rolbypassrls AS mighty FROM pg_roles WHERE rolname = ANY($1)", list(logins))
    there = {row["rolname"]: row["mighty"] for row in rows}
    for role, password in logins.items():
        if there.get(role):
            raise migrations.MigrationError(f"the login {role} exists and is a superuser or passes row security: it must be neither.")
        statement = "ALTER ROLE %I LOGIN NOINHERIT PASSWORD %L" if role in there else f"CREATE ROLE %I {_LOGIN} PASSWORD %L"
        await _run_formatted(admin, statement, role, database.scram_verifier(password))
    if not await admin.fetchval("SELECT rolsuper FROM pg_roles WHERE rolname = current_user"):
        await _run_formatted(admin, "GRANT %I TO CURRENT_USER", OWNER)  # grants and ownership need it where we are no superuser


async def _make_database(admin: db.Connection[db.Record], target: Target) -> None:
    if target.create and not await admin.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", target.database):
        await _run_formatted(admin, "CREATE DATABASE %I OWNER %I", target.database, OWNER)
    await _run_formatted(admin, "GRANT CONNECT, CREATE ON DATABASE %I TO %I", target.database, OWNER)


async def _apply(owner: db.Connection[db.Record], files: list[migrations.Migration]) -> list[str]:
    await owner.execute(_HISTORY)
    rows = await owner.fetch("SELECT name, sha256 FROM ops.migrations")
    pending = migrations.plan(files, {row["name"]: row["sha256"] for row in rows})
    for migration in pending:
        try:
            async with owner.transaction():
                await owner.execute(migration.sql)
                await owner.execute("INSERT INTO ops.migrations (name, sha256) VALUES ($1, $2)", migration.name, migration.sha256)
        except db.Error as error:
            raise migrations.MigrationError(f"{migration.name} failed and was rolled back: {error}") from error
    return [m.name for m in pending]


def main(arguments: list[str]) -> int:
    """Run the command `migrate`."""
    parser = cli.parser(
        "migrate", "Bring a database to the current schema and apply every grant anew.", "./run migrate --dsn-file /etc/substrate/admin.dsn"
    )
    cli.add_data_dir(parser)
    parser.add_argument(
        "--dsn-file",
        type=Path,
        help="file with the administrator's address of the database (default: SUBSTRATE_DATABASE_URL, else the data folder's)",
    )
    options = parser.parse_args(arguments)
    data = DataDir(options.data_dir)
    try:
        applied = asyncio.run(migrate(_target(options, data), data.secrets))
    except (migrations.MigrationError, ValueError, OSError, db.Error) as error:
        print(f"migrate: {error}", file=sys.stderr)
        return 1
    print("\n".join(f"applied {name}" for name in applied) or "nothing to apply: the database is current")
    return 0


def _target(options: argparse.Namespace, data: DataDir) -> Target:
    if options.dsn_file:
        return Target.external(options.dsn_file.read_text(encoding="utf-8").strip())
    url = os.environ.get("SUBSTRATE_DATABASE_URL")
    if url:
        return Target.external(url)
    if not data.admin_dsn.exists():
        raise ValueError(f"there is no database in {data.root}: start it with ./run up, or name one with --dsn-file.")
    return Target.external(data.admin_dsn.read_text(encoding="utf-8").strip())
