"""Schemas and the decoder that enforces them, over every kind of field and every declared tool."""

import itertools
import re
from typing import Any

import jsonschema_rs
import pytest
from google.protobuf import timestamp_pb2
from hypothesis import given
from hypothesis import strategies as st
from substrate.tools.v1 import tools_pb2

from kit import actions, catalogue, server
from kit.catalogue import Tool
from kit.decode import Decoder
from kit.errors import Refusal
from kit.schema import Projector, mandatory
from tests.unit.edge.shapes import F, field, message

LOADED = catalogue.load()
DECLARED = actions.load().by_name
CHOICES = {name: action.message for name, action in DECLARED.items()}
TOOLS = pytest.mark.parametrize("tool", LOADED.tools, ids=lambda t: t.name)
TIMESTAMP = f".{timestamp_pb2.Timestamp.DESCRIPTOR.full_name}"

ALL = message(
    "All",
    {
        "name": field(F.TYPE_STRING, {"string": {"min_len": 2, "max_len": 4, "pattern": "^[a-z]+$"}}),
        "colour": field(F.TYPE_STRING, {"string": {"in": ["red", "blue", ""]}}),
        "mail": field(F.TYPE_STRING, {"string": {"email": True}}),
        "small": field(F.TYPE_INT32, {"int32": {"gt": -5, "lt": 5}}),
        "unsigned": field(F.TYPE_UINT32),
        "big": field(F.TYPE_INT64),
        "flag": field(F.TYPE_BOOL),
        "ratio": field(F.TYPE_DOUBLE, {"double": {"gte": 0, "lte": 1}}),
        "data": field(F.TYPE_BYTES),
        "word": field(F.TYPE_ENUM, {"enum": {"defined_only": True}}, of="Word"),
        "instant": field(F.TYPE_MESSAGE, of=TIMESTAMP),
        "part": field(F.TYPE_MESSAGE, of="Part"),
        "parts": field(F.TYPE_MESSAGE, {"repeated": {"max_items": 2}}, repeated=True, of="Part"),
        "counts": field(F.TYPE_INT32, {"repeated": {"items": {"int32": {"gte": 1}}}}, repeated=True),
        "tags": field(F.TYPE_STRING, {"repeated": {"unique": True, "items": {"string": {"min_len": 1}}}}, repeated=True),
    },
    {"Part": {"id": field(F.TYPE_STRING, {"required": True}), "count": field(F.TYPE_INT32)}},
)
GOOD = {"name": "abc", "mail": "a@b.example", "colour": "red"}


def test_every_kind_of_field_and_rule_has_its_schema() -> None:
    schema = Projector({}).arguments(ALL)
    assert schema == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]+$"},
            "colour": {"type": "string", "enum": ["red", "blue", ""]},
            "mail": {"type": "string", "format": "email"},
            "small": {"type": "integer", "exclusiveMinimum": -5, "exclusiveMaximum": 5, "default": 0},
            "unsigned": {"type": "integer", "default": 0, "minimum": 0, "maximum": 2**32 - 1},
            "big": {"type": "string", "pattern": "^-?[0-9]+$"},
            "flag": {"type": "boolean", "default": False},
            "ratio": {"type": "number", "minimum": 0, "maximum": 1},
            "data": {"type": "string", "contentEncoding": "base64"},
            "word": {"type": "string", "enum": ["one", "two"]},
            "instant": {"type": "string", "format": "date-time"},
            "part": PART,
            "parts": {"type": "array", "items": PART, "maxItems": 2},
            "counts": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}},
            "tags": {"type": "array", "items": {"type": "string", "minLength": 1}, "uniqueItems": True},
        },
        "required": ["name", "mail"],
        "additionalProperties": False,
    }
    jsonschema_rs.meta.validate(schema)


PART = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "count": {"type": "integer", "default": 0, "minimum": -(2**31), "maximum": 2**31 - 1}},
    "required": ["id"],
    "additionalProperties": False,
}


def wrong(arguments: dict[str, Any]) -> dict[str, str]:
    """What the decoder says of arguments, by path."""
    with pytest.raises(Refusal) as caught:
        Decoder(ALL)(arguments)
    return {f.path: f.expected for f in caught.value.fields}


