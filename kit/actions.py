"""The actions that the protos declare: what a proposal may hold, what it would do in one sentence, and how much supervision it needs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

import orjson
from buf.validate import validate_pb2
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from substrate.actions.v1 import calendar_pb2, correspondence_pb2, discovery_pb2, evidence_pb2, options_pb2

from kit import json_gate, smuggling
from kit.canonical import canonical, digest
from kit.decode import Decoder
from kit.errors import FieldError, invalid
from kit.rules import field_errors
from kit.visible import visible

FILES = (calendar_pb2, correspondence_pb2, discovery_pb2, evidence_pb2)
DATE_PATTERN = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
ALWAYS = "always-confirm"
_FLOORS = {
    options_pb2.SUPERVISION_FLOOR_ROUTINE: "routine",
    options_pb2.SUPERVISION_FLOOR_CONFIRM: "confirm",
}
_PLACE = re.compile(r"\{(\w+)\}")
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")


@dataclass(frozen=True, slots=True)
class Accepted:
    """Arguments that were taken: their canonical bytes and digest, and what was left out of them."""

    args: bytes
    digest: bytes
    values: Mapping[str, Any]
    overrides_ignored: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """One declared action."""

    name: str
    message: Descriptor
    message_class: type[Message]
    floor: str
    effect: str | None
    confirm: bool
    conflict: bool
    noun: str
    template: str
    checks: frozenset[str]  # what the gate looks at once more: privilege, citation
    decode: Decoder

    @property
    def confirm_required(self) -> bool:
        """Whether a person confirms it a second time."""
        return self.confirm or self.floor == ALWAYS

    def individual_reasons(self) -> tuple[str, ...]:
        """Why it may not be selected in a batch; empty where it may. An effect that is not declared is unavailable, never none."""
        reasons = []
        if self.floor == ALWAYS:
            reasons.append("It always needs its own confirmation.")
        if self.effect is None:
            reasons.append("What it does outside the firm is not declared.")
        elif self.effect != "none":
            reasons.append(f"It has an effect outside the firm: {self.effect.replace('_', ' ')}.")
        if self.confirm:
            reasons.append("It needs a second confirmation.")
        if self.conflict:
            reasons.append("It needs a conflict check.")
        return tuple(reasons)

    def accept(self, text: bytes) -> Accepted:
        """Takes the JSON text of an agent's arguments, or refuses it naming every wrong field."""
        tree = _object(text)
        tried = tuple(smuggling.found_in(tree))
        request = self.decode(smuggling.without(tree))
        wrong = [FieldError(f"args.{e.path}", e.expected) for e in (*field_errors(request), *self._unreal(request))]
        if wrong:
            raise invalid(wrong)
        values = self._values(request)
        args = canonical(values)
        return Accepted(args, digest(args), values, tried)

    def read(self, args: bytes) -> Mapping[str, Any]:
        """Stored arguments, held against the declaration again; anything that is not exactly as it was taken is refused."""
        accepted = self.accept(args)
        if accepted.args != args or accepted.overrides_ignored:
            raise ValueError(f"{self.name}: stored arguments are not what the declaration takes")
        return accepted.values

    def sentence(self, values: Mapping[str, Any]) -> str:
        """What will happen, in one sentence. The agent's own text stands in quotation marks, with what is invisible in it made visible."""

        def optional(found: re.Match[str]) -> str:
            return found[1] if all(values.get(n) not in (None, [], "") for n in _PLACE.findall(found[1])) else ""

        return _PLACE.sub(lambda m: self._shown(m[1], values.get(m[1])), _OPTIONAL.sub(optional, self.template))

    def _shown(self, name: str, value: Any) -> str:
        field = self.message.fields_by_name[name]
        if isinstance(value, list):
            return ", ".join(self._shown_one(field, v) for v in value) or "none"
        return self._shown_one(field, value)

    @staticmethod
    def _shown_one(field: FieldDescriptor, value: Any) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        return f"“{visible(value)}”" if isinstance(value, str) and written_by_agent(field) else str(value)

    def _values(self, request: Message) -> dict[str, Any]:
        """The declared fields that have a value; nothing else can get in."""
        values: dict[str, Any] = {}
        for field in self.message.fields:
            value = getattr(request, field.name)
            if field.is_repeated:
                if value:
                    values[field.name] = list(value)
            elif not field.has_presence or request.HasField(field.name):
                values[field.name] = value
        return values

    def _unreal(self, request: Message) -> list[FieldError]:
        """Days that no calendar has, and texts that carry a forbidden name as JSON."""
        wrong = []
        for field, value in request.ListFields():
            for one in value if field.is_repeated else (value,):
                if not isinstance(one, str):
                    continue
                if _string_rules(field).pattern == DATE_PATTERN and not _is_day(one):
                    wrong.append(FieldError(field.name, "expected a day that the calendar has, YYYY-MM-DD"))
                if smuggling.named_in_text(one):
                    wrong.append(FieldError(field.name, "expected plain text, not JSON that names how the proposal is to be handled"))
        return wrong


