"""Every read in turn with its store gone, locked or out of reach: null, unreadable and unknown, in plain words."""

from __future__ import annotations

import pytest

from kit import db, limits
from tests.cluster import Loaded
from tests.db.reads_world import reads
from tests.db.test_reads_status import change
from tests.db.test_reads_unreadable import PER_MATTER, arguments, assert_unreadable

TOOLS = sorted(PER_MATTER)
LOCK = """
SELECT format('LOCK TABLE record.%I IN ACCESS EXCLUSIVE MODE', relname)
  FROM pg_class WHERE relnamespace = 'record'::regnamespace AND relkind = 'r'
"""


async def test_a_table_that_is_not_there_is_unreadable_whatever_reads_it(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mclean"]
    async with reads(own_loaded.database, case_id) as ask:
        for tool in TOOLS:
            store = PER_MATTER[tool].one("store")
            await change(own_loaded.database, f"ALTER TABLE record.{store} RENAME TO {store}_elsewhere")
            answer = await ask(tool, **arguments(tool, case_id))
            await change(own_loaded.database, f"ALTER TABLE record.{store}_elsewhere RENAME TO {store}")
            assert_unreadable(tool, answer)
            assert any("not present in this installation" in n for n in answer["verification"]["notes"]), tool


async def test_a_store_that_does_not_answer_in_time_is_unreadable_whatever_reads_it(
    own_loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    case_id = own_loaded.matters["mclean"]
    async with reads(own_loaded.database, case_id):
        pass  # the statements are prepared once before anything is locked
    monkeypatch.setattr(limits, "STATEMENT_TIMEOUT_SECONDS", 0.3)
    blocker = await db.connect_one(own_loaded.database.admin_dsn)
    async with reads(own_loaded.database, case_id) as ask, blocker.transaction():
        for lock in await blocker.fetch(LOCK):
            await blocker.execute(lock[0])
        for tool in TOOLS:
            answer = await ask(tool, **arguments(tool, case_id))
            assert_unreadable(tool, answer)
            assert any("did not answer in time" in n for n in answer["verification"]["notes"]), tool
    await blocker.close()


async def test_a_database_that_is_gone_is_unreadable_whatever_reads_it(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mclean"]
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'svc_reads' AND datname = current_database()"
    async with reads(own_loaded.database, case_id) as ask:
        await change(own_loaded.database, "ALTER ROLE svc_reads NOLOGIN")
        try:
            for tool in TOOLS:
                await change(own_loaded.database, cut)
                assert_unreadable(tool, await ask(tool, **arguments(tool, case_id)))
        finally:
            await change(own_loaded.database, "ALTER ROLE svc_reads LOGIN")
