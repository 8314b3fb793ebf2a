"""A store hands out the bytes that a digest names, or none; what it is told in its configuration is checked at the start."""

from __future__ import annotations

import socket
from hashlib import sha256
from pathlib import Path

import pytest

from kit import limits
from kit.config import ConfigError
from kit.object_store import Altered, FolderStore, OutOfReach, S3Store, StoreConfig, TooLarge, open_store, sign

CONTENT = b"%PDF-1.7 a paper"
DIGEST = sha256(CONTENT).hexdigest()


def test_what_is_kept_is_fetched_by_its_digest_and_kept_once(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    assert store.fetch_object(DIGEST) is None
    assert store.keep_object(CONTENT) == store.keep_object(CONTENT) == DIGEST
    assert store.fetch_object(DIGEST) == CONTENT
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == [DIGEST]
    assert (tmp_path / DIGEST[:2] / DIGEST).stat().st_mode & 0o077 == 0


def test_bytes_that_were_altered_are_never_handed_out_and_keeping_them_anew_heals(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    store.keep_object(CONTENT)
    (tmp_path / DIGEST[:2] / DIGEST).write_bytes(CONTENT + b" ")
    with pytest.raises(Altered):
        store.fetch_object(DIGEST)
    store.keep_object(CONTENT)
    assert store.fetch_object(DIGEST) == CONTENT


@pytest.mark.parametrize("name", ["", "..", "../../etc/passwd", DIGEST.upper(), DIGEST + "0", f"{DIGEST[:62]}/x"])
def test_a_name_that_is_no_digest_reaches_no_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="64 hexadecimal"):
        FolderStore(tmp_path).fetch_object(name)


def test_a_link_in_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(CONTENT)
    (tmp_path / DIGEST[:2]).mkdir()
    (tmp_path / DIGEST[:2] / DIGEST).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutOfReach):
        FolderStore(tmp_path).fetch_object(DIGEST)


def test_requests_are_signed_as_the_published_example_is() -> None:
    """Amazon S3, Signature Version 4, example of GET Object with a range."""
    headers = {
        "host": "examplebucket.s3.amazonaws.com",
        "range": "bytes=0-9",
        "x-amz-content-sha256": sha256(b"").hexdigest(),
        "x-amz-date": "20130524T000000Z",
    }
    signature, scope = sign("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1", "GET", "/test.txt", headers)
    assert scope == "20130524/us-east-1/s3/aws4_request"
    assert signature == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"


def test_a_store_that_nobody_serves_is_out_of_reach() -> None:
    store = S3Store(StoreConfig("s3", endpoint="http://127.0.0.1:1", bucket="b"), "id", "key")
    with pytest.raises(OutOfReach):
        store.fetch_object(DIGEST)


@pytest.mark.parametrize(
    ("config", "named"),
    [
        (StoreConfig("folder"), "folder"),
        (StoreConfig("tape"), "kind"),
        (StoreConfig("s3", bucket="b", keys_file="k"), "endpoint"),
        (StoreConfig("s3", endpoint="http://x", keys_file="k"), "bucket"),
        (StoreConfig("s3", endpoint="http://x", bucket="b"), "keys_file"),
    ],
)
def test_a_configuration_that_names_no_store_is_refused_by_its_key(config: StoreConfig, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        open_store(config)


def test_an_object_that_is_too_large_is_neither_kept_nor_handed_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FolderStore(tmp_path)
    store.keep_object(CONTENT)
    monkeypatch.setattr(limits, "DOCUMENT_MAX_BYTES", len(CONTENT))
    assert store.fetch_object(DIGEST) == CONTENT
    monkeypatch.setattr(limits, "DOCUMENT_MAX_BYTES", len(CONTENT) - 1)
    for wrong in (lambda: store.fetch_object(DIGEST), lambda: store.keep_object(CONTENT)):
        with pytest.raises(TooLarge):
            wrong()


def test_a_store_that_takes_the_connection_and_says_nothing_is_out_of_reach_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STORE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        store = S3Store(StoreConfig("s3", endpoint=f"http://127.0.0.1:{port}", bucket="b"), "id", "key")
        with pytest.raises(OutOfReach):
            store.fetch_object(DIGEST)
