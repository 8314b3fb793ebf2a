"""The generated JSON encoders against google.protobuf.json_format, over generated messages of every response."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit import catalogue
from kit.catalogue import Tool
from kit.schema import spoken

TIMESTAMP = "google.protobuf.Timestamp"
ATTESTATION = "substrate.common.v1.Attestation"
UNREADABLE = 3


def fill(message: Any, draw: Any, depth: int = 0) -> None:
    """Fills a message with anything that its types allow."""
    for field in spoken(message.DESCRIPTOR):
        if field.is_repeated:
            for _ in range(draw(st.integers(0, 2)) if depth < 4 else 0):
                if field.message_type is not None:
                    fill(getattr(message, field.name).add(), draw, depth + 1)
                else:
                    getattr(message, field.name).append(draw(scalar(field)))
        elif field.message_type is not None:
            if draw(st.booleans()) or field.message_type.full_name == ATTESTATION:
                below = getattr(message, field.name)
                below.SetInParent()
                if field.message_type.full_name == TIMESTAMP:
                    below.seconds, below.nanos = draw(st.integers(-62135596800, 253402300799)), draw(nanos())
                else:
                    fill(below, draw, depth + 1)
        elif not field.has_presence or draw(st.booleans()):
            setattr(message, field.name, draw(scalar(field)))


def nanos() -> st.SearchStrategy[int]:
    return st.sampled_from([0, 186_000_000, 266_123_000, 1, 999_999_999])


def scalar(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    if field.enum_type is not None:
        return st.sampled_from([v.number for v in field.enum_type.values])
    if field.type == FieldDescriptor.TYPE_BOOL:
        return st.booleans()
    if field.type == FieldDescriptor.TYPE_STRING:
        return st.text(max_size=12)
    return st.integers(-(2**31), 2**31 - 1)


def word(enum: EnumDescriptor, name: str) -> str | None:
    """JSON word of an enum value, by the documented rule."""
    prefix = next(v.name for v in enum.values if v.number == 0).removesuffix("UNSPECIFIED")
    return None if name == f"{prefix}UNSPECIFIED" else name.removeprefix(prefix).lower()


def oracle(message: Message) -> dict[str, Any]:
    """ProtoJSON with the documented deviations applied."""
    tree = json_format.MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    return deviate(message.DESCRIPTOR, tree)


def deviate(message: Any, tree: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for field in spoken(message):
        value = tree.get(field.name)
        if field.enum_type is not None:
            enum = field.enum_type
            value = [word(enum, v) for v in value or []] if field.is_repeated else (None if value is None else word(enum, value))
        elif field.message_type is not None and field.message_type.full_name != TIMESTAMP:
            below = field.message_type
            if field.is_repeated:
                state = f"{field.name}_read_state" if f"{field.name}_read_state" in message.fields_by_name else "read_state"
                value = None if tree.get(state) == "READ_STATE_UNREADABLE" else [deviate(below, v) for v in value or []]
            elif below.full_name == ATTESTATION:
                out |= deviate(below, value or {})
                continue
            else:
                value = None if value is None else deviate(below, value)
        out[field.name] = value
    return out


@pytest.mark.parametrize("tool", catalogue.load().tools, ids=lambda t: t.name)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_an_encoder_writes_what_protojson_writes_but_for_the_documented_rules(tool: Tool, data: st.DataObject) -> None:
    message = tool.response_class()
    fill(message, data.draw)
    assert tool.encode(message) == oracle(message)
