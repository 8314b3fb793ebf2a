"""The process that owns a running stack: holds its lock, starts it, keeps it up and stops it cleanly."""

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable
from typing import Any

from kit import db
from ops import cli, connect, owner
from ops.cli import OperatorError
from ops.layout import DataDir
from ops.migrations import MigrationError
from ops.pg_binaries import PostgresError
from ops.process import StackError, say
from ops.progress import Events, Progress
from ops.stack import Stack

Started = Callable[[dict[str, Any]], None]
FAILURES = (StackError, PostgresError, MigrationError, OperatorError, db.Error, OSError, ValueError)


async def _until_gone(pid: int) -> None:
    while owner.alive(pid):
        await asyncio.sleep(0.5)
    say(f"process {pid} is gone, as --until-exit-of asked")


async def run(stack: Stack, started: Started, until_exit_of: int | None) -> None:
    """Start the stack, tell `started`, and hold it until SIGINT, SIGTERM or the end of the process named."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    stopping = False

    def stop(name: str) -> None:
        nonlocal stopping
        if not stopping:  # a second Ctrl-C does not interrupt the clean stop
            stopping = True
            say(f"{name}: stopping")
            task.cancel()

    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(sig, stop, sig.name)
    watch = asyncio.create_task(_until_gone(until_exit_of)) if until_exit_of else None
    if watch:
        watch.add_done_callback(lambda done: None if done.cancelled() else stop("owner"))
    try:
        async with stack.started() as content:
            stack.data.ready.touch()
            try:
                started(content)
                await stack.hold()
            finally:
                stack.data.ready.unlink(missing_ok=True)
    finally:
        if watch:
            watch.cancel()


def main_loop(data: DataDir, port: int, progress: Progress, started: Started, until_exit_of: int | None = None) -> int:
    """Own the stack until it is stopped; 0 after a clean stop, 1 when it could not run, with the reason on the progress."""
    with owner.lock(data) as ours:
        if not ours:
            progress.note(f"a stack already runs in {data.root}.")
            return 1
        try:
            asyncio.run(run(Stack(data, port, progress), started, until_exit_of))
        except (KeyboardInterrupt, asyncio.CancelledError):
            return 0
        except BaseExceptionGroup as group:
            progress.note(f"stopped: {group.exceptions[0]}")
            return 1
        except FAILURES as error:
            progress.note(str(error))
            return 1
    return 0


def main(arguments: list[str]) -> int:
    """Run as the detached owner of a stack, reporting over a pipe."""
    parser = argparse.ArgumentParser(description=__doc__)
    cli.add_data_dir(parser)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--events", type=int, required=True)
    parser.add_argument("--until-exit-of", type=int)
    options = parser.parse_args(arguments)
    events = Events(options.events)

    def started(content: dict[str, Any]) -> None:
        events.send("ready", text=connect.summary(DataDir(options.data_dir), content))
        events.close()

    return main_loop(DataDir(options.data_dir), options.port, events, started, options.until_exit_of)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
