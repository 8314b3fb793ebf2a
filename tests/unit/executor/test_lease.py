"""What an execution's rows are called does not depend on who makes them or how often."""

from __future__ import annotations

import uuid

from services.executor import lease

PROPOSAL = uuid.UUID("d540de3e-3a51-4f1e-9d0b-0b2f6a1c2d3e")


def test_a_second_try_makes_the_same_row() -> None:
    assert lease.row_id(PROPOSAL) == lease.row_id(uuid.UUID(str(PROPOSAL)))


def test_two_proposals_and_two_parts_of_one_make_different_rows() -> None:
    made = [lease.row_id(p, part) for p in (PROPOSAL, uuid.uuid4()) for part in ("", "a", "b")]
    assert len(set(made)) == len(made)


def test_a_restarted_executor_is_somebody_else() -> None:
    assert lease.owner_name("one") != lease.owner_name("two")


def test_provenance_names_the_decision() -> None:
    assert lease.urn(PROPOSAL) == f"urn:substrate:ledger:decision:{PROPOSAL}"
