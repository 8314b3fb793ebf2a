"""A document as a file: cleared, digested, gated, linked for five minutes, and served with the digest that was cited or not at all."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from kit import db, file_links, limits
from kit.object_store import FolderStore, ObjectStore, OutOfReach, S3Store, open_store
from services.files import app
from services.reads.thinking import clearance
from tests.cluster import Loaded
from tests.db.reads_world import CLIENT_SAFE, LINKS, reads, thinks
from tests.db.test_reads_search import INSTRUCTION, execute
from tests.poll import until_async
from tests.s3_server import KEY, KEY_ID, s3_server

MATA = "64e91505-93ad-50ef-9065-72def7288f38"
WITHHELD = {"privileged": "Letters and notes exchanged", "unclassed": "Proposed question and answer list"}


@pytest.fixture
def store(loaded_template: Loaded, tmp_path: Path) -> FolderStore:
    """A store of the test's own with the demonstration matters' files."""
    shutil.copytree(loaded_template.database.cluster.store, tmp_path / "store")
    return FolderStore(tmp_path / "store")


@pytest.fixture
def clean(loaded: Loaded) -> dict[str, str]:
    """A clean document to ask for."""
    return {"case_id": loaded.matters["mata"], "document_id": MATA}


def notes(answer: dict[str, Any]) -> str:
    """The notes of an answer."""
    return "\n".join(answer["verification"]["notes"])


async def opened(url: str, store: ObjectStore, now: float, method: str = "GET") -> httpx.Response:
    """What files answers to a link at a time."""
    files = app.build(LINKS.public_key(), store, lambda: now)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(files), base_url="http://files.example") as client:
        return await client.request(method, url)


def made_at(answer: dict[str, Any]) -> float:
    """When the link of an answer was made."""
    from datetime import datetime

    return datetime.fromisoformat(answer["document"]["url_ends_at"]).timestamp() - limits.FILE_LINK_SECONDS


async def test_the_bytes_behind_a_link_have_the_digest_that_was_cited(loaded: Loaded, store: FolderStore, clean: dict[str, str]) -> None:
    async with reads(loaded.database, clean["case_id"], thinking=thinks(store=store)) as ask:
        answer = await ask("get_document", **clean)
    served = await opened(answer["document"]["url"], store, made_at(answer))
    assert served.status_code == 200
    assert sha256(served.content).hexdigest() == answer["document"]["sha256"]
    assert len(served.content) == answer["document"]["byte_count"]
    assert served.content.startswith(b"%PDF")
    assert served.headers["content-type"] == "application/pdf"
    assert served.headers["content-disposition"] == 'attachment; filename="Affirmation-in-Opposition.pdf"'
    assert (served.headers["cache-control"], served.headers["x-content-type-options"]) == ("no-store", "nosniff")
    assert (await opened(answer["document"]["url"], store, made_at(answer), "HEAD")).status_code == 200


async def test_the_same_link_is_good_for_five_minutes_and_no_second_longer(
    loaded: Loaded, store: FolderStore, clean: dict[str, str]
) -> None:
    async with reads(loaded.database, clean["case_id"], thinking=thinks(store=store)) as ask:
        answer = await ask("get_document", **clean)
    url, made = answer["document"]["url"], made_at(answer)
    assert (await opened(url, store, made + 299)).status_code == 200
    for later in (300, 301, 86_400):
        ended = await opened(url, store, made + later)
        assert (ended.status_code, ended.text) == (410, app.ENDED)
    assert "Ask for the document again" in app.ENDED


async def test_an_altered_link_opens_nothing(loaded: Loaded, store: FolderStore, clean: dict[str, str]) -> None:
    async with reads(loaded.database, clean["case_id"], thinking=thinks(store=store)) as ask:
        answer = await ask("get_document", **clean)
    url, now = answer["document"]["url"], made_at(answer)
    token = url.rpartition("/")[2]
    flipped = [url[:-n] + ("A" if url[-n] != "A" else "B") + url[len(url) - n + 1 :] for n in range(1, len(token) + 1, 7)]
    digest = answer["document"]["sha256"]
    for wrong in (*flipped, f"{url}?download=1", f"{url}/", f"/files/{digest}", "/files/", "/", "/files/../store", "/healthz/x"):
        answered = await opened(wrong, store, now)
        assert (answered.status_code, answered.text) == (404, app.NO_LINK), wrong
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert (await opened(url, store, now, method)).status_code == 405


@pytest.mark.parametrize("kind", WITHHELD)
@pytest.mark.parametrize("credential_class", [1, CLIENT_SAFE])
async def test_a_document_that_is_privileged_or_unclassed_has_no_link(loaded: Loaded, kind: str, credential_class: Any) -> None:
    case_id = loaded.matters["mclean"]
    admin = await db.connect_one(loaded.database.admin_dsn)
    document = await admin.fetchval("SELECT id::text FROM record.documents WHERE title LIKE $1", f"{WITHHELD[kind]}%")
    await admin.close()
    async with reads(loaded.database, case_id, credential_class=credential_class) as ask:
        answer = await ask("get_document", case_id=case_id, document_id=document)
        nothing = await ask("get_document", case_id=case_id, document_id="00000000-0000-4000-8000-000000000000")
    assert (answer["read_state"], answer["document"], answer["verification_status"]) == ("empty", None, "unknown")
    assert WITHHELD[kind] not in json.dumps(answer)
    for each in (answer, nothing):
        each.pop("generated_at")
    assert answer == nothing, "withheld and absent are not told apart"


@pytest.mark.parametrize("privilege", ["'attorney_client'", "'unreviewed'", "NULL"])
async def test_a_document_with_a_file_loses_its_link_when_it_is_withheld_and_no_version_gets_around_that(
    own_loaded: Loaded, store: FolderStore, privilege: str
) -> None:
    asked = {"case_id": own_loaded.matters["mata"], "document_id": MATA}
    async with reads(own_loaded.database, asked["case_id"], thinking=thinks(store=store)) as ask:
        version = (await ask("get_document", **asked))["document"]["document_version_id"]
        await execute(own_loaded, f"UPDATE record.documents SET privilege_class = {privilege} WHERE id = '{MATA}'")
        for more in ({}, {"document_version_id": version}):
            answer = await ask("get_document", **asked, **more)
            assert (answer["read_state"], answer["document"]) == ("empty", None)


async def test_a_version_of_another_document_is_no_version_of_this_one(loaded: Loaded, clean: dict[str, str]) -> None:
    case_ids = list(loaded.matters.values())
    async with reads(loaded.database, *case_ids) as ask:
        other = (await ask("list_documents", case_id=loaded.matters["mclean"]))["documents"][0]
        answer = await ask("get_document", **clean, document_version_id=other["version_id"])
    assert answer["read_state"] == "empty"


async def test_stored_bytes_that_were_altered_get_no_link_and_are_not_sent_by_an_older_one(
    loaded: Loaded, store: FolderStore, clean: dict[str, str], tmp_path: Path
) -> None:
    async with reads(loaded.database, clean["case_id"], thinking=thinks(store=store)) as ask:
        before = await ask("get_document", **clean)
        digest = before["document"]["sha256"]
        path = tmp_path / "store" / digest[:2] / digest
        path.write_bytes(path.read_bytes() + b"%")
        after = await ask("get_document", **clean)
    assert (after["document"]["url"], after["document"]["url_ends_at"]) == (None, None)
    assert after["verification_status"] == "ungrounded"
    assert clearance.ALTERED in after["verification"]["notes"]
    served = await opened(before["document"]["url"], store, made_at(before))
    assert (served.status_code, served.text) == (500, app.ALTERED)


async def test_a_file_that_is_not_in_the_store_has_no_link(
    loaded: Loaded, store: FolderStore, clean: dict[str, str], tmp_path: Path
) -> None:
    async with reads(loaded.database, clean["case_id"], thinking=thinks(store=store)) as ask:
        before = await ask("get_document", **clean)
        shutil.rmtree(tmp_path / "store")
        after = await ask("get_document", **clean)
    assert after["document"]["url"] is None
    assert clearance.NOT_STORED in after["verification"]["notes"]
    assert (await opened(before["document"]["url"], store, made_at(before))).status_code == 404


class Away:
    """A store behind a cut wire."""

    def fetch_object(self, digest: str) -> bytes | None:
        raise OutOfReach

    def keep_object(self, content: bytes) -> str:
        raise OutOfReach


async def test_a_store_that_is_out_of_reach_is_unreadable_and_a_link_says_to_come_back(
    loaded: Loaded, store: FolderStore, clean: dict[str, str]
) -> None:
    async with reads(loaded.database, clean["case_id"], thinking=thinks(store=store)) as ask:
        url = (answer := await ask("get_document", **clean))["document"]["url"]
    async with reads(loaded.database, clean["case_id"], thinking=thinks(store=Away())) as ask:
        away = await ask("get_document", **clean)
    assert (away["read_state"], away["document"], away["verification_status"]) == ("unreadable", None, "unknown")
    assert "could not be reached" in notes(away)
    assert (await opened(url, Away(), made_at(answer))).status_code == 503


async def test_a_record_that_may_not_be_read_is_unreadable(own_loaded: Loaded) -> None:
    asked = {"case_id": own_loaded.matters["mata"], "document_id": MATA}
    async with reads(own_loaded.database, asked["case_id"]) as ask:
        await execute(own_loaded, "REVOKE SELECT ON record.authorities FROM svc_reads")
        answer = await ask("get_document", **asked)
    assert (answer["read_state"], answer["document"], answer["as_of"]) == ("unreadable", None, None)
    assert "not an empty result" in notes(answer)


async def test_the_gate_speaks_of_the_exact_version_and_never_says_clean(loaded: Loaded, clean: dict[str, str]) -> None:
    async with reads(loaded.database, *loaded.matters.values()) as ask:
        mata = (await ask("get_document", **clean))["document"]["citation_gate"]
        documents = (await ask("list_documents", case_id=loaded.matters["mclean"], words="Stipulation"))["documents"]
        other = await ask("get_document", case_id=loaded.matters["mclean"], document_id=documents[0]["id"])
    assert mata["status"] == "defects_open"
    assert mata["open_defects"] > 0
    assert (mata["authorities_found"], mata["cite_like_strings_not_parsed"]) == (13, 1)
    assert other["document"]["citation_gate"]["status"] == "no_findings_recorded"
    assert "clean" not in json.dumps(other)


async def test_a_title_with_an_instruction_changes_only_the_fields_that_carry_it(own_loaded: Loaded, store: FolderStore) -> None:
    asked = {"case_id": own_loaded.matters["mata"], "document_id": MATA}
    async with reads(own_loaded.database, asked["case_id"], thinking=thinks(store=store)) as ask:
        before = await ask("get_document", **asked)
        await execute(own_loaded, f"""UPDATE record.documents SET title = '{INSTRUCTION}' || E'\\r\\nX: "y" ../' WHERE id = '{MATA}'""")
        after = await ask("get_document", **asked)
    served = await opened(after["document"]["url"], store, made_at(after))
    assert served.status_code == 200
    assert "\n" not in served.headers["content-disposition"]
    assert served.headers["content-disposition"].count('"') == 2
    for answer in (before, after):
        for name in ("generated_at",):
            answer.pop(name)
        for name in ("title", "file_name", "url", "url_ends_at"):
            answer["document"].pop(name)
    assert after == before


async def test_every_document_of_every_matter_is_in_the_store_under_its_digest(loaded: Loaded, store: FolderStore) -> None:
    admin = await db.connect_one(loaded.database.admin_dsn)
    rows = await admin.fetch(
        "SELECT DISTINCT v.sha256, v.byte_count FROM record.document_versions v WHERE v.sha256 IS NOT NULL AND v.files <> '[]'"
    )
    await admin.close()
    assert len(rows) > 10
    for row in rows:
        content = store.fetch_object(row["sha256"])
        assert content is not None, row["sha256"]
        assert len(content) == row["byte_count"]


async def test_a_file_that_is_larger_than_the_limit_has_no_link(
    loaded: Loaded, store: FolderStore, clean: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with reads(loaded.database, clean["case_id"], thinking=thinks(store=store)) as ask:
        monkeypatch.setattr(limits, "DOCUMENT_MAX_BYTES", 1_000)
        answer = await ask("get_document", **clean)
    assert (answer["document"]["url"], answer["verification_status"]) == (None, "ungrounded")
    assert clearance.TOO_LARGE in answer["verification"]["notes"]


def test_a_file_name_is_short_and_plain_whatever_the_title() -> None:
    name = clearance.file_name('Ünïcode / "quoted" ' + "x" * 500, "application/pdf")
    assert len(name) <= limits.FILE_NAME_MAX_CHARS + len(".pdf")
    assert re.fullmatch(r"[A-Za-z0-9-]+\.pdf", name)
    assert clearance.file_name("…", None) == "document.bin"


class Slow:
    """A store that counts who waits in it, and lets nobody go before it is told to."""

    def __init__(self) -> None:
        self.inside, self.most, self.go, self._lock = 0, 0, threading.Event(), threading.Lock()

    def fetch_object(self, _digest: str) -> bytes | None:
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        self.go.wait(20)
        with self._lock:
            self.inside -= 1
        return b""

    def keep_object(self, _content: bytes) -> str:
        return ""


async def test_only_so_many_files_are_held_at_once_and_the_rest_wait() -> None:
    slow = Slow()
    link = file_links.make(LINKS, file_links.Link("ab" * 32, "", "x", 300))
    files = app.build(LINKS.public_key(), slow, lambda: 0)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(files), base_url="http://files.example", timeout=30) as client:
        asked = [asyncio.ensure_future(client.get(f"/files/{link}")) for _ in range(limits.FILES_AT_ONCE_MAX + 4)]
        await until_async(lambda: _reached(slow, limits.FILES_AT_ONCE_MAX), "the first are inside")
        slow.go.set()
        assert {r.status_code for r in await asyncio.gather(*asked)} == {200}
    assert slow.most == limits.FILES_AT_ONCE_MAX


async def _reached(slow: Slow, many: int) -> bool:
    return slow.inside >= many


# The same on a server that speaks S3.


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A bucket of a real server."""
    with s3_server(tmp_path_factory.mktemp("s3")) as config:
        yield config


