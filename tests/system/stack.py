"""The whole system for tests: started by the same command that a person uses, on a folder and ports of its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from ops import owner, probe
from ops.database import OWNER, dsn_file
from ops.layout import ROOT, DataDir


@dataclass(frozen=True)
class Stack:
    """A running system and how to reach it."""

    data: DataDir
    connect: dict[str, Any]

    @property
    def mcp_url(self) -> str:
        """The MCP endpoint."""
        return str(self.connect["mcp_url"])

    @property
    def keys(self) -> dict[str, str]:
        """The demonstration keys: firm, client_safe, soilworks_only."""
        return dict(self.connect["keys"])

    @property
    def matters(self) -> dict[str, str]:
        """Ids of the demonstration matters: mclean, soilworks, mata."""
        return dict(self.connect["matters"])

    @property
    def people(self) -> dict[str, dict[str, Any]]:
        """The demonstration people by name."""
        return dict(self.connect["people"])

    def grpc_address(self, program: str) -> str:
        """Where a gRPC program listens."""
        return str(self.connect["grpc"][program])

    def channel(self, program: str, caller: str = "firm") -> grpc.Channel:
        """A channel to a program with one of the stack's certificates."""
        return probe.channel(self.grpc_address(program), program, self.data.pki, caller)

    def dsn(self, role: str = OWNER) -> str:
        """The database address of a login: substrate_owner, substrate_loader, svc_auth, svc_reads."""
        return dsn_file(self.data.secrets, role).read_text(encoding="utf-8").strip()

    @property
    def admin_dsn(self) -> str:
        """The database administrator's address."""
        return self.data.admin_dsn.read_text(encoding="utf-8").strip()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """An operator command against this stack, e.g. run("keys", "list")."""
        return command(*arguments, "--data-dir", str(self.data.root))

    def log(self, program: str) -> str:
        """What a program has logged."""
        return (self.data.log / f"{program}.log").read_text(encoding="utf-8")


def command(*arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run an operator command as ./run does, and return what it said."""
    environ = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'gen'}"}
    return subprocess.run(
        [sys.executable, "-m", "ops", *arguments], capture_output=True, text=True, env=environ, timeout=timeout, check=False, cwd=ROOT
    )


def up(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Start a detached stack that does not outlive this process."""
    return command("up", "--detach", "--port", "0", "--until-exit-of", str(os.getpid()), "--data-dir", str(folder), *arguments)


def read(folder: Path) -> Stack:
    """The running stack of a folder."""
    data = DataDir(folder)
    return Stack(data, json.loads(data.connect.read_text(encoding="utf-8")))


@contextmanager
def running(folder: Path) -> Iterator[Stack]:
    """A stack that runs while the context does."""
    started = up(folder)
    try:
        assert started.returncode == 0, f"the stack did not start:\n{started.stdout}{started.stderr}"
        yield read(folder)
    finally:
        stopped = command("down", "--data-dir", str(folder))
        pid = owner.holder(DataDir(folder))
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
        assert stopped.returncode == 0, f"the stack did not stop:\n{stopped.stdout}{stopped.stderr}"
