"""A gRPC program: mutual TLS, one chain of guards before every method, health, reflection and a clean stop."""

from __future__ import annotations

import asyncio
import logging
import secrets
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.message import DecodeError, Message
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from grpc_status import rpc_status
from substrate.auth.v1 import auth_service_pb2

from kit import config, credentials, limits
from kit.authority import Ask, Authority
from kit.callers import WORKER, CallerGate, Callers
from kit.errors import FieldError, Refusal, internal, invalid, to_status, unavailable
from kit.ready import announce
from kit.rules import field_errors

log = logging.getLogger(__name__)
Context = grpc.aio.ServicerContext[bytes, Message]
HEALTH_CHECK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Call:
    """What a handler knows of its caller besides the request."""

    path: str
    principal: auth_service_pb2.Principal | None
    seconds_left: float = limits.RPC_TIMEOUT_SECONDS  # until the caller stops waiting


# Awaitable[Message], or AsyncIterator[Message] where the method answers with a stream.
Handler = Callable[[Any, Call], Any]
# What a program knows of the errors of its stores: which mean that one is out of reach for now.
Explain = Callable[[Exception], Refusal | None]


class Guard:
    """What stands between the wire and a handler, in this order: deadline, arguments, authority."""

    def __init__(
        self,
        path: str,
        kind: type[Message],
        handler: Handler,
        authority: Authority | None,
        explain: Explain,
        *,
        only_authenticate: bool = False,
    ) -> None:
        self._path, self._kind, self._handler, self._authority, self._explain = path, kind, handler, authority, explain
        self._only_authenticate = only_authenticate

    async def __call__(self, data: bytes, context: Context) -> Message:
        """Runs one call and turns whatever goes wrong into a status that says no more than it should."""
        async with self._judged(context):
            answer: Message = await self._handler(*await self._admitted(self._parsed(data), context))
            return answer
        raise AssertionError("abort returned")

    async def stream(self, data: bytes, context: Context) -> AsyncIterator[Message]:
        """The same for a call that answers with a stream."""
        async with self._judged(context):
            async for message in self._handler(*await self._admitted(self._parsed(data), context)):
                yield message

    @asynccontextmanager
    async def _judged(self, context: Context) -> AsyncIterator[None]:
        started, reason = time.perf_counter(), "CANCELLED"
        try:
            yield
            reason = "OK"
        except Refusal as refusal:
            reason = refusal.code.name
            await context.abort_with_status(rpc_status.to_status(to_status(refusal)))
        except Exception as error:
            refused = self._explain(error)
            if refused is None:
                incident = secrets.token_hex(4)
                log.exception("unexpected", extra={"incident": incident, "method": self._path})
                refused = internal(incident)
            reason = refused.code.name
            await context.abort_with_status(rpc_status.to_status(to_status(refused)))
        finally:
            took_ms = round((time.perf_counter() - started) * 1000, 2)
            log.info("rpc", extra={"method": self._path, "code": reason, "ms": took_ms})

    def _parsed(self, data: bytes) -> Message:
        try:
            return self._kind.FromString(data)
        except DecodeError:
            raise invalid([FieldError("request", f"expected the bytes of a {self._kind.DESCRIPTOR.name}")]) from None

    async def _admitted(self, request: Message, context: Context) -> tuple[Message, Call]:
        left = context.time_remaining() or limits.RPC_TIMEOUT_SECONDS
        if left < limits.RPC_DEADLINE_FLOOR_SECONDS:
            raise unavailable("Too little time was left to answer. Try again with a longer deadline.")
        wrong = field_errors(request)
        # Authority comes before the complaint about arguments: who may not call learns nothing of what a right call looks like.
        principal = await self._principal(request, context, checkable=not wrong) if self._authority else None
        if wrong:
            raise invalid(wrong)
        return request, Call(self._path, principal, left)

    async def _principal(self, request: Any, context: Context, *, checkable: bool) -> auth_service_pb2.Principal:
        metadata = [(k, v if isinstance(v, str) else "") for k, v in context.invocation_metadata() or ()]
        names = context.auth_context().get("x509_subject_alternative_name", ())
        assert self._authority is not None
        if self._only_authenticate:
            return await self._authority.authenticate(credentials.present(metadata))
        key = credentials.present_between_programs(metadata, may_pass=WORKER in names)
        names_case = checkable and "case_id" in request.DESCRIPTOR.fields_by_name
        return await self._authority.authorize(Ask(key, self._path, request.case_id if names_case else None, request))


