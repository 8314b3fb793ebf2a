"""JSON Schema of a tool's arguments and answers, projected from the messages, their rules and their comments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import protovalidate
from buf.validate import validate_pb2
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from substrate.tools.v1 import exchange_pb2, tools_pb2

from kit.words import enum_words

Schema = dict[str, Any]
TIMESTAMP = "google.protobuf.Timestamp"
_ATTESTATION = "substrate.common.v1.Attestation"
# What the edge and a service tell each other beside the arguments and the answer.
UNSPOKEN = (exchange_pb2.Given.DESCRIPTOR, exchange_pb2.Asking.DESCRIPTOR)
_UNREADABLE_BESIDE = "read_state"
# Id of the rule, wherever it stands, that a text is a day which the calendar has; JSON Schema has a word for that.
CALENDAR_DAY = "calendar_day"
_VALIDATOR = protovalidate.Validator()

INTEGERS = {
    FieldDescriptor.TYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_SINT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_UINT32: (0, 2**32 - 1),
}
LONG_INTEGERS = frozenset({FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_SINT64})
_PLAIN: dict[int, Schema] = {
    **{kind: {"type": "integer"} for kind in INTEGERS},
    FieldDescriptor.TYPE_STRING: {"type": "string"},
    FieldDescriptor.TYPE_BOOL: {"type": "boolean"},
    FieldDescriptor.TYPE_DOUBLE: {"type": "number"},
    FieldDescriptor.TYPE_FLOAT: {"type": "number"},
    FieldDescriptor.TYPE_BYTES: {"type": "string", "contentEncoding": "base64"},
}
_KEYWORDS = {
    ("string", "min_len"): "minLength",
    ("string", "max_len"): "maxLength",
    ("string", "pattern"): "pattern",
    ("string", "const"): "const",
    ("repeated", "min_items"): "minItems",
    ("repeated", "max_items"): "maxItems",
    ("repeated", "unique"): "uniqueItems",
    **{(k, "gte"): "minimum" for k in ("int32", "int64", "uint32", "uint64", "double", "float")},
    **{(k, "lte"): "maximum" for k in ("int32", "int64", "uint32", "uint64", "double", "float")},
    **{(k, "gt"): "exclusiveMinimum" for k in ("int32", "int64", "uint32", "uint64", "double", "float")},
    **{(k, "lt"): "exclusiveMaximum" for k in ("int32", "int64", "uint32", "uint64", "double", "float")},
}
_FORMATS = {"uuid": "uuid", "email": "email", "hostname": "hostname", "uri": "uri", "ipv4": "ipv4", "ipv6": "ipv6"}


def mandatory(message: Descriptor) -> frozenset[str]:
    """The fields whose rules an empty message breaks: the ones a caller cannot leave out."""
    empty = message_factory.GetMessageClass(message)()
    broken: set[str] = set()
    for violation in _VALIDATOR.collect_violations(empty):
        proto: Any = violation.proto
        if proto.field is not None and proto.field.elements:  # a rule on the whole message names no field
            broken.add(proto.field.elements[0].field_name)
    return frozenset(broken)


def spoken(message: Descriptor) -> list[FieldDescriptor]:
    """The fields that a caller sends or gets."""
    return [f for f in message.fields if f.message_type not in UNSPOKEN]


class Projector:
    """Makes schemas; holds the comments, which become descriptions, and by name what an object argument may be."""

    def __init__(self, comments: Mapping[str, str], choices: Mapping[str, Descriptor] | None = None) -> None:
        self._comments, self._choices = comments, choices or {}

    def arguments(self, message: Descriptor) -> Schema:
        """What a caller may send: nothing that is not listed, and everything that the rules demand."""
        needed = mandatory(message)
        properties = {f.name: self._argument(f, f.name in needed) for f in spoken(message)}
        for field in message.fields:
            if (chooser := _chosen_by(field)) is not None:
                self._choose(field, properties, chooser)
        schema: Schema = {"type": "object", "properties": properties} if properties else {"type": "object"}
        if needed:
            schema["required"] = [f.name for f in message.fields if f.name in needed]
        return schema | {"additionalProperties": False}

    def _argument(self, field: FieldDescriptor, needed: bool) -> Schema:
        rules: Any = field.GetOptions().Extensions[validate_pb2.field]
        if field.is_repeated:
            item = self._value(field, rules.repeated.items, self.arguments)
            schema: Schema = {"type": "array", "items": item | _range(field, item)} | _keywords(field, rules)
        else:
            schema = self._value(field, rules, self.arguments)
            zero = {"integer": 0, "boolean": False}.get(str(schema["type"]))
            if zero is not None and not field.has_presence and not needed:
                schema["default"] = zero
            schema |= _range(field, schema)
        return self._described(field, schema, words=True)

    def _choose(self, field: FieldDescriptor, properties: dict[str, Schema], chooser: str) -> None:
        """What the object holds goes by the word beside it.

        The branches stand below the property and not in an `if` at the top: models' interfaces refuse a tool, and the whole list with it,
        whose schema has allOf, anyOf or oneOf at its top. Each branch is titled with its word; whether the two agree the service checks.
        """
        if chooser not in properties or not self._choices:
            raise ValueError(f"{field.full_name}: nothing is declared that {chooser!r} could choose")
        said = {word: self._comments.get(message.full_name, "") for word, message in self._choices.items()}
        properties[chooser] = {"type": "string", "enum": list(said)} | {
            "description": " ".join([properties[chooser].get("description", ""), *(f"{word}: {text}" for word, text in said.items())])
        }
        branches = [{"title": word, "description": f"Where {chooser} is {word}."} | self.arguments(m) for word, m in self._choices.items()]
        properties[field.name] |= {"anyOf": branches}

    def answer(self, message: Descriptor) -> Schema:
        """What a caller gets: every field, always; null only where the message says that there may be none."""
        properties: dict[str, Schema] = {}
        for field in sorted(spoken(message), key=lambda f: not _is_attestation(f)):
            found = self.answer(_message(field))["properties"] if _is_attestation(field) else {field.name: self._result(message, field)}
            if twice := properties.keys() & found.keys():
                raise ValueError(f"{message.full_name}: {sorted(twice)} would stand in the answer twice")
            properties |= found
        return {"type": "object", "properties": properties, "required": list(properties)}

    def _result(self, message: Descriptor, field: FieldDescriptor) -> Schema:
        if field.is_repeated:
            schema: Schema = {"type": "array", "items": self._value(field, validate_pb2.FieldRules(), self.answer)}
            nullable = field.message_type is not None and _has_read_state(message, field)
        else:
            schema = self._value(field, validate_pb2.FieldRules(), self.answer)
            nullable = field.containing_oneof is not None  # `optional` in the .proto
        return self._described(field, _nullable(schema) if nullable else schema, words=False)

    def _value(self, field: FieldDescriptor, rules: Any, nested: Any) -> Schema:
        """One value of a field, a repeated field's items included."""
        if field.message_type is not None:
            if field.message_type.full_name == TIMESTAMP:
                return {"type": "string", "format": "date-time"}
            if field.message_type.GetOptions().map_entry:
                raise ValueError(f"{field.full_name}: a map has no place in a tool")
            made: Schema = nested(field.message_type)
            return made
        if field.enum_type is not None:
            words = {w: n for w, n in enum_words(field.enum_type).items() if _listed(rules.enum, n)}
            return {"type": "string", "enum": list(words)}
        if _chosen_by(field) is not None:
            return {"type": "object"}
        if field.type in LONG_INTEGERS:  # JSON numbers are doubles to most readers, so the encoders write these as text
            return {"type": "string", "pattern": "^-?[0-9]+$"}
        if field.type not in _PLAIN:
            raise ValueError(f"{field.full_name}: a field of this type has no JSON form")
        day = {"format": "date"} if any(rule.id == CALENDAR_DAY for rule in rules.cel) else {}
        return _PLAIN[field.type] | _keywords(field, rules) | day

    def _described(self, field: FieldDescriptor, schema: Schema, *, words: bool) -> Schema:
        text = self._comments.get(field.full_name, "")
        if words and field.enum_type is not None:
            said = {w: self._comments.get(f"{field.enum_type.full_name}.{n}", "") for w, n in _names(field.enum_type).items()}
            text = " ".join([text, *(f"{word}: {comment}" for word, comment in said.items() if comment)])
        return schema | ({"description": text} if text else {})


