"""The environment of the peer servers, and why there may be no figure."""

from __future__ import annotations

from pathlib import Path

from ops.layout import ROOT
from tests import environments

WORK = ROOT / ".substrate" / "bench"


class CannotMeasure(Exception):
    """Why there is no figure, in words."""


def python() -> Path:
    """The interpreter of the peers."""
    try:
        return environments.python("bench")
    except environments.NoEnvironment as error:
        raise CannotMeasure(str(error)) from None
