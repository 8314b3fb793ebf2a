"""A link to a file says what it was made for, until it ends, and says nothing once a letter of it was changed."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from kit import file_links, limits
from kit.file_links import Ended, Link, NoLink

KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(31) + b"\1")
LINK = Link("ab" * 32, "application/pdf", "Complaint.pdf", 1_000_300)
TOKEN = file_links.make(KEY, LINK)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/. %"


def test_a_link_is_good_to_its_last_second_and_ends_then() -> None:
    assert file_links.read(KEY.public_key(), TOKEN, 1_000_000) == LINK
    assert file_links.read(KEY.public_key(), TOKEN, 1_000_299.999) == LINK
    for now in (1_000_300, 1_000_300.5, 2_000_000):
        with pytest.raises(Ended):
            file_links.read(KEY.public_key(), TOKEN, now)


@given(st.integers(0, len(TOKEN) - 1), st.sampled_from(LETTERS))
def test_one_changed_letter_makes_it_no_link(at: int, letter: str) -> None:
    changed = TOKEN[:at] + letter + TOKEN[at + 1 :]
    if changed != TOKEN:
        with pytest.raises(NoLink):
            file_links.read(KEY.public_key(), changed, 1_000_000)


NO_LINKS = st.sampled_from([TOKEN + "=", TOKEN + "A", TOKEN[:-1], TOKEN * 2, "A" * (limits.FILE_LINK_MAX_CHARS + 1)])


@given(st.text(max_size=50) | NO_LINKS)
def test_what_is_no_link_of_ours_is_none(text: str) -> None:
    with pytest.raises(NoLink):
        file_links.read(KEY.public_key(), text, 1_000_000)


def test_a_link_signed_with_another_key_is_none_and_so_is_an_ended_one_that_was_extended() -> None:
    with pytest.raises(NoLink):
        file_links.read(KEY.public_key(), file_links.make(OTHER, LINK), 1_000_000)
    data = base64.urlsafe_b64decode(TOKEN + "=" * (-len(TOKEN) % 4))
    longer = base64.urlsafe_b64encode(data.replace(b"1000300", b"9000300")).decode().rstrip("=")
    with pytest.raises(NoLink):
        file_links.read(KEY.public_key(), longer, 1_000_000)


def test_a_signed_link_that_names_no_digest_is_none() -> None:
    with pytest.raises(NoLink):
        file_links.read(KEY.public_key(), file_links.make(KEY, Link("../../etc/passwd", "", "x", 9_999_999)), 1)
