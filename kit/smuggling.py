"""Finds names that try to change how a proposal is handled, in any spelling, so that they can be shown to the person who decides.

What is stored is built from the declared fields alone; this only says what else was tried."""

from __future__ import annotations

import contextlib
import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

FORBIDDEN = (
    "override",
    "force",
    "case_id",
    "confirmation_token",
    "confirm_token",
    "nonce",
    "confirm",
    "confirmed",
    "approved",
    "approve",
    "executed",
    "execute",
    "bypass",
    "skip_approval",
    "auto_approve",
    "supervision_floor",
    "user_id",
    "key_id",
)
# Letters of other scripts that look like Latin ones.
_LOOKALIKES = str.maketrans(
    {
        "\u0430": "a",
        "\u0435": "e",
        "\u043e": "o",
        "\u0440": "p",
        "\u0441": "c",
        "\u0443": "y",
        "\u0445": "x",
        "\u0455": "s",
        "\u0456": "i",
        "\u0458": "j",
        "\u0501": "d",
        "\u04bb": "h",
        "\u051b": "q",
        "\u051d": "w",
        "\u0578": "n",
        "\u057d": "u",
        "\u0581": "g",
        "\u0585": "o",
        "\u0261": "g",
        "\u03bf": "o",
        "\u03b1": "a",
        "\u03bd": "v",
        "\u03ba": "k",
        "\u03c1": "p",
        "\u03c4": "t",
        "\u03c5": "u",
        "\u03c7": "x",
        "\u03b9": "i",
        "\u03b5": "e",
        "\u03f2": "c",
        "\u04cf": "l",
        "\u0131": "i",
        "\u0251": "a",
        "\u0493": "f",
        "\u0433": "r",
        "\u0442": "t",
        "\u043c": "m",
        "\u043d": "h",
        "\u0432": "b",
        "\u043a": "k",
        "\u043f": "n",
        "\ua731": "s",
        "\u0280": "r",
        "\u1d0f": "o",
        "\u1d07": "e",
    }
)
_NOT_LETTERS = re.compile(r"[^a-z0-9]+")
_QUOTED = re.compile(r'["\']\s*([^"\'\n]{2,80}?)\s*["\']\s*:')


def skeleton(name: str) -> str:
    """A name without case, width, accents, invisible characters, look-alikes and punctuation."""
    decomposed = unicodedata.normalize("NFKD", name)
    bare = "".join(c for c in decomposed if unicodedata.category(c)[0] not in "MC").casefold()
    return _NOT_LETTERS.sub("", unicodedata.normalize("NFKD", bare.translate(_LOOKALIKES)))


_SKELETONS = {skeleton(name): name for name in FORBIDDEN}


def forbidden(name: str) -> bool:
    """Whether a name is one of them in disguise."""
    return skeleton(name) in _SKELETONS


def named_in_text(text: str) -> str | None:
    """The first forbidden name that a text holds as a key of JSON, or None."""
    if ":" not in text:
        return None
    for found in _QUOTED.finditer(text):
        name = found[1]
        with contextlib.suppress(ValueError):
            name = str(json.loads(f'"{name}"'))
        if forbidden(name):
            return found[1]
    return None


def found_in(tree: Any, path: str = "") -> Iterator[str]:
    """Paths of forbidden names at any depth."""
    if isinstance(tree, dict):
        for name, value in tree.items():
            here = f"{path}.{name}" if path else str(name)
            if forbidden(str(name)):
                yield here
            yield from found_in(value, here)
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from found_in(value, f"{path}[{index}]")


def without(tree: Any) -> Any:
    """The tree without forbidden names."""
    if isinstance(tree, dict):
        return {name: without(value) for name, value in tree.items() if not forbidden(str(name))}
    return [without(value) for value in tree] if isinstance(tree, list) else tree
