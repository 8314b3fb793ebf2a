"""Makes characters that a reader cannot see, or that reorder what stands around them, visible."""

from __future__ import annotations

import unicodedata

# Format (bidirectional controls, zero-width joiners, tags), control, private use, unassigned, line and paragraph separators.
_HIDDEN = frozenset({"Cf", "Cc", "Co", "Cn", "Cs", "Zl", "Zp"})
_PLAIN = frozenset("\n\t")
# Blank but not a space: Hangul fillers, Braille blank, and spaces that only look like one.
_BLANKS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u00ad\u034f\u180e")


def hidden(character: str) -> bool:
    """Whether a character would not be seen for what it is."""
    if character in _PLAIN or character == " ":
        return False
    if character in _BLANKS or unicodedata.category(character) in _HIDDEN:
        return True
    return unicodedata.category(character) == "Zs" or 0xFE00 <= ord(character) <= 0xFE0F or 0xE0100 <= ord(character) <= 0xE01EF


def visible(text: str) -> str:
    """The text with each such character written as its code point in marks, e.g. \u27e8U+202E\u27e9."""
    return "".join(f"\u27e8U+{ord(c):04X}\u27e9" if hidden(c) else c for c in text)
