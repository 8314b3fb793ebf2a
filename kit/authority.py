"""Asks auth, on every call and from scratch, whether it may be made. The service that asks decides nothing and remembers nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import grpc
from google.protobuf.message import Message
from substrate.auth.v1 import auth_service_pb2 as pb

from kit import config
from kit.batch import Batcher
from kit.client import channel, method
from kit.credentials import ApiKey, Pass
from kit.errors import Refusal, internal

SERVICE = "/substrate.auth.v1.AuthService/"


@dataclass(frozen=True, slots=True)
class Ask:
    """One call to decide."""

    key: ApiKey | Pass
    path: str
    case_id: str | None
    request: Message


def refusal(denial: pb.Denial) -> Refusal:
    """What auth said, as the refusal that the caller gets."""
    return Refusal(
        denial.reason,
        denial.message,
        limit_per_minute=denial.limit_per_minute if denial.HasField("limit_per_minute") else None,
        retry_after_seconds=denial.retry_after_seconds if denial.HasField("retry_after_seconds") else None,
    )


def principal(response: pb.AuthorizeResponse | pb.AuthenticateResponse) -> pb.Principal:
    """The principal of an allowed call; a refusal otherwise, also where auth answered with neither."""
    if response.HasField("principal"):
        return response.principal
    if response.HasField("denial"):
        raise refusal(response.denial)
    raise internal("authority-without-decision")


class Authority:
    """Client of auth. What arrives while one decision is in flight goes together in the next."""

    def __init__(self, auth: config.Peer, tls: config.Tls) -> None:
        self._channel: grpc.aio.Channel = channel(auth.address, "auth", tls)
        self._authenticate = method(self._channel, SERVICE + "Authenticate", pb.AuthenticateResponse)
        self._one = method(self._channel, SERVICE + "Authorize", pb.AuthorizeResponse)
        self._many = method(self._channel, SERVICE + "AuthorizeBatch", pb.AuthorizeBatchResponse)
        self._batcher = Batcher(self._decide_one, self._decide_many)

    async def _decide_one(self, request: pb.AuthorizeRequest) -> pb.AuthorizeResponse:
        answer = await self._one(request)
        assert isinstance(answer, pb.AuthorizeResponse)
        return answer

    async def _decide_many(self, requests: Sequence[pb.AuthorizeRequest]) -> Sequence[pb.AuthorizeResponse]:
        answer = await self._many(pb.AuthorizeBatchRequest(requests=requests))
        assert isinstance(answer, pb.AuthorizeBatchResponse)
        if len(answer.responses) != len(requests):
            raise internal("authority-batch-length")
        return list(answer.responses)

    async def authenticate(self, key: ApiKey) -> pb.Principal:
        """Whose key this is, or a refusal."""
        answer = await self._authenticate(pb.AuthenticateRequest(api_key=key.text))
        assert isinstance(answer, pb.AuthenticateResponse)
        return principal(answer)

    async def authorize(self, ask: Ask) -> pb.Principal:
        """The principal that this call is made as, or a refusal."""
        digest = sha256(ask.request.SerializeToString(deterministic=True)).digest()
        request = pb.AuthorizeRequest(api_key=ask.key.text, method=ask.path, case_id=ask.case_id, request_sha256=digest)
        return principal(await self._batcher.submit(request))

    async def close(self) -> None:
        """Closes the channel."""
        await self._channel.close()
