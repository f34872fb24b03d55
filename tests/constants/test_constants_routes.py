"""Every route alone, on inputs made to break its side conditions: none certifies a number below what is attained."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest
import sympy
from sympy import Rational

from bilevel_verify.atoms import logsumexp, pluspow, psi
from bilevel_verify.constants.bound.bounds import Bound
from bilevel_verify.constants.bound.constant import Reason
from bilevel_verify.constants.calculus.forms import Form
from bilevel_verify.constants.calculus.specials import specials_of
from bilevel_verify.constants.formula.domain import Domain
from bilevel_verify.constants.formula.structure import normalise, structure_of
from bilevel_verify.constants.groups.closed_form import closed_form
from bilevel_verify.constants.groups.composition import with_specials
from bilevel_verify.constants.groups.convexity import _search_convexity, convexity
from bilevel_verify.constants.groups.part import Part
from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.numbers.rounding import Array

X, Y = VARIABLES = sympy.symbols("x y", real=True)
INF = math.inf
WHY = Reason("test", "nothing is known")
NOTHING = Bound(INF, 0.0, True, "calculus", WHY)
TINY = Rational(1, 10**10)
BOX = ((-1.0, 2.0), (-2.0, 1.0))
LINE = ((-INF, INF), (-INF, INF))
HALF = ((0.0, INF), (-1.0, 1.0))
CASES: dict[str, tuple[sympy.Expr, tuple[tuple[float, float], tuple[float, float]]]] = {
    "nonconvex": (sympy.sin(3 * X) * Y - X**2 * Y**2, BOX),
    "shared product": (X * Y * sympy.exp(X * Y / 2), BOX),
    "short row": (sympy.sin(X) + 10**30 * sympy.cos(TINY * (X + Y) + 1), LINE),
    "nearly parallel": (sympy.sin(X + Y) - sympy.sin(X + Y * (1 + Rational(1, 10**6))) * 10, BOX),
    "opposite signs": (sympy.cos(X + Y) - 2 * sympy.cos(X - Y) + 3 * sympy.cos(2 * X), LINE),
    "no common period": (sympy.sin(X) - sympy.sin(X * sympy.sqrt(2) + Y), ((-INF, INF), (-1.0, 1.0))),
    "nearly a common period": (sympy.sin(X) * Y - sympy.sin(X * (10**6 + 1) / 10**6) * Y, ((-INF, INF), (1.0, 2.0))),
    "half line": (sympy.exp(-X) * sympy.sin(Y) + X * Y / 3, HALF),
    "thin": (sympy.exp(X) * sympy.sin(5 * Y), ((0.5, 0.5), (-1.0, 1.0))),
    "a point": (X**3 * Y**2, ((1.0, 1.0), (2.0, 2.0))),
    "affine in one": (X * sympy.sin(3 * Y) + X * Y, BOX),
    "square is not affine": (X**2 * sympy.sin(3 * Y) + X**4 / 9, BOX),
    "radial": (1 / (1 + X**2 + Y**2), LINE),
    "radial, off centre": (sympy.sqrt(1 + (X - 3) ** 2 + Y**2), BOX),
    "minus logsumexp": (-2 * logsumexp(X, 3 * Y, X - Y) + X * Y, LINE),
    "logsumexp of parallel rows": (logsumexp(X, 2 * X, X * (1 + TINY) + Y * TINY) - Y**2, LINE),
    "quotient": (X * Y / (1 + X**2 * Y**2), BOX),
    "cancelling": (sympy.exp(3 * X) * Y - sympy.exp(3 * X) * (Y - Rational(1, 100)) + X**3, BOX),
    "independent waves": (sympy.sin(X) - 2 * sympy.cos(X + Y), LINE),
    "one wave": (-3 * sympy.sin(2 * X - Y), LINE),
    "quadratic only": (3 * X**2 - 2 * X * Y - Y**2, LINE),
    "smooth kink": (psi(Rational(1, 2), 2 * X + Y) + pluspow(3, X) * Y, BOX),
}
SLOTS = ("z", "y", "zz", "yy", "xy", "zzz", "xyy", "yyy")


def part_of(name: str, effort: float = 0.04) -> Part:
    expression, ranges = CASES[name]
    lo, hi = (np.array([r[side] for r in ranges]) for side in (0, 1))
    whole = ranges == LINE
    return Part(structure_of(normalise(expression), VARIABLES), (True, False), Domain(lo, hi, name, whole), "h", effort)


@lru_cache(maxsize=64)
def samples(name: str) -> Array:
    """Points of the domain (infinite ends at several scales)."""
    rng, columns = np.random.default_rng(7), []
    for low, high in CASES[name][1]:
        scale = 10.0 ** rng.uniform(-1, 2, size=400) if name != "short row" else 10.0 ** rng.uniform(-1, 11, size=400)
        wide = rng.uniform(-1, 1, size=400) * scale
        left, right = (low if math.isfinite(low) else -INF), (high if math.isfinite(high) else INF)
        inner = rng.uniform(left, right, size=400) if math.isfinite(right - left) else np.clip(wide, left, right)
        columns.append(inner)
    points = np.stack(columns, axis=1)
    ends = [[v if math.isfinite(v) else 0.0 for v in (low, high)] for low, high in CASES[name][1]]
    return np.concatenate([points, [[a, b] for a in ends[0] for b in ends[1]]])


@lru_cache(maxsize=512)
def derivatives(name: str, order: int) -> dict[tuple[int, ...], Array]:
    """Every partial derivative of the order (by the numbers of its variables) at the sample points."""
    from itertools import combinations_with_replacement, permutations

    from bilevel_verify.numbers.floats import NUMPY
    from bilevel_verify.symbolic.program import program_of

    points, found = samples(name), {}
    for place in combinations_with_replacement((0, 1), order):
        derived = sympy.diff(CASES[name][0], *[VARIABLES[i] for i in place])
        with np.errstate(all="ignore"):
            value = program_of(derived, list(VARIABLES)).run(NUMPY, [points[:, 0], points[:, 1]])[0]
        for order_ in set(permutations(place)):
            found[order_] = np.broadcast_to(np.asarray(value, dtype=float), (len(points),))
    return found


@lru_cache(maxsize=512)
def attained(name: str, slots: str) -> float:
    """Largest value of the form over the sample points and many unit vectors (float arithmetic)."""
    angles = np.linspace(0, np.pi, 90)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    vectors = {"x": np.array([[1.0], [0.0]]), "y": np.array([[0.0], [1.0]]), "z": circle}
    count = 90 if "z" in slots else 1
    total = np.zeros((len(samples(name)), count))
    for place, values in derivatives(name, len(slots)).items():
        factor = np.ones(count)
        for slot, i in zip(slots, place):
            factor = factor * vectors[slot][i]
        total += values[:, None] * factor
    return float(np.nanmax(np.abs(total)))


def calculus(part: Part, slots: str) -> float:
    return part._calculus(slots).upper


def search(part: Part, slots: str) -> float:
    return part._search(slots, NOTHING).upper


def nets(part: Part, slots: str) -> float:
    form = Form(part.model, slots, 600)
    with ball_ends():
        pieces = part.model.evaluate(len(slots), *part.whole())
        return INF if form.net is None else float(form._by_net(form.net, pieces)[0])


def matrices(part: Part, slots: str) -> float:
    with ball_ends():
        return float(Form(part.model, slots)._by_matrices(part.model.evaluate(len(slots), *part.whole()))[0])


def special_terms(part: Part, slots: str) -> float:
    with ball_ends():
        return with_specials(part, slots)


def in_closed_form(part: Part, slots: str) -> float:
    closed = closed_form(part, slots) if part._free_arguments() else None
    return INF if closed is None else float(closed)


def peaks(part: Part, slots: str) -> float:
    if not part._free_arguments() or len(slots) < 3 or len(set(slots)) > 1:
        return INF
    found = part._peaks(slots)
    return INF if found is None else found.upper


ROUTES: dict[str, Callable[[Part, str], float]] = {
    r.__name__: r for r in (calculus, search, nets, matrices, special_terms, in_closed_form, peaks)
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("route", ROUTES)
def test_no_route_alone_certifies_less_than_what_is_attained(name: str, route: str) -> None:
    part = part_of(name)
    with np.errstate(all="ignore"):
        for slots in SLOTS:
            if part.touches(slots):
                upper = ROUTES[route](part, slots)
                assert upper >= attained(name, slots) * (1 - 1e-9) - 1e-12, (name, route, slots)


@pytest.mark.parametrize(
    "route", ["calculus", "search", "nets", "matrices", "special_terms", "in_closed_form", "peaks"]
)
def test_every_route_does_something_here(route: str) -> None:
    """The test above would say nothing of a route that always answers with infinity."""
    finite = 0
    with np.errstate(all="ignore"):
        for name in ("independent waves", "one wave", "radial", "nonconvex"):
            part = part_of(name)
            finite += sum(math.isfinite(ROUTES[route](part, slots)) for slots in ("zz", "zzz"))
    assert finite > 0


@pytest.mark.parametrize("name", CASES)
def test_curvature_is_never_overstated(name: str) -> None:
    part = part_of(name)
    with np.errstate(all="ignore"):
        found = convexity(part)
        hessian = derivatives(name, 2)
        least = float(np.nanmin(hessian[1, 1]))
        room = 1e-9 * max(1.0, abs(least))
        assert found.lower <= least + room
        alone = _search_convexity(part, Form(part.model, "yy"), -INF, least + 100.0, {}, WHY)
        assert alone.lower <= least + room
        low, high = part_of(name).hessian_range()
    points = np.array([[hessian[0, 0], hessian[0, 1]], [hessian[1, 0], hessian[1, 1]]]).transpose(2, 0, 1)
    eigenvalues = np.linalg.eigvalsh(points[np.isfinite(points).all(axis=(1, 2))])
    assert low <= eigenvalues.min() + 1e-9 * max(1.0, abs(eigenvalues.min()))
    assert high >= eigenvalues.max() - 1e-9 * max(1.0, abs(eigenvalues.max()))


@pytest.mark.parametrize("seed", range(3))
def test_logsumexp_is_between_its_loewner_bounds(seed: int) -> None:
    """Also where rows are nearly parallel, with a further matrix that leaves no slack in one direction."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(3, 2)).round(3) if seed else np.array([[1.0, 0.0], [0.0, 0.0], [2.0, 1e-9]])
    terms = [sympy.Add(*[sympy.Rational(str(c)) * v for c, v in zip(row, VARIABLES)]) for row in rows]
    specials, _ = specials_of((-1) ** seed * logsumexp(*terms), VARIABLES)
    below, above = specials[0].loewner(2, np.full(2, -INF), np.full(2, INF))
    for point in rng.normal(size=(50, 2)) * 3:
        weights = np.exp(rows @ point - (rows @ point).max())
        weights /= weights.sum()
        mean = weights @ rows
        hessian = (-1) ** seed * ((weights[:, None] * (rows - mean)).T @ (rows - mean))
        for bound_ in above:
            assert np.linalg.eigvalsh(bound_ - hessian).min() >= 0.0
        for bound_ in below:
            assert np.linalg.eigvalsh(hessian - bound_).min() >= 0.0
