"""What the operator commands share: parsers with an example each, and options that several have."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from ops.layout import DEFAULT_DATA_DIR


class OperatorError(Exception):
    """What an operator has to know, in one sentence."""


def parser(command: str, purpose: str, example: str) -> argparse.ArgumentParser:
    """A parser whose help states the purpose and shows an example; wrong usage exits with 2."""
    return argparse.ArgumentParser(
        prog=f"./run {command}", description=purpose, epilog=f"example:\n  {example}", formatter_class=argparse.RawDescriptionHelpFormatter
    )


def add_data_dir(target: argparse.ArgumentParser) -> None:
    """Add --data-dir."""
    target.add_argument(
        "--data-dir",
        type=lambda text: Path(text).expanduser().absolute(),
        default=DEFAULT_DATA_DIR,
        help="folder of the stack (default: .substrate/data)",
    )


def action(
    actions: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, purpose: str, example: str
) -> argparse.ArgumentParser:
    """An action of a command, with an example and --data-dir."""
    made = actions.add_parser(
        name, help=purpose, description=purpose, epilog=f"example:\n  {example}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_data_dir(made)
    return made


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows in columns; the last column is not padded."""
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
