"""The link of the stateless era: a question in place of the receipt, and the receipt for the answer; nothing is filed twice."""

import secrets
from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from substrate.common.v1 import error_reason_pb2 as reasons

from edge.config import Handoff
from edge.rounds import QUESTION
from kit import limits
from kit.errors import Refusal
from tests.poll import until
from tests.system.edge.ledger import Ledger
from tests.system.edge.links import ARGUMENTS, PROPOSE, TOOL, failing
from tests.system.edge.running import Running, Site
from tests.system.edge.wire import META, Wire, error
from tests.system.edge.world import CASE, World


def asked(wire: Wire) -> dict[str, Any]:
    """A call that ends in the question."""
    result = wire.modern_result("tools/call", PROPOSE)
    assert result["resultType"] == "input_required"
    return result


def answering(state: Any, action: Any = "accept", **params: Any) -> dict[str, Any]:
    """The parameters of the call again, with the answer and what was carried."""
    return PROPOSE | {"requestState": state, "inputResponses": {QUESTION: {"action": action}}} | params


def is_receipt(result: dict[str, Any], ledger: Ledger) -> None:
    """Holds a result against the one proposal that was filed."""
    (filed,) = ledger.filed.values()
    assert result["resultType"] == "complete"
    assert result["structuredContent"]["approval_id"] == filed.receipt.approval_id
    assert result["structuredContent"]["executed"] is False
    assert filed.state == "undecided"


def test_the_question_is_one_link_that_says_nothing_and_a_sealed_state(linked: Wire, world: World) -> None:
    result = asked(linked)
    filed, id_, _ = world.ledger.only()
    assert set(result) == {"resultType", "inputRequests", "requestState", "_meta"}
    assert f"{META}serverInfo" in result["_meta"]
    (question,) = result["inputRequests"].values()
    assert question["method"] == "elicitation/create"
    assert {k: v for k, v in question["params"].items() if k != "message"} == {
        "mode": "url",
        "url": f"{linked.edge.url}/approve?elicitationId={id_}",
    }
    for word in (filed.receipt.approval_id, linked.known.id, CASE, "add_note", "ttlMs"):
        assert word not in str(result)


@pytest.mark.parametrize(("action", "noted"), [("accept", "accepted"), ("decline", "declined"), ("cancel", "cancelled")])
def test_the_answer_gets_the_receipt_and_the_proposal_is_filed_once(linked: Wire, world: World, action: str, noted: str) -> None:
    result = linked.modern_result("tools/call", answering(asked(linked)["requestState"], action))
    is_receipt(result, world.ledger)
    assert world.ledger.only()[2].answer == noted


def test_a_second_answer_gets_the_same_receipt_and_the_first_answer_stands(linked: Wire, world: World) -> None:
    state = asked(linked)["requestState"]
    results = [linked.modern_result("tools/call", answering(state, action)) for action in ("decline", "accept", "cancel", "decline")]
    assert all(r == results[0] for r in results)
    is_receipt(results[0], world.ledger)
    assert world.ledger.only()[2].answer == "declined"


def spoiled(state: str) -> list[Any]:
    """States that we never gave out."""
    middle = len(state) // 2
    turned = [state[:i] + ("A" if state[i] != "A" else "B") + state[i + 1 :] for i in (0, 6, middle, len(state) - 2)]
    return [
        *turned,
        state[:-4],
        state + "AAAA",
        state + "=",
        "",
        "x",
        "ü",
        "e30",
        state.swapcase(),
        5,
        True,
        [],
        {},
        f" {state}",
        f"{state}\n",
    ]


def test_a_state_that_is_not_as_we_sealed_it_is_refused_and_changes_nothing(linked: Wire, world: World) -> None:
    state = asked(linked)["requestState"]
    for bad in spoiled(state):
        error(linked.modern("tools/call", answering(bad)), 400, -32602)
    assert (len(world.ledger.filed), world.ledger.only()[2].answer) == (1, "")


