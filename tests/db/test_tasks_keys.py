"""What a key may do now decides about its tasks: those that wait, those that run, and those that ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest
from substrate.auth.v1 import auth_admin_service_pb2 as admin_pb
from substrate.auth.v1 import worker_service_pb2 as worker_pb
from substrate.common.v1 import error_reason_pb2 as reasons
from substrate.reads.v1 import graph_pb2
from substrate.tasks.v1 import task_service_pb2 as pb

from kit import catalogue, client, limits
from kit.errors import Refusal
from kit.server import Call
from tests.cluster import Database
from tests.db.tasks_world import TOOL, Client, Gate, World, opened
from tests.poll import until_async

CALL = Call("test", None)
STATUS = "SELECT status, status_message FROM runs.agent_runs WHERE id = $1"


@pytest.fixture
async def world(database: Database, tmp_path: Path) -> AsyncIterator[World]:
    async with opened(database, tmp_path) as made:
        yield made


async def narrow(world: World, mine: Client, how: str) -> None:
    """Takes from a key what its tasks need."""
    match how:
        case "revoked":
            await world.revoke(mine.key_id)
        case "scope":
            await world.people.admin.methods()["UpdateKey"](admin_pb.UpdateKeyRequest(key=mine.key_id, scopes=["read"]), CALL)
        case "matters":
            other = admin_pb.MatterAllowList(case_ids=["11111111-1111-4111-8111-111111111111"])
            await world.people.admin.methods()["UpdateKey"](admin_pb.UpdateKeyRequest(key=mine.key_id, allow_list=other), CALL)
        case "screen":
            (row,) = await world.sql("SELECT owner_id::text FROM auth.api_keys WHERE id = $1::text::uuid", mine.key_id)
            request = admin_pb.RaiseEthicalScreenRequest(user_id=row["owner_id"], case_id=mine.case_id, reason="a conflict")
            await world.people.admin.methods()["RaiseEthicalScreen"](request, CALL)


async def refusal_of(work: object) -> int:
    """Why it is refused."""
    with pytest.raises(Refusal) as refused:
        await work  # type: ignore[misc]
    return int(refused.value.reason)


async def until_it_ends(news: AsyncIterator[pb.WatchTasksResponse]) -> None:
    """Takes what comes."""
    async for _ in news:
        pass


@pytest.mark.parametrize("how", ["revoked", "scope", "matters", "screen"])
async def test_what_a_key_loses_stops_its_waiting_running_and_ended_tasks(world: World, how: str) -> None:
    gate = Gate()
    async with world.instance(slots=1):
        mine = await world.client()
        done = (await mine.create()).task_id
        await mine.ended(done)
        world.answer = gate
        running, waiting = (await mine.create()).task_id, (await mine.create()).task_id
        async with asyncio.timeout(10):
            await gate.begun.acquire()
        await narrow(world, mine, how)
        expected = reasons.ERROR_REASON_UNAUTHENTICATED if how == "revoked" else reasons.ERROR_REASON_NOT_FOUND
        for task_id in (done, running, waiting):
            for ask in (mine.get, mine.cancel, mine.ended):
                assert await refusal_of(ask(task_id)) == expected
        if how == "revoked":
            assert await refusal_of(mine.page()) == expected
        else:
            assert not (await mine.page()).tasks
        await until_async(lambda: world.empty("SELECT 1 FROM runs.agent_runs WHERE status IN ('PENDING', 'RUNNING')"), "nothing runs")
        assert gate.cancelled == 1
        assert gate.begun.locked()  # the one that waited was never begun
        ((status, message),) = await world.sql(STATUS, running)
        assert (status, message) == ("ABORTED", "The key that began it may not make this call any more.")


async def test_a_stream_of_news_ends_when_its_key_does(world: World) -> None:
    world.answer = Gate()
    async with world.instance():
        mine = await world.client()
        task = await mine.create()
        async with mine.watching(task_ids=[task.task_id]) as news:
            assert list((await anext(news)).watched.task_ids) == [task.task_id]
            await world.revoke(mine.key_id)
            async with asyncio.timeout(10):
                assert await refusal_of(until_it_ends(news)) == reasons.ERROR_REASON_UNAUTHENTICATED


async def test_a_pass_is_taken_from_the_tasks_program_alone(world: World) -> None:
    mine_owner = await world.people.user(world.case_id)
    mine = await world.people.key(mine_owner)
    tool = catalogue.load().by_name[TOOL]
    request = graph_pb2.FindEntityPathsRequest(
        case_id=world.case_id, from_entity_id="11111111-1111-4111-8111-111111111111", to_entity_id="22222222-2222-4222-8222-222222222222"
    )
    said = {}
    for name in ("tasks", "edge"):
        to_auth, to_reads = (
            client.channel(world.auth.address, "auth", world.tls("tasks")),
            client.channel(world.reads, "reads", world.tls(name)),
        )
        give = client.method(to_auth, "/substrate.auth.v1.WorkerService/GivePass", worker_pb.GivePassResponse)
        digest = sha256(request.SerializeToString(deterministic=True)).digest()
        given = await give(worker_pb.GivePassRequest(key_id=mine.key.id, method=tool.path, request_sha256=digest))
        call = client.method(to_reads, tool.path, tool.response_class)
        try:
            await call(request, metadata=(("authorization", f"Bearer {getattr(given, 'pass')}"),))
            said[name] = 0
        except Refusal as refusal:
            said[name] = int(refusal.reason)
        await to_auth.close()
        await to_reads.close()
    assert said == {"tasks": 0, "edge": reasons.ERROR_REASON_UNAUTHENTICATED}


async def test_nobody_else_is_given_a_pass(world: World) -> None:
    for name in ("edge", "reads"):
        channel = client.channel(world.auth.address, "auth", world.tls(name))
        for method, request, response in (
            ("GivePass", worker_pb.GivePassRequest(), worker_pb.GivePassResponse),
            ("ReviewCalls", worker_pb.ReviewCallsRequest(), worker_pb.ReviewCallsResponse),
        ):
            assert await refusal_of(client.method(channel, f"/substrate.auth.v1.WorkerService/{method}", response)(request)) == (
                reasons.ERROR_REASON_CALLER_REFUSED
            )
        await channel.close()


async def test_no_more_calls_of_a_key_run_at_once_than_it_may_on_all_instances_together(world: World) -> None:
    gate = Gate()
    world.answer = gate
    async with world.instance(), world.instance():
        mine, other = await world.client(), await world.client()
        tasks = [(await mine.create()).task_id for _ in range(10)]
        async with asyncio.timeout(10):
            for _ in range(limits.TASKS_RUNNING_PER_KEY_MAX):
                await gate.begun.acquire()
        assert gate.begun.locked()
        await other.create()  # another key does not stand behind it
        async with asyncio.timeout(10):
            await gate.begun.acquire()
        running = await world.sql("SELECT key_id::text AS key, count(*)::int AS n FROM runs.agent_runs WHERE status = 'RUNNING' GROUP BY 1")
        assert {row["key"]: row["n"] for row in running} == {mine.key_id: limits.TASKS_RUNNING_PER_KEY_MAX, other.key_id: 1}
        gate.open.set()
        ended = [await mine.ended(task_id) for task_id in tasks]
    assert {answer.task.status for answer in ended} == {pb.RUN_STATUS_DONE}
