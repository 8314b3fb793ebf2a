"""Tool calls from the argument to the answer: every mistake named, every refusal readable, nothing internal said."""

import json
from typing import Any

import jsonschema_rs
import pytest
from google.protobuf.message import Message
from substrate.common.v1 import error_reason_pb2 as reasons
from substrate.reads.v1 import matters_pb2

from kit import catalogue, limits
from kit.errors import FieldError
from tests.system.edge.wire import Wire, error
from tests.system.edge.world import CASE, World, attested, matter, refusing

CALL = {"name": "get_matter", "arguments": {"case_id": CASE}}


def refused(result: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Text and machine-readable part of a result that says no."""
    assert result["isError"] is True
    assert "structuredContent" not in result
    return result["content"][0]["text"], result["_meta"]["substrate/refusal"]


def test_an_answer_is_the_same_json_as_data_and_as_text_and_keeps_its_schema(legacy: Wire) -> None:
    tools = {t["name"]: t for t in legacy.result("tools/list")["tools"]}
    for name, arguments in (("get_matter", {"case_id": CASE}), ("list_matters", {}), ("list_matters", None)):
        params = {"name": name} | ({} if arguments is None else {"arguments": arguments})
        for result in (legacy.result("tools/call", params), legacy.modern_result("tools/call", params)):
            assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
            jsonschema_rs.validate(tools[name]["outputSchema"], result["structuredContent"])
            assert set(result["structuredContent"]) == set(tools[name]["outputSchema"]["properties"])
            assert "isError" not in result


def test_an_empty_and_an_unreadable_list_keep_the_schema_too(legacy: Wire, world: World) -> None:
    schema = next(t for t in legacy.result("tools/list")["tools"] if t["name"] == "list_matters")["outputSchema"]
    world.rows = 0
    result = legacy.result("tools/call", {"name": "list_matters"})["structuredContent"]
    assert (result["matters"], result["read_state"], result["next_page_token"]) == ([], "empty", None)
    jsonschema_rs.validate(schema, result)
    jsonschema_rs.validate(schema, result | {"matters": None, "count": None, "read_state": "unreadable"})
    with pytest.raises(jsonschema_rs.ValidationError):
        jsonschema_rs.validate(schema, {k: v for k, v in result.items() if k != "as_of"})


@pytest.mark.parametrize(
    ("arguments", "path", "words"),
    [
        ({}, "case_id", "required"),
        ({"case_id": CASE, "caseid": 1}, "caseid", "perhaps case_id is meant"),
        ({"case_id": 5}, "case_id", "expected a string, got a number"),
        ({"case_id": None}, "case_id", "leave it out"),
        ({"case_id": "not a uuid"}, "case_id", "uuid"),
        ({"case_id": CASE, "": 1}, "", "unknown argument"),
    ],
)
def test_a_wrong_argument_is_named_with_what_was_expected(legacy: Wire, arguments: dict[str, Any], path: str, words: str) -> None:
    text, detail = refused(legacy.result("tools/call", {"name": "get_matter", "arguments": arguments}))
    found = {f["path"]: f["expected"] for f in detail["fields"]}
    assert words.lower() in found[path].lower()
    assert found[path] in text
    assert detail["reason"] == "invalid_argument"


@pytest.mark.parametrize(
    ("arguments", "good"),
    [
        ({"page_size": 5}, True),
        ({"page_size": 5.0}, True),
        ({"page_size": "5"}, False),
        ({"page_size": 5.5}, False),
        ({"page_size": True}, False),
        ({"page_size": None}, False),
        ({"page_size": 2**31}, False),
        ({"page_size": -1}, False),
        ({"page_size": 201}, False),
        ({"page_token": "x" * 513}, False),
        ({"page_token": 1}, False),
        ({"Page_size": 5}, False),
        ({"page_ſize": 5}, False),
    ],
)
def test_what_the_schema_refuses_is_refused_and_nothing_else(legacy: Wire, arguments: dict[str, Any], good: bool) -> None:
    schema = next(t for t in legacy.result("tools/list")["tools"] if t["name"] == "list_matters")["inputSchema"]
    assert jsonschema_rs.is_valid(schema, arguments) is good
    result = legacy.result("tools/call", {"name": "list_matters", "arguments": arguments})
    assert ("isError" not in result) is good


def test_every_wrong_argument_is_named_at_once_up_to_a_limit(legacy: Wire) -> None:
    text, detail = refused(legacy.result("tools/call", {"name": "list_matters", "arguments": {f"x{n}": n for n in range(500)}}))
    assert len(detail["fields"]) == limits.FIELD_ERRORS_MAX
    assert len(text) < 5_000
    long, _ = refused(legacy.result("tools/call", {"name": "list_matters", "arguments": {"x" * 100_000: 1}}))
    assert len(long) < 1_000


def test_an_unknown_tool_or_a_malformed_call_is_an_error_of_the_protocol(legacy: Wire) -> None:
    for params in ({"name": "nope"}, {"name": "GET_MATTER"}, {"name": 5}, {}, {"name": "get_matter", "arguments": []}):
        error(legacy.call("tools/call", params), 200, -32602)
    assert "nope" in legacy.call("tools/call", {"name": "nope"}).text
    assert len(legacy.call("tools/call", {"name": "n" * 100_000}).content) < 1_000


def test_task_and_meta_of_a_call_change_nothing_where_tasks_are_not_offered(legacy: Wire) -> None:
    extra = {"task": {"ttl": 1}, "_meta": {"progressToken": 0}}
    assert "isError" not in legacy.result("tools/call", CALL | extra)
    assert "isError" not in legacy.modern_result("tools/call", CALL | {"task": {"ttl": 1}})


@pytest.mark.parametrize(
    "reason",
    ["SCOPE_MISSING", "CLASS_REFUSED", "MATTER_NOT_ACCESSIBLE", "INVALID_ARGUMENT", "NOT_FOUND", "CONFLICT"],
)
def test_what_a_service_refuses_is_a_result_that_a_model_can_read(legacy: Wire, world: World, reason: str) -> None:
    number = reasons.ErrorReason.Value(f"ERROR_REASON_{reason}")
    world.get_matter = refusing(number, "A plain sentence.", fields=[FieldError("case_id", "a uuid")])
    for result in (legacy.result("tools/call", CALL), legacy.modern_result("tools/call", CALL)):
        text, detail = refused(result)
        assert text == "A plain sentence."
        assert detail == {"reason": reason.lower(), "retryable": False, "fields": [{"path": "case_id", "expected": "a uuid"}]}


def test_a_rate_limit_states_its_limit_and_when_to_come_back(legacy: Wire, world: World) -> None:
    said = "Rate limit reached: 120 calls a minute. Try again in 7 s."
    world.get_matter = refusing(reasons.ERROR_REASON_RATE_LIMITED, said, limit_per_minute=120, retry_after_seconds=7)
    text, detail = refused(legacy.result("tools/call", CALL))
    assert text == said
    assert detail == {"reason": "rate_limited", "retryable": True, "limitPerMinute": 120, "retryAfterSeconds": 7}


def test_a_matter_that_is_not_yours_and_one_that_does_not_exist_answer_with_the_same_bytes(legacy: Wire) -> None:
    ids = ("22222222-2222-4222-8222-222222222222", "33333333-3333-4333-8333-333333333333")
    answers = [legacy.call("tools/call", {"name": "get_matter", "arguments": {"case_id": id_}}) for id_ in ids]
    assert answers[0].content == answers[1].content
    refused(answers[0].json()["result"])


@pytest.mark.parametrize("reason", ["INTERNAL", "CALLER_REFUSED", "UNSPECIFIED"])
def test_a_defect_behind_the_edge_says_an_incident_and_nothing_else(legacy: Wire, world: World, reason: str) -> None:
    number = reasons.ErrorReason.Value(f"ERROR_REASON_{reason}")
    world.get_matter = refusing(number, "SELECT secret FROM /srv/path: incident 0123abcd of table x")
    for answer in (legacy.call("tools/call", CALL), legacy.modern("tools/call", CALL)):
        body = error(answer, 200, -32603)
        assert "0123abcd" in body["error"]["message"]
        assert "secret" not in answer.text
        assert "/srv" not in answer.text


def test_an_exception_behind_the_edge_never_reaches_a_client(legacy: Wire, world: World) -> None:
    async def broken(_request: Any) -> Message:
        raise RuntimeError("SELECT secret")

    world.get_matter = broken
    answer = legacy.call("tools/call", CALL)
    error(answer, 200, -32603)
    assert "incident" in answer.text
    assert "SELECT" not in answer.text


def test_an_answer_that_cannot_be_encoded_is_an_incident(legacy: Wire, world: World) -> None:
    async def unknown_word(_request: Any) -> Message:
        answer = matters_pb2.GetMatterResponse(matter=matter(1))
        answer.read_state = 77  # type: ignore[assignment]  # a word that this edge does not know yet
        return attested(answer)  # type: ignore[no-any-return]

    world.get_matter = unknown_word
    body = error(legacy.call("tools/call", CALL), 500, -32603)
    assert "incident" in body["error"]["message"]


def test_a_tool_whose_service_is_missing_is_a_defect_and_not_a_hang(legacy: Wire) -> None:
    name = next(t.name for t in catalogue.load().tools if t.service.startswith("substrate.reads.") and "MatterService" not in t.service)
    error(legacy.call("tools/call", {"name": name, "arguments": {"case_id": CASE}}), 200, -32603)
