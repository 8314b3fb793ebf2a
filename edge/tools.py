"""The catalogue as tools: one card a tool, and the list that each revision of the protocol is shown, made once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from google.protobuf.message import Message

from edge.revisions import REVISIONS, Revision
from edge.routing_headers import Path
from kit import actions
from kit.catalogue import Catalogue, Tool
from kit.decode import Decoder, whole
from kit.schema import Projector, Schema

HEADER_KEYWORD = "x-mcp-header"


@dataclass(frozen=True, slots=True)
class Card:
    """All that is needed to show a tool and to call it."""

    tool: Tool
    decode: Callable[[Mapping[str, Any]], Message]
    arguments: Schema
    answer: Schema | None  # None where the answer is free content
    mirrored: Mapping[Path, str]


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Every tool by name, and the finished lists by revision."""

    cards: Mapping[str, Card]
    listings: Mapping[str, orjson.Fragment]
    addressed: Sequence[Card]  # those that have an address, whether they have a name or not


def build(catalogue: Catalogue) -> Toolbox:
    """Projects the catalogue. What cannot be projected stops the start, naming the field."""
    projector = Projector(catalogue.comments, {name: action.message for name, action in actions.load().by_name.items()})
    cards = {tool.name: _card(tool, projector) for tool in catalogue.tools}
    lists = {
        version: orjson.Fragment(orjson.dumps(revision.listed({"tools": [_shown(card, revision) for card in cards.values()]})))
        for version, revision in REVISIONS.items()
    }
    addressed = [cards.get(tool.name) or _card(tool, projector) for tool in catalogue.by_path.values() if tool.resource]
    return Toolbox(cards, lists, addressed)


def _card(tool: Tool, projector: Projector) -> Card:
    told = orjson.loads(tool.arguments_schema) if tool.arguments_schema else None
    arguments = told or projector.arguments(tool.request)
    if tool.handoff and not ("case_id" in tool.request.fields_by_name and {"status", "approval_id"} <= set(tool.response.fields_by_name)):
        raise ValueError(f"{tool.name}: a handoff needs case_id in the request, status and approval_id in the response")
    decode = whole if told else Decoder(tool.request)
    return Card(tool, decode, arguments, None if tool.free else projector.answer(tool.response), dict(_mirrored(arguments, ())))


def _mirrored(schema: Schema, path: Path) -> list[tuple[Path, str]]:
    """Arguments that a proxy may read from a header."""
    found = []
    for name, inner in schema.get("properties", {}).items():
        if HEADER_KEYWORD in inner:
            found.append(((*path, name), str(inner[HEADER_KEYWORD])))
        found.extend(_mirrored(inner, (*path, name)))
    return found


def _shown(card: Card, revision: Revision) -> dict[str, Any]:
    """A tool as one revision knows tools: a word that came later is left out."""
    tool = card.tool
    shown: dict[str, Any] = {"name": tool.name}
    if revision.structured:
        shown["title"] = tool.title
    shown |= {"description": tool.description, "inputSchema": card.arguments}
    if revision.structured and card.answer is not None:
        shown["outputSchema"] = card.answer
    shown["annotations"] = _annotations(tool)
    if revision.tasks:
        shown["execution"] = {"taskSupport": tool.task_support}
    return shown


def _annotations(tool: Tool) -> dict[str, Any]:
    """Hints, from the declared idempotency. Of a tool that is not a read nothing more is promised."""
    hints: dict[str, Any] = {"title": tool.title, "readOnlyHint": tool.read_only, "openWorldHint": False}
    return hints | ({"destructiveHint": False, "idempotentHint": True} if tool.read_only else {})
