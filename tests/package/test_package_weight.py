"""How much a reader has to hold in the head: bounds that only go down.

Modules have at most 400 lines and import from at most eight others of ours; what is longer or wider stands here by name
or number, and may only become less. ``python tests/package/test_package_weight.py`` prints the numbers of now.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import bilevel_check
import bilevel_verify as bv

PACKAGES = (Path(bv.__file__).parent, Path(bilevel_check.__file__).parent)
LONGEST = 400
LONGER = {
    "bilevel_verify/constants/groups/part.py": 427,
    "bilevel_verify/constants/calculus/forms.py": 424,
    "bilevel_verify/solving.py": 414,
}
"""Modules that have more lines, and how many."""
LINES = 151_000
"""Lines of both packages together."""
WIDEST = 8
WIDE = 232
"""Modules that import from more than eight others, inside functions and for types too."""
STEPS = 39
UNEXPLAINED: dict[str, set[str]] = {}
"""Functions of more than 39 lines that do not say why."""


@cache
def texts() -> dict[str, str]:
    """Path below the root -> text, of every module."""
    return {
        path.relative_to(package.parent).as_posix(): path.read_text(encoding="utf8")
        for package in PACKAGES
        for path in sorted(package.rglob("*.py"))
        if "__pycache__" not in path.parts
    }


@cache
def trees() -> dict[str, ast.Module]:
    return {name: ast.parse(text) for name, text in texts().items()}


def imported(tree: ast.Module, known: frozenset[str]) -> set[str]:
    """Modules of ours that a module names, wherever it does."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            inner = (f"{node.module}.{alias.name}" for alias in node.names)
            found |= {name if name in known else str(node.module) for name in inner}
    return found & known


def names() -> dict[str, str]:
    """Path -> dotted name."""
    return {path: path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in texts()}


def wide() -> dict[str, int]:
    """Modules with more than eight imports from the packages."""
    known = frozenset(names().values())
    counts = {path: len(imported(tree, known - {names()[path]})) for path, tree in trees().items()}
    return {path: number for path, number in counts.items() if number > WIDEST}


def lengths() -> dict[str, int]:
    return {path: text.count("\n") for path, text in texts().items()}


def unexplained() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef) or ast.get_docstring(node):
                continue
            if (node.end_lineno or 0) - node.lineno + 1 > STEPS:
                found.setdefault(path, set()).add(node.name)
    return found


def test_modules_are_short() -> None:
    assert {path: number for path, number in lengths().items() if number > LONGER.get(path, LONGEST)} == {}


def test_what_is_longer_is_written_here_and_goes() -> None:
    found = lengths()
    assert {path: found.get(path, 0) for path in LONGER if found.get(path, 0) <= LONGEST} == {}


def test_the_packages_do_not_grow() -> None:
    """New work pays with lines that go elsewhere; whoever cannot writes the new number here, in sight of a reader."""
    assert sum(lengths().values()) <= LINES


def test_the_bound_of_lines_is_what_was_reached() -> None:
    assert sum(lengths().values()) > LINES - 1500, "write what was reached into LINES"


def test_few_modules_import_from_many() -> None:
    assert len(wide()) <= WIDE, wide()


def test_long_functions_say_why() -> None:
    assert unexplained() == UNEXPLAINED


def test_imports_are_counted_once_and_by_module() -> None:
    text = "import p.a\nfrom p import b, x\nfrom p.c import y, z\ndef f():\n    from p.c import w\n    from q import r"
    assert imported(ast.parse(text), frozenset({"p", "p.a", "p.b", "p.c"})) == {"p", "p.a", "p.b", "p.c"}


if __name__ == "__main__":
    print(sum(lengths().values()), "lines,", len(lengths()), "modules,", len(wide()), "of them wide")
