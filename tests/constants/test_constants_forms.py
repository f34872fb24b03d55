"""Norms of derivative tensors, piece by piece: nets, Loewner bounds, tensors; never below what is attained."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy
from constants_tensors import centre_tensor
from flint import arb_mat, fmpq, fmpq_mat

from bilevel_verify.constants.calculus.ascent import _unit, ascended
from bilevel_verify.constants.calculus.forms import (
    Form,
    _basis_of_rows,
    _dyadic,
    _finite,
    _tidy,
    defined,
    gradient_entries,
)
from bilevel_verify.constants.formula.model import Model, Pieces
from bilevel_verify.constants.formula.structure import normalise, structure_of
from bilevel_verify.intervals.batch import Interval

pytestmark = pytest.mark.fast

A, B, C = VARIABLES = sympy.symbols("a b c", real=True)


def model_of(expression: sympy.Expr, is_x: tuple[bool, ...] = (False, False)) -> Model:
    return Model(structure_of(normalise(sympy.sympify(expression)), VARIABLES[: len(is_x)]), is_x)


def at(model: Model, order: int, point: list[float]) -> Pieces:
    here = np.array([point], dtype=float)
    return model.evaluate(order, here, here)


def over(model: Model, order: int, lo: list[float], hi: list[float]) -> Pieces:
    return model.evaluate(order, np.array([lo], dtype=float), np.array([hi], dtype=float))


# ---- nets ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 4])
@pytest.mark.parametrize("part", [0.0, 0.25, 0.5, 0.75])
def test_a_form_whose_maximum_lies_between_directions_of_the_net_is_covered(k: int, part: float) -> None:
    """``Re (e^(-i t) z)^k / k!`` has derivative norm 1 (k-th), attained half-way between two directions."""
    size = 24
    angle = sympy.pi * sympy.Rational(str(part)) / size  # part of the distance of two directions
    real = sympy.expand(
        sympy.re(sympy.expand((sympy.cos(angle) - sympy.I * sympy.sin(angle)) ** k * (A + sympy.I * B) ** k))
    )
    expression = real / math.factorial(k) + sympy.sin(A - B) / 10**9  # a ridge keeps the net
    model = model_of(sympy.nsimplify(sympy.expand(expression).evalf(30), rational=True) if part else expression)
    form = Form(model, "z" * k, size)
    assert form.net is not None
    upper = float(form._by_net(form.net, at(model, k, [0.0, 0.0]))[0])
    assert 1.0 <= upper <= 1.25


def test_the_factor_of_a_net_is_one_over_the_cosine_of_all_equal_slots_together() -> None:
    model = model_of(A**3 * B + sympy.sin(A + B), (True, False))
    delta = math.pi / (2 * 30)
    plane = model_of(A**3 * B + sympy.sin(A + B))
    for slots in ("zz", "zzz", "zzzz"):
        net = Form(plane, slots, 30).net
        assert net is not None
        assert net.factor == pytest.approx(1 / math.cos(len(slots) * delta), rel=1e-9)
        assert net.factor >= 1 / math.cos(len(slots) * delta)
    lines = Form(model, "xyy", 30).net
    assert lines is not None
    assert lines.factor == pytest.approx(1.0, rel=1e-11)
    space = Model(structure_of(normalise(A * B * C + sympy.sin(A + B + C)), VARIABLES), (True, True, False))
    mixed = Form(space, "zxy", 4000).net
    assert mixed is not None
    vectors_z, delta_z = _net_of(3, 4000, 3)
    vectors_x, delta_x = _net_of(2, 4000, 3)
    assert mixed.factor == pytest.approx(1 / math.cos(delta_z) / math.cos(delta_x), rel=1e-9)
    assert mixed.entry.shape[1] == vectors_z * vectors_x


def _net_of(dimension: int, directions: int, freedom: int) -> tuple[int, float]:
    from bilevel_verify.intervals.linalg import sphere_net

    size = max(24, int(directions ** ((dimension - 1) / freedom)))
    vectors, delta = sphere_net(dimension, size)
    return len(vectors), delta


def test_a_net_that_covers_too_little_is_not_used() -> None:
    space = Model(structure_of(normalise(A * B * C + sympy.sin(A + B + C)), VARIABLES), (False,) * 3)
    assert Form(space, "zzzz", 30).net is None
    assert Form(space, "zz", 3000).net is not None


@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_short_direction_with_a_large_weight_is_seen(k: int) -> None:
    """Rows (1, 0) and (t, t) with a tiny t: the second one carries most of the derivative."""
    t = sympy.Rational(1, 10**10)
    model = model_of(sympy.sin(A) + 10 ** (10 * k) * sympy.cos(t * (A + B) + sympy.pi / 4))
    here = at(model, k, [0.0, 0.0])
    angle = np.linspace(0, np.pi, 20001)
    v = np.stack([np.cos(angle), np.sin(angle)])
    first, second = math.sin(k * math.pi / 2), math.cos(math.pi / 4 + k * math.pi / 2)
    truth = np.abs(first * v[0] ** k + second * (v[0] + v[1]) ** k).max()
    assert truth - 1e-6 <= float(Form(model, "z" * k).upper(here)[0]) <= truth * 1.01


def test_parallel_rows_need_one_direction_and_independent_ones_all() -> None:
    rows = np.array([[3.0, 4.0, 0.0], [-6e-9, -8e-9, 0.0], [3e5, 4e5, 0.0]])
    assert _basis_of_rows(rows).shape == (1, 3)
    assert _basis_of_rows(rows + np.diag([0, 0, 1e-6])[[2, 0, 1]]).shape == (2, 3)
    nearly = np.array([[1.0, 0.0, 0.0], [1.0, 1e-11, 0.0]])
    basis = _basis_of_rows(nearly)
    assert np.abs(nearly - nearly @ basis.T @ basis).max() < 1e-13
    assert _basis_of_rows(np.array([[0.0, 0.0], [0.0, 2.0]])).shape == (1, 2)
    assert _basis_of_rows(np.zeros((2, 3))).shape[0] == 0


def test_signs_count_in_a_net() -> None:
    """Two ridges with opposite signs: the radius of a coefficient widens the form by the absolute direction."""
    model = model_of(sympy.sin(A - B) + sympy.cos(A + B))
    form = Form(model, "yyy")
    assert form.net is not None
    pieces = Pieces(
        3, Interval(np.array([[-2.0, -1.0]]), np.array([[2.0, 1.0]])), Interval(np.zeros((1, 0)), np.zeros((1, 0)))
    )
    rows = model.row_centres
    angle = np.linspace(0, np.pi, 5001)
    v = np.stack([np.cos(angle), np.sin(angle)])
    truth = (np.array([2.0, 1.0]) @ np.abs(rows @ v) ** 3).max()
    assert truth <= float(form.upper(pieces)[0]) <= truth * 1.001


@pytest.mark.parametrize("which", ["ridge", "entry"])
@pytest.mark.parametrize("end", ["lo", "hi"])
def test_a_coefficient_without_a_bound_leaves_no_bound(which: str, end: str) -> None:
    model = model_of(A**3 * B + sympy.sin(A + 2 * B))
    form = Form(model, "zzz")
    pieces = over(model, 3, [-1.0, -1.0], [1.0, 1.0])
    both = Pieces(3, _double(pieces.ridges), _double(pieces.entries))
    target = both.ridges if which == "ridge" else both.entries
    getattr(target, end)[1, 0] = -math.inf if end == "lo" else math.inf
    found = form.upper(both)
    assert math.isfinite(found[0])
    assert found[1] == math.inf
    assert Form(model, "yyy", 40).upper(both)[0] < math.inf


def _double(values: Interval) -> Interval:
    return Interval(np.repeat(values.lo, 2, axis=0), np.repeat(values.hi, 2, axis=0))


def test_an_infinite_coefficient_that_does_not_touch_the_block_does_not_matter() -> None:
    values = Interval(np.array([[1.0, -np.inf]]), np.array([[2.0, np.inf]]))
    kept, lost = _finite(values, np.array([True, False]))
    assert not lost[0]
    assert (kept.lo[0, 1], kept.hi[0, 1]) == (0.0, 0.0)
    assert _finite(values, np.array([False, True]))[1][0]
    assert _finite(Interval(np.array([[np.nan, 1.0]]), np.array([[1.0, 1.0]])), np.array([True, False]))[1][0]


# ---- Loewner bounds --------------------------------------------------------------------------------------------------


def exact_extremes(matrix: list[list[Fraction]]) -> tuple[float, float]:
    """Smallest and largest eigenvalue of a rational symmetric matrix as balls: (lower end of least, upper of most)."""
    n = len(matrix)
    poly = fmpq_mat(n, n, [fmpq(v.numerator, v.denominator) for row in matrix for v in row]).charpoly()
    roots = sorted((r.real for r, _ in _roots(poly)), key=float)
    return roots[0], roots[-1]


def _roots(poly: object) -> list[object]:
    from flint import fmpz_poly

    coefficients = [poly[k] for k in range(poly.degree() + 1)]  # type: ignore[attr-defined, index]
    scale = math.lcm(*[int(c.q) for c in coefficients])
    return fmpz_poly([int(c.p) * (scale // int(c.q)) for c in coefficients]).complex_roots()


@pytest.mark.parametrize("seed", range(12))
def test_eigenvalue_bounds_are_outside_of_the_exact_eigenvalues(seed: int) -> None:
    """Rows and coefficients that are no short binary numbers; compared without slack."""
    rng = np.random.default_rng(seed)
    n, count = 2 + seed % 2, 3
    rows = rng.normal(size=(count, n)) * 0.3
    coefficients = rng.normal(size=count)
    terms = [
        sympy.Rational(Fraction(c)) * sympy.sin(sum(sympy.Rational(Fraction(v)) * s for v, s in zip(row, VARIABLES)))
        for c, row in zip(coefficients, rows)
    ]
    model = Model(structure_of(sympy.Add(*terms), VARIABLES[:n]), (False,) * n)
    centre = np.array([[rng.normal() for _ in model.structure.ridges]])
    pieces = Pieces(2, Interval(centre, centre), Interval(np.zeros((1, 0)), np.zeros((1, 0))))
    entries = [[sum((Fraction(c) * Fraction(r[i]) * Fraction(r[j]) for c, r in zip(centre[0], model.row_centres)),
                    Fraction(0)) for j in range(n)] for i in range(n)]  # fmt: skip
    low, high = exact_extremes(entries)
    least, most = Form(model, "yy").extremes(pieces)
    assert bool(low > least[0])
    assert bool(high < most[0])
    assert most[0] - least[0] <= (float(high) - float(low)) * (1 + 1e-12) + 1e-13
    norm = float(Form(model, "yy").upper(pieces)[0])
    assert bool(high < norm)
    assert bool(-low < norm)


def test_eigenvalues_of_short_numbers_are_exact() -> None:
    model = model_of(sympy.sin(A + B) + sympy.sin(A - B) * 3)
    ridges = Interval(np.array([[-1.0, -3.0]]), np.array([[2.0, 0.5]]))
    least, most = Form(model, "yy").extremes(Pieces(2, ridges, Interval(np.zeros((1, 0)), np.zeros((1, 0)))))
    assert -6.0 - 1e-14 <= least[0] <= -6.0
    assert 4.0 <= most[0] <= 4.0 + 1e-14


@pytest.mark.parametrize("values", [[-3.0, 1.0], [-1.0, 2.0], [-5.0, -4.0], [3.0, 4.0], [0.0, 0.0]])
def test_the_norm_is_the_larger_of_both_ends(values: list[float]) -> None:
    model = model_of(sympy.sin(A), (False,))
    pieces = Pieces(
        2, Interval(np.array([values[:1]]), np.array([values[1:]])), Interval(np.zeros((1, 0)), np.zeros((1, 0)))
    )
    form = Form(model, "yy")
    assert [float(v[0]) for v in form.extremes(pieces)] == values
    assert float(form._by_matrices(pieces)[0]) == max(map(abs, values))


@pytest.mark.parametrize("row", [0, 1])
def test_an_unbounded_coefficient_loses_its_own_side_only(row: int) -> None:
    model = model_of(sympy.sin(A + B) + sympy.cos(A - B))
    low, high = np.array([[-1.0, -1.0]] * 2), np.array([[1.0, 1.0]] * 2)
    high[1, row] = math.inf
    nothing = Interval(np.zeros((2, 0)), np.zeros((2, 0)))
    least, most = Form(model, "yy").extremes(Pieces(2, Interval(low, high), nothing))
    assert (least.tolist(), most.tolist()) == ([-2.0, -2.0], [2.0, math.inf])
    least, most = Form(model, "yy").extremes(Pieces(2, Interval(-high, -low), nothing))
    assert (least.tolist(), most.tolist()) == ([-2.0, -math.inf], [2.0, 2.0])


def test_one_side_asked_for_is_the_same_as_both() -> None:
    model = model_of(A**2 * B + sympy.sin(A + B) + A * B)
    pieces = over(model, 2, [-1.0, 0.0], [1.0, 2.0])
    form = Form(model, "yy")
    least, most = form.extremes(pieces)
    assert form.extremes(pieces, sides="least")[0] == least
    assert form.extremes(pieces, sides="most")[1] == most
    assert form.extremes(pieces, sides="least")[1] == math.inf
    assert form.extremes(pieces, sides="most")[0] == -math.inf


def test_further_matrices_are_added_to_their_own_side_and_cost_exactness() -> None:
    model = model_of(sympy.sin(A) + sympy.sin(B))
    ridges = Interval(np.array([[-1.0, -1.0]]), np.array([[1.0, 1.0]]))
    pieces = Pieces(2, ridges, Interval(np.zeros((1, 0)), np.zeros((1, 0))))
    least, most = Form(model, "yy").extremes(pieces, np.diag([-2.0, -5.0]), np.diag([3.0, 0.0]))
    assert -6.0 > least[0] > -6.0 - 1e-12
    assert 4.0 < most[0] < 4.0 + 1e-12


def test_which_numbers_add_up_without_rounding() -> None:
    exact, rough = np.array([[1.0, 2.5, -0.015625]]), np.array([[1.0, 0.1, 2.0]])
    assert _tidy(exact)[0]
    assert not _tidy(rough)[0]
    assert not _tidy(np.array([[2e6]]))[0]
    assert not _tidy(np.array([[np.nan]]))[0]
    rows = np.array([[1.0, -3.0]])
    assert _dyadic(rows, exact, exact)[0]
    assert not _dyadic(rows, exact, rough)[0]
    assert not _dyadic(rows, rough, exact)[0]
    assert not _dyadic(np.array([[0.5, 1.0]]), exact, exact)[0]
    assert not _dyadic(np.array([[64.0, 1.0]]), exact, exact)[0]


# ---- blocks ----------------------------------------------------------------------------------------------------------


def test_equal_blocks_are_not_confused() -> None:
    """dx = dy = 2, and a mixed block that is not symmetric."""
    a, b, c, d = names = sympy.symbols("a b c d", real=True)
    model = Model(structure_of(5 * a * d + b * c + sympy.sin(a), names), (True, True, False, False))
    pieces = at(model, 2, [0.0] * 4)
    np.testing.assert_array_equal(Form(model, "xy").matrix(pieces), [[[0.0, 5.0], [1.0, 0.0]]])
    np.testing.assert_array_equal(Form(model, "yx").matrix(pieces), [[[0.0, 1.0], [5.0, 0.0]]])
    for slots in ("xy", "yx"):
        assert 5.0 <= float(Form(model, slots).upper(pieces)[0]) < 5.01
    assert float(Form(model, "xx").upper(pieces)[0]) < 1e-300
    assert float(Form(model, "yy").upper(pieces)[0]) < 1e-300


def test_an_empty_block_has_no_derivative() -> None:
    model = model_of(A**2 + B**2 + sympy.sin(A + B))
    pieces = at(model, 2, [0.0, 0.0])
    for slots in ("xx", "xy", "zx"):
        assert Form(model, slots).upper(pieces).tolist() == [0.0]
        assert Form(model, slots).lower(pieces).tolist() == [0.0]


def test_gradient_entries_are_in_the_order_of_the_variables() -> None:
    model = Model(structure_of(2 * A + 3 * B + 5 * C, VARIABLES), (True, False, False))
    pieces = at(model, 1, [0.0] * 3)
    assert gradient_entries(pieces, 3).lo.tolist() == [[2.0, 3.0, 5.0]]
    assert math.sqrt(34) <= float(Form(model, "y").upper(pieces)[0]) <= math.sqrt(34) * (1 + 1e-5)
    assert 2.0 <= float(Form(model, "x").upper(pieces)[0]) <= 2.0 + 1e-11


def test_a_gradient_is_the_smaller_of_two_bounds_and_covers_its_corners() -> None:
    model = model_of(sympy.sin(A + 2 * B) + sympy.cos(2 * A - B) * 3)
    pieces = over(model, 1, [-9.0, -9.0], [9.0, 9.0])
    grid = np.random.default_rng(1).uniform(-9, 9, size=(4000, 2))
    values = model.evaluate(1, grid, grid)
    attained = float(Form(model, "y")._gradient(values).max())
    upper = float(Form(model, "y").upper(pieces)[0])
    assert attained * 0.999 <= upper <= math.sqrt(5 * (1 + 9)) * 1.05


@pytest.mark.parametrize("slots", ["zz", "zzz", "xy", "xyy", "zzzz", "xxyy"])
def test_nets_matrices_and_attained_values_agree(slots: str) -> None:
    expression = A**3 * B / 6 + A**2 * B**2 / 4 + sympy.sin(A + 2 * B) - sympy.cos(3 * A - B) + A * B
    model = model_of(expression, (True, False))
    point = [0.3, -0.7]
    pieces = at(model, len(slots), point)
    form = Form(model, slots)
    low, high = float(form.lower(pieces)[0]), float(form.upper(pieces)[0])
    assert low * (1 - 1e-9) <= high <= low * 1.02 + 1e-12
    form.net = None
    assert float(form.upper(pieces)[0]) >= low * (1 - 1e-9)
    t = sympy.symbols("t0:4", real=True)
    names = {"x": (A,), "y": (B,), "z": (A, B)}
    value = _best_of_directions(expression, [names[s] for s in slots], point, t)
    assert value * (1 - 1e-9) <= high


def _best_of_directions(
    expression: sympy.Expr, blocks: list[tuple[sympy.Symbol, ...]], point: list[float], t: object
) -> float:
    """Largest |D^k h[v1, ..., vk]| over a few directions, from SymPy's derivatives."""
    k = len(blocks)
    tensor = {}
    for place in itertools.product((0, 1), repeat=k):
        names = [VARIABLES[i] for i in place]
        tensor[place] = float(sympy.diff(expression, *names).subs({A: point[0], B: point[1]}))
    best = 0.0
    for angle in np.linspace(0, np.pi, 61):
        vectors = [
            [float(s in block) for s in (A, B)] if len(block) == 1 else [math.cos(angle), math.sin(angle)]
            for block in blocks
        ]
        best = max(
            best, abs(sum(v * math.prod(vectors[s][i] for s, i in enumerate(place)) for place, v in tensor.items()))
        )
    return best


