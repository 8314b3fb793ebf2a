"""What a program logs: one line an event, to a file that never grows past its limit by more than a line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from kit.log import FILE_VARIABLE
from ops.process import python_environ

TALK = """
import logging, os, sys
from kit import limits, log
limits.PROGRAM_LOG_MAX_BYTES = 2_000
log.configure("auth")
for n in range(int(sys.argv[1])):
    logging.getLogger("x").info("line", extra={"n": n})
os.write(2, b"a library\\n")
"""


def talk(log: Path, lines: int, named: Path | None = None) -> None:
    """A program that logs so many lines, standard error being the file."""
    environ = python_environ() | {FILE_VARIABLE: str(named or log)}
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        subprocess.run([sys.executable, "-c", TALK, str(lines)], env=environ, stderr=output, stdout=output, check=True, timeout=60)
    finally:
        os.close(output)


def numbers(log: Path) -> list[int]:
    """The lines of a log by their numbers."""
    return [json.loads(line)["n"] for line in log.read_text(encoding="utf-8").splitlines() if line.startswith("{")]


def test_a_log_that_grows_past_its_limit_while_the_program_runs_is_put_aside_and_no_line_is_lost(tmp_path: Path) -> None:
    log = tmp_path / "auth.log"
    talk(log, 100)
    kept = log.with_name("auth.log.1")
    assert numbers(kept)[0] > 0  # an older one made room
    assert numbers(kept) + numbers(log) == list(range(numbers(kept)[0], 100))
    assert max(kept.stat().st_size, log.stat().st_size) < 2_200
    assert log.read_text(encoding="utf-8").endswith("a library\n")
    assert log.stat().st_mode & 0o077 == 0


def test_a_file_that_standard_error_is_not_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "other.log"
    other.write_text("mine", encoding="utf-8")
    talk(tmp_path / "auth.log", 40, named=other)
    assert other.read_text(encoding="utf-8") == "mine"
    assert numbers(tmp_path / "auth.log") == list(range(40))
