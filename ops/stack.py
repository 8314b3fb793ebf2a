"""The one-machine stack: database, schema, certificates, matters, programs, people and keys, in that order."""

import asyncio
import base64
import json
import os
import secrets
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kit import limits
from ops import admin, connect, database, demonstration, migrate, pki, probe, programs
from ops.database import Target
from ops.files import write_private
from ops.layout import DATABASE, ROOT, DataDir
from ops.postgres import Postgres
from ops.process import Running, StackError, python_environ, say
from ops.progress import Progress

_HTTP_PORTS = ("edge", "approvals", "files")


def _port(program: programs.Program, port: int) -> int:
    """Agents get the port that was asked for, people the one after it, files the next; everything else takes any."""
    return port + _HTTP_PORTS.index(program.name) if port and program.serves == "http" else 0


def check_port(port: int) -> int:
    """The port to serve MCP on; a taken one is refused with the way out."""
    if port == 0:  # any: the program says which it took
        return 0
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            raise StackError(f"port {port} is taken; name another with --port N, or --port 0 for any.") from None
    return port


@dataclass
class Stack:
    """A stack on one data folder."""

    data: DataDir
    port: int
    progress: Progress
    postgres: Postgres | None = None
    running: list[Running] = field(default_factory=list)

    @asynccontextmanager
    async def started(self) -> AsyncIterator[dict[str, Any]]:
        """Start everything, hold it, stop everything."""
        try:
            yield await self._start()
        finally:
            await self._stop()

    async def _start(self) -> dict[str, Any]:
        port = check_port(self.port)
        for after in range(1, len(_HTTP_PORTS)):
            check_port(port and port + after)
        for folder in (self.data.root, self.data.run, self.data.log, self.data.secrets):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        async with self.progress.step("PostgreSQL"):
            target = await self._database()
        async with self.progress.step("schema and grants"):
            await migrate.migrate(target, self.data.secrets)
        async with self.progress.step("certificates and secrets"):
            self._identities()
        loading = asyncio.create_task(self._load())  # beside the programs, which need the schema and not the rows
        try:
            addresses = await self._programs(port)
            async with self.progress.step("demonstration matters"):
                matters = await loading
        finally:
            loading.cancel()
            await asyncio.gather(loading, return_exceptions=True)
        async with self.progress.step("people and keys"):
            demo = await asyncio.to_thread(self._demonstration, addresses["auth"], matters)
        grpc = {one.program.name: one.listen for one in self.running if one.program.serves == "grpc"}
        content = connect.document(self.data, addresses, grpc, matters, demo)
        connect.write(self.data, content)
        return content

    async def _programs(self, port: int) -> dict[str, str]:
        addresses: dict[str, str] = {}
        for program in programs.load().programs:
            async with self.progress.step(program.name):
                listen = f"127.0.0.1:{_port(program, port)}"
                one = Running(program, self.data, listen, dict(addresses))
                await one.start()
                self.running.append(one)
                addresses[program.name] = one.listen
        return addresses

    async def _database(self) -> Target:
        url = os.environ.get("SUBSTRATE_DATABASE_URL")
        if url:
            target = Target.external(url)
        else:
            self.postgres = Postgres(self.data.root, log_file=self.data.log / "postgres.log")
            await self.postgres.start()
            target = Target(self.postgres.admin_dsn, DATABASE, create=True)
        write_private(self.data.admin_dsn, target.dsn() + "\n")
        return target

    def _identities(self) -> None:
        table = programs.load()
        pki.ensure(self.data.pki, tuple(p.name for p in table.programs), table.clients, datetime.now(UTC))
        if not self.data.pepper.exists():
            write_private(self.data.pepper, secrets.token_hex(32) + "\n")
        if not self.data.credentials_key.exists():
            write_private(self.data.credentials_key, secrets.token_hex(32) + "\n")
        if not self.data.state_keys.exists():
            write_private(self.data.state_keys, base64.urlsafe_b64encode(secrets.token_bytes(32)).decode("ascii").rstrip("=") + "\n")
        if not self.data.links_key.exists():
            key = Ed25519PrivateKey.generate()
            write_private(self.data.links_pub, key.public_key().public_bytes_raw().hex() + "\n")
            write_private(self.data.links_key, key.private_bytes_raw().hex() + "\n")
        if not self.data.decision_key.exists():
            key = Ed25519PrivateKey.generate()
            write_private(self.data.decision_pub, key.public_key().public_bytes_raw().hex() + "\n")
            write_private(self.data.decision_key, key.private_bytes_raw().hex() + "\n")

    async def _load(self) -> dict[str, str]:
        dsn = database.dsn_file(self.data.secrets, "substrate_loader")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ops.load", "--dsn-file", str(dsn), "--data", str(ROOT / "data"), "--store", str(self.data.store)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=python_environ(),
            cwd=ROOT,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(limits.LOAD_SECONDS):
                out, err = await process.communicate()
        except TimeoutError:
            raise StackError(f"the demonstration matters were not loaded within {limits.LOAD_SECONDS:g} s.") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise StackError(f"the demonstration matters could not be loaded: {err.decode(errors='replace').strip()[-2000:]}")
        loaded: dict[str, str] = json.loads(out.decode().strip().splitlines()[-1])["matters"]
        return loaded

    def _demonstration(self, auth: str, matters: dict[str, str]) -> dict[str, Any]:
        with admin.connected(auth, self.data.pki) as stub:
            return demonstration.ensure(self.data, stub, matters)

    async def hold(self) -> None:
        """Keep everything running until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch_postgres())
            for one in self.running:
                group.create_task(one.watch())

    async def _watch_postgres(self) -> None:
        while self.postgres is not None:
            await asyncio.sleep(0.2)
            if not self.postgres.running:
                say("PostgreSQL ended; starting it again")
                await self.postgres.start()
                say("PostgreSQL serves again")

    async def _stop(self) -> None:
        for one in reversed(self.running):
            await one.stop()
        if self.postgres is not None:
            await self.postgres.stop()


async def healthy(data: DataDir, content: dict[str, Any]) -> list[str]:
    """The programs of a running stack that do not answer."""
    edge = content["mcp_url"].removeprefix("http://").removesuffix("/mcp")
    silent = [] if await asyncio.to_thread(probe.http_serving, edge) else ["edge"]
    return silent + [n for n, address in content["grpc"].items() if not await asyncio.to_thread(probe.grpc_serving, address, n, data.pki)]
