"""Zero inference by contract: nothing that a free tool can reach thinks, and what thinks resolves the owner's credential by itself."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache

import pytest

from kit import catalogue
from kit.catalogue import Tool
from tests.contract.cost_ledger import FIRM_CREDENTIAL, FREE
from tests.contract.reach import Node, World, sources

TOOLS = catalogue.load().tools
# What thinks: modules of ours whose code asks a model, embeds, opens a credential, or is the citation gate.
THINKING = ("services.reads.thinking", "services.reads.paid", "services.reads.engines.gate", "kit.embedding", "kit.sealed_credentials")
# Packages of others through which anything could be asked.
MODELS = ("anthropic", "openai", "wordllama", "tokenizers", "safetensors", "torch", "transformers", "sentence_transformers", "onnxruntime")
NETWORK = ("httpx", "httpx2", "requests", "aiohttp", "urllib.request", "urllib3", "http.client", "socket", "smtplib", "subprocess")
OUTSIDE = (*MODELS, *NETWORK)


# Functions that name an attribute at run time, each read by hand: they name fields of messages and of log records, and call none of them.
READ_BY_HAND: set[Node] = {
    ("kit.actions", "Action._values"),
    ("kit.attestation", "_children"),
    ("kit.log", "JsonLines.format"),
    ("kit.log", "_STANDARD"),
    ("kit.schema", "_keywords"),
    ("services.proposals.proposal", "shown"),
    ("services.reads.binding", "_argument"),
    ("services.reads.custom.get_data_freshness", "_look"),
    ("services.reads.custom.get_validation_runs", "_control_set"),
    ("services.reads.engine", "Engine._fill"),
    ("services.reads.ledger", "write_summary"),
}
READS, PROPOSALS = sources("kit", "services/reads"), sources("kit", "services/proposals")


@cache
def world(program: str) -> World:
    """The code that is in the image of a program."""
    return World(PROPOSALS if program == "proposals" else READS)


def world_of(tool: Tool) -> World:
    """The code of the program that answers a tool."""
    return world("proposals" if tool.service.startswith("substrate.proposals.") else "reads")


def entries(tool: str, code: World) -> list[Node]:
    """Where a tool's reachable code begins."""
    if "services.proposals.server" in code.modules:
        return [("services.proposals.server", name) for name in code.modules["services.proposals.server"].nodes]
    for folder in ("paid", "custom"):
        module = f"services.reads.{folder}.{tool}"
        if module in code.modules:
            return [(module, "answer")]
    return [("services.reads.engine", "Engine.answer")]


def thinks(node: Node) -> bool:
    """Whether a node belongs to what thinks."""
    return any(node[0] == name or node[0].startswith(f"{name}.") for name in THINKING)


def violations(tool: str, code: World) -> list[str]:
    """Why a free tool would cost something."""
    found = code.reach(*entries(tool, code))
    said = [f"reaches {m}.{n}" for m, n in found.nodes if thinks((m, n))]
    said += [f"{m}.{n} touches {package}" for package, (m, n) in found.external if any(f"{package}.".startswith(f"{o}.") for o in OUTSIDE)]
    said += [f"{m}.{n} cannot be followed: {what}" for what, (m, n) in found.dynamic if (m, n) not in READ_BY_HAND]
    return sorted(said)


def resolves(tool: str, modules: Mapping[str, str]) -> bool:
    """Whether a tool's own `answer` resolves the owner's credential, whatever else happens in it."""
    source = modules.get(f"services.reads.paid.{tool}")
    function = next((n for n in ast.parse(source or "").body if isinstance(n, ast.AsyncFunctionDef) and n.name == "answer"), None)
    if function is None:
        return False
    return any(
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Await)
        and isinstance(call := statement.value.value, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "resolve_owner_credential"
        for statement in function.body
    )


def test_the_ledger_and_the_declarations_say_the_same() -> None:
    assert {t.name: t.cost for t in TOOLS if t.name not in FREE | FIRM_CREDENTIAL} == {}, "a new tool must be classified in the ledger"
    assert {t.name for t in TOOLS if t.cost == "firm_credential"} <= FIRM_CREDENTIAL
    assert {t.name for t in TOOLS if t.cost == "free"} <= FREE
    assert len(FIRM_CREDENTIAL) == 3
    assert not FREE & FIRM_CREDENTIAL


@pytest.mark.parametrize("tool", [t for t in TOOLS if t.cost == "free"], ids=lambda t: t.name)
def test_nothing_that_a_free_tool_can_reach_thinks(tool: Tool) -> None:
    assert violations(tool.name, world_of(tool)) == []


@pytest.mark.parametrize("tool", [t for t in TOOLS if t.cost == "firm_credential"], ids=lambda t: t.name)
def test_a_firm_credential_tool_resolves_the_owners_credential_in_its_own_handler(tool: Tool) -> None:
    assert resolves(tool.name, READS)


def test_only_firm_credential_tools_have_a_handler_that_is_given_what_thinks() -> None:
    paid = {name.rpartition(".")[2] for name in READS if name.startswith("services.reads.paid.")}
    assert paid == {t.name for t in TOOLS if t.cost == "firm_credential"}
