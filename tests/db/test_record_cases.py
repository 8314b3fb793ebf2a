"""Every case of every tool on the demonstration matters: cases/<tool>.json says what is asked and what the answer must hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cluster import Loaded
from tests.db.reads_world import reads

CASES = [
    pytest.param(path.stem, case, id=f"{path.stem}: {case['name']}")
    for path in sorted((Path(__file__).parent / "cases").glob("*.json"))
    for case in json.loads(path.read_text(encoding="utf-8"))["cases"]
]


def differences(expected: Any, found: Any, where: str = "answer") -> list[str]:
    """Where an answer lacks what is expected. An object must hold the named fields, a list must begin with the named items."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return [d for key, value in expected.items() for d in differences(value, found.get(key, "absent"), f"{where}.{key}")]
    if isinstance(expected, list) and isinstance(found, list) and expected and len(found) >= len(expected):
        return [d for i, (e, f) in enumerate(zip(expected, found, strict=False)) for d in differences(e, f, f"{where}[{i}]")]
    return [] if expected == found else [f"{where} is {found!r}, expected {expected!r}"]


@pytest.mark.parametrize(("tool", "case"), CASES)
async def test_the_answer_holds_what_the_case_says(loaded: Loaded, tool: str, case: dict[str, Any]) -> None:
    given = {k: loaded.matters[v[1:]] if isinstance(v, str) and v.startswith("@") else v for k, v in case["arguments"].items()}
    async with reads(loaded.database, *loaded.matters.values()) as ask:
        answer = await ask(tool, **given)
    assert differences(case["expect"], answer) == []
    notes = "\n".join(answer["verification"]["notes"])
    assert [n for n in case.get("notes", ()) if n not in notes] == []
    text = json.dumps(answer, ensure_ascii=False)
    assert [n for n in case.get("never", ()) if n in text] == []
