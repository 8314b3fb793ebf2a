"""subscriptions/listen of 2026-07-28: one stream that says what it will tell of, tells it, and ends when there is nothing left to tell."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from edge import changes, jsonrpc, streams
from edge.caller import Caller
from edge.changes import Change, Watches
from edge.channel import Stream
from edge.config import Timing
from edge.errors import Fault
from edge.families import Asked
from edge.handoff import final, longer
from edge.http import Exchange, Header, refuse
from edge.task_extension import detailed, missing
from edge.task_faults import fault, unreadable
from edge.task_service import State, TaskService
from edge.task_status import UnknownStatus
from kit import limits
from kit.errors import Refusal

log = logging.getLogger(__name__)
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a client wants to hear of."""

    task_ids: list[str]
    lists: frozenset[str] = frozenset()
    uris: list[str] = field(default_factory=list)

    @property
    def lasts(self) -> bool:
        """Whether there is always more to tell of."""
        return bool(self.lists or self.uris)


class Subscriptions:
    """The streams that are open, few a key."""

    def __init__(self, tasks: TaskService | None, timing: Timing, watches: Watches | None = None) -> None:
        self._tasks, self._timing, self._watches = tasks, timing, watches
        self._open: dict[Stream, str] = {}
        self._watching: dict[Telling, tuple[Wanted, Asked]] = {}

    @property
    def changing(self) -> bool:
        """Whether changes are told."""
        return self._watches is not None

    @property
    def count(self) -> int:
        """How many are open."""
        return len(self._open)

    def read(self, params: Mapping[str, Any], knows_tasks: bool) -> Wanted:
        """What a client wants to hear of. What else it may want is not offered here, and left out of the acknowledgement."""
        wanted = params.get("notifications")
        if not isinstance(wanted, dict):
            raise Fault(jsonrpc.INVALID_PARAMS, "notifications must be an object that says what to tell of.")
        lists, uris = changes.wanted(wanted) if self._watches is not None else (frozenset(), [])
        return Wanted(self._task_ids(wanted, knows_tasks), lists, uris)

    def _task_ids(self, wanted: Mapping[str, Any], knows_tasks: bool) -> list[str]:
        task_ids = wanted.get("taskIds")
        if task_ids is None or self._tasks is None:
            return []
        if not knows_tasks:
            raise missing()
        if not isinstance(task_ids, list) or not all(isinstance(task_id, str) for task_id in task_ids):
            raise Fault(jsonrpc.INVALID_PARAMS, "notifications.taskIds must be a list of strings.")
        if len(task_ids) > limits.TASK_LISTENED_MAX:
            raise Fault(jsonrpc.INVALID_PARAMS, f"notifications.taskIds may name {limits.TASK_LISTENED_MAX} tasks; listen twice for more.")
        return [task_id for task_id in dict.fromkeys(task_ids) if 0 < len(task_id) <= limits.TASK_ID_MAX_CHARS]

    async def listen(self, exchange: Exchange, asked: Asked, id_: jsonrpc.Id, wanted: Wanted, extra: tuple[Header, ...]) -> None:
        """Holds the stream. What is refused before it begins has a status of its own."""
        caller = asked.caller
        key_id = (await caller.authenticate()).key_id
        telling = Telling(self._tasks, caller, id_, self._timing.task_pause_seconds)
        try:
            readable = await self._readable(asked, wanted.uris)
            heard = Wanted(wanted.task_ids, wanted.lists, readable)
            try:
                known = await telling.begin(wanted.task_ids, heard.lasts)
            except Refusal as refusal:
                raise fault(refusal) from None
            self._admit(telling.stream, key_id)
            self._watching[telling] = (heard, asked)
            honoured: dict[str, Any] = {"taskIds": known} if known else {}
            honoured |= dict.fromkeys(sorted(heard.lists), True) | ({"resourceSubscriptions": readable} if readable else {})
            first = telling.message("notifications/subscriptions/acknowledged", {"notifications": honoured})
            await streams.hold(exchange, telling.stream, caller, self._timing, extra, streams.event(first))
        finally:
            self._open.pop(telling.stream, None)
            self._watching.pop(telling, None)
            await telling.close()

    async def _readable(self, asked: Asked, uris: list[str]) -> list[str]:
        """Those of the addresses that this key reads. Why it does not read another is not told."""
        if self._watches is None:
            return []
        return [uri for uri in uris if await self._watches.may(asked, uri)]

    async def tell(self, change: Change) -> None:
        """Tells the streams that want to hear of a change."""
        await asyncio.gather(*(self._told(telling, *told, change) for telling, told in list(self._watching.items())))

    async def _told(self, telling: Telling, wanted: Wanted, asked: Asked, change: Change) -> None:
        assert self._watches is not None
        if change.uri is None:
            wants = any(changes.LISTS[name] == change.method for name in wanted.lists)
        else:
            wants = change.uri in wanted.uris and await self._watches.may(replace(asked, caller=asked.caller.again()), change.uri)
        if wants and telling in self._watching:
            telling.stream.put(telling.message(change.method, change.params))

    def _admit(self, stream: Stream, key_id: str) -> None:
        """Beyond a number a key's oldest stream makes room."""
        own = [opened for opened, owner in self._open.items() if owner == key_id]
        for crowded in own[: max(0, len(own) - limits.STREAMS_PER_KEY_MAX + 1)]:
            del self._open[crowded]
            crowded.end(limits.STREAM_RETRY_SECONDS)
        if len(self._open) >= limits.STREAMS_MAX:
            raise refuse(503, "Too many streams are open. Try again later.", (b"retry-after", b"60"))
        self._open[stream] = key_id

    async def end_streams(self) -> None:
        """Ends every stream, because this program stops."""
        for stream in self._open:
            stream.end()


