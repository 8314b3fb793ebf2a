"""The real tasks program over PostgreSQL, with the real auth, and in the place of reads one tool whose answers a test decides."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import grpc
import orjson
from google.protobuf import descriptor_pool
from google.protobuf.message import Message
from substrate.auth.v1 import auth_admin_service_pb2 as admin_pb
from substrate.common.v1 import attestation_pb2 as common
from substrate.reads.v1 import graph_pb2
from substrate.tasks.v1 import task_service_pb2 as pb

from kit import callers, catalogue, client, config, db
from kit import server as kit_server
from kit.authority import Authority
from kit.server import Call
from ops import pki
from services.auth import server as auth_server
from services.auth import worker as auth_worker
from services.auth.passes import Passes
from services.auth.store import Store as AuthStore
from services.tasks import server
from services.tasks.__main__ import Backends, Instance, TasksConfig, Work, assemble
from tests.cluster import Database
from tests.db.auth_world import PEPPER
from tests.db.auth_world import World as People
from tests.db.auth_world import world as people

GRAPH = "substrate.reads.v1.GraphService"
TOOL = "find_entity_paths"
TERMINAL = (pb.RUN_STATUS_DONE, pb.RUN_STATUS_FAILED, pb.RUN_STATUS_ABORTED, pb.RUN_STATUS_DENIED)
Services = Mapping[str, Mapping[str, kit_server.Handler]]
Answer = Callable[[Any, Call], Awaitable[Message]]


async def at_once(request: Any, _call: Call) -> Message:
    """An answer that depends on the arguments alone."""
    answer = graph_pb2.FindEntityPathsResponse(read_state=common.READ_STATE_READ, count=1)
    answer.paths.add(entity_names=[request.from_entity_id, request.to_entity_id, "Ünïcode — “quoted”"])
    answer.attestation.CopyFrom(common.Attestation(schema_version="1.0", case_id=request.case_id, provenance_id_count=0))
    answer.attestation.generated_at.FromDatetime(datetime(2026, 7, 26, 17, 15, 32, tzinfo=UTC))
    return answer


@dataclass
class Gate:
    """An answer that waits until it is let through."""

    open: asyncio.Event = field(default_factory=asyncio.Event)
    begun: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    cancelled: int = 0

    async def was_cancelled(self) -> bool:
        """Whether a call was taken back."""
        return self.cancelled > 0

    async def __call__(self, request: Any, call: Call) -> Message:
        self.begun.release()
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return await at_once(request, call)


@dataclass
class Client:
    """What the edge is to the service, for one key."""

    api_key: str
    key_id: str
    channel: grpc.aio.Channel
    case_id: str

    async def __call__(self, name: str, request: Message, response: Any, seconds: float = 30.0) -> Any:
        """One call."""
        method = client.method(self.channel, f"/{server.NAME}/{name}", response)
        return await method(request, metadata=(("authorization", f"Bearer {self.api_key}"),), timeout_seconds=seconds)

    def arguments(self, **changes: Any) -> dict[str, Any]:
        """Right arguments of the tool."""
        found = {"case_id": self.case_id, "from_entity_id": str(uuid.uuid4()), "to_entity_id": str(uuid.uuid4())}
        return found | changes

    async def create(self, arguments: dict[str, Any] | bytes | None = None, **changes: Any) -> pb.Task:
        """A new task."""
        data = arguments if isinstance(arguments, bytes) else orjson.dumps(self.arguments() if arguments is None else arguments)
        values = {"tool": TOOL, "arguments": data, "arguments_sha256": sha256(data).digest(), "revision": "2025-11-25"} | changes
        task: pb.Task = (await self("CreateTask", pb.CreateTaskRequest(**values), pb.CreateTaskResponse)).task
        return task

    async def get(self, task_id: str, *, with_outcome: bool = False) -> pb.GetTaskResponse:
        """How it stands."""
        request = pb.GetTaskRequest(task_id=task_id, with_outcome=with_outcome)
        return await self("GetTask", request, pb.GetTaskResponse)  # type: ignore[no-any-return]

    async def ended(self, task_id: str, seconds: float = 30.0) -> pb.AwaitTaskResponse:
        """How it ended."""
        async with asyncio.timeout(seconds):
            while True:
                answer = await self("AwaitTask", pb.AwaitTaskRequest(task_id=task_id), pb.AwaitTaskResponse)
                if answer.task.status in TERMINAL:
                    return answer  # type: ignore[no-any-return]

    async def cancel(self, task_id: str) -> pb.Task:
        """Takes it back."""
        return (await self("CancelTask", pb.CancelTaskRequest(task_id=task_id), pb.CancelTaskResponse)).task  # type: ignore[no-any-return]

    async def page(self, size: int = 0, token: str = "") -> pb.ListTasksResponse:
        """One page of the list."""
        request = pb.ListTasksRequest(page_size=size, page_token=token)
        return await self("ListTasks", request, pb.ListTasksResponse)  # type: ignore[no-any-return]

    @asynccontextmanager
    async def watching(self, **request: Any) -> AsyncIterator[AsyncIterator[Any]]:
        """The stream of news."""
        method = client.stream_method(self.channel, f"/{server.NAME}/WatchTasks", pb.WatchTasksResponse)
        stream = method(pb.WatchTasksRequest(**request), metadata=(("authorization", f"Bearer {self.api_key}"),))
        try:
            yield stream
        finally:
            await stream.aclose()


@dataclass
class World:
    """Programs, people and a tool."""

    database: Database
    folder: Path
    people: People
    auth: config.Peer
    tools: catalogue.Catalogue
    reads: str = ""
    restart_reads: Callable[[], Awaitable[None]] | None = None
    answer: Answer = at_once
    case_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    addresses: list[str] = field(default_factory=list)
    _channels: list[grpc.aio.Channel] = field(default_factory=list)

    def tls(self, name: str) -> config.Tls:
        """The files of a program."""
        return config.Tls(str(self.folder / "ca.pem"), str(self.folder / f"{name}.pem"), str(self.folder / f"{name}.key"))

    def settings(self, **work: Any) -> TasksConfig:
        """The configuration of an instance; its times are short unless said."""
        quick = {"lease_seconds": 1.5, "sweep_seconds": 0.3, "retry_seconds": 0.1} | work
        database = config.DatabaseConfig(str(self.database.dsn_file("svc_tasks")), 6)
        return TasksConfig(config.Server("127.0.0.1:0"), self.tls("tasks"), database, self.auth, Backends(self.reads), Work(**quick))

    async def client(self, address: str | None = None, owner: str | None = None, **key: Any) -> Client:
        """A new key, and the edge's way to an instance for it."""
        owner = owner or await self.people.user(self.case_id)
        made = await self.people.key(owner, **{"read_per_minute": 1_000_000, **key})
        return Client(made.api_key, made.key.id, self.link(address or self.addresses[0]), self.case_id)

    def link(self, address: str) -> grpc.aio.Channel:
        """The edge's channel to an instance."""
        self._channels.append(client.channel(address, "tasks", self.tls("edge")))
        return self._channels[-1]

    async def revoke(self, key_id: str) -> None:
        """Ends a key."""
        await self.people.admin.methods()["RevokeKey"](admin_pb.RevokeKeyRequest(key=key_id), Call("test", None))

    async def sql(self, statement: str, *values: Any) -> list[db.Record]:
        """As the superuser: for what a test looks at or changes behind the program's back."""
        admin = await db.connect_one(self.database.admin_dsn)
        try:
            return await admin.fetch(statement, *values)
        finally:
            await admin.close()

    async def empty(self, statement: str) -> bool:
        """Whether a statement finds nothing."""
        return not await self.sql(statement)

    @asynccontextmanager
    async def instance(self, *, worker: bool = True, owner: str = "", **work: Any) -> AsyncIterator[Instance]:
        """One instance of the program, in this process."""
        settings = self.settings(**work)
        database = await db.connect(config.secret(settings.database.dsn_file), settings.database.pool_size)
        here = assemble(settings, database, self.tools, owner or f"test:{uuid.uuid4()}")
        handlers = kit_server.handlers(server.NAME, here.service.methods(), here.authority, db.explain, only_authenticate=True)
        async with serving("tasks", self.tls("tasks"), handlers) as address:
            self.addresses.append(address)
            listening = asyncio.create_task(here.news.listen())
            if worker:
                here.worker.start()
            try:
                yield here
            finally:
                await here.worker.stop(0.2)
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)
        await here.close()
        await database.close()

    async def close(self) -> None:
        """Closes the clients' channels."""
        for channel in self._channels:
            await channel.close()


