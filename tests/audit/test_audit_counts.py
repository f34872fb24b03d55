"""The table of an audit by class (``tests/thorough/audit_counts.py``), on rows made by hand."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

_SPEC = importlib.util.spec_from_file_location(
    "audit_counts", Path(__file__).parents[1] / "thorough" / "audit_counts.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
counts: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(counts)
classes, differences, table = counts.classes, counts.differences, counts.table

pytestmark = pytest.mark.fast


def row(statement: str = "t", kind: str = "inequality", verdict: str = "holds", **more: Any) -> dict[str, Any]:
    marks = more.pop("marks", ())
    base = {"paper": "p", "statement": statement, "claim": "c", "kind": kind, "verdict": verdict, "marks": list(marks)}
    return {**base, "as_printed": not marks, "reading": None, "known_refuted": False, **more}


def test_every_row_is_counted_in_its_class() -> None:
    found = classes(
        [
            row(),
            row(verdict="refuted", known_refuted=True),
            row(verdict="refuted", marks=["special: k = 2"]),
            row(marks=["part: left"]),
            row(marks=["added: k >= 1"]),
            row(marks=["repaired: with 2"], verdict="refuted"),
            row(known_refuted=True),
            row("u", "units"),
            row("v", "units", "refuted"),
            row("v", "units"),
            row("w", "units"),
            row("w"),
        ]
    )
    assert found == {
        "as printed: holds": 3,
        "as printed: refuted": 1,
        "special cases: holds": 1,
        "special cases: refuted": 1,
        "under added hypotheses: holds": 1,
        "repaired: refuted": 1,
        "all: refuted on record": 1,
        "all: refuted, not on record": 1,  # a repaired form is none of the paper's
        "all: on record, holds as printed": 1,
        "units: holds": 3,
        "units: refuted": 1,
        "entries: units only": 2,
    }


def test_columns_and_rows_that_differ() -> None:
    one, other = [row(), row("u")], [row(verdict="undecided"), row("u", seconds=3.0)]
    lines = table({"a": classes(one), "b": classes(other)}).splitlines()
    assert lines[0] == "| class | a | b |"
    assert "| as printed: holds | 2 | 1 |" in lines
    changed = list(differences(one, other))
    assert [text[0] for text in changed] == ["-", "+"]
    assert all('"statement": "t"' in text for text in changed)
    assert not list(differences(one, one[::-1]))
