"""The key of a request: judged in every request, never kept, never in the URL; what cannot be judged is not served."""

import logging
from collections.abc import Callable

import httpx
import pytest
from substrate.auth.v1 import auth_service_pb2 as auth_pb
from substrate.common.v1 import error_reason_pb2 as reasons

from kit import limits
from tests.poll import until
from tests.system.edge.wire import JSON_HEADERS, Wire, auth, error, request
from tests.system.edge.world import CASE, World, refusing

CALL = {"name": "get_matter", "arguments": {"case_id": CASE}}


def challenge(answer: httpx.Response) -> str:
    """The WWW-Authenticate header of a 401."""
    assert answer.status_code == 401, answer.text
    return answer.headers["www-authenticate"]


def test_without_a_key_the_challenge_says_where_to_look_and_what_is_needed(wire: Wire) -> None:
    answer = wire.send(request("ping"), {"authorization": ""})
    base = wire.edge.url.removesuffix("/mcp")
    assert challenge(answer).startswith(f'Bearer resource_metadata="{base}/.well-known/oauth-protected-resource/mcp", scope="')
    assert " read" in challenge(answer).replace('scope="', " ")
    assert "error=" not in challenge(answer)
    assert "id" not in answer.json()


def spoiled(text: str) -> str:
    """The key with one letter of its secret changed."""
    return text[:20] + ("A" if text[20] != "A" else "B") + text[21:]


@pytest.mark.parametrize(
    "headers",
    [
        lambda key: {"authorization": f"Bearer {spoiled(key)}"},
        lambda key: {"authorization": f"Basic {key}"},
        lambda key: {"authorization": key},
        lambda key: {"authorization": "Bearer"},
        lambda key: {"authorization": f"Bearer {key} {key}"},
        lambda key: {"authorization": f"Bearer {key}", "x-api-key": spoiled(key)},
        lambda key: {"authorization": "Bearer brk_live_ü"},
        lambda key: {"x-api-key": "brk_" + "x" * 4000},
    ],
)
def test_a_key_with_a_wrong_form_is_refused_without_asking_anyone(
    wire: Wire, world: World, headers: Callable[[str], dict[str, str]]
) -> None:
    before = world.authenticated
    sent = [(k.encode(), v.encode("latin-1")) for k, v in (JSON_HEADERS | headers(wire.known.key.text)).items()]
    answer = wire.http.post(wire.edge.url, json=request("ping"), headers=sent)
    assert challenge(answer).endswith('error="invalid_token"')
    assert (world.authenticated, world.presented) == (before, [])


def test_a_key_in_the_url_is_refused_even_beside_a_good_one(wire: Wire) -> None:
    for query in (f"?api_key={wire.known.key.text}", f"?x={wire.known.key.text}", "?access_token=1"):
        answer = wire.http.post(wire.edge.url + query, json=request("ping"), headers=JSON_HEADERS | auth(wire.known))
        challenge(answer)


def test_either_header_or_both_with_the_same_key_will_do(wire: Wire) -> None:
    key = wire.known.key.text
    for headers in ({"authorization": "", "x-api-key": key}, {"x-api-key": key}, {"authorization": f"bearer   {key}"}):
        assert wire.send(request("initialize", {"protocolVersion": "2025-11-25"}), headers).status_code == 200


