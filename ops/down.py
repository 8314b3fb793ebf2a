"""`./run down`: stop what `up` started."""

import os
import signal
import sys
import time

from kit import limits
from ops import cli, owner
from ops.layout import DataDir


def _wait(data: DataDir, pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if owner.holder(data) != pid and not owner.alive(pid):
            return True
        signal.sigtimedwait([], 0.05)
    return False


def main(arguments: list[str]) -> int:
    """Run the command `down`."""
    parser = cli.parser("down", "Stop what `up` started. The data stays.", "./run down --data-dir ~/substrate")
    cli.add_data_dir(parser)
    data = DataDir(parser.parse_args(arguments).data_dir)
    pid = owner.holder(data)
    if pid is None:
        print(f"nothing runs in {data.root}")
        return 0
    os.kill(pid, signal.SIGTERM)
    grace = limits.PROGRAM_STOP_SECONDS * 4 + limits.POSTGRES_STOP_SECONDS
    if _wait(data, pid, grace):
        print("stopped")
        return 0
    print(f"the stack did not stop within {grace:g} s and was killed", file=sys.stderr)
    os.kill(pid, signal.SIGKILL)  # its children notice and stop by themselves
    return 0 if _wait(data, pid, limits.POSTGRES_STOP_SECONDS) else 1
