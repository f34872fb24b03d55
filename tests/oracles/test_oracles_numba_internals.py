"""numba's internals that the cache of machine code rests on: this test says what to do when they move."""

from __future__ import annotations

import importlib
import importlib.util
import inspect

import pytest

pytestmark = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="numba is not installed")

TESTED = ("0.61", "0.68")
"""Versions of numba on which the tests of this room ran: the oldest that is admitted, and the newest so far."""
ADVICE = (
    "numba has moved what bilevel_verify/oracles/compiling.py uses: read MachineCode and compile_cached there, mend "
    "them for this version, run tests/oracles and tests/methods, and add the version to TESTED (or bound it in "
    "pyproject.toml)"
)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("numba.core.caching", "_Cache"),
        ("numba.core.caching", "CompileResultCacheImpl"),
        ("numba.core.serialize", "dumps"),
        ("numba.core.types", "NamedUniTuple"),
        ("numba.core.registry", "cpu_target"),
        ("numba.core.config", "OPT"),
        ("numba.np.arrayobj", "make_array"),
        ("numba.np.arrayobj", "populate_array"),
        ("numba.core.cgutils", "if_unlikely"),
        ("numba.extending", "intrinsic"),
    ],
)
def test_every_internal_is_where_it_was(module: str, name: str) -> None:
    assert hasattr(importlib.import_module(module), name), ADVICE


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
