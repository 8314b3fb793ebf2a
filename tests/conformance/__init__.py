"""The edge held against the protocol's official suite, in front of a program that has what the suite asks for."""

import sys
from pathlib import Path

# Generated from tests/conformance/protos, which no image holds.
_GENERATED = str(Path(__file__).parent / "gen")
if _GENERATED not in sys.path:
    sys.path.append(_GENERATED)
