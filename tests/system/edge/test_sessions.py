"""Sessions: bound to the key that made them, indistinguishable when they are not yours, gone when they are gone."""

import concurrent.futures
import gc
import tracemalloc
from typing import Any

import httpx
import pytest

from edge.config import Timing
from tests.poll import until
from tests.system.edge.running import Site
from tests.system.edge.wire import JSON_HEADERS, Wire, auth, error, request
from tests.system.edge.world import World

DELETED = 204


def ways_in(wire: Wire, session: str) -> list[httpx.Response]:
    """POST of two kinds, GET and DELETE on a session."""
    base = auth(wire.known) | {"mcp-session-id": session}
    return [
        wire.http.post(wire.edge.url, json=request("ping"), headers=JSON_HEADERS | base),
        wire.http.post(wire.edge.url, json=request("tools/call", {"name": "get_matter"}), headers=JSON_HEADERS | base),
        wire.http.post(wire.edge.url, json={"jsonrpc": "2.0", "id": 1, "result": {}}, headers=JSON_HEADERS | base),
        wire.http.get(wire.edge.url, headers={"accept": "text/event-stream"} | base),
        wire.http.delete(wire.edge.url, headers=base),
    ]


def test_a_session_id_is_long_random_and_visible_ascii(wire: Wire) -> None:
    ids = set()
    for _ in range(5):
        wire.session = None
        ids.add(wire.initialize().session)
    assert len(ids) == 5
    assert all(i and len(i) >= 32 and all("!" <= c <= "~" for c in i) for i in ids)


def test_unknown_ended_and_foreign_sessions_answer_with_the_same_bytes(wire: Wire, world: World, http: httpx.Client) -> None:
    mine = wire.initialize().session
    same_person = Wire(wire.edge, world.new_key(wire.known.owner), http)
    ended = Wire(wire.edge, wire.known, http).initialize()
    assert ended.session
    assert mine
    assert ended.http.delete(wire.edge.url, headers=auth(wire.known) | {"mcp-session-id": ended.session}).status_code == DELETED
    seen = [
        [(a.status_code, a.content, sorted(set(a.headers) - {"date"})) for a in answers]
        for answers in (ways_in(same_person, "unknown"), ways_in(same_person, mine), ways_in(same_person, ended.session))
    ]
    assert seen[0] == seen[1] == seen[2]
    assert {status for status, _, _ in seen[0]} == {404}
    assert wire.call("ping").status_code == 200


def test_a_request_without_a_session_is_never_given_the_only_one(legacy: Wire) -> None:
    legacy.session = None
    error(legacy.call("ping"), 400, -32600)
    before = legacy.edge.channel.counts
    for method in ("GET", "DELETE"):
        assert legacy.http.request(method, legacy.edge.url, headers=auth(legacy.known)).status_code == 400
    assert legacy.edge.channel.counts == before


@pytest.mark.parametrize("id_", ["a b", "a\x7fb", "x" * 129, ""])
def test_what_cannot_be_a_session_id_is_a_bad_request(legacy: Wire, id_: str) -> None:
    headers = JSON_HEADERS | auth(legacy.known) | {"mcp-session-id": id_}
    assert legacy.http.post(legacy.edge.url, json=request("ping"), headers=headers).status_code == 400


def test_two_session_headers_are_refused(legacy: Wire) -> None:
    headers = [*(JSON_HEADERS | auth(legacy.known)).items(), ("mcp-session-id", str(legacy.session)), ("mcp-session-id", "other")]
    error(legacy.http.post(legacy.edge.url, json=request("ping"), headers=headers), 400, -32600)


def test_a_second_initialize_on_a_live_session_is_refused(legacy: Wire) -> None:
    body = error(legacy.call("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}, "again"), 400, -32600)
    assert body["id"] == "again"
    assert legacy.call("ping").status_code == 200


def test_initialize_with_a_stale_or_planted_session_id_makes_a_new_session(wire: Wire, world: World, http: httpx.Client) -> None:
    foreign = Wire(wire.edge, world.new_key(), http).initialize().session
    for planted in ("stale-session-id", foreign):
        wire.session = planted
        assert wire.initialize().session != planted


def test_delete_ends_the_session_once(legacy: Wire) -> None:
    headers = auth(legacy.known) | {"mcp-session-id": str(legacy.session)}
    answers = [legacy.http.delete(legacy.edge.url, headers=headers) for _ in range(2)]
    assert [(a.status_code, a.content == b"") for a in answers] == [(DELETED, True), (404, False)]


def test_a_delete_that_is_refused_is_no_departure(legacy: Wire) -> None:
    headers = auth(legacy.known) | {"mcp-session-id": str(legacy.session), "mcp-protocol-version": "1900-01-01"}
    assert legacy.http.delete(legacy.edge.url, headers=headers).status_code == 400
    assert legacy.call("ping").status_code == 200


def test_no_session_id_stands_on_an_answer_that_opened_none(wire: Wire) -> None:
    answers = [wire.call("ping"), wire.call("initialize", {}), wire.send([], {}), wire.send(None, content=b"{")]
    wire.initialize()
    answers += [wire.call("ping"), wire.call("nope")]
    assert not [a for a in answers if "mcp-session-id" in a.headers]


def test_sessions_come_and_go_without_a_trace(wire: Wire) -> None:
    before = wire.edge.channel.counts
    for _ in range(50):
        wire.session = None
        wire.initialize()
        wire.http.delete(wire.edge.url, headers=auth(wire.known) | {"mcp-session-id": str(wire.session)})
    assert wire.edge.channel.counts == before


def test_idle_sessions_expire_and_used_ones_do_not(site: Site, world: World, http: httpx.Client) -> None:
    with site.edge(Timing(session_idle_seconds=0.4, session_sweep_seconds=0.05)) as edge:
        kept, left = (Wire(edge, world.new_key(), http).initialize() for _ in range(2))

        def left_is_gone() -> bool:
            assert kept.call("ping").status_code == 200
            return edge.channel.counts[0] == 1

        until(left_is_gone, "the idle session expires")
        error(left.call("ping"), 404, -32600)


def test_a_restarted_edge_sends_its_clients_back_to_initialize(site: Site, world: World, http: httpx.Client) -> None:
    with site.edge() as edge:
        old = Wire(edge, world.new_key(), http).initialize()
    with site.edge() as edge:
        again = Wire(edge, old.known, http, session=old.session)
        error(again.call("ping"), 404, -32600)
        assert again.initialize().call("ping").status_code == 200


def test_many_keys_with_the_same_request_ids_get_their_own_answers(site: Site, wire: Wire, world: World) -> None:
    clients = [Wire(wire.edge, world.new_key(), wire.http).initialize() for _ in range(12)]

    def ask(number: int) -> Any:
        return clients[number].call("ping", id_=2).json(), clients[number].call("tools/list", id_=2).json()["id"]

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        assert all(a == ({"jsonrpc": "2.0", "id": 2, "result": {}}, 2) for a in pool.map(ask, range(12)))
    assert set(world.keys) >= {c.known.key.text for c in clients}


def test_what_a_client_says_of_itself_does_not_stay_in_memory_with_its_sessions(wire: Wire) -> None:
    capabilities = {"experimental": {f"x{n}": {"a": "y" * 200_000} for n in range(4)}, "elicitation": {"z" * 1_000: {}}}
    body = request("initialize", {"protocolVersion": "2025-11-25", "capabilities": capabilities})
    assert wire.send(body).status_code == 200
    tracemalloc.start()
    try:
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(50):
            assert wire.send(body).status_code == 200
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 2_000_000
