"""Configuration of the edge."""

from __future__ import annotations

from dataclasses import dataclass

from kit import limits
from kit.config import Tls


@dataclass(frozen=True)
class Http:
    """Where clients reach this program. Port 0 takes any free port; the bound address is written to `ready_file`."""

    listen: str
    ready_file: str = ""
    public_url: str = ""  # how clients reach it; empty means the address it listens on
    allowed_hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    allowed_origins: tuple[str, ...] = ()
    authorization_servers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Backends:
    """Addresses of the programs behind the edge, by their names."""

    auth: str
    reads: str
    proposals: str
    tasks: str = ""  # without an address no call becomes a task


@dataclass(frozen=True)
class Handoff:
    """Where people decide. Without an address no client is led there."""

    approvals_url: str = ""
    state_keys_file: str = ""  # keys of 32 bytes in base64url, one a line; the first seals, each opens


@dataclass(frozen=True)
class Offers:
    """Which program serves what is offered beside tools. Empty means nobody does."""

    prompts: str = ""
    changes: str = ""


@dataclass(frozen=True)
class EdgeConfig:
    """Everything the edge is told."""

    http: Http
    tls: Tls
    backends: Backends
    handoff: Handoff = Handoff()
    offers: Offers = Offers()


@dataclass(frozen=True)
class Timing:
    """The limits that are times; a test that has to wait for one passes a shorter one."""

    receive_seconds: float = limits.HTTP_RECEIVE_SECONDS
    idle_seconds: float = limits.HTTP_IDLE_SECONDS
    session_idle_seconds: float = limits.SESSION_IDLE_SECONDS
    session_sweep_seconds: float = limits.SESSION_SWEEP_SECONDS
    heartbeat_seconds: float = limits.HEARTBEAT_SECONDS
    reauthorize_seconds: float = limits.REAUTHORIZE_SECONDS
    handoff_pause_seconds: float = limits.HANDOFF_PAUSE_SECONDS
    task_pause_seconds: float = limits.TASK_FOLLOW_PAUSE_SECONDS
    task_away_seconds: float = limits.TASK_WAIT_AWAY_SECONDS
    changes_pause_seconds: float = limits.CHANGES_PAUSE_SECONDS
    stall_seconds: float = limits.HTTP_SEND_STALL_SECONDS
    drain_seconds: float = limits.HTTP_DRAIN_SECONDS
