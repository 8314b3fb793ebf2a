"""Makes executors on demand: real processes of the real program, forked after their imports so that a hundred start quickly."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from kit import config
from kit.log import configure
from services.executor.__main__ import ExecutorConfig, run


def main() -> None:
    """One executor for each line that comes in; its process id goes out."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    settings = config.load(sys.argv[1], ExecutorConfig)
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            configure("executor")
            asyncio.run(run(settings))
            os._exit(0)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