class Telling:
    """What one stream is told: each task as it stands, and again when it stands otherwise."""

    def __init__(self, tasks: TaskService | None, caller: Caller, id_: jsonrpc.Id, pause_seconds: float) -> None:
        self._tasks, self._caller, self._id, self._pause_seconds = tasks, caller, id_, pause_seconds
        self._told: dict[str, tuple[str, str, bytes]] = {}
        self._open: set[str] = set()
        self._lasts = False
        self._work: asyncio.Task[None] | None = None
        self._begun: asyncio.Future[list[str]] | None = None
        self.stream = Stream()

    async def begin(self, task_ids: list[str], lasts: bool = False) -> list[str]:
        """Begins, and returns the tasks that there is something to tell of."""
        self._lasts = lasts
        if not task_ids:
            return []
        self._begun = asyncio.get_running_loop().create_future()
        self._open = set(task_ids)
        self._work = asyncio.create_task(self._tell())
        return await self._begun

    def message(self, method: str, params: dict[str, Any]) -> bytes:
        """A notification of this subscription."""
        return jsonrpc.notification(method, params | {"_meta": {SUBSCRIPTION: self._id}})

    async def _tell(self) -> None:
        assert self._begun is not None
        try:
            await self._until_over(self._begun)
            if self._lasts:
                return
            self.stream.put(jsonrpc.result(self._id, {"resultType": "complete", "_meta": {SUBSCRIPTION: self._id}}))
        except Refusal as refusal:
            if not self._begun.done():
                self._begun.set_exception(refusal)
        except Exception as error:
            log.exception("a subscription broke off")
            if not self._begun.done():
                self._begun.set_exception(error)
        self.stream.end()

    async def _until_over(self, begun: asyncio.Future[list[str]]) -> None:
        assert self._tasks is not None
        pause = self._pause_seconds
        while self._open:
            try:
                async with aclosing(self._tasks.watch(self._caller, sorted(self._open), outcomes=True)) as news:
                    async for found in news:
                        pause = self._pause_seconds
                        self._hear(found, begun)
            except Refusal as refusal:
                if final(refusal) or not begun.done():
                    raise
            if self._open:
                await asyncio.sleep(pause)
                pause = longer(pause)

    def _hear(self, found: Any, begun: asyncio.Future[list[str]]) -> None:
        if isinstance(found, list):
            self._open &= set(found)
            if not begun.done():
                begun.set_result(found)
        elif isinstance(found, State):  # progress is no part of what this stream may carry
            self._change(found)

    def _change(self, state: State) -> None:
        task = state.task
        now = (task.run_status, task.updated_at, state.questions)
        if self._told.get(task.id) == now:
            return
        self._told[task.id] = now
        try:
            self.stream.put(self.message("notifications/tasks", detailed(state)))
            over = task.terminal
        except UnknownStatus as unknown:
            unreadable(unknown)
            over = True
        if over:
            self._open.discard(task.id)

    async def close(self) -> None:
        """Tells nothing any more."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
