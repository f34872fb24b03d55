"""Sums over data stay sums: same numbers as the sum written out, from the same problem text."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import sympy
from seeds import SEED

from bilevel_verify.atoms.datasum import DataSum, split_data_sums
from bilevel_verify.errors import ExpressionError, ParameterError
from bilevel_verify.methods import run_method
from bilevel_verify.oracles import Oracles, oracles, programs
from bilevel_verify.oracles.convention import FIELDS, PRODUCTS
from bilevel_verify.oracles.forms import plain_oracle
from bilevel_verify.oracles.oracles import COMPILE_AFTER
from bilevel_verify.oracles.programs import direction_block
from bilevel_verify.problems import data_sum
from bilevel_verify.problems.construct import bilevel
from bilevel_verify.problems.problem import Problem
from bilevel_verify.symbolic.program import program_of

SAMPLES, WIDTH = 40, 3

TEXTS = {
    "logistic": "mean(softplus(-b[i]*dot(A[i], y)), (i, 0, 39)) + exp(x1)*dot(y, y)/2",
    "hyper-cleaning": "mean(sigmoid(x[i])*(dot(y, A[i]) - b[i])**2, (i, 0, 39)) + dot(y, y)/10",
    "part of the samples": "3*sum(sin(dot(A[i], y) + A[i, 1]*x1), (i, 5, 20)) - y1*x1",
    "the index itself": "sum(i*cos(y1*b[i]), (i, 0, 39))/7 + mean(exp(-x1)*dot(A[i], y)**4, (i, 0, 39))",
}


def build(text: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> Problem:
    monkeypatch.setattr(data_sum, "WRITE_OUT", limit)
    rng = np.random.default_rng(SEED)
    numbers = [np.round(64 * rng.standard_normal(shape)) / 64 for shape in ((SAMPLES, WIDTH), SAMPLES)]
    data = dict(zip("Ab", numbers))  # written-out sums read decimals, kept ones floats: here both are the same number
    x = [f"x{k}" for k in range(1, (SAMPLES if "x[i]" in text else 1) + 1)]
    return bilevel(f="dot(y, y)/2 + x1", g=text, x=x, y=["y1", "y2", "y3"], data=data)


def pair(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Oracles, Oracles]:
    kept, written = build(TEXTS[name], 10, monkeypatch), build(TEXTS[name], 10**9, monkeypatch)
    assert kept.g is not None
    assert written.g is not None
    assert kept.g.has(DataSum)
    assert not written.g.has(DataSum)
    return oracles(kept, compiled=False), oracles(written, compiled=False)


@pytest.mark.parametrize("name", TEXTS)
def test_oracles_of_a_kept_sum_are_those_of_the_sum_written_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, written = pair(name, monkeypatch)
    rng = np.random.default_rng(SEED + 1)
    problem = kept.problem
    lengths = {"x": problem.dx, "y": problem.dy, "z": problem.dx + problem.dy}
    for field in FIELDS:
        if field.endswith("_f") or (field.startswith("third") and problem.dx > 5):
            continue
        blocks = ["x", "y"] + ([direction_block(field)] if field in PRODUCTS else [])
        values = [rng.uniform(-1, 1, lengths[b]) for b in blocks]
        one, two = kept._ask(field, *values), written._ask(field, *values)
        assert np.allclose(one, two, rtol=1e-11, atol=1e-12), (SEED, name, field)
        rows = [rng.uniform(-1, 1, (4, lengths[b])) for b in blocks]
        assert np.allclose(kept.batch(field, *rows), written.batch(field, *rows), rtol=1e-11, atol=1e-12), (name, field)


@pytest.mark.parametrize("name", TEXTS)
def test_loops_over_few_data_are_the_passes_of_numpy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = oracles(build(TEXTS[name], 10, monkeypatch), compiled=False)
    rng = np.random.default_rng(SEED + 3)
    problem = kept.problem
    lengths = {"x": problem.dx, "y": problem.dy, "z": problem.dx + problem.dy}
    assert kept.programs.data_can_be_compiled("g")
    for field in (name for name in FIELDS if name.endswith("_g") and not name.startswith("third")):
        blocks = ["x", "y"] + ([direction_block(field)] if field in PRODUCTS else [])
        values = [rng.uniform(-1, 1, lengths[b]) for b in blocks]
        found = [0.0] * kept.programs.length(field)
        plain_oracle(kept.programs.source_with_data(field))(*(value.tolist() for value in values), found)
        assert np.allclose(kept._ask(field, *values), found, rtol=1e-11, atol=1e-12), (SEED, name, field)


def test_sums_over_data_are_machine_code_where_that_was_asked_for_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = build(TEXTS["logistic"], 10, monkeypatch)
    point = [0.3], [0.1, -0.2, 0.4]
    asked, compiled = oracles(problem), oracles(problem, compiled=True)
    before = asked.grad_y_g(*point)
    assert np.allclose(compiled.grad_y_g(*point), before, rtol=1e-13, atol=0)
    assert compiled.ready(["grad_y_g"])
    for _ in range(COMPILE_AFTER + 1):
        after = asked.grad_y_g(*point)
    assert not asked.ready(["grad_y_g"])
    assert not asked.worth_compiling(["grad_y_g"], heavy=True)
    assert (after == before).all(), "how often somebody asked before decides no digit"
    monkeypatch.setattr(programs, "MOST_COMPILED", SAMPLES * (WIDTH + 1) - 1)
    assert not oracles(problem, compiled=True).can_compile(["grad_y_g"])
    monkeypatch.setattr(programs, "MOST_COMPILED", SAMPLES * (WIDTH + 1))
    assert oracles(problem, compiled=True).can_compile(["grad_y_g"])


@pytest.mark.parametrize("name", TEXTS)
def test_fifty_digits_of_a_kept_sum_are_those_of_the_sum_written_out(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, written = pair(name, monkeypatch)
    problem, rng = kept.problem, np.random.default_rng(SEED + 2)
    lengths = {"x": problem.dx, "y": problem.dy, "z": problem.dx + problem.dy}
    fields = ["value_g", "grad_g", "grad_x_g", "grad_y_g", "hvp_g", "hvp_yy_g", "jvp_xy_g", "jvp_yx_g", "hess_g"]
    if problem.dx > 5:
        fields = ["value_g", "grad_g", "jvp_xy_g"]
    with mpmath.workdps(50):
        for field in fields:
            blocks = ["x", "y"] + ([direction_block(field)] if field in PRODUCTS else [])
            values = [[mpmath.mpf(float(v)) / 3 for v in rng.uniform(-1, 1, lengths[b])] for b in blocks]
            found = []
            for o in (kept, written):
                out = [mpmath.mpf(0)] * o.programs.length(field)
                getattr(o.function_set([field], "multiprecision"), field)(*values, out)
                found.append(out)
            for one, two in zip(*found, strict=True):
                assert abs(one - two) <= mpmath.mpf(10) ** -46 * (1 + abs(two)), (SEED, name, field)


def test_a_run_on_data_in_fifty_digits_agrees_with_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = build(TEXTS["logistic"], 10, monkeypatch)
    letters = {"L": 20.0, "H_nu": 0.01, "nu_f": 1.0, "lam": 20.0, "alpha": 0.2, "beta": 0.2, "alpha_p": 0.01}
    letters |= {"beta_p": 0.3, "T_0": 3, "T_k": 2, "Tp_0": 3, "Tp_k": 2}
    runs = [run_method(problem, "ragd-gs", letters, [0.3], budget={"iterations": 4}, digits=d) for d in (None, 50)]
    assert dict(runs[0].counts) == dict(runs[1].counts)
    assert np.allclose(runs[0].trace.x, runs[1].trace.x.astype(float), rtol=1e-12)


@pytest.mark.parametrize("name", ["logistic", "the index itself"])
def test_derivatives_in_sympy_agree_with_the_oracles(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, _ = pair(name, monkeypatch)
    g, x1, y1 = kept.problem.g, sympy.Symbol("x1", real=True), sympy.Symbol("y1", real=True)
    point = dict(zip(kept.problem.variables, [0.3, -0.2, 0.5, 0.7]))
    slope = sympy.diff(g, y1)
    assert slope.has(DataSum)
    values = [slope.doit(), sympy.diff(g, y1, x1).doit(), slope.subs(point)]
    numbers = [float(v.subs(point).doit().evalf(25)) for v in values]
    assert numbers[0] == pytest.approx(kept.grad_y_g([0.3], [-0.2, 0.5, 0.7])[0], rel=1e-11)
    assert numbers[1] == pytest.approx(kept.hess_g([0.3], [-0.2, 0.5, 0.7])[1][0, 0], rel=1e-11, abs=1e-12)
    assert numbers[2] == pytest.approx(numbers[0], rel=1e-11)


def test_equal_data_make_equal_problems_and_other_data_others(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = (build(TEXTS["logistic"], 10, monkeypatch) for _ in range(2))
    assert one.g == two.g
    assert one.content_hash() == two.content_hash()
    changed = bilevel(
        f="y1", g=TEXTS["logistic"], x="x1", y=["y1", "y2", "y3"], data={"A": one.data["A"] + 1e-9, "b": one.data["b"]}
    )
    assert changed.g != one.g


def test_sums_are_split_off_with_their_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = build(TEXTS["the index itself"], 10, monkeypatch)
    rest, sums = split_data_sums(problem.g)
    assert rest == 0
    assert sorted(float(factor * s.scale) for factor, s in sums) == pytest.approx([1 / 40, 1 / 7])


def test_what_is_too_large_or_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bilevel_verify.atoms.datasum.MOST_WRITTEN_OUT", 10)
    problem = build(TEXTS["logistic"], 10, monkeypatch)
    with pytest.raises(ExpressionError, match="40 samples"):
        program_of(problem.g, problem.variables)
    o = oracles(problem)
    assert not o.can_compile(["third_g"])
    with pytest.raises(ParameterError, match="third"):
        o.function_set(["third_g"], "multiprecision")
    monkeypatch.setattr(programs, "MOST_EXACT", 100)
    with pytest.raises(ParameterError, match="160 numbers of data"):
        o.function_set(["grad_y_g"], "multiprecision")
    out = [0.0] * 3
    o.function_set(["grad_y_g"], "plain").grad_y_g([0.1], [0.1, 0.2, 0.3], out)
    assert out == pytest.approx(o.grad_y_g([0.1], [0.1, 0.2, 0.3]), rel=1e-15)


def test_the_page_shows_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = build(TEXTS["logistic"], 10, monkeypatch)
    assert r"\sum_{i=1}^{40}" in sympy.latex(problem.g)
    assert "40 samples" in str(problem.g)


@pytest.mark.parametrize("limit", [10, 10**9])
def test_an_index_that_is_not_named_runs_over_all_samples(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    implied = build("mean(logistic(b[i]*dot(A[i], y))) + exp(x1)*dot(y, y)/2", limit, monkeypatch)
    named = build(TEXTS["logistic"], limit, monkeypatch)
    assert implied.g == named.g
    assert implied.g is not None
    assert implied.g.has(DataSum) == (limit == 10)


def test_arrays_of_different_length_under_one_index_are_refused() -> None:
    data = {"A": np.ones((3, 2)), "b": np.ones(4)}
    with pytest.raises(ExpressionError, match="3 and 4 rows"):
        bilevel(f="y1", g="mean(b[i]*dot(A[i], y)**2) + y1**2", x="x1", y=["y1", "y2"], data=data)
    with pytest.raises(ExpressionError, match="unknown symbol"):
        bilevel(f="y1", g="mean(b[i]*b[j]*y1) + y1**2", x="x1", y=["y1", "y2"], data=data)
