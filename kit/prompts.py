"""Prompts kept as files: a head that declares, and a text with places for what a caller gives."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kit import limits
from kit.errors import FieldError

_FENCE = "+++\n"
_PLACE = re.compile(r"\{\{([^{}]*)\}\}")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class Argument:
    """What a place in the text is filled with."""

    name: str
    description: str
    required: bool


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt as this release has it. A locked one is never replaced by a firm's text."""

    name: str
    title: str
    description: str
    version: str
    locked: bool
    arguments: tuple[Argument, ...]
    text: str


class Malformed(ValueError):
    """Why a text is no prompt, in one sentence."""


def parse(name: str, source: str) -> Prompt:
    """Reads the file of one prompt: TOML between two lines of `+++`, then the text."""
    if not _NAME.fullmatch(name):
        raise Malformed(f"{name}: a prompt is named with small letters, digits and underscores.")
    if not source.startswith(_FENCE) or source.count(_FENCE) < 2:
        raise Malformed(f"{name}: a prompt starts with a head between two lines of +++.")
    _, head, text = source.split(_FENCE, 2)
    try:
        told = tomllib.loads(head)
        declared = tuple(Argument(a["name"], a["description"], a["required"]) for a in told.get("arguments", ()))
        made = Prompt(name, told["title"], told["description"], told["version"], told["locked"], declared, text.strip())
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise Malformed(f"{name}: the head is not whole ({error}).") from None
    if wrong := problem(made, made.text):
        raise Malformed(f"{name}: {wrong}")
    return made


def load(folder: Path) -> dict[str, Prompt]:
    """Every prompt of a folder, by name, in the order of the names."""
    return {path.stem: parse(path.stem, path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.md"))}


def problem(prompt: Prompt, text: str) -> str | None:
    """What is wrong with a text for this prompt, or None. A firm's own text may leave optional places out, and may invent none."""
    if not text.strip():
        return "the text is empty."
    if len(text.encode()) > limits.PROMPT_TEXT_MAX_BYTES:
        return f"the text is longer than {limits.PROMPT_TEXT_MAX_BYTES} bytes."
    places = set(_PLACE.findall(text))
    declared = {a.name: a.required for a in prompt.arguments}
    if unknown := sorted(places - set(declared)):
        return f"the text has a place for {', '.join(unknown)}, which is not an argument of {prompt.name}."
    if missing := sorted(name for name, required in declared.items() if required and name not in places):
        return f"the text has no place for the required argument {', '.join(missing)}; write it as {{{{{missing[0]}}}}}."
    return None


def wrong_arguments(prompt: Prompt, given: Mapping[str, str]) -> list[FieldError]:
    """What is wrong with the arguments of a call, field by field."""
    declared = {a.name: a for a in prompt.arguments}
    named = ", ".join(declared) or "none"
    found = [FieldError(f"arguments.{name}", f"expected one of the declared arguments: {named}") for name in given if name not in declared]
    for argument in prompt.arguments:
        value = given.get(argument.name, "")
        if argument.required and not value.strip():
            found.append(FieldError(f"arguments.{argument.name}", f"expected a value: {argument.description}"))
        elif len(value.encode()) > limits.PROMPT_ARGUMENT_MAX_BYTES:
            found.append(FieldError(f"arguments.{argument.name}", f"expected at most {limits.PROMPT_ARGUMENT_MAX_BYTES} bytes"))
    return found


def fill(text: str, given: Mapping[str, str]) -> str:
    """Puts the arguments in their places. A line whose place nothing was given for is left out; what is given is never read for places."""
    lines = [line for line in text.split("\n") if all(given.get(name, "").strip() for name in _PLACE.findall(line))]
    return _PLACE.sub(lambda place: given[place[1]], "\n".join(lines))
