"""Reads over a database, without the hops: the same handlers, engine and statements that the program serves."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema_rs
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from google.protobuf.message import Message
from substrate.auth.v1 import auth_service_pb2 as auth_pb

from edge import tools as edge_tools
from kit import catalogue, db, embedding
from kit.catalogue import Tool
from kit.clock import system_clock
from kit.errors import invalid
from kit.object_store import FolderStore, ObjectStore
from kit.rules import field_errors
from kit.server import Call, Handler
from services.reads.__main__ import handlers
from services.reads.engine import Engine
from services.reads.thinking import Thinking
from services.reads.thinking.clearance import Files
from services.reads.thinking.credential import NONE, Resolution
from services.reads.thinking.rerank import AnthropicReranker
from tests.cluster import Database

Ask = Callable[..., Awaitable[dict[str, Any]]]
_ALL = edge_tools.build(catalogue.load())
# The tools that reads serves; proposals answers for its own.
TOOLBOX = replace(_ALL, cards={n: c for n, c in _ALL.cards.items() if c.tool.service.startswith("substrate.reads.")})
VALIDATORS = {name: jsonschema_rs.validator_for(card.answer) for name, card in TOOLBOX.cards.items() if card.answer is not None}
FIRM, CLIENT_SAFE = auth_pb.CREDENTIAL_CLASS_FIRM, auth_pb.CREDENTIAL_CLASS_CLIENT_SAFE
# Tools that look at what others read.
OF_ALL_STORES = ("get_data_freshness", "get_calibration_ledger")
WORDS = ("unknown", "ungrounded", "grounded", "verified")


def check_contract(tool: str, answer: dict[str, Any]) -> None:
    """What every answer promises, checked without the maker: schema, triple, counts, weakest link, states and nulls."""
    errors = [e.message for e in VALIDATORS[tool].iter_errors(answer)]
    assert errors == [], (tool, errors[:3])
    counts = answer["verification"]["counts"]
    items = main_items(tool, answer)
    assert sum(counts.values()) == len(items)
    statuses = [s for item in items for s in all_statuses(item)]
    assert answer["verification_status"] == min(statuses, key=WORDS.index, default="unknown")
    assert answer["verification_status"] != "verified"
    assert len(answer["provenance_ids"]) == min(200, answer["provenance_id_count"])
    assert answer["as_of"] != answer["generated_at"]
    if answer["read_state"] == "read":
        assert items
    else:
        assert answer["verification_status"] == "unknown"
        assert answer["verification"]["notes"]
    if "count" in answer:
        assert answer["count"] == {"unreadable": None}.get(answer["read_state"], len(items))


def main_items(tool: str, answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The items of an answer: the rows of its collection, or its one record."""
    field = next(f.name for f in TOOLBOX.cards[tool].tool.response.fields if f.message_type is not None and f.name != "attestation")
    value = answer[field]
    return value if isinstance(value, list) else [value] if value else []


def all_statuses(value: Any) -> list[str]:
    """Status of an item and of everything nested in it."""
    if isinstance(value, list):
        return [s for v in value for s in all_statuses(v)]
    if isinstance(value, dict):
        own = [value["verification_status"]] if "verification_status" in value else []
        return own + [s for v in value.values() for s in all_statuses(v)]
    return []


class Paid:
    """A purse with one credential in it, or with none and a reason."""

    def __init__(self, resolution: Resolution) -> None:
        self._resolution = resolution

    async def resolve_owner_credential(self, _call: Call) -> Resolution:
        """What is in the purse."""
        return self._resolution


NOBODY = Resolution(NONE)


LINKS = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def thinks(paid_by: Resolution = NOBODY, base_url: str = "http://127.0.0.1:1", store: ObjectStore | None = None) -> Thinking:
    """What a firm_credential tool thinks with; without a credential nobody is asked."""
    files = Files(store or FolderStore(Path("no-such-folder")), LINKS, "http://files.example")
    return Thinking(Paid(paid_by), AnthropicReranker(base_url, "claude-haiku-5-5"), embedding.load(), files)


async def talked(tool: Tool, handler: Handler, request: Any, call: Call) -> Message:
    """The answer of a tool that asks first, to a client whose model says one thing."""
    request.given.capabilities.append("sampling")
    answer: Any = await handler(request, call)
    if not answer.HasField(tool.asking):
        return answer  # type: ignore[no-any-return]
    said = {"role": "assistant", "content": {"type": "text", "text": "A digest."}, "model": "client-model-1"}
    request.given.replies.add(key=answer.asking.questions[0].key, result_json=json.dumps(said).encode())
    request.given.state = answer.asking.state
    return await handler(request, call)  # type: ignore[no-any-return]


@asynccontextmanager
async def reads(
    database: Database,
    *case_ids: str,
    role: str = "svc_reads",
    credential_class: auth_pb.CredentialClass.ValueType = FIRM,
    thinking: Thinking | None = None,
    whole: bool = False,
) -> AsyncIterator[Ask]:
    """A function that asks one tool as a caller who reaches these matters, and checks the contract of what comes back.

    Each tool starts when it is first asked, unless the whole program is to start, as it does in earnest."""
    pool = await db.connect(database.dsn(role), 2, wait_seconds=5)
    engine, declared = Engine(pool, system_clock), catalogue.load()
    thinking = thinking or thinks(store=FolderStore(database.cluster.store))
    bound: dict[str, Handler] = {}

    async def start(*names: str) -> None:
        chosen = replace(declared, tools=tuple(t for t in declared.tools if not names or t.name in names))
        for service, methods in (await handlers(engine, chosen, thinking)).items():
            bound.update({f"/{service}/{name}": handler for name, handler in methods.items()})

    async def ask(tool: str, **arguments: Any) -> dict[str, Any]:
        card = TOOLBOX.cards[tool]
        request = card.decode(arguments)
        if wrong := field_errors(request):
            raise invalid(wrong)
        if card.tool.path not in bound:
            await start(*([] if tool in OF_ALL_STORES else [tool]))
        handler = bound[card.tool.path]
        principal = auth_pb.Principal(key_id="k", owner_id="o", credential_class=credential_class, case_ids=case_ids)
        call = Call(card.tool.path, principal)
        answer = card.tool.encode(await (handler(request, call) if card.tool.given is None else talked(card.tool, handler, request, call)))
        check_contract(tool, answer)
        return answer

    try:
        if whole:
            await start()
        yield ask
    finally:
        await pool.close()
