"""numba's internals that the cache of machine code rests on: this test says what to do when they move."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="numba is not installed")

ROOM = Path(__file__).parents[2] / "bilevel_verify" / "oracles"
TESTED = ("0.61", "0.68")
"""Versions of numba on which the tests of this room ran: the oldest that is admitted, and the newest so far."""
ADVICE = (
    "numba has moved what bilevel_verify/oracles (compiling, machine, handing, calling) uses: read it there, mend it "
    "for this version, run tests/oracles and tests/methods, and add the version to TESTED (or bound it in "
    "pyproject.toml)"
)


def used() -> dict[tuple[str, str], str]:
    """(module, attribute) of every internal that the room asks for with ``internal``, and the file that does."""
    found: dict[tuple[str, str], str] = {}
    for path in sorted(ROOM.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for scope in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            names: dict[str, str] = {}
            for one in (node for node in ast.walk(scope) if isinstance(node, ast.Assign)):
                target, value = one.targets[0], one.value
                both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                pairs = zip(target.elts, value.elts) if both else [(target, value)]  # type: ignore[attr-defined]
                names |= {t.id: asked(v) for t, v in pairs if isinstance(t, ast.Name) and asked(v)}
            for node in ast.walk(scope):
                if isinstance(node, ast.Attribute):
                    home = names.get(node.value.id, "") if isinstance(node.value, ast.Name) else asked(node.value)
                    found |= {(home, node.attr): path.name} if home else {}
    return found


def asked(node: ast.expr) -> str:
    """M of ``internal("M")``, else nothing."""
    call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "internal"
    return str(node.args[0].value) if call else ""  # type: ignore[attr-defined]


def test_every_internal_is_where_it_was() -> None:
    found = used()
    assert {"compiling.py", "handing.py", "calling.py", "machine.py"} == {*found.values()}
    assert len({module for module, _ in found}) >= 9
    for (module, name), file in found.items():
        assert hasattr(importlib.import_module(module), name), f"{module}.{name} in {file}: {ADVICE}"


def test_nobody_else_asks_for_internals() -> None:
    """Signatures are made of public names of numba; whatever lies in a room of its own is asked for here."""
    inner = re.compile(r"(?:import|from) +(?:numba\.\w|llvmlite\.\w)|internal\(")
    for path in ROOM.parent.rglob("*.py"):
        if path.parent != ROOM and "benchmarks" not in path.parts:
            assert not inner.search(path.read_text(encoding="utf-8")), path


def test_a_cache_entry_is_made_and_read_by_the_same_calls() -> None:
    caching = importlib.import_module("numba.core.caching")
    implementation = caching.CompileResultCacheImpl
    assert list(inspect.signature(implementation.reduce).parameters)[1:] == ["cres"], ADVICE
    assert list(inspect.signature(implementation.rebuild).parameters)[1:] == ["target_context", "payload"], ADVICE
    assert {"load_overload", "save_overload", "enable", "disable", "flush"} <= set(dir(caching._Cache)), ADVICE
    numba = importlib.import_module("numba")
    dispatcher = numba.njit(lambda x: x)
    assert hasattr(dispatcher, "_cache"), ADVICE
    assert callable(dispatcher.disable_compile), ADVICE


def test_this_version_lies_between_those_that_were_tried() -> None:
    version = tuple(int(part) for part in importlib.import_module("numba").__version__.split(".")[:2])
    first, last = (tuple(map(int, text.split("."))) for text in (TESTED[0], TESTED[-1]))
    assert first <= version <= last, f"numba {version} is new here. {ADVICE}"