def test_a_derivative_that_is_not_known_at_a_point_is_not_attained() -> None:
    model = model_of(sympy.sqrt(A) * B)
    pieces = model.evaluate(2, np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 1.0]]))
    assert defined(pieces).tolist() == [False, True]
    form = Form(model, "yy")
    assert form.lower(pieces)[0] == -math.inf
    assert math.isfinite(form.lower(pieces)[1])
    assert form.least_eigenvalue(pieces)[0] == math.inf
    wide = Pieces(2, Interval(np.zeros((1, 1)), np.ones((1, 1))), Interval(np.zeros((1, 0)), np.zeros((1, 0))))
    assert not defined(wide)[0]


def test_balls_agree_with_floats_on_a_known_matrix() -> None:
    """The oracle of this file itself: eigenvalues of [[2, 1], [1, 2]]."""
    low, high = exact_extremes([[Fraction(2), Fraction(1)], [Fraction(1), Fraction(2)]])
    assert (float(low), float(high)) == (1.0, 3.0)
    assert arb_mat([[2, 1], [1, 2]]).det().contains(3)


def test_a_block_that_no_ridge_touches_has_no_derivative() -> None:
    model = Model(structure_of(normalise(sympy.sin(A)), VARIABLES), (True, False, False))
    form = Form(model, "yyy")
    assert form.upper(at(model, 3, [1.0, 2.0, 3.0])).tolist() == [0.0]
    assert form._basis("y").shape == (1, 3)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_the_tensor_at_a_point_is_that_of_the_derivatives(order: int) -> None:
    expression = A**3 * B * C + 2 * A * B**2 + 3 * A * C + sympy.sin(A + 2 * B) + sympy.cos(B - C)
    model = Model(structure_of(normalise(expression), VARIABLES), (True, False, False))
    place = {A: 0.5, B: -1.0, C: 2.0}
    found = centre_tensor(model, at(model, order, list(place.values())))
    assert found.shape == (1, *[3] * order)
    for index in itertools.product(range(3), repeat=order):
        exact = float(sympy.diff(expression, *[VARIABLES[i] for i in index]).subs(place))
        assert found[(0, *index)] == pytest.approx(exact, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("slots", "norm"), [("zzz", 4.0), ("xxx", 3.0), ("xxy", 2.0)])
