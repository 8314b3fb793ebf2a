"""The pages that say which test shows which requirement name tests that are there, and leave no requirement out."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "musts").glob("*.md"))
_SHORT = re.compile(r"^- `(\w+)`: `([^`]+)`$", re.MULTILINE)
_ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+) \|$", re.MULTILINE)
_TEST = re.compile(r"`([^`:]+)::(\w+)`")


@cache
def found_in(path: Path) -> frozenset[str]:
    """The names of the tests in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module([], [])
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def named(text: str) -> list[tuple[Path, str]]:
    """The tests that a page names, by file."""
    files = dict(_SHORT.findall(text))
    return [(ROOT / files.get(place, place), name) for place, name in _TEST.findall(text)]


def unshown(text: str) -> list[str]:
    """The requirements on the server behind which there is no test."""
    return [number for number, demand, shown in _ROW.findall(text) if not _TEST.search(shown) and shown != "for the client"]


def absent(text: str) -> list[str]:
    """The tests that a page names and that are not there."""
    return [f"{path.relative_to(ROOT)}::{name}" for path, name in named(text) if name not in found_in(path)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_test_that_is_named_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(named(text)) > 20
    assert absent(text) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_requirement_has_its_row_and_its_test(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [int(number) for number, _, _ in _ROW.findall(text)] == list(range(1, len(_ROW.findall(text)) + 1))
    assert unshown(text) == []


def test_the_page_on_tasks_has_every_demand_of_the_protocols_own_page() -> None:
    assert len(_ROW.findall((ROOT / "docs" / "musts" / "tasks-2025-11-25.md").read_text(encoding="utf-8"))) == 44


def test_a_test_that_is_not_there_is_noticed() -> None:
    wrong = "- `here`: `tests/contract/test_musts.py`\n| 1 | x | `here::test_nothing`, `tests/nowhere.py::test_x` |\n| 2 | y | said |"
    assert absent(wrong) == ["tests/contract/test_musts.py::test_nothing", "tests/nowhere.py::test_x"]
    assert unshown(wrong) == ["2"]
