"""Links to the page where a person decides. A link decides nothing and says nothing, and no failure here costs anybody a receipt."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from google.protobuf.message import Message
from substrate.common.v1 import error_reason_pb2 as reasons
from substrate.proposals.v1 import handoff_service_pb2 as pb

from edge.authorization import ENDPOINT
from edge.caller import Caller
from kit import limits
from kit.catalogue import Tool
from kit.client import Method
from kit.config import ConfigError
from kit.errors import Refusal

log = logging.getLogger(__name__)
SERVICE = pb.DESCRIPTOR.services_by_name["HandoffService"]
PAGE = f"{ENDPOINT}/approve"
MESSAGE = "Open the approval page to review this proposed action."
PENDING = "pending_confirmation"
ACCEPTED, DECLINED, CANCELLED = "accepted", "declined", "cancelled"
ANSWERS = {"accept": ACCEPTED, "decline": DECLINED, "cancel": CANCELLED}
_ID = "[A-Za-z0-9_-]{43}"
_QUERY = re.compile(f"elicitationId=({_ID})".encode("ascii"))
_FINAL_REASONS = frozenset(
    {
        reasons.ERROR_REASON_UNAUTHENTICATED,
        reasons.ERROR_REASON_SCOPE_MISSING,
        reasons.ERROR_REASON_CLASS_REFUSED,
        reasons.ERROR_REASON_MATTER_NOT_ACCESSIBLE,
        reasons.ERROR_REASON_INVALID_ARGUMENT,
        reasons.ERROR_REASON_NOT_FOUND,
        reasons.ERROR_REASON_CONFLICT,
    }
)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def id_of(query: bytes) -> str | None:
    """The opaque id of a link's query, where the query is that and nothing else."""
    found = _QUERY.fullmatch(query)
    return found[1].decode("ascii") if found else None


def check_pages(approvals_url: str, public_url: str) -> None:
    """Stops the start where people would be led over an open wire, or decide at the origin that keys are sent to."""
    pages, ours = urlsplit(approvals_url), urlsplit(public_url)
    for name, url in (("[handoff] approvals_url", pages), ("[http] public_url", ours)):
        secure = url.scheme == "https" or (url.scheme == "http" and url.hostname in _LOOPBACK)
        if not secure or not url.hostname or url.query or url.fragment or url.username:
            raise ConfigError(f"{name}: expected an https address without a query")
    if pages.netloc.lower() == ours.netloc.lower():
        raise ConfigError("[handoff] approvals_url: must be another origin than [http] public_url")


def final(refusal: Refusal) -> bool:
    """Whether the same call can never succeed."""
    return refusal.reason in _FINAL_REASONS


def longer(pause: float) -> float:
    """The next pause of something that is tried again and again."""
    return min(pause * 1.5, limits.HANDOFF_PAUSE_MAX_SECONDS)


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call that was answered."""

    tool: Tool
    request: Message
    answer: Message


@dataclass(frozen=True, slots=True)
class Link:
    """An opaque id, and what it is bound to at the edge: the matter, and whatever names the session that may answer."""

    case_id: str
    elicitation_id: str
    session: str

    @property
    def session_sha256(self) -> bytes:
        """What a service is told of the session."""
        return sha256(self.session.encode("ascii")).digest()


class Handoffs:
    """Client of the service that keeps the links. Each call carries the caller's own key and is judged afresh."""

    def __init__(self, method: Callable[[str, type[Message]], Method], public_url: str, pause_seconds: float) -> None:
        self._open = method(f"/{SERVICE.full_name}/OpenHandoff", pb.OpenHandoffResponse)
        self._answer = method(f"/{SERVICE.full_name}/AnswerHandoff", pb.AnswerHandoffResponse)
        self._get = method(f"/{SERVICE.full_name}/GetHandoff", pb.GetHandoffResponse)
        self._page, self._pause_seconds = public_url.rstrip("/") + PAGE, pause_seconds
        self._errands: set[asyncio.Task[None]] = set()

    async def open(self, caller: Caller, called: Called, session: str) -> Link | None:
        """A link for what was just filed; None where there is nothing to decide, or where there can be no link."""
        answer: Any = called.answer
        if not called.tool.handoff or answer.status != PENDING:
            return None
        request: Any = called.request
        link = Link(request.case_id, "", session)
        wanted = pb.OpenHandoffRequest(case_id=link.case_id, approval_id=answer.approval_id, session_sha256=link.session_sha256)
        try:
            made: Any = await self._open(wanted, metadata=caller.metadata, timeout_seconds=limits.HANDOFF_OPEN_SECONDS)
        except Refusal as refusal:
            log.info("no link", extra={"reason": refusal.code.name})
            return None
        return Link(link.case_id, made.elicitation_id, session)

    async def answer(self, caller: Caller, link: Link, word: str) -> str:
        """Notes the client's answer. The answer that stands is the first one."""
        request = pb.AnswerHandoffRequest(
            case_id=link.case_id, elicitation_id=link.elicitation_id, session_sha256=link.session_sha256, answer=word
        )
        noted: Any = await self._answer(request, metadata=caller.metadata)
        return str(noted.answer)

    async def insist(self, caller: Caller, link: Link, word: str) -> str | None:
        """Notes an answer that could not be noted at once, so that no declined link stays open; None where it never can be."""
        pause, left = self._pause_seconds, float(limits.HANDOFF_LIVES_SECONDS)
        while left > 0:
            await asyncio.sleep(pause)
            left, pause = left - pause, longer(pause)
            try:
                return await self.answer(caller, link, word)
            except Refusal as refusal:
                if final(refusal):
                    return None
        return None

    def errand(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs what no request waits for. Beyond a number it is left undone."""
        if len(self._errands) >= limits.HANDOFF_ERRANDS_MAX:
            work.close()
            return
        task = asyncio.create_task(work)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)

    async def close(self) -> None:
        """Leaves every errand."""
        errands = list(self._errands)
        for errand in errands:
            errand.cancel()
        await asyncio.gather(*errands, return_exceptions=True)

    async def state(self, caller: Caller, link: Link) -> pb.GetHandoffResponse:
        """Where the proposal behind the link stands, or the one that took its place."""
        request = pb.GetHandoffRequest(case_id=link.case_id, elicitation_id=link.elicitation_id, session_sha256=link.session_sha256)
        found = await self._get(request, metadata=caller.metadata)
        assert isinstance(found, pb.GetHandoffResponse)
        return found

    def asking(self, link: Link) -> dict[str, str]:
        """The parameters of the request to open the link."""
        return {"mode": "url", "url": f"{self._page}?elicitationId={link.elicitation_id}", "message": MESSAGE}
