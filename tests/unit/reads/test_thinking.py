"""How several searches become one order, and what a model's answer may do to it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.reads.thinking.credential import Resolution
from services.reads.thinking.fusion import K, fuse
from services.reads.thinking.rerank import chosen, prompt

ORDERS = st.dictionaries(st.sampled_from(["words", "likeness", "vectors"]), st.lists(st.sampled_from("abcdefgh")), min_size=1)


def test_what_two_searches_find_comes_before_what_one_finds() -> None:
    assert [i for i, _ in fuse({"words": ["a", "b"], "vectors": ["c", "b"]})] == ["b", "a", "c"]


def test_a_place_counts_as_the_paper_has_it() -> None:
    """Place 63 of two orders is 2/(60+63): less than first place of one, 1/61, and more than its second, 1/62."""
    assert K == 60
    orders = {name: [*(f"{name[0]}{n}" for n in range(62)), "twice"] for name in ("words", "vectors")}
    assert [i for i, _ in fuse(orders)][:5] == ["v0", "w0", "twice", "v1", "w1"]


@given(ORDERS)
def test_everything_found_is_there_once_with_the_searches_that_found_it(orders: dict[str, list[str]]) -> None:
    fused = fuse(orders)
    assert sorted(i for i, _ in fused) == sorted({i for ids in orders.values() for i in ids})
    for each, found_by in fused:
        assert set(found_by) == {name for name, ids in orders.items() if each in ids}


@given(ORDERS)
def test_the_same_orders_give_the_same_list_whatever_they_are_called_first(orders: dict[str, list[str]]) -> None:
    backwards = dict(reversed(orders.items()))
    assert [i for i, _ in fuse(orders)] == [i for i, _ in fuse(backwards)]


@given(
    st.integers(0, 30),
    st.recursive(st.none() | st.booleans() | st.integers(-3, 40) | st.text(max_size=3), lambda s: st.lists(s, max_size=6)),
)
def test_a_models_answer_is_a_whole_order_or_nothing(many: int, said: Any) -> None:
    order = chosen({"order": said}, many)
    assert order is None or sorted(order) == list(range(many))


@given(st.lists(st.integers(1, 8), unique=True, min_size=1))
def test_what_a_model_leaves_out_follows_in_the_order_it_was_given(numbers: list[int]) -> None:
    order = chosen({"order": numbers}, 8)
    assert order is not None
    rest = sorted(set(range(8)) - {n - 1 for n in numbers})
    assert list(order) == [*(n - 1 for n in numbers), *rest]


@given(st.lists(st.integers(-2, 12), min_size=1, max_size=6))
def test_an_order_that_names_a_passage_twice_or_one_that_is_not_there_is_nothing(numbers: list[int]) -> None:
    right = len(set(numbers)) == len(numbers) and all(1 <= n <= 8 for n in numbers)
    assert (chosen({"order": numbers}, 8) is not None) == right


@pytest.mark.parametrize("answer", [None, [], "1", {"order": None}, {"other": [1]}, {"order": {}}])
def test_an_answer_of_another_form_is_nothing(answer: Any) -> None:
    assert chosen(answer, 3) is None


@given(st.text(), st.lists(st.tuples(st.text(max_size=20), st.text(max_size=200)), max_size=4))
def test_a_passage_cannot_leave_its_place_in_the_prompt(question: str, passages: list[tuple[str, str]]) -> None:
    asked = json.loads(prompt(question, passages))
    assert asked["question"] == question
    assert [(p["number"], p["place"], p["evidence"]) for p in asked["passages"]] == [(n, *p) for n, p in enumerate(passages, 1)]


def test_a_resolution_does_not_show_its_secret() -> None:
    assert "sk-ant" not in repr(Resolution("", "personal", "sk-ant-secret"))
