"""Tasks on the wire, and stored results that are handed on byte for byte."""

from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.task_shapes import RELATED, Task, as_complete, with_related

TASK = Task("t-1", "RUNNING", False, "", "2026-07-26T17:15:32.186Z", "2026-07-26T17:15:33.000Z", 60_000, 500)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | st.just("_meta"), inner, max_size=3),
    max_leaves=8,
)
RESULTS = st.dictionaries(st.text(max_size=6) | st.sampled_from(["content", "structuredContent"]), JSON, max_size=4).map(
    lambda made: {k: v for k, v in made.items() if k not in ("_meta", "resultType")}
)
METAS = st.none() | st.dictionaries(st.text(max_size=6).filter(lambda name: name != RELATED), JSON, max_size=3)


def test_each_era_has_its_own_words_for_the_same_task() -> None:
    assert TASK.of_sessions() == {
        "taskId": "t-1",
        "status": "working",
        "createdAt": "2026-07-26T17:15:32.186Z",
        "lastUpdatedAt": "2026-07-26T17:15:33.000Z",
        "ttl": 60_000,
        "pollInterval": 500,
    }
    assert {name: value for name, value in TASK.of_extension().items() if name.endswith("Ms")} == {"ttlMs": 60_000, "pollIntervalMs": 500}
    assert not {"ttl", "pollInterval"} & set(TASK.of_extension())


def test_what_a_task_does_not_have_is_absent_and_only_an_unlimited_life_is_null() -> None:
    bare = replace(TASK, ttl_ms=None, poll_ms=None)
    assert [name for name, value in bare.of_sessions().items() if value is None] == ["ttl"]
    assert [name for name, value in bare.of_extension().items() if value is None] == ["ttlMs"]
    assert "statusMessage" not in bare.of_sessions()
    assert replace(TASK, message="Why.").of_sessions()["statusMessage"] == "Why."


@pytest.mark.parametrize(("word", "terminal"), [("QUEUED", False), ("AWAITING_INPUT", False), ("DONE", True), ("DENIED", True)])
def test_both_eras_agree_on_whether_a_task_is_over(word: str, terminal: bool) -> None:
    for is_error in (True, False):
        assert replace(TASK, run_status=word, is_error=is_error).terminal is terminal


@given(result=RESULTS, meta=METAS, meta_first=st.booleans(), indent=st.booleans())
def test_only_the_related_task_is_added_to_a_stored_result(result: dict[str, Any], meta: Any, meta_first: bool, indent: bool) -> None:
    whole = result if meta is None else ({"_meta": meta} | result if meta_first else result | {"_meta": meta})
    stored = orjson.dumps(whole, option=orjson.OPT_INDENT_2 if indent else None)
    served = with_related(stored, 'a"b')
    parsed = orjson.loads(served)
    assert parsed["_meta"].pop(RELATED) == {"taskId": 'a"b'}
    if meta is None:
        assert parsed.pop("_meta") == {}
    assert parsed == whole
    assert _is_within(stored, served)


@given(result=RESULTS, indent=st.booleans())
def test_a_result_names_its_kind_where_the_era_wants_it_and_is_otherwise_as_stored(result: dict[str, Any], indent: bool) -> None:
    stored = orjson.dumps(result, option=orjson.OPT_INDENT_2 if indent else None)
    served = as_complete(stored)
    assert orjson.loads(served) == {"resultType": "complete"} | result
    assert _is_within(stored, served)


def test_text_that_looks_like_metadata_is_left_alone() -> None:
    stored = orjson.dumps(
        {"content": [{"type": "text", "text": '{"_meta": {"x": 1}}', "_meta": {"y": 2}}], "structuredContent": {"_meta": {}}}
    )
    parsed = orjson.loads(with_related(stored, "t"))
    assert parsed["content"][0] == {"type": "text", "text": '{"_meta": {"x": 1}}', "_meta": {"y": 2}}
    assert parsed["structuredContent"] == {"_meta": {}}
    assert parsed["_meta"] == {RELATED: {"taskId": "t"}}


def _is_within(stored: bytes, served: bytes) -> bool:
    """Whether what is served is what was stored with one piece put in."""
    longer = len(served) - len(stored)
    return any(served[:at] + served[at + longer :] == stored for at in range(len(stored) + 1))
