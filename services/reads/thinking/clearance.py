"""What stands between a document and a link to it: clearance, the bytes of the exact version, and the citation gate over its text."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kit import file_links, limits
from kit.db import Connection, Record, arguments, load_statements
from kit.object_store import Altered, ObjectStore, TooLarge
from services.reads.engines import gate
from services.reads.engines.authorities import Known

STATEMENTS = load_statements(Path(__file__).parent / "sql" / "document.sql")
_ENDINGS = {"application/pdf": ".pdf", "text/plain": ".txt", "application/json": ".json"}
NEVER_HERE = "The bytes of this version were never here: it is known by an index only, so there is no link."
NOT_STORED = "The file of this version is not in the store, so there is no link."
ALTERED = "The stored file is not the one with the digest that the record cites, so there is no link."
TOO_LARGE = f"The file of this version is larger than {limits.DOCUMENT_MAX_BYTES // 2**20} MiB, so there is no link."
ENDS = f"The link ends after {limits.FILE_LINK_SECONDS // 60} minutes, and whoever has it can open it until then."


@dataclass(frozen=True, slots=True)
class Files:
    """The store, and what makes links to what lies in it."""

    store: ObjectStore
    key: Ed25519PrivateKey
    base_url: str

    def link(self, row: Record, name: str, now: datetime) -> tuple[str, datetime]:
        """A link to a version's file, and when it ends."""
        ends = now.replace(microsecond=0) + timedelta(seconds=limits.FILE_LINK_SECONDS)
        link = file_links.Link(row["sha256"], row["media_type"] or "", name, int(ends.timestamp()))
        return f"{self.base_url.rstrip('/')}/files/{file_links.make(self.key, link)}", ends


@dataclass(frozen=True, slots=True)
class Cleared:
    """A document that may be shown, and what the gate needs to know of it."""

    row: Record
    findings: list[str]
    ledger: list[Known]


async def clear(connection: Connection[Record], asked: Mapping[str, Any]) -> Cleared | None:
    """The document in the version asked for, if this reader may have it."""
    found = await _rows(connection, "document", asked)
    if not found:
        return None
    version = {"document_version_id": found[0]["document_version_id"], "case_id": asked["case_id"]}
    findings = [row["kind"] for row in await _rows(connection, "findings", version)]
    ledger = [
        Known(r["volume"], r["reporter"], r["page_from"], r["page_to"], r["found"], r["name"], r["court"], r["year"])
        for r in await _rows(connection, "ledger", version)
    ]
    return Cleared(found[0], findings, ledger)


async def _rows(connection: Connection[Record], name: str, values: Mapping[str, Any]) -> list[Record]:
    return list(await connection.fetch(STATEMENTS[name].sql, *arguments(STATEMENTS[name], values)))


async def pass_gate(cleared: Cleared) -> gate.Gate:
    """The citation gate over the text of this version, off the loop: it reads every page."""
    return await asyncio.to_thread(gate.check, cleared.row["text"] or "", cleared.findings, cleared.ledger)


async def why_no_file(store: ObjectStore, digest: str | None) -> str | None:
    """Why there is no file to link to; None where the store has the very bytes. Raises OutOfReach."""
    if digest is None:
        return NEVER_HERE
    try:
        content = await asyncio.to_thread(store.fetch_object, digest)
    except Altered:
        return ALTERED
    except TooLarge:
        return TOO_LARGE
    return None if content is not None else NOT_STORED


def file_name(title: str, media_type: str | None) -> str:
    """A name that every system takes: letters, digits and dashes of the title, and the ending of its kind."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", title).strip("-")[: limits.FILE_NAME_MAX_CHARS] or "document"
    return plain + _ENDINGS.get(media_type or "", ".bin")
