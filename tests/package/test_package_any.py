"""How many slots of signatures say ``Any``: a bound that only goes down.

A slot is a parameter (``self`` and ``cls`` left out) or a return of a ``def``, nested ones included. It counts if its
annotation names ``Any``, at any depth, or an alias of ours that does: ``Vector = Any`` renames it and hides nothing.
``python tests/package/test_package_any.py`` prints the rooms.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from package_trees import Outline, outline, outline_of

import bilevel_check
import bilevel_verify as bv

PACKAGES = (Path(bv.__file__).parent, Path(bilevel_check.__file__).parent)
MOST = 0.0292
"""Share of the slots that may say ``Any``: what was reached, and never more."""
Name = tuple[str, str]
"""A module and a name that it binds."""


def modules_of(package: Path) -> dict[str, Outline]:
    """Dotted names of the modules below a package and what stands in them."""
    found = {}
    for path in sorted(p for p in package.rglob("*.py") if "__pycache__" not in p.parts):
        parts = (package.name, *path.relative_to(package).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = outline(path)
    return found


def bindings(module: str, tree: Outline) -> tuple[dict[Name, Name], dict[Name, ast.expr]]:
    """What a module imports, wherever it does (name here -> name there), and its aliases of types (name -> value)."""
    imports: dict[Name, Name] = {}
    aliases: dict[Name, ast.expr] = {}
    for node in tree.found:
        if isinstance(node, ast.ImportFrom):
            imports |= {(module, a.asname or a.name): (str(node.module), a.name) for a in node.names}
    for node in tree.top:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            aliases[module, node.targets[0].id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            aliases[module, node.target.id] = node.value
    return imports, aliases


class Names:
    """Which names of a package mean ``Any``."""

    def __init__(self, modules: dict[str, Outline]) -> None:
        self.imports: dict[Name, Name] = {}
        self.aliases: dict[Name, ast.expr] = {}
        for module, tree in modules.items():
            imports, aliases = bindings(module, tree)
            self.imports |= imports
            self.aliases |= aliases
        self.known: dict[Name, bool] = {}

    def means_any(self, module: str, name: str) -> bool:
        """Whether a name is ``Any`` or an alias with ``Any`` in it."""
        key = (module, name)
        if key not in self.known:
            self.known[key] = False  # an alias that names itself
            if key in self.imports:
                self.known[key] = self.imports[key] == ("typing", "Any") or self.means_any(*self.imports[key])
            elif key in self.aliases:
                self.known[key] = self.says_any(module, self.aliases[key])
        return self.known[key]

    def says_any(self, module: str, annotation: ast.expr) -> bool:
        """Whether an annotation names ``Any``, in quotes or not."""
        for node in ast.walk(annotation):
            if isinstance(node, ast.Attribute) and node.attr == "Any":
                return True
            if isinstance(node, ast.Name) and self.means_any(module, node.id):
                return True
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "Any" in node.value:
                return True
        return False


def slots(tree: Outline) -> Iterator[ast.expr | None]:
    """Annotations of the parameters and returns of all functions; None where there is none."""
    methods = {id(f) for c in tree.found if isinstance(c, ast.ClassDef) for f in c.body}
    for node in tree.found:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            a = node.args
            plain = [*a.posonlyargs, *a.args]
            static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
            own = plain[1:] if id(node) in methods and not static else plain
            extra = [one for one in (a.vararg, a.kwarg) if one is not None]
            yield from (one.annotation for one in (*own, *a.kwonlyargs, *extra))
            yield node.returns


def count(modules: dict[str, Outline]) -> tuple[Counter[str], Counter[str]]:
    """Slots with ``Any`` and all slots, by room."""
    names = Names(modules)
    said: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for module, tree in modules.items():
        room = ".".join(module.split(".")[:2])
        for annotation in slots(tree):
            total[room] += 1
            said[room] += annotation is not None and names.says_any(module, annotation)
    return said, total


@cache
def _counted() -> tuple[Counter[str], Counter[str]]:
    return count({name: tree for package in PACKAGES for name, tree in modules_of(package).items()})


def _table(said: Counter[str], total: Counter[str]) -> str:
    lines = [f"{n:5d} of {total[room]:5d}  {room}" for room, n in said.most_common() if n]
    whole = f"{said.total():5d} of {total.total():5d}  = {100 * said.total() / total.total():.2f} %"
    return "\n".join([*lines, whole])


def test_any_does_not_spread() -> None:
    said, total = _counted()
    assert total.total() > 15_000
    assert said.total() <= MOST * total.total(), _table(said, total)


def test_the_bound_is_what_was_reached() -> None:
    said, total = _counted()
    assert said.total() > (MOST - 0.005) * total.total(), f"write what was reached into MOST\n{_table(said, total)}"


def test_the_counter_sees_aliases_and_depth() -> None:
    texts = {
        "p.low": "from typing import Any\nVector = Any\nTable = dict[str, Vector]\nNumber = int | float",
        "p.use": (
            "import typing\nfrom typing import Any as Whatever\nfrom p.low import Table as T, Vector as V, Number\n"
            "def f(a: V, b: T, c: list[Whatever], d: 'Any', e: typing.Any, g: Number, h: int) -> None:\n"
            "    def inside(*args: V, **options: int) -> Number: ...\n"
            "class C:\n    def m(self, x: V) -> T: ...\n    @staticmethod\n    def s(x: V) -> int: ..."
        ),
    }
    said, total = count({name: outline_of(text) for name, text in texts.items()})
    assert (said["p.use"], total["p.use"]) == (5 + 1 + 2 + 1, 8 + 3 + 2 + 2)


if __name__ == "__main__":
    print(_table(*_counted()))
