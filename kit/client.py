"""Channels to other programs: mutual TLS always, a deadline on every call, refusals as refusals."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path

import grpc
from google.protobuf.message import Message

from kit import config, limits
from kit.errors import from_rpc_error

DOMAIN = "substrate"

# UNAVAILABLE before anything was sent is retried by gRPC itself; nothing else is, so no call is ever made twice.
_SERVICE_CONFIG = json.dumps({"loadBalancingConfig": [{"round_robin": {}}]})


def credentials(tls: config.Tls) -> grpc.ChannelCredentials:
    """This program's identity and the authority it trusts."""
    ca, key, cert = (Path(f).read_bytes() for f in (tls.ca_file, tls.key_file, tls.cert_file))
    return grpc.ssl_channel_credentials(ca, key, cert)


def channel(address: str, program: str, tls: config.Tls) -> grpc.aio.Channel:
    """A channel to `program`, whose certificate must carry its own name whatever the address is."""
    options = [
        ("grpc.ssl_target_name_override", f"{program}.{DOMAIN}"),
        ("grpc.max_receive_message_length", limits.GRPC_MESSAGE_MAX_BYTES),
        ("grpc.service_config", _SERVICE_CONFIG),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1_000),
    ]
    return grpc.aio.secure_channel(address, credentials(tls), options=options)


@dataclass(frozen=True, slots=True)
class Method:
    """One remote method, callable with a message."""

    call: grpc.aio.UnaryUnaryMultiCallable[Message, Message]

    async def __call__(
        self, request: Message, *, metadata: Sequence[tuple[str, str]] = (), timeout_seconds: float = limits.RPC_TIMEOUT_SECONDS
    ) -> Message:
        """The answer, or the refusal that the other program gave."""
        try:
            return await self.call(request, metadata=metadata, timeout=timeout_seconds)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error


def method(channel_: grpc.aio.Channel, path: str, response: type[Message]) -> Method:
    """Binds a method by its path, so that generic code needs no stub."""
    return Method(channel_.unary_unary(path, request_serializer=lambda m: m.SerializeToString(), response_deserializer=response.FromString))


@dataclass(frozen=True, slots=True)
class StreamMethod:
    """One remote method that answers with a stream."""

    call: grpc.aio.UnaryStreamMultiCallable[Message, Message]

    async def __call__(
        self, request: Message, *, metadata: Sequence[tuple[str, str]] = (), timeout_seconds: float | None = limits.RPC_STREAM_SECONDS
    ) -> AsyncGenerator[Message, None]:
        """Each message as it comes, or the refusal that the other program gave. Leaving the iteration takes the call back."""
        call = self.call(request, metadata=metadata, timeout=timeout_seconds)
        try:
            async for message in call:
                yield message
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error
        finally:
            call.cancel()


def stream_method(channel_: grpc.aio.Channel, path: str, response: type[Message]) -> StreamMethod:
    """Binds a streaming method by its path."""
    return StreamMethod(
        channel_.unary_stream(path, request_serializer=lambda m: m.SerializeToString(), response_deserializer=response.FromString)
    )
