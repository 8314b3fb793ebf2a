"""What a session is told of one task, in whatever order it comes."""

from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.task_news import Told
from edge.task_service import Progress
from edge.task_shapes import RELATED, Task
from edge.task_status import TERMINAL, UnknownStatus

TASK = Task("t", "RUNNING", False, "", "2026-07-26T17:15:32Z", "2026-07-26T17:15:32Z", 1_000, None)
NEWS = st.lists(
    st.sampled_from(["PENDING", "RUNNING", "AWAITING_INPUT", "QUEUED", "DONE", "DENIED", "FAILED"]).map(
        lambda word: replace(TASK, run_status=word)
    )
    | st.floats(-5, 5).map(lambda value: Progress("t", "token", value, None, "")),
    max_size=30,
)


@given(NEWS)
def test_progress_only_rises_a_status_is_told_when_it_changes_and_nothing_follows_the_end(news: list[Task | Progress]) -> None:
    told = Told()
    said = [orjson.loads(message) for one in news if (message := told.message(one)) is not None]
    progress = [m["params"]["progress"] for m in said if m["method"] == "notifications/progress"]
    statuses = [m["params"]["status"] for m in said if m["method"] == "notifications/tasks/status"]
    assert progress == sorted(set(progress))
    assert all(one != other for one, other in zip(["working", *statuses], statuses, strict=False))
    ends = [at for at, m in enumerate(said) if m["params"].get("status") in TERMINAL]
    assert ends in ([], [len(said) - 1])


def test_progress_names_its_task_and_carries_what_it_has() -> None:
    whole = orjson.loads(Told().message(Progress("t", 0, 1.5, 4.0, "Half.")) or b"")
    assert whole["params"] == {"progressToken": 0, "progress": 1.5, "total": 4.0, "message": "Half.", "_meta": {RELATED: {"taskId": "t"}}}
    bare = orjson.loads(Told().message(Progress("t", "", 1.0, None, "")) or b"")
    assert set(bare["params"]) == {"progressToken", "progress", "_meta"}
    assert Told().message(Progress("t", None, 1.0, None, "")) is None


def test_a_status_nobody_knows_is_told_to_nobody() -> None:
    with pytest.raises(UnknownStatus):
        Told().message(replace(TASK, run_status="PAUSED"))
