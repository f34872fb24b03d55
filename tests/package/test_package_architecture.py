"""The house rules that a newcomer relies on: imports go one way, importing is silent and light, names are pinned."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from package_trees import outline

import bilevel_verify as bv

PACKAGE = Path(bv.__file__).parent
ORDER = (
    "version errors time_limit arguments files first_use installation language latex atoms numbers intervals problems "
    "symbolic constants oracles truth methods theorems drafting solving checks worst audit manuscript proofreading "
    "campaign plot experiments reporting certificates verifying testing benchmarks cli __main__ "
).split()


def _imports(path: Path) -> set[str]:
    """Rooms that a module imports, wherever in the file."""
    found = set()
    for node in outline(path).found:
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "bilevel_verify":
                names = [f"bilevel_verify.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("bilevel_verify.")}
    return found


def _modules() -> list[Path]:
    return [p for p in sorted(PACKAGE.rglob("*.py")) if p != PACKAGE / "__init__.py" and "__pycache__" not in p.parts]


def test_imports_go_one_way() -> None:
    """One test for all modules: what it costs to start a test is more than what one module costs."""
    wrong: dict[str, list[str]] = {}
    for path in _modules():
        relative = path.relative_to(PACKAGE)
        room = relative.parts[0].removesuffix(".py")
        assert room in ORDER, f"{relative}: the room {room!r} has no place in the order"
        if later := sorted(n for n in _imports(path) if n in ORDER and ORDER.index(n) > ORDER.index(room)):
            wrong[str(relative)] = later
    assert not wrong, "these import from rooms below their own"


def test_import_is_silent_and_light() -> None:
    heavy = "sympy numpy scipy numba cvxpy matplotlib flint z3 rich jinja2".split()
    code = f"import sys, bilevel_verify; print(sorted(set({heavy!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert done.stderr == ""


def test_functions_win_over_rooms_of_the_same_name() -> None:
    import bilevel_verify.constants
    import bilevel_verify.methods
    import bilevel_verify.oracles
    import bilevel_verify.truth  # noqa: F401

    for name in ("constants", "oracles", "truth", "methods"):
        assert callable(getattr(bv, name)), name


def test_every_public_name_loads() -> None:
    for name in bv.__all__:
        assert getattr(bv, name) is not None, name
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = bv.nonsense  # type: ignore[attr-defined]


@pytest.mark.parametrize("room", ["campaign", "cli", "oracles", "problems", "theorems", "truth"])
def test_a_function_is_not_hidden_by_a_module_of_its_name(room: str) -> None:
    """Names of a room stay functions whichever of its modules was imported first."""
    folder = PACKAGE / room
    modules = sorted(p.stem for p in folder.glob("*.py") if p.stem not in ("__init__", "__main__"))
    code = (
        f"import importlib, types\npackage = importlib.import_module('bilevel_verify.{room}')\n"
        f"for name in {modules!r}: importlib.import_module(f'bilevel_verify.{room}.{{name}}')\n"
        "print([n for n in package.__all__ if isinstance(getattr(package, n), types.ModuleType)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_functions_that_are_named_in_texts_exist() -> None:
    """``"bilevel_verify.module:function"`` is called in another process: no search for unused code sees it."""
    named = {t for path in _modules() for t in re.findall(r'"(bilevel_verify[\w.]*:\w+)"', path.read_text("utf8"))}
    assert len(named) >= 4
    for text in sorted(named):
        module, _, name = text.partition(":")
        if module != "bilevel_verify.cli.commands":
            assert callable(getattr(importlib.import_module(module), name, None)), text