def test_a_revoked_key_is_refused_on_its_very_next_call_whatever_it_asks(legacy: Wire) -> None:
    assert legacy.call("ping").status_code == 200
    legacy.known.revoked = True
    calls = [
        legacy.call("ping"),
        legacy.call("tools/list"),
        legacy.call("tools/call", CALL),
        legacy.call("tools/call", {"name": "no_such_tool"}),
        legacy.call("tools/call", {"name": "get_matter", "arguments": {"wrong": 1}}),
        legacy.call("no/such/method"),
        legacy.call("initialize", {"protocolVersion": "2025-11-25"}),
        legacy.send({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        legacy.modern("tools/list"),
        legacy.modern("tools/call", CALL),
        legacy.modern("server/discover"),
        legacy.http.get(legacy.edge.url, headers=auth(legacy.known) | {"mcp-session-id": str(legacy.session)}),
        legacy.http.delete(legacy.edge.url, headers=auth(legacy.known) | {"mcp-session-id": str(legacy.session)}),
    ]
    assert {challenge(a).rpartition(" ")[2] for a in calls} == {'error="invalid_token"'}


def test_live_and_dead_sessions_look_the_same_without_a_good_key(legacy: Wire, world: World) -> None:
    stranger = world.new_key()
    stranger.revoked = True
    probes = [
        legacy.http.request(method, legacy.edge.url, headers=JSON_HEADERS | auth(stranger) | {"mcp-session-id": id_}, **body)  # type: ignore[arg-type]
        for method, body in (("POST", {"json": request("ping")}), ("DELETE", {}), ("GET", {}))
        for id_ in (str(legacy.session), "dead")
    ]
    assert {(p.status_code, p.json()["error"]["message"]) for p in probes} == {(401, probes[0].json()["error"]["message"])}


def test_the_service_gets_the_callers_own_key(legacy: Wire, world: World) -> None:
    world.presented = []
    legacy.result("tools/call", CALL)
    legacy.modern_result("tools/call", CALL)
    assert world.presented == [legacy.known.key.text] * 2


def test_a_tool_call_is_judged_once_by_the_service_that_serves_it(legacy: Wire, world: World) -> None:
    before = world.authenticated
    legacy.result("tools/call", CALL)
    assert world.authenticated == before
    legacy.call("ping")
    assert world.authenticated == before + 1


def test_where_auth_cannot_be_asked_nothing_is_served(legacy: Wire, world: World) -> None:
    world.auth_up = False
    for answer in (legacy.call("ping"), legacy.call("tools/list"), legacy.modern("server/discover"), legacy.call("initialize", {})):
        assert error(answer, 503, -32603)["id"] == 1
        assert answer.headers["retry-after"] == "1"
    result = legacy.result("tools/call", CALL)
    assert result["isError"] is True
    assert result["_meta"]["substrate/refusal"] == {"reason": "unavailable", "retryable": True}


def test_another_refusal_of_auth_is_not_taken_for_leave(legacy: Wire, world: World) -> None:
    denial = auth_pb.Denial(reason=reasons.ERROR_REASON_SCOPE_MISSING, message="secret words")
    world.denials = {legacy.known.key.text: denial}
    answer = legacy.call("ping")
    error(answer, 503, -32603)
    assert "secret" not in answer.text


def test_a_service_that_finds_the_key_bad_makes_the_edge_challenge(legacy: Wire, world: World) -> None:
    world.get_matter = refusing(reasons.ERROR_REASON_UNAUTHENTICATED, "no")
    answer = legacy.call("tools/call", CALL, 77)
    assert challenge(answer).endswith('error="invalid_token"')
    assert answer.json()["id"] == 77


def test_metadata_is_public_and_names_the_url_that_people_type(wire: Wire) -> None:
    base = wire.edge.url.removesuffix("/mcp")
    for path in ("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"):
        answer = wire.http.get(base + path)
        found = answer.json()
        assert found["resource"] == wire.edge.url
        assert found["bearer_methods_supported"] == ["header"]
        assert "read" in found["scopes_supported"]
        assert answer.headers["access-control-allow-origin"] == "*"


def test_only_what_went_wrong_or_took_long_is_logged_here(
    legacy: Wire, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def logged() -> list[int]:
        return [vars(r)["status"] for r in caplog.records if r.name == "edge.endpoint"]

    with caplog.at_level(logging.INFO):
        legacy.call("ping")
        assert logged() == []
        legacy.send(request("ping"), {"authorization": ""})
        until(lambda: logged() == [401], "the refusal is logged")
        monkeypatch.setattr(limits, "HTTP_SLOW_SECONDS", 0.0)
        legacy.call("ping")
        until(lambda: logged() == [401, 200], "the slow answer is logged")


def test_no_key_reaches_a_log(legacy: Wire, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        legacy.result("tools/call", CALL)
        legacy.call("nope")
        legacy.http.post(legacy.edge.url + f"?api_key={legacy.known.key.text}", json={}, headers=JSON_HEADERS)
    ours = [r for r in caplog.records if not r.name.startswith(("httpx", "httpcore"))]
    lines = "".join(f"{r.getMessage()} {vars(r)}" for r in ours)
    assert "edge.endpoint" in lines
    assert legacy.known.key.text not in lines
    assert legacy.known.key.secret not in lines
