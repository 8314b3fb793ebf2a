"""The maker of attestations: weakest link, counts, oldest as_of, totals and notes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from substrate.common.v1 import attestation_pb2 as pb
from substrate.reads.v1 import claims_pb2, matters_pb2

from kit import attestation, limits
from kit.attestation import Basis, Item

NOW = datetime(2026, 7, 26, 17, 15, 32, 186000, tzinfo=UTC)
OLD = datetime(1982, 1, 5, tzinfo=UTC)
UNKNOWN, UNGROUNDED, GROUNDED, VERIFIED = 1, 2, 3, 4


def basis(**changes: Any) -> Basis:
    return Basis(**{"case_id": None, "generated_at": NOW, "method": "Looked.", **changes})


def item(status: int, *ids: str, as_of: datetime | None = OLD) -> Item:
    return Item(matters_pb2.Matter(provenance_ids=ids or ["urn:a"], verification_status=status), as_of)  # type: ignore[arg-type]


def test_the_answer_has_the_status_of_its_weakest_item_and_counts_beside_it() -> None:
    made = attestation.make([item(GROUNDED)] * 496 + [item(UNGROUNDED)] * 43, basis())
    counts = made.verification.counts
    assert made.verification_status == UNGROUNDED
    assert (counts.unknown, counts.ungrounded, counts.grounded, counts.verified) == (0, 43, 496, 0)


@given(st.lists(st.integers(0, 3), max_size=40))
def test_the_roll_up_is_the_minimum_and_the_counts_add_up(statuses: list[int]) -> None:
    made = attestation.make([item(s) for s in statuses], basis())
    counts = made.verification.counts
    assert made.verification_status == max(UNKNOWN, min(statuses, default=UNKNOWN))
    assert counts.unknown + counts.ungrounded + counts.grounded + counts.verified == len(statuses)


def test_a_grounded_item_that_cites_nothing_is_ungrounded() -> None:
    bare = Item(matters_pb2.Matter(verification_status=pb.VERIFICATION_STATUS_GROUNDED), OLD)
    assert attestation.make([bare], basis()).verification_status == UNGROUNDED


def test_nothing_is_ever_verified() -> None:
    with pytest.raises(ValueError, match="verified"):
        attestation.make([item(VERIFIED)], basis())
    with pytest.raises(KeyError):
        attestation.status_from_word("verified")


def test_a_weak_nested_item_pulls_down_the_item_that_holds_it_and_the_answer() -> None:
    claim = claims_pb2.Claim(provenance_ids=["urn:c"], verification_status=pb.VERIFICATION_STATUS_GROUNDED)
    claim.elements.add(provenance_ids=["urn:e"], verification_status=pb.VERIFICATION_STATUS_UNGROUNDED)
    made = attestation.make([Item(claim, OLD)], basis())
    assert (claim.verification_status, made.verification_status) == (UNGROUNDED, UNGROUNDED)
    assert list(made.provenance_ids) == ["urn:c", "urn:e"]


def test_ids_are_listed_once_up_to_the_limit_and_counted_in_full() -> None:
    ids = [f"urn:{n}" for n in range(599)]
    made = attestation.make([item(GROUNDED, *ids), item(GROUNDED, "urn:0")], basis())
    assert len(made.provenance_ids) == limits.PROVENANCE_IDS_LISTED_MAX
    assert made.provenance_id_count == 599
    assert any("200 of 599" in note for note in made.verification.notes)


def test_as_of_is_the_oldest_row_and_never_the_time_of_the_answer() -> None:
    made = attestation.make([item(GROUNDED, as_of=OLD), item(GROUNDED, as_of=OLD + timedelta(days=9))], basis())
    assert made.as_of.ToDatetime(tzinfo=UTC) == OLD
    assert made.generated_at.ToDatetime(tzinfo=UTC) == NOW


def test_one_row_without_a_date_leaves_as_of_null_with_a_note() -> None:
    made = attestation.make([item(GROUNDED), item(GROUNDED, as_of=None)], basis())
    assert not made.HasField("as_of")
    assert any("1 of 2 rows" in note for note in made.verification.notes)


def test_an_empty_answer_is_unknown_and_says_that_absence_is_not_proven() -> None:
    made = attestation.make([], basis(store_as_of=OLD))
    assert made.verification_status == UNKNOWN
    assert attestation.EMPTY_NOTE in made.verification.notes
    assert made.as_of.ToDatetime(tzinfo=UTC) == OLD


def test_an_unreadable_answer_is_unknown_and_does_not_call_itself_empty() -> None:
    made = attestation.make([], basis(unchecked=True, notes=["The store could not be reached."]))
    assert made.verification_status == UNKNOWN
    assert list(made.verification.notes) == ["The store could not be reached."]
    assert not made.HasField("as_of")


def test_where_the_check_could_not_run_every_item_is_unknown() -> None:
    shown = item(GROUNDED)
    made = attestation.make([shown], basis(unchecked=True))
    assert made.verification_status == UNKNOWN
    assert made.verification.counts.unknown == 1
    assert shown.message.verification_status == UNKNOWN  # type: ignore[attr-defined]


def test_notes_stand_once_and_are_bounded_with_the_rest_counted() -> None:
    made = attestation.make([item(GROUNDED)], basis(notes=["same", "same", *[f"n{i}" for i in range(100)]]))
    assert len(made.verification.notes) == limits.NOTES_MAX
    assert list(made.verification.notes).count("same") == 1
    assert made.verification.notes[-1] == "52 more notes are not shown."
