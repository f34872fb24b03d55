"""Modules inside the rooms: no circle of imports, lazy ones and those for types alone included.

A circle that is hidden by an import inside a function or under ``TYPE_CHECKING`` runs, but neither of its modules can
be read, tested or moved without the other.
"""

from __future__ import annotations

import ast
from pathlib import Path

from package_trees import outline

import bilevel_check
import bilevel_verify as bv

PACKAGES = (Path(bv.__file__).parent, Path(bilevel_check.__file__).parent)


def modules_of(package: Path) -> dict[str, Path]:
    """Dotted names of the modules below a package, with the package's own name in front."""
    found = {}
    for path in sorted(p for p in package.rglob("*.py") if "__pycache__" not in p.parts):
        parts = (package.name, *path.relative_to(package).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path, name: str, known: dict[str, Path]) -> set[str]:
    """Modules of ours that a module names in any import statement, wherever it stands.

    ``from package import name`` is an import of ``package.name`` where that is a module, and of the package where it is
    a name that the package hands on. The packages above a module are not counted: Python runs them for every import.
    """
    found: set[str] = set()
    for node in outline(path).found:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in known else str(node.module))
    return {module for module in found if module in known and module != name}


def graph_of(*packages: Path) -> dict[str, set[str]]:
    """Module -> modules of ours that it imports at the top, inside functions or for types."""
    known = {name: path for package in packages for name, path in modules_of(package).items()}
    return {name: imported(path, name, known) for name, path in known.items()}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components of more than one module (Tarjan 1972), each sorted."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in sorted(graph[module]):
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            component = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(component) > 1:
                found.append(sorted(component))

    for module in sorted(graph):
        if module not in index:
            visit(module)
    return sorted(found)


def test_no_module_stands_in_a_circle() -> None:
    graph = graph_of(*PACKAGES)
    assert len(graph) > 500
    assert circles(graph) == []


def _write(folder: Path, texts: dict[str, str]) -> Path:
    for name, text in {"__init__": "", **texts}.items():
        (folder / f"{name}.py").write_text(text, encoding="utf8")
    return folder


def test_planted_circles_are_seen(tmp_path: Path) -> None:
    """One at the top, one inside a function, one for types, one through three modules; a plain chain is none."""
    package = tmp_path / "p"
    package.mkdir()
    lazy = "def f():\n    from p import a\n    return a"
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.a import X"
    for back in ("import p.a", "from p.a import X", "from p import a", lazy, typed):
        _write(package, {"a": "from p.b import x", "b": back, "c": "from p import a, b"})
        assert circles(graph_of(package)) == [["p.a", "p.b"]], back
    _write(package, {"a": "from p.b import x", "b": "from p.c import x", "c": typed})
    assert circles(graph_of(package)) == [["p.a", "p.b", "p.c"]]
    _write(package, {"a": "from p.b import x", "b": "from p.c import x", "c": "import os"})
    assert circles(graph_of(package)) == []


def test_a_circle_through_the_front_of_a_room_is_seen(tmp_path: Path) -> None:
    package = tmp_path / "p"
    (package / "room").mkdir(parents=True)
    _write(package, {})
    _write(package / "room", {"__init__": "from p.room.a import x", "a": "def f():\n    from p.room import x"})
    assert circles(graph_of(package)) == [["p.room", "p.room.a"]]
