"""The form of a key, and how one is presented."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import credentials, limits
from kit.errors import Refusal

KEY = credentials.mint("live", random.Random(1).choice)  # the same in every process that collects these tests


def test_a_minted_key_names_its_environment_and_reads_back() -> None:
    assert credentials.parse(KEY.text) == KEY
    assert KEY.text.startswith("brk_live_")
    assert credentials.parse(credentials.mint("test").text).environment == "test"


def test_a_key_never_shows_its_secret_when_printed() -> None:
    assert KEY.secret not in repr(KEY)


@given(st.integers(0, len(KEY.text) - 1), st.sampled_from(credentials.ALPHABET))
def test_every_typo_of_one_character_is_refused_without_a_store(position: int, character: str) -> None:
    typo = KEY.text[:position] + character + KEY.text[position + 1 :]
    if typo != KEY.text:
        with pytest.raises(Refusal):
            credentials.parse(typo)


@pytest.mark.parametrize(
    "text", ["", "brk_live_", KEY.text + "x", KEY.text + "\n", " " + KEY.text, KEY.text.replace("live", "prod"), "k" * 100_000]
)
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(Refusal):
        credentials.parse(text)


@pytest.mark.parametrize(
    "headers",
    [
        [("Authorization", f"Bearer {KEY.text}")],
        [("authorization", f"bearer   {KEY.text} ")],
        [("X-API-Key", KEY.text)],
        [("Authorization", f"Bearer {KEY.text}"), ("x-api-key", KEY.text)],
    ],
)
def test_one_key_is_accepted_however_it_is_sent(headers: list[tuple[str, str]]) -> None:
    assert credentials.present(headers) == KEY


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("authorization", f"Basic {KEY.text}")],
        [("authorization", f"Bearer {KEY.text}"), ("x-api-key", credentials.mint("live").text)],
        [("authorization", f"Bearer {KEY.text}"), ("authorization", f"Bearer {credentials.mint('live').text}")],
        [("authorization", f"Bearer {KEY.text}"), ("authorization", "Basic eDp5")],
        [("cookie", KEY.text)],
    ],
)
def test_no_key_or_two_that_differ_are_refused(headers: list[tuple[str, str]]) -> None:
    with pytest.raises(Refusal):
        credentials.present(headers)


@pytest.mark.parametrize("query", [f"key={KEY.text}", f"x={KEY.text}", "api_key=1", "access_token=abc", "Authorization=Bearer"])
def test_a_key_in_the_url_is_refused_even_beside_a_good_header(query: str) -> None:
    with pytest.raises(Refusal):
        credentials.present([("authorization", f"Bearer {KEY.text}")], query)


@pytest.mark.parametrize("times", [0, 1, 2, limits.URL_DECODINGS_MAX, 50])
@pytest.mark.parametrize("query", [f"x=%62{KEY.text[1:]}", f"x={KEY.text.replace('_', '%5F')}", "%61pi_key=1", "x=1%26key%3D2"])
def test_a_key_in_the_url_is_refused_however_often_it_is_encoded(query: str, times: int) -> None:
    with pytest.raises(Refusal):
        credentials.present([("authorization", f"Bearer {KEY.text}")], query.replace("%", "%" + "25" * times))


@pytest.mark.parametrize("query", ["", "a=b", "a=%20b%2525", "a=100%", "a=%zz%ff"])
def test_another_query_is_not_taken_for_a_key(query: str) -> None:
    assert credentials.present([("authorization", f"Bearer {KEY.text}")], query) == KEY


def test_the_stored_hash_depends_on_pepper_environment_and_secret() -> None:
    other = credentials.ApiKey("test", KEY.public_id, KEY.secret, KEY.text)
    hashes = {credentials.keyed_hash(b"one", KEY), credentials.keyed_hash(b"two", KEY), credentials.keyed_hash(b"one", other)}
    assert len(hashes) == 3
