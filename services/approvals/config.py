"""Configuration of approvals."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from kit.config import ConfigError, DatabaseConfig, Peer, Tls

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


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
class SignInConfig:
    """How people sign in: with the accounts that auth keeps, through the firm's identity provider, or either."""

    local_accounts: bool = True
    issuer: str = ""  # of the identity provider, exactly as it names itself; empty means there is none
    client_id: str = ""
    client_secret_file: str = ""
    person_claim: str = "email"  # what of the ID token names the person, by mail address
    allowed_domains: tuple[str, ...] = ()  # of those addresses
    ca_file: str = ""  # the authority behind the provider's certificate, where it is not a public one
    provider_name: str = "your firm's account"  # as the button says it

    def checked(self) -> SignInConfig:
        """Itself, where it lets somebody in and says everything that that needs."""
        if not self.issuer:
            if not self.local_accounts:
                raise ConfigError("[sign_in] local_accounts: false needs an issuer; otherwise nobody could sign in")
            return self
        for name in ("client_id", "client_secret_file", "allowed_domains", "person_claim"):
            if not getattr(self, name):
                raise ConfigError(f"[sign_in] {name}: missing; an issuer needs it")
        if not safe_address(self.issuer):
            raise ConfigError("[sign_in] issuer: expected an https address without query, fragment and user name")
        return self


def safe_address(url: str) -> bool:
    """Whether secrets may be sent there: HTTPS, or this machine."""
    try:
        parts = urlsplit(url)
        trusted = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
    except ValueError:
        return False
    return trusted and bool(parts.hostname) and not (parts.query or parts.fragment or parts.username or parts.password)


@dataclass(frozen=True)
class PasskeysConfig:
    """Passkeys belong to a domain: that of the public address, unless a parent of it is named here."""

    rp_id: str = ""


@dataclass(frozen=True)
class ApprovalsConfig:
    """Sections of the configuration."""

    http: Http
    tls: Tls
    database: DatabaseConfig
    auth: Peer
    decision: Signing
    sign_in: SignInConfig = SignInConfig()
    passkeys: PasskeysConfig = PasskeysConfig()
