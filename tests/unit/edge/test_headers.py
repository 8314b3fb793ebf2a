"""Headers: routing headers and their wrapped values, what a client accepts, hosts and origins, the challenge."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge import negotiation, routing_headers
from edge.authorization import Authorization
from edge.errors import HEADER_MISMATCH, Fault
from edge.negotiation import Accepts
from edge.origins import Origins

V = "io.modelcontextprotocol/protocolVersion"


def wrapped(data: bytes) -> str:
    """A value in its wrapping."""
    return f"=?base64?{base64.b64encode(data).decode()}?="


@given(st.text())
def test_a_wrapped_text_is_unwrapped_and_a_plain_one_is_itself(text: str) -> None:
    if not any("\ud800" <= c <= "\udfff" for c in text):
        assert routing_headers.decode(wrapped(text.encode())) == text
    if not text.startswith("=?"):
        assert routing_headers.decode(text) == text


@given(st.text(st.sampled_from("ABab01+/=- _\n?é"), max_size=12))
def test_only_the_one_spelling_of_a_wrapped_text_is_taken(payload: str) -> None:
    found = routing_headers.decode(f"=?base64?{payload}?=")
    assert found is None or wrapped(found.encode()) == f"=?base64?{payload}?="


@pytest.mark.parametrize("value", ["=?base64?", "?=", "=?BASE64?YQ==?=", "=?base64?YQ==", "x=?base64?YQ==?="])
def test_a_value_without_both_ends_of_the_wrapping_is_literal(value: str) -> None:
    assert routing_headers.decode(value) == value


def mismatch(call: Any, *arguments: Any) -> None:
    """Fails where the headers are found to agree."""
    with pytest.raises(Fault) as caught:
        call(*arguments)
    assert caught.value.code == HEADER_MISMATCH


MIRRORED = {("region",): "Region", ("deep", "n"): "Count", ("on",): "On"}


@pytest.mark.parametrize(
    ("headers", "arguments"),
    [
        ({"mcp-param-region": ["eu"]}, {"region": "eu"}),
        ({"mcp-param-region": [wrapped("zürich".encode())]}, {"region": "zürich"}),
        ({"mcp-param-count": ["42.0"]}, {"deep": {"n": 42}}),
        ({"mcp-param-count": ["42"]}, {"deep": {"n": 42.0}}),
        ({"mcp-param-count": ["-7"]}, {"deep": {"n": -7}}),
        ({"mcp-param-on": ["true"]}, {"on": True}),
        ({"mcp-param-unknown": ["x"]}, {}),
        ({}, {"region": None, "deep": 5}),
    ],
)
def test_mirrored_arguments_that_agree_pass(headers: dict[str, list[str]], arguments: dict[str, Any]) -> None:
    routing_headers.check_arguments(headers, MIRRORED, arguments)


@pytest.mark.parametrize(
    ("headers", "arguments"),
    [
        ({}, {"region": "eu"}),
        ({"mcp-param-region": ["us"]}, {"region": "eu"}),
        ({"mcp-param-region": ["eu", "eu"]}, {"region": "eu"}),
        ({"mcp-param-region": ["eu"]}, {}),
        ({"mcp-param-region": ["eu"]}, {"region": None}),
        ({"mcp-param-region": ["=?base64?ZXU?="]}, {"region": "eu"}),
        ({"mcp-param-count": ["42.5"]}, {"deep": {"n": 42}}),
        ({"mcp-param-count": ["4.2e1"]}, {"deep": {"n": 42}}),
        ({"mcp-param-count": ["0x2a"]}, {"deep": {"n": 42}}),
        ({"mcp-param-count": ["٤٢"]}, {"deep": {"n": 42}}),
        ({"mcp-param-on": ["True"]}, {"on": True}),
        ({"mcp-param-on": ["1"]}, {"on": True}),
    ],
)
def test_mirrored_arguments_that_do_not_agree_are_refused(headers: dict[str, list[str]], arguments: dict[str, Any]) -> None:
    mismatch(routing_headers.check_arguments, headers, MIRRORED, arguments)


def test_names_are_taken_from_the_member_that_belongs_to_the_method() -> None:
    for method, member in (("tools/call", "name"), ("prompts/get", "name"), ("resources/read", "uri"), ("tasks/get", "taskId")):
        params = {"_meta": {V: "v"}, member: "x"}
        headers = {"mcp-protocol-version": ["v"], "mcp-method": [method], "mcp-name": ["x"]}
        routing_headers.check(headers, method, params)
        mismatch(routing_headers.check, headers | {"mcp-name": ["y"]}, method, params)
        mismatch(routing_headers.check, {k: v for k, v in headers.items() if k != "mcp-name"}, method, params)


@pytest.mark.parametrize(
    ("values", "json", "sse"),
    [
        ([], True, True),
        ([""], True, True),
        (["*/*"], True, True),
        (["application/json"], True, False),
        (["Text/Event-Stream ; q=0.5"], False, True),
        (["application/json", "text/event-stream"], True, True),
        (["*/*;q=0, application/json"], True, False),
        (["text/*;q=0, */*"], True, False),
        (["application/json;q=0.0, */*;q=1"], False, True),
        (["text/html"], False, False),
        (["application/json;q=junk"], False, False),
        (["application/json;q=nan"], False, False),
        (["application/json;v=1;q=0"], False, False),
        ([",,;;,application/json"], True, False),
    ],
)
def test_what_is_accepted(values: list[str], json: bool, sse: bool) -> None:
    assert negotiation.accepts(tuple(values)) == Accepts(json=json, sse=sse)


@given(st.lists(st.text(st.sampled_from("aplicton/json,;q=0.* -"), max_size=40), max_size=3))
def test_any_accept_header_has_a_meaning(values: list[str]) -> None:
    assert isinstance(negotiation.accepts(tuple(values)), Accepts)


@pytest.mark.parametrize(
    ("types", "encodings", "good"),
    [
        (["application/json"], [], True),
        (["application/json"], ["identity"], True),
        (["APPLICATION/JSON;Charset=UTF-8"], [], True),
        (["application/json; charset=utf-16"], [], False),
        (["application/json"], ["gzip"], False),
        (["application/json", "application/json"], [], False),
        ([], [], False),
        (["text/plain"], [], False),
        (["application/json, text/plain"], [], False),
    ],
)
def test_only_plain_json_in_utf_8_counts_as_json(types: list[str], encodings: list[str], good: bool) -> None:
    assert negotiation.is_json(tuple(types), tuple(encodings)) is good


ORIGINS = Origins(["localhost", "[::1]", "api.example:8443"], ["https://App.example/"], "https://public.example/base")


@pytest.mark.parametrize(
    ("hosts", "good"),
    [
        (["localhost"], True),
        (["LocalHost:65535"], True),
        (["[::1]:80"], True),
        (["public.example"], True),
        (["api.example:8443"], True),
        (["api.example"], False),
        (["api.example:443"], False),
        (["localhost", "localhost"], False),
        ([], False),
        ([""], False),
        (["localhost."], False),
        (["localhost:"], False),
        (["localhost:1:2"], False),
        (["localhost/x"], False),
        (["user@localhost"], False),
        (["ⓛocalhost"], False),
    ],
)
def test_hosts(hosts: list[str], good: bool) -> None:
    assert ORIGINS.host_allowed(hosts) is good


@pytest.mark.parametrize(
    ("origins", "good"),
    [
        ([], True),
        (["https://app.example"], True),
        (["HTTPS://APP.EXAMPLE"], True),
        (["http://localhost:8080"], True),
        (["https://localhost:8080"], True),
        (["http://localhost"], False),
        (["null"], False),
        ([""], False),
        (["https://app.example", "https://app.example"], False),
        (["https://app.example.evil"], False),
    ],
)
def test_origins(origins: list[str], good: bool) -> None:
    assert ORIGINS.origin_allowed(origins, ["localhost:8080"]) is good


def test_the_challenge_names_every_scope_once_and_the_metadata() -> None:
    made = Authorization("https://x.example/", ["read", "docs:read", "read"], [])
    base = 'Bearer resource_metadata="https://x.example/.well-known/oauth-protected-resource/mcp", scope="docs:read read"'
    assert made.challenge(presented=False) == (b"www-authenticate", base.encode())
    assert made.challenge(presented=True)[1] == f'{base}, error="invalid_token"'.encode()
    assert b"authorization_servers" not in made.metadata
    assert b'"authorization_servers":["https://a"]' in Authorization("https://x", ["read"], ["https://a"]).metadata
