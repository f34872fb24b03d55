"""A quadratic times a radial function, and terms over one denominator: against derivatives along sampled directions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import sympy

import bilevel_verify as bv
from bilevel_verify.constants.calculus.quadratic_radial import quadratic_radial, quadratic_radials
from bilevel_verify.constants.formula.quotients import over_denominators

N = 4
Z = sympy.symbols("z1:5", real=True)
PLACE = {v: i for i, v in enumerate(Z)}
RNG = np.random.default_rng(2404)
R2 = sum(v**2 for v in Z)
FORM = sum(
    int(c) * a * b for c, a, b in zip(RNG.integers(-4, 5, 10), Z * 3, (*Z, *Z[1:], Z[0], *Z[2:], *Z[:2]), strict=False)
)
SHIFTED = 3 * R2 - 2 * Z[0] + Z[1] + 5
TERMS = {
    "quotient": FORM / (1 + R2),
    "linear and constant parts": (FORM + Z[0] - 3 * Z[2] + 2) / (1 + R2),
    "a centre of its own": (FORM - 2 * Z[3]) / SHIFTED,
    "a root": (FORM + 1) / sympy.sqrt(2 + R2),
    "an exponential": FORM * sympy.exp(-R2 / 2),
    "definite": (R2 + Z[0] ** 2) * sympy.log(2 + R2),
    "weighted squares": (FORM + Z[1]) / (1 + R2 + Z[0] ** 2 / 2 + 2 * Z[3] ** 2 - Z[3]),
    "linear": (Z[0] - Z[3]) / (1 + R2) ** 2,
}


@cache
def derivative(h: sympy.Expr, order: int) -> Callable[..., np.ndarray]:
    """``D^k h (v, ..., v)`` as a function of the point and the direction."""
    t, v = sympy.Symbol("t", real=True), sympy.symbols("v1:5", real=True)
    line = h.xreplace({a: a + t * b for a, b in zip(Z, v, strict=True)})
    return sympy.lambdify([*Z, *v], sympy.diff(line, t, order).xreplace({t: sympy.Integer(0)}), cse=True)


def along(h: sympy.Expr, order: int, points: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """``D^k h (v, ..., v)`` at points along unit vectors."""
    return np.asarray(derivative(h, order)(*points.T, *directions.T))


def sampled(h: sympy.Expr, order: int, count: int = 5_000) -> tuple[float, float]:
    """Least and largest value found over the box [-1, 1.5]^n, near its best points again."""
    rng = np.random.default_rng(7)
    points, directions = rng.uniform(-1, 1.5, (count, N)), rng.normal(size=(count, N))
    found = []
    for scale in (0.0, 0.3, 0.1, 0.03):
        if scale:
            values = along(h, order, points, directions)
            best = np.concatenate([np.argsort(values)[:10], np.argsort(values)[-10:]])
            chosen = np.repeat(best, count // 20)
            points = np.clip(points[chosen] + scale * rng.normal(size=(len(chosen), N)), -1, 1.5)
            directions = directions[chosen] + scale * rng.normal(size=(len(chosen), N))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        values = along(h, order, points, directions)
        found.append((values.min(), values.max()))
    return min(a for a, _ in found), max(b for _, b in found)


@pytest.mark.parametrize("name", TERMS)
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_no_direction_exceeds_the_bound(name: str, order: int) -> None:
    special = quadratic_radial(TERMS[name], PLACE)
    assert special is not None
    lo, hi = np.full(N, -1.0), np.full(N, 1.5)
    low, high = special._range(order, lo, hi)
    least, most = sampled(TERMS[name], order)
    assert low <= least
    assert most <= high
    bound, _ = special.bound("z" * order, {"z": tuple(range(N))}, lo, hi)
    assert bound == max(-low, high)
    wide = 5 if name == "weighted squares" else 2.2  # lengths of directions are lost there
    assert bound <= wide * max(-least, most)  # radii of the whole box in every direction, b apart from A


def test_where_nothing_is_lost_the_bound_is_reached() -> None:
    """Over a ball and without linear part the supremum over the two numbers is one over points, too."""
    h = (Z[0] ** 2 - 2 * Z[1] ** 2 + Z[2] ** 2 - 2 * Z[3] ** 2) / (1 + R2)
    special = quadratic_radial(h, PLACE)
    assert special is not None
    low, high = special._range(2, np.full(N, -0.5), np.full(N, 0.5))  # a ball of radius 1
    rng = np.random.default_rng(1)
    points, directions = rng.normal(size=(2, 40_000, N))
    points *= (rng.uniform(0, 1, (len(points), 1))) / np.linalg.norm(points, axis=1, keepdims=True)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    values = along(h, 2, points, directions)
    assert low <= values.min() <= low + 0.1 * abs(low)
    assert high - 0.15 * high <= values.max() <= high


def test_matrices_bound_the_hessian_on_the_variables_of_the_term_alone() -> None:
    h = (Z[0] * Z[1] + Z[0]) / (1 + Z[0] ** 2 + 3 * Z[1] ** 2)
    special = quadratic_radial(h, PLACE)
    assert special is not None
    (below,), (above,) = special.loewner(N, np.full(N, -1.0), np.full(N, 1.0))
    hessian = sympy.lambdify(Z, sympy.hessian(h, Z))
    for point in RNG.uniform(-1, 1, (50, N)):
        matrix = np.asarray(hessian(*point), dtype=float)
        assert np.linalg.eigvalsh(matrix - below)[0] >= -1e-12
        assert np.linalg.eigvalsh(above - matrix)[0] >= -1e-12
    assert not below[2:].any()
    assert not above[:, 2:].any()


@pytest.mark.parametrize(
    "term",
    [
        FORM / (1 + R2 - 2 * Z[0] ** 2),
        FORM / (1 + R2 + Z[0] * Z[1]),
        Z[0] * FORM / (1 + R2),
        sympy.sqrt(2) * FORM / (1 + R2),
        FORM / (1 + Z[0] ** 2 + Z[1] ** 2),
        FORM,
        sympy.sin(Z[0]) * Z[1],
    ],
)
def test_other_terms_are_left_to_other_rules(term: sympy.Expr) -> None:
    assert quadratic_radial(sympy.sympify(term), PLACE) is None


def test_terms_over_one_denominator_are_one_quotient_of_the_same_value() -> None:
    rest = sympy.expand(FORM / (1 + R2)) + Z[0] / (1 + R2) ** 2 + sympy.sin(Z[0] * Z[1]) + Z[0] ** 2 / (3 + 3 * R2)
    found = over_denominators(rest)
    assert sum(term.has(sympy.Pow(1 + R2, -1)) for term in sympy.Add.make_args(found)) == 1
    put = dict(zip(Z, [sympy.Rational(k, 7) for k in (1, -3, 5, 2)], strict=True))
    assert sympy.simplify(found.xreplace(put) - rest.xreplace(put)) == 0
    specials, left = quadratic_radials(found, Z)
    assert len(specials) == 2
    assert left == sympy.sin(Z[0] * Z[1])
    assert over_denominators(None) is None
    assert over_denominators(Z[0] / (1 + R2)) == Z[0] / (1 + R2)


def test_constants_of_a_quotient_in_five_variables_are_tight() -> None:
    q = "x1**2 - 2*x1*x2 + 3*x2*x3 - x4**2 + x4*y1/2 + x3*y1"
    p = bv.bilevel(
        f="y1",
        g=f"({q})/(1 + x1**2 + x2**2 + x3**2 + x4**2 + y1**2)",
        x="x1 x2 x3 x4",
        y="y1",
        domain=dict.fromkeys(("x1", "x2", "x3", "x4", "y1"), (-1, 1)),
    )
    found = bv.constants(p, only=("L_g", "rho_g"), effort=0.05)
    assert found["L_g"].certified
    assert found["L_g"].upper <= 1.25 * found["L_g"].lower
    assert found["rho_g"].certified
    assert found["rho_g"].upper <= 1.5 * found["rho_g"].lower
