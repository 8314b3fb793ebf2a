"""The real auth, tasks and edge, with the fixture where reads would be, in one process on a database of its own."""

from __future__ import annotations

import asyncio
import base64
import os
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
from substrate.auth.v1 import auth_admin_service_pb2 as admin_pb
from substrate.auth.v1 import auth_service_pb2 as auth_pb

from edge import app as edge_app
from edge.config import Backends, EdgeConfig, Handoff, Http, Offers, Timing
from edge.http import Receive, Scope, Send
from kit import callers, catalogue, config, db, listener, server
from kit.authority import Authority
from ops import pki
from services.auth import worker as auth_worker
from services.auth.admin import AuthAdminService
from services.auth.passes import Passes
from services.auth.server import NAME as AUTH
from services.auth.server import AuthService
from services.auth.store import Store
from services.tasks import __main__ as tasks_program
from services.tasks.server import NAME as TASKS
from tests.cluster import Database
from tests.conformance.fixture import CONTENT, COUNTS, JOBS, NEWS, RESOURCES
from tests.conformance.prompting import PROMPTS, Changes
from tests.conformance.questions import DEFERRED, QUESTIONS

ROOT = "fixture"
PEPPER = b"a pepper for the suite"
SCOPES = ["read"]
PROGRAMS = ("auth", "reads", "tasks")


@dataclass
class Site:
    """The parts of it that other parts need."""

    database: Database
    folder: Path
    stack: AsyncExitStack
    tools: catalogue.Catalogue

    def tls(self, name: str) -> config.Tls:
        """The files of a program."""
        return config.Tls(*(str(self.folder / f"{file}") for file in ("ca.pem", f"{name}.pem", f"{name}.key")))

    async def serve(self, name: str, services: Mapping[str, tuple[Mapping[str, server.Handler], Authority | None, bool]]) -> str:
        """One gRPC program with its certificate; every service is open to the programs of this site. Its address."""
        ca, key, cert = (Path(f).read_bytes() for f in (self.tls(name).ca_file, self.tls(name).key_file, self.tls(name).cert_file))
        table = dict.fromkeys(services, frozenset(f"{caller}.substrate" for caller in (*PROGRAMS, "edge")))
        made = grpc.aio.server(interceptors=[callers.CallerGate(table)])
        port = made.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, cert)], ca, True))
        for service, (methods, authority, only) in services.items():
            made.add_generic_rpc_handlers((server.handlers(service, methods, authority, db.explain, only_authenticate=only),))
        await made.start()
        self.stack.push_async_callback(made.stop, None)
        return f"127.0.0.1:{port}"

    async def pool(self, role: str) -> db.Database:
        """Connections of one role."""
        pool = await db.connect(self.database.dsn(role))
        self.stack.push_async_callback(pool.close)
        return pool


async def _auth(site: Site) -> tuple[str, str]:
    """The real auth, which knows the fixture's methods. Its address, and a key."""
    store = Store(await site.pool("svc_auth"))
    services: dict[str, Any] = {
        AUTH: (AuthService(store, site.tools, PEPPER).methods(), None, False),
        auth_worker.NAME: (
            auth_worker.WorkerService(store, site.tools, Passes(PEPPER), lambda: datetime.now(UTC).timestamp()).methods(),
            None,
            False,
        ),
    }
    address, admin = await site.serve("auth", services), AuthAdminService(store, PEPPER)
    call = server.Call("suite", None)
    person = await admin.create_user(admin_pb.CreateUserRequest(name="Suite", email="suite@firm.example"), call)
    wanted = admin_pb.CreateKeyRequest(owner_id=person.user.id, name="suite", scopes=SCOPES, credential_class=auth_pb.CREDENTIAL_CLASS_FIRM)
    wanted.read_per_minute = 100_000
    return address, (await admin.create_key(wanted, call)).api_key


