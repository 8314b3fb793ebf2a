"""Hostile bodies over HTTP: always an answer, never 500, with the id where it can be read, and the session goes on."""

import time

import pytest

from tests.system.edge.wire import Wire, error

START = '{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"list_matters","arguments":'


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[[[[" * 10_000,
        b"\xef\xbb\xbf{}",
        b"\xff\xfe{\x00}\x00",
        b'{"a":"\xff"}',
        b'{"a":"\xc0\xaf"}',
        b'{"a":"\xed\xa0\x80"}',
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b'{"a":1}x',
        b'{"a":1,}',
        b'{"a":01}',
        b'{"a":"\x00"}',
        b'{"a":"\n"}',
        b"{'a':1}",
    ],
)
def test_what_is_not_json_is_a_parse_error_without_an_id(legacy: Wire, body: bytes) -> None:
    assert "id" not in error(legacy.send(None, content=body), 400, -32700)
    assert legacy.call("ping").status_code == 200


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ('{"a":1,"a":2}', -32700),
        ('{"a":{"b":1,"\\u0062":2}}', -32700),
        ("[" * 200 + "]" * 200, -32700),
        ("[" * 1_000 + "]" * 1_000, -32700),
        ("[" * 200_000 + "]" * 200_000, -32700),
        ('{"a":9007199254740992}', -32602),
        ('{"a":-9007199254740992}', -32602),
        ('{"a":' + "9" * 5_000 + "}", -32602),
        ('{"a":-0}', -32602),
        ('{"a":1e999}', -32602),
        ('{"a":"\\ud800"}', -32602),
        ('{"\\udfff":1}', -32602),
        ('{"a":"x\\u0000y"}', -32602),
        ('{"a\\u0000":1}', -32602),
        ('{"a":"' + "x" * (256 * 1024 + 1) + '"}', -32602),
        ("[" + "1," * 10_000 + "1]", -32602),
    ],
)
def test_what_is_beyond_a_limit_is_refused_with_the_id_of_its_request(legacy: Wire, arguments: str, code: int) -> None:
    for body in (START + arguments + "}}", '{"method":"x","params":{"a":' + arguments + '},"jsonrpc":"2.0","id":42}'):
        began = time.monotonic()
        assert error(legacy.send(None, content=body.encode()), 400, code)["id"] == 42
        assert time.monotonic() - began < 1.0
    assert legacy.call("ping").status_code == 200


def test_what_is_just_within_the_limits_is_read(legacy: Wire) -> None:
    for arguments in (
        '{"page_token":"' + "x" * 200_000 + '"}',
        '{"a":9007199254740991}',
        '{"a":' + "[" * 60 + "]" * 60 + "}",
        '{"a":"\\ud83d\\ude00 \\\\u0000 \\\\ud800"}',
    ):
        answer = legacy.send(None, content=(START + arguments + "}}").encode())
        assert answer.status_code == 200, answer.text
        assert answer.json()["result"]["isError"] is True


def test_an_id_that_stands_twice_is_not_echoed(legacy: Wire) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping","id":2}'
    assert "id" not in error(legacy.send(None, content=body), 400, -32700)


def test_a_member_that_only_looks_like_another_is_not_taken_for_it(legacy: Wire) -> None:
    folded = '{"jsonrpc":"2.0","id":1,"method":"tools/call","param\u017f":{"name":"list_matters"}}'
    error(legacy.send(None, content=folded.encode()), 200, -32602)
    unnamed = legacy.send(None, content=b'{"jsonrpc":"2.0","ID":1,"method":"notifications/initialized","Id":2}')
    assert unnamed.status_code == 202
