"""What a client says it sends and accepts: Content-Type, Content-Encoding, Accept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

JSON = "application/json"
SSE = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Accepts:
    """Which of the two forms of an answer the client takes."""

    json: bool
    sse: bool


ANYTHING = Accepts(json=True, sse=True)


@lru_cache(maxsize=128)  # clients send the same few headers again and again
def accepts(values: tuple[str, ...]) -> Accepts:
    """Reads the Accept headers. None at all means anything; a weight of 0 means not at all."""
    weights: dict[str, float] = {}
    for item in ",".join(values).split(","):
        name, *parameters = (part.strip().lower() for part in item.split(";"))
        if name:
            weights[name] = _weight(parameters)
    if not weights:
        return ANYTHING
    return Accepts(json=_taken(JSON, weights), sse=_taken(SSE, weights))


def _weight(parameters: Sequence[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


def _taken(kind: str, weights: dict[str, float]) -> bool:
    """The most specific range that covers the type decides."""
    for range_ in (kind, f"{kind.partition('/')[0]}/*", "*/*"):
        if range_ in weights:
            return weights[range_] > 0
    return False


@lru_cache(maxsize=128)
def is_json(content_types: tuple[str, ...], encodings: tuple[str, ...]) -> bool:
    """Whether a body is declared as plain JSON in UTF-8. A form or text/plain never is: a page of any site could send those."""
    if len(content_types) != 1 or any(e.strip().lower() not in ("", "identity") for e in encodings):
        return False
    kind, *parameters = (part.strip().lower() for part in content_types[0].split(";"))
    charsets = [p.partition("=")[2].strip().strip('"') for p in parameters if p.partition("=")[0].strip() == "charset"]
    return kind == JSON and all(c in ("utf-8", "utf8") for c in charsets)
