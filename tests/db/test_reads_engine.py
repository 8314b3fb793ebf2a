"""The engine: start-up checks, pages, row security, and every case of every tool."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from kit.errors import Refusal
from services.reads.binding import Mismatch
from tests.cluster import Loaded
from tests.db.reads_world import TOOLBOX, main_items, reads
from tests.db.test_reads_status import change
from tests.db.test_reads_unreadable import PER_MATTER, arguments

PAGED = [n for n, card in TOOLBOX.cards.items() if "next_page_token" in card.tool.response.fields_by_name]


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("ALTER TABLE record.exhibits RENAME COLUMN description TO descripcion", "description"),
        ("ALTER TABLE record.exhibits ALTER COLUMN volume TYPE int USING NULL", "volume"),
        ("ALTER TABLE record.matters RENAME COLUMN judge TO presiding", "judge"),
    ],
)
async def test_a_changed_column_stops_the_start_and_is_named(own_loaded: Loaded, statement: str, named: str) -> None:
    await change(own_loaded.database, statement)
    with pytest.raises(Exception, match=named) as stopped:
        async with reads(own_loaded.database, whole=True):
            raise AssertionError("started")
    assert isinstance(stopped.value, Mismatch) or "operator" in str(stopped.value)


@pytest.mark.parametrize("tool", PAGED)
@pytest.mark.parametrize("matter", ["mclean", "soilworks"])
async def test_walking_the_pages_gives_every_row_once_and_in_order(loaded: Loaded, tool: str, matter: str) -> None:
    case_id = loaded.matters[matter]
    named = arguments(tool, case_id) if TOOLBOX.cards[tool].tool.names_case else {}
    async with reads(loaded.database, *loaded.matters.values()) as ask:
        whole = await ask(tool, **named, page_size=200)
        walked: list[dict[str, Any]] = []
        token: str | None = ""
        total = whole["total_count"]
        while token is not None:
            page = await ask(tool, **named, page_size=3, **({"page_token": token} if token else {}))
            walked += main_items(tool, page)
            token = page["next_page_token"]
            assert page["total_count"] == total
    assert whole["next_page_token"] is None
    assert walked == main_items(tool, whole)
    assert len(walked) == total


async def test_a_page_token_of_another_question_is_refused_by_name(loaded: Loaded) -> None:
    case_id = loaded.matters["soilworks"]
    async with reads(loaded.database, case_id) as ask:
        page = await ask("list_docket_entries", case_id=case_id, page_size=3)
        with pytest.raises(Refusal, match="page_token"):
            await ask("list_deadlines", case_id=case_id, page_token=page["next_page_token"])


@pytest.mark.parametrize("tool", sorted(PER_MATTER))
async def test_row_security_shows_nothing_of_a_matter_that_the_call_may_not_touch(loaded: Loaded, tool: str) -> None:
    """Even a service that lost its authority check would have nothing to show."""
    mclean, soilworks = loaded.matters["mclean"], loaded.matters["soilworks"]
    for reached in ((), (soilworks,)):
        async with reads(loaded.database, *reached) as ask:
            answer = await ask(tool, **arguments(tool, mclean))
        assert (answer["read_state"], main_items(tool, answer)) == ("empty", [])


async def test_list_matters_shows_the_reachable_ones_only(loaded: Loaded) -> None:
    async with reads(loaded.database, loaded.matters["mata"], str(uuid.uuid4())) as ask:
        answer = await ask("list_matters")
    assert [m["case_id"] for m in answer["matters"]] == [loaded.matters["mata"]]


CASES = [
    (path.stem, case)
    for path in sorted((Path(__file__).parent / "cases").glob("*.json"))
    for case in json.loads(path.read_text("utf-8"))["cases"]
]


def test_every_tool_has_a_case() -> None:
    assert {name for name, _ in CASES} == set(TOOLBOX.cards)