async def _fixture(site: Site, auth: str) -> str:
    authority = Authority(config.Peer(auth), site.tls("reads"))
    site.stack.push_async_callback(authority.close)
    changes = Changes()
    guarded = {
        "fixture.reads.v1.ContentService": {**CONTENT, **changes.triggers()},
        "fixture.reads.v1.ResourceService": RESOURCES,
        "fixture.reads.v1.NewsService": NEWS,
        "fixture.reads.v1.QuestionService": QUESTIONS,
        "fixture.reads.v1.CountService": COUNTS,
        "fixture.reads.v1.JobService": {**JOBS, **DEFERRED},
        "substrate.prompts.v1.PromptService": PROMPTS,
    }
    services: dict[str, Any] = {name: (methods, authority, False) for name, methods in guarded.items()}
    return await site.serve("reads", services | {"substrate.changes.v1.ChangeService": (changes.handlers(), None, False)})


async def _tasks(site: Site, auth: str, reads: str) -> str:
    dsn = site.database.dsn_file("svc_tasks")
    backends = tasks_program.Backends(reads)
    settings = tasks_program.TasksConfig(
        config.Server("127.0.0.1:0"), site.tls("tasks"), config.DatabaseConfig(str(dsn)), config.Peer(auth), backends
    )
    here = tasks_program.assemble(settings, await site.pool("svc_tasks"), site.tools, f"suite:{os.getpid()}:{secrets.token_hex(8)}")
    site.stack.push_async_callback(here.close)
    listening = asyncio.create_task(here.news.listen())
    site.stack.push_async_callback(_cancelled, listening)
    here.worker.start()
    site.stack.push_async_callback(here.worker.stop, 1.0)
    return await site.serve("tasks", {TASKS: (here.service.methods(), here.authority, True)})


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


class WithKey:
    """Stands before the edge and adds a key to each request that has none, because the suite cannot."""

    def __init__(self, inner: Any, key: str) -> None:
        self._inner, self._header = inner, (b"authorization", f"Bearer {key}".encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request."""
        if scope["type"] == "http" and all(name != b"authorization" for name, _ in scope["headers"]):
            scope = {**scope, "headers": [*scope["headers"], self._header]}
        await self._inner(scope, receive, send)


@asynccontextmanager
async def serving(database: Database, folder: Path) -> AsyncIterator[str]:
    """The whole site; the address of its endpoint."""
    pki.ensure(folder, PROGRAMS, ("edge",), datetime.now(UTC))
    keys = folder / "state.keys"
    keys.write_text(base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("=") + "\n", encoding="utf-8")
    async with AsyncExitStack() as stack:
        product, fixture = catalogue.load(), catalogue.load(ROOT)
        tools = replace(fixture, by_path=product.by_path | fixture.by_path)
        site = Site(database, folder, stack, tools)
        auth, key = await _auth(site)
        reads = await _fixture(site, auth)
        backends = Backends(auth, reads, "", await _tasks(site, auth, reads))
        sock = listener.bind("127.0.0.1:0")
        port = listener.address(sock).rpartition(":")[2]
        url = f"http://localhost:{port}"
        http = Http(listen="127.0.0.1:0", allowed_origins=(url, f"http://127.0.0.1:{port}"))
        settings = EdgeConfig(http, site.tls("edge"), backends, Handoff(state_keys_file=str(keys)), Offers("reads", "reads"))
        edge = edge_app.build(settings, fixture, url, Timing())
        yield await _listening(stack, edge, sock, key, f"{url}/mcp")


async def _listening(stack: AsyncExitStack, edge: edge_app.Edge, sock: Any, key: str, url: str) -> str:
    started = asyncio.Event()
    app: Any = WithKey(edge.app, key)
    uvicorn = listener.Listener(listener.configured(app, Timing()), started.set, edge.end_streams)
    task = asyncio.create_task(uvicorn.serve([sock]))

    async def stop() -> None:
        uvicorn.should_exit = True
        await task

    stack.push_async_callback(stop)
    await started.wait()
    return url
