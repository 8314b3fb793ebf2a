"""Tool arguments from JSON to the request message: exactly what the schema says, nothing coerced, every mistake named."""

from __future__ import annotations

import base64
import binascii
import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from google.protobuf import message_factory, timestamp_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from substrate.tools.v1 import tools_pb2

from kit import limits
from kit.errors import FieldError, invalid
from kit.schema import INTEGERS, LONG_INTEGERS, TIMESTAMP, mandatory, spoken
from kit.words import enum_words

Wrong = list[FieldError]
Reader = Callable[[Any, str, Wrong], Any]
_NAME_SHOWN_MAX = 64
_RANGES = {
    **INTEGERS,
    FieldDescriptor.TYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_SINT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_UINT64: (0, 2**64 - 1),
}
_KINDS = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}


def _kind(value: Any) -> str:
    return _KINDS[type(value)]


def _expected(what: str, value: Any) -> str:
    advice = "; leave it out instead" if value is None else ""
    return f"expected {what}, got {_kind(value)}{advice}"


def _typed(kind: type, what: str) -> Reader:
    def read(value: Any, path: str, wrong: Wrong) -> Any:
        if type(value) is kind:
            return value
        wrong.append(FieldError(path, _expected(what, value)))
        return None

    return read


def _number(value: Any, path: str, wrong: Wrong) -> Any:
    if type(value) in (int, float):
        return float(value)
    wrong.append(FieldError(path, _expected("a number", value)))
    return None


def _integer(kind: int) -> Reader:
    low, high = _RANGES[kind]

    def read(value: Any, path: str, wrong: Wrong) -> Any:
        # 50.0 is the integer 50 to JSON Schema, and some writers spell it so.
        whole = int(value) if type(value) is float and value.is_integer() else value
        if type(whole) is int and low <= whole <= high:
            return whole
        said = f"expected a whole number from {low} to {high}" if type(value) in (int, float) else _expected("a whole number", value)
        wrong.append(FieldError(path, said))
        return None

    return read


def _long(kind: int) -> Reader:
    low, high = _RANGES[kind]

    def read(value: Any, path: str, wrong: Wrong) -> Any:
        digits = value.removeprefix("-") if isinstance(value, str) else ""
        if digits.isascii() and digits.isdigit() and len(digits) <= len(str(high)) and low <= int(value) <= high:
            return int(value)
        wrong.append(FieldError(path, f"expected a whole number from {low} to {high}, written as a string"))
        return None

    return read


def _octets(value: Any, path: str, wrong: Wrong) -> Any:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError):
        wrong.append(FieldError(path, "expected base64 in a string"))
        return None


def _json_object(value: Any, path: str, wrong: Wrong) -> Any:
    """An object that the service it goes to understands: passed on as its own text, names in order."""
    if isinstance(value, dict):
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    wrong.append(FieldError(path, _expected("an object", value)))
    return None


def _instant(value: Any, path: str, wrong: Wrong) -> Any:
    made = timestamp_pb2.Timestamp()
    try:
        made.FromJsonString(value)
    except (ValueError, TypeError, AttributeError):
        wrong.append(FieldError(path, "expected an instant such as 2026-07-24T17:00:00Z"))
        return None
    return made


def _word(words: Mapping[str, int]) -> Reader:
    listed = ", ".join(words)

    def read(value: Any, path: str, wrong: Wrong) -> Any:
        number = words.get(value) if isinstance(value, str) else None
        if number is None:
            wrong.append(FieldError(path, f"expected one of: {listed}"))
        return number

    return read


def _each(item: Reader) -> Reader:
    def read(value: Any, path: str, wrong: Wrong) -> Any:
        if not isinstance(value, list):
            wrong.append(FieldError(path, _expected("an array", value)))
            return None
        return [item(v, f"{path}[{n}]", wrong) for n, v in enumerate(value)]

    return read


def _reader(field: FieldDescriptor) -> Reader:
    """How one value of a field is read."""
    if field.message_type is not None:
        return _instant if field.message_type.full_name == TIMESTAMP else Decoder(field.message_type).read
    if field.enum_type is not None:
        return _word(enum_words(field.enum_type))
    if field.GetOptions().HasExtension(tools_pb2.json_object):
        return _json_object
    if field.type in INTEGERS:
        return _integer(field.type)
    if field.type in LONG_INTEGERS:
        return _long(field.type)
    plain: dict[int, Reader] = {
        FieldDescriptor.TYPE_STRING: _typed(str, "a string"),
        FieldDescriptor.TYPE_BOOL: _typed(bool, "true or false"),
        FieldDescriptor.TYPE_DOUBLE: _number,
        FieldDescriptor.TYPE_FLOAT: _number,
        FieldDescriptor.TYPE_BYTES: _octets,
    }
    return plain[field.type]


def whole(arguments: Mapping[str, Any]) -> Message:
    """The arguments of a tool that declares them as JSON Schema: passed on as they came, to the service that understands them."""
    return tools_pb2.JsonArguments(json=orjson.dumps(arguments))


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    read: Reader


class Decoder:
    """Reads the arguments of one message."""

    def __init__(self, message: Descriptor) -> None:
        self._class: type[Message] = message_factory.GetMessageClass(message)
        self._fields = {f.name: _Field(f.name, _each(_reader(f)) if f.is_repeated else _reader(f)) for f in spoken(message)}
        needed = mandatory(message)
        self._needed = [f.name for f in message.fields if f.name in needed]

    def __call__(self, arguments: Mapping[str, Any]) -> Message:
        """The request, or a refusal that names each wrong argument."""
        wrong: Wrong = []
        made = self._build(arguments, "", wrong)
        if wrong or made is None:
            raise invalid(wrong[: limits.FIELD_ERRORS_MAX])
        return made

    def read(self, value: Any, path: str, wrong: Wrong) -> Message | None:
        """A nested message."""
        if not isinstance(value, dict):
            wrong.append(FieldError(path, _expected("an object", value)))
            return None
        return self._build(value, f"{path}.", wrong)

    def _build(self, given: Mapping[str, Any], prefix: str, wrong: Wrong) -> Message | None:
        before = len(wrong)
        values = {}
        for name, value in given.items():
            field = self._fields.get(name)
            if len(wrong) >= limits.FIELD_ERRORS_MAX:
                break
            if field is None:
                wrong.append(self._unknown(name, prefix))
            else:
                values[name] = field.read(value, prefix + name, wrong)
        wrong.extend(FieldError(prefix + name, "required, and missing") for name in self._needed if name not in given)
        return self._class(**values) if len(wrong) == before else None

    def _unknown(self, name: str, prefix: str) -> FieldError:
        shown = name if len(name) <= _NAME_SHOWN_MAX else f"{name[:_NAME_SHOWN_MAX]}…"
        near = difflib.get_close_matches(name[:_NAME_SHOWN_MAX], self._fields, n=1)
        known = f"known are {', '.join(self._fields)}" if self._fields else "there are no arguments"
        return FieldError(prefix + shown, f"unknown argument; perhaps {near[0]} is meant" if near else f"unknown argument; {known}")
