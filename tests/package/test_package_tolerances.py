"""A relative tolerance is relative: 1e-13 is not 2e-13 (``conftest.py`` sees to it)."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.fast
TESTS = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("shape", [lambda x: x, lambda x: [x], lambda x: {"a": x}, lambda x: np.array([x])])
def test_tiny_numbers_differ_under_a_relative_tolerance(shape):
    assert shape(1e-13) != pytest.approx(shape(2e-13), rel=1e-6)
    assert shape(1e-13) == pytest.approx(shape(1e-13 + 1e-20), rel=1e-6)
    assert shape(0.0) != pytest.approx(shape(1e-300), rel=1e-6)


def test_an_absolute_tolerance_is_one_that_is_written():
    assert pytest.approx(2e-13, rel=1e-6, abs=1e-12) == 1e-13
    assert pytest.approx(2e-13) == 1e-13
    assert pytest.approx(float("nan"), rel=1e-6, nan_ok=True) == float("nan")


def test_nobody_takes_the_other_one():
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_bytes()
        if not re.search(rb"from\s+_?pytest", text):
            continue  # most files, which need not be parsed
        for node in ast.walk(ast.parse(text)):
            taken = isinstance(node, ast.ImportFrom) and node.module in ("pytest", "_pytest.python_api")
            assert not (taken and any(alias.name == "approx" for alias in node.names)), path  # type: ignore[attr-defined]
