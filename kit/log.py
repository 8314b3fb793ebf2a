"""One JSON line an event, to standard error: never arguments, results, keys or text of the record."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

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


def configure(program: str) -> None:
    """Sends everything that is logged to standard error as JSON lines. What a line does not hold is not looked up for it."""
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(program))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
