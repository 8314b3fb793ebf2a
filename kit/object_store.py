"""Where the bytes of documents lie: a folder, or a bucket of a server that speaks S3. An object is named by its SHA-256 alone.

Whoever fetches an object gets the bytes that bear that name, or none: they are digested again each time."""

from __future__ import annotations

import hmac
import http.client
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Protocol
from urllib.parse import quote, urlsplit

from kit import limits
from kit.config import ConfigError, secret

_DIGEST = re.compile(r"[0-9a-f]{64}")


class OutOfReach(Exception):
    """The store did not answer, or would not."""


class TooLarge(Exception):
    """More bytes than one object may have."""


class Altered(Exception):
    """What lies under the name is not what the name says."""


@dataclass(frozen=True)
class StoreConfig:
    """Where the store is."""

    kind: str = "folder"  # folder or s3
    folder: str = ""
    endpoint: str = ""  # s3: http(s)://host:port
    region: str = "us-east-1"
    bucket: str = ""
    keys_file: str = ""  # s3: the access key id and, on a second line, the secret


class ObjectStore(Protocol):
    """A store of objects by digest."""

    def fetch_object(self, digest: str) -> bytes | None:
        """The bytes with this digest; None where there are none. Raises Altered, TooLarge and OutOfReach."""

    def keep_object(self, content: bytes) -> str:
        """Keeps bytes and returns their digest; the same bytes are kept once. Raises TooLarge and OutOfReach."""


def _named(digest: str) -> str:
    if not _DIGEST.fullmatch(digest):
        raise ValueError("an object is named by 64 hexadecimal digits")
    return digest


def _bounded(content: bytes) -> bytes:
    if len(content) > limits.DOCUMENT_MAX_BYTES:
        raise TooLarge
    return content


def _checked(digest: str, content: bytes) -> bytes:
    if sha256(_bounded(content)).hexdigest() != digest:
        raise Altered
    return content


class FolderStore:
    """Objects as files, two hundred and fifty-six folders of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, digest: str) -> Path:
        return self._folder / _named(digest)[:2] / digest

    def fetch_object(self, digest: str) -> bytes | None:
        """The bytes with this digest."""
        try:
            descriptor = os.open(self._path(digest), os.O_RDONLY | os.O_NOFOLLOW)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise OutOfReach from error
        with os.fdopen(descriptor, "rb") as file:
            try:
                content = file.read(limits.DOCUMENT_MAX_BYTES + 1)
            except OSError as error:
                raise OutOfReach from error
        return _checked(digest, content)

    def keep_object(self, content: bytes) -> str:
        """Keeps bytes, whole or not at all."""
        digest = sha256(_bounded(content)).hexdigest()
        path = self._path(digest)
        try:
            if self.fetch_object(digest) is not None:
                return digest
        except Altered:
            pass  # what lies there is replaced by what the name says
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = path.with_name(f".{digest}.{os.getpid()}")
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        partial.replace(path)
        return digest


def _now() -> datetime:
    return datetime.now(UTC)


class S3Store:
    """Objects of a bucket, addressed by path, each request signed (AWS Signature Version 4)."""

    def __init__(self, config: StoreConfig, key_id: str, key: str, now: Callable[[], datetime] = _now) -> None:
        self._at, self._bucket, self._region = urlsplit(config.endpoint), config.bucket, config.region
        self._key_id, self._key, self._now = key_id, key, now

    def fetch_object(self, digest: str) -> bytes | None:
        """The bytes with this digest."""
        status, content = self._ask("GET", _named(digest), b"")
        if status == http.HTTPStatus.NOT_FOUND:
            return None
        if status != http.HTTPStatus.OK:
            raise OutOfReach
        return _checked(digest, content)

    def keep_object(self, content: bytes) -> str:
        """Keeps bytes."""
        digest = sha256(_bounded(content)).hexdigest()
        status, _ = self._ask("PUT", digest, content)
        if status not in (http.HTTPStatus.OK, http.HTTPStatus.CREATED):
            raise OutOfReach
        return digest

    def _ask(self, method: str, digest: str, body: bytes) -> tuple[int, bytes]:
        kind = http.client.HTTPSConnection if self._at.scheme == "https" else http.client.HTTPConnection
        path = quote(f"{self._at.path.rstrip('/')}/{self._bucket}/{digest[:2]}/{digest}")
        connection = kind(self._at.netloc, timeout=limits.STORE_SECONDS)
        try:
            connection.request(method, path, body or None, self._signed(method, path, body))
            answer = connection.getresponse()
            return answer.status, answer.read(limits.DOCUMENT_MAX_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            raise OutOfReach from error
        finally:
            connection.close()

    def _signed(self, method: str, path: str, body: bytes) -> dict[str, str]:
        """The headers of a request, its signature among them."""
        moment = self._now().strftime("%Y%m%dT%H%M%SZ")
        headers = {"host": self._at.netloc, "x-amz-content-sha256": sha256(body).hexdigest(), "x-amz-date": moment}
        signature, scope = sign(self._key, self._region, method, path, headers)
        credential = f"Credential={self._key_id}/{scope}, SignedHeaders={';'.join(headers)}, Signature={signature}"
        return {**headers, "authorization": f"AWS4-HMAC-SHA256 {credential}"}


def sign(key: str, region: str, method: str, path: str, headers: dict[str, str]) -> tuple[str, str]:
    """Signature and scope of a request without a query. `headers` are in order of their names, digest of the body and time among them."""
    moment, names = headers["x-amz-date"], ";".join(headers)
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    request = f"{method}\n{path}\n\n{lines}\n{names}\n{headers['x-amz-content-sha256']}"
    scope = f"{moment[:8]}/{region}/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{sha256(request.encode()).hexdigest()}"
    step = f"AWS4{key}".encode()
    for part in scope.split("/"):
        step = hmac.digest(step, part.encode(), sha256)
    return hmac.digest(step, text.encode(), sha256).hex(), scope


def open_store(config: StoreConfig) -> ObjectStore:
    """The store that a configuration names."""
    if config.kind == "folder":
        if not config.folder:
            raise ConfigError("[store] folder: missing")
        return FolderStore(Path(config.folder))
    if config.kind != "s3":
        raise ConfigError(f"[store] kind: expected folder or s3, got {config.kind!r}")
    if missing := [name for name in ("endpoint", "bucket", "keys_file") if not getattr(config, name)]:
        raise ConfigError(f"[store] {missing[0]}: missing")
    keys = secret(config.keys_file).split()
    if len(keys) != 2:
        raise ConfigError("[store] keys_file: expected an access key id and a secret on a line each")
    return S3Store(config, keys[0], keys[1])
