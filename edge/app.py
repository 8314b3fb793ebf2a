"""Puts the edge together: the endpoint, its neighbours (health and metadata), and what runs beside them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass

import grpc
from google.protobuf.message import Message
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from substrate.changes.v1 import change_service_pb2

from edge import tools
from edge.authorization import ENDPOINT, METADATA_PATH, Authorization
from edge.call import ToolCalls
from edge.changes import WATCH, Changes, Watches
from edge.channel import MemoryChannel
from edge.config import EdgeConfig, Timing
from edge.endpoint import Endpoint
from edge.families import Family
from edge.handoff import PAGE, Handoffs, check_pages
from edge.legacy import Beside, Legacy
from edge.link_requests import LinkRequests
from edge.modern import Modern
from edge.origins import Origins
from edge.pages import approve
from edge.prompts import Prompts
from edge.readiness import Readiness
from edge.resources import Resources
from edge.rounds import Rounds
from edge.sealed_talk import Seals
from edge.sealing import Ring
from edge.subscriptions import Subscriptions
from edge.task_extension import ExtensionTasks
from edge.task_news import TaskNews
from edge.task_service import TaskService
from edge.task_sessions import SessionTasks
from kit import client, config
from kit.authority import Authority
from kit.catalogue import Catalogue
from kit.clock import Clock, system_clock


@dataclass(frozen=True, slots=True)
class Edge:
    """The application, and the parts that whoever serves it has to reach."""

    app: Starlette
    channel: MemoryChannel
    subscriptions: Subscriptions | None
    tasks: SessionTasks | None

    async def end_streams(self) -> None:
        """Ends every stream, because this program stops."""
        await self.channel.end_streams()
        if self.subscriptions is not None:
            await self.subscriptions.end_streams()
        if self.tasks is not None:
            self.tasks.waits.end()


def build(
    settings: EdgeConfig,
    catalogue: Catalogue,
    public_url: str,
    timing: Timing,
    now: Callable[[], float] = time.monotonic,
    clock: Clock = system_clock,
) -> Edge:
    """Makes the application. A tool of a program that has no address stops the start."""
    channels = _channels(settings)
    toolbox = tools.build(catalogue)

    def method(path: str, response: type[Message]) -> client.Method:
        return client.method(channels[_program(path)], path, response)

    def stream(path: str, response: type[Message]) -> client.StreamMethod:
        return client.stream_method(channels[_program(path)], path, response)

    callable_ = [*catalogue.tools, *(card.tool for card in toolbox.addressed)]
    calls = ToolCalls(toolbox, {t.path: (stream if t.streams else method)(t.path, t.response_class) for t in callable_})
    changing = bool(settings.offers.changes)
    resources = Resources(calls, toolbox.addressed, changing)
    families: list[Family] = [resources]
    if settings.offers.prompts:
        serving = channels[settings.offers.prompts]
        families.append(Prompts(lambda path, response: client.method(serving, path, response), changing))
    memory = MemoryChannel(now, timing.session_idle_seconds)
    authority = Authority(config.Peer(settings.backends.auth), settings.tls)
    authorization = Authorization(public_url, (t.scope for t in catalogue.tools), settings.http.authorization_servers)
    origins = Origins(settings.http.allowed_hosts, settings.http.allowed_origins, public_url)
    handoffs = _handoffs(settings, public_url, method, timing)
    links = LinkRequests(handoffs, memory, now, timing.handoff_pause_seconds) if handoffs else None
    ring = Ring.read(config.secret(settings.handoff.state_keys_file)) if settings.handoff.state_keys_file else None
    kept = TaskService(method, stream, timing.task_away_seconds) if settings.backends.tasks else None
    tasks = SessionTasks(kept, TaskNews(kept, memory, timing.task_pause_seconds), calls) if kept else None
    deferred = ExtensionTasks(kept, calls) if kept else None
    watches = Watches(resources, memory) if changing else None
    subscriptions = Subscriptions(kept, timing, watches) if kept or watches else None
    changes = _changes(channels[settings.offers.changes], watches, subscriptions, timing) if watches and subscriptions else None
    modern = Modern(
        toolbox, calls, Rounds(handoffs, ring, public_url, clock), Seals(ring, public_url, clock), timing, families, deferred, subscriptions
    )
    legacy = Legacy(toolbox, calls, memory, now, timing, families, Beside(links, tasks, watches))
    endpoint = Endpoint(origins, authorization, authority, legacy, modern)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for channel in channels.values():
                stack.push_async_callback(channel.close)
            stack.push_async_callback(authority.close)
            if handoffs is not None:
                stack.push_async_callback(handoffs.close)
            if kept is not None:
                stack.push_async_callback(kept.close)
            if tasks is not None:
                stack.push_async_callback(tasks.news.close)
            stack.push_async_callback(legacy.resuming.close)
            if changes is not None:
                stack.push_async_callback(_cancelled, asyncio.create_task(changes.run()))
            sweeper = asyncio.create_task(_sweep(memory, tasks.news if tasks else None, timing.session_sweep_seconds))
            stack.push_async_callback(_cancelled, sweeper)
            yield

    neighbours = _neighbours(authorization, Readiness(channels, now))
    neighbours += [] if handoffs is None else [Route(PAGE, approve(settings.handoff.approvals_url), methods=["GET"])]
    routes = [Route(ENDPOINT, endpoint), Route(f"{ENDPOINT}/", endpoint), *neighbours]
    app = Starlette(routes=routes, lifespan=lifespan)
    app.router.redirect_slashes = False  # clients lose their body or their key on a redirect
    return Edge(app, memory, subscriptions, tasks)


def _program(path: str) -> str:
    """The program that serves a method, by its package: `/substrate.reads.v1.MatterService/GetMatter` is served by reads."""
    return path.split(".")[1]


def _changes(channel: grpc.aio.Channel, watches: Watches, subscriptions: Subscriptions, timing: Timing) -> Changes:
    """Hears of changes, and tells the clients of both eras."""
    watch = client.stream_method(channel, WATCH, change_service_pb2.WatchChangesResponse)
    heard = Changes(watch, timing.changes_pause_seconds)
    heard.hearers += [watches.tell, subscriptions.tell]
    return heard


def _handoffs(
    settings: EdgeConfig, public_url: str, method: Callable[[str, type[Message]], client.Method], timing: Timing
) -> Handoffs | None:
    """Links to the approval page, where there is one to lead to."""
    if not settings.handoff.approvals_url:
        return None
    check_pages(settings.handoff.approvals_url, public_url)
    return Handoffs(method, public_url, timing.handoff_pause_seconds)


def _channels(settings: EdgeConfig) -> dict[str, grpc.aio.Channel]:
    addresses = vars(settings.backends)
    return {program: client.channel(address, program, settings.tls) for program, address in addresses.items() if address}


async def _sweep(memory: MemoryChannel, news: TaskNews | None, seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds)
        await memory.sweep()
        if news is not None:
            await news.sweep()


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def _neighbours(authorization: Authorization, readiness: Readiness) -> list[Route]:
    """Pages that need no key and are asked under any Host, by probes for one."""

    async def alive(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_request: Request) -> Response:
        missing = await readiness.missing()
        return PlainTextResponse(f"waiting for {', '.join(missing)}\n", 503) if missing else PlainTextResponse("ok\n")

    async def metadata(_request: Request) -> Response:
        return Response(authorization.metadata, media_type="application/json", headers={"access-control-allow-origin": "*"})

    pages = {"/healthz": alive, "/readyz": ready, METADATA_PATH: metadata, METADATA_PATH + ENDPOINT: metadata}
    return [Route(path, page, methods=["GET"]) for path, page in pages.items()]