def handlers(
    service: str,
    methods: Mapping[str, Handler],
    authority: Authority | None,
    explain: Explain = lambda _: None,
    *,
    only_authenticate: bool = False,
) -> grpc.GenericRpcHandler:
    """Binds every method of a service, by name, to its handler; a method without one stops the start. `only_authenticate` is for
    methods about calls that are judged when they are made."""
    descriptor = descriptor_pool.Default().FindServiceByName(service)
    if missing := sorted({m.name for m in descriptor.methods} ^ set(methods)):
        raise ValueError(f"{service}: no handler for, or no method named, {', '.join(missing)}")
    bound: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}
    for m in descriptor.methods:
        request, response = message_factory.GetMessageClass(m.input_type), message_factory.GetMessageClass(m.output_type)
        guard = Guard(f"/{service}/{m.name}", request, methods[m.name], authority, explain, only_authenticate=only_authenticate)
        # The guard parses: bytes that are no message are then refused in our words, and only to a caller that may call.
        if m.server_streaming:
            bound[m.name] = grpc.unary_stream_rpc_method_handler(guard.stream, None, response.SerializeToString)
        else:
            bound[m.name] = grpc.unary_unary_rpc_method_handler(guard.__call__, None, response.SerializeToString)
    return grpc.method_handlers_generic_handler(service, bound)


class GrpcProgram:
    """Serves until it is told to stop, and says whether it is well."""

    def __init__(self, server: config.Server, tls: config.Tls, callers: Callers, explain: Explain = lambda _: None) -> None:
        ca, key, cert = (Path(f).read_bytes() for f in (tls.ca_file, tls.key_file, tls.cert_file))
        options = [
            ("grpc.max_receive_message_length", limits.GRPC_MESSAGE_MAX_BYTES),
            ("grpc.so_reuseport", 0),
            ("grpc.keepalive_permit_without_calls", 1),
        ]
        self._config, self._explain = server, explain
        self._server = grpc.aio.server(
            interceptors=[CallerGate(callers)], options=options, maximum_concurrent_rpcs=limits.GRPC_CONCURRENT_RPCS_MAX
        )
        self._port = self._server.add_secure_port(server.listen, grpc.ssl_server_credentials([(key, cert)], ca, True))
        self._health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        self._names: list[str] = [""]

    def add(self, service: str, methods: Mapping[str, Handler], authority: Authority | None, *, only_authenticate: bool = False) -> None:
        """Adds a service."""
        self._server.add_generic_rpc_handlers((handlers(service, methods, authority, self._explain, only_authenticate=only_authenticate),))
        self._names.append(service)

    async def _report(self, status: health_pb2.HealthCheckResponse.ServingStatus.ValueType) -> None:
        for name in self._names:
            await self._health.set(name, status)

    async def _watch(self, check: Callable[[], Awaitable[None]], stopping: asyncio.Event) -> None:
        """Looks deep every few seconds; what it needs may come and go while the program stays up."""
        was_well: bool | None = None
        while not stopping.is_set():
            try:
                async with asyncio.timeout(HEALTH_CHECK_SECONDS * 0.9):
                    await check()
                well = True
            except Exception as error:  # noqa: BLE001 - any failure of the check is the answer to the check
                well = False
                if was_well is not False:
                    log.warning("not well", extra={"because": type(error).__name__})
            if well != was_well:
                serving = health_pb2.HealthCheckResponse.SERVING if well else health_pb2.HealthCheckResponse.NOT_SERVING
                await self._report(serving)
                was_well = well
            try:
                async with asyncio.timeout(HEALTH_CHECK_SECONDS if well else 0.5):
                    await stopping.wait()
            except TimeoutError:
                continue

    async def serve(self, check: Callable[[], Awaitable[None]], on_stop: Callable[[], None] = lambda: None) -> None:
        """Serves until SIGTERM or SIGINT; a second one stops at once. `on_stop` lets what waits be answered rather than cut off."""
        if self._config.reflection:
            reflection.enable_server_reflection([*self._names[1:], health.SERVICE_NAME, reflection.SERVICE_NAME], self._server)
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, _stop, stopping)
        await self._report(health_pb2.HealthCheckResponse.NOT_SERVING)
        await self._server.start()
        if self._config.ready_file:
            host = self._config.listen.rpartition(":")[0]
            announce(self._config.ready_file, f"{host}:{self._port}")
        log.info("serving", extra={"port": self._port, "services": self._names[1:]})
        watching = asyncio.create_task(self._watch(check, stopping))
        await stopping.wait()
        on_stop()
        await self._report(health_pb2.HealthCheckResponse.NOT_SERVING)
        await self._server.stop(limits.SHUTDOWN_GRACE_SECONDS)
        await watching


def _stop(stopping: asyncio.Event) -> None:
    """First signal: drain. Second: leave."""
    if stopping.is_set():
        raise SystemExit(1)
    stopping.set()


def all_of(*checks: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
    """A health check that holds when each of these does."""

    async def check() -> None:
        for each in checks:
            await each()

    return check


__all__: Sequence[str] = ("Call", "GrpcProgram", "Guard", "Handler", "all_of", "field_errors", "handlers")
