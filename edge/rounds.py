"""Links of the stateless era: a call ends in a question, and the client's next request carries its answer and our sealed memory."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson
from google.protobuf.message import Message
from substrate.common.v1 import error_reason_pb2 as reasons

from edge.caller import Caller
from edge.errors import Fault
from edge.handoff import ANSWERS, Called, Handoffs, Link, final
from edge.jsonrpc import INVALID_PARAMS
from edge.revisions import Revision
from edge.sealing import Ring
from edge.sessions import Capabilities
from kit import limits
from kit.catalogue import Tool
from kit.clock import Clock
from kit.errors import Refusal

QUESTION = "approval"
# The link is gone or decided already, which is no reason to keep back what was filed.
_BESIDE_THE_POINT = (reasons.ERROR_REASON_NOT_FOUND, reasons.ERROR_REASON_CONFLICT)


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the client carries for us, and cannot read or change."""

    link: Link
    until: int
    receipt: bytes

    def pack(self) -> bytes:
        """As bytes."""
        link = self.link
        return orjson.dumps([self.until, link.case_id, link.elicitation_id, link.session, base64.b64encode(self.receipt).decode("ascii")])

    @classmethod
    def unpack(cls, data: bytes) -> Remembered:
        """From bytes that we sealed."""
        until, case_id, elicitation_id, session, receipt = orjson.loads(data)
        return cls(Link(case_id, elicitation_id, session), until, base64.b64decode(receipt))


class Rounds:
    """The two halves of a call with a question in between. Without a ring there are no questions, and no answer is taken."""

    def __init__(self, handoffs: Handoffs | None, ring: Ring | None, audience: str, clock: Clock) -> None:
        self._handoffs, self._ring, self._audience, self._clock = handoffs, ring, audience, clock

    def of(self, caller: Caller, params: Mapping[str, Any], capabilities: Mapping[str, Any], revision: Revision) -> Round:
        """The part of one request in them."""
        return Round(self, caller, params, Capabilities.of(capabilities).elicitation_url, revision)

    async def question(self, asking: Round, called: Called, receipt: bytes) -> dict[str, Any] | None:
        """The question to end the call with; None where the receipt is the answer."""
        takes = called.tool.handoff and asking.takes_links and "inputResponses" not in asking.params
        if self._handoffs is None or self._ring is None or not takes or len(receipt) > limits.HANDOFF_RECEIPT_MAX_BYTES:
            return None
        bound = await self._bound(asking.caller, called.tool, called.request)
        link = await self._handoffs.open(asking.caller, called, secrets.token_urlsafe(32))
        if link is None:
            return None
        until = int(self._clock().timestamp()) + limits.HANDOFF_LIVES_SECONDS
        return self._ask(asking, link, self._ring.seal(Remembered(link, until, receipt).pack(), bound))

    async def resume(self, asking: Round, tool: Tool, request: Message) -> dict[str, Any] | None:
        """The end of a call whose question was answered; None where this is no such call. Nothing is filed again."""
        sealed = asking.params.get("requestState")
        if sealed is None or tool.given is not None:  # state of a tool's own questions is opened where they are asked
            return None
        remembered = await self._open(asking, sealed, tool, request)
        word = _answer(asking.params.get("inputResponses"))
        if word is None and asking.takes_links:
            return self._ask(asking, remembered.link, sealed)
        if word is not None:
            await self._note(asking.caller, remembered.link, word)
        return asking.revision.called(remembered.receipt)

    async def _note(self, caller: Caller, link: Link, word: str) -> None:
        """Passes the answer on. That it cannot be noted now costs nobody a receipt; that the caller may not is a refusal."""
        assert self._handoffs is not None
        try:
            await self._handoffs.answer(caller, link, word)
        except Refusal as refusal:
            if not final(refusal):
                self._handoffs.errand(self._later(caller, link, word))
            elif refusal.reason not in _BESIDE_THE_POINT:
                raise

    async def _later(self, caller: Caller, link: Link, word: str) -> None:
        assert self._handoffs is not None
        await self._handoffs.insist(caller, link, word)

    async def _open(self, asking: Round, sealed: Any, tool: Tool, request: Message) -> Remembered:
        """What we sealed for this key, this tool and these arguments, while it lasts."""
        bound = await self._bound(asking.caller, tool, request)
        opened = self._ring.open(sealed, bound) if self._ring is not None and isinstance(sealed, str) else None
        remembered = Remembered.unpack(opened) if opened is not None else None
        if remembered is None or remembered.until <= self._clock().timestamp():
            raise Fault(INVALID_PARAMS, "Invalid or expired requestState")
        return remembered

    async def _bound(self, caller: Caller, tool: Tool, request: Message) -> bytes:
        principal = await caller.authenticate()
        digest = sha256(request.SerializeToString(deterministic=True)).hexdigest()
        return orjson.dumps([self._audience, principal.key_id, tool.path, digest])

    def _ask(self, asking: Round, link: Link, sealed: str) -> dict[str, Any]:
        assert self._handoffs is not None
        question = {"method": "elicitation/create", "params": self._handoffs.asking(link)}
        value = {"resultType": "input_required", "inputRequests": {QUESTION: question}, "requestState": sealed}
        return asking.revision.result(value)


@dataclass(frozen=True, slots=True)
class Round:
    """One request."""

    rounds: Rounds
    caller: Caller
    params: Mapping[str, Any]
    takes_links: bool
    revision: Revision

    async def resume(self, tool: Tool, request: Message) -> dict[str, Any] | None:
        """See Rounds.resume."""
        return await self.rounds.resume(self, tool, request)

    async def offer(self, called: Called, receipt: bytes) -> dict[str, Any] | None:
        """See Rounds.question."""
        return await self.rounds.question(self, called, receipt)


def _answer(responses: Any) -> str | None:
    """What the client answered; None where it has not, or in no form that can be read, so that it is asked again."""
    if responses is not None and not isinstance(responses, dict):
        raise Fault(INVALID_PARAMS, "inputResponses must be an object.")
    given = (responses or {}).get(QUESTION)
    action = given.get("action") if isinstance(given, dict) else None
    return ANSWERS.get(action) if isinstance(action, str) else None
