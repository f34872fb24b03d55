"""``bench``: its tables, its options, its bad input; what it measures is not judged here."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from bilevel_verify.benchmarks import PARTS, Row, Section, as_text, candidates, growth, loops
from bilevel_verify.benchmarks.cases import cases, letters
from bilevel_verify.cli import main
from bilevel_verify.oracles.compiling import can_compile


def test_import_rows_as_text_json_and_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--only", "import,main-job", "--quick", "--out", str(tmp_path / "b.txt")]) == 0
    printed = capsys.readouterr()
    assert "measuring: import" in printed.err
    assert printed.out == (tmp_path / "b.txt").read_text(encoding="utf-8")
    assert "not measured" in printed.out  # the main job, unless it is asked for
    assert "<= 0.500 s" in printed.out
    assert main(["bench", "--only", "import", "--quick", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    row = record["sections"][1]["rows"][0]
    assert row["target"] == 0.5
    assert 0 < row["measured"] < 60


def test_an_unknown_part_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--only", "lops"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "lops" in error
    assert all(part in error for part in PARTS)


def test_rows_judge_in_both_directions_and_never_what_is_missing() -> None:
    assert Row("a", 1.0, "x", 1.3).reached is True
    assert Row("a", 1.4, "x", 1.3).reached is False
    assert Row("a", 79.0, "x", 80.0, at_least=True).reached is False
    assert Row("a", math.nan, "x", 1.3).reached is None
    assert Row("a", 1.0, "x").reached is None
    text = as_text([Section("t", (Row("a", 1.4, "x", 1.3), Row("b", math.nan, "x", 1.0, note="no JAX")))])
    assert "NOT reached" in text
    assert "0 of 1 targets reached; 1 rows not measured." in text


@pytest.mark.skipif(not can_compile(), reason="no compiler")
def test_all_loops_do_the_same(tmp_path: Path) -> None:
    """What is compared is the same arithmetic: iterates agree to rounding."""
    case = cases()[0]
    q = letters(case)
    mine = loops.ours(case, q, 40)
    others = [
        candidates.c_loop(case, q, tmp_path, "hand", loops.PLAIN),
        candidates.lambdify_loop(case, q, "math"),
    ]
    for other in others:
        if not isinstance(other, str):
            assert np.abs(other(40) - mine).max() < 1e-12
    wrong = candidates.lambdify_loop(case, {**q, "lam": 21.0}, "math")
    assert np.abs(wrong(40) - mine).max() > 1e-6


def test_what_is_not_installed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(candidates, "import_module", absent)
    monkeypatch.setattr(candidates.shutil, "which", lambda name: None)
    case = cases()[0]
    q = letters(case)
    assert candidates.jax_loop(case, q) == "JAX is not installed (extra: bench)"
    assert candidates.casadi_loop(case, q, tmp_path, "") == "CasADi is not installed (extra: bench)"
    assert candidates.c_loop(case, q, tmp_path, "hand", "") == "no C compiler"
    assert all(math.isnan(row.measured) for row in growth.main_job(False).rows)
