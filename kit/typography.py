"""How two texts are compared: the same letters, whatever the typesetter did. The twin, in Python, of record.normalize and its kin."""

import re
import unicodedata

_INVISIBLE = re.compile("[\u200b\u200c\u200d\u2060\ufeff]")
_BROKEN_WORD = re.compile("([A-Za-z])[-\u00ad\u2010][ \t]*(?:\r\n|\r|\n)[ \t]*(?=[a-z])")
_BROKEN_COMPOUND = re.compile("([A-Za-z0-9])[-\u2010][ \t]*(?:\r\n|\r|\n)[ \t]*(?=[A-Za-z0-9])")
_SPACES = re.compile("[ \t\n\v\f\r\u0085\u1680\u2028\u2029]+")
_LETTER = re.compile("[A-Za-z0-9]")
_STRAIGHT = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc`", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
        **dict.fromkeys("\u2010\u2012\u2013\u2014\u2015\u2212", "-"),
        "\u00ad": None,
    }
)


def _folded(value: str, broken: re.Pattern[str], joined: str) -> str:
    text = broken.sub(joined, _INVISIBLE.sub("", unicodedata.normalize("NFKC", value)))
    return _SPACES.sub(" ", text.translate(_STRAIGHT)).strip(" ")


def normalize(value: str) -> str:
    """The same letters, whatever the typesetter did; a hyphen at a line end before a small letter is the typesetter's."""
    return _folded(value, _BROKEN_WORD, r"\1")


def normalize_hyphenated(value: str) -> str:
    """The same, but a hyphen at a line end belongs to the word."""
    return _folded(value, _BROKEN_COMPOUND, r"\1-")


def occurs(words: str, whole: str) -> bool:
    """Whether words occur in a text as whole words."""
    if not words:
        return False
    opens, closes = bool(_LETTER.match(words[0])), bool(_LETTER.match(words[-1]))
    at = whole.find(words)
    while at >= 0:
        end = at + len(words)
        inside = (opens and at > 0 and _LETTER.match(whole[at - 1])) or (closes and end < len(whole) and _LETTER.match(whole[end]))
        if not inside:
            return True
        at = whole.find(words, at + 1)
    return False


def stands_in(quote: str, whole: str) -> bool:
    """Whether a quote stands in a text, as it is or after both are normalized."""
    return (
        occurs(quote, whole)
        or occurs(normalize(quote), normalize(whole))
        or occurs(normalize_hyphenated(quote), normalize_hyphenated(whole))
    )
