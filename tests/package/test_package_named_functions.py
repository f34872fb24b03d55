"""Functions that are named by a text (``"module:function"``, asked in a process of their own) exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r'"(bilevel_\w+(?:\.\w+)+):(\w+)"')
FOUND = sorted({m.groups() for path in ROOT.glob("bilevel_*/**/*.py") for m in NAMED.finditer(path.read_text("utf8"))})


def test_there_are_such_names() -> None:
    assert ("bilevel_verify.audit.scalar.prove", "decide_here") in FOUND


@pytest.mark.parametrize(("module", "function"), FOUND)
def test_a_function_that_is_named_by_a_text_exists(module: str, function: str) -> None:
    assert callable(getattr(importlib.import_module(module), function))
