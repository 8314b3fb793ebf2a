"""What a client that was refused, or has no key yet, is told: the challenge and the protected-resource metadata (RFC 9728)."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from edge import identity
from edge.http import Header

METADATA_PATH = "/.well-known/oauth-protected-resource"
ENDPOINT = "/mcp"


class Authorization:
    """Made once, from the public address and the scopes that the tools declare."""

    def __init__(self, public_url: str, scopes: Iterable[str], servers: Iterable[str]) -> None:
        listed = sorted(set(scopes))
        base = public_url.rstrip("/")
        metadata = {
            "resource": base + ENDPOINT,
            "authorization_servers": list(servers),
            "scopes_supported": listed,
            "bearer_methods_supported": ["header"],
            "resource_name": identity.TITLE,
        }
        # Keys are handed out by the firm. Without an authorization server none is named, rather than one that does not answer.
        self.metadata = orjson.dumps({name: value for name, value in metadata.items() if value})
        self._challenge = f'Bearer resource_metadata="{base}{METADATA_PATH}{ENDPOINT}", scope="{" ".join(listed)}"'

    def challenge(self, *, presented: bool) -> Header:
        """The WWW-Authenticate header; whoever sent something is told that it is not good."""
        error = ', error="invalid_token"' if presented else ""
        return (b"www-authenticate", (self._challenge + error).encode("ascii"))