async def test_a_bucket_keeps_and_serves_what_a_folder_does(loaded: Loaded, store: FolderStore, clean: dict[str, str], bucket: Any) -> None:
    s3 = open_store(bucket)
    async with reads(loaded.database, clean["case_id"], thinking=thinks(store=s3)) as ask:
        empty = await ask("get_document", **clean)
        assert clearance.NOT_STORED in empty["verification"]["notes"]
        content = store.fetch_object(empty["document"]["sha256"])
        assert content is not None
        assert s3.keep_object(content) == empty["document"]["sha256"]
        answer = await ask("get_document", **clean)
    served = await opened(answer["document"]["url"], s3, made_at(answer))
    assert served.status_code == 200
    assert sha256(served.content).hexdigest() == answer["document"]["sha256"]


def test_a_bucket_refuses_a_wrong_secret_and_that_is_out_of_reach(bucket: Any) -> None:
    with pytest.raises(OutOfReach):
        S3Store(bucket, KEY_ID, "wrong").keep_object(b"x")
    with pytest.raises(OutOfReach):
        S3Store(replace(bucket, bucket="another"), KEY_ID, KEY).keep_object(b"x")


def test_an_object_of_a_bucket_that_was_altered_is_never_handed_out(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from kit import object_store

    s3 = open_store(bucket)
    digest = s3.keep_object(b"what was cited")
    with monkeypatch.context() as lying:  # puts other bytes under the name, as somebody with the bucket's keys could
        real = object_store.S3Store._ask
        lying.setattr(object_store.S3Store, "_ask", lambda self, method, _digest, body: real(self, method, digest, body))
        s3.keep_object(b"something else")
    with pytest.raises(object_store.Altered):
        s3.fetch_object(digest)
