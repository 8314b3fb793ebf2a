"""What the operator commands share: parsers with an example each, and options that several have."""

import argparse
from pathlib import Path

from ops.layout import DEFAULT_DATA_DIR


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
