"""Addresses of the database and its logins, kept as files that only their owner reads."""

import base64
import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from ops.files import write_private

OWNER = "substrate_owner"


@dataclass(frozen=True)
class Target:
    """Where to migrate: an administrator's address, the database, and whether we make that database."""

    admin_dsn: str
    database: str
    create: bool

    @classmethod
    def external(cls, dsn: str) -> "Target":
        """A server that somebody else runs: the database its address names is used and never made."""
        name = urlsplit(dsn).path.lstrip("/")
        if not name:
            raise ValueError("SUBSTRATE_DATABASE_URL must end in the name of a database.")
        return cls(dsn, name, create=False)

    def dsn(self, user: str | None = None, password: str = "") -> str:
        """The address of the database for a login, or for the administrator."""
        parts = urlsplit(self.admin_dsn)
        netloc = parts.netloc if user is None else f"{quote(user)}:{quote(password)}@{parts.netloc.rpartition('@')[2]}"
        return urlunsplit(parts._replace(netloc=netloc, path="/" + quote(self.database)))


def login_password(folder: Path, role: str) -> str:
    """The password of a login: the one kept in its address file, else a new one."""
    path = dsn_file(folder, role)
    kept = urlsplit(path.read_text(encoding="utf-8").strip()).password if path.exists() else None
    return kept or secrets.token_hex(24)


def dsn_file(folder: Path, role: str) -> Path:
    """Where the address of a login is kept; the services' logins are named after their program."""
    return folder / f"{role.removeprefix('svc_')}.dsn"


def keep_login(folder: Path, role: str, dsn: str) -> None:
    """Write the address file of a login."""
    write_private(dsn_file(folder, role), dsn + "\n")


def scram_verifier(password: str, *, salt: bytes | None = None, rounds: int = 4096) -> str:
    """What PostgreSQL stores for a password (RFC 5803), so that the password itself never travels in a statement."""
    salt = salt or os.urandom(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode("ascii"), salt, rounds)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    return f"SCRAM-SHA-256${rounds}:{_b64(salt)}${_b64(stored)}:{_b64(server)}"


def _b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")
