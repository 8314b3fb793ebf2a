"""What a function can reach, read off the source: names, attributes, tables, decorators, defaults, and methods by their name alone.

It errs on the side of reaching too much: a method that is called on something unknown is every method of that name. What cannot be followed
at all (a module or an attribute whose name is made at run time) is reported rather than passed over."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Calls that reach what no reader of the source can name.
DYNAMIC = frozenset({"__import__", "eval", "exec", "compile", "globals", "vars", "import_module", "reload", "attrgetter", "methodcaller"})
DYNAMIC_MEMBERS = frozenset(
    {"__import__", "import_module", "reload", "attrgetter", "methodcaller", "__dict__", "__globals__", "__getattribute__"}
)
Node = tuple[str, str]  # module, and the name of a function, Class, Class.method or variable in it


def sources(*folders: str) -> dict[str, str]:
    """Source by module name of everything below these folders."""
    found = {}
    for path in sorted(p for folder in folders for p in (ROOT / folder).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text(encoding="utf-8")
    return found


@dataclass
class Module:
    """What a module defines and what its names mean."""

    name: str
    nodes: dict[str, list[ast.AST]] = field(default_factory=dict)
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    members: dict[str, list[str]] = field(default_factory=dict)  # Class -> Class.method
    dotted: dict[str, set[str]] = field(default_factory=dict)  # a -> {a.b, a.c}, from `import a.b` and `import a.c`


@cache
def parse(name: str, source: str) -> Module:
    """A module's functions, classes and variables. Imports inside functions count for the whole module."""
    tree = ast.parse(source)
    made = Module(name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.partition(".")[0]
                made.imports[alias.asname or root] = (alias.name if alias.asname else root, None)
                made.dotted.setdefault(root, set()).add(alias.name)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                made.imports[alias.asname or alias.name] = (node.module or "", alias.name)
    for statement in tree.body:
        _define(made, statement)
    return made


def _define(made: Module, node: ast.AST) -> None:
    """Notes what a statement at the top of a module defines, also where it stands under a condition."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        made.nodes.setdefault(node.name, []).append(node)
    elif isinstance(node, ast.ClassDef):
        _define_class(made, node)
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for each in (n for target in targets for n in ast.walk(target)):
            if isinstance(each, ast.Name):
                made.nodes.setdefault(each.id, []).append(node)
    elif isinstance(node, (ast.If, ast.Try, ast.With, ast.ExceptHandler)):
        for child in ast.iter_child_nodes(node):
            _define(made, child)


def _define_class(made: Module, node: ast.ClassDef) -> None:
    methods = [n for n in node.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    rest: list[ast.AST] = [*node.bases, *node.keywords, *node.decorator_list, *(n for n in node.body if n not in methods)]
    made.nodes.setdefault(node.name, []).extend(rest)
    made.members.setdefault(node.name, []).extend(f"{node.name}.{m.name}" for m in methods)
    for method in methods:
        made.nodes.setdefault(f"{node.name}.{method.name}", []).append(method)


@dataclass
class Reached:
    """Everything that a node can reach."""

    nodes: set[Node] = field(default_factory=set)
    external: set[tuple[str, Node]] = field(default_factory=set)  # top-level package, and who touches it
    dynamic: set[tuple[str, Node]] = field(default_factory=set)


class World:
    """Modules by name, ready to be followed."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self.modules = {name: parse(name, text) for name, text in modules.items()}
        self._methods: dict[str, list[Node]] = {}
        for module in self.modules.values():
            for members in module.members.values():
                for member in members:
                    self._methods.setdefault(member.rpartition(".")[2], []).append((module.name, member))

    def reach(self, *entries: Node) -> Reached:
        """What these nodes can reach."""
        found, todo = Reached(), list(entries)
        while todo:
            node = todo.pop()
            if node in found.nodes:
                continue
            found.nodes.add(node)
            module = self.modules[node[0]]
            todo += [(node[0], member) for member in module.members.get(node[1], ())]
            for tree in module.nodes.get(node[1], ()):
                for child in ast.walk(tree):
                    todo += self._follow(module, child, node, found)
        return found

    def _follow(self, module: Module, node: ast.AST, origin: Node, found: Reached) -> list[Node]:
        if isinstance(node, ast.Name):
            if node.id in DYNAMIC:
                found.dynamic.add((node.id, origin))
            return self._named(module, node.id, origin, found)
        if isinstance(node, ast.Attribute):
            return self._attribute(module, node, origin, found)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "setattr") and len(node.args) > 1:
            name = node.args[1]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                return self._any(name.value)
            if node.func.id == "getattr":
                found.dynamic.add(("getattr", origin))
        return []

    def _named(self, module: Module, name: str, origin: Node, found: Reached) -> list[Node]:
        """What a bare name means in a module."""
        defined = [(module.name, name)] if name in module.nodes or name in module.members else []
        if name not in module.imports:
            return defined
        base, member = module.imports[name]
        if member is None:
            found.external |= {(dotted, origin) for dotted in module.dotted.get(base, ()) if dotted not in self.modules}
        return defined + self._of(base, member, origin, found)

    def _of(self, base: str, member: str | None, origin: Node, found: Reached) -> list[Node]:
        """A member of a module; a package that is not ours is noted."""
        if base not in self.modules and (member is None or f"{base}.{member}" not in self.modules):
            found.external.add((base, origin))
            return []
        if base in self.modules and member is not None:
            target = self.modules[base]
            if member in target.nodes or member in target.members:
                return [(base, member)]
            if member in target.imports and f"{base}.{member}" not in self.modules:
                return self._of(*target.imports[member], origin, found)
        return []

    def _attribute(self, module: Module, node: ast.Attribute, origin: Node, found: Reached) -> list[Node]:
        """`a.b.c` where `a` is a module of ours; otherwise every method of that name."""
        if node.attr in DYNAMIC_MEMBERS:
            found.dynamic.add((node.attr, origin))
        chain: list[str] = [node.attr]
        base: ast.expr = node.value
        while isinstance(base, ast.Attribute):
            chain.insert(0, base.attr)
            base = base.value
        if isinstance(base, ast.Name) and base.id in module.imports and base.id not in module.nodes:
            target, member = module.imports[base.id]
            path = target if member is None else f"{target}.{member}"
            while len(chain) > 1 and f"{path}.{chain[0]}" in self.modules:
                path = f"{path}.{chain.pop(0)}"
            if path in self.modules:
                return self._of(path, chain[0], origin, found)
            if target.partition(".")[0] not in {m.partition(".")[0] for m in self.modules}:
                found.external.add((target, origin))
        return self._any(node.attr)

    def _any(self, name: str) -> list[Node]:
        """Every method of this name. What Python calls by itself (`__init__`, …) is reached with its class."""
        return [] if name.startswith("__") else self._methods.get(name, [])
