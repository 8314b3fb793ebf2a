"""Statuses of runs in the words of MCP: the one place that maps them, and it knows no word but these."""

from __future__ import annotations

WORKING, INPUT_REQUIRED, COMPLETED, FAILED, CANCELLED = "working", "input_required", "completed", "failed", "cancelled"
TERMINAL = frozenset({COMPLETED, FAILED, CANCELLED})

_OF_RUN = {
    "PENDING": WORKING,
    "QUEUED": WORKING,
    "RUNNING": WORKING,
    "AWAITING_INPUT": INPUT_REQUIRED,
    "DONE": COMPLETED,
    "FAILED": FAILED,
    "ABORTED": FAILED,  # the work broke off; nobody took it back
    "DENIED": CANCELLED,  # the key that began it took it back; nothing broke
}


class UnknownStatus(Exception):
    """A run has a status that means nothing to MCP. To guess would be to say that work is done, or that it is not."""


def status(word: str, *, is_error: bool, modern: bool) -> str:
    """What a client is told of a run. The eras differ in one thing: a result that is an error failed in the handshake era only."""
    found = _OF_RUN.get(word)
    if found is None:
        raise UnknownStatus(word)
    return FAILED if found == COMPLETED and is_error and not modern else found
