"""Rows to messages: compared with the declaration at start-up, so that a renamed column stops the program and never an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import orjson
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

HIDDEN = {"as_of": "timestamptz", "notes": "text[]", "cursor_key": "text", "total_count": "int4"}
TIMESTAMP = "google.protobuf.Timestamp"
_SCALARS: dict[int, frozenset[str]] = {
    FieldDescriptor.TYPE_STRING: frozenset({"text", "varchar", "uuid"}),
    FieldDescriptor.TYPE_INT32: frozenset({"int4", "int2"}),
    FieldDescriptor.TYPE_BOOL: frozenset({"bool"}),
}
Convert = Callable[[Any], Any]
READ, EMPTY = 1, 2


class Mismatch(Exception):
    """A statement and its message do not fit; the text names the column or field."""


def words_of(enum: EnumDescriptor) -> dict[str, int]:
    """JSON word to number, as the encoders have it."""
    zero = next(v.name for v in enum.values if v.number == 0)
    prefix = zero.removesuffix("UNSPECIFIED")
    return {v.name.removeprefix(prefix).lower(): v.number for v in enum.values if v.number}


def _expected(field: FieldDescriptor) -> frozenset[str]:
    """Column types that may fill a field."""
    if field.message_type is not None:
        return frozenset({"timestamptz"}) if field.message_type.full_name == TIMESTAMP else frozenset({"jsonb"})
    one = frozenset({"text"}) if field.enum_type is not None else _SCALARS.get(field.type, frozenset())
    return frozenset(f"{name}[]" for name in one) if field.is_repeated else one


def filled_by_engine(message: Descriptor) -> set[str]:
    """Fields that say how a nested collection was read: the binder sets them, no column does."""
    nested = [f.name for f in message.fields if f.is_repeated and f.message_type is not None]
    return {name for n in nested for name in (f"{n}_read_state", f"{n}_count") if name in message.fields_by_name}


def check(tool: str, item: Descriptor, columns: Iterable[tuple[str, str]], required_hidden: Iterable[str]) -> None:
    """Compares a statement's columns with the item message and names the first difference."""
    fields = {f.name: f for f in item.fields if f.name not in filled_by_engine(item)}
    wanted_hidden = set(required_hidden)
    for name, kind in columns:
        field = fields.pop(name, None)
        if name in HIDDEN:
            wanted_hidden.discard(name)
            if field is None and kind == HIDDEN[name]:
                continue
        if field is None:
            raise Mismatch(f"{tool}: column {name} is not a field of {item.full_name}")
        if kind not in _expected(field):
            raise Mismatch(f"{tool}: column {name} is {kind}, but {item.full_name}.{name} takes {' or '.join(sorted(_expected(field)))}")
    if fields:
        raise Mismatch(f"{tool}: no column fills {item.full_name}.{min(fields)}")
    if wanted_hidden:
        raise Mismatch(f"{tool}: the statement lacks the column {min(wanted_hidden)}")


def _stamp(value: datetime | str) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(datetime.fromisoformat(value) if isinstance(value, str) else value)
    return stamp


def _converter(field: FieldDescriptor) -> Convert | None:
    """What turns a column or JSON value into a field value; None where it already is one."""
    if field.message_type is not None:
        if field.message_type.full_name == TIMESTAMP:
            return _stamp
        build = builder(field.message_type)
        if field.is_repeated:
            return lambda values: [build(v) for v in values]
        return build
    if field.enum_type is not None:
        words = words_of(field.enum_type)
        return (lambda values: [words[v] for v in values]) if field.is_repeated else words.__getitem__
    if field.type == FieldDescriptor.TYPE_STRING and not field.is_repeated:
        return str
    return None


def builder(message: Descriptor) -> Callable[[Mapping[str, Any]], Message]:
    """A function from a mapping of values (a row, or nested JSON) to the message; absent and null values are left out."""
    kind = message_factory.GetMessageClass(message)
    plan = [(f.name, _converter(f)) for f in message.fields if f.name not in filled_by_engine(message)]
    nested = [f.name for f in message.fields if f"{f.name}_read_state" in message.fields_by_name]
    known = {name for name, _ in plan}

    def build(values: Mapping[str, Any]) -> Message:
        if unknown := next((k for k in values if k not in known and k not in HIDDEN), None):
            raise Mismatch(f"{unknown} is not a field of {message.full_name}")
        filled = {}
        for name, convert in plan:
            value = values.get(name)
            if value is not None:
                filled[name] = convert(value) if convert else value
        made: Any = kind(**filled)
        for name in nested:
            count = len(getattr(made, name))
            setattr(made, f"{name}_read_state", READ if count else EMPTY)
            if f"{name}_count" in message.fields_by_name:
                setattr(made, f"{name}_count", count)
        return made  # type: ignore[no-any-return]

    return build


def row_builder(item: Descriptor) -> Callable[[Mapping[str, Any]], Message]:
    """The same for a database row, whose nested messages arrive as JSON text."""
    build = builder(item)
    nested = {f.name for f in item.fields if f.message_type is not None and f.message_type.full_name != TIMESTAMP}

    def from_row(row: Mapping[str, Any]) -> Message:
        return build({k: orjson.loads(v) if k in nested and v is not None else v for k, v in row.items()})

    return from_row


def arguments(request: Any, names: Sequence[str], kinds: Sequence[str], extra: Mapping[str, Any]) -> list[Any]:
    """Values of a statement's parameters from a request: unset and empty are null, dates become dates, enums their word."""
    values = []
    for name, kind in zip(names, kinds, strict=True):
        value = extra[name] if name in extra else _argument(request, name)
        if isinstance(value, str) and kind == "date":
            value = date.fromisoformat(value)
        values.append(value)
    return values


def _argument(request: Any, name: str) -> Any:
    field = request.DESCRIPTOR.fields_by_name[name]
    if field.has_presence and not request.HasField(name):
        return None
    value = getattr(request, name)
    if field.enum_type is not None:
        words = {number: word for word, number in words_of(field.enum_type).items()}
        return [words[v] for v in value] or None if field.is_repeated else words.get(value)
    if field.is_repeated:
        return list(value) or None
    return None if value == "" else value