def _chosen_by(field: FieldDescriptor) -> str | None:
    """The name of the field that says what this one's object holds; None where it holds none."""
    options = field.GetOptions()
    return options.Extensions[tools_pb2.json_object].chosen_by if options.HasExtension(tools_pb2.json_object) else None


def _names(enum: EnumDescriptor) -> dict[str, str]:
    numbers = {v.number: v.name for v in enum.values}
    return {word: numbers[number] for word, number in enum_words(enum).items()}


def _message(field: FieldDescriptor) -> Descriptor:
    assert field.message_type is not None
    return field.message_type


def _is_attestation(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.full_name == _ATTESTATION


def _has_read_state(message: Descriptor, field: FieldDescriptor) -> bool:
    return any(name in message.fields_by_name for name in (f"{field.name}_{_UNREADABLE_BESIDE}", _UNREADABLE_BESIDE))


def _nullable(schema: Schema) -> Schema:
    schema = schema | {"type": [schema["type"], "null"]}
    return schema | {"enum": [*schema["enum"], None]} if "enum" in schema else schema


def _listed(rules: Any, number: int) -> bool:
    """Whether the rules of an enum field leave this value."""
    allowed = getattr(rules, "in")
    return (not allowed or number in allowed) and number not in rules.not_in


def _range(field: FieldDescriptor, schema: Schema) -> Schema:
    """What an integer's own type leaves open to its rules, so that nothing is advertised that would not fit."""
    if field.type not in INTEGERS:
        return {}
    low, high = INTEGERS[field.type]
    lowest = {} if "minimum" in schema or "exclusiveMinimum" in schema else {"minimum": low}
    return lowest | ({} if "maximum" in schema or "exclusiveMaximum" in schema else {"maximum": high})


def _keywords(field: FieldDescriptor, rules: Any) -> Schema:
    """A field's rules as keywords; a rule that has none stops the start, since agents would not learn of it."""
    kind = rules.WhichOneof("type")
    schema: Schema = {}
    for rule, value in getattr(rules, kind).ListFields() if kind else ():
        if (keyword := _KEYWORDS.get((kind, rule.name))) is not None:
            schema[keyword] = value
        elif rule.name in _FORMATS and kind == "string":
            schema["format"] = _FORMATS[rule.name]
        elif rule.name == "in":
            schema["enum"] = list(value)
        elif rule.name == "len":
            schema |= {"minLength": value, "maxLength": value}
        elif (kind, rule.name) != ("repeated", "items"):
            raise ValueError(f"{field.full_name}: the rule {kind}.{rule.name} has no JSON Schema form")
    return schema
