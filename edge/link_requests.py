"""Links of the handshake era: the session that filed is asked to open one, answers in a POST of its own, and is told once of its end."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Any

from substrate.common.v1 import error_reason_pb2 as reasons

from edge import jsonrpc
from edge.caller import Caller
from edge.channel import Channel
from edge.handoff import ACCEPTED, ANSWERS, CANCELLED, Called, Handoffs, Link, final, longer
from edge.revisions import REVISIONS
from edge.sessions import Asked, Session
from kit import limits
from kit.errors import Refusal

# The ends that a client is told of. A proposal that was taken back or sent back ends without a word.
_TOLD = frozenset({"approved", "declined", "expired"})


class LinkRequests:
    """Asks, takes the one answer to each request, and watches what became of an accepted one."""

    def __init__(self, handoffs: Handoffs, channel: Channel, now: Callable[[], float], pause_seconds: float) -> None:
        self._handoffs, self._channel, self._now, self._pause_seconds = handoffs, channel, now, pause_seconds

    async def ask(self, session: Session, caller: Caller, called: Called) -> bytes | None:
        """The request to open a link for what was just filed, for the stream of that very call; None where there is none to send."""
        if not (called.tool.handoff and REVISIONS[session.version].links and session.capabilities.elicitation_url):
            return None
        if not self._room(session):
            return None
        link = await self._handoffs.open(caller, called, session.id)
        if link is None or await self._channel.find(session.id) is not session or not self._room(session):
            return None
        id_ = f"link-{secrets.token_urlsafe(12)}"
        session.asked[id_] = Asked(link, self._now() + limits.HANDOFF_LIVES_SECONDS)
        return jsonrpc.request(id_, "elicitation/create", self._handoffs.asking(link) | {"elicitationId": link.elicitation_id})

    def _room(self, session: Session) -> bool:
        for id_ in [i for i, asked in session.asked.items() if asked.until <= self._now()]:
            del session.asked[id_]
        return len(session.asked) < limits.HANDOFFS_ASKED_PER_SESSION_MAX

    async def answered(self, session: Session, caller: Caller, response: jsonrpc.Response) -> bool:
        """Takes the client's answer to a request of this session. Whether such a request was waiting."""
        if not isinstance(response.id, str):
            return False
        asked = session.asked.pop(response.id, None)
        if asked is None or asked.until <= self._now():
            return False
        stands, word = None, _word(response)
        try:
            stands = await self._handoffs.answer(caller, asked.link, word)
        except Refusal as refusal:
            if refusal.reason == reasons.ERROR_REASON_UNAUTHENTICATED:
                raise
            if final(refusal):
                return True
        self._handoffs.errand(self._follow(session, caller, asked.link, word, stands))
        return True

    async def _follow(self, session: Session, caller: Caller, link: Link, word: str, stands: str | None) -> None:
        if stands is None:
            stands = await self._handoffs.insist(caller, link, word)
        if stands == ACCEPTED:
            await self._watch(session, caller, link)

    async def _watch(self, session: Session, caller: Caller, link: Link) -> None:
        """Asks sparingly, and only while the session listens, until there is an end to tell or nobody to tell it to."""
        pause = self._pause_seconds
        while await self._channel.find(session.id) is session:
            await asyncio.sleep(pause)
            pause = longer(pause)
            if not await self._channel.listens(session.id):
                continue
            try:
                found = await self._handoffs.state(caller, link)
            except Refusal as refusal:
                if final(refusal):
                    return
                continue
            if found.terminal and (found.state not in _TOLD or await self._tell(session, link)):
                return

    async def _tell(self, session: Session, link: Link) -> bool:
        message = jsonrpc.notification("notifications/elicitation/complete", {"elicitationId": link.elicitation_id})
        return await self._channel.deliver(session.id, message)


def _word(response: jsonrpc.Response) -> str:
    """What the client answered. An error, or an answer of another form, ends the link as a cancellation does."""
    result: Any = response.body.get("result")
    action = result.get("action") if isinstance(result, dict) else None
    return ANSWERS.get(action, CANCELLED) if isinstance(action, str) else CANCELLED
