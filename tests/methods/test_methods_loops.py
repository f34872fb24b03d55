"""Second-order and simple bilevel methods as loops: machine code is the plain run, bit for bit, and says so."""

from __future__ import annotations

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from test_methods_batch import needs_numba, same

import bilevel_verify as bv
from bilevel_verify.errors import MathematicalError, ParameterError
from bilevel_verify.methods import run_method
from bilevel_verify.methods.cubic import step
from bilevel_verify.methods.cubic.arithmetic import schur
from bilevel_verify.methods.cubic.stepper import CubicStepper
from bilevel_verify.methods.cubic.subproblem import minimise

SIMPLE = {
    "a-irg": {"gamma0": 0.2, "eta0": 0.8, "rho": 0.5},
    "bi-sg": {"t": 0.1, "c": 0.5},
    "big-sam": {"t": 0.1, "s": 0.5, "c": 3.0},
    "r-apm": {"eta": 0.02, "gamma": 0.1},
    "pb-apg": {"penalty": 20.0, "L_f": 1.0, "L_g": 3.0},
    "dbgd": {"s": 0.05, "a": 1.0, "b": 1.0, "g_hat": 0.0},
    "agm-bio": {"L_f": 1.0, "L_g": 3.0},
}
ASCENT = {"K": 6, "l1": 4.0, "kappa1": 4.0}
INNER = {"lam": 20.0, "K1": 5, "K2": 5, "l1": 4.0, "l2": 100.0, "kappa1": 4.0, "kappa2": 8.0}
CUBIC = {
    "fsba": {"M": 5.0, **INNER},
    "lfsba": {"M": 5.0, "m": 3, "rho_bar": 0.5, **INNER},
    "lmcn": {"M": 5.0, "m": 3, "rho_bar": 0.5, **ASCENT},
    "mcn": {"M": 5.0, **ASCENT},
    "cubic-newton": {"M": 3.0, "m": 2},
    "cubic-newton-step": {"M": 3.0},
}


def disc(feasible: object = None) -> bv.Problem:
    g = "(2*x1 + x2/2 - 1/3)**2/2"
    return bv.simple_bilevel(
        f="((x1 - 1)**2 + (x2 - 1/2)**2)/2", g=g, x="x1 x2", feasible=feasible or bv.Ball(radius=1)
    )


def problem_of(method: str) -> bv.Problem:
    if method.endswith("fsba"):
        g = "y1**2 + y2**2 + y1*y2/2 + cos(y1)/4 - x1*y1 - x2*y2/2"
        return bv.bilevel(f="sin(x1)*cos(x2) + y1**2/2 + y2*x1", g=g, x="x1 x2", y="y1 y2")
    if method in ("lmcn", "mcn"):
        return bv.minimax(f="(x1**2 - 1)**2/4 - x2**2/2 + x2**4/4 + x1*y1 - y1**2 + sin(y1)/4", x="x1 x2", y="y1")
    return bv.single_level(f="x1**2/2 + x2**4/4 - x2**2/2 + sin(x1)*x2/5", x="x1 x2")


def both(problem: bv.Problem, method: str, letters: dict[str, object], start: list[float], **more: object) -> bv.Run:
    plain = run_method(problem, method, letters, start, compiled=False, **more)
    fast = run_method(problem, method, letters, start, compiled=True, **more)
    assert (plain.compiled, fast.compiled) == (False, True)
    same(plain, replace(fast, compiled=False))
    return plain


@needs_numba
@pytest.mark.parametrize("method", SIMPLE)
def test_machine_code_of_a_simple_bilevel_method_is_its_plain_run(method: str) -> None:
    for calls in (10**6, 7, 6, 5, 1):
        run = both(disc(), method, {**SIMPLE[method], "K": 300}, [0.1, -0.2], budget={"calls": calls})
        if method != "agm-bio":  # it looks at its budget once a pass, and may end where a cut is lost in rounding
            assert run.status == ("finished" if calls > 7 else "budget")
            assert calls > 7 or sum(run.counts.values()) == calls


@pytest.mark.parametrize("K", [255, 256, 257, 258])
def test_the_last_row_has_room_wherever_a_block_ends(K: int) -> None:
    run = run_method(disc(), "r-apm", {**SIMPLE["r-apm"], "K": K}, [0.1, -0.2], compiled=False)
    assert len(run.trace) == K + 1


@needs_numba
@pytest.mark.parametrize("method", CUBIC)
def test_machine_code_of_a_second_order_method_is_its_plain_run(method: str) -> None:
    problem, letters = problem_of(method), {**CUBIC[method], "T": 40}
    for start in ([0.4, -0.3], [0.0, 0.0]):
        for eps in (None, 1e-3):
            run = both(problem, method, letters, start, eps=eps)
            arrays = CubicStepperRun(problem, method, letters, start, eps)
            assert dict(run.counts) == dict(arrays.counts)
            assert run.status == arrays.status
            for name, rows in arrays.trace.sequences.items():
                np.testing.assert_allclose(run.trace.sequences[name], rows, rtol=1e-11, atol=1e-11)


def CubicStepperRun(problem: bv.Problem, method: str, letters: dict[str, object], start: list[float], eps: object):
    """The same run by the steps of NumPy."""
    from functools import partial

    from bilevel_verify.methods.registry import METHODS

    found = METHODS[method]
    plan = found.runner.keywords["plan"]
    by_arrays = replace(found, runner=partial(CubicStepper, plan=plan), loop_of=None, oracles=frozenset())
    return run_method(problem, by_arrays, letters, start, eps=eps, compiled=False)