def test_a_state_is_good_for_its_key_its_tool_and_its_arguments_alone(linked: Wire, world: World) -> None:
    state = asked(linked)["requestState"]
    colleague = Wire(linked.edge, world.new_key(linked.known.owner), linked.http, capabilities=linked.capabilities)
    error(colleague.modern("tools/call", answering(state)), 400, -32602)
    other = {"name": "get_matter", "arguments": {"case_id": CASE}}
    error(linked.modern("tools/call", answering(state) | other), 400, -32602)
    for change in ({"reason": "Another."}, {"action": "create_task"}, {"args": {"text": "Other."}}, {"request_id": "r"}):
        error(linked.modern("tools/call", answering(state, arguments=ARGUMENTS | change)), 400, -32602)
    same = dict(reversed(ARGUMENTS.items()))
    is_receipt(linked.modern_result("tools/call", answering(state, arguments=same)), world.ledger)


def test_a_state_ends_with_its_time(site: Site, leading: Handoff, world: World, http: httpx.Client) -> None:
    now = [datetime(2026, 7, 26, tzinfo=UTC)]
    with site.edge(handoff=leading, clock=lambda: now[0]) as edge:
        wire = Wire(edge, world.new_key(), http, capabilities={"elicitation": {"url": {}}}, headers={"host": "localhost"})
        state = asked(wire)["requestState"]
        now[0] += timedelta(seconds=limits.HANDOFF_LIVES_SECONDS - 1)
        is_receipt(wire.modern_result("tools/call", answering(state)), world.ledger)
        now[0] += timedelta(seconds=1)
        error(wire.modern("tools/call", answering(state)), 400, -32602)


def test_a_state_is_read_by_every_edge_with_its_key_and_its_address_and_by_no_other(
    site: Site, world: World, http: httpx.Client, tmp_path: Path
) -> None:
    old, new = (urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("=") for _ in range(2))
    known, found = world.new_key(), []

    def edge(keys: list[str], state: str | None, address: str = "https://one.example") -> str:
        """Asks, or answers, at an edge of its own."""
        file = tmp_path / "ring"
        file.write_text("\n".join(keys), encoding="utf-8")
        with site.edge(handoff=Handoff("https://firm.example", str(file)), public_url=address) as made:
            wire = Wire(made, known, http, capabilities={"elicitation": {"url": {}}})
            if state is None:
                return str(asked(wire)["requestState"])
            found.append(wire.modern("tools/call", answering(state)).status_code)
            return state

    state = edge([old], None)
    for keys, address in (([old], "https://one.example"), ([new, old], "https://one.example"), ([new], "https://one.example")):
        edge(keys, state, address)
    edge([old], state, "https://two.example")
    assert found == [200, 200, 400, 400]
    assert len(world.ledger.filed) == 1


@pytest.mark.parametrize(
    "responses",
    [
        None,
        {},
        {"unknown": {"action": "accept"}},
        {QUESTION: {}},
        {QUESTION: {"action": "approve"}},
        {QUESTION: 5},
        {QUESTION: {"action": 1}},
    ],
)
def test_an_answer_that_is_missing_or_cannot_be_read_is_asked_for_again(linked: Wire, world: World, responses: Any) -> None:
    first = asked(linked)
    params = PROPOSE | {"requestState": first["requestState"]} | ({} if responses is None else {"inputResponses": responses})
    assert linked.modern_result("tools/call", params) == first
    assert (len(world.ledger.filed), world.ledger.only()[2].answer) == (1, "")


def test_answers_that_are_no_object_are_refused(linked: Wire, world: World) -> None:
    state = asked(linked)["requestState"]
    error(linked.modern("tools/call", PROPOSE | {"requestState": state, "inputResponses": []}), 400, -32602)


