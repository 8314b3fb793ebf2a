"""Which program may call which service: a list that fails closed, checked against the caller's certificate."""

from __future__ import annotations

import tomllib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import grpc
from grpc_status import rpc_status
from substrate.common.v1 import error_reason_pb2

from kit.client import DOMAIN
from kit.errors import Refusal, to_status

Callers = Mapping[str, frozenset[str]]
# The one program that makes calls for a key which nobody presents at the time, as its certificate names it.
WORKER = f"tasks.{DOMAIN}".encode()
TABLE = Path(__file__).resolve().parent.parent / "deploy" / "programs.toml"


def load(program: str, path: Path = TABLE) -> Callers:
    """Service name, or `package.*`, to the certificate names that may call it, from the table of duties."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    services = table["programs"][program].get("callers", {})
    return {service: frozenset(f"{name}.{DOMAIN}" for name in names) for service, names in services.items()}


def allowed(callers: Callers, path: str, names: Iterable[bytes]) -> bool:
    """Whether a certificate with these names may call the method; a service that is not listed has no callers."""
    service = path.split("/")[1]
    presented = {name.decode("utf-8", "replace") for name in names}
    listed = callers.get(service, callers.get(f"{service.rpartition('.')[0]}.*", frozenset()))
    return bool(presented & listed)


class CallerGate(grpc.aio.ServerInterceptor):
    """Stands before every method of a server, health and reflection included."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers

    async def _admit(self, path: str, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        names = context.auth_context().get("x509_subject_alternative_name", ())
        if not allowed(self._callers, path, names):
            refusal = Refusal(error_reason_pb2.ERROR_REASON_CALLER_REFUSED, "This certificate may not call this service.")
            await context.abort_with_status(rpc_status.to_status(to_status(refusal)))

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Wraps the method's handler, since only a handler sees the certificate."""
        found: Any = await continuation(handler_call_details)
        path = str(handler_call_details.method)
        if found is None:
            return None
        if found.response_streaming:
            return self._streaming(found, path)
        inner = found.unary_unary

        async def guarded(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
            await self._admit(path, context)
            return await inner(request, context)

        return grpc.unary_unary_rpc_method_handler(guarded, found.request_deserializer, found.response_serializer)

    def _streaming(self, found: Any, path: str) -> grpc.RpcMethodHandler[Any, Any]:
        """The same for the streaming methods of health and reflection."""
        inner = found.stream_stream if found.request_streaming else found.unary_stream
        make = grpc.stream_stream_rpc_method_handler if found.request_streaming else grpc.unary_stream_rpc_method_handler

        async def guarded(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
            await self._admit(path, context)
            answered = inner(request, context)
            if hasattr(answered, "__aiter__"):
                async for message in answered:
                    yield message
            else:
                await answered

        return make(guarded, found.request_deserializer, found.response_serializer)
