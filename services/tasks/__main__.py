"""Starts tasks."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import grpc

from kit import callers, catalogue, client, config, db, limits
from kit.authority import Authority
from kit.clock import system_clock
from kit.program import main
from kit.server import GrpcProgram, all_of
from services.tasks import server
from services.tasks.calling import Calling
from services.tasks.desk import Desk, Times
from services.tasks.keys import Keys
from services.tasks.news import News
from services.tasks.store import Store
from services.tasks.worker import Settings, Worker


@dataclass(frozen=True)
class Backends:
    """Addresses of the programs whose tools run as tasks, by their names."""

    reads: str


@dataclass(frozen=True)
class Work:
    """How much this instance takes on at once, and its times."""

    slots: int = limits.TASKS_RUNNING_PER_WORKER
    lease_seconds: float = limits.TASK_LEASE_SECONDS
    sweep_seconds: float = limits.TASK_SWEEP_SECONDS
    run_seconds: float = limits.TASK_RUN_SECONDS
    queue_seconds: float = limits.TASK_QUEUE_SECONDS
    retry_seconds: float = limits.TASK_RETRY_SECONDS


@dataclass(frozen=True)
class TasksConfig:
    """Sections of the configuration of tasks."""

    server: config.Server
    tls: config.Tls
    database: config.DatabaseConfig
    auth: config.Peer
    backends: Backends
    work: Work = Work()


@dataclass(frozen=True)
class Instance:
    """The parts of one instance, put together."""

    store: Store
    service: server.TaskService
    worker: Worker
    news: News
    authority: Authority
    keys: Keys
    channels: Mapping[str, grpc.aio.Channel]

    async def close(self) -> None:
        """Closes what it holds open to other programs."""
        for channel in self.channels.values():
            await channel.close()
        await self.authority.close()
        await self.keys.close()


def assemble(settings: TasksConfig, database: db.Database, tools: catalogue.Catalogue, owner: str) -> Instance:
    """Puts an instance together. A tool of a program that has no address stops the start."""
    store, news = Store(database), News(config.secret(settings.database.dsn_file))
    authority, keys = Authority(settings.auth, settings.tls), Keys(settings.auth, settings.tls)
    channels = {name: client.channel(address, name, settings.tls) for name, address in vars(settings.backends).items()}
    # The program that serves a method, by its package: `/substrate.reads.v1.MatterService/GetMatter` is served by reads.
    deferrable = [t for t in tools.tools if t.task_support != "forbidden"]
    methods = {t.path: _method(t, channels[t.path.split(".")[1]]) for t in deferrable}
    work = settings.work
    times = Times(work.lease_seconds, work.run_seconds, work.queue_seconds, work.retry_seconds)
    worker = Worker(Desk(store, owner, times), Calling(tools, methods, keys), keys, Settings(work.slots, work.sweep_seconds, times))
    news.on_work, news.on_let_go = worker.work_is_there, worker.something_was_taken
    service = server.TaskService(store, tools, keys, news, system_clock)
    return Instance(store, service, worker, news, authority, keys, channels)


def _method(tool: catalogue.Tool, channel: grpc.aio.Channel) -> client.Method | client.StreamMethod:
    return (client.stream_method if tool.streams else client.method)(channel, tool.path, tool.response_class)


async def run(settings: TasksConfig, tools: catalogue.Catalogue | None = None) -> None:
    """Keeps tasks for the edge, and runs them."""
    database = await db.connect(config.secret(settings.database.dsn_file), settings.database.pool_size)
    owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(8)}"
    here = assemble(settings, database, tools or catalogue.load(), owner)
    program = GrpcProgram(settings.server, settings.tls, callers.load("tasks"), db.explain)
    program.add(server.NAME, here.service.methods(), here.authority, only_authenticate=True)
    listening = asyncio.create_task(here.news.listen())
    here.worker.start()
    ending: list[asyncio.Task[None]] = []

    def stop() -> None:
        here.news.close()
        ending.append(asyncio.create_task(here.worker.stop(limits.TASK_STOP_SECONDS)))

    await program.serve(all_of(here.store.ready, here.worker.alive), stop)
    await asyncio.gather(*ending)
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    await here.close()
    await database.close()


if __name__ == "__main__":
    sys.exit(main("tasks", "Runs tool calls on their own and keeps how they ended.", TasksConfig, run))