@asynccontextmanager
async def serving(
    name: str, tls: config.Tls, *handlers: grpc.GenericRpcHandler, table: callers.Callers | None = None, listen: str = "127.0.0.1:0"
) -> AsyncIterator[str]:
    """A program of that name, with its caller list."""
    ca, key, cert = (Path(f).read_bytes() for f in (tls.ca_file, tls.key_file, tls.cert_file))
    made = grpc.aio.server(interceptors=[callers.CallerGate(table or callers.load(name))])
    port = made.add_secure_port(listen, grpc.ssl_server_credentials([(key, cert)], ca, True))
    made.add_generic_rpc_handlers(handlers)
    await made.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await made.stop(0)


@asynccontextmanager
async def opened(
    database: Database, folder: Path, tools: catalogue.Catalogue | None = None, services: Services | None = None
) -> AsyncIterator[World]:
    """Auth and the tool, or these services of a fixture, serve; no instance of tasks yet."""
    pki.ensure(folder, ("auth", "reads", "tasks"), ("edge",), datetime.now(UTC))
    pool = await db.connect(database.dsn("svc_auth"), 4)
    store, tools, clock = AuthStore(pool), tools or catalogue.load(), lambda: datetime.now(UTC).timestamp()
    async with people(database) as known:
        world = World(database, folder, known, config.Peer(""), tools)
        of_auth = [
            kit_server.handlers(auth_server.NAME, auth_server.AuthService(store, tools, PEPPER).methods(), None, db.explain),
            kit_server.handlers(
                auth_worker.NAME, auth_worker.WorkerService(store, tools, Passes(PEPPER), clock).methods(), None, db.explain
            ),
        ]
        async with serving("auth", world.tls("auth"), *of_auth) as auth:
            world.auth = config.Peer(auth)
            authority = Authority(world.auth, world.tls("reads"))

            async def answered(request: Any, call: Call) -> Message:
                return await world.answer(request, call)

            graph: Services = {GRAPH: {m.name: answered for m in descriptor_pool.Default().FindServiceByName(GRAPH).methods}}
            handlers = [kit_server.handlers(name, methods, authority) for name, methods in (services or graph).items()]
            table = {name: frozenset({"tasks.substrate", "edge.substrate"}) for name in services or graph}
            reads = AsyncExitStack()

            async def restart() -> None:
                """Ends whatever is being answered, and serves again on the same address."""
                await reads.aclose()
                again = serving("reads", world.tls("reads"), *handlers, table=table, listen=world.reads or "127.0.0.1:0")
                world.reads = await reads.enter_async_context(again)

            world.restart_reads = restart
            await restart()
            async with reads:
                yield world
            await authority.close()
        await world.close()
    await pool.close()


__all__ = ["TOOL", "Client", "Gate", "World", "at_once", "opened"]
