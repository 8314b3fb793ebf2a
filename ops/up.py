"""`./run up`: start the whole stack on this machine and say how to connect."""

import asyncio
import os
import subprocess
import sys
from typing import Any

from kit import limits
from ops import cli, connect, owner, progress
from ops.files import open_log, tail
from ops.layout import DEFAULT_PORT, ROOT, DataDir


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise ValueError(text)
    return port


def main(arguments: list[str]) -> int:
    """Run the command `up`."""
    parser = cli.parser(
        "up", "Start the whole stack on this machine and say how to connect.", "./run up --detach --port 8080 --data-dir ~/substrate"
    )
    cli.add_data_dir(parser)
    parser.add_argument(
        "--port", type=_port, default=DEFAULT_PORT, help=f"port of the MCP endpoint, 0 for any free one (default: {DEFAULT_PORT})"
    )
    parser.add_argument("--detach", action="store_true", help="return when everything is healthy, and leave it running")
    parser.add_argument("--until-exit-of", type=int, metavar="PID", help="stop when that process ends (for test harnesses)")
    options = parser.parse_args(arguments)
    data = DataDir(options.data_dir)
    if owner.holder(data) is not None:
        return asyncio.run(_already(data))
    print(f"starting in {data.root}", flush=True)
    if options.detach:
        return _detached(data, options.port, options.until_exit_of)
    return _attached(data, options.port, options.until_exit_of)


def _attached(data: DataDir, port: int, until_exit_of: int | None) -> int:
    from ops import supervise

    def started(content: dict[str, Any]) -> None:
        print(f"\n{connect.summary(data, content)}\n\nrunning; Ctrl-C stops everything", flush=True)

    code = supervise.main_loop(data, port, progress.for_stream(), started, until_exit_of)
    print("stopped" if code == 0 else "not running")
    return code


def _detached(data: DataDir, port: int, until_exit_of: int | None) -> int:
    shown = progress.for_stream()
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "ops.supervise", "--data-dir", str(data.root), "--port", str(port), "--events", str(writing)]
    command += ["--until-exit-of", str(until_exit_of)] if until_exit_of else []
    data.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    log = open_log(data.log / "up.log")
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[writing], start_new_session=True, env=_environ()
    )
    os.close(writing)
    os.close(log)
    ready = None
    try:
        with os.fdopen(reading, encoding="utf-8") as events:
            for line in events:
                event = progress.replay(shown, line)
                if event["event"] == "ready":
                    ready = str(event["text"])
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        print("\nstopped")
        return 1
    if ready is None:
        code = process.wait()
        print(f"not running (code {code}); {data.log / 'up.log'} ends:{tail(data.log / 'up.log')}", file=sys.stderr)
        return 1
    print(f"\n{ready}\n\nrunning; ./run down stops everything")
    return 0


def _environ() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'gen'}"}


async def _already(data: DataDir) -> int:
    """Another `up` owns this folder: wait until it serves, then say what it would say."""
    from ops import stack

    waited = 0.0
    while not data.ready.exists():
        if owner.holder(data) is None or waited > limits.PROGRAM_START_SECONDS + limits.LOAD_SECONDS:
            print(f"the stack in {data.root} did not come up; see {data.log}.", file=sys.stderr)
            return 1
        await asyncio.sleep(0.1)
        waited += 0.1
    content = connect.read(data)
    silent = await stack.healthy(data, content)
    if silent:
        print(f"a stack runs in {data.root}, but {', '.join(silent)} does not answer; see {data.log}.", file=sys.stderr)
        return 1
    print(f"already running\n\n{connect.summary(data, content)}")
    return 0