@pytest.mark.parametrize(
    ("given_", "path", "said"),
    [
        ({"unsigned": -1}, "unsigned", "from 0 to"),
        ({"small": 2**31}, "small", "whole number"),
        ({"small": 1.5}, "small", "whole number"),
        ({"small": True}, "small", "got true or false"),
        ({"big": 5}, "big", "written as a string"),
        ({"big": "9223372036854775808"}, "big", "written as a string"),
        ({"big": "٤"}, "big", "written as a string"),
        ({"big": "1" * 100_000}, "big", "written as a string"),
        ({"flag": 1}, "flag", "true or false"),
        ({"flag": "true"}, "flag", "true or false"),
        ({"ratio": "1"}, "ratio", "a number"),
        ({"ratio": True}, "ratio", "a number"),
        ({"data": "=x"}, "data", "base64"),
        ({"data": 5}, "data", "base64"),
        ({"word": "ONE"}, "word", "one of: one, two"),
        ({"word": 1}, "word", "one of: one, two"),
        ({"word": "unspecified"}, "word", "one of: one, two"),
        ({"word": ["one"]}, "word", "one of: one, two"),
        ({"instant": "yesterday"}, "instant", "instant such as"),
        ({"instant": 5}, "instant", "instant such as"),
        ({"part": []}, "part", "an object, got an array"),
        ({"part": {}}, "part.id", "required"),
        ({"part": {"id": "x", "cuont": 1}}, "part.cuont", "perhaps count is meant"),
        ({"parts": {}}, "parts", "an array, got an object"),
        ({"parts": [{"id": "x"}, {"id": 5}]}, "parts[1].id", "a string, got a number"),
        ({"tags": ["a", None]}, "tags[1]", "leave it out"),
        ({"name": None}, "name", "leave it out"),
        ({"zzzzzzzz": 1}, "zzzzzzzz", "known are name, colour"),
    ],
)
def test_a_wrong_argument_is_named_by_its_path(given_: dict[str, Any], path: str, said: str) -> None:
    found = wrong(GOOD | given_)
    assert list(found) == [path]
    assert said in found[path]


def test_right_arguments_become_the_message() -> None:
    made: Any = Decoder(ALL)(
        GOOD
        | {"small": 4.0, "big": "-9223372036854775808", "flag": True, "ratio": 1, "data": "AAE=", "word": "two", "tags": ["a"]}
        | {"instant": "2026-07-24T17:00:00Z", "part": {"id": "p"}, "parts": [{"id": "q", "count": 2}]}
    )
    assert (made.small, made.big, made.flag, made.ratio, made.data, made.word) == (4, -(2**63), True, 1.0, b"\0\1", 2)
    assert (made.part.id, made.parts[0].count, list(made.tags), made.instant.seconds) == ("p", 2, ["a"], 1784912400)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"x": field(F.TYPE_STRING, {"string": {"min_bytes": 1}})}, "string.min_bytes"),
        ({"x": field(F.TYPE_STRING, {"string": {"prefix": "a"}})}, "string.prefix"),
        ({"x": field(F.TYPE_FIXED32)}, "no JSON form"),
    ],
)
def test_what_has_no_schema_stops_the_start_and_is_named(fields: dict[str, Any], named: str) -> None:
    made = message(f"Odd{next(NUMBERS)}", fields)
    with pytest.raises(ValueError, match=re.escape(f"{made.full_name}.x")) as caught:
        Projector({}).arguments(made)
    assert named in str(caught.value)


NUMBERS = itertools.count()


@TOOLS
def test_the_schemas_of_a_tool_are_schemas_and_closed(tool: Tool) -> None:
    projector = Projector(LOADED.comments, CHOICES)
    arguments, answer = projector.arguments(tool.request), projector.answer(tool.response)
    for schema in (arguments, answer):
        jsonschema_rs.meta.validate(schema)
    assert arguments["additionalProperties"] is False
    assert set(arguments.get("required", [])) == mandatory(tool.request)
    assert all(p.get("description") for p in arguments.get("properties", {}).values())
    assert answer["required"] == list(answer["properties"])


@TOOLS
def test_an_empty_answer_has_exactly_the_fields_of_its_schema(tool: Tool) -> None:
    answer = Projector(LOADED.comments, CHOICES).answer(tool.response)
    assert list(tool.encode(tool.response_class())) == list(answer["properties"])


