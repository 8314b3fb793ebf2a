"""Talk of the stateless era: a call ends in questions, and the client makes it again with its answers and our sealed state."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson
from google.protobuf.message import Message
from substrate.tools.v1 import exchange_pb2 as pb

from edge import talk
from edge.caller import Caller
from edge.errors import MISSING_CAPABILITY, Fault
from edge.jsonrpc import INVALID_PARAMS
from edge.revisions import Revision
from edge.sealing import Ring
from edge.sessions import Capabilities
from edge.talk import Ear, Result
from kit import limits
from kit.clock import Clock
from kit.errors import internal


@dataclass(frozen=True, slots=True)
class Seals:
    """What state is sealed with, and for whom."""

    ring: Ring | None
    audience: str
    clock: Clock

    def seal(self, state: bytes, bound: bytes) -> str:
        """State for a client to carry."""
        if self.ring is None:
            raise internal("no-state-keys")
        until = int(self.clock().timestamp()) + limits.ROUND_LIVES_SECONDS
        return self.ring.seal(orjson.dumps([until, base64.b64encode(state).decode("ascii")]), bound)

    def open(self, sealed: Any, bound: bytes) -> bytes:
        """State that came back from the same caller, for the same call, in time."""
        opened = self.ring.open(sealed, bound) if self.ring is not None and isinstance(sealed, str) else None
        if opened is not None:
            until, state = orjson.loads(opened)
            if until > self.clock().timestamp():
                return base64.b64decode(state)
        raise Fault(INVALID_PARAMS, "Invalid or expired requestState")


@dataclass(slots=True)
class SealedTalk:
    """The talk of one request."""

    seals: Seals
    caller: Caller
    params: Mapping[str, Any]
    capabilities: Capabilities
    revision: Revision
    ear: Ear

    async def given(self, path: str, request: Message) -> pb.Given:
        """The answers of this request, which may be all that there will be, and the state that it carried."""
        given = pb.Given(capabilities=talk.said(self.capabilities))
        responses = self.params.get("inputResponses", {})
        if not isinstance(responses, dict):
            raise Fault(INVALID_PARAMS, "inputResponses must be an object.")
        # What is no object can be no answer: it is left out, and asked for again.
        usable = {key: value for key, value in responses.items() if isinstance(value, dict)}
        given.replies.extend(pb.Reply(key=key, result_json=orjson.dumps(value)) for key, value in usable.items())
        if (sealed := self.params.get("requestState")) is not None:
            given.state = self.seals.open(sealed, await self._bound(path, request))
        return given

    async def ask(self, path: str, request: Message, asking: pb.Asking) -> Result:
        """The result that asks."""
        if lacking := talk.missing(asking.questions, self.capabilities):
            raise Fault(MISSING_CAPABILITY, "Missing required client capability", {"requiredCapabilities": lacking})
        value: Result = {"resultType": "input_required", "inputRequests": {q.key: talk.shown(q) for q in asking.questions}}
        if asking.state:
            value["requestState"] = self.seals.seal(asking.state, await self._bound(path, request))
        return self.revision.result(value)

    async def _bound(self, path: str, request: Message) -> bytes:
        principal = await self.caller.authenticate()
        digest = sha256(request.SerializeToString(deterministic=True)).hexdigest()
        return orjson.dumps([self.seals.audience, principal.key_id, path, digest])

    async def hear(self, event: pb.Event) -> None:
        """News on the stream of the request."""
        await self.ear.hear(event)
