"""Passes: a worker makes one call for a key that nobody presents, and gets what the key itself would get at that time."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator
from hashlib import sha256

import pytest
from substrate.auth.v1 import auth_admin_service_pb2 as admin_pb
from substrate.auth.v1 import auth_service_pb2 as pb
from substrate.auth.v1 import worker_service_pb2 as worker_pb
from substrate.common.v1 import error_reason_pb2 as reasons

from kit import catalogue, db, limits
from services.auth.passes import Passes
from services.auth.store import Store
from services.auth.worker import WorkerService
from tests.cluster import Database
from tests.db.auth_world import CALL, DOCUMENTS, FACTS, GET_MATTER, LIST_MATTERS, PEPPER, World, world

CASE, OTHER = str(uuid.uuid4()), str(uuid.uuid4())
DIGEST = sha256(b"a request").digest()


@pytest.fixture
async def auth(database: Database) -> AsyncIterator[World]:
    async with world(database) as made:
        yield made


@pytest.fixture
async def worker(database: Database) -> AsyncIterator[WorkerService]:
    pool = await db.connect(database.dsn("svc_auth"), 1)
    yield WorkerService(Store(pool), catalogue.load(), Passes(PEPPER), time.time)
    await pool.close()


async def given(worker: WorkerService, key_id: str, method: str = GET_MATTER, digest: bytes = DIGEST) -> str:
    """A pass for one call."""
    request = worker_pb.GivePassRequest(key_id=key_id, method=method, request_sha256=digest)
    return str(getattr(await worker.give_pass(request, CALL), "pass"))


async def shown(
    auth: World, text: str, method: str = GET_MATTER, case_id: str | None = CASE, digest: bytes = DIGEST
) -> pb.AuthorizeResponse:
    """What is decided when a pass is shown."""
    return await auth.auth.authorize(pb.AuthorizeRequest(api_key=text, method=method, case_id=case_id, request_sha256=digest), CALL)


async def test_a_pass_gets_the_decision_that_its_key_gets(auth: World, worker: WorkerService) -> None:
    key = await auth.key(await auth.user(CASE))
    by_pass = await shown(auth, await given(worker, key.key.id))
    assert by_pass == await auth.ask(key.api_key, GET_MATTER, CASE)
    assert by_pass.principal.key_id == key.key.id
    refused = await shown(auth, await given(worker, key.key.id), case_id=OTHER)
    assert refused == await auth.ask(key.api_key, GET_MATTER, OTHER)
    assert refused.denial.reason == reasons.ERROR_REASON_MATTER_NOT_ACCESSIBLE


async def test_a_pass_of_a_revoked_key_or_of_none_is_no_key(auth: World, worker: WorkerService) -> None:
    key = await auth.key(await auth.user(CASE))
    early = await given(worker, key.key.id)
    await auth.admin.methods()["RevokeKey"](admin_pb.RevokeKeyRequest(key=key.key.id), CALL)
    for text in (early, await given(worker, key.key.id), await given(worker, str(uuid.uuid4()))):
        assert (await shown(auth, text)).denial.reason == reasons.ERROR_REASON_UNAUTHENTICATED


async def test_a_pass_is_good_for_its_own_call_alone_and_not_for_long(auth: World, worker: WorkerService) -> None:
    key = await auth.key(await auth.user(CASE))
    text = await given(worker, key.key.id)
    other = sha256(b"another request").digest()
    old = Passes(PEPPER).give(key.key.id, GET_MATTER, DIGEST, time.time() - limits.WORKER_PASS_SECONDS - 2)
    forged = Passes(b"another pepper").give(key.key.id, GET_MATTER, DIGEST, time.time())
    answers = [
        await shown(auth, text, method=LIST_MATTERS, case_id=None),
        await shown(auth, text, digest=other),
        await shown(auth, old),
        await shown(auth, forged),
        await shown(auth, text[:-1] + ("A" if text[-1] != "A" else "B")),
        await shown(auth, "brp_"),
    ]
    assert {a.denial.reason for a in answers} == {reasons.ERROR_REASON_UNAUTHENTICATED}
    assert (await shown(auth, text)).HasField("principal")


async def test_a_review_says_what_a_key_may_do_now_and_charges_nothing(auth: World, worker: WorkerService, database: Database) -> None:
    owner = await auth.user(CASE, OTHER)
    key = await auth.key(
        owner, scopes=["read"], allow_list=admin_pb.MatterAllowList(case_ids=[CASE]), credential_class=pb.CREDENTIAL_CLASS_CLIENT_SAFE
    )
    calls = [
        (GET_MATTER, CASE),
        (GET_MATTER, OTHER),
        (GET_MATTER, None),
        (LIST_MATTERS, None),
        (FACTS, CASE),
        (DOCUMENTS, CASE),
        ("/x.y.Z/W", None),
    ]
    request = worker_pb.ReviewCallsRequest(key_id=key.key.id, calls=[worker_pb.ReviewedCall(method=m, case_id=c) for m, c in calls])
    said = await worker.review_calls(request, CALL)
    assert said.live
    assert list(said.allowed) == [True, False, False, True, False, False, False]
    admin = await db.connect_one(database.admin_dsn)
    assert await admin.fetchval("SELECT count(*) FROM auth.rate_lanes") == 0
    await admin.close()
    await auth.admin.methods()["RevokeKey"](admin_pb.RevokeKeyRequest(key=key.key.id), CALL)
    after = await worker.review_calls(request, CALL)
    assert not after.live
    assert not any(after.allowed)
    assert len(after.allowed) == len(calls)


async def test_a_key_whose_owner_has_no_matter_may_make_the_calls_that_name_none(auth: World, worker: WorkerService) -> None:
    key = await auth.key(await auth.user())
    asked = [worker_pb.ReviewedCall(method=LIST_MATTERS), worker_pb.ReviewedCall(method=GET_MATTER, case_id=CASE)]
    said = await worker.review_calls(worker_pb.ReviewCallsRequest(key_id=key.key.id, calls=asked), CALL)
    assert list(said.allowed) == [True, False]


async def test_a_review_of_no_calls_says_whether_the_key_lives(auth: World, worker: WorkerService) -> None:
    key = await auth.key(await auth.user())
    assert (await worker.review_calls(worker_pb.ReviewCallsRequest(key_id=key.key.id), CALL)).live
    assert not (await worker.review_calls(worker_pb.ReviewCallsRequest(key_id=str(uuid.uuid4())), CALL)).live
