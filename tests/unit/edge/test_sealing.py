"""What a client carries for us: opened where it was sealed for, by a key of the ring, as it is; by nobody else."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.sealing import KEY_BYTES, Ring
from kit.config import ConfigError

ONE, TWO = bytes(range(KEY_BYTES)), bytes(reversed(range(KEY_BYTES)))


def text(key: bytes) -> str:
    """A key as its file has it."""
    return base64.urlsafe_b64encode(key).decode().rstrip("=")


@given(st.binary(max_size=300), st.binary(max_size=60), st.binary(max_size=60))
def test_what_is_sealed_opens_for_what_it_was_sealed_for(plain: bytes, bound: bytes, other: bytes) -> None:
    ring = Ring([ONE])
    sealed = ring.seal(plain, bound)
    assert ring.open(sealed, bound) == plain
    assert other == bound or ring.open(sealed, other) is None


@given(st.binary(max_size=40), st.data())
def test_no_change_of_a_single_character_opens(plain: bytes, data: st.DataObject) -> None:
    ring = Ring([ONE])
    sealed = ring.seal(plain, b"x")
    at = data.draw(st.integers(0, len(sealed) - 1))
    letter = data.draw(st.characters(codec="utf-8").filter(lambda c: c != sealed[at]))
    assert ring.open(sealed[:at] + letter + sealed[at + 1 :], b"x") is None


@given(st.text(max_size=80))
def test_what_we_never_sealed_opens_nothing_and_raises_nothing(junk: str) -> None:
    assert Ring([ONE]).open(junk, b"") is None


def test_the_first_key_seals_and_each_opens() -> None:
    old, both, new = Ring([ONE]), Ring([TWO, ONE]), Ring([TWO])
    assert both.open(old.seal(b"a", b""), b"") == b"a"
    assert new.open(both.seal(b"a", b""), b"") == b"a"
    assert new.open(old.seal(b"a", b""), b"") is None


def test_the_same_thing_is_never_sealed_alike() -> None:
    ring = Ring([ONE])
    assert len({ring.seal(b"a", b"") for _ in range(100)}) == 100


def test_a_ring_is_read_one_key_a_line() -> None:
    ring = Ring.read(f"{text(TWO)}\n{text(ONE)}\n")
    assert Ring([TWO]).open(ring.seal(b"a", b""), b"") == b"a"


@pytest.mark.parametrize("content", ["", "\n", "short", text(ONE)[:-1], text(ONE) + "=", f"{text(ONE)}\nx", text(ONE + b"a")])
def test_a_ring_without_keys_of_the_right_length_stops_the_start(content: str) -> None:
    with pytest.raises(ConfigError):
        Ring.read(content)
