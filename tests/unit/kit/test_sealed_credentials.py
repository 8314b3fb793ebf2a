"""A sealed credential opens with the right key for its holder, and for nobody and nothing else."""

from __future__ import annotations

import pytest

from kit.sealed_credentials import KEY_BYTES, NONCE_BYTES, Unsealable, read_key, seal, unseal

KEY, NONCE = bytes(range(KEY_BYTES)), bytes(NONCE_BYTES)
OWNER = "00000000-0000-4000-8000-000000000001"
SECRET = "sk-ant-api03-secret"


def test_what_was_sealed_opens_for_its_holder() -> None:
    assert unseal(KEY, "personal", OWNER, seal(KEY, "personal", OWNER, SECRET, NONCE)) == SECRET


@pytest.mark.parametrize(
    ("key", "kind", "owner"),
    [(bytes(KEY_BYTES), "personal", OWNER), (KEY, "firm", OWNER), (KEY, "personal", OWNER[:-1] + "2"), (KEY, "personal", "")],
)
def test_a_row_that_was_moved_to_another_holder_or_key_does_not_open(key: bytes, kind: str, owner: str) -> None:
    sealed = seal(KEY, "personal", OWNER, SECRET, NONCE)
    with pytest.raises(Unsealable):
        unseal(key, kind, owner, sealed)


def test_every_altered_byte_is_noticed_and_so_is_a_missing_one() -> None:
    sealed = seal(KEY, "firm", "", SECRET, NONCE)
    for at in range(len(sealed)):
        with pytest.raises(Unsealable):
            unseal(KEY, "firm", "", sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :])
        with pytest.raises(Unsealable):
            unseal(KEY, "firm", "", sealed[:at])


def test_the_sealed_bytes_do_not_show_the_credential() -> None:
    assert SECRET.encode() not in seal(KEY, "firm", "", SECRET, NONCE)


@pytest.mark.parametrize("text", ["", "00", "zz" * KEY_BYTES, "00" * (KEY_BYTES + 1)])
def test_a_key_file_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="hexadecimal"):
        read_key(text)
