"""What a model is shown of each tool, pinned: a change of words or schemas is a change that somebody looks at. UPDATE_GOLDEN=1 rewrites."""

import json
import os
from pathlib import Path

import orjson
import pytest

from edge import tools
from kit import catalogue
from kit.catalogue import Tool

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "tools"
LOADED = catalogue.load()
SHOWN = {t["name"]: t for t in orjson.loads(orjson.dumps(tools.build(LOADED).listings["2025-11-25"]))["tools"]}
UPDATE = os.environ.get("UPDATE_GOLDEN") == "1"


@pytest.mark.parametrize("tool", LOADED.tools, ids=lambda t: t.name)
def test_a_tool_is_shown_as_it_was(tool: Tool) -> None:
    path = FOLDER / f"{tool.name}.json"
    text = json.dumps(SHOWN[tool.name], indent=2, ensure_ascii=False) + "\n"
    if UPDATE:
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{path.name} is not pinned yet; look at it and run with UPDATE_GOLDEN=1"
    assert text == path.read_text(encoding="utf-8"), "what a model is shown has changed; look at it and run with UPDATE_GOLDEN=1"


def test_nothing_is_pinned_that_is_no_tool() -> None:
    pinned = {path.stem for path in FOLDER.glob("*.json")}
    if UPDATE:
        for name in pinned - set(SHOWN):
            (FOLDER / f"{name}.json").unlink()
    assert pinned <= set(SHOWN) or UPDATE