@needs_numba
@pytest.mark.parametrize("method", ["lmcn", "fsba", "cubic-newton"])
def test_a_budget_ends_a_second_order_run_at_the_call_whatever_was_asked_before(method: str) -> None:
    problem, letters = problem_of(method), {**CUBIC[method], "T": 400}
    for calls in range(24, 44):
        run = both(problem, method, letters, [0.4, -0.3], budget={"calls": calls})
        assert run.status == "budget"
        assert sum(run.counts.values()) == calls


@needs_numba
def test_a_lower_level_that_is_not_strongly_convex_is_an_error_in_both_forms() -> None:
    problem = bv.minimax(f="x1**2 + x1*y1 + y1**2*(x1 - 1)", x="x1", y="y1")
    for compiled in (False, True):
        with pytest.raises(MathematicalError, match="yy block of -f is not positive definite"):
            run_method(problem, "mcn", {**CUBIC["mcn"], "T": 9}, [2.0], compiled=compiled)


@needs_numba
def test_the_run_says_which_form_it_was() -> None:
    letters = {"eta": 0.02, "gamma": 0.1}
    assert not run_method(disc(), "r-apm", {**letters, "K": 20}, [0.1, 0.2]).compiled
    assert run_method(disc(), "r-apm", {**letters, "K": 60_000}, [0.1, 0.2], record="last").compiled
    meeting = disc(bv.Intersection([bv.Ball(radius=1), bv.Box([-2, -2], [2, 2])]))
    inside = run_method(meeting, "r-apm", {**letters, "K": 20}, [0.1, 0.2], compiled=True)
    assert not inside.compiled  # no loop knows how to project there
    np.testing.assert_allclose(inside.x, run_method(disc(), "r-apm", {**letters, "K": 20}, [0.1, 0.2]).x, atol=1e-12)


@pytest.mark.parametrize("method", ["r-apm", "a-irg", "bi-sg", "big-sam", "pb-apg", "dbgd"])
def test_many_digits_agree_with_floats_and_need_a_known_projection(method: str) -> None:
    letters = {**SIMPLE[method], "K": 30}
    exact = run_method(disc(), method, letters, [0.1, -0.2], digits=40)
    plain = run_method(disc(), method, letters, [0.1, -0.2])
    np.testing.assert_allclose(exact.trace.x.astype(float), plain.trace.x, atol=1e-14)
    meeting = disc(bv.Intersection([bv.Ball(radius=1), bv.Box([-2, -2], [2, 2])]))
    with pytest.raises(ParameterError, match="no multi-precision form on an intersection"):
        run_method(meeting, method, letters, [0.1, -0.2], digits=40)


def loop_step(gradient: np.ndarray, matrix: np.ndarray, M: float) -> np.ndarray:
    d = len(gradient)
    points, vectors, table = [[0.0] * d for _ in range(step.POINTS)], [[0.0] * d for _ in range(d)], matrix.tolist()
    points[step.GRADIENT] = gradient.tolist()
    assert step.spectrum_in(table, points[step.VALUES], vectors)
    step.cubic_step(points, vectors, table, M)
    return np.array(points[step.S])


def test_the_cubic_step_of_the_loop_is_that_of_arrays() -> None:
    """Random models, the hard case, gradients whose squares leave the range of floats, and none at all."""
    rng = np.random.default_rng(0)
    for case in range(60):
        d = 1 + case % 5
        H = rng.standard_normal((d, d))
        H, g = H + H.T, rng.standard_normal(d) * 10.0 ** rng.integers(-6, 6)
        g = g * (0.0, 1.0, 1e-130, 1e130)[case % 4]
        if case % 3 == 0:
            values, vectors = np.linalg.eigh(H)
            g = g - (vectors[:, 0] @ g) * vectors[:, 0]
            H, g = np.diag(values), vectors.T @ g
            g[0] = 0.0
        M = float(np.exp(rng.standard_normal()))
        np.testing.assert_allclose(loop_step(g, H, M), minimise(g, H, M).s, rtol=1e-9, atol=1e-12 * (1 + abs(g).max()))


def test_a_schur_complement_of_the_loop_is_that_of_arrays() -> None:
    rng = np.random.default_rng(1)
    for dx, dy in ((1, 1), (3, 2), (2, 5)):
        root, mixed = rng.standard_normal((dy, dy)), rng.standard_normal((dx, dy))
        lower = root @ root.T + np.eye(dy)
        out = np.zeros((dx, dx)).tolist()
        assert step.add_schur(-2.0, lower.tolist(), mixed.T.tolist(), out)
        np.testing.assert_allclose(out, -2.0 * schur(mixed, lower, "g"), rtol=1e-12)
        assert not step.add_schur(1.0, (lower - 30 * np.eye(dy)).tolist(), mixed.T.tolist(), out)
    assert not step.add_schur(1.0, [[float("nan")]], [[1.0]], [[0.0]])


def test_a_schur_complement_in_many_digits() -> None:
    """A Hilbert matrix and its inverse of whole numbers: in floats eleven digits are lost."""
    n = 8
    with mpmath.workdps(50):
        lower = np.array([[mpmath.mpf(1) / (i + j + 1) for j in range(n)] for i in range(n)], dtype=object)
        unit = np.array([[mpmath.mpf(i == j) for j in range(n)] for i in range(n)], dtype=object)
        inverse = schur(unit, lower, "g")
        assert abs(inverse[0, 0] - 64) < mpmath.mpf(10) ** -35
        assert abs(inverse[n - 1, n - 1] - 176679360) < mpmath.mpf(10) ** -30
        with pytest.raises(MathematicalError, match="not positive definite"):
            schur(unit, -lower, "g")
