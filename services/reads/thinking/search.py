"""One question to rows in their final order: candidates, rows, rerank, and what is to be said of each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kit import limits
from kit.db import Record, Statement, why_unreadable
from kit.server import Call
from services.reads.engine import Engine, unreadable_note
from services.reads.thinking import Thinking
from services.reads.thinking.candidates import collect, fetch
from services.reads.thinking.credential import Resolution

CUT = "More passages were found; max_passages says how many are shown."


@dataclass(slots=True)
class Found:
    """Rows best first, each with what found it, or why nothing could be read."""

    rows: list[tuple[Record, tuple[str, ...]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unreadable: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and of which store."""

    store: str
    statements: Mapping[str, Statement]
    asked: Mapping[str, Any]
    most: int
    place: Callable[[Record], str]


async def find(engine: Engine, thinking: Thinking, question: Question, paid_by: Resolution, call: Call) -> Found:
    """Searches, fetches and reranks. The database is let go before a model is asked."""
    try:
        async with engine.record(call) as connection:
            candidates = await collect(connection, question.statements, question.asked, thinking.model)
            ids = [each for each, _ in candidates.ids[: limits.RETRIEVED_MAX]]
            rows = await fetch(connection, question.statements, question.asked["case_id"], ids)
    except Exception as error:
        words = why_unreadable(error)
        if words is None:
            raise
        return Found(notes=[unreadable_note(question.store, words)], unreadable=True)
    passages = [(question.place(row), row["text"]) for row in rows]
    ranked = await thinking.reranker.rerank(question.asked["query"], passages, paid_by)
    found_by = dict(candidates.ids)
    ordered = [(rows[n], found_by[str(rows[n]["id"])]) for n in ranked.order]
    notes = [*candidates.notes, ranked.note, *([CUT] if len(candidates.ids) > question.most else [])]
    return Found(ordered[: question.most], notes)