def argument(name: str, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values for an argument: mostly what its schema asks for, sometimes not."""
    odd: st.SearchStrategy[Any] = st.sampled_from([None, True, -1, 0, 5, 5.0, 5.5, 2**31, "", "x", "2026-02-30", "x" * 600, [], ["x"], {}])
    if "enum" in schema:
        return st.sampled_from(schema["enum"]) | odd
    if schema.get("format") == "uuid":
        return st.uuids().map(str) | st.just("11111111-1111-4111-8111-11111111111") | odd
    if "pattern" in schema:
        return st.from_regex(schema["pattern"]).map(lambda t: t.rstrip("\n")) | odd
    if schema["type"] == "integer":
        return st.integers(-3, 250) | odd
    if schema["type"] == "array":
        return st.lists(argument(name, schema["items"]), max_size=3) | odd
    return st.text(max_size=5) | st.booleans() | odd


def taken(tool: Tool, decoder: Decoder, arguments: dict[str, Any]) -> bool:
    """Whether the edge and the service together take these arguments; a rule on several fields at once has no schema."""
    try:
        request = decoder(arguments)
    except Refusal:
        return False
    return not [w for w in server.field_errors(request) if w.path != "request"]


def holds_object(tool: Tool) -> bool:
    """Whether an argument is an object that goes by a word beside it; the agreement of the two is the service's to check."""
    return any(f.GetOptions().HasExtension(tools_pb2.json_object) for f in tool.request.fields)


@pytest.mark.parametrize("tool", [t for t in LOADED.tools if not holds_object(t)], ids=lambda t: t.name)
def test_what_the_schema_allows_is_what_is_taken(tool: Tool) -> None:
    schema, decoder = Projector(LOADED.comments, CHOICES).arguments(tool.request), Decoder(tool.request)
    validator = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
    properties = schema.get("properties", {})
    needed = {n: argument(n, properties[n]) for n in schema.get("required", [])}
    others = {n: argument(n, s) for n, s in properties.items() if n not in needed} | {"unknown": st.just(1)}

    @given(st.fixed_dictionaries(needed, optional=others))
    def compare(arguments: dict[str, Any]) -> None:
        # An empty text or a zero where a rule is declared to be ignored for those says no more than leaving it out.
        given_ = {k: v for k, v in arguments.items() if v not in ("", 0) or k in needed}
        assert validator.is_valid(given_) is taken(tool, decoder, given_), given_

    compare()


OBJECT = message(
    "Chosen",
    {
        "kind": field(F.TYPE_STRING, {"string": {"min_len": 1, "max_len": 9}}),
        "args": field(F.TYPE_BYTES, {"bytes": {"min_len": 2}}, chosen_by="kind"),
    },
)


def test_an_object_argument_shows_what_each_word_beside_it_asks_for_below_the_property_and_never_at_the_top() -> None:
    schema = Projector({f"{PART_NAME}": "A part."}, {"one": ALL.file.message_types_by_name["Part"]}).arguments(OBJECT)
    assert schema["properties"] == {
        "kind": {"type": "string", "enum": ["one"], "description": " one: A part."},
        "args": {"type": "object", "anyOf": [{"title": "one", "description": "Where kind is one."} | PART]},
    }
    assert schema["required"] == ["kind", "args"]
    assert not {"anyOf", "allOf", "oneOf", "if"} & set(schema)
    jsonschema_rs.meta.validate(schema)


PART_NAME = ALL.file.message_types_by_name["Part"].full_name


def test_an_object_argument_without_choices_stops_the_start() -> None:
    with pytest.raises(ValueError, match="args: nothing is declared"):
        Projector({}).arguments(OBJECT)


def test_an_object_argument_is_passed_on_as_its_own_text_with_names_in_order() -> None:
    made: Any = Decoder(OBJECT)({"kind": "one", "args": {"b": [1, 2.5, None], "a": {"ü": True, "c": "\u200b"}}})
    assert made.args == '{"a":{"c":"\u200b","ü":true},"b":[1,2.5,null]}'.encode()


@pytest.mark.parametrize("value", ["{}", [], None, 5, True, ""])
def test_an_object_argument_is_an_object_and_nothing_else(value: Any) -> None:
    with pytest.raises(Refusal) as caught:
        Decoder(OBJECT)({"kind": "one", "args": value})
    assert [f.path for f in caught.value.fields] == ["args"]
    assert "expected an object" in caught.value.fields[0].expected


@pytest.mark.parametrize("tool", [t for t in LOADED.tools if holds_object(t)], ids=lambda t: t.name)
def test_every_declared_action_is_a_choice_with_its_fields_described(tool: Tool) -> None:
    properties = Projector(LOADED.comments, CHOICES).arguments(tool.request)["properties"]
    (shown,) = (p for p in properties.values() if "anyOf" in p)
    assert [b["title"] for b in shown["anyOf"]] == list(DECLARED)
    assert any(p.get("enum") == list(DECLARED) for p in properties.values())
    for branch in shown["anyOf"]:
        assert branch["additionalProperties"] is False
        assert branch["properties"]
        assert all(p["description"] for p in branch["properties"].values())
