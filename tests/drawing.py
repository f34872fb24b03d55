"""Which tests draw at random: those that reach ``SEED`` or ``BILEVEL_VERIFY_SEED``, read from their source.

A test reaches what its body, its decorators, its fixtures and the helpers it names reach, also in other files of the
tests. Nothing is imported. Names that are made at run time (``getattr``, fixtures asked for by text) are not seen.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VARIABLE = "BILEVEL_VERIFY_SEED"
Place = tuple[Path, str]
SOURCE: Place = (ROOT / "seeds.py", "SEED")


def draws(path: Path, test: str) -> bool:
    """Whether a function or class of a file draws with the seed of the tests."""
    seen: set[Place] = set()
    waiting: list[Place] = [(path, test), *((path, name) for name in _always(path))]
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        if place == SOURCE:
            return True
        waiting += _named(*place)
    return False


@cache
def _files() -> dict[str, Path]:
    return {path.stem: path for path in ROOT.rglob("*.py") if path.stem != "seeds"} | {"seeds": ROOT / "seeds.py"}


def _file(module: str) -> Path | None:
    return _files().get(module.removeprefix("tests.").rpartition(".")[2])


@cache
def _definitions(path: Path) -> dict[str, list[ast.stmt]]:
    """Name -> statements at the top of the file that give it a meaning."""
    found: dict[str, list[ast.stmt]] = {}
    for node in _statements(ast.parse(path.read_text(encoding="utf8")).body):
        for name in _given(node):
            found.setdefault(name, []).append(node)
    return found


def _statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements at the top, also below ``if``, ``try`` and ``with``."""
    found = []
    for node in body:
        inside = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.stmt)]
        deeper = isinstance(node, (ast.If, ast.Try, ast.With, ast.For))
        found += [node, *(_statements(inside) if deeper else [])]
    return found


def _given(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name for alias in node.names]
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
    return [name.id for name in names]


@cache
def _always(path: Path) -> list[str]:
    """Fixtures that every test of a file uses."""
    return [
        name
        for name, nodes in _definitions(path).items()
        for node in nodes
        if isinstance(node, ast.FunctionDef) and any("autouse" in ast.unparse(one) for one in node.decorator_list)
    ]


@cache
def _named(path: Path, name: str) -> list[Place]:
    """What the definition of a name mentions: names of its file, and of the files that it imports."""
    found: list[Place] = []
    shared = path.with_name("conftest.py")
    if name not in _definitions(path) and path != shared and shared.is_file():
        return [(shared, name)]
    for node in _definitions(path).get(name, []):
        if isinstance(node, ast.ImportFrom):
            origin = _file(node.module or "")
            found += [(origin, one.name) for one in node.names if origin and name == (one.asname or one.name)]
            continue
        for part in ast.walk(node):
            match part:
                case ast.Name(id=word) | ast.arg(arg=word):
                    found.append((path, word))
                case ast.Attribute(value=ast.Name(id=word), attr=attribute) if origin := _module(path, word):
                    found.append((origin, attribute))
                case ast.Constant(value=value) if value == VARIABLE:
                    found.append(SOURCE)
    return found


@cache
def _module(path: Path, word: str) -> Path | None:
    """The file of the tests that a name of a file stands for."""
    for node in _definitions(path).get(word, []):
        if isinstance(node, ast.Import):
            return next((_file(one.name) for one in node.names if word == (one.asname or one.name)), None)
    return None
