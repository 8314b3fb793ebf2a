"""Streams of news about tasks: how each stands, how far it has come, and nothing after its end."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from substrate.tasks.v1 import task_service_pb2 as pb

from kit import limits
from kit.clock import Clock
from kit.errors import unauthenticated, unavailable
from services.tasks import task
from services.tasks.keys import Keys
from services.tasks.news import ANY, News
from services.tasks.store import Store
from services.tasks.task import Kept

PAUSE_SECONDS = 0.05  # news that follow each other more quickly are told as one
SLACK = timedelta(seconds=60)  # between the clocks of this program and the database


def going_on(news: News) -> None:
    """Ends a stream of an instance that stops; whoever holds it opens it again elsewhere."""
    if news.closing:
        raise unavailable()


async def told_within(told: asyncio.Event, seconds: float) -> None:
    """Waits until there is news, for a while."""
    try:
        async with asyncio.timeout(seconds):
            await told.wait()
    except TimeoutError:
        return


@dataclass
class Told:
    """What was told of each task."""

    status: dict[uuid.UUID, tuple[str, str, bytes | None]] = field(default_factory=dict)
    progress: dict[uuid.UUID, float] = field(default_factory=dict)
    over: set[uuid.UUID] = field(default_factory=set)

    def changed(self, one: Kept) -> bool:
        """Whether its status is news; notes that it was told."""
        now = (one.status, one.message, one.row["answered"])
        if self.status.get(one.id) == now:
            return False
        self.status[one.id] = now
        if one.terminal:
            self.over.add(one.id)
        return True

    def further(self, one: Kept) -> bool:
        """Whether its progress is news; notes that it was told. Of a task that has ended nothing is."""
        progress = one.row["progress"]
        if one.terminal or progress is None or progress <= self.progress.get(one.id, float("-inf")):
            return False
        self.progress[one.id] = progress
        return True


class Watch:
    """One stream of one key."""

    def __init__(self, store: Store, keys: Keys, news: News, clock: Clock, key_id: str, *, with_outcome: bool) -> None:
        self._store, self._keys, self._news, self._clock = store, keys, news, clock
        self._key_id, self._with_outcome = key_id, with_outcome
        self._told = Told()

    async def tasks(self, ids: Sequence[uuid.UUID]) -> AsyncIterator[pb.WatchTasksResponse]:
        """News of these tasks until each has ended."""
        with self._news.about([str(i) for i in ids]) as told:
            found = await self._allowed(ids)
            yield _watched(found)
            watched = [one.id for one in found]
            while True:
                for one in found:
                    async for message in self._news_of(one):
                        yield message
                watched = [i for i in watched if i not in self._told.over and i in {one.id for one in found}]
                if not watched:
                    return
                await told_within(told, limits.TASK_LOOK_SECONDS)
                going_on(self._news)
                await asyncio.sleep(PAUSE_SECONDS)
                told.clear()
                found = await self._allowed(watched)

    async def session(self, session: bytes) -> AsyncIterator[pb.WatchTasksResponse]:
        """News of every task that was or will be made in a session."""
        since = self._clock() - SLACK

        async def current() -> list[Kept]:
            made = await self._store.in_session(session, self._key_id, since)
            return await self._allowed([i for i in dict.fromkeys([*self._open(), *made]) if i not in self._told.over])

        with self._news.about([ANY]) as told:
            found = await current()
            self._told.over.update(one.id for one in found if one.terminal)
            found = [one for one in found if not one.terminal]
            yield _watched(found)
            async for message in self._following(found, current, told):
                yield message

    async def _following(
        self, found: list[Kept], current: Callable[[], Awaitable[list[Kept]]], told: asyncio.Event
    ) -> AsyncIterator[pb.WatchTasksResponse]:
        while True:
            for one in found:
                async for message in self._news_of(one):
                    yield message
            await told_within(told, limits.TASK_LOOK_SECONDS)
            going_on(self._news)
            await asyncio.sleep(PAUSE_SECONDS)
            told.clear()
            found = await current()

    def _open(self) -> list[uuid.UUID]:
        return [i for i in self._told.status if i not in self._told.over]

    async def _allowed(self, ids: Sequence[uuid.UUID]) -> list[Kept]:
        """Those of these tasks that the key may see now. Ends the stream of a key that is good for nothing any more."""
        found = await self._store.find(ids, self._key_id)
        own = [found[i] for i in ids if i in found and str(found[i].key_id) == self._key_id]
        review = await self._keys.review(self._key_id, [one.call for one in own])
        if not review.live:
            raise unauthenticated()
        return [one for one in own if one.call in review.allowed]

    async def _news_of(self, one: Kept) -> AsyncIterator[pb.WatchTasksResponse]:
        if self._told.further(one):
            row = one.row
            progress = pb.WatchTasksResponse.Progress(
                task_id=str(one.id),
                progress_token=task.token(one),
                progress=row["progress"],
                total=row["progress_total"],
                message=row["progress_message"],
            )
            yield pb.WatchTasksResponse(progress=progress)
        if self._told.changed(one):
            changed = pb.WatchTasksResponse.Changed(task=task.shown(one))
            if self._with_outcome and one.terminal:
                result = await self._store.result(one)
                if one.status != "DONE" or result is not None:
                    changed.outcome.CopyFrom(task.outcome(one, result))
            yield pb.WatchTasksResponse(changed=changed)


def _watched(found: Sequence[Kept]) -> pb.WatchTasksResponse:
    return pb.WatchTasksResponse(watched=pb.WatchTasksResponse.Watched(task_ids=[str(one.id) for one in found]))
