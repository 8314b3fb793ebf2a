"""Migrating a real database: logins, history, grants, and what a failure leaves behind."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit import db
from ops import database, pg_binaries, programs
from ops.database import Target
from ops.migrate import Source, migrate
from ops.migrations import MigrationError
from ops.postgres import Postgres
from tests.cluster import apart

LOGINS = ("substrate_owner", "substrate_loader", *(p.role for p in programs.load().programs if p.role))
LOGIN_FILES = tuple(f"{p.name}.dsn" for p in programs.load().programs if p.role)


class World:
    """An empty server and a folder of SQL files."""

    def __init__(self, pg: Postgres, folder: Path, name: str) -> None:
        self.target = Target(pg.admin_dsn, name, create=True)
        self.secrets, self.sql = folder / "secrets", folder / "migrations"
        self.source = Source(self.sql, folder / "roles.sql")
        self.sql.mkdir()
        self.write("0001_start", "CREATE SCHEMA auth; CREATE TABLE auth.keys (id int PRIMARY KEY); INSERT INTO auth.keys VALUES (1);")
        self.grants("GRANT USAGE ON SCHEMA auth TO svc_auth; GRANT SELECT ON auth.keys TO svc_auth;")

    def write(self, name: str, sql: str) -> None:
        (self.sql / f"{name}.sql").write_text(sql)

    def grants(self, sql: str) -> None:
        self.source.roles.write_text(sql)

    async def migrate(self) -> list[str]:
        return await migrate(self.target, self.secrets, self.source)

    async def ask(self, role: str, query: str) -> object:
        connection = await db.connect_one(database.dsn_file(self.secrets, role).read_text().strip())
        try:
            return await connection.fetchval(query)
        finally:
            await connection.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    pg = Postgres(tmp_path_factory.mktemp("migrate"), fsync=False)
    apart(pg.start())
    yield pg
    apart(pg.stop())


@pytest.fixture
def world(server: Postgres, tmp_path: Path, request: pytest.FixtureRequest) -> World:
    return World(server, tmp_path, f"w{abs(hash(request.node.nodeid))}")


async def test_the_first_run_applies_everything_and_the_next_run_nothing(world: World) -> None:
    assert await world.migrate() == ["0001_start.sql"]
    assert await world.migrate() == []


async def test_each_login_has_a_working_address_that_only_its_owner_can_read(world: World) -> None:
    await world.migrate()
    assert await world.ask("svc_auth", "SELECT id FROM auth.keys") == 1
    modes = {p.name: p.stat().st_mode & 0o777 for p in world.secrets.iterdir()}
    assert modes == dict.fromkeys((*LOGIN_FILES, "substrate_loader.dsn", "substrate_owner.dsn"), 0o600)


async def test_a_login_keeps_its_password_over_migrations(world: World) -> None:
    await world.migrate()
    before = database.dsn_file(world.secrets, "svc_auth").read_text()
    await world.migrate()
    assert database.dsn_file(world.secrets, "svc_auth").read_text() == before


async def test_what_is_not_granted_is_refused(world: World) -> None:
    await world.migrate()
    with pytest.raises(db.Error, match="permission denied"):
        await world.ask("svc_reads", "SELECT id FROM auth.keys")


async def test_grants_are_applied_anew_each_time(world: World) -> None:
    await world.migrate()
    world.grants("REVOKE SELECT ON auth.keys FROM svc_auth;")
    await world.migrate()
    with pytest.raises(db.Error, match="permission denied"):
        await world.ask("svc_auth", "SELECT id FROM auth.keys")


async def test_a_failing_migration_is_named_and_leaves_nothing_of_itself(world: World) -> None:
    await world.migrate()
    world.write("0002_half", "CREATE TABLE auth.half (id int); SELECT no_such_function();")
    with pytest.raises(MigrationError, match=r"0002_half\.sql failed and was rolled back"):
        await world.migrate()
    assert await world.ask("substrate_owner", "SELECT to_regclass('auth.half')::text") is None
    world.write("0002_half", "CREATE TABLE auth.half (id int);")
    assert await world.migrate() == ["0002_half.sql"]


async def test_an_applied_file_that_was_changed_is_refused_by_name(world: World) -> None:
    await world.migrate()
    world.write("0001_start", "CREATE SCHEMA auth;")
    with pytest.raises(MigrationError, match=r"0001_start\.sql was changed"):
        await world.migrate()


async def test_two_migrations_at_once_apply_each_file_once(world: World) -> None:
    found = await asyncio.gather(world.migrate(), world.migrate())
    assert sorted(found) == [[], ["0001_start.sql"]]


async def test_a_login_that_is_a_superuser_is_refused(world: World) -> None:
    await world.migrate()
    admin = await db.connect_one(world.target.admin_dsn)
    try:
        await admin.execute("ALTER ROLE svc_reads SUPERUSER")
        with pytest.raises(MigrationError, match="svc_reads exists and is a superuser"):
            await world.migrate()
    finally:
        await admin.execute("ALTER ROLE svc_reads NOSUPERUSER")
        await admin.close()


async def test_an_administrator_who_is_no_superuser_can_migrate_a_database_of_their_own(world: World, server: Postgres) -> None:
    admin = await db.connect_one(server.admin_dsn)
    try:
        for role in LOGINS:
            await admin.execute(f"ALTER ROLE {role} RENAME TO old_{role}")
        await admin.execute("CREATE ROLE manager LOGIN CREATEROLE PASSWORD 'manager'")
        await admin.execute("CREATE DATABASE managed OWNER manager")
        world.target = Target.external(server.dsn("manager", "manager", "managed"))
        assert await world.migrate() == ["0001_start.sql"]
        assert await world.ask("svc_auth", "SELECT id FROM auth.keys") == 1
        assert await world.migrate() == []
    finally:
        await admin.execute("DROP DATABASE managed")
        for role in LOGINS:
            await admin.execute(f"DROP ROLE {role}")
            await admin.execute(f"ALTER ROLE old_{role} RENAME TO {role}")
        await admin.close()


def test_an_address_without_a_database_is_refused() -> None:
    with pytest.raises(ValueError, match="must end in the name of a database"):
        Target.external("postgresql://boss@db.example:5432")


def test_a_login_address_keeps_the_host_and_the_options_of_the_administrators() -> None:
    target = Target.external("postgresql://boss:pw@db.example:5433/firm?sslmode=require")
    assert target.dsn("svc_auth", "s p") == "postgresql://svc_auth:s%20p@db.example:5433/firm?sslmode=require"


def test_the_verifier_of_a_password_is_what_postgresql_computes() -> None:
    # RFC 7677's user "user", password "pencil"
    salt = bytes.fromhex("5b6d99689d12358eeca04b14123 6fa81".replace(" ", ""))
    assert database.scram_verifier("pencil", salt=salt) == (
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    )


@pytest.mark.needs("postgres")
async def test_the_product_migrates_on_the_machines_own_postgresql(tmp_path: Path) -> None:
    async with Postgres(tmp_path, binaries=pg_binaries.find(allow_wheel=False), fsync=False) as pg:
        applied = await migrate(Target(pg.admin_dsn, "substrate", create=True), tmp_path / "secrets")
        assert applied[0] == "0001_auth.sql"
        assert await migrate(Target(pg.admin_dsn, "substrate", create=True), tmp_path / "secrets") == []
