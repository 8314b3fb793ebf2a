"""One read tool: its declaration, its statement and how the two fit, worked out once at start-up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from kit.catalogue import Tool
from kit.db import Connection, Record, Statement, load_statement
from services.reads import binding
from services.reads.binding import Mismatch

ATTESTATION = "substrate.common.v1.Attestation"
PAGE_PARAMETERS = ("page_after", "page_limit")


@dataclass(slots=True)
class Query:
    """A statement with the parameter types that the database gave it, once it has been seen to fit."""

    statement: Statement
    kinds: tuple[str, ...] | None = None


@dataclass(slots=True)
class ReadTool:
    """What the engine needs to answer one tool."""

    tool: Tool
    main: Query
    fallback: Query | None
    # What to say of an answer without rows, e.g. how many were left out by default: `<tool>.empty.sql`, one column `note`.
    empty: Query | None
    item: FieldDescriptor
    paged: bool
    build: Callable[[Callable[..., Any], Any], Message]
    absent_names: tuple[str, ...] = field(default=())

    @property
    def store(self) -> str:
        """Name of the store that the tool reads, in words."""
        return self.main.statement.one("store").replace("_", " ")

    async def fit(self, connection: Connection[Record], query: Query) -> None:
        """Prepares a statement as this program's role and compares it with the messages."""
        prepared = await connection.prepare(query.statement.sql)
        columns = [(a.name, a.type.name) for a in prepared.get_attributes()]
        query.kinds = tuple(p.name for p in prepared.get_parameters())
        if query is self.empty:
            if columns != [("note", "text")]:
                raise Mismatch(f"{query.statement.name}: expected one column, note, of type text")
            return
        hidden = ("as_of", "cursor_key", "total_count") if self.paged else ("as_of",)
        binding.check(query.statement.name, self._message(), columns, hidden)

    def _message(self) -> Descriptor:
        assert self.item.message_type is not None
        return self.item.message_type


def item_field(response: Descriptor) -> FieldDescriptor:
    """The one field of a response that holds what was read."""
    found = [f for f in response.fields if f.message_type is not None and f.message_type.full_name != ATTESTATION]
    if len(found) != 1:
        raise Mismatch(f"{response.full_name}: expected one field with what was read, found {len(found)}")
    return found[0]


def _check_parameters(tool: Tool, statement: Statement, *, paged: bool, whole: bool = True) -> None:
    known = set(tool.request.fields_by_name) | (set(PAGE_PARAMETERS) if paged else set())
    if unknown := [p for p in statement.parameters if p not in known]:
        raise Mismatch(f"{statement.name}: parameter {unknown[0]} is not a field of {tool.request.full_name}")
    if not whole:
        return
    unused = set(tool.request.fields_by_name) - set(statement.parameters) - {"page_size", "page_token"}
    if unused:
        raise Mismatch(f"{statement.name}: {tool.request.full_name}.{min(unused)} is not used by the statement")


def load(tool: Tool, folder: Path) -> ReadTool:
    """Reads a tool's statement and its fallback, and checks all that can be checked without a database."""
    statement = load_statement(folder / f"{tool.name}.sql")
    for directive in ("method", "store"):
        if not statement.one(directive):
            raise Mismatch(f"{tool.name}: the statement's header lacks '-- {directive}: …'")
    item = item_field(tool.response)
    assert item.message_type is not None
    paged = "next_page_token" in tool.response.fields_by_name
    fallback = load_statement(folder / statement.one("fallback")) if statement.one("fallback") else None
    for each in (statement, fallback):
        if each is not None:
            _check_parameters(tool, each, paged=paged)
    empty = folder / f"{tool.name}.empty.sql"
    about_empty = load_statement(empty) if empty.exists() else None
    if about_empty is not None:
        _check_parameters(tool, about_empty, paged=False, whole=False)
    names = tuple(n.strip() for n in statement.one("fallback_when").split(",") if n.strip())
    build = binding.row_builder(item.message_type)
    return ReadTool(
        tool,
        Query(statement),
        Query(fallback) if fallback else None,
        Query(about_empty) if about_empty else None,
        item,
        paged,
        build,
        names,
    )
