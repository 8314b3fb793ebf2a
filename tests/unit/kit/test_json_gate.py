"""The JSON gate: agrees with other readers on what JSON is, refuses what two of them could read differently, and is linear."""

import json
import time
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import json_gate as gate
from kit import limits
from kit.json_gate import Rejected, parse

SAFE = st.integers(-(2**53) + 1, 2**53 - 1)
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
REALS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | SAFE | REALS | TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=30,
)


def refusal(body: bytes) -> Rejected | None:
    """The refusal of a body; None where it is taken."""
    try:
        parse(body)
    except Rejected as rejected:
        return rejected
    return None


def code(body: bytes) -> int:
    """The code of the refusal of a body."""
    rejected = refusal(body)
    assert rejected is not None
    return rejected.code


@given(VALUES, st.booleans())
def test_what_is_written_is_read_back(value: Any, ascii_only: bool) -> None:
    assert parse(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@given(st.binary(max_size=60) | st.text(st.sampled_from('{}[]",:\\u0d8 1e-.tnNIfalse"\ufeff'), max_size=40).map(str.encode))
def test_two_other_readers_agree_with_what_is_taken(body: bytes) -> None:
    try:
        value = parse(body)
    except Rejected:
        return
    assert value == orjson.loads(body) == json.loads(body)


@given(st.text(st.sampled_from('{}[]",: 1ab\\'), max_size=30))
def test_nothing_but_json_and_no_json_without_a_cause_is_refused(text: str) -> None:
    rejected = refusal(text.encode())
    if rejected is not None and "valid JSON" in rejected.message:
        with pytest.raises(orjson.JSONDecodeError):
            orjson.loads(text)
    elif rejected is not None:
        assert "twice" in rejected.message or "NUL" in rejected.message or "surrogate" in rejected.message


@pytest.mark.parametrize("text", ['{"a":1,"a":1}', '{"a":1,"\\u0061":2}', '[{"x":{"b":1,"b":null}}]'])
def test_an_object_with_a_key_twice_is_refused(text: str) -> None:
    assert code(text.encode()) == -32700


@pytest.mark.parametrize(
    "literal", ["9007199254740992", "-9007199254740992", "1" * 400, "1" * 5_000, "-0", "1e400", "-1e400", "1" * 500 + ".5"][:]
)
def test_a_number_that_would_not_arrive_exactly_is_refused(literal: str) -> None:
    assert code(f'{{"id":1,"a":{literal}}}'.encode()) == -32602
    assert code(f"[{literal}]".encode()) == -32600


@pytest.mark.parametrize("literal", ["9007199254740991", "-9007199254740991", "0", "-1", "1.5", "-0.0", "1e3", "0.1e-7"])
def test_a_number_that_arrives_exactly_is_taken(literal: str) -> None:
    assert parse(f"[{literal}]".encode()) == json.loads(f"[{literal}]")


@pytest.mark.parametrize("spelt", ["\\ud800", "\\uDFFF", "\\udc00\\ud800", "\\u0000", "x\\u0000", "\\ud83d x"])
def test_half_surrogates_and_nul_are_refused_as_values_and_as_keys(spelt: str) -> None:
    assert code(f'{{"id":1,"a":"{spelt}"}}'.encode()) == -32602
    assert code(f'{{"id":1,"{spelt}":1}}'.encode()) == -32602


@pytest.mark.parametrize("spelt", ["\\ud83d\\ude00", "\\\\u0000", "\\\\ud800", "\\u00e9"])
def test_escapes_that_only_look_like_those_are_taken(spelt: str) -> None:
    assert parse(f'["{spelt}"]'.encode()) == json.loads(f'["{spelt}"]')


def test_depth_and_members_have_exact_limits() -> None:
    deep = limits.JSON_DEPTH_MAX
    assert parse(b"[" * deep + b"]" * deep)
    assert code(b"[" * (deep + 1) + b"]" * (deep + 1)) == -32700
    assert parse(b'["' + b"[" * 500 + b'"]') == ["[" * 500]
    many = limits.JSON_MEMBERS_MAX
    assert len(parse(b"[" + b"1," * (many - 2) + b"1]")) == many - 1
    assert code(b"[" + b"1," * many + b"1]") == -32600


def test_a_string_has_an_exact_limit_in_bytes() -> None:
    size = limits.JSON_STRING_MAX_BYTES
    assert len(parse(b'["' + b"x" * size + b'"]')[0]) == size
    assert code(b'["' + b"x" * (size + 1) + b'"]') == -32600
    assert code(b'["' + "é".encode() * (size // 2 + 1) + b'"]') == -32600


IDS = SAFE | TEXT
MEMBERS = st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "method": TEXT, "params": st.dictionaries(TEXT, VALUES, max_size=3)})


@given(IDS, MEMBERS, st.permutations(["jsonrpc", "id", "method", "params"]))
def test_the_id_of_a_request_is_found_wherever_it_stands(id_: Any, members: dict[str, Any], order: list[str]) -> None:
    request = members | {"id": id_}
    text = json.dumps({name: request[name] for name in order})
    found = gate.recover_id(text)
    assert found is None or (found == id_ and type(found) is type(id_))
    if not any(c in json.dumps([members["method"], id_])[1:-1] for c in "{}[]"):
        assert found == id_


@pytest.mark.parametrize(
    "text",
    [
        '{"params":{"id":5}}',
        '{"a":"\\"id\\":5"}',
        '{"id":5,"id":6}',
        '{"id":5,"params":{},"id":5}',
        '{"id":1.5}',
        '{"id":true}',
        '{"id":99999999999999999999}',
        '{"id":9007199254740993}',
        '{"id":"\\ud800"}',
        '[{"id":5}]',
        '{"id":[5]}',
        '"id":5',
    ],
)
def test_an_id_that_is_not_surely_the_requests_is_not_taken(text: str) -> None:
    assert gate.recover_id(text) is None


WORST = [
    b"[" * 2**20,
    b"[]" * 2**19,
    b"{" * 2**20,
    b'{"a":' * 2**17,
    b"," * 2**20,
    b'"' + b'\\"' * 2**19,
    b'"' * 2**20,
    b"\\" * 2**20,
    b'{"id":"' * 2**17,
    b'"id":' * 2**17,
    b"[" + b'"\\ud83d\\ude00",' * 9_000 + b"1]",
    b'{"id":1,"a":' + b"[" * 2**19 + b"]" * 2**19 + b"}",
    b" " * 2**20,
    b"-" * 2**20,
    b"1" * 2**20,
    b"[" + b",".join(b'{"k%d":1}' % n for n in range(4_000)) + b"]",
]


@pytest.mark.parametrize("body", WORST, ids=range(len(WORST)))
def test_no_body_within_the_cap_takes_long(body: bytes) -> None:
    began = time.process_time()
    rejected = refusal(body)
    assert rejected is None or len(rejected.message) < 200
    assert time.process_time() - began < 0.25
