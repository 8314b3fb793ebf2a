"""The one maker of attestations: weakest link, counts, oldest as_of, true totals and notes, all computed from the items of an answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from substrate.common.v1 import attestation_pb2 as pb

from kit import limits

SCHEMA_VERSION = "1.0"
Status = pb.VerificationStatus
EMPTY_NOTE = "No rows: nothing was checked, and an empty answer is not proof of absence."
_WORDS = {
    "unknown": pb.VERIFICATION_STATUS_UNKNOWN,
    "ungrounded": pb.VERIFICATION_STATUS_UNGROUNDED,
    "grounded": pb.VERIFICATION_STATUS_GROUNDED,
}


@dataclass(frozen=True, slots=True)
class Item:
    """One item of an answer and when its data was true."""

    message: Message
    as_of: datetime | None


@dataclass(frozen=True, slots=True)
class Basis:
    """What is known of an answer besides its items."""

    case_id: str | None
    generated_at: datetime
    method: str
    notes: Sequence[str] = ()
    # When an answer has no items: the last refresh of the store that was read, where one is known.
    store_as_of: datetime | None = None
    # Set when the store, or what the check needs, could not be read: nothing then counts as checked.
    unchecked: bool = False


def status_from_word(word: str) -> Status.ValueType:
    """A status as a statement of ours returns it. 'verified' is reserved, so it is no word here."""
    return _WORDS[word]


@cache
def _nested(message: Descriptor) -> tuple[tuple[str, bool], ...]:
    """Fields that hold items of their own, and whether each holds several; worked out once a message type."""
    found = [f for f in message.fields if f.message_type is not None and "verification_status" in f.message_type.fields_by_name]
    return tuple((f.name, f.is_repeated) for f in found)


def _children(message: Any) -> Iterator[Any]:
    """Nested items: messages that carry a status of their own."""
    for name, several in _nested(message.DESCRIPTOR):
        if several:
            yield from getattr(message, name)
        elif message.HasField(name):
            yield getattr(message, name)


def settle(message: Any, *, unchecked: bool = False) -> Status.ValueType:
    """Lowers an item to the weakest of itself and what is nested in it, and returns that."""
    said = message.verification_status
    status = said or pb.VERIFICATION_STATUS_UNKNOWN
    if status > pb.VERIFICATION_STATUS_GROUNDED:
        raise ValueError("no answer of this system is verified")
    if status == pb.VERIFICATION_STATUS_GROUNDED and not message.provenance_ids:
        status = pb.VERIFICATION_STATUS_UNGROUNDED
    for child in _children(message):
        status = min(status, settle(child, unchecked=unchecked))
    if unchecked:
        status = pb.VERIFICATION_STATUS_UNKNOWN
    if status != said:
        message.verification_status = status
    return Status.ValueType(status)


def _ids(messages: Iterable[Any], into: list[str]) -> list[str]:
    """Provenance ids of items and of what is nested in them, in order."""
    for message in messages:
        into.extend(message.provenance_ids)
        if _nested(message.DESCRIPTOR):
            _ids(_children(message), into)
    return into


def _as_of(items: Sequence[Item], basis: Basis, notes: list[str]) -> datetime | None:
    """The oldest of the rows; unknown for one row is unknown for the answer."""
    if not items:
        if basis.store_as_of is None:
            notes.append("When this store was last refreshed is not known, so as_of is null.")
        return basis.store_as_of
    known = [item.as_of for item in items if item.as_of is not None]
    if len(known) < len(items):
        notes.append(f"as_of is null: it is not known for {len(items) - len(known)} of {len(items)} rows.")
        return None
    return min(known)


def _bounded(notes: Iterable[str]) -> list[str]:
    """Each note once, and no more than the limit; what is left out is counted."""
    once = list(dict.fromkeys(note for note in notes if note))
    if len(once) <= limits.NOTES_MAX:
        return once
    kept = once[: limits.NOTES_MAX - 1]
    return [*kept, f"{len(once) - len(kept)} more notes are not shown."]


def make(items: Sequence[Item], basis: Basis) -> pb.Attestation:
    """The attestation of an answer with these items. Nothing else makes one."""
    statuses = [settle(item.message, unchecked=basis.unchecked) for item in items]
    ids = list(dict.fromkeys(_ids((item.message for item in items), [])))
    notes = list(basis.notes)
    if not items and not basis.unchecked:
        notes.append(EMPTY_NOTE)
    if len(ids) > limits.PROVENANCE_IDS_LISTED_MAX:
        notes.append(f"provenance_ids lists {limits.PROVENANCE_IDS_LISTED_MAX} of {len(ids)} rows.")
    as_of = None if basis.unchecked and not items else _as_of(items, basis, notes)
    made = pb.Attestation(
        schema_version=SCHEMA_VERSION,
        case_id=basis.case_id,
        provenance_ids=ids[: limits.PROVENANCE_IDS_LISTED_MAX],
        provenance_id_count=len(ids),
        verification_status=min(statuses, default=pb.VERIFICATION_STATUS_UNKNOWN),
        verification=pb.Verification(
            method=basis.method,
            counts=pb.VerificationCounts(
                unknown=statuses.count(pb.VERIFICATION_STATUS_UNKNOWN),
                ungrounded=statuses.count(pb.VERIFICATION_STATUS_UNGROUNDED),
                grounded=statuses.count(pb.VERIFICATION_STATUS_GROUNDED),
                verified=statuses.count(pb.VERIFICATION_STATUS_VERIFIED),
            ),
            notes=_bounded(notes),
        ),
    )
    made.generated_at.FromDatetime(basis.generated_at)
    if as_of is not None:
        made.as_of.FromDatetime(as_of)
    return made
