"""Configuration: a TOML file, then SUBSTRATE_<SECTION>_<KEY> from the environment, into frozen dataclasses. Unknown keys are fatal."""

from __future__ import annotations

import dataclasses
import os
import tomllib
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

Config = TypeVar("Config")


class ConfigError(Exception):
    """What is wrong with the configuration, naming the key."""


@dataclass(frozen=True)
class Server:
    """Where a gRPC program listens. Port 0 takes any free port; the bound address is written to `ready_file`."""

    listen: str
    ready_file: str = ""
    reflection: bool = False


@dataclass(frozen=True)
class Tls:
    """Certificates of this program; there is no plaintext mode."""

    ca_file: str
    cert_file: str
    key_file: str


@dataclass(frozen=True)
class DatabaseConfig:
    """How a program reaches its database role."""

    dsn_file: str
    pool_size: int = 8


@dataclass(frozen=True)
class Peer:
    """Address of another program."""

    address: str


def secret(path: str) -> str:
    """Content of a secret file, without the line end."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigError(f"secret file {path} cannot be read: {error.strerror}") from error


def _value(section: str, field: dataclasses.Field[Any], kind: Any, given: Any, from_env: bool) -> Any:
    """One value in its declared type; text from the environment is converted, nothing else is."""
    where = f"[{section}] {field.name}"
    if from_env and kind is int:
        if not str(given).lstrip("-").isdigit():
            raise ConfigError(f"{where}: expected a whole number, got {given!r}")
        return int(given)
    if from_env and kind is bool:
        if given.lower() not in ("true", "false"):
            raise ConfigError(f"{where}: expected true or false, got {given!r}")
        return given.lower() == "true"
    if typing.get_origin(kind) is tuple:
        items = given.split(",") if from_env else given
        if not isinstance(items, list) or not all(isinstance(i, str) for i in items):
            raise ConfigError(f"{where}: expected a list of texts")
        return tuple(i.strip() for i in items if i.strip())
    if type(given) is not kind:
        raise ConfigError(f"{where}: expected {kind.__name__}, got {type(given).__name__}")
    return given


def _section(name: str, kind: Any, given: Mapping[str, Any], environ: Mapping[str, str]) -> Any:
    """One section as its dataclass."""
    kinds = typing.get_type_hints(kind)
    fields = {f.name: f for f in dataclasses.fields(kind)}
    if unknown := sorted(set(given) - set(fields)):
        raise ConfigError(f"[{name}] {unknown[0]}: unknown key; known are {', '.join(sorted(fields))}")
    values = {}
    for field in fields.values():
        env = f"SUBSTRATE_{name}_{field.name}".upper()
        if env in environ:
            values[field.name] = _value(name, field, kinds[field.name], environ[env], True)
        elif field.name in given:
            values[field.name] = _value(name, field, kinds[field.name], given[field.name], False)
        elif field.default is dataclasses.MISSING:
            raise ConfigError(f"[{name}] {field.name}: missing")
    return kind(**values)


def load(path: str, schema: type[Config], environ: Mapping[str, str] = os.environ) -> Config:
    """Reads the configuration of a program whose `schema` is a dataclass of section dataclasses."""
    try:
        tree = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}") from error
    kinds = typing.get_type_hints(schema)
    if unknown := sorted(set(tree) - set(kinds)):
        raise ConfigError(f"[{unknown[0]}]: unknown section; known are {', '.join(sorted(kinds))}")
    return schema(**{name: _section(name, kind, tree.get(name, {}), environ) for name, kind in kinds.items()})
