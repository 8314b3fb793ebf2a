"""TaskService with a worker: a task runs the call that it stands for, and belongs to the key that made it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from substrate.common.v1 import error_reason_pb2 as reasons
from substrate.tasks.v1 import task_service_pb2 as pb

from edge.revisions import REVISIONS
from kit import catalogue, limits
from kit.errors import Refusal, unavailable
from kit.server import Call
from tests.cluster import Database
from tests.db.tasks_world import Gate, World, at_once, opened
from tests.poll import until_async


@pytest.fixture
async def world(database: Database, tmp_path: Path) -> AsyncIterator[World]:
    async with opened(database, tmp_path) as made:
        yield made


async def test_the_result_of_a_task_is_what_the_call_would_have_been_answered_with_to_the_byte(world: World) -> None:
    async with world.instance():
        mine = await world.client()
        arguments = mine.arguments()
        task = await mine.create(arguments, progress_token=b'"a token"', ttl_ms=60_000)
        assert task.status == pb.RUN_STATUS_PENDING
        assert (task.ttl_ms, task.progress_token) == (60_000, b'"a token"')
        ended = await mine.ended(task.task_id)
    tool = catalogue.load().by_name["find_entity_paths"]
    answer = await at_once(tool.request_class(**arguments), Call("", None))
    assert ended.task.status == pb.RUN_STATUS_DONE
    assert not ended.task.result_is_error
    assert ended.outcome.result == orjson.dumps(REVISIONS["2025-11-25"].called(orjson.dumps(tool.encode(answer))))


async def test_what_the_call_would_be_refused_with_is_the_result(world: World) -> None:
    async with world.instance():
        mine = await world.client(read_per_minute=1)
        wrong = await mine.ended((await mine.create({"case_id": mine.case_id})).task_id)
        fast = [await mine.ended((await mine.create()).task_id) for _ in range(2)][1]
        assert wrong.task.status == fast.task.status == pb.RUN_STATUS_DONE
    assert wrong.task.result_is_error
    assert b"from_entity_id: required" in wrong.outcome.result
    assert b'"reason":"rate_limited"' in fast.outcome.result


async def test_a_call_that_the_key_may_not_make_begins_no_task_and_is_refused_like_the_call(world: World) -> None:
    async with world.instance(worker=False):
        mine, other = await world.client(scopes=["read"]), await world.client()
        said = {}
        for who, arguments in ((mine, None), (other, other.arguments(case_id=str(uuid.uuid4()))), (other, {}), (other, {"case_id": "x"})):
            with pytest.raises(Refusal) as refused:
                await who.create(arguments)
            said[refused.value.reason] = refused.value.message
        assert not await world.sql("SELECT 1 FROM runs.agent_runs")
    assert "find_entity_paths needs the scope kg:read" in said[reasons.ERROR_REASON_SCOPE_MISSING]
    assert "Matter not found or not accessible" in said[reasons.ERROR_REASON_MATTER_NOT_ACCESSIBLE]
    assert "case_id" in said[reasons.ERROR_REASON_INVALID_ARGUMENT]


async def test_a_defect_is_an_error_without_its_words(world: World) -> None:
    async def broken(_request: object, _call: Call) -> None:
        raise ValueError("SELECT secret FROM record.matters")

    world.answer = broken  # type: ignore[assignment]
    async with world.instance():
        mine = await world.client()
        ended = await mine.ended((await mine.create()).task_id)
    assert ended.task.status == pb.RUN_STATUS_FAILED
    assert ended.outcome.error.code == -32603
    assert "Report incident" in ended.outcome.error.message
    assert "SELECT" not in str(ended)


async def test_a_service_that_does_not_answer_is_asked_again_and_in_the_end_its_silence_is_the_result(world: World) -> None:
    tried: list[str] = []

    async def silent(request: object, call: Call) -> object:
        tried.append("again")
        if len(tried) in (1, 2) or len(tried) > 3:
            raise unavailable()
        return await at_once(request, call)

    world.answer = silent  # type: ignore[assignment]
    async with world.instance():
        mine = await world.client()
        assert (await mine.ended((await mine.create()).task_id)).task.status == pb.RUN_STATUS_DONE
        assert len(tried) == 3
        ended = await mine.ended((await mine.create()).task_id)
    assert len(tried) == 3 + limits.TASK_ATTEMPTS_MAX
    assert ended.task.result_is_error
    assert b'"reason":"unavailable"' in ended.outcome.result


async def test_a_tool_that_may_be_no_task_and_one_that_is_none_are_refused(world: World) -> None:
    async with world.instance(worker=False):
        mine = await world.client()
        for tool in ("get_document", "propose_action", "list_matters", "no_such_tool"):
            with pytest.raises(Refusal) as refused:
                await mine.create(tool=tool)
            assert refused.value.reason == reasons.ERROR_REASON_INVALID_ARGUMENT
            assert refused.value.fields[0].path == "tool"
        wrong: list[tuple[bytes | None, dict[str, Any]]] = [
            (None, {"arguments_sha256": bytes(32)}),
            (b"[]", {}),
            (b"{no", {}),
            (None, {"progress_token": b"1.5"}),
        ]
        for arguments, changes in wrong:
            with pytest.raises(Refusal) as refused:
                await mine.create(arguments, **changes)
            assert refused.value.reason == reasons.ERROR_REASON_INVALID_ARGUMENT
        assert not await world.sql("SELECT 1 FROM runs.agent_runs")


async def test_to_any_other_key_a_task_does_not_exist(world: World) -> None:
    async with world.instance():
        owner = await world.people.user(world.case_id)
        mine, sibling, stranger = await world.client(owner=owner), await world.client(owner=owner), await world.client()
        task = await mine.create()
        await mine.ended(task.task_id)
        said = set()
        for other in (sibling, stranger):
            for ask in (other.get, other.cancel, other.ended):
                for task_id in (task.task_id, str(uuid.uuid4()), "no id at all"):
                    with pytest.raises(Refusal) as refused:
                        await ask(task_id)
                    said.add((refused.value.reason, refused.value.message))
            with pytest.raises(Refusal):
                await other("UpdateTask", pb.UpdateTaskRequest(task_id=task.task_id, responses=b"{}"), pb.UpdateTaskResponse)
            assert not (await other.page()).tasks
            async with other.watching(task_ids=[task.task_id]) as news:
                assert [list(m.watched.task_ids) async for m in news] == [[]]
        assert len(said) == 1
        assert [t.task_id for t in (await mine.page()).tasks] == [task.task_id]


async def test_a_list_goes_on_where_it_stopped_and_its_token_is_good_for_its_key_alone(world: World) -> None:
    async with world.instance(worker=False):
        mine, other = await world.client(), await world.client()
        made = [(await mine.create()).task_id for _ in range(7)]
        first = await mine.page(3)
        second = await mine.page(3, first.next_page_token)
        third = await mine.page(3, second.next_page_token)
        assert [t.task_id for page in (first, second, third) for t in page.tasks] == made[::-1]
        assert not third.next_page_token
        for who, size, token in ((other, 3, first.next_page_token), (mine, 4, "x")):
            with pytest.raises(Refusal) as refused:
                await who.page(size, token)
            assert refused.value.reason == reasons.ERROR_REASON_INVALID_ARGUMENT


async def test_a_run_that_is_no_task_is_never_shown(world: World) -> None:
    async with world.instance():
        mine = await world.client()
        other = uuid.uuid4()
        await world.sql(
            "INSERT INTO runs.agent_runs (id, workflow, owner_id, launch_ctx, deadline_at, expires_at) "
            "VALUES ($1, 'draft', $2, '{}', now() + interval '1 hour', now() + interval '1 hour')",
            other,
            uuid.UUID(mine.key_id),
        )
        task = await mine.create()
        await mine.ended(task.task_id)
        assert [t.task_id for t in (await mine.page()).tasks] == [task.task_id]
        with pytest.raises(Refusal):
            await mine.get(str(other))
        assert [r["status"] for r in await world.sql("SELECT status FROM runs.agent_runs WHERE id = $1", other)] == ["PENDING"]


async def test_a_task_is_gone_when_its_time_is_over_and_its_row_too(world: World) -> None:
    async with world.instance():
        mine = await world.client()
        task = await mine.create(ttl_ms=0)
        assert task.ttl_ms == limits.TASK_TTL_MIN_SECONDS * 1000
        await until_async(lambda: world.empty("SELECT 1 FROM runs.agent_runs"), "the row is gone")
        with pytest.raises(Refusal) as refused:
            await mine.get(task.task_id)
        assert refused.value.reason == reasons.ERROR_REASON_NOT_FOUND
        long = await mine.create(ttl_ms=10**12)
        assert long.ttl_ms == limits.TASK_TTL_MAX_SECONDS * 1000
        assert (await mine.create()).ttl_ms == limits.TASK_TTL_DEFAULT_SECONDS * 1000


async def test_a_wait_ends_in_time_where_nothing_happens(world: World) -> None:
    async with world.instance(worker=False):
        mine = await world.client()
        task = await mine.create()
        answer = await mine("AwaitTask", pb.AwaitTaskRequest(task_id=task.task_id, wait_ms=50), pb.AwaitTaskResponse)
        assert answer.task.status == pb.RUN_STATUS_PENDING
        assert not answer.HasField("outcome")
        began = asyncio.get_running_loop().time()
        await mine("AwaitTask", pb.AwaitTaskRequest(task_id=task.task_id), pb.AwaitTaskResponse, seconds=1.5)
        assert asyncio.get_running_loop().time() - began < 1.5


async def test_a_cancelled_task_is_cancelled_before_that_is_said_and_its_call_is_taken_back(world: World) -> None:
    gate = Gate()
    world.answer = gate
    async with world.instance():
        mine = await world.client()
        task = await mine.create()
        async with asyncio.timeout(10):
            await gate.begun.acquire()
        waiting = asyncio.create_task(mine.ended(task.task_id))
        cancelled = await mine.cancel(task.task_id)
        assert cancelled.status == pb.RUN_STATUS_DENIED
        ended = await waiting
        assert ended.outcome.error.code == -32800
        await until_async(gate.was_cancelled, "the call is taken back")
        with pytest.raises(Refusal) as refused:
            await mine.cancel(task.task_id)
        assert refused.value.reason == reasons.ERROR_REASON_CONFLICT
    outcomes = await world.sql("SELECT action, outcome FROM audit.log WHERE action LIKE '%task%' ORDER BY seq")
    assert [tuple(r) for r in outcomes] == [("create_task:find_entity_paths", "done"), ("cancel_task", "done")]