def test_the_ascent_reaches_and_does_not_pass_the_norm(slots: str, norm: float) -> None:
    """Diagonal cubes and one mixed term: the norms of the forms are known."""
    names = sympy.symbols("a:5", real=True)
    half, sixth = sympy.Rational(1, 2), sympy.Rational(1, 6)
    expression = names[0] ** 3 * half + names[1] ** 3 * sixth + names[0] ** 2 * names[4]
    if slots == "zzz":
        expression = names[0] ** 3 * 4 * sixth + names[4] ** 3 * sixth
    structure = replace(structure_of(sympy.Integer(0), names), rest=expression, groups=(tuple(range(5)),))
    model = Model(structure, (True, True, True, True, False))
    form = Form(model, slots)
    assert form.net is None
    pieces = at(model, 3, [0.0] * 5)
    found = float(ascended(form.model, form.slots, pieces)[0])
    assert found <= norm * (1 + 1e-9)
    assert found >= norm * (1 - 1e-6)
    assert found <= float(form.upper(pieces)[0]) * (1 + 1e-9) + 1e-12


def test_vectors_are_made_unit_and_zero_stays_zero() -> None:
    found = _unit(np.array([[3.0, 4.0], [0.0, 0.0]]))
    np.testing.assert_allclose(found, [[0.6, 0.8], [0.0, 0.0]])
