"""Tools that answer with free content, say how far they have come, and ask before they answer, run as tasks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from fixture.reads.v1 import jobs_pb2
from google.protobuf import descriptor_pool
from substrate.common.v1 import error_reason_pb2 as reasons
from substrate.tasks.v1 import task_service_pb2 as pb
from substrate.tools.v1 import exchange_pb2

from kit import catalogue, limits
from kit.errors import Refusal
from kit.server import Call
from services.tasks.progress import Notes, Progress
from tests.cluster import Database
from tests.db.tasks_world import Client, World, opened
from tests.poll import until_async

JOBS = "fixture.reads.v1.JobService"
ASK = orjson.dumps({"mode": "form", "message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}})


def text(words: str, **more: Any) -> exchange_pb2.Content:
    """Plain text."""
    return exchange_pb2.Content(blocks=[exchange_pb2.Block(text=exchange_pb2.TextBlock(text=words))], **more)


async def slow_compute(request: jobs_pb2.SlowComputeRequest, _call: Call) -> exchange_pb2.Content:
    if request.label == "odd":
        return exchange_pb2.Content(
            blocks=[
                exchange_pb2.Block(image=exchange_pb2.MediaBlock(data=b"\x89PNG", mime_type="image/png")),
                exchange_pb2.Block(audio=exchange_pb2.MediaBlock(data=b"RIFF", mime_type="audio/wav")),
                exchange_pb2.Block(resource=exchange_pb2.ResourceBlock(uri="a:b", mime_type="text/plain", text="words")),
                exchange_pb2.Block(resource=exchange_pb2.ResourceBlock(uri="a:c", mime_type="x/y", blob=b"\x00")),
            ]
        )
    return text(f"done: {request.label}")


async def failing_job(_request: Any, _call: Call) -> exchange_pb2.Content:
    return text("It failed.", is_error=True)


async def multi_input(request: Any, _call: Call) -> exchange_pb2.Content:
    given = request.given
    replies = {reply.key: orjson.loads(reply.result_json) for reply in given.replies}
    if not given.state:
        questions = [exchange_pb2.Question(key=key, method="elicitation/create", params_json=ASK) for key in ("first", "second")]
        return exchange_pb2.Content(asking=exchange_pb2.Asking(questions=questions, state=b"round 1"))
    if given.state == b"round 1":
        question = exchange_pb2.Question(key="third", method="elicitation/create", params_json=ASK)
        return exchange_pb2.Content(asking=exchange_pb2.Asking(questions=[question], state=orjson.dumps(replies)))
    return text(f"{given.state.decode()} {orjson.dumps(replies['third']).decode()} {list(given.capabilities)}")


async def asks_too_much(_request: Any, _call: Call) -> exchange_pb2.Content:
    questions = [exchange_pb2.Question(key=str(n), method="roots/list") for n in range(limits.TASK_QUESTIONS_MAX + 1)]
    return exchange_pb2.Content(asking=exchange_pb2.Asking(questions=questions))


@pytest.fixture
async def world(database: Database, tmp_path: Path) -> AsyncIterator[World]:
    tools = catalogue.load("fixture")
    handlers: dict[str, Any] = {m.name: slow_compute for m in descriptor_pool.Default().FindServiceByName(JOBS).methods}
    handlers |= {"FailingJob": failing_job, "MultiInput": multi_input, "ConfirmDelete": asks_too_much}
    async with opened(database, tmp_path, tools, {JOBS: handlers}) as made:
        yield made


async def asked(mine: Client, task_id: str) -> dict[str, Any]:
    """What a task asks, once it does."""
    request = pb.AwaitTaskRequest(task_id=task_id)
    answer = await mine("AwaitTask", request, pb.AwaitTaskResponse)
    assert answer.task.status == pb.RUN_STATUS_AWAITING_INPUT
    return orjson.loads(answer.task.input_requests)  # type: ignore[no-any-return]


async def asks(mine: Client, task_id: str, keys: set[str]) -> bool:
    """Whether a task asks just this."""
    return set(await asked(mine, task_id)) == keys


async def update(mine: Client, task_id: str, responses: Any) -> pb.Task:
    """Answers."""
    request = pb.UpdateTaskRequest(task_id=task_id, responses=orjson.dumps(responses))
    return (await mine("UpdateTask", request, pb.UpdateTaskResponse)).task  # type: ignore[no-any-return]


async def test_free_content_is_the_result_with_is_error_only_where_it_failed(world: World) -> None:
    async with world.instance():
        mine = await world.client()
        ended = await mine.ended((await mine.create({"seconds": 0.0, "label": "x"}, tool="slow_compute")).task_id)
        failed = await mine.ended((await mine.create({}, tool="failing_job")).task_id)
        odd = await mine.ended((await mine.create({"seconds": 0.0, "label": "odd"}, tool="slow_compute")).task_id)
    assert ended.outcome.result == b'{"content":[{"type":"text","text":"done: x"}]}'
    assert failed.outcome.result == b'{"content":[{"type":"text","text":"It failed."}],"isError":true}'
    assert (failed.task.status, failed.task.result_is_error) == (pb.RUN_STATUS_DONE, True)
    assert orjson.loads(odd.outcome.result)["content"] == [
        {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "a:b", "mimeType": "text/plain", "text": "words"}},
        {"type": "resource", "resource": {"uri": "a:c", "mimeType": "x/y", "blob": "AA=="}},
    ]


async def test_a_task_that_asks_waits_for_every_answer_and_goes_on_with_them(world: World) -> None:
    given = exchange_pb2.Given(capabilities=["elicitation.form"]).SerializeToString()
    async with world.instance(), world.instance():
        mine = await world.client()
        task = await mine.create({}, tool="multi_input", given=given)
        questions = await asked(mine, task.task_id)
        assert set(questions) == {"first", "second"}
        assert questions["first"] == {"method": "elicitation/create", "params": orjson.loads(ASK)}
        one = await update(mine, task.task_id, {"first": {"action": "accept"}, "never asked": {}})
        assert one.status == pb.RUN_STATUS_AWAITING_INPUT
        assert set(orjson.loads(one.input_requests)) == {"second"}
        again = await update(mine, task.task_id, {"first": {"action": "decline"}})
        assert set(orjson.loads(again.input_requests)) == {"second"}
        await update(mine, task.task_id, {"second": {"action": "accept", "content": {"n": 2}}})
        await until_async(lambda: asks(mine, task.task_id, {"third"}), "it asks again")
        await update(mine, task.task_id, {"third": {"x": 1}})
        ended = await mine.ended(task.task_id)
        late = await update(mine, task.task_id, {"third": {"x": 2}})
        assert late.status == pb.RUN_STATUS_DONE
    (block,) = orjson.loads(ended.outcome.result)["content"]
    assert block["text"] == '{"first":{"action":"accept"},"second":{"action":"accept","content":{"n":2}}} {"x":1} [\'elicitation.form\']'


async def test_a_task_that_waits_for_an_answer_is_found_by_who_waits_for_its_end_and_can_be_cancelled(world: World) -> None:
    async with world.instance():
        mine = await world.client()
        task = await mine.create({}, tool="multi_input")
        await asked(mine, task.task_id)
        request = pb.AwaitTaskRequest(task_id=task.task_id, wait_ms=100, through_input=True)
        answer = await mine("AwaitTask", request, pb.AwaitTaskResponse)
        assert answer.task.status == pb.RUN_STATUS_AWAITING_INPUT
        assert (await mine.cancel(task.task_id)).status == pb.RUN_STATUS_DENIED
        assert not (await mine.get(task.task_id)).task.input_requests


async def test_answers_of_another_form_are_refused_by_name(world: World) -> None:
    async with world.instance():
        mine = await world.client()
        task = await mine.create({}, tool="multi_input")
        await asked(mine, task.task_id)
        forms: list[Any] = [[], 7, {"first": "yes"}, {"first": None}]
        for wrong in forms:
            with pytest.raises(Refusal) as refused:
                await update(mine, task.task_id, wrong)
            assert refused.value.reason == reasons.ERROR_REASON_INVALID_ARGUMENT
            assert refused.value.fields[0].path.startswith("responses")
        with pytest.raises(Refusal) as refused:
            await mine.create({}, tool="multi_input", given=b"\xff\xff")
        assert refused.value.fields[0].path == "given"


async def test_a_tool_that_asks_more_than_anybody_answers_is_a_defect(world: World) -> None:
    async with world.instance():
        mine = await world.client()
        ended = await mine.ended((await mine.create({"filename": "x"}, tool="confirm_delete")).task_id)
    assert ended.task.status == pb.RUN_STATUS_FAILED
    assert ended.outcome.error.code == -32603


async def test_notes_of_progress_rise_and_do_not_come_too_often() -> None:
    written: list[float] = []
    clock = [0.0]

    async def write(progress: Progress) -> None:
        written.append(progress.progress)

    notes = Notes(write, lambda: clock[0], 2.0)
    for at, progress in ((0.0, 1.0), (0.1, 3.0), (0.2, 4.0), (0.2 + limits.TASK_PROGRESS_SECONDS, 5.0), (9.0, 5.0), (9.1, 4.0), (9.2, 6.0)):
        clock[0] = at
        await notes.note(Progress(progress, None, ""))
    assert written == [3.0, 5.0, 6.0]


async def test_the_words_of_progress_are_cut_to_what_can_be_kept() -> None:
    written: list[Progress] = []

    async def write(progress: Progress) -> None:
        written.append(progress)

    await Notes(write, lambda: 0.0, 0.0).note(Progress(1.0, None, "a\0b" + "c" * limits.TASK_PROGRESS_MAX_CHARS))
    assert written[0].message == ("ab" + "c" * limits.TASK_PROGRESS_MAX_CHARS)[: limits.TASK_PROGRESS_MAX_CHARS]
