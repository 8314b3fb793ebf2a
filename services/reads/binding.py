"""Rows to messages: compared with the declaration at start-up, so that a renamed column stops the program and never an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import orjson
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from kit.words import enum_words

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
        words = enum_words(field.enum_type)
        return (lambda values: [words[v] for v in values]) if field.is_repeated else words.__getitem__
    if field.type == FieldDescriptor.TYPE_STRING and not field.is_repeated:
        return str
    return None


def _count_nested(message: Descriptor) -> Callable[[Any], None]:
    """What says of a message's nested collections how they were read and how many they hold."""
    names = message.fields_by_name
    nested = [(f.name, f"{f.name}_read_state", f"{f.name}_count") for f in message.fields if f"{f.name}_read_state" in names]

    def count(made: Any) -> None:
        for name, state, counted in nested:
            many = len(getattr(made, name))
            setattr(made, state, READ if many else EMPTY)
            if counted in names:
                setattr(made, counted, many)

    return count


def builder(message: Descriptor) -> Callable[[Mapping[str, Any]], Message]:
    """A function from nested JSON to the message; absent and null values are left out."""
    kind, count = message_factory.GetMessageClass(message), _count_nested(message)
    plan = [(f.name, _converter(f)) for f in message.fields if f.name not in filled_by_engine(message)]
    known = {name for name, _ in plan}

    def build(values: Mapping[str, Any]) -> Message:
        if unknown := next((k for k in values if k not in known), None):
            raise Mismatch(f"{unknown} is not a field of {message.full_name}")
        filled = {}
        for name, convert in plan:
            value = values.get(name)
            if value is not None:
                filled[name] = convert(value) if convert else value
        made = kind(**filled)
        count(made)
        return made

    return build


def _from_json(convert: Convert) -> Convert:
    """A converter for a nested message that arrives as JSON text."""
    return lambda text: convert(orjson.loads(text))


def row_builder(item: Descriptor) -> Callable[[Callable[..., Any], Any], Message]:
    """A function that makes an item from a database row with the maker it is given (a class, or `add` of a repeated field).

    The statement's columns were compared with the message when it was prepared, so nothing is looked for here again."""
    count = _count_nested(item)
    plan: list[tuple[str, Convert | None]] = []
    for field in item.fields:
        if field.name in filled_by_engine(item):
            continue
        convert = _converter(field)
        if convert is not None and field.message_type is not None and field.message_type.full_name != TIMESTAMP:
            convert = _from_json(convert)
        plan.append((field.name, convert))

    def from_row(make: Callable[..., Any], row: Any) -> Message:
        filled = {}
        for name, convert in plan:
            value = row[name]
            if value is not None:
                filled[name] = convert(value) if convert else value
        made: Message = make(**filled)
        count(made)
        return made

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
        words = {number: word for word, number in enum_words(field.enum_type).items()}
        return [words[v] for v in value] or None if field.is_repeated else words.get(value)
    if field.is_repeated:
        return list(value) or None
    return None if value == "" else value
