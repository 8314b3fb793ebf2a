"""One JSON line an event, to standard error: never arguments, results, keys or text of the record."""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from kit import limits

FILE_VARIABLE = "SUBSTRATE_LOG_FILE"  # names the file that standard error is

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


@lru_cache(maxsize=4)
def _instant(second: int) -> str:
    """A second as text; many lines share one."""
    return datetime.fromtimestamp(second, UTC).isoformat()


class JsonLines(logging.Formatter):
    """Writes a record as one line; extra fields stand beside the message."""

    def __init__(self, program: str) -> None:
        super().__init__()
        self.program = program

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {"time": _instant(int(record.created)), "level": record.levelname.lower()}
        line |= {"program": self.program, "event": record.getMessage()}
        line |= {k: v for k, v in vars(record).items() if k not in _STANDARD}
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


class Output(logging.StreamHandler[Any]):
    """Standard error. Where it is a file that whoever started this program named, the file is put aside when it has grown long.

    The program does it itself, between two lines: nothing is lost, and what libraries write to the same place goes along.
    """

    def __init__(self, file: str = "") -> None:
        super().__init__(sys.stderr)
        self._file = file

    def emit(self, record: logging.LogRecord) -> None:
        """Writes a line."""
        super().emit(record)
        if self._file:
            try:
                self._put_aside()
            except OSError:
                self._file = ""  # a folder that takes no new file: better one long log than none

    def _put_aside(self) -> None:
        written, file = os.fstat(2), Path(self._file)
        if written.st_size <= limits.PROGRAM_LOG_MAX_BYTES or not os.path.samestat(written, file.stat()):
            return
        file.replace(f"{file}.1")
        fresh = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for number in (1, 2):
            os.dup2(fresh, number)
        os.close(fresh)


def configure(program: str) -> None:
    """Sends everything that is logged to standard error as JSON lines. What a line does not hold is not looked up for it."""
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = Output(os.environ.get(FILE_VARIABLE, ""))
    handler.setFormatter(JsonLines(program))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
