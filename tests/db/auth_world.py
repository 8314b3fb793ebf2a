"""A world of people, matters and keys for tests of authority, made through the administration service."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from substrate.auth.v1 import auth_admin_service_pb2 as admin_pb
from substrate.auth.v1 import auth_service_pb2 as pb

from kit import catalogue, db
from kit.server import Call
from services.auth.admin import AuthAdminService
from services.auth.server import AuthService
from services.auth.store import Store
from tests.cluster import Database

PEPPER = b"a pepper for tests"
CALL = Call("test", None)
ALL_SCOPES = ["read", "write", "kg:read", "retrieval:query", "docs:read", "drafting:check", "tasks:read", "analysis:read"]
GET_MATTER = "/substrate.reads.v1.MatterService/GetMatter"
LIST_MATTERS = "/substrate.reads.v1.MatterService/ListMatters"
FACTS = "/substrate.reads.v1.FactService/GetFactRecord"
DOCUMENTS = "/substrate.reads.v1.DocumentService/ListDocuments"


@dataclass
class World:
    """The services under test and shortcuts to call them."""

    auth: AuthService
    admin: AuthAdminService

    async def user(self, *case_ids: str) -> str:
        """A person with access to these matters."""
        request = admin_pb.CreateUserRequest(name="A Person", email=f"{uuid.uuid4().hex}@firm.example")
        user_id: str = (await self.admin.create_user(request, CALL)).user.id
        for case_id in case_ids:
            await self.admin.methods()["GrantMatterAccess"](admin_pb.GrantMatterAccessRequest(user_id=user_id, case_id=case_id), CALL)
        return user_id

    async def key(self, owner_id: str, **changes: Any) -> admin_pb.CreateKeyResponse:
        """A key with every scope, of class firm, unless changed."""
        values: dict[str, Any] = {"name": "test", "scopes": ALL_SCOPES, "credential_class": pb.CREDENTIAL_CLASS_FIRM, **changes}
        return await self.admin.create_key(admin_pb.CreateKeyRequest(owner_id=owner_id, **values), CALL)

    async def ask(self, api_key: str, method: str = GET_MATTER, case_id: str | None = None) -> pb.AuthorizeResponse:
        """One decision."""
        return await self.auth.authorize(question(api_key, method, case_id), CALL)


def question(api_key: str, method: str = GET_MATTER, case_id: str | None = None) -> pb.AuthorizeRequest:
    """One call to decide."""
    return pb.AuthorizeRequest(api_key=api_key, method=method, case_id=case_id, request_sha256=sha256(b"").digest())


@asynccontextmanager
async def world(database: Database, pool_size: int = 4) -> AsyncIterator[World]:
    """Auth over a database, as its own role."""
    pool = await db.connect(database.dsn("svc_auth"), pool_size)
    store = Store(pool)
    try:
        yield World(AuthService(store, catalogue.load(), PEPPER), AuthAdminService(store, PEPPER))
    finally:
        await pool.close()
