"""Runs the real edge on a real socket, in a thread with its own event loop, in front of the backend of these tests."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import uvloop

from edge import app
from edge.channel import MemoryChannel
from edge.config import Backends, EdgeConfig, Handoff, Http, Offers, Timing
from kit import catalogue, listener
from kit.catalogue import Catalogue
from kit.clock import Clock, system_clock
from tests.poll import until
from tests.system.edge.world import Backend, World

NOTHING = Offers()
Value = TypeVar("Value")


class LoopThread:
    """An event loop that others can hand work to."""

    def __init__(self) -> None:
        self.loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Value], seconds: float = 30.0) -> Value:
        """Runs work there and waits for it here."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(seconds)

    def close(self) -> None:
        """Ends the loop."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)
        self.loop.close()


@dataclass(frozen=True)
class Running:
    """An edge that serves."""

    host: str
    port: int
    app: app.Edge
    server: listener.Listener

    @property
    def channel(self) -> MemoryChannel:
        """Its sessions and their streams."""
        return self.app.channel

    @property
    def following(self) -> int:
        """How many sessions are told of their tasks."""
        return self.app.tasks.news.count if self.app.tasks is not None else 0

    @property
    def listening(self) -> int:
        """How many subscriptions are open."""
        return self.app.subscriptions.count if self.app.subscriptions is not None else 0

    @property
    def url(self) -> str:
        """The endpoint."""
        return f"http://{self.host}:{self.port}/mcp"

    @property
    def connections(self) -> int:
        """Open connections."""
        return len(self.server.server_state.connections)


@dataclass(frozen=True)
class Site:
    """The backend and the means to put edges in front of it."""

    world: World
    backend: Backend
    loop: LoopThread

    @property
    def with_tasks(self) -> Backends:
        """Every program, the one that keeps tasks included."""
        behind = self.backend
        return Backends(behind.auth_address, behind.reads_address, behind.proposals_address, behind.tasks_address)

    def settings(
        self, backends: Backends | None = None, handoff: Handoff | None = None, offers: Offers = NOTHING, **http: Any
    ) -> EdgeConfig:
        """Configuration of an edge in front of this backend."""
        behind = self.backend
        backends = backends or Backends(behind.auth_address, behind.reads_address, behind.proposals_address)
        return EdgeConfig(Http(listen="127.0.0.1:0", **http), behind.tls("edge"), backends, handoff or Handoff(), offers)

    @contextmanager
    def edge(
        self,
        timing: Timing | None = None,
        backends: Backends | None = None,
        clock: Clock = system_clock,
        declared: Catalogue | None = None,
        **settings_: Any,
    ) -> Iterator[Running]:
        """An edge of its own."""
        settings, timing = self.settings(backends, **settings_), timing or Timing()
        sock = listener.bind(settings.http.listen)
        bound = listener.address(sock)
        started = threading.Event()

        async def make() -> tuple[app.Edge, listener.Listener]:
            public_url = settings.http.public_url or f"http://{bound}"
            edge = app.build(settings, declared or catalogue.load(), public_url, timing, clock=clock)
            return edge, listener.Listener(listener.configured(edge.app, timing), started.set, edge.end_streams)

        edge, server = self.loop.run(make())
        serving = asyncio.run_coroutine_threadsafe(server.serve([sock]), self.loop.loop)
        until(lambda: started.is_set() or serving.done(), "the edge serves")
        host, _, port = bound.rpartition(":")
        try:
            yield Running(host, int(port), edge, server)
        finally:
            server.should_exit = True
            serving.result(30)


def as_tasks(**support: str) -> Catalogue:
    """The product's tools, some of them declared to be tasks."""
    found = catalogue.load()
    tools = tuple(replace(tool, task_support=support.get(tool.name, tool.task_support)) for tool in found.tools)
    return replace(found, tools=tools, by_name={tool.name: tool for tool in tools})


@contextmanager
def site(folder: Path) -> Iterator[Site]:
    """A backend that serves, without an edge yet."""
    loop, world = LoopThread(), World()

    async def start() -> Backend:
        backend = Backend(world, folder)
        await backend.start()
        return backend

    backend = loop.run(start())
    try:
        yield Site(world, backend, loop)
    finally:
        loop.run(backend.stop())
        loop.close()
