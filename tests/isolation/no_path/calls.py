"""Every gRPC method that any descriptor of ours names, tried at every program with every certificate and a good API key."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import grpc
import substrate
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor, ServiceDescriptor
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from kit import callers, catalogue
from kit.client import DOMAIN
from ops import programs

HEALTH = "grpc.health.v1.Health"
REFLECTION = ("grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection")
# Answers who may do what, for programs that ask; nothing of it is a decision on a proposal.
AUTHORITY = ("substrate.auth.v1.AuthService", "substrate.auth.v1.WorkerService", "substrate.auth.v1.InferenceService")
# Asks for a key by itself, since its methods are about calls that are judged when they are made.
KEYED = "substrate.tasks.v1.TaskService"
# Certificates that hold no key of anybody: people, the executor, auth itself, and whoever runs the system.
NOT_FOR_KEYS = frozenset({"approvals", "executor", "auth", "operator"})
DEADLINE_SECONDS = 5.0


@dataclass(frozen=True)
class Method:
    """One method, and a request that gets past the argument rules where its fields allow it."""

    service: str
    name: str
    request: bytes
    asks_stream: bool
    answers_stream: bool

    @property
    def path(self) -> str:
        """As it is called."""
        return f"/{self.service}/{self.name}"


def services() -> list[ServiceDescriptor]:
    """Every service of ours, found by walking the generated code, and the two that every program may have."""
    found: dict[str, ServiceDescriptor] = {}
    for module in pkgutil.walk_packages(substrate.__path__, "substrate."):
        if module.name.endswith("_pb2"):
            found |= {s.full_name: s for s in importlib.import_module(module.name).DESCRIPTOR.services_by_name.values()}
    for common in (health_pb2, reflection_pb2):
        found |= {s.full_name: s for s in common.DESCRIPTOR.services_by_name.values()}
    return [found[name] for name in sorted(found)]


def methods(known: Mapping[str, str]) -> Iterator[Method]:
    """Every method of every service; `known` fills fields by name."""
    for service in services():
        for m in service.methods:
            request = filled(m.input_type, known).SerializeToString()
            yield Method(service.full_name, m.name, request, m.client_streaming, m.server_streaming)
    listing = reflection_pb2.ServerReflectionRequest(list_services="*").SerializeToString()
    yield Method(REFLECTION[0], "ServerReflectionInfo", listing, True, True)


def filled(message: Descriptor, known: Mapping[str, str], depth: int = 0) -> Any:
    """A message whose fields hold something of the right kind."""
    made = message_factory.GetMessageClass(message)()
    for field in message.fields:
        if field.message_type is not None:
            if depth < 3 and not field.is_repeated:
                getattr(made, field.name).CopyFrom(filled(field.message_type, known, depth + 1))
        elif (value := _value(field, known)) is not None:
            if field.is_repeated:
                getattr(made, field.name).append(value)
            else:
                setattr(made, field.name, value)
    return made


def _value(field: FieldDescriptor, known: Mapping[str, str]) -> Any:
    if field.name in known:
        text = known[field.name]
        return text.encode() if field.type == FieldDescriptor.TYPE_BYTES else text if field.type == FieldDescriptor.TYPE_STRING else None
    if field.type == FieldDescriptor.TYPE_STRING:
        return known["approval_id"] if field.name.endswith(("_id", "id")) else None
    return bytes(32) if field.type == FieldDescriptor.TYPE_BYTES else None


def outcome(channel: grpc.Channel, method: Method, key: str) -> grpc.StatusCode:
    """What became of one call; a stream is read as far as its first message."""
    raw = {"request_serializer": None, "response_deserializer": None}
    metadata = (("authorization", f"Bearer {key}"),)
    one: Any = method.request
    if method.asks_stream:
        one = iter([method.request])
    kind: Any = {
        (False, False): channel.unary_unary,
        (False, True): channel.unary_stream,
        (True, False): channel.stream_unary,
        (True, True): channel.stream_stream,
    }[method.asks_stream, method.answers_stream]
    try:
        answer: Any = kind(method.path, **raw)(one, metadata=metadata, timeout=DEADLINE_SECONDS)
        if method.answers_stream:
            next(answer)
            answer.cancel()
    except grpc.RpcError as error:
        code: grpc.StatusCode = error.code()
        return code
    except StopIteration:
        return grpc.StatusCode.OK
    return grpc.StatusCode.OK


def admitted(duties: programs.Table, program: str, method: Method, certificate: str) -> bool:
    """Whether the table of duties lets this certificate to this method of this program."""
    listed = {s: frozenset(f"{n}.{DOMAIN}" for n in names) for s, names in duties[program].callers.items()}
    return callers.allowed(listed, method.path, [f"{certificate}.{DOMAIN}".encode()])


def holes(duties: programs.Table) -> list[str]:
    """Where the table lets a certificate that acts for keys to a method that no key is asked for.

    Such a certificate may ask auth, look at health, and call methods that the authority decides by the caller's key. Everything else is the
    people's side: signing in, one-time codes, accounts.
    """
    guarded = set(catalogue.load().by_path)
    certificates = [c for c in (*(p.name for p in duties.programs), *duties.clients) if c not in NOT_FOR_KEYS]
    open_ = (*AUTHORITY, KEYED, HEALTH, *REFLECTION)
    found = []
    for program in duties.programs:
        for method in methods({"approval_id": ""}):
            if method.service in open_ or method.path in guarded:
                continue
            found += [f"{c} may call {method.path} of {program.name}" for c in certificates if admitted(duties, program.name, method, c)]
    return found


def certificates(duties: programs.Table) -> Iterable[str]:
    """Every name that has a certificate."""
    return (*(p.name for p in duties.programs), *duties.clients)
