"""Sessions of the handshake era: an unguessable id, bound to the key that made it. A session remembers; it authorizes nothing."""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from edge.caller import Caller
from edge.handoff import Link
from edge.jsonrpc import Id
from kit.credentials import ApiKey

ID_BYTES = 24
_ID = re.compile(r"[\x21-\x7e]{1,128}")


def new_id() -> str:
    """192 random bits in visible ASCII."""
    return secrets.token_urlsafe(ID_BYTES)


def valid_id(text: str) -> bool:
    """Whether this can be a session id at all."""
    return _ID.fullmatch(text) is not None


def digest(key: ApiKey) -> bytes:
    """What a session keeps of the key that made it."""
    return sha256(key.text.encode("ascii")).digest()


@dataclass(frozen=True, slots=True)
class InFlight:
    """A request that is being answered, for notifications/cancelled. Ids are the client's and need not be unique."""

    request_id: Id
    cancel: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of ours that the client has not answered."""

    link: Link
    until: float


@dataclass(slots=True)
class Parked:
    """A question of a task that this session was asked and has not answered. `live` while the stream that it went out on is open."""

    id: str
    take: Callable[[Caller, Mapping[str, Any]], Awaitable[None]]
    live: bool = True


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a client can be asked for. Its own object is up to a whole body long, and a session would hold it until it ends."""

    elicitation_form: bool = False
    elicitation_url: bool = False
    sampling: bool = False
    roots: bool = False
    tasks: bool = False

    @classmethod
    def of(cls, declared: Mapping[str, Any]) -> Capabilities:
        """Reads what a client declares. A capability is an object; an elicitation without a mode means forms, as it did before modes."""
        sampling, roots, tasks = (isinstance(declared.get(name), dict) for name in ("sampling", "roots", "tasks"))
        modes = declared.get("elicitation")
        if not isinstance(modes, dict):
            return cls(False, False, sampling, roots, tasks)
        form, url = isinstance(modes.get("form"), dict) or not modes, isinstance(modes.get("url"), dict)
        return cls(form, url, sampling, roots, tasks)


@dataclass(slots=True, eq=False)
class Session:
    """What an initialize settled."""

    id: str
    key_id: str
    key_digest: bytes
    version: str
    capabilities: Capabilities
    last_used: float
    busy: int = 0
    in_flight: dict[object, InFlight] = field(default_factory=dict)
    asked: dict[str, Asked] = field(default_factory=dict)
    parked: dict[tuple[str, str], Parked] = field(default_factory=dict)  # by task and key of the question
    waiting: dict[str, asyncio.Future[dict[str, Any]]] = field(default_factory=dict)  # questions of calls, by the id of our request
    watched: dict[str, Callable[[], Awaitable[bool]]] = field(default_factory=dict)  # by address: whether its key may still hear of it
    replays: dict[str, object] = field(default_factory=dict)  # what calls said that a client may come back for
    log_floor: int = 0  # the least severity that its client wants to hear of

    def owned_by(self, key: ApiKey) -> bool:
        """Whether this very key made the session. Another key of the same person did not."""
        return hmac.compare_digest(self.key_digest, digest(key))

    @contextmanager
    def in_use(self, now: Callable[[], float]) -> Iterator[None]:
        """Keeps the session from growing old while a request or a stream is open."""
        self.busy += 1
        try:
            yield
        finally:
            self.busy -= 1
            self.last_used = now()

    @contextmanager
    def running(self, request_id: Id, cancel: Callable[[], object]) -> Iterator[None]:
        """Lets the client cancel a request while it runs. The place is ours, so equal ids do not disturb each other."""
        place = object()
        self.in_flight[place] = InFlight(request_id, cancel)
        try:
            yield
        finally:
            del self.in_flight[place]

    def cancel(self, request_id: Any) -> None:
        """Cancels the one request with this id and type. Where two carry it, which one is meant cannot be known, and none is touched."""
        named = [f for f in self.in_flight.values() if type(f.request_id) is type(request_id) and f.request_id == request_id]
        if len(named) == 1:
            named[0].cancel()
