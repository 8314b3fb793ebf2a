"""Supervises one PostgreSQL server on a data folder: made on first use, SCRAM only, local only, dies with its owner."""

import asyncio
import hashlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from kit import limits
from ops import child, pg_binaries
from ops.child import Identity
from ops.files import write_private
from ops.pg_binaries import BUILTIN_LOCALE_SINCE, Binaries, PostgresError, find, for_nobody, reachable_by_others

SUPERUSER = "postgres"
_SETTINGS = (
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",  # TCP is as fast here, and a socket's path has a limit that deep folders cross
    "max_connections=200",
    "shared_buffers=128MB",
    "password_encryption=scram-sha-256",
    "timezone=UTC",
)


def free_port() -> int:
    """A TCP port of the loopback that nobody listens on right now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port


@dataclass
class Postgres:
    """A PostgreSQL server on `data_dir`; `async with` starts it and stops it."""

    data_dir: Path
    port: int = 0
    log_file: Path | None = None
    binaries: Binaries | None = None
    identity: Identity | None = None
    fsync: bool = True
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.data_dir = self.data_dir.absolute()
        self.log_file = self.log_file or self.data_dir / "postgres.log"

    @property
    def pgdata(self) -> Path:
        """The server's own folder; elsewhere when the server runs as nobody and could not reach it here."""
        here = self.data_dir / "pgdata"
        if self.identity is not Identity.NOBODY or reachable_by_others(self.data_dir):
            return here
        return pg_binaries.NOBODY_HOME / hashlib.sha256(os.fsencode(self.data_dir)).hexdigest()[:16] / "pgdata"

    @property
    def admin_dsn(self) -> str:
        """The superuser's address of the maintenance database."""
        return self.dsn(SUPERUSER, self._password_file.read_text(encoding="utf-8").strip(), "postgres")

    def dsn(self, user: str, password: str, database: str) -> str:
        """An address of this server for one login."""
        return f"postgresql://{quote(user)}:{quote(password)}@127.0.0.1:{self.port}/{quote(database)}"

    @property
    def pid(self) -> int | None:
        """The server's process id while it runs."""
        return self._process.pid if self.running and self._process else None

    @property
    def running(self) -> bool:
        """Whether the server process is alive."""
        return self._process is not None and self._process.poll() is None

    @property
    def _password_file(self) -> Path:
        return self.data_dir / "postgres.password"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.stop()

    async def start(self) -> None:
        """Make the folder on first use, start the server and return when it accepts connections."""
        self.identity = self.identity or child.database_identity()
        self.binaries = self.binaries or find()
        if self.identity is Identity.NOBODY:
            self.binaries = for_nobody(self.binaries)
        self.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        await self._wait_for_predecessor()
        if not (self.pgdata / "PG_VERSION").exists():
            await self._initdb()
        self._check_version()
        self.port = self.port or free_port()
        command = [str(self.binaries.bin / "postgres"), "-D", str(self.pgdata), "-p", str(self.port)]
        settings = [*_SETTINGS, *([] if self.fsync else ["fsync=off", "full_page_writes=off"])]
        with self._log().open("ab") as log:
            self._process = self._popen(command + [x for s in settings for x in ("-c", s)], log.fileno())
        await self._wait_ready()

    async def stop(self) -> None:
        """Shut the server down cleanly; by force after the grace period."""
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGINT)
            if not await _ended(process, limits.POSTGRES_STOP_SECONDS):
                process.send_signal(signal.SIGQUIT)
                if not await _ended(process, limits.POSTGRES_STOP_SECONDS):
                    process.kill()
                    process.wait()

    def _log(self) -> Path:
        assert self.log_file is not None
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        return self.log_file

    def _popen(self, command: list[str], output: int) -> subprocess.Popen[bytes]:
        assert self.identity is not None
        return subprocess.Popen(
            child.command(command, dying=signal.SIGINT, identity=self.identity),  # SIGINT: PostgreSQL's fast, clean shutdown
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a Ctrl-C on the terminal is ours to pass on, in order
        )

    def _give(self, path: Path) -> None:
        if self.identity is Identity.NOBODY:
            shutil.chown(path, "nobody")

    async def _initdb(self) -> None:
        assert self.binaries is not None
        assert self.identity is not None
        partial = self.pgdata.with_name("pgdata.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True, mode=0o700)
        if not self._password_file.exists():
            write_private(self._password_file, secrets.token_urlsafe(32) + "\n")
        given = partial.with_name("initdb.password")
        write_private(given, self._password_file.read_text(encoding="utf-8"))
        for path in (partial, given):
            self._give(path)
        locale = ["--locale=C"]
        if self.binaries.major >= BUILTIN_LOCALE_SINCE:
            locale += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        command = [
            str(self.binaries.bin / "initdb"),
            "-D",
            str(partial),
            "-U",
            SUPERUSER,
            "-A",
            "scram-sha-256",
            f"--pwfile={given}",
            "-E",
            "UTF8",
            "-k",
            *locale,
        ]
        with self._log().open("ab") as log:
            process = self._popen([*command, *([] if self.fsync else ["--no-sync"])], log.fileno())
        ended = await _ended(process, limits.POSTGRES_INIT_SECONDS)
        given.unlink()
        if not ended:
            process.kill()
            process.wait()
        if process.returncode != 0:
            raise PostgresError(f"the database folder could not be made; see {self.log_file}.")
        partial.rename(self.pgdata)

    def _check_version(self) -> None:
        assert self.binaries is not None
        made_by = int((self.pgdata / "PG_VERSION").read_text(encoding="ascii").strip())
        if made_by != self.binaries.major:
            raise PostgresError(
                f"{self.pgdata} was made by PostgreSQL {made_by}, and PostgreSQL {self.binaries.major} is what is installed here."
            )

    def _postmaster(self) -> tuple[int, str] | None:
        try:
            lines = (self.pgdata / "postmaster.pid").read_text(encoding="utf-8").splitlines()
            return int(lines[0]), lines[7].strip() if len(lines) > 7 else ""
        except (OSError, ValueError, IndexError):
            return None

    async def _wait_for_predecessor(self) -> None:
        """A server whose owner was killed is still shutting down: give it time; one that stays is somebody's."""
        waited = 0.0
        while (other := self._postmaster()) is not None and _is_postgres(other[0]):
            if waited > (limits.POSTGRES_STOP_SECONDS if other[1] == "stopping" else limits.POSTGRES_PREDECESSOR_SECONDS):
                raise PostgresError(f"a PostgreSQL server (process {other[0]}) already runs on {self.pgdata}.")
            await asyncio.sleep(0.02)
            waited += 0.02

    async def _wait_ready(self) -> None:
        process = self._process
        assert process is not None
        for _ in range(int(limits.POSTGRES_START_SECONDS / 0.005)):
            if process.poll() is not None:
                self._process = None
                raise PostgresError(f"the database server ended at once (code {process.returncode}); see {self.log_file}.")
            if self._postmaster() == (process.pid, "ready"):
                return
            await asyncio.sleep(0.005)
        await self.stop()
        raise PostgresError(f"the database server was not ready within {limits.POSTGRES_START_SECONDS:g} s; see {self.log_file}.")


async def _ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    for _ in range(int(seconds / 0.01)):
        if process.poll() is not None:
            return True
        await asyncio.sleep(0.01)
    return process.poll() is not None


def _is_postgres(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip() == "postgres"
    except OSError:
        return False