def test_answers_to_no_question_of_ours_are_a_call_that_ends_in_its_receipt(linked: Wire, world: World) -> None:
    result = linked.modern_result("tools/call", PROPOSE | {"inputResponses": {QUESTION: {"action": "accept"}}})
    is_receipt(result, world.ledger)
    assert world.ledger.links == {}


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {}}, {"elicitation": {"form": {}}}, {"elicitation": {"url": None}}])
def test_a_request_that_does_not_say_its_client_opens_links_gets_the_receipt(linked: Wire, world: World, capabilities: Any) -> None:
    linked.capabilities = capabilities
    is_receipt(linked.modern_result("tools/call", PROPOSE), world.ledger)
    assert world.ledger.links == {}


def test_the_capabilities_are_those_of_each_request(linked: Wire, world: World) -> None:
    state = asked(linked)["requestState"]
    linked.capabilities = {}
    is_receipt(linked.modern_result("tools/call", PROPOSE | {"requestState": state}), world.ledger)
    assert world.ledger.only()[2].answer == ""


def test_without_an_approval_page_nothing_is_asked_and_no_state_is_ours(wire: Wire, world: World) -> None:
    wire.capabilities = {"elicitation": {"url": {}}}
    is_receipt(wire.modern_result("tools/call", PROPOSE), world.ledger)
    error(wire.modern("tools/call", answering("x")), 400, -32602)


def test_a_link_that_cannot_be_made_costs_nobody_a_receipt(linked: Wire, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.ledger.fault = failing("OpenHandoff")
    is_receipt(linked.modern_result("tools/call", PROPOSE), world.ledger)
    world.ledger.clear()
    monkeypatch.setattr(limits, "HANDOFF_RECEIPT_MAX_BYTES", 10)
    is_receipt(linked.modern_result("tools/call", PROPOSE), world.ledger)


def test_a_key_that_nobody_can_judge_once_it_has_filed_gets_its_receipt(linked: Wire, world: World) -> None:
    async def auth_goes_away(method: str) -> None:
        world.auth_up = method != "ProposeAction"

    world.ledger.fault = auth_goes_away
    is_receipt(linked.modern_result("tools/call", PROPOSE), world.ledger)
    assert world.ledger.links == {}


def test_an_answer_that_cannot_be_noted_costs_nobody_a_receipt(linked: Wire, world: World) -> None:
    state = asked(linked)["requestState"]
    world.ledger.fault = failing("AnswerHandoff")
    is_receipt(linked.modern_result("tools/call", answering(state, "decline")), world.ledger)
    assert world.ledger.only()[2].answer == ""
    world.ledger.fault = None
    until(lambda: world.ledger.only()[2].answer == "declined", "the answer is noted after all")


def test_a_link_that_is_gone_costs_nobody_a_receipt(linked: Wire, world: World) -> None:
    state = asked(linked)["requestState"]
    world.ledger.links.clear()
    is_receipt(linked.modern_result("tools/call", answering(state)), world.ledger)


def test_who_lost_access_in_between_gets_no_receipt(linked: Wire, world: World) -> None:
    state = asked(linked)["requestState"]

    async def screened(_method: str) -> None:
        raise Refusal(reasons.ERROR_REASON_MATTER_NOT_ACCESSIBLE, "The matter is not found or not accessible.")

    world.ledger.fault = screened
    result = linked.modern_result("tools/call", answering(state))
    assert result["isError"] is True
    assert result["_meta"]["substrate/refusal"]["reason"] == "matter_not_accessible"
    linked.known.revoked = True
    error(linked.modern("tools/call", answering(state)), 401, -32600)


def test_a_receipt_that_is_not_pending_has_no_link(linked: Wire, world: World) -> None:
    world.ledger.status = "something_else"
    assert linked.modern_result("tools/call", PROPOSE)["structuredContent"]["status"] == "something_else"
    assert (world.ledger.links, TOOL) == ({}, PROPOSE["name"])


def test_what_a_client_carries_is_never_longer_than_a_body_may_hold(linking: Running) -> None:
    assert limits.HANDOFF_RECEIPT_MAX_BYTES * 2 < limits.JSON_STRING_MAX_BYTES
    assert linking.url
