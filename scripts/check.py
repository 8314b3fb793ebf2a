"""Everything that must hold before a commit lands, short of the tests: one line a check with its time; all run even if one fails."""

import ast
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
CODE = ("kit", "edge", "services", "ops", "scripts", "tests")
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70


@dataclass(frozen=True)
class Outcome:
    """What a check found."""

    ok: bool
    said: str = ""
    note: str = ""


def _run(*command: str) -> Outcome:
    environ = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}", "PYTHONPATH": f"{ROOT}:{ROOT / 'gen'}"}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    return Outcome(done.returncode == 0, (done.stdout + done.stderr).strip())


def _git(*arguments: str) -> Outcome:
    return _run("git", *arguments)


def breaking() -> Outcome:
    """The protos against the last commit when they are being changed, else against the commit before it."""
    protos = ("protos", "third_party", "buf.yaml")
    dirty = _git("status", "--porcelain", "--", *protos)
    if not dirty.ok:
        return Outcome(True, note="nothing to compare with: not a git checkout")
    against = "HEAD" if dirty.said else "HEAD~1"
    known = _git("rev-parse", "--verify", "--quiet", f"{against}^{{commit}}")
    if (
        not known.ok
        or not _git("cat-file", "-e", f"{against}:buf.yaml").ok
        or not _git("ls-tree", "-r", "--name-only", against, "protos").said
    ):
        return Outcome(True, note=f"nothing to compare with: no protos at {against}")
    found = _run("buf", "breaking", "--against", f".git#ref={known.said}")
    return Outcome(found.ok, found.said, f"against {against}")


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def sizes() -> Outcome:
    """Files and functions stay small enough to read."""
    found = []
    for path in sorted(p for folder in CODE for p in (ROOT / folder).rglob("*.py")):
        text, where = path.read_text(encoding="utf-8"), path.relative_to(ROOT)
        if text.count("\n") > FILE_LINES_MAX:
            found.append(f"{where}: {text.count(chr(10))} lines, at most {FILE_LINES_MAX}")
        for function in _functions(ast.parse(text)):
            length = (function.end_lineno or 0) - function.lineno + 1
            if length > FUNCTION_LINES_MAX:
                found.append(f"{where}:{function.lineno}: {function.name} has {length} lines, at most {FUNCTION_LINES_MAX}")
    return Outcome(not found, "\n".join(found))


CHECKS: dict[str, Callable[[], Outcome]] = {
    "types (mypy --strict)": lambda: _run("mypy"),
    "format (ruff)": lambda: _run("ruff", "format", "--check", "."),
    "lint (ruff)": lambda: _run("ruff", "check", "."),
    "imports (import-linter)": lambda: _run("lint-imports"),
    "protos: lint (buf)": lambda: _run("buf", "lint"),
    "protos: format (buf)": lambda: _run("buf", "format", "-d", "--exit-code"),
    "protos: breaking (buf)": breaking,
    "generated code": lambda: _run(sys.executable, "scripts/gen.py", "--check"),
    "locks": lambda: _run(sys.executable, "scripts/lock.py", "--check"),
    "sizes": sizes,
}


def _timed(check: Callable[[], Outcome]) -> tuple[Outcome, float]:
    started = time.monotonic()
    try:
        return check(), time.monotonic() - started
    except OSError as error:
        return Outcome(False, str(error)), time.monotonic() - started


def main(arguments: list[str]) -> int:
    """Run every check, or those whose name contains one of the arguments."""
    if {"-h", "--help"} & set(arguments):
        print(f"usage: ./run check [NAME …]\n\n{__doc__}\n\nchecks: {', '.join(CHECKS)}\n\nexample:\n  ./run check types lint")
        return 0
    chosen = {name: check for name, check in CHECKS.items() if not arguments or any(a in name for a in arguments)}
    if not chosen:
        print(f"check: nothing is called {' or '.join(arguments)}; there are: {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    failed = []
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for name, (outcome, seconds) in zip(chosen, pool.map(_timed, chosen.values()), strict=True):
            verdict = "ok    " if outcome.ok else "FAILED"
            print(f"{verdict} {name:26} {seconds:6.1f} s   {outcome.note}".rstrip(), flush=True)
            if not outcome.ok:
                failed.append(name)
                print("\n".join(f"       {line}" for line in outcome.said.splitlines()), flush=True)
    print(f"{len(chosen) - len(failed)} checks passed, {len(failed)} failed{': ' + ', '.join(failed) if failed else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
