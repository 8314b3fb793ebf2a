"""JSON-RPC envelopes and the choice of the era."""

from typing import Any

import orjson
import pytest

from edge import eras, jsonrpc
from edge.eras import Era, UnsupportedVersion
from edge.jsonrpc import Invalid, Notification, Request, Response

BASE = {"jsonrpc": "2.0"}
V = "io.modelcontextprotocol/protocolVersion"


@pytest.mark.parametrize("id_", [0, -1, 2**53 - 1, "", "1", "x" * 1000])
def test_requests_keep_their_id_and_its_type(id_: Any) -> None:
    message = jsonrpc.read(BASE | {"id": id_, "method": "m"})
    assert isinstance(message, Request)
    assert (message.id, type(message.id)) == (id_, type(id_))
    assert orjson.loads(jsonrpc.result(message.id, {}))["id"] == id_


@pytest.mark.parametrize("id_", [None, True, False, 1.0, 1.5, [], {}])
def test_other_ids_are_refused_without_being_echoed(id_: Any) -> None:
    with pytest.raises(Invalid) as caught:
        jsonrpc.read(BASE | {"id": id_, "method": "m"})
    assert caught.value.id is None


def test_whether_a_message_is_a_notification_is_decided_by_the_key() -> None:
    assert isinstance(jsonrpc.read(BASE | {"method": "m"}), Notification)
    assert isinstance(jsonrpc.read(BASE | {"id": 1, "result": None}), Response)
    assert isinstance(jsonrpc.read(BASE | {"id": 1, "error": {}}), Response)


@pytest.mark.parametrize("tree", [{}, [], None, 1, "x", BASE, {"method": "m", "id": 1}, BASE | {"id": 1, "method": "m", "params": []}])
def test_everything_else_is_invalid(tree: Any) -> None:
    with pytest.raises(Invalid):
        jsonrpc.read(tree)


def test_the_id_of_an_invalid_message_is_kept_where_it_is_good() -> None:
    with pytest.raises(Invalid) as caught:
        jsonrpc.read(BASE | {"id": 5, "method": 1})
    assert caught.value.id == 5


def test_an_error_without_an_id_leaves_it_out() -> None:
    assert orjson.loads(jsonrpc.error(None, -32700, "m")) == {"jsonrpc": "2.0", "error": {"code": -32700, "message": "m"}}
    assert orjson.loads(jsonrpc.error("a", -1, "m", {"x": 1}))["error"]["data"] == {"x": 1}


def body(method: str = "tools/list", version: Any = None) -> dict[str, Any]:
    """A message, with the revision in its meta where one is given."""
    return {"method": method, "params": {} if version is None else {"_meta": {V: version}}}


@pytest.mark.parametrize(
    ("header", "tree", "era"),
    [
        (None, body("initialize"), Era.LEGACY),
        (None, body(), Era.LEGACY),
        ("2025-06-18", body(), Era.LEGACY),
        ("2026-07-28", body(), Era.MODERN),
        ("2026-07-28", body("initialize"), Era.MODERN),
        ("2026-07-28", [], Era.MODERN),
        (None, body(version="2026-07-28"), Era.MODERN),
        ("2025-11-25", body(version="2026-07-28"), Era.MODERN),
        (None, body(version="2099-01-01"), Era.MODERN),
        (None, body(version={"a": []}), Era.MODERN),
        (None, body(version="2025-06-18"), Era.LEGACY),
        (None, body(version="2024-11-05"), Era.LEGACY),
        ("junk", body(version="2026-07-28"), Era.MODERN),
        ("junk", body("server/discover"), Era.MODERN),
        (None, body("subscriptions/listen"), Era.MODERN),
        (None, body("tasks/update"), Era.MODERN),
        (None, body("tasks/get"), Era.LEGACY),
        (None, {"result": {}}, Era.LEGACY),
        (None, {"method": ["server/discover"], "params": 1}, Era.LEGACY),
        (None, None, Era.LEGACY),
        (None, [body("server/discover")], Era.LEGACY),
    ],
)
def test_the_era_follows_the_body_first_and_then_the_header(header: str | None, tree: Any, era: Era) -> None:
    assert eras.of_body(header, tree) is era


@pytest.mark.parametrize("header", ["junk", "2024-11-05", "", "2026-07-28 ", "2025-11-25,2025-06-18"])
def test_a_header_that_names_no_served_revision_is_refused(header: str) -> None:
    with pytest.raises(UnsupportedVersion):
        eras.of_body(header, body())
    with pytest.raises(UnsupportedVersion):
        eras.of_header(header)


def test_without_a_body_the_header_decides() -> None:
    assert (eras.of_header(None), eras.of_header("2025-03-26"), eras.of_header("2026-07-28")) == (Era.LEGACY, Era.LEGACY, Era.MODERN)


def test_initialize_is_never_answered_with_a_revision_that_has_no_handshake() -> None:
    assert [eras.negotiate(v) for v in ("2025-06-18", "2026-07-28", "junk")] == ["2025-06-18", "2025-11-25", "2025-11-25"]
