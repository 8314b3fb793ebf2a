"""Fixtures of the edge's system tests: one backend and one edge for all, a fresh key and client for each test."""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator

import httpx
import pytest

from edge.config import Handoff, Timing
from tests.poll import until
from tests.system.edge import running
from tests.system.edge.held import Held
from tests.system.edge.running import Running, Site, as_tasks
from tests.system.edge.tasking import OPTIONAL, REQUIRED
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
    site.world.runs.clear()


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


@pytest.fixture
def hold() -> Iterator[Callable[..., Held]]:
    """Opens streams that are closed when the test ends."""
    opened: list[Held] = []

    def make(wire: Wire, **headers: str) -> Held:
        held = Held(wire, **headers)
        opened.append(held)
        until(lambda: held.status, "the stream opens")
        return held

    yield make
    for held in opened:
        held.close()


@pytest.fixture(scope="session")
def leading(tmp_path_factory: pytest.TempPathFactory) -> Handoff:
    """Where clients that can open links are led."""
    keys = tmp_path_factory.mktemp("handoff") / "state.keys"
    keys.write_text(urlsafe_b64encode(bytes(range(32))).decode().rstrip("=") + "\n", encoding="utf-8")
    return Handoff("http://127.0.0.1:9/firm/", str(keys))


LINK_TIMING = Timing(heartbeat_seconds=0.05, reauthorize_seconds=0.15, handoff_pause_seconds=0.03)


@pytest.fixture(scope="session")
def linking(site: Site, leading: Handoff) -> Iterator[Running]:
    """An edge that leads its clients to the approval page, and looks often what became of it."""
    with site.edge(LINK_TIMING, handoff=leading) as made:
        yield made


@pytest.fixture
def linked(linking: Running, world: World, http: httpx.Client) -> Wire:
    """A client that can open links, with no session yet."""
    return Wire(linking, world.new_key(), http, capabilities={"elicitation": {"url": {}}})


TASK_TIMING = Timing(
    heartbeat_seconds=0.2, reauthorize_seconds=0.3, session_sweep_seconds=0.1, task_pause_seconds=0.03, task_away_seconds=0.5
)


@pytest.fixture(scope="session")
def tasking(site: Site) -> Iterator[Running]:
    """An edge with tasks, where one tool can be one and another is nothing else."""
    with site.edge(TASK_TIMING, site.with_tasks, declared=as_tasks(**{OPTIONAL: "optional", REQUIRED: "required"})) as made:
        yield made


@pytest.fixture
def tasks(tasking: Running, world: World, http: httpx.Client) -> Iterator[Wire]:
    """A client in a session of the revision that has tasks; what follows its tasks ends with the test."""
    yield Wire(tasking, world.new_key(), http).initialize()
    for known in world.keys.values():
        known.revoked = True
    world.runs.break_off()
    until(lambda: tasking.following == 0 and world.runs.watching == 0, "nothing is followed")
