"""The real approvals over HTTP and PostgreSQL, and a PersonService over mutual TLS whose people a test can change."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import grpc
import httpx
import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from google.protobuf.message import Message
from starlette.types import ASGIApp
from substrate.auth.v1 import person_service_pb2 as pb

from kit import actions, config, db, listener
from kit.callers import CallerGate
from kit.clock import Clock, system_clock
from kit.errors import unavailable
from kit.server import Call, handlers
from ops import pki
from services.approvals.__main__ import application
from services.approvals.config import ApprovalsConfig, Http, SignInConfig, Signing
from tests.cluster import Database

SERVICE = "substrate.auth.v1.PersonService"
PASSWORD = "correct horse battery staple"
TASK = {"title": "Draft the answer", "due_date": "2026-08-10"}
DEADLINE = {"title": "Answer due", "due_date": "2026-08-14"}
INSERT = """
INSERT INTO ledger.proposals
  (id, key_id, owner_id, case_id, action, args, args_digest, what_will_happen, reason, overrides_ignored, supersedes, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
"""


@dataclass
class Somebody:
    """A person of the firm."""

    id: uuid.UUID
    email: str
    case_ids: set[uuid.UUID]
    totp_enrolled: bool = True

    def message(self) -> pb.Person:
        cases = sorted(str(c) for c in self.case_ids)
        return pb.Person(id=str(self.id), name="Ada Example", email=self.email, case_ids=cases, totp_enrolled=self.totp_enrolled)


@dataclass
class People:
    """What auth knows. Codes that were not used yet are right, once."""

    by_id: dict[str, Somebody] = field(default_factory=dict)
    codes: set[str] = field(default_factory=lambda: {f"{n:06d}" for n in range(100, 1000)})
    wait_seconds: int | None = None
    up: bool = True
    on_ask: Any = None  # called before each answer about access

    def add(self, *case_ids: uuid.UUID) -> Somebody:
        made = Somebody(uuid.uuid4(), f"{uuid.uuid4().hex[:8]}@firm.example", set(case_ids))
        self.by_id[str(made.id)] = made
        return made

    async def verify_password(self, request: pb.VerifyPasswordRequest, _call: Call) -> Message:
        if self.wait_seconds:
            return pb.VerifyPasswordResponse(retry_after_seconds=self.wait_seconds)
        found = next((p for p in self.by_id.values() if p.email == request.email), None)
        return pb.VerifyPasswordResponse(person=found.message() if found and request.password == PASSWORD else None)

    async def verify_totp(self, request: pb.VerifyTotpRequest, _call: Call) -> Message:
        if self.wait_seconds:
            return pb.VerifyTotpResponse(verified=False, retry_after_seconds=self.wait_seconds)
        right = request.code in self.codes
        self.codes.discard(request.code)
        return pb.VerifyTotpResponse(verified=right)

    async def find_person(self, request: pb.FindPersonRequest, _call: Call) -> Message:
        if not self.up:
            raise unavailable()
        found = next((p for p in self.by_id.values() if p.email == request.email), None)
        return pb.FindPersonResponse(person=found.message() if found else None)

    async def get_person(self, request: pb.GetPersonRequest, _call: Call) -> Message:
        if not self.up:
            raise unavailable()
        if self.on_ask:
            self.on_ask()
        found = self.by_id.get(request.user_id)
        return pb.GetPersonResponse(person=found.message() if found else None)

    def methods(self) -> dict[str, Any]:
        return {
            "VerifyPassword": self.verify_password,
            "VerifyTotp": self.verify_totp,
            "FindPerson": self.find_person,
            "GetPerson": self.get_person,
        }


@dataclass
class World:
    """The running program and what stands behind it."""

    url: str
    people: People
    database: Database
    key: Ed25519PrivateKey
    app: ASGIApp
    browsers: list[Browser] = field(default_factory=list)

    def browser(self, **headers: str) -> Browser:
        """A browser in which nobody has signed in."""
        self.browsers.append(Browser(self.url, **headers))
        return self.browsers[-1]

    async def sql(self, statement: str, *values: Any) -> list[db.Record]:
        """As the superuser: for what a test looks at or changes behind the program's back."""
        admin = await db.connect_one(self.database.admin_dsn)
        try:
            return await admin.fetch(statement, *values)
        finally:
            await admin.close()

    async def propose(
        self, owner: Somebody, case_id: uuid.UUID, action: str = "create_task", args: Mapping[str, Any] = TASK, **changes: Any
    ) -> uuid.UUID:
        """Stores a proposal as proposals would."""
        declared = actions.load().by_name.get(action)
        accepted = declared.accept(orjson.dumps(args)) if declared else None
        raw = accepted.args if accepted else orjson.dumps(args)
        id_, now = uuid.uuid4(), datetime.now(UTC)
        values = {
            "sentence": declared.sentence(accepted.values) if declared and accepted else "Something happens.",
            "reason": "The complaint was served on 2026-07-24.",
            "overrides": [],
            "supersedes": None,
            "expires_at": now + timedelta(days=7),
            **changes,
        }
        await self.sql(
            INSERT, id_, uuid.uuid4(), owner.id, case_id, action, raw, sha256(raw).digest(), values["sentence"], values["reason"],
            values["overrides"], values["supersedes"], values["expires_at"],
        )  # fmt: skip
        return id_

    async def decisions(self, id_: uuid.UUID) -> list[db.Record]:
        return await self.sql("SELECT * FROM ledger.decisions WHERE proposal_id = $1", id_)

    async def client(self, person: Somebody) -> Browser:
        """A browser in which this person has signed in."""
        browser = self.browser()
        answer = await browser.post("/sign-in", {"email": person.email, "password": PASSWORD, "next": "/"})
        assert answer.status_code == 303, answer.text
        return browser


class Browser:
    """Sends what a browser sends: cookies, Origin, and the hidden fields of the form that it was shown."""

    def __init__(self, url: str, **headers: str) -> None:
        self.http = httpx.AsyncClient(base_url=url, timeout=20, headers={"Origin": url, "Sec-Fetch-Site": "same-origin", **headers})

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return await self.http.get(path, headers=headers)

    async def post(self, path: str, form: Mapping[str, Any], **headers: str) -> httpx.Response:
        return await self.http.post(path, data=dict(form), headers=headers)

    async def json(self, path: str, tree: Any, **headers: str) -> httpx.Response:
        return await self.http.post(path, json=tree, headers=headers)

    @property
    def token(self) -> str:
        return str(self.http.cookies["substrate_session"])

    async def form(self, path: str) -> tuple[dict[str, str], str]:
        """The hidden fields of the main form of a page, and the page."""
        page = await self.get(path)
        return hidden(page.text), page.text

    async def check(self, id_: uuid.UUID, decision: str = "approved", reason: str = "") -> httpx.Response:
        """Goes from the proposal to the confirmation."""
        fields, _ = await self.form(f"/proposals/{id_}")
        return await self.post(f"/proposals/{id_}/check", {**fields, "decision": decision, "reason": reason})

    async def decide(self, id_: uuid.UUID, decision: str = "approved", reason: str = "", code: str = "") -> httpx.Response:
        """The whole way."""
        shown = await self.check(id_, decision, reason)
        assert shown.status_code == 200, shown.text
        return await self.post(f"/proposals/{id_}/decide", {**hidden(shown.text), "code": code})


def hidden(page: str) -> dict[str, str]:
    """The hidden fields of the form in the main part of a page."""
    main = page[page.index("<main") :]
    return dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', main))


@asynccontextmanager
async def person_service(methods: Mapping[str, Any], folder: Path) -> AsyncIterator[str]:
    """PersonService with auth's certificate, open to approvals alone."""
    pki.ensure(folder, ("auth", "approvals"), (), datetime.now(UTC))
    ca, key, cert = ((folder / name).read_bytes() for name in ("ca.pem", "auth.key", "auth.pem"))
    server = grpc.aio.server(interceptors=[CallerGate({SERVICE: frozenset({"approvals.substrate"})})])
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, cert)], ca, True))
    server.add_generic_rpc_handlers((handlers(SERVICE, methods, None),))
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(0)


