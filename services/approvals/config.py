"""Configuration of approvals."""

from __future__ import annotations

from dataclasses import dataclass

from kit.config import DatabaseConfig, Peer, Tls


@dataclass(frozen=True)
class Http:
    """Where people reach this program: an origin of its own, never the edge's. Port 0 takes any free port, written to `ready_file`."""

    listen: str
    ready_file: str = ""
    public_url: str = ""  # how browsers reach it; empty means the address it listens on
    allowed_hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True)
class Signing:
    """The key that decisions are signed with; the executor holds its public half."""

    key_file: str


@dataclass(frozen=True)
class ApprovalsConfig:
    """Sections of the configuration."""

    http: Http
    tls: Tls
    database: DatabaseConfig
    auth: Peer
    decision: Signing
