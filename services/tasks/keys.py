"""What auth says of keys that nobody presents at the time: passes for calls, and reviews of calls that were made or are being made."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import grpc
from google.protobuf.message import Message
from substrate.auth.v1 import worker_service_pb2 as pb

from kit import config
from kit.authority import refusal
from kit.client import channel, method

SERVICE = "/substrate.auth.v1.WorkerService/"
# A method, and the matter that the call names.
Called = tuple[str, str | None]


@dataclass(frozen=True, slots=True)
class Review:
    """What a key may do now."""

    live: bool
    allowed: frozenset[Called]


class Keys:
    """Client of auth. Nothing that it says is kept."""

    def __init__(self, auth: config.Peer, tls: config.Tls) -> None:
        self._channel: grpc.aio.Channel = channel(auth.address, "auth", tls)
        self._pass = method(self._channel, SERVICE + "GivePass", pb.GivePassResponse)
        self._review = method(self._channel, SERVICE + "ReviewCalls", pb.ReviewCallsResponse)

    async def metadata(self, key_id: uuid.UUID, path: str, request: Message) -> Sequence[tuple[str, str]]:
        """What one call is made with in place of the key."""
        digest = sha256(request.SerializeToString(deterministic=True)).digest()
        answer = await self._pass(pb.GivePassRequest(key_id=str(key_id), method=path, request_sha256=digest))
        return (("authorization", f"Bearer {getattr(answer, 'pass')}"),)

    async def review(self, key_id: str, calls: Sequence[Called]) -> Review:
        """Which of these calls the key may make now."""
        asked = list(dict.fromkeys(calls))
        answer = await self._review(
            pb.ReviewCallsRequest(key_id=key_id, calls=[pb.ReviewedCall(method=path, case_id=case_id) for path, case_id in asked])
        )
        assert isinstance(answer, pb.ReviewCallsResponse)
        return Review(answer.live, frozenset(call for call, allowed in zip(asked, answer.allowed, strict=True) if allowed))

    async def require(self, key_id: str, call: Called) -> None:
        """Refuses a call that the key may not make now, in the words that the call itself would be refused with."""
        path, case_id = call
        request = pb.ReviewCallsRequest(key_id=key_id, calls=[pb.ReviewedCall(method=path, case_id=case_id)])
        answer = await self._review(request)
        assert isinstance(answer, pb.ReviewCallsResponse)
        if not answer.allowed[0]:
            raise refusal(answer.denials[0])

    async def close(self) -> None:
        """Closes the channel."""
        await self._channel.close()
