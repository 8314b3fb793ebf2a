"""Which era of the protocol a request belongs to: the handshake with sessions, or the stateless form of 2026. Both share one endpoint."""

from __future__ import annotations

from enum import Enum
from typing import Any

MODERN_VERSIONS = ("2026-07-28",)
LEGACY_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26")
SUPPORTED_VERSIONS = MODERN_VERSIONS + LEGACY_VERSIONS
VERSION_META = "io.modelcontextprotocol/protocolVersion"

# Never served here, yet no sign of the modern era when a body names it.
_OF_THE_HANDSHAKE = frozenset({*LEGACY_VERSIONS, "2024-11-05"})
_MODERN_METHODS = frozenset({"server/discover", "subscriptions/listen", "tasks/update"})


class Era(Enum):
    """The two forms of the protocol."""

    LEGACY = "legacy"
    MODERN = "modern"


class UnsupportedVersion(Exception):
    """The header names a revision that is served in neither era."""

    def __init__(self, requested: str) -> None:
        super().__init__(requested)
        self.requested = requested


def of_body(header: str | None, body: Any) -> Era:
    """The era of a posted message. The body is the truth; the header only decides where the body says nothing."""
    if header in MODERN_VERSIONS:
        return Era.MODERN
    named = _named(body)
    if named is not None and not (isinstance(named, str) and named in _OF_THE_HANDSHAKE):
        return Era.MODERN
    method = body.get("method") if isinstance(body, dict) else None
    if isinstance(method, str) and method in _MODERN_METHODS:
        return Era.MODERN
    if header is not None and header not in LEGACY_VERSIONS:
        raise UnsupportedVersion(header)
    return Era.LEGACY


def of_header(header: str | None) -> Era:
    """The era of a request without a body (GET, DELETE)."""
    if header in MODERN_VERSIONS:
        return Era.MODERN
    if header is not None and header not in LEGACY_VERSIONS:
        raise UnsupportedVersion(header)
    return Era.LEGACY


def _named(body: Any) -> Any:
    """The revision that the body names for itself."""
    for key in ("params", "_meta", VERSION_META):
        if not isinstance(body, dict):
            return None
        body = body.get(key)
    return body


def negotiate(asked: str) -> str:
    """The revision that an initialize gets: the one it asked for, or the newest that has a handshake."""
    return asked if asked in LEGACY_VERSIONS else LEGACY_VERSIONS[0]
