"""Instances of the tasks program as processes of their own, which a test may kill and measure."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from ops.layout import ROOT
from ops.process import python_environ
from tests.db.tasks_world import World

CONFIG = """
[server]
listen = "127.0.0.1:0"
ready_file = "{ready}"
[tls]
ca_file = "{folder}/ca.pem"
cert_file = "{folder}/tasks.pem"
key_file = "{folder}/tasks.key"
[database]
dsn_file = "{dsn}"
pool_size = 4
[auth]
address = "{auth}"
[backends]
reads = "{reads}"
[work]
lease_seconds = {lease}
sweep_seconds = 0.3
retry_seconds = 0.3
"""


@dataclass
class Instance:
    """One instance, which is started again when it was killed."""

    world: World
    number: int
    folder: Path
    lease_seconds: float = 1.5
    process: asyncio.subprocess.Process | None = None
    address: str = ""
    listen: str = "127.0.0.1:0"

    async def start(self) -> None:
        """Starts it, on the address that it had."""
        ready = self.folder / f"ready.{self.number}"
        ready.unlink(missing_ok=True)
        text = CONFIG.format(
            ready=ready,
            folder=self.world.folder,
            dsn=self.world.database.dsn_file("svc_tasks"),
            auth=self.world.auth.address,
            reads=self.world.reads,
            lease=self.lease_seconds,
        )
        path = self.folder / f"tasks.{self.number}.toml"
        path.write_text(text.replace("127.0.0.1:0", self.listen), encoding="utf-8")
        command = ["-m", "services.tasks", "--config", str(path)]
        log = (self.folder / f"tasks.{self.number}.log").open("ab")
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, *command, env=python_environ(), cwd=ROOT, stdout=log, stderr=log
        )
        log.close()
        async with asyncio.timeout(30):
            while not ready.exists():
                assert self.process.returncode is None, (self.folder / f"tasks.{self.number}.log").read_text(encoding="utf-8")[-2000:]
                await asyncio.sleep(0.02)
        self.address = self.listen = ready.read_text(encoding="utf-8")

    async def kill(self) -> None:
        """Kills it without a word."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGKILL)
        await self.process.wait()

    @property
    def memory_mib(self) -> float:
        """What it holds of the machine's memory."""
        assert self.process is not None
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii"))
        assert found is not None
        return int(found[1]) / 1024

    @property
    def open_files(self) -> int:
        """How many files and connections it has open."""
        assert self.process is not None
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))


@asynccontextmanager
async def instances(world: World, folder: Path, count: int, lease_seconds: float = 1.5) -> AsyncIterator[list[Instance]]:
    """Instances that share the work."""
    made = [Instance(world, number, folder, lease_seconds) for number in range(count)]
    try:
        for one in made:
            await one.start()
        yield made
    finally:
        for one in made:
            if one.process is not None and one.process.returncode is None:
                await one.kill()
