"""Short runs are interpreted and long ones begun anew in machine code: the same run, bit for bit, and it says which."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from test_methods_batch import double_well, needs_numba, same

import bilevel_verify as bv
from bilevel_verify.methods import interpreted, run_batch, run_method
from bilevel_verify.oracles import programs

START = [0.3, 0.2]


def but_for_the_form(one, other) -> None:
    same(one, replace(other, compiled=one.compiled))


@needs_numba
def test_a_short_run_is_interpreted_and_is_the_compiled_one() -> None:
    letters = {"eta": 0.05, "theta": 0.1, "B": 0.4, "K": 700}
    short = run_method(double_well(), "restarted-agd", letters, START)
    assert not short.compiled
    assert len(short.trace) > 300  # several blocks
    fast = run_method(double_well(), "restarted-agd", letters, START, compiled=True)
    assert fast.compiled
    but_for_the_form(short, fast)


@needs_numba
def test_a_long_run_is_begun_anew_in_machine_code_and_not_tried_again(monkeypatch) -> None:
    monkeypatch.setattr(interpreted, "MOST_WORK", 20_000)
    monkeypatch.setattr(interpreted, "is_loaded", lambda *_: False)
    monkeypatch.setattr(interpreted, "LONG", set())
    problem, letters = double_well(), {"eta": 0.001, "N": 1500}
    long = run_method(problem, "gradient-descent", letters, START)
    assert long.compiled
    assert long.status == "finished"
    same(long, run_method(double_well(), "gradient-descent", letters, START, compiled=True))
    assert len(interpreted.LONG) == 1
    monkeypatch.setattr(interpreted.InterpretedFirst, "_interpret", lambda self: pytest.fail("tried again"))
    assert run_method(problem, "gradient-descent", letters, START).compiled


@needs_numba
def test_sums_over_data_are_numpy_in_short_runs_and_loops_in_long_ones_whatever_was_run_before(monkeypatch) -> None:
    monkeypatch.setattr("bilevel_verify.problems.data_sum.WRITE_OUT", 10)
    rng = np.random.default_rng(1)
    data = {"A": rng.standard_normal((30, 2)), "b": rng.standard_normal(30)}

    def logistic():
        return bv.single_level(f="mean(softplus(-b[i]*dot(A[i], x))) + dot(x, x)/2", x=["x1", "x2"], data=data)

    problem = logistic()
    letters, start = {"eta": 0.1, "N": 400}, [0.3, -0.2]
    short = run_method(problem, "gradient-descent", letters, start)
    assert not short.compiled
    fast = run_method(problem, "gradient-descent", letters, start, compiled=True)
    assert fast.compiled
    same(short, run_method(problem, "gradient-descent", letters, start))  # though its machine code is at hand now
    same(short, run_batch(problem, "gradient-descent", letters, [start])[0])
    np.testing.assert_allclose(short.x, fast.x, rtol=1e-12)
    monkeypatch.setattr(interpreted, "MOST_WORK", 20_000)  # 4 * 20,000 operations are 200 calls
    for _ in range(2):
        same(fast, run_method(problem, "gradient-descent", letters, start))
    monkeypatch.setattr(programs, "MOST_COMPILED", 89)  # of 90
    same(short, run_method(logistic(), "gradient-descent", letters, start))


@needs_numba
def test_the_budget_of_the_user_ends_an_interpreted_run_as_ever() -> None:
    letters = {"eta": 0.05, "N": 10**6}
    short = run_method(double_well(), "gradient-descent", letters, START, budget=50)
    assert (short.status, short.compiled) == ("budget", False)
    but_for_the_form(short, run_method(double_well(), "gradient-descent", letters, START, budget=50, compiled=True))


@needs_numba
def test_a_run_that_its_iterations_end_is_short_whatever_it_may_call() -> None:
    letters, budget = {"eta": 0.05, "N": 10**6}, {"iterations": 5, "calls": 10**15}
    short = run_method(double_well(), "gradient-descent", letters, START, budget=budget)
    assert (short.status, short.iterations, short.compiled) == ("budget", 5, False)
    but_for_the_form(short, run_method(double_well(), "gradient-descent", letters, START, budget=budget, compiled=True))


@needs_numba
@pytest.mark.parametrize(
    ("f", "x0"),
    [("asinh(x1)**2", [0.5]), ("x1**2 + 1/(2 + exp(exp(x1 + 3)))", [5.0]), ("exp(x1)", [1e3])],
    ids=["another last digit", "an overflow that machine code passes", "an overflow"],
)
def test_where_the_forms_may_differ_the_run_that_is_kept_is_machine_code(f: str, x0: list[float]) -> None:
    letters = {"eta": 0.1, "N": 20}
    run = run_method(bv.single_level(f=f, x="x1"), "gradient-descent", letters, x0)
    assert run.compiled
    same(run, run_method(bv.single_level(f=f, x="x1"), "gradient-descent", letters, x0, compiled=True))


def test_a_short_run_never_imports_the_compiler() -> None:
    code = (
        "import sys, bilevel_verify as bv\n"
        "p = bv.single_level(f='(x1**2 - 1)**2/4', x='x1')\n"
        "r = bv.solve(p, 'gradient-descent', parameters={'eta': 0.05, 'N': 20}, x0=[0.3])\n"
        "assert r.status == 'finished' and not r.compiled\n"
        "assert 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_tolerance_is_all_that_asks_for_exact_gradients() -> None:
    from bilevel_verify.methods.forms import loops
    from bilevel_verify.methods.registry import ESTIMATORS, SCHEMES

    scheme, estimator = SCHEMES["general-smoothness"], next(e for e in ESTIMATORS.values() if e.stopping_needs)
    assert loops(scheme, estimator, "plain", tested=False)[1][2] is estimator.function
    assert loops(scheme, estimator, "plain", tested=True)[1][2] is estimator.exact
