"""What carries out each action: one statement wherever SQL is enough, a module of this package where it is not."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kit.actions import Action, Actions
from services.executor.connectors.smtp import Mail
from services.executor.handlers.statement import SqlHandler
from services.executor.lease import Claim
from services.executor.store import Store
from services.executor.verify import Order

SQL = Path(__file__).parent.parent / "sql"


class NoHandler(Exception):
    """A declared action that nothing carries out."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What a handler works with."""

    store: Store
    mail: Mail


class Handler(Protocol):
    """Carries out the orders of one action and records how that ended."""

    async def prepare(self, store: Store) -> None:
        """Prepares its statements; one that does not fit stops the start."""

    async def carry_out(self, order: Order, claim: Claim, tools: Tools) -> str:
        """Does it, records the outcome and returns it as a sentence. Raises Unsound where nothing was changed."""


def _find(action: Action, folder: Path) -> Handler:
    path = folder / f"{action.name}.sql"
    if path.exists():
        return SqlHandler(action, path)
    name = f"{__name__}.{action.name}"
    try:
        module: Any = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise NoHandler(f"{action.name}: the action is declared and nothing carries it out") from None
    handler: Handler = module.make()
    return handler


def find(known: Actions, folder: Path = SQL) -> Mapping[str, Handler]:
    """The handler of every declared action; one without stops the start and is named."""
    return {action.name: _find(action, folder) for action in known.by_name.values()}
