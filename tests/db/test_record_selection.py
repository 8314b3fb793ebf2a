"""What an answer leaves out, or could not read, is counted within what was asked for, and said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cluster import Loaded
from tests.db.reads_world import reads
from tests.db.record_world import seen_by


def left_out(answer: dict[str, Any]) -> list[str]:
    """The notes that count what was left out."""
    return [n for n in answer["verification"]["notes"] if "left out" in n]


@pytest.mark.parametrize(
    ("asked", "many"),
    [
        ({}, 2),
        ({"fact": "F901"}, 1),
        ({"fact": "F001"}, 0),
        ({"element": "E-PURPOSE"}, 2),
        ({"element": "E-EFFECT"}, 0),
        ({"posture": "found_by_court"}, 1),
        ({"undisputed_only": True}, 0),
        ({"words": "March 18"}, 1),
        ({"words": "no fact says this"}, 0),
        ({"include_retired": True}, 0),
    ],
)
async def test_facts_left_out_are_counted_within_the_selection(loaded: Loaded, asked: dict[str, Any], many: int) -> None:
    async with reads(loaded.database, loaded.matters["mclean"]) as ask:
        answer = await ask("get_fact_record", case_id=loaded.matters["mclean"], **asked)
    assert left_out(answer) == ([f"Retired or merged facts left out: {many}. include_retired shows them."] if many else [])


@pytest.mark.parametrize(
    ("asked", "many"),
    [
        ({}, 6),
        ({"words": "Jury trial"}, 2),
        ({"words": "no deadline says this"}, 0),
        ({"due_from": "2030-01-01"}, 0),
        ({"due_to": "2000-01-01"}, 0),
        ({"status": "held"}, 0),
        ({"include_superseded": True}, 0),
    ],
)
async def test_deadlines_left_out_are_counted_within_the_selection(loaded: Loaded, asked: dict[str, Any], many: int) -> None:
    async with reads(loaded.database, loaded.matters["soilworks"]) as ask:
        answer = await ask("list_deadlines", case_id=loaded.matters["soilworks"], **asked)
    assert left_out(answer) == ([f"Superseded or vacated deadlines left out: {many}. include_superseded shows them."] if many else [])


async def test_the_quotes_behind_a_fact_that_no_longer_counts_say_so(loaded: Loaded) -> None:
    case_id = loaded.matters["mclean"]
    async with reads(loaded.database, case_id) as ask:
        retired = await ask("get_fact_provenance", case_id=case_id, fact="F901")
        merged = await ask("get_fact_provenance", case_id=case_id, fact="F902")
        live = await ask("get_fact_provenance", case_id=case_id, fact="F005")
    told = {a["assertions"][0]["fact_code"]: "\n".join(a["verification"]["notes"]) for a in (retired, merged, live)}
    assert "F901: this fact was retired on 2026-11-02 and no longer counts." in told["F901"]
    assert "F902: this fact was merged into F005 and no longer counts by itself." in told["F902"]
    assert "no longer counts" not in told["F005"]


async def test_where_retirement_is_not_recorded_the_quotes_behind_a_fact_are_shown_as_unknown(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mclean"]
    async with seen_by(own_loaded.database, "substrate_owner") as owner:
        await owner.execute("ALTER TABLE record.case_fact_records DROP COLUMN retired_at CASCADE, DROP COLUMN merged_into CASCADE")
    async with reads(own_loaded.database, case_id) as ask:
        answer = await ask("get_fact_provenance", case_id=case_id, fact="F901")
    assert (answer["count"], answer["verification_status"]) == (1, "unknown")
    assert any("live distinction is unavailable" in n for n in answer["verification"]["notes"])


MALFORMED: list[Any] = [
    "page 2",
    None,
    {},
    {"page_from": "two", "side": "plaintiffs", "kind": "affirmative"},
    {"page_from": 2.5, "side": "plaintiffs", "kind": "affirmative"},
    {"page_from": 99999999999, "side": "plaintiffs", "kind": "affirmative"},
    {"page_from": 3, "page_to": 2, "side": "plaintiffs", "kind": "affirmative"},
    {"page_from": 2, "line_from": "a", "side": "plaintiffs", "kind": "affirmative"},
    {"page_from": 2, "side": "nobody", "kind": "affirmative"},
    {"page_from": 2, "side": "plaintiffs"},
]


@pytest.mark.parametrize("entry", MALFORMED, ids=json.dumps)
async def test_a_malformed_sidecar_entry_is_told_and_hides_none_of_the_others(own_loaded: Loaded, entry: Any) -> None:
    case_id = own_loaded.matters["mclean"]
    good = {"page_from": 2, "page_to": 3, "side": "plaintiffs", "kind": "affirmative", "opening_words": "Senator, you know who I am"}
    told = "Holsted Dep.: 1 of 2 entries of the older sidecar could not be read and are not shown."
    async with seen_by(own_loaded.database, "substrate_loader") as loader, reads(own_loaded.database, case_id) as ask:
        await loader.execute(
            "UPDATE record.transcripts SET legacy_designations = $1::jsonb WHERE witness = 'James L. Holsted'", json.dumps([entry, good])
        )
        answer = await ask("get_deposition_designations", case_id=case_id)
        assert (answer["count"], told in answer["verification"]["notes"]) == (5, True)
        other = await ask("get_deposition_designations", case_id=case_id, deponent="Dalrymple")
        assert (other["count"], told in other["verification"]["notes"]) == (4, False)
        await loader.execute(
            "UPDATE record.transcripts SET legacy_designations = $1::jsonb WHERE witness = 'James L. Holsted'", json.dumps([entry])
        )
        alone = await ask("get_deposition_designations", case_id=case_id, deponent="Holsted")
        assert alone["read_state"] == "empty"
        assert "Holsted Dep.: 1 of 1 entries of the older sidecar could not be read and are not shown." in alone["verification"]["notes"]
