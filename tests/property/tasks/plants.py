"""Guards, each of which can be taken away, in the code or in the test's database, with every sibling that would cover for it."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from services.tasks.progress import Notes, Progress
from services.tasks.server import TaskService
from services.tasks.task import OPEN, TERMINAL, Kept, absent
from services.tasks.worker import Worker
from tests.property.tasks.world import World

Removal = Callable[[World, pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Plant:
    """A guard to be missed. Its hunt may leave rules out that would find another thing first."""

    name: str
    remove: Removal
    without: tuple[str, ...] = ()


def _function(world: World, name: str, *parts: tuple[str, str]) -> None:
    """Words of a function of the store, replaced."""
    (row,) = world.do(world.admin.fetch("SELECT pg_get_functiondef($1::regproc) AS text", name))
    text = row["text"]
    for old, new in parts:
        assert old in text
        text = text.replace(old, new)
    world.do(world.admin.execute(text))


def _statement(world: World, patch: pytest.MonkeyPatch, name: str, *parts: tuple[str, str]) -> None:
    """Words of a statement, replaced for service and workers. Parameters keep their places."""
    statements = world.service._store._sql
    sql = statements[name].sql
    for old, new in parts:
        assert old in sql
        sql = sql.replace(old, new)
    patch.setitem(statements, name, replace(statements[name], sql=sql))


def _ends_may_change(world: World) -> None:
    """The rules of the store itself, which cover for those of the program."""
    _function(world, "runs.guard_run", ("OLD.status IN ('DONE', 'FAILED', 'ABORTED', 'DENIED')", "false"))
    rows = "SELECT a, b FROM unnest(ARRAY['DONE', 'FAILED', 'ABORTED', 'DENIED', 'QUEUED', 'RUNNING', 'AWAITING_INPUT']) a,"
    rows += " unnest(ARRAY['DONE', 'FAILED', 'ABORTED', 'DENIED', 'QUEUED']) b"
    world.do(world.admin.execute(f"INSERT INTO runs.transitions {rows} ON CONFLICT DO NOTHING"))
    world.do(world.admin.execute("DROP TRIGGER result_stands ON runs.agent_run_steps"))


def _anybodys(world: World, patch: pytest.MonkeyPatch, *names: str) -> None:
    for name in names:
        place = world.service._store._sql[name].parameters.index("key_id") + 1
        _statement(world, patch, name, (f"r.key_id = ${place}::uuid", f"(r.key_id = ${place}::uuid OR r.key_id IS NOT NULL)"))


def any_key_sees_it(world: World, patch: pytest.MonkeyPatch) -> None:
    _anybodys(world, patch, "find", "result")

    async def own(self: TaskService, run_id: uuid.UUID, key_id: str) -> Kept:
        one = (await self._store.find([run_id], key_id)).get(run_id)
        if one is None:
            raise absent()
        return one

    patch.setattr(TaskService, "_own", own)


def any_key_takes_it_back(world: World, patch: pytest.MonkeyPatch) -> None:
    any_key_sees_it(world, patch)
    _anybodys(world, patch, "cancel")


def everything_is_listed(world: World, patch: pytest.MonkeyPatch) -> None:
    _anybodys(world, patch, "page")


def access_not_asked_again(_world: World, patch: pytest.MonkeyPatch) -> None:
    async def nothing_against_it(*_: object) -> None:
        return None

    patch.setattr(TaskService, "_reviewed", nothing_against_it)


def what_runs_is_not_reviewed(_world: World, patch: pytest.MonkeyPatch) -> None:
    async def look(_: object) -> None:
        return None

    patch.setattr(Worker, "_review", look)


def an_end_is_taken_back(world: World, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("services.tasks.store.OPEN", (*OPEN, *TERMINAL))
    _ends_may_change(world)


def no_fence(world: World, _patch: pytest.MonkeyPatch) -> None:
    _function(world, "runs.complete", (" AND r.lease_owner = p_owner AND r.fence = p_fence", ""))


def completed_whatever_it_is(world: World, _patch: pytest.MonkeyPatch) -> None:
    _function(world, "runs.complete", (" AND r.status = 'RUNNING' AND r.lease_owner = p_owner AND r.fence = p_fence", ""))
    _ends_may_change(world)


def the_living_are_swept(world: World, patch: pytest.MonkeyPatch) -> None:
    for name in ("take_up", "abort_dead"):
        _statement(world, patch, name, ("lease_until <= clock_timestamp()", "true"))


def any_number_at_once(world: World, _patch: pytest.MonkeyPatch) -> None:
    _function(world, "runs.claim", ("< p_per_key", "< 1000"))


def progress_falls(world: World, patch: pytest.MonkeyPatch) -> None:
    async def note(self: Notes, progress: Progress) -> None:
        await self._write(progress)

    patch.setattr(Notes, "note", note)
    _function(world, "runs.guard_step", ("NEW.progress <= OLD.progress", "false"))
    place = world.service._store._sql["note_progress"].parameters.index("progress") + 1
    _statement(world, patch, "note_progress", (f"s.progress < ${place}::float8", "true"))


def kept_for_ever(world: World, patch: pytest.MonkeyPatch) -> None:
    _statement(world, patch, "find", (" AND r.expires_at > clock_timestamp()", ""))


# Left out where a hunt needs a few rules alone, and many steps of them.
APART: tuple[str, ...] = (
    "list_all",
    "cancel",
    "answer_questions",
    "change_access",
    "revoke_key",
    "race",
    "review",
    "die",
    "stop",
    "crowd",
)
APART += ("waits_for_the_end", "watch")
PLANTS = (
    Plant("every key of anybody sees a task", any_key_sees_it),
    Plant("every key takes a task back", any_key_takes_it_back, without=("look", "answer_questions", "race")),
    Plant("a list holds the tasks of others", everything_is_listed),
    Plant("a task is shown without asking for access again", access_not_asked_again),
    Plant("what runs for a key goes on without it", what_runs_is_not_reviewed),
    Plant("a task that has ended is taken back", an_end_is_taken_back),
    Plant("whoever held a task once completes it", no_fence, (*APART, "come_further", "look")),
    Plant("a task is completed whatever became of it", completed_whatever_it_is),
    Plant("what a living worker holds is swept", the_living_are_swept),
    Plant("a key has any number of tasks run at once", any_number_at_once),
    Plant("progress falls", progress_falls, (*APART, "freeze", "look", "go_on")),
    Plant("a task is shown after its time", kept_for_ever, (*APART, "freeze", "come_further")),
)
