"""Where things are: the repository, and the folders and files below a data folder."""

import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_DATA_DIR = Path(os.environ.get("SUBSTRATE_DATA_DIR") or ROOT / ".substrate" / "data")
DEFAULT_PORT = int(os.environ.get("SUBSTRATE_PORT") or 8080)
DATABASE = "substrate"


@dataclass(frozen=True)
class DataDir:
    """The folder of one stack."""

    root: Path

    @property
    def secrets(self) -> Path:
        """Addresses of the logins, the pepper, the demonstration keys."""
        return self.root / "secrets"

    @property
    def pki(self) -> Path:
        """The private CA and the certificates."""
        return self.root / "pki"

    @property
    def config(self) -> Path:
        """One configuration file a program."""
        return self.root / "config"

    @property
    def log(self) -> Path:
        """One log a program."""
        return self.root / "log"

    @property
    def run(self) -> Path:
        """What is true only while the stack runs: the lock, bound addresses."""
        return self.root / "run"

    @property
    def lock(self) -> Path:
        """Held by the running supervisor; holds its process id."""
        return self.run / "up.lock"

    @property
    def ready(self) -> Path:
        """There while everything serves."""
        return self.run / "ready"

    @property
    def admin_dsn(self) -> Path:
        """The administrator's address of the database."""
        return self.secrets / "admin.dsn"

    @property
    def decision_key(self) -> Path:
        """What approvals signs decisions with; only approvals may read it."""
        return self.secrets / "decision.key"

    @property
    def decision_pub(self) -> Path:
        """What the executor checks decisions with."""
        return self.secrets / "decision.pub"

    @property
    def state_keys(self) -> Path:
        """What edges seal request state with; shared by all of them."""
        return self.secrets / "state.keys"

    @property
    def links_key(self) -> Path:
        """What reads signs links to files with; only reads may read it."""
        return self.secrets / "links.key"

    @property
    def links_pub(self) -> Path:
        """What files checks links with."""
        return self.secrets / "links.pub"

    @property
    def store(self) -> Path:
        """The files of documents, named by their digests."""
        return self.root / "store"

    @property
    def credentials_key(self) -> Path:
        """What credentials for a model provider are sealed with; only the operator's command and reads may read it."""
        return self.secrets / "credentials.key"

    @property
    def pepper(self) -> Path:
        """What keys are hashed with; only auth may read it."""
        return self.secrets / "pepper"

    @property
    def connect(self) -> Path:
        """How to connect: addresses, keys, matters, people."""
        return self.root / "connect.json"
