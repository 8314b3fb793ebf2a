"""A real PostgreSQL for tests: started once, migrated once, and a fresh database for each test that asks for one."""

import asyncio
import itertools
import json
import subprocess
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from kit import db
from ops import database, migrate
from ops.database import OWNER, Target
from ops.layout import ROOT
from ops.postgres import Postgres
from ops.process import python_environ

TEMPLATE = "substrate_template"
Result = TypeVar("Result")


@dataclass(frozen=True)
class Database:
    """One database of the test server."""

    name: str
    cluster: "Cluster"

    @property
    def admin_dsn(self) -> str:
        """The superuser's address."""
        return Target(self.cluster.pg.admin_dsn, self.name, create=False).dsn()

    def dsn(self, role: str = OWNER) -> str:
        """The address for a login: substrate_owner, substrate_loader, svc_auth, svc_reads."""
        return Target(self.cluster.pg.admin_dsn, self.name, create=False).dsn(role, database.login_password(self.cluster.secrets, role))

    def dsn_file(self, role: str) -> Path:
        """A file with the address for a login, as a program's configuration names it."""
        path = database.dsn_file(self.cluster.secrets / self.name, role)
        if not path.exists():
            database.keep_login(self.cluster.secrets / self.name, role, self.dsn(role))
        return path


@dataclass(frozen=True)
class Loaded:
    """A database with the demonstration matters, and their ids by short name."""

    database: Database
    matters: dict[str, str]


@dataclass(frozen=True)
class Cluster:
    """The test server and the passwords of its logins."""

    pg: Postgres
    secrets: Path
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def store(self) -> Path:
        """The files of the demonstration matters' documents, shared by every copy."""
        return self.secrets.parent / "store"

    def template(self) -> Database:
        """The migrated database that the others are copied from. Connect to it only while nothing is copied."""
        return Database(TEMPLATE, self)

    @contextmanager
    def copy(self, source: Database | None = None) -> Iterator[Database]:
        """A database of its own, copied from the template or from another one that nobody is connected to."""
        made = Database(f"test_{next(self._numbers)}", self)
        self._admin("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy", made.name, (source or self.template()).name)
        try:
            yield made
        finally:
            self._admin("DROP DATABASE {} WITH (FORCE)", made.name)

    def load(self, into: Database) -> Loaded:
        """Load the demonstration matters as an operator's `up` does."""
        command = [sys.executable, "-m", "ops.load", "--dsn-file", str(into.dsn_file("substrate_loader")), "--data", str(ROOT / "data")]
        command += ["--store", str(self.store)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=python_environ())
        assert done.returncode == 0, done.stderr
        return Loaded(into, json.loads(done.stdout.splitlines()[-1])["matters"])

    def _admin(self, statement: str, *names: str) -> None:
        async def run() -> None:
            admin = await db.connect_one(self.pg.admin_dsn)
            try:
                await admin.execute(statement.format(*names))  # names are made in this module
            finally:
                await admin.close()

        apart(run())


def apart(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine on a loop of its own, from synchronous fixtures."""
    with asyncio.Runner() as runner:
        return runner.run(work)


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Start the test server in the folder, without waiting for disks, and migrate the template."""
    pg = Postgres(folder / "server", fsync=False)
    apart(pg.start())
    try:
        apart(migrate.migrate(Target(pg.admin_dsn, TEMPLATE, create=True), folder / "secrets"))
        yield Cluster(pg, folder / "secrets")
    finally:
        apart(pg.stop())
