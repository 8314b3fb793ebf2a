"""Fixtures that several suites share: a real PostgreSQL, fresh databases, and the whole stack."""

from collections.abc import Iterator

import pytest

from kit import db
from tests.cluster import Cluster, Database, Loaded, apart, cluster
from tests.system.stack import Stack, running

pytest_plugins = ["tests.needs"]


@pytest.fixture(scope="session")
def pg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A PostgreSQL server with every login and a migrated template."""
    with cluster(tmp_path_factory.mktemp("pg")) as started:
        yield started


@pytest.fixture
def database(pg: Cluster) -> Iterator[Database]:
    """A fresh migrated database for one test."""
    with pg.copy() as made:
        yield made


@pytest.fixture(scope="session")
def shared_database(pg: Cluster) -> Iterator[Database]:
    """One migrated database for tests that change nothing, or only what they made."""
    with pg.copy() as made:
        yield made


@pytest.fixture(scope="session")
def loaded_template(pg: Cluster) -> Iterator[Loaded]:
    """The demonstration matters, to be copied: connect to `loaded` or `own_loaded`, never to this one."""
    with pg.copy() as made:
        yield pg.load(made)


@pytest.fixture(scope="session")
def loaded(pg: Cluster, loaded_template: Loaded) -> Iterator[Loaded]:
    """One database with the demonstration matters for tests that change nothing."""
    with pg.copy(loaded_template.database) as made:
        yield Loaded(made, loaded_template.matters)


@pytest.fixture
def own_loaded(pg: Cluster, loaded_template: Loaded) -> Iterator[Loaded]:
    """A database with the demonstration matters that one test may change."""
    with pg.copy(loaded_template.database) as made:
        yield Loaded(made, loaded_template.matters)


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The whole system with the demonstration matters, shared by the session: leave it as you found it."""
    with running(tmp_path_factory.mktemp("stack") / "data") as started:
        apart(_widen(started.dsn()))
        yield started


async def _widen(dsn: str) -> None:
    """Lets the demonstration keys call as often as a whole suite does; what their limits are is tested on keys of their own."""
    owner = await db.connect_one(dsn)
    try:
        await owner.execute("UPDATE auth.api_keys SET read_per_minute = 1000000, retrieval_per_minute = 1000000")
    finally:
        await owner.close()
