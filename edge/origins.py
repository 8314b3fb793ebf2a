"""Which hosts this server answers to and which pages may call it, so that a page of another site cannot (DNS rebinding)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?")


class Origins:
    """The two lists of the configuration, ready to be asked."""

    def __init__(self, hosts: Iterable[str], origins: Iterable[str], public_url: str) -> None:
        self._hosts = {h.lower() for h in hosts} | {urlsplit(public_url).netloc.lower()}
        self._origins = {o.lower().rstrip("/") for o in origins}

    def host_allowed(self, hosts: Sequence[str]) -> bool:
        """Exactly one Host, and one that is listed: with its port, or without one for any port."""
        if len(hosts) != 1:
            return False
        host = hosts[0].strip().lower()
        found = _HOST.fullmatch(host)
        return found is not None and (host in self._hosts or found[1] in self._hosts)

    def origin_allowed(self, origins: Sequence[str], hosts: Sequence[str]) -> bool:
        """No Origin, one that is listed, or our own: the page came from the host that was just checked."""
        if not origins:
            return True
        if len(origins) != 1:
            return False
        origin = origins[0].strip().lower()
        own = hosts[0].strip().lower()
        return origin in self._origins or origin in (f"http://{own}", f"https://{own}")
