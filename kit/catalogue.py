"""The tools that the protos declare, and methods guarded like them, read once at start-up: the only source for lists, checks, docs."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.descriptor import Descriptor, MethodDescriptor
from google.protobuf.message import Message
from substrate.tools.v1 import exchange_pb2, tools_pb2

# The package below which this product's declarations stand.
ROOT = "substrate"
NO_SIDE_EFFECTS = descriptor_pb2.MethodOptions.NO_SIDE_EFFECTS
CONTENT = exchange_pb2.Content.DESCRIPTOR
Encode = Callable[[Any], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool, as its RPC declares it. A method without a name is guarded by the same rules, and offered to no agent."""

    name: str
    title: str
    description: str
    path: str
    service: str
    scope: str
    cost: str
    client_safe: str
    task_support: str
    rate_lane: str
    resource: str
    handoff: bool
    read_only: bool
    names_case: bool
    streams: bool
    arguments_schema: str
    asks_first: bool
    given: str | None
    asking: str | None
    request: Descriptor
    response: Descriptor
    request_class: type[Message]
    response_class: type[Message]
    encode: Encode

    @property
    def free(self) -> bool:
        """Whether the answer is free content rather than declared fields."""
        return self.response is CONTENT or self.streams


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All tools in the order of their declaration, with the comments of everything declared. `by_path` has the guarded methods too."""

    tools: tuple[Tool, ...]
    by_name: dict[str, Tool]
    by_path: dict[str, Tool]
    comments: dict[str, str]


def _modules(root: str, suffix: str) -> Iterator[ModuleType]:
    """Every generated module with this suffix, in a stable order."""
    found = pkgutil.walk_packages(importlib.import_module(root).__path__, f"{root}.")
    for name in sorted(m.name for m in found if m.name.endswith(suffix)):
        yield importlib.import_module(name)


def _word(enum: Any, number: int, prefix: str) -> str:
    """JSON word of an option's enum value."""
    return str(enum.Name(number)).removeprefix(prefix).lower()


def _encoders(root: str) -> dict[str, Encode]:
    """Encoder of every message that has one, by full name."""
    return {name: encode for module in _modules(root, "_json") for name, encode in module.ENCODERS.items()}


def _unencoded(message: Any) -> dict[str, Any]:
    """Free content, and what no agent sees, has no JSON form of its own."""
    raise TypeError(f"{message.DESCRIPTOR.full_name} has no encoder")


def field_of(message: Descriptor, kind: Descriptor) -> str | None:
    """Name of the field of a message that has this type."""
    return next((f.name for f in message.fields if f.message_type is kind), None)


def _tool(method: MethodDescriptor, option: tools_pb2.ToolOptions, comments: dict[str, str], encoders: dict[str, Encode]) -> Tool:
    """Reads one declaration."""
    service = method.containing_service.full_name
    return Tool(
        name=option.name,
        title=option.title,
        description=comments.get(method.full_name, ""),
        path=f"/{service}/{method.name}",
        service=service,
        scope=option.scope,
        cost=_word(tools_pb2.Cost, option.cost, "COST_"),
        client_safe=_word(tools_pb2.ClientSafe, option.client_safe, "CLIENT_SAFE_"),
        task_support=_word(tools_pb2.TaskSupport, option.task_support or tools_pb2.TASK_SUPPORT_FORBIDDEN, "TASK_SUPPORT_"),
        rate_lane=_word(tools_pb2.RateLane, option.rate_lane or tools_pb2.RATE_LANE_READ, "RATE_LANE_"),
        resource=option.resource,
        handoff=option.handoff,
        read_only=method.GetOptions().idempotency_level == NO_SIDE_EFFECTS,
        names_case="case_id" in method.input_type.fields_by_name,
        streams=method.server_streaming,
        arguments_schema=option.arguments_schema,
        asks_first=option.asks_first,
        given=field_of(method.input_type, exchange_pb2.Given.DESCRIPTOR),
        asking=field_of(CONTENT if method.server_streaming else method.output_type, exchange_pb2.Asking.DESCRIPTOR),
        request=method.input_type,
        response=method.output_type,
        request_class=message_factory.GetMessageClass(method.input_type),
        response_class=message_factory.GetMessageClass(method.output_type),
        encode=encoders.get(method.output_type.full_name, _unencoded),
    )


def _image(root: str) -> descriptor_pb2.FileDescriptorSet:
    """Descriptors with comments, which generated Python classes do not keep."""
    data = Path(str(importlib.import_module(root).__path__[0]), "tools.binpb").read_bytes()
    return descriptor_pb2.FileDescriptorSet.FromString(data)


@cache
def load(root: str = ROOT) -> Catalogue:
    """The catalogue of everything generated below a package of this installation."""
    image = _image(root)
    comments = {name: text for file in image.file for name, text in _comments(file)}
    encoders = _encoders(root)
    guarded = []
    for module in _modules(root, "_pb2"):
        for service in module.DESCRIPTOR.services_by_name.values():
            for method in service.methods:
                options = method.GetOptions()
                if options.HasExtension(tools_pb2.tool):
                    guarded.append(_tool(method, options.Extensions[tools_pb2.tool], comments, encoders))
    tools = tuple(t for t in guarded if t.name)
    by_name = {t.name: t for t in tools}
    if len(by_name) != len(tools):
        raise ValueError("two RPCs declare the same tool name")
    return Catalogue(tools, by_name, {t.path: t for t in guarded}, comments)


# Field numbers of descriptor.proto by which a source location names what it belongs to.
_CHILDREN: dict[type, dict[int, str]] = {
    descriptor_pb2.FileDescriptorProto: {4: "message_type", 5: "enum_type", 6: "service"},
    descriptor_pb2.DescriptorProto: {2: "field", 3: "nested_type", 4: "enum_type"},
    descriptor_pb2.EnumDescriptorProto: {2: "value"},
    descriptor_pb2.ServiceDescriptorProto: {2: "method"},
}


def _comments(file: descriptor_pb2.FileDescriptorProto) -> Iterator[tuple[str, str]]:
    """Full name and leading comment of everything in a file that has one, on one line."""
    for location in file.source_code_info.location:
        if not location.leading_comments or len(location.path) % 2:
            continue
        node: Any = file
        names = [file.package]
        for kind, index in zip(location.path[::2], location.path[1::2], strict=True):
            child = _CHILDREN.get(type(node), {}).get(kind)
            if child is None:
                break
            node = getattr(node, child)[index]
            names.append(node.name)
        else:
            yield ".".join(names), " ".join(location.leading_comments.split())
