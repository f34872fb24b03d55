"""``bench``: its tables, its options, its bad input; what it measures is not judged here."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.benchmarks import (
    PARTS,
    Row,
    Section,
    as_text,
    candidates,
    certified,
    growth,
    loops,
    scale,
    scaled,
    steppers,
    waiting,
)
from bilevel_verify.benchmarks.cases import cases, dense_text, letters, logistic
from bilevel_verify.benchmarks.certified import sampled_by_hand
from bilevel_verify.benchmarks.rows import law
from bilevel_verify.cli import main
from bilevel_verify.methods import run_method
from bilevel_verify.oracles.compiling import can_compile
from bilevel_verify.problems import bilevel


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


def test_every_row_of_what_a_user_waits_for_has_a_rival_of_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long is not run; who is measured beside whom is."""
    asked: list[tuple[object, ...]] = []

    def child(what: str, number: int, cache: str | None) -> dict[str, object]:
        asked.append((what, number))
        numbers = {"ours": 1.0, "first": 1.0, "next": 0.04, "by hand": 0.5, "gap": 0.0, "error": 1e-15, "grown": 2.0}
        return {**numbers, "certified": True}

    monkeypatch.setattr(waiting, "in_a_process", child)
    monkeypatch.setattr(waiting, "_of_a_process", lambda command: float(len(command)))
    monkeypatch.setattr(waiting, "READ", (2, 3, 4))
    monkeypatch.setattr(waiting, "TERMS", 16)
    monkeypatch.setattr(waiting, "SECOND", ())  # its rival is the same solve with a letter given
    sections = [waiting.reading(), waiting.answers(), waiting.truths()]
    rows = [row for section in sections for row in section.rows]
    assert len(rows) == 10 + 4 + 7
    assert rows[-1].record()["note"] == "certified"
    for row in rows:
        assert row.rival, row.what
        assert math.isfinite(row.beside), row.what
        assert math.isfinite(row.measured), row.what
        assert f"{row.rival}: " in row.cells()[4]
        assert row.record()["beside"] == row.beside
    assert asked == [("first", 1), ("first", 1), ("first", 1), ("truth", 10_000), ("truth", 100_000)]


class _Counted(dict[str, object]):
    """The answer of a child process: whatever it is asked for is a number of its own."""

    def __missing__(self, key: str) -> float:
        return 1.0 + len(key)


def test_every_other_row_has_a_rival_of_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """All parts but those above; what takes long is not run, who is measured beside whom is."""
    done = SimpleNamespace(returncode=0)
    monkeypatch.setattr(growth, "in_a_process", lambda what, number, cache: _Counted(ready=2.0, number=number))
    monkeypatch.setattr(growth.subprocess, "run", lambda *_, **__: done)
    monkeypatch.setattr(growth, "yardstick", lambda: 1.0)
    first = certified.certified_cases()[:1]
    monkeypatch.setattr(certified, "certified_cases", lambda: first)
    for room in (loops, steppers):
        monkeypatch.setattr(room, "interleaved", lambda turns, rounds: dict.fromkeys(turns, 1.0))
        monkeypatch.setattr(room, "can_compile", lambda: True)
    small = cases()[:1]
    monkeypatch.setattr(loops, "cases", lambda: small)
    monkeypatch.setattr(loops, "ours", lambda *_: np.zeros(1))
    for name in ("c_loop", "lambdify_loop"):
        monkeypatch.setattr(loops, name, lambda *_: lambda outer: np.zeros(1))
    for name in ("jax_loop", "casadi_loop"):
        monkeypatch.setattr(loops, name, lambda *_: "not here")
    for name in ("run_batch", "run_method"):
        monkeypatch.setattr(loops, name, lambda *_, **__: None)
    monkeypatch.setattr(steppers, "run_method", lambda *_, **__: SimpleNamespace(compiled=True, x=np.zeros(2)))
    monkeypatch.setattr(steppers, "_by_hand", lambda name: lambda *_: np.zeros(2))
    sections = [*growth.with_dimension(), growth.with_samples(), growth.imports(), growth.main_job(True)]
    sections += [
        loops.solver_loops(),
        loops.batches(True),
        steppers.steppers(True),
        certified.certified_constants(True),
    ]
    rows = [row for section in sections for row in section.rows]
    assert len(rows) == 10 + 33 + 19 + 1 + 2 + 7 + 1 + 6 + 8
    absent = [row.what for row in rows if not (row.rival and math.isfinite(row.beside) and math.isfinite(row.measured))]
    assert absent == ["d = 1: C generated by CasADi", "d = 1: JAX lax loops"]
    assert {*PARTS} == {"reading", "answers", "truth", "scale", *OTHER_PARTS}


OTHER_PARTS = ("loops", "steppers", "batch", "dimension", "samples", "constants", "import", "main-job")
"""The parts of the test above; a new one needs its rivals there."""


