"""Enum values as JSON words."""

from __future__ import annotations

from google.protobuf.descriptor import EnumDescriptor


def enum_words(enum: EnumDescriptor) -> dict[str, int]:
    """JSON word to number, as the encoders write them; the zero value has no word."""
    prefix = next(v.name for v in enum.values if v.number == 0).removesuffix("UNSPECIFIED")
    return {v.name.removeprefix(prefix).lower(): v.number for v in enum.values if v.number != 0}
