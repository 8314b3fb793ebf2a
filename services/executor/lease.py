"""Claims: who holds an execution, which fence it is behind, and what the rows that an execution makes are called. No IO."""

from __future__ import annotations

import os
import socket
import uuid
from dataclasses import dataclass

URN = "urn:substrate:ledger:decision:"


class Fenced(Exception):
    """Somebody else holds the execution now, or the lease ran out: nothing more may be done under this claim."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One hold on one execution. The fence rises with every claim, so that an earlier holder can do nothing any more."""

    proposal_id: uuid.UUID
    owner: str
    fence: int
    attempt: int


def owner_name(token: str) -> str:
    """What an executor calls itself: never the same twice, so that a restarted one is not mistaken for the one before it."""
    return f"{socket.gethostname()}:{os.getpid()}:{token}"


def row_id(proposal_id: uuid.UUID, part: str = "") -> uuid.UUID:
    """The id of a row that carrying out a proposal makes: always the same, so that a second try cannot make a second row."""
    return uuid.uuid5(proposal_id, part)


def urn(proposal_id: uuid.UUID) -> str:
    """What the provenance of such a row is called."""
    return f"{URN}{proposal_id}"


def recorded_by(proposal_id: uuid.UUID) -> str:
    """Who wrote such a row."""
    return f"decision:{proposal_id}"
