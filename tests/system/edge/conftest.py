"""Fixtures of the edge's system tests: one backend and one edge for all, a fresh key and client for each test."""

from collections.abc import Iterator

import httpx
import pytest

from tests.system.edge import running
from tests.system.edge.running import Running, Site
from tests.system.edge.wire import Wire
from tests.system.edge.world import World


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The backend."""
    with running.site(tmp_path_factory.mktemp("site")) as made:
        yield made


@pytest.fixture
def world(site: Site) -> Iterator[World]:
    """The world behind the edge; faults end with the test."""
    yield site.world
    fresh = World()
    for name in ("auth_up", "denials", "rows", "get_matter", "presented", "cancelled"):
        setattr(site.world, name, getattr(fresh, name))
    site.world.ledger.clear()


@pytest.fixture(scope="session")
def edge(site: Site) -> Iterator[Running]:
    """The edge with its ordinary limits."""
    with site.edge(allowed_origins=("https://app.example",)) as made:
        yield made


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    """An HTTP client."""
    with httpx.Client(timeout=20, verify=False) as made:  # plain HTTP: loading certificates would only take time
        yield made


@pytest.fixture
def wire(edge: Running, world: World, http: httpx.Client) -> Wire:
    """A client with a key of its own, and no session yet."""
    return Wire(edge, world.new_key(), http)


@pytest.fixture
def legacy(wire: Wire) -> Wire:
    """A client in a session of the newest revision that has sessions."""
    return wire.initialize()
