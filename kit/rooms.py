"""Keeps a program inside its own room at run time: another program's code cannot be imported, whatever the installation holds."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Iterable, Sequence

PROGRAMS = "services"
DATABASE_DRIVER = "asyncpg"


def foreign(room: str, module: str) -> bool:
    """Whether a module belongs to another program than `room` (e.g. "services.auth", "edge")."""
    if module == room or module.startswith(f"{room}."):
        return False
    if room == "edge" and module.partition(".")[0] == DATABASE_DRIVER:
        return True
    return module.startswith(f"{PROGRAMS}.") or module.partition(".")[0] == "edge"


class Walls(importlib.abc.MetaPathFinder):
    """Stands first in the import path and refuses other rooms."""

    def __init__(self, room: str) -> None:
        self._room = room

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the import system's own signature
        target: types.ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        """Refuses a foreign module; leaves every other to the usual finders."""
        if foreign(self._room, fullname):
            raise ModuleNotFoundError(f"{fullname} belongs to another program than {self._room}", name=fullname)
        return None


def close(room: str, loaded: Iterable[str] | None = None) -> None:
    """Closes the room: refuses to go on when something foreign is in it already, and every foreign import from now on."""
    inside = sorted(m for m in (sys.modules if loaded is None else loaded) if foreign(room, m))
    if inside:
        raise ImportError(f"{inside[0]} belongs to another program than {room} and is loaded already")
    sys.meta_path.insert(0, Walls(room))
