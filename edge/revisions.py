"""What each revision of the protocol can be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from edge import eras, identity
from kit import limits
from kit.results import answered

SERVER_INFO_META = "io.modelcontextprotocol/serverInfo"


@dataclass(frozen=True, slots=True)
class Revision:
    """The words that a revision knows."""

    version: str
    modern: bool = False
    structured: bool = True  # title, outputSchema, structuredContent: since 2025-06-18
    tasks: bool = False  # tasks that a client asks for, and execution.taskSupport: 2025-11-25 alone; the stateless era has an extension
    links: bool = False  # a request of the server to open a link: 2025-11-25 alone; the stateless era asks in its results
    resumes: bool = False  # events have ids, and an empty one may go first: 2025-11-25 alone
    batches: bool = False  # several messages a body: 2025-03-26 alone

    @property
    def server(self) -> dict[str, str]:
        """Who is speaking."""
        named = {"name": identity.NAME, "version": identity.VERSION}
        return named | ({"title": identity.TITLE} if self.structured else {})

    def result(self, value: dict[str, Any]) -> dict[str, Any]:
        """A result in this revision's envelope."""
        if not self.modern:
            return value
        return {"resultType": "complete"} | value | {"_meta": value.get("_meta", {}) | {SERVER_INFO_META: self.server}}

    def listed(self, value: dict[str, Any]) -> dict[str, Any]:
        """A result that may be kept for a while by the caller that asked, and by no one else."""
        hints = {"ttlMs": int(limits.LIST_TTL_SECONDS * 1000), "cacheScope": "private"} if self.modern else {}
        return self.result(value | hints)

    def called(self, data: bytes) -> dict[str, Any]:
        """A tool's answer, encoded once: as it is for programs, and as text for those that read only text."""
        return self.result(answered(data, structured=self.structured))


REVISIONS = {
    revision.version: revision
    for revision in (
        Revision("2026-07-28", modern=True),
        Revision("2025-11-25", tasks=True, links=True, resumes=True),
        Revision("2025-06-18"),
        Revision("2025-03-26", structured=False, batches=True),
    )
}
assert tuple(REVISIONS) == eras.SUPPORTED_VERSIONS
