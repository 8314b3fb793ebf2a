"""Changes of what is offered: heard from the program that makes them, told to whoever listens. A change says that, never what."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from substrate.changes.v1 import change_service_pb2 as pb

from edge import jsonrpc
from edge.channel import Channel
from edge.errors import Fault
from edge.families import Asked
from edge.resources import Resources
from edge.sessions import Session
from kit import limits
from kit.client import StreamMethod
from kit.errors import Refusal

log = logging.getLogger(__name__)
WATCH = "/substrate.changes.v1.ChangeService/WatchChanges"
UPDATED = "notifications/resources/updated"
# What a client of the stateless era asks to hear of, and what it is then told.
LISTS = {
    "toolsListChanged": "notifications/tools/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
    "resourcesListChanged": "notifications/resources/list_changed",
}
_LIST_OF = dict(zip((pb.CHANGE_KIND_TOOLS, pb.CHANGE_KIND_PROMPTS, pb.CHANGE_KIND_RESOURCES), LISTS.values(), strict=True))


@dataclass(frozen=True, slots=True)
class Change:
    """One change, as clients are told of it."""

    method: str
    uri: str | None = None

    @property
    def params(self) -> dict[str, Any]:
        """What the notification says."""
        return {} if self.uri is None else {"uri": self.uri}


Hear = Callable[[Change], Awaitable[None]]


def read(said: pb.WatchChangesResponse) -> Change | None:
    """A change as it was heard; None where it is of a kind that is not known here."""
    if said.kind == pb.CHANGE_KIND_RESOURCE:
        return Change(UPDATED, said.uri) if said.uri else None
    method = _LIST_OF.get(said.kind)
    return None if method is None else Change(method)


def later(pause: float) -> float:
    """The next pause before changes are listened for again."""
    return min(pause * 1.5, limits.CHANGES_PAUSE_MAX_SECONDS)


class Changes:
    """Hears of changes for as long as this program runs, on one stream, whatever becomes of the program at its other end."""

    def __init__(self, watch: StreamMethod, pause_seconds: float) -> None:
        self._watch, self._pause_seconds = watch, pause_seconds
        self.hearers: list[Hear] = []

    async def run(self) -> None:
        """Listens, and comes back after ever longer pauses where it cannot."""
        pause = self._pause_seconds
        while True:
            try:
                async with aclosing(self._watch(pb.WatchChangesRequest(), timeout_seconds=None)) as stream:
                    async for said in stream:
                        pause = self._pause_seconds
                        assert isinstance(said, pb.WatchChangesResponse)
                        await self._tell(said)
            except Refusal as refusal:
                log.info("changes are not heard", extra={"reason": refusal.code.name})
            await asyncio.sleep(pause)
            pause = later(pause)

    async def _tell(self, said: pb.WatchChangesResponse) -> None:
        change = read(said)
        for hear in self.hearers if change is not None else ():
            try:
                await hear(change)  # type: ignore[arg-type]
            except Exception:  # one change that cannot be told must not end the hearing of the next
                log.exception("a change was not told")


class Watches:
    """Addresses that clients watch. Who watches one can read it, when it begins and again whenever there is something to tell."""

    def __init__(self, resources: Resources, channel: Channel) -> None:
        self._resources, self._channel = resources, channel

    async def may(self, asked: Asked, uri: str) -> bool:
        """Whether the key behind a request reads what stands at an address now. News of a matter are news too."""
        try:
            answer = await self._resources.answer_at(asked, uri)
        except (Refusal, Fault):
            return False
        return not isinstance(answer, dict)

    async def subscribe(self, session: Session, asked: Asked) -> dict[str, Any]:
        """Watches one address for a session."""
        uri = _uri(asked.params)
        if uri not in session.watched and len(session.watched) >= limits.RESOURCES_WATCHED_MAX:
            most = limits.RESOURCES_WATCHED_MAX
            raise Fault(jsonrpc.INVALID_PARAMS, f"A session watches {most} addresses at most: unsubscribe from one.")
        await self._resources.read(asked)
        if len(session.watched) < limits.RESOURCES_WATCHED_MAX:
            session.watched[uri] = lambda: self.may(_again(asked), uri)
        return {}

    async def unsubscribe(self, session: Session, asked: Asked) -> dict[str, Any]:
        """Watches it no more. That it was not watched is no error."""
        await asked.caller.authenticate()
        session.watched.pop(_uri(asked.params), None)
        return {}

    async def tell(self, change: Change) -> None:
        """Tells every session that holds a stream here."""
        message = jsonrpc.notification(change.method, change.params)
        await asyncio.gather(*(self._told(session, change, message) for session in await self._channel.listening()))

    async def _told(self, session: Session, change: Change, message: bytes) -> None:
        if change.uri is not None:
            may = session.watched.get(change.uri)
            if may is None or not await may():
                return
        await self._channel.deliver(session.id, message)


def wanted(asked: Mapping[str, Any]) -> tuple[frozenset[str], list[str]]:
    """The lists and the addresses that a subscription of the stateless era names."""
    lists = [name for name in LISTS if asked.get(name) is not None]
    for name in lists:
        if not isinstance(asked[name], bool):
            raise Fault(jsonrpc.INVALID_PARAMS, f"notifications.{name} must be true or false.")
    uris = asked.get("resourceSubscriptions")
    if uris is None:
        uris = []
    if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
        raise Fault(jsonrpc.INVALID_PARAMS, "notifications.resourceSubscriptions must be a list of addresses.")
    if len(uris) > limits.RESOURCES_WATCHED_MAX:
        most = limits.RESOURCES_WATCHED_MAX
        raise Fault(jsonrpc.INVALID_PARAMS, f"notifications.resourceSubscriptions may name {most} addresses; listen twice for more.")
    return frozenset(name for name in lists if asked[name]), list(dict.fromkeys(uris))


def _again(asked: Asked) -> Asked:
    """The same request, judged anew."""
    return Asked(asked.caller.again(), asked.params, asked.revision, asked.talk)


def _uri(params: Mapping[str, Any]) -> str:
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise Fault(jsonrpc.INVALID_PARAMS, "uri must be a string: an address of resources/list.")
    return uri
