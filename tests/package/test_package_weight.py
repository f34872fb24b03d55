"""How much a reader has to hold in the head: bounds that only go down.

Modules have at most 400 lines and import from at most eight others of ours besides the common words; what is wider
stands in ``wide.toml`` with its reason. ``python tests/package/test_package_weight.py`` prints the numbers of now.
"""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

from package_trees import Outline, outline, outline_of

import bilevel_check
import bilevel_verify as bv

PACKAGES = (Path(bv.__file__).parent, Path(bilevel_check.__file__).parent)
LONGEST = 400
LINES = 157_300
"""Lines of both packages together."""
WIDEST = 8
KNOWN_TO = 12
"""What is imported by so many modules and imports from at most :data:`FEW` itself is a common word of the house:
an error, a tree, a card, a verdict. A reader knows it after a day, and it opens no further door."""
FEW = 4
WIDE = {
    name: why
    for table in tomllib.loads((Path(__file__).parent / "wide.toml").read_text(encoding="utf8")).values()
    for name, why in table.items()
}
"""Modules that import from more than eight others besides the common words, and why."""
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
def trees() -> dict[str, Outline]:
    return {name: outline(PACKAGES[0].parent / name) for name in texts()}


def imported(tree: Outline, known: frozenset[str]) -> set[str]:
    """Modules of ours that a module names, wherever it does."""
    found: set[str] = set()
    for node in tree.found:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            inner = (f"{node.module}.{alias.name}" for alias in node.names)
            found |= {name if name in known else str(node.module) for name in inner}
    return found & known


def names() -> dict[str, str]:
    """Path -> dotted name."""
    return {path: path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in texts()}


@cache
def imports() -> dict[str, set[str]]:
    """Module -> modules of ours that it imports from, inside functions and for types too."""
    known = frozenset(names().values())
    return {names()[path]: imported(tree, known - {names()[path]}) for path, tree in trees().items()}


def common() -> set[str]:
    """The common words of the house."""
    known_to = Counter(name for found in imports().values() for name in found)
    return {name for name, found in imports().items() if known_to[name] >= KNOWN_TO and len(found) <= FEW}


def wide() -> dict[str, int]:
    """Modules with more than eight imports from the packages besides the common words, and how many."""
    words = common()
    return {name: len(found - words) for name, found in imports().items() if len(found - words) > WIDEST}


def lengths() -> dict[str, int]:
    return {path: text.count("\n") for path, text in texts().items()}


def unexplained() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path, tree in trees().items():
        for node in tree.found:
            if not isinstance(node, ast.FunctionDef) or ast.get_docstring(node):
                continue
            if (node.end_lineno or 0) - node.lineno + 1 > STEPS:
                found.setdefault(path, set()).add(node.name)
    return found


def test_modules_are_short() -> None:
    assert {path: number for path, number in lengths().items() if number > LONGEST} == {}


def test_the_packages_do_not_grow() -> None:
    """New work pays with lines that go elsewhere; whoever cannot writes the new number here, in sight of a reader."""
    assert sum(lengths().values()) <= LINES


def test_the_bound_of_lines_is_what_was_reached() -> None:
    assert sum(lengths().values()) > LINES - 1500, "write what was reached into LINES"


def test_a_module_that_imports_from_many_says_why() -> None:
    found = wide()
    assert {name: number for name, number in found.items() if name not in WIDE} == {}
    assert set(WIDE) - set(found) == set(), "no longer wide"
    assert all(len(why.split()) > 2 or name.startswith("bilevel_verify.cli.") for name, why in WIDE.items())


def test_common_words_open_no_further_door() -> None:
    assert len(common()) < 0.1 * len(imports())
    assert {"bilevel_verify.errors", "bilevel_verify.language.tree", "bilevel_verify.theorems.card"} <= common()
    assert "bilevel_verify.checks.engine" not in common()


def test_long_functions_say_why() -> None:
    assert unexplained() == UNEXPLAINED


def test_imports_are_counted_once_and_by_module() -> None:
    text = "import p.a\nfrom p import b, x\nfrom p.c import y, z\ndef f():\n    from p.c import w\n    from q import r"
    assert imported(outline_of(text), frozenset({"p", "p.a", "p.b", "p.c"})) == {"p", "p.a", "p.b", "p.c"}


if __name__ == "__main__":
    print(sum(lengths().values()), "lines,", len(lengths()), "modules,", len(wide()), "of them wide")
