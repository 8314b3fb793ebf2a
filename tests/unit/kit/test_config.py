"""Configuration: typed, overridable from the environment, and fatal when it holds what nobody reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from kit import config


@dataclass(frozen=True)
class Section:
    name: str
    size: int = 3
    on: bool = False
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Whole:
    section: Section


def write(folder: Path, text: str) -> str:
    path = folder / "c.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_values_and_defaults_are_read(tmp_path: Path) -> None:
    whole = config.load(write(tmp_path, '[section]\nname = "a"\nhosts = ["x", "y"]\n'), Whole, {})
    assert whole == Whole(Section("a", hosts=("x", "y")))


def test_the_environment_overrides_the_file(tmp_path: Path) -> None:
    environ = {"SUBSTRATE_SECTION_SIZE": "9", "SUBSTRATE_SECTION_ON": "true", "SUBSTRATE_SECTION_HOSTS": "p, q"}
    assert config.load(write(tmp_path, '[section]\nname = "a"\n'), Whole, environ) == Whole(Section("a", 9, True, ("p", "q")))


@pytest.mark.parametrize(
    ("text", "environ", "named"),
    [
        ('[section]\nname = "a"\nnmae = "b"\n', {}, "nmae"),
        ('[section]\nname = "a"\n[other]\n', {}, "other"),
        ("[section]\n", {}, "name"),
        ("[section]\nname = 4\n", {}, "name"),
        ('[section]\nname = "a"\nhosts = "x"\n', {}, "hosts"),
        ('[section]\nname = "a"\n', {"SUBSTRATE_SECTION_SIZE": "many"}, "size"),
        ("[section\n", {}, "line 1"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, environ: dict[str, str], named: str) -> None:
    with pytest.raises(config.ConfigError, match=named):
        config.load(write(tmp_path, text), Whole, environ)


def test_a_secret_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(config.ConfigError, match="no-such"):
        config.secret(str(tmp_path / "no-such"))