@asynccontextmanager
async def opened(
    database: Database,
    folder: Path,
    auth_methods: Mapping[str, Any] | None = None,
    sign_in: SignInConfig | None = None,
    clock: Clock = system_clock,
    **http: Any,
) -> AsyncIterator[World]:
    """The program, serving; behind it the people of the world, or what answers these methods. {port} stands for where it listens."""
    people, key = People(), Ed25519PrivateKey.generate()
    (folder / "decision.key").write_text(key.private_bytes_raw().hex(), encoding="utf-8")
    async with person_service(auth_methods or people.methods(), folder) as auth:
        sock = listener.bind("127.0.0.1:0")
        bound = listener.address(sock)
        if "public_url" in http:
            http["public_url"] = http["public_url"].replace("{port}", bound.rpartition(":")[2])
        settings = ApprovalsConfig(
            http=Http(listen="", **http),
            tls=config.Tls(str(folder / "ca.pem"), str(folder / "approvals.pem"), str(folder / "approvals.key")),
            database=config.DatabaseConfig(str(database.dsn_file("svc_approvals"))),
            auth=config.Peer(auth),
            decision=Signing(str(folder / "decision.key")),
            sign_in=sign_in or SignInConfig(),
        )
        app, _ = await application(settings, bound, clock)
        serving = asyncio.Event()
        server = listener.Listener(listener.configured(app), serving.set)
        running = asyncio.create_task(server.serve([sock]))
        await serving.wait()
        try:
            yield (world := World(f"http://{bound}", people, database, key, app))
            for browser in world.browsers:
                await browser.http.aclose()
        finally:
            server.should_exit = True
            await running
