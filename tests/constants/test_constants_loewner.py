"""Matrices below and above a Hessian: against floats at points; what they buy in five and eight variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

import bilevel_verify as bv
from bilevel_verify.constants.calculus.forms import Form
from bilevel_verify.constants.calculus.loewner import Loewner
from bilevel_verify.constants.formula.domain import domain_of
from bilevel_verify.constants.formula.structure import normalise, structure_of
from bilevel_verify.constants.groups.engine import Analysis
from bilevel_verify.constants.search.branch import PAUSE, Staged, _Search, supremum

pytestmark = pytest.mark.fast


def analysis(f: str, n: int, effort: float = 1.0) -> Analysis:
    names = [f"x{i}" for i in range(1, n + 1)]
    problem = bv.single_level(f=f, x=names, domain=dict.fromkeys(names, (-1.0, 1.0)))
    return Analysis(
        structure_of(normalise(problem.f), problem.variables), (False,) * n, domain_of(problem), "f", effort
    )


TERMS = [
    "tanh(x1 + x2/2 - x3)*atan(x4 - x1) + x1*x2 - x3**2",
    "log(1 + (x1 - 2*x2 + x3)**2 + x4**2) - exp(-(x1 + x3)**2)*x2 + sin(x2*x4)",
    "log(1 + (x1 - 2*x2 + x3)**2 + x4**2) + log(2 + x1**2 + x2**2 + x3*x4) + cos(x1 + x2)",
    "sqrt(1 + x1**2 + x1*x2 + x2**2 + x3**2 + x4**2) - 2*exp(-x1**2 - x3**2 - x4**2)",
    "log(exp(x1 + x2) + exp(x3 - x1/3) + exp(x4*x1))",
]


@pytest.mark.slow
@pytest.mark.parametrize("f", TERMS)
def test_eigenvalues_at_points_lie_between(f: str) -> None:
    (part,) = analysis(f, 4).parts
    names = sympy.symbols("x1:5")
    hessian = sympy.lambdify(names, sympy.hessian(sympy.sympify(f), names), "numpy")
    matrices, form = Loewner(part.model, part.domain.lo, part.domain.hi), Form(part.model, "zz")
    rng = np.random.default_rng(3)
    for size in (1.0, 0.4, 0.05, 0.0):
        middle = rng.uniform(size - 1, 1 - size, (5, 4))
        lo, hi = middle - size * rng.random((5, 4)), middle + size * rng.random((5, 4))
        least, most = form.between(*matrices.pieces(lo, hi))
        for box in range(5):
            points = lo[box] + (hi[box] - lo[box]) * np.concatenate([rng.random((30, 4)), rng.integers(0, 2, (10, 4))])
            values = np.linalg.eigvalsh([np.array(hessian(*p), dtype=float) for p in points])
            assert values[:, 0].min() >= least[box] - 1e-9
            assert values[:, -1].max() <= most[box] + 1e-9
    lo, hi = np.full((1, 4), 0.1), np.full((1, 4), 0.1)
    least, most = form.between(*matrices.pieces(lo, hi))
    exact = np.linalg.eigvalsh(np.array(hessian(*lo[0]), dtype=float))
    assert (least[0], most[0]) == (pytest.approx(exact[0], abs=1e-2), pytest.approx(exact[-1], abs=1e-2))
    assert np.isneginf(form.between(*matrices.pieces(lo, hi), sides="most")[0]).all()
    assert np.isposinf(form.between(*matrices.pieces(lo, hi), sides="least")[1]).all()


def test_which_terms_have_tables() -> None:
    counts = []
    for f in TERMS:
        (part,) = analysis(f, 4).parts
        terms, remaining = Loewner(part.model, part.domain.lo, part.domain.hi).terms
        counts.append((len(terms), remaining is not None))
    assert counts == [(1, False), (3, False), (1, True), (0, True), (0, True)]


FAMILY = "log(2 + sin({}) + {})"


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 8])
def test_eight_variables_within_a_tenth(n: int) -> None:
    names = [f"x{i}" for i in range(1, n + 1)]
    f = FAMILY.format("*".join(names), " + ".join(f"{v}**2" for v in names))
    found = analysis(f, n, 10.0).norm("zz")
    assert found.certified
    assert 1.0 - 1e-9 <= found.lower <= found.upper < 1.1  # the Hessian at 0 is the identity


def test_functions_of_a_quadratic_are_exact_at_once() -> None:
    names = [f"x{i}" for i in range(1, 9)]
    quadratic = " + ".join(f"({i + 2})*{v}**2/4" for i, v in enumerate(names)) + " + x1*x2/3 - x3*x8/5"
    root = analysis(f"sqrt(1 + {quadratic})", 8).norm("zz")
    assert root.lower <= root.upper <= root.lower * (1 + 1e-6)


DENSE = (
    "(x1 + x2/2 - x3 + x4/3 + x5)**2 + (x2 - x3/2 + x5/4 - x4)**2 + x1**2 + x2**2 + x3**2 + x4**2 + x5**2"
    " - 7*log(1 + (x1/2 - x2 + x3/3 + x4 - x5)**2 + x1**2)/20 + tanh(x1 - x2 + x5)*atan(x3 + x4/2)/4"
)


@pytest.mark.slow
def test_curvature_stays_positive() -> None:
    found = analysis(DENSE, 5).convexity()
    assert found.certified
    assert 0.1 < found.lower <= found.upper


def test_the_second_stage_is_asked_where_it_matters() -> None:
    asked: list[tuple[str, int]] = []

    def first(lo: Any, hi: Any) -> Any:
        asked.append(("first", len(lo)))
        return np.abs(hi).max(axis=1) + 3 * (hi - lo).max(axis=1)

    def second(lo: Any, hi: Any, share: float = 1.0) -> Any:
        asked.append(("second", len(lo)))
        return np.abs(hi).max(axis=1) + 3 * share * (hi - lo).max(axis=1)

    sample = lambda z: np.abs(z).max(axis=1)
    lo, hi = np.zeros(2), np.ones(2)
    useless = supremum(Staged(first, second), sample, lo, hi, 1e-3, 4000)
    assert 1.0 <= useless.upper < 1.1
    many = sum(n for word, n in asked if word == "second")
    assert many < sum(n for word, n in asked if word == "first") / 2  # it never helped: asked once in PAUSE batches
    assert PAUSE > 1
    asked.clear()
    sharp = Staged(first, lambda lo, hi: second(lo, hi, 0.01))
    useful = supremum(sharp, sample, lo, hi, 1e-3, 4000)
    assert 1.0 <= useful.upper < useless.upper


def test_a_certificate_takes_the_second_stage_only_above_the_level() -> None:
    asked: list[int] = []

    def second(lo: Any, hi: Any) -> Any:
        asked.append(len(lo))
        return hi[:, 0] - 0.25

    search = _Search(
        Staged(lambda lo, hi: hi[:, 0], second), lambda z: z[:, 0], np.zeros(1), np.ones(1), 0.0, 0.0, None
    )
    asked.clear()
    lo, hi = np.array([[0.0], [0.0], [0.0]]), np.array([[0.5], [0.8], [np.nan]])
    found = search._certified(lo, hi, 0.6)
    assert found.tolist() == [0.5, pytest.approx(0.55), np.inf]
    assert asked == [2]
