"""Tasks as clients see them: one shape an era, and the stored result with the one word that a task adds to it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import orjson

from edge.task_status import TERMINAL, status

EXTENSION = "io.modelcontextprotocol/tasks"
RELATED = "io.modelcontextprotocol/related-task"
_STRING_OR_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]')
_COLON = re.compile(rb"\s*:\s*\{\s*")
_EMPTY = re.compile(rb"\s*\}\s*")


@dataclass(frozen=True, slots=True)
class Task:
    """One task, as the service that keeps it tells it."""

    id: str
    run_status: str
    is_error: bool
    message: str
    created_at: str
    updated_at: str
    ttl_ms: int | None
    poll_ms: int | None

    def status(self, *, modern: bool) -> str:
        """Its status in an era."""
        return status(self.run_status, is_error=self.is_error, modern=modern)

    @property
    def terminal(self) -> bool:
        """Whether nothing about it will change any more; the eras agree on that."""
        return self.status(modern=True) in TERMINAL

    def of_sessions(self) -> dict[str, Any]:
        """As 2025-11-25 has it."""
        return self._shown(modern=False, ttl="ttl", poll="pollInterval")

    def of_extension(self) -> dict[str, Any]:
        """As the extension has it."""
        return self._shown(modern=True, ttl="ttlMs", poll="pollIntervalMs")

    def _shown(self, *, modern: bool, ttl: str, poll: str) -> dict[str, Any]:
        shown: dict[str, Any] = {"taskId": self.id, "status": self.status(modern=modern)}
        if self.message:
            shown["statusMessage"] = self.message
        shown |= {"createdAt": self.created_at, "lastUpdatedAt": self.updated_at, ttl: self.ttl_ms}
        return shown if self.poll_ms is None else shown | {poll: self.poll_ms}


def related(task_id: str) -> dict[str, Any]:
    """The metadata by which a message says whose task it belongs to."""
    return {RELATED: {"taskId": task_id}}


def with_related(result: bytes, task_id: str) -> bytes:
    """A stored result as the answer to tasks/result: its own bytes, with this metadata put in and nothing else touched."""
    member = orjson.dumps(related(task_id))[1:-1]
    at = _meta_of(result)
    if at is None:
        return _with_last(result, b'"_meta":{' + member + b"}")
    return result[:at] + member + (b"" if result[at : at + 1] == b"}" else b",") + result[at:]


def as_complete(result: bytes) -> bytes:
    """A stored result inside a task of the stateless era, where every result names its kind."""
    body = result.lstrip()[1:]
    return b'{"resultType":"complete"' + (b"" if _EMPTY.fullmatch(body) else b",") + body


def _with_last(result: bytes, member: bytes) -> bytes:
    body = result.rstrip()[:-1]
    return body + (b"" if body.strip() == b"{" else b",") + member + b"}"


def _meta_of(result: bytes) -> int | None:
    """Where the members of the result's own _meta begin; None where it has none. What only looks like one is in a string or deeper."""
    if b'"_meta"' not in result:
        return None
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(result):
        word = token[0]
        if word in (b"{", b"["):
            depth += 1
        elif word in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and word == b'"_meta"' and (opened := _COLON.match(result, token.end())):
            return opened.end()
    return None