def test_every_law_of_growth_has_a_rival_of_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def child(what: str, number: int, cache: str | None) -> dict[str, object]:
        asked.append(what)
        grown = 2 if what.endswith("_by_hand") else 1
        return {"size": number, "seconds": float(number) ** grown, "memory": 50.0 + number}

    monkeypatch.setattr(scale, "in_a_process", child)
    rows = scale.laws().rows
    assert len(rows) == 4 * (3 + 2)
    for row in rows:
        assert row.rival, row.what
        assert math.isfinite(row.beside), row.what
        assert math.isfinite(row.measured), row.what
    times = [row for row in rows if row.what.endswith("exponent of the time")]
    assert [row.measured for row in times] == pytest.approx([1.0] * 4, rel=1e-12)
    assert [row.beside for row in times] == pytest.approx([2.0] * 4, rel=1e-12)
    assert {*asked} == {*scaled.SCALED}
    monkeypatch.setattr(scale, "in_a_process", lambda *_: {"missing": "no C compiler"})
    assert all(math.isnan(row.measured) and row.note == "no C compiler" for row in scale.laws(True).rows)


def test_rivals_of_the_laws_do_the_same() -> None:
    """The loop in C takes the same steps to the same x, a law's claim is judged and holds, texts are of one length."""
    ours, theirs = scaled.eps(4), scaled.eps_by_hand(4)
    if "missing" not in theirs:
        assert ours["steps"] == theirs["steps"]
        assert ours["x"] == theirs["x"]
    assert scaled.rows(30)["verdict"] == "holds"
    assert scaled.rows_by_hand(30)["size"] == 30
    assert scaled.text(4)["size"] == scaled.text_by_hand(4)["size"]


def test_a_law_of_growth_is_the_slope_between_the_ends() -> None:
    row = law("law", [(10, 1.0, 2.0), (40, 3.0, 9.0), (1000, 100.0, 2e4)], 1.2, "rival", "")
    assert row.measured == pytest.approx(1.0, rel=1e-12)
    assert row.beside == pytest.approx(2.0, rel=1e-12)
    assert row.reached


def test_the_rival_of_the_truth_of_data_finds_the_same_number() -> None:
    from bilevel_verify.benchmarks.child import newton
    from bilevel_verify.truth import truth

    problem, a, b = logistic(40, 3, {"x1": (-2.0, 2.0)})
    found = truth(problem).phi([0.3])
    assert found.certainty == "certified"
    assert abs(float(found.value) - newton(a, b, 0.3)) < 1e-15


def test_a_dense_text_is_the_function_that_it_says() -> None:
    """Numbers are cut out of the text place by place: against the same function in NumPy."""
    text, xs, ys = dense_text(4)
    problem = bilevel(f="y1", g=text, x=xs, y=ys)
    rng = np.random.default_rng(0)
    root, w = rng.integers(-5, 6, (4, 4)), rng.integers(-5, 6, (4, 4)) / 10
    h = (root @ root.T + 10 * np.eye(4)) / 40
    x, y = np.random.default_rng(1).uniform(-1, 1, (2, 4))
    wanted = y @ h @ y / 2 + np.log1p(np.exp(w @ y + x)).sum()
    at = dict(zip([*problem.x, *problem.y], [*x, *y]))
    assert float(problem.g.subs(at).evalf()) == pytest.approx(wanted, rel=1e-12)


def test_steps_by_hand_are_ours() -> None:
    """What is compared is the same arithmetic: 25 steps of each method, the rival as plain Python."""
    start = np.full(3, 0.1)
    problem, Q = steppers.over_a_ball(3)
    L = float(np.linalg.eigvalsh(Q)[-1])
    minimax, B, C, ell = steppers.saddle(3)
    lmcn = {"M": 10.0, "m": 4, "rho_bar": 1.0, "K": 7, "l1": ell, "kappa1": ell, "T": 25}
    pairs = [
        (problem, "r-apm", {"eta": 0.1, "gamma": 0.2, "K": 25}, steppers.r_apm(Q, 0.1, 0.2, start, 25)),
        (problem, "agm-bio", {"L_f": 1.0, "L_g": L, "K": 25}, steppers.agm_bio(Q, 1.0, L, start, 25)),
        (minimax, "lmcn", lmcn, steppers.lmcn(B, C, ell, 10.0, 4, 7, start, 25)),
    ]
    for stated, method, q, by_hand in pairs:
        run = run_method(stated, method, q, start, compiled=False)
        assert np.abs(run.x - start).max() > 1e-3
        np.testing.assert_allclose(run.x, by_hand, rtol=1e-12, atol=1e-12)


def test_the_rival_of_the_constants_knows_the_atoms_of_its_problems() -> None:
    """NumPy has no logsumexp: the full size of ``bench --only constants`` ended in a NameError."""
    box = dict.fromkeys(("x1", "y1", "y2"), (-1, 1))
    lower = "y1**2 + y2**2 + logsumexp(y1 - x1, y2) + softplus(y1)"
    assert sampled_by_hand(bv.bilevel(f="x1", g=lower, x="x1", y="y1 y2", domain=box)) > 0
