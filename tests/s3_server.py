"""A server that speaks S3 and checks every signature (nanio), as a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kit.object_store import StoreConfig
from tests.poll import until

BUCKET = "documents"
KEY_ID, KEY = "substrate-files", "a-secret-that-only-the-store-and-its-users-know"


@contextmanager
def s3_server(folder: Path) -> Iterator[StoreConfig]:
    """The running server with one bucket; yields the configuration of a store in it, with its keys in a file."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    keys = folder / "store.keys"
    keys.write_text(f"{KEY_ID}\n{KEY}\n", encoding="utf-8")
    (folder / "buckets" / BUCKET).mkdir(parents=True)
    command = [sys.executable, "-m", "nanio", "serve", "--host", "127.0.0.1", "--port", str(port), "--data-dir", str(folder / "buckets")]
    environ = os.environ | {"NANIO_ACCESS_KEY": KEY_ID, "NANIO_SECRET_KEY": KEY}
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log, env=environ) as running:
        try:
            until(lambda: _answers(port) or running.poll() is not None, "the S3 server serves", 30)
            assert running.poll() is None, (folder / "log").read_text(encoding="utf-8")
            yield StoreConfig("s3", endpoint=f"http://127.0.0.1:{port}", bucket=BUCKET, keys_file=str(keys))
        finally:
            running.terminate()


def _answers(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
