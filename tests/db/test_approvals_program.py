"""approvals as a process, on a raw socket, and over the demonstration matters."""

from __future__ import annotations

import asyncio
import signal
import sys
import uuid
from pathlib import Path

import httpx
import pytest

from kit import config, db, limits
from ops.layout import ROOT
from ops.process import python_environ
from services.approvals.store import Work
from tests.cluster import Database, Loaded
from tests.db.approvals_world import DEADLINE, People, World, opened, person_service
from tests.poll import until_async


async def test_the_program_serves_from_its_configuration_and_stops_when_told(database: Database, tmp_path: Path) -> None:
    async with person_service(People().methods(), tmp_path) as auth:
        (tmp_path / "decision.key").write_text("11" * 32, encoding="utf-8")
        ready, file = tmp_path / "ready", tmp_path / "approvals.toml"
        file.write_text(
            f'[http]\nlisten = "127.0.0.1:0"\nready_file = "{ready}"\n'
            f'[tls]\nca_file = "{tmp_path}/ca.pem"\ncert_file = "{tmp_path}/approvals.pem"\nkey_file = "{tmp_path}/approvals.key"\n'
            f'[database]\ndsn_file = "{database.dsn_file("svc_approvals")}"\n[auth]\naddress = "{auth}"\n'
            f'[decision]\nkey_file = "{tmp_path}/decision.key"\n',
            encoding="utf-8",
        )
        command = [sys.executable, "-m", "services.approvals", "--config", str(file)]
        process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env=python_environ(), stderr=asyncio.subprocess.PIPE)

        async def there() -> bool:
            return ready.exists()

        await until_async(there, "the program serves", 30)
        async with httpx.AsyncClient(base_url=f"http://{ready.read_text(encoding='utf-8')}") as client:
            assert (await client.get("/readyz")).text == "ready\n"
            assert "Sign in" in (await client.get("/sign-in")).text
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(20):
            _, written = await process.communicate()
        assert process.returncode == 0, written.decode()


async def raw(world: World, sent: bytes) -> bytes:
    """What comes back on a socket until it is closed."""
    host, _, port = world.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(sent)
    async with asyncio.timeout(5):
        answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * limits.HTTP_HEAD_MAX_BYTES + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * limits.HTTP_HEAD_MAX_BYTES,
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: x\r\n" * (limits.HTTP_HEADERS_MAX + 1) + b"\r\n",
        b"GET http://127.0.0.1/healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    ],
)
async def test_a_head_that_is_too_large_or_names_another_place_is_not_answered(database: Database, tmp_path: Path, head: bytes) -> None:
    async with opened(database, tmp_path) as world:
        assert b"200" not in await raw(world, head)


async def test_who_sends_a_head_too_slowly_is_let_go(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HTTP_RECEIVE_SECONDS", 0.2)
    async with opened(database, tmp_path) as world:
        assert (await raw(world, b"GET / HTTP/1.1\r\nHost: 127")).startswith(b"HTTP/1.1 408 ")
        answer = await raw(world, b"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: " + world.url.encode() + FORM)
        assert answer.startswith(b"HTTP/1.1 408 ")


FORM = b"\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\nConnection: close\r\n\r\nemail="


async def test_a_card_names_rows_of_its_own_matter_and_no_other(own_loaded: Loaded, tmp_path: Path) -> None:
    case, other = (uuid.UUID(own_loaded.matters[m]) for m in ("soilworks", "mclean"))
    async with opened(own_loaded.database, tmp_path) as world:
        ada = world.people.add(case, other)
        browser = await world.client(ada)
        (entry,) = await world.sql("SELECT id FROM record.docket_entries WHERE case_id = $1 AND entry_number = 1", case)
        args = {**DEADLINE, "source_entry_id": str(entry["id"])}
        here, elsewhere = [await world.propose(ada, c, "create_deadline", args) for c in (case, other)]
        page = (await browser.get(f"/proposals/{here}")).text
        assert "docket entry 1, filed 2006-09-07, COMPLAINT" in page
        assert "Soilworks LLC v. Midwest Industrial Supply Inc" in page
        page = (await browser.get(f"/proposals/{elsewhere}")).text
        assert "not found" in page
        assert "COMPLAINT" not in page
        await world.sql("UPDATE record.docket_entries SET sealed = true, text = NULL WHERE id = $1", entry["id"])
        assert "docket entry 1, filed 2006-09-07, sealed" in (await browser.get(f"/proposals/{here}")).text


async def test_the_room_has_no_other_way_into_the_record(own_loaded: Loaded) -> None:
    pool = await db.connect(config.secret(str(own_loaded.database.dsn_file("svc_approvals"))), 1)
    try:
        for table in ("record.matters", "record.documents", "auth.users", "auth.passwords", "auth.totp"):
            async with pool.connection() as connection:
                with pytest.raises(db.Error):
                    await connection.fetch(f"SELECT * FROM {table}")
        async with pool.connection() as connection:
            assert await Work(connection).matters([uuid.UUID(own_loaded.matters["mclean"])])
    finally:
        await pool.close()