def _string_rules(field: FieldDescriptor) -> Any:
    rules: Any = field.GetOptions().Extensions[validate_pb2.field]
    return rules.repeated.items.string if field.is_repeated else rules.string


def written_by_agent(field: FieldDescriptor) -> bool:
    """Whether a field holds free text: not an id, a day, a number or one of a closed set of words."""
    rules = _string_rules(field)
    return field.type == FieldDescriptor.TYPE_STRING and not (rules.uuid or rules.pattern or list(getattr(rules, "in")))


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _object(text: bytes) -> dict[str, Any]:
    """The arguments as an object, through the same gate as a request body: no duplicate keys, no numbers that bend, bounded."""
    try:
        tree = json_gate.parse(text)
    except json_gate.Rejected as rejected:
        raise invalid([FieldError("args", f"expected a JSON object. {rejected}")]) from None
    if not isinstance(tree, dict):
        raise invalid([FieldError("args", "expected a JSON object with the fields of the action")])
    return tree


@dataclass(frozen=True, slots=True)
class Actions:
    """Every declared action, in the order of its declaration."""

    by_name: Mapping[str, Action]

    def find(self, name: str) -> Action:
        """The action of a name, or a refusal that says which there are."""
        if name not in self.by_name:
            raise invalid([FieldError("action", f"expected one of {', '.join(self.by_name)}")])
        return self.by_name[name]


def _action(message: Descriptor, option: options_pb2.ActionOptions) -> Action:
    effect = option.impact.external_effect if option.HasField("impact") else options_pb2.EXTERNAL_EFFECT_UNSPECIFIED
    word = options_pb2.ExternalEffect.Name(effect).removeprefix("EXTERNAL_EFFECT_").lower()
    unknown = set(_PLACE.findall(option.what_will_happen)) - set(message.fields_by_name)
    if unknown or not option.what_will_happen or not option.deliverable_noun:
        raise ValueError(f"{message.full_name}: its sentence or noun is missing, or names {sorted(unknown)}")
    return Action(
        name=option.name,
        message=message,
        message_class=message_factory.GetMessageClass(message),
        floor=_FLOORS.get(option.supervision_floor, ALWAYS),
        effect=None if effect == options_pb2.EXTERNAL_EFFECT_UNSPECIFIED else word,
        confirm=option.confirm,
        conflict=option.conflict,
        noun=option.deliverable_noun,
        template=option.what_will_happen,
        checks=frozenset(options_pb2.GateCheck.Name(c).removeprefix("GATE_CHECK_").lower() for c in option.checks),
        decode=Decoder(message),
    )


@cache
def load() -> Actions:
    """The actions of this installation."""
    found = {}
    for module in FILES:
        for message in module.DESCRIPTOR.message_types_by_name.values():
            option = message.GetOptions().Extensions[options_pb2.action]
            if option.name:
                found[option.name] = _action(message, option)
    return Actions(found)


def as_json(values: Mapping[str, Any]) -> str:
    """Arguments for a person to read: indented, names in order."""
    return orjson.dumps(values, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode("utf-8")
