"""Messages with any kind of field that a tool could have, made without a .proto file."""

from typing import Any

from buf.validate import validate_pb2
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import Descriptor
from substrate.tools.v1 import tools_pb2

F = descriptor_pb2.FieldDescriptorProto
Field = tuple[Any, bool, dict[str, Any], str, str]  # type, repeated, rules, name of its message or enum, what chooses its object


def field(kind: Any, rules: dict[str, Any] | None = None, *, repeated: bool = False, of: str = "", chosen_by: str = "") -> Field:
    """A field."""
    return kind, repeated, rules or {}, of, chosen_by


def message(name: str, fields: dict[str, Field], nested: dict[str, dict[str, Field]] | None = None) -> Descriptor:
    """A message, in a package of its own with its nested messages and the enum Word."""
    package = f"shapes.{name.lower()}"
    file = descriptor_pb2.FileDescriptorProto(name=f"shapes/{name}.proto", package=package, syntax="proto3")
    file.dependency.extend([validate_pb2.DESCRIPTOR.name, "google/protobuf/timestamp.proto", tools_pb2.DESCRIPTOR.name])
    words = file.enum_type.add(name="Word")
    for number, word in enumerate(("WORD_UNSPECIFIED", "WORD_ONE", "WORD_TWO")):
        words.value.add(name=word, number=number)
    for title, inner in {**(nested or {}), name: fields}.items():
        _add(file.message_type.add(name=title), inner, package)
    pool: Any = descriptor_pool.Default()
    pool.Add(file)
    made: Descriptor = pool.FindMessageTypeByName(f"{package}.{name}")
    return made


def _add(made: descriptor_pb2.DescriptorProto, fields: dict[str, Field], package: str) -> None:
    for number, (name, (kind, repeated, rules, of, chosen_by)) in enumerate(fields.items(), 1):
        added = made.field.add(name=name, number=number, type=kind, label=F.LABEL_REPEATED if repeated else F.LABEL_OPTIONAL)
        if of:
            added.type_name = of if of.startswith(".") else f".{package}.{of}"
        if rules:
            added.options.Extensions[validate_pb2.field].CopyFrom(validate_pb2.FieldRules(**rules))
        if chosen_by:
            added.options.Extensions[tools_pb2.json_object].chosen_by = chosen_by
