"""What a task asks of its client in a session: sent on the stream of whoever waits for its result, answered in a POST of its own."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from edge import jsonrpc
from edge.caller import Caller
from edge.sessions import Capabilities, Parked, Session
from edge.talk import Tell, needs, said
from edge.task_service import State, TaskService
from edge.task_shapes import related
from kit import limits


def can_be_asked(capabilities: Capabilities, question: Mapping[str, Any]) -> bool:
    """Whether the client said that it can be asked this. What is no question of the protocol is asked of nobody."""
    try:
        return needs(question) in said(capabilities)
    except ValueError:
        return False


@dataclass(slots=True, eq=False)
class Questions:
    """The questions of one wait. What was asked on a stream that is gone is asked again on the next one, under another id."""

    service: TaskService
    session: Session
    caller: Caller
    task_id: str
    tell: Tell
    _asked: list[Parked] = field(default_factory=list)
    _answered: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, state: State) -> None:
        """Asks what is open, can be asked and is not being asked already, and waits a while for an answer."""
        self._answered.clear()
        for key, question in orjson.loads(state.questions).items():
            if self._to_be_asked(key, question):
                id_ = f"task-{secrets.token_urlsafe(12)}"
                parked = self.session.parked[self.task_id, key] = Parked(id_, self._take(key, question["method"]))
                self._asked.append(parked)
                params = question.get("params", {})
                meta = params.get("_meta", {}) | related(self.task_id)
                await self.tell(jsonrpc.request(id_, question["method"], params | {"_meta": meta}))
        try:
            async with asyncio.timeout(limits.TASK_ASK_PAUSE_SECONDS):
                await self._answered.wait()
        except TimeoutError:
            return

    def _to_be_asked(self, key: str, question: Mapping[str, Any]) -> bool:
        parked = self.session.parked.get((self.task_id, key))
        if parked is not None and parked.live:
            return False
        room = parked is not None or len(self.session.parked) < limits.TASK_QUESTIONS_PER_SESSION_MAX
        return room and can_be_asked(self.session.capabilities, question)

    def _take(self, key: str, method: str) -> Callable[[Caller, Mapping[str, Any]], Awaitable[None]]:
        async def take(caller: Caller, response: Mapping[str, Any]) -> None:
            result = response.get("result")
            if isinstance(result, dict):
                await self.service.update(caller, self.task_id, {key: result})
            elif method == "elicitation/create":  # a client that fails to ask its person has asked nobody
                await self.service.update(caller, self.task_id, {key: {"action": "cancel"}})
            self._answered.set()

        return take

    def close(self) -> None:
        """Nobody waits here any more. An answer may still come; whoever waits next is asked again."""
        for parked in self._asked:
            parked.live = False
