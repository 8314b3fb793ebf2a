"""What HTTP alone decides: hosts and origins, methods, types, sizes, paths, and browsers that ask first."""

import json
from typing import Any

import httpx
import pytest

from edge.config import Backends
from kit import limits
from tests.system.edge.running import Site
from tests.system.edge.wire import JSON_HEADERS, Wire, auth, error, request
from tests.system.edge.world import World

PING = json.dumps(request("ping")).encode()


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "localhost:evil",
        "localhost@evil",
        "[::2]",
        "local host",
    ],
)
def test_a_host_that_is_not_ours_is_refused(legacy: Wire, host: str) -> None:
    error(legacy.send(request("ping"), {"host": host}), 403, -32600)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:99", "[::1]:8080"])
def test_our_own_names_are_answered_whatever_the_port(legacy: Wire, host: str) -> None:
    assert legacy.send(request("ping"), {"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["null", "https://evil.example", "https://app.example.evil.example", "https://app.example:444", "http://app.example", "file://", "x"],
)
def test_a_page_of_another_site_is_refused(legacy: Wire, origin: str) -> None:
    error(legacy.send(request("ping"), {"origin": origin}), 403, -32600)
    got = legacy.http.get(legacy.edge.url, headers=auth(legacy.known) | {"origin": origin, "mcp-session-id": str(legacy.session)})
    assert got.status_code == 403


def test_a_listed_origin_is_served_and_its_page_may_read_the_answer(legacy: Wire) -> None:
    answer = legacy.send(request("ping"), {"origin": "https://app.example"})
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "https://app.example"
    assert "mcp-session-id" in answer.headers["access-control-expose-headers"]
    assert "www-authenticate" in answer.headers["access-control-expose-headers"]
    refused = legacy.send(request("ping"), {"origin": "https://app.example", "authorization": ""})
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, "https://app.example")


def test_our_own_origin_is_served(legacy: Wire) -> None:
    origin = legacy.edge.url.removesuffix("/mcp")
    assert legacy.send(request("ping"), {"origin": origin}).status_code == 200


def test_a_browser_that_asks_first_is_told_what_it_may_send(wire: Wire) -> None:
    asking = {"origin": "https://app.example", "access-control-request-method": "POST"}
    answer = wire.http.options(wire.edge.url, headers=asking)
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == "https://app.example"
    allowed = answer.headers["access-control-allow-headers"]
    assert all(h in allowed for h in ("authorization", "mcp-session-id", "mcp-method", "mcp-name", "last-event-id"))
    assert wire.http.options(wire.edge.url, headers=asking | {"origin": "https://evil.example"}).status_code == 403


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD", "TRACE", "PROPFIND"])
def test_other_methods_are_not_allowed_and_the_right_ones_named(wire: Wire, method: str) -> None:
    answer = wire.http.request(method, wire.edge.url, headers=auth(wire.known))
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST, DELETE")


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_both_spellings_of_the_path_answer_without_a_redirect(legacy: Wire, path: str) -> None:
    url = legacy.edge.url.removesuffix("/mcp") + path
    headers = JSON_HEADERS | auth(legacy.known) | {"mcp-session-id": str(legacy.session)}
    assert legacy.http.post(url, content=PING, headers=headers).json()["result"] == {}


def test_other_paths_do_not_exist(wire: Wire) -> None:
    base = wire.edge.url.removesuffix("/mcp")
    for path in ("/", "/mcp/x", "/sse", "/mcp//", "/MCP", "/%6dcp/x"):
        assert wire.http.post(base + path, content=PING, headers=JSON_HEADERS | auth(wire.known)).status_code == 404


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "multipart/form-data", "", "application/json; charset=utf-16"],
)
def test_a_body_that_is_not_declared_as_json_is_not_read(legacy: Wire, kind: str) -> None:
    error(legacy.send(request("ping"), {"content-type": kind}), 415, -32600)


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=UTF-8", 'application/json;charset="utf-8"'])
def test_json_may_be_declared_in_every_usual_way(legacy: Wire, kind: str) -> None:
    assert legacy.send(request("ping"), {"content-type": kind}).status_code == 200


def test_a_compressed_body_is_not_taken(legacy: Wire) -> None:
    error(legacy.send(request("ping"), {"content-encoding": "gzip"}), 415, -32600)


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("application/json", "application/json"),
        ("text/event-stream", "text/event-stream"),
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        ("text/*", "text/event-stream"),
        ("application/json, text/event-stream", "application/json"),
        ("application/json;q=0, text/event-stream", "text/event-stream"),
        ("application/json;q=0, */*", "text/event-stream"),
        ("text/event-stream;q=0, */*;q=0.1", "application/json"),
    ],
)
def test_the_answer_has_a_form_that_the_client_takes(legacy: Wire, accept: str, kind: str) -> None:
    answer = legacy.send(request("ping"), {"accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (200, kind)


@pytest.mark.parametrize("accept", ["text/html", "application/json;q=0", "*/*;q=0", "application/json;q=0, text/event-stream;q=0.000"])
def test_a_client_that_takes_neither_form_is_told_so(legacy: Wire, accept: str) -> None:
    error(legacy.send(request("ping"), {"accept": accept}), 406, -32600)


@pytest.mark.parametrize("over", [0, 1])
def test_a_body_over_the_cap_is_refused_with_and_without_a_declared_length(legacy: Wire, over: int) -> None:
    size = limits.HTTP_BODY_MAX_BYTES + over
    padded = PING[:-1] + b" " * (size - len(PING)) + b"}"
    assert len(padded) == size
    parts = (padded[n : n + 65536] for n in range(0, size, 65536))
    sent: list[Any] = [padded, parts]
    for content in sent:
        answer = legacy.http.post(
            legacy.edge.url, content=content, headers=JSON_HEADERS | auth(legacy.known) | {"mcp-session-id": str(legacy.session)}
        )
        assert answer.status_code == (413 if over else 200)
    assert legacy.call("ping").status_code == 200


def test_health_needs_no_key_and_answers_to_any_host(wire: Wire) -> None:
    base = wire.edge.url.removesuffix("/mcp")
    for path in ("/healthz", "/readyz"):
        answer = wire.http.get(base + path, headers={"host": "10.0.0.7:8080"})
        assert (answer.status_code, answer.text) == (200, "ok\n")


def test_an_edge_whose_programs_are_gone_says_it_is_not_ready(site: Site, world: World, http: httpx.Client) -> None:
    with site.edge(
        backends=Backends(auth="127.0.0.1:1", reads=site.backend.reads_address, proposals=site.backend.proposals_address)
    ) as edge:
        answer = http.get(edge.url.removesuffix("/mcp") + "/readyz")
        assert (answer.status_code, answer.text) == (503, "waiting for auth\n")
        assert http.get(edge.url.removesuffix("/mcp") + "/healthz").status_code == 200


def test_answers_are_not_kept_or_sniffed(legacy: Wire) -> None:
    answer = legacy.call("ping")
    assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == ("no-store", "nosniff")
    assert "server" not in answer.headers
