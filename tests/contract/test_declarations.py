"""What every declared tool must be: walked over the descriptors, so that a new tool cannot be forgotten."""

from __future__ import annotations

import re

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from substrate.auth.v1 import auth_admin_service_pb2

from kit import catalogue
from kit.catalogue import Tool

LOADED = catalogue.load()
TOOLS = pytest.mark.parametrize("tool", LOADED.tools, ids=lambda t: t.name)
ATTESTATION = "substrate.common.v1.Attestation"
READ_STATE = "substrate.common.v1.ReadState"
STATUS = "substrate.common.v1.VerificationStatus"
# What a message may be that is neither an item nor a collection: a part of an item that has no rows of its own.
PAIR = ("provenance_ids", "verification_status")


def scopes() -> set[str]:
    """The scopes a key can hold, as the administration service declares them."""
    field = auth_admin_service_pb2.CreateKeyRequest.DESCRIPTOR.fields_by_name["scopes"]
    return {str(w) for w in re.findall(r'in: "([a-z:]+)"', str(field.GetOptions()))}


def reachable(message: Descriptor, seen: dict[str, Descriptor] | None = None) -> dict[str, Descriptor]:
    """Every message below a response, by name."""
    seen = {} if seen is None else seen
    for field in message.fields:
        below = field.message_type
        if below is not None and below.full_name not in seen and not below.full_name.startswith("google."):
            seen[below.full_name] = below
            reachable(below, seen)
    return seen


def collections(message: Descriptor) -> list[FieldDescriptor]:
    """Fields that hold a list of messages."""
    return [f for f in message.fields if f.is_repeated and f.message_type is not None]


def problems(response: Descriptor) -> list[str]:
    """What a response lacks of the contract."""
    found = []
    attestation = response.fields_by_name.get("attestation")
    if attestation is None or attestation.message_type is None or attestation.message_type.full_name != ATTESTATION:
        found.append(f"{response.full_name}: no attestation")
    for message in (response, *reachable(response).values()):
        if message.full_name.startswith(("substrate.common.", "substrate.tools.")):  # not of this answer
            continue
        for field in collections(message):
            item = field.message_type
            assert item is not None
            prefix = "" if message is response else f"{field.name}_"
            state, count = message.fields_by_name.get(f"{prefix}read_state"), message.fields_by_name.get(f"{prefix}count")
            if state is None or state.enum_type is None or state.enum_type.full_name != READ_STATE:
                found.append(f"{message.full_name}.{field.name}: no read state beside it")
            if count is None or not count.has_presence:
                found.append(f"{message.full_name}.{field.name}: no count that can be null beside it")
            if tuple(f.name for f in item.fields[-2:]) != PAIR:
                found.append(f"{item.full_name}: an item without {PAIR}")
    return found


@TOOLS
def test_a_tool_says_what_it_is_in_full(tool: Tool) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]{2,63}", tool.name)
    assert tool.title
    assert len(tool.description) >= 60, "a description is what a model chooses by"
    assert tool.cost in ("free", "firm_credential")
    assert tool.client_safe in ("allowed", "client_lane", "refused")
    assert tool.scope in scopes()


@TOOLS
def test_a_tool_is_named_as_its_rpc(tool: Tool) -> None:
    method = tool.path.rpartition("/")[2]
    assert re.sub(r"(?<!^)(?=[A-Z])", "_", method).lower() == tool.name


@TOOLS
def test_a_tool_names_its_matter_unless_it_spans_or_needs_none(tool: Tool) -> None:
    assert tool.names_case or tool.name in ("list_matters", "get_substrate_contract")


@pytest.mark.parametrize("tool", [t for t in LOADED.tools if t.read_only], ids=lambda t: t.name)
def test_a_read_is_attested_with_a_pair_an_item_and_a_state_a_collection(tool: Tool) -> None:
    assert problems(tool.response) == []


def test_the_only_tool_that_is_no_read_files_a_proposal() -> None:
    assert [(t.name, t.scope) for t in LOADED.tools if not t.read_only] == [("propose_action", "write")]


def test_a_response_without_its_contract_is_found() -> None:
    """The check itself can fail: a message that is no read response breaks it."""
    assert problems(auth_admin_service_pb2.ListKeysResponse.DESCRIPTOR) == [
        "substrate.auth.v1.ListKeysResponse: no attestation",
        "substrate.auth.v1.ListKeysResponse.keys: no read state beside it",
        "substrate.auth.v1.ListKeysResponse.keys: no count that can be null beside it",
        "substrate.auth.v1.Key: an item without ('provenance_ids', 'verification_status')",
    ]


@TOOLS
def test_every_field_an_agent_sees_is_described(tool: Tool) -> None:
    messages = [tool.request, tool.response, *reachable(tool.response).values()]
    bare = [f.full_name for m in messages for f in m.fields if not LOADED.comments.get(f.full_name)]
    assert bare == []


@TOOLS
def test_no_answer_holds_a_number_that_json_would_bend(tool: Tool) -> None:
    """Whole numbers beyond 2^53 and fractions are not the same in every client."""
    bent = {FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT}
    assert [f.full_name for m in (tool.response, *reachable(tool.response).values()) for f in m.fields if f.type in bent] == []


def test_resource_addresses_are_unique_and_bind_the_matter_alone() -> None:
    addresses = [t.resource for t in LOADED.tools if t.resource]
    assert len(set(addresses)) == len(addresses)
    assert all(re.fullmatch(r"bron://matters(/\{case_id\}(/[a-z-]+)?)?", a) for a in addresses)
