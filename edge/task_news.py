"""News of tasks for the session that made them: progress under its token, and each change of status. Polling stays authoritative."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from edge import jsonrpc
from edge.caller import Caller
from edge.channel import Channel
from edge.handoff import final, longer
from edge.sessions import Session
from edge.task_faults import unreadable
from edge.task_service import Progress, State, TaskService
from edge.task_shapes import Task, related
from edge.task_status import WORKING, UnknownStatus
from kit import limits
from kit.errors import Refusal

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Told:
    """What a session was told of one task, so that progress only rises and nothing follows the end."""

    status: str = WORKING
    progress: float = float("-inf")
    over: bool = False

    def message(self, news: Task | Progress) -> bytes | None:
        """The next thing to tell; None where it is nothing new."""
        if self.over:
            return None
        return self._status(news) if isinstance(news, Task) else self._progress(news)

    def _status(self, task: Task) -> bytes | None:
        status, self.over = task.status(modern=False), task.terminal
        if status == self.status:
            return None
        self.status = status
        return jsonrpc.notification("notifications/tasks/status", task.of_sessions())

    def _progress(self, news: Progress) -> bytes | None:
        if news.token is None or news.progress <= self.progress:
            return None
        self.progress = news.progress
        params: dict[str, Any] = {"progressToken": news.token, "progress": news.progress}
        if news.total is not None:
            params["total"] = news.total
        if news.message:
            params["message"] = news.message
        return jsonrpc.notification("notifications/progress", params | {"_meta": related(news.task_id)})


@dataclass(slots=True)
class _Following:
    """The tasks of one session that are not over, and what it was told of them."""

    session: Session
    caller: Caller
    told: dict[str, Told] = field(default_factory=dict)
    early: dict[str, Task] = field(default_factory=dict)  # ended before the client was told that they are there
    work: asyncio.Task[None] | None = None


class TaskNews:
    """Follows the tasks of a session for as long as one of them runs and the session lives: one stream a session, however many tasks."""

    def __init__(self, service: TaskService, channel: Channel, pause_seconds: float) -> None:
        self._service, self._channel, self._pause_seconds = service, channel, pause_seconds
        self._followed: dict[str, _Following] = {}
        self._late: set[asyncio.Task[None]] = set()

    @property
    def count(self) -> int:
        """How many sessions are told of tasks now."""
        return len(self._followed)

    def follow(self, session: Session, caller: Caller, task: Task) -> None:
        """Tells the session of the task from now on. Beyond a number of sessions nothing is told, and clients poll."""
        following = self._followed.get(session.id)
        if following is None:
            own = sum(other.session.key_id == session.key_id for other in self._followed.values())
            if len(self._followed) >= limits.TASK_FOLLOWED_MAX or own >= limits.TASK_FOLLOWED_PER_KEY_MAX:
                return
            following = self._followed[session.id] = _Following(session, caller)
            following.work = asyncio.create_task(self._follow(following))
        following.told[task.id] = Told()
        if (ended := following.early.pop(task.id, None)) is not None:
            late = asyncio.create_task(self._tell(following, task.id, ended))
            self._late.add(late)
            late.add_done_callback(self._late.discard)

    async def _follow(self, following: _Following) -> None:
        try:
            await self._until_over(following)
        except Exception:
            log.exception("the tasks of a session are followed no more")
        finally:
            if self._followed.get(following.session.id) is following:
                del self._followed[following.session.id]

    async def _until_over(self, following: _Following) -> None:
        pause = self._pause_seconds
        while following.told and await self._lives(following):
            try:
                async with aclosing(self._service.watch(following.caller, session=following.session.id)) as stream:
                    async for news in stream:
                        pause = self._pause_seconds
                        await self._hear(following, news)
                        if not following.told or not await self._lives(following):
                            return
            except Refusal as refusal:
                if final(refusal):
                    return
            await asyncio.sleep(pause)
            pause = longer(pause)

    async def _hear(self, following: _Following, news: list[str] | State | Progress) -> None:
        match news:
            case list():  # what ended before the stream began is not on it
                for task_id in set(following.told) - set(news):
                    await self._look(following, task_id)
            case State():
                await self._tell(following, news.task.id, news.task)
            case Progress():
                await self._tell(following, news.task_id, news)

    async def _look(self, following: _Following, task_id: str) -> None:
        try:
            found = await self._service.get(following.caller, task_id)
        except Refusal as refusal:
            if not final(refusal):
                raise
            following.told.pop(task_id, None)
        else:
            await self._tell(following, task_id, found.task)

    async def _tell(self, following: _Following, task_id: str, news: Task | Progress) -> None:
        told = following.told.get(task_id)
        if told is None:
            if isinstance(news, Task) and news.terminal and len(following.early) < limits.TASK_EARLY_MAX:
                following.early[task_id] = news
            return
        try:
            message = told.message(news)
        except UnknownStatus as unknown:
            unreadable(unknown)
            message = None
        if told.over:
            del following.told[task_id]
        if message is not None and await self._lives(following):
            await self._channel.deliver(following.session.id, message)

    async def _lives(self, following: _Following) -> bool:
        return await self._channel.find(following.session.id) is following.session

    async def sweep(self) -> None:
        """Stops following for sessions that are over."""
        for following in list(self._followed.values()):
            if following.work is not None and not await self._lives(following):
                following.work.cancel()

    async def close(self) -> None:
        """Follows nothing any more."""
        works = [*self._late, *(following.work for following in self._followed.values() if following.work is not None)]
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)
