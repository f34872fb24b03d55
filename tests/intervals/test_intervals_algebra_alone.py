"""Eigenvalues, norms, programs on intervals and jets: each bound alone against 60 digits, without slack."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import mpmath
import numpy as np
import pytest
import sympy
from intervals_exact import rational
from intervals_tensors import tensor_of

from bilevel_verify.atoms import logsumexp
from bilevel_verify.intervals import INTERVALS, linalg
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.jet_arithmetic import JetArithmetic, softmax_ranges, value_of_logsumexp
from bilevel_verify.intervals.jets import coefficients_of, jet_space
from bilevel_verify.numbers.balls import ArbBalls
from bilevel_verify.numbers.rounding import enclose, floats_of
from bilevel_verify.symbolic.graph import Graph
from bilevel_verify.symbolic.program import finish, program_of

pytestmark = pytest.mark.fast
INF = math.inf
x, y, z = sympy.symbols("x y z", real=True)

BALLS = ArbBalls()


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(50):
        yield


def spectrum(matrix):
    values = sorted(
        mpmath.eigsy(mpmath.matrix([[mpmath.mpf(float(v)) for v in row] for row in matrix]), eigvals_only=True)
    )
    return values[0], values[-1]


def symmetric(seed, count, n, scale=1.0):
    a = np.random.default_rng(seed).normal(size=(count, n, n)) * scale
    return np.triu(a) + np.triu(a, 1).swapaxes(1, 2)


# --- eigenvalues


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_eigenvalues_of_floats(n):
    batch = np.concatenate(
        [symmetric(n, 12, n), np.zeros((1, n, n)), np.eye(n)[None] * -3.0, symmetric(50 + n, 2, n, 1e9)]
    )
    low, high = linalg.eigenvalue_range(batch, batch)
    for k, matrix in enumerate(batch):
        least, most = spectrum(matrix) if n > 1 else (mpmath.mpf(float(matrix[0, 0])),) * 2
        size = float(np.abs(matrix).max())
        assert mpmath.mpf(float(low[k])) <= least
        assert mpmath.mpf(float(high[k])) >= most
        assert float(least) - low[k] <= 2e-14 * n * n * size + 1e-290
        assert high[k] - float(most) <= 2e-14 * n * n * size + 1e-290


def test_two_by_two_interval_matrices_take_the_larger_coupling():
    low = np.array(
        [[[1.0, -3.0], [-3.0, 2.0]], [[1.0, -0.5], [-0.5, 2.0]], [[1.0, 0.0], [0.0, -2.0]], [[0.1, 0.3], [0.3, 0.1]]]
    )
    high = np.array(
        [[[4.0, 1.0], [1.0, 2.5]], [[4.0, 2.0], [2.0, 2.5]], [[4.0, 0.0], [0.0, 5.0]], [[0.1, 0.3], [0.3, 0.1]]]
    )
    least, most = linalg.eigenvalue_range(low, high)
    for k in range(4):
        ends = [
            spectrum([[a, b], [b, d]])
            for a in (low[k, 0, 0], high[k, 0, 0])
            for d in (low[k, 1, 1], high[k, 1, 1])
            for b in (low[k, 0, 1], high[k, 0, 1])
        ]
        assert mpmath.mpf(float(least[k])) <= min(e[0] for e in ends)
        assert mpmath.mpf(float(most[k])) >= max(e[1] for e in ends)
        assert float(min(e[0] for e in ends)) - least[k] < 1e-14
        assert most[k] - float(max(e[1] for e in ends)) < 1e-14
    assert (least[2], most[2]) == (-2.0, 5.0)


@pytest.mark.parametrize(("n", "sharp"), [(3, 1e-13), (4, 1e-13), (5, None)])
def test_interval_matrices_hold_their_extreme_members(n, sharp):
    centre, radius = (
        symmetric(n, 4, n),
        np.abs(symmetric(n + 20, 4, n)) * np.array([0.5, 1e-3, 1e-8, 0.0])[:, None, None],
    )
    low, high = centre - radius, centre + radius
    least, most = linalg.eigenvalue_range(low, high)
    signs = [np.array((1.0, *s)) for s in product((1.0, -1.0), repeat=n - 1)]
    for k in range(4):
        picks = (
            signs
            if n <= 4
            else signs[:: max(1, len(signs) // 3)] + [np.sign(np.linalg.eigh(centre[k])[1][:, -1] + 1e-300)]
        )
        tops, bottoms = [], []
        for s in picks:
            pattern = np.outer(s, s)
            tops.append(spectrum(np.where(pattern > 0, high[k], low[k]))[1])
            bottoms.append(spectrum(np.where(pattern > 0, low[k], high[k]))[0])
        assert mpmath.mpf(float(most[k])) >= max(tops)
        assert mpmath.mpf(float(least[k])) <= min(bottoms)
        if sharp:
            assert most[k] - float(max(tops)) < sharp
            assert float(min(bottoms)) - least[k] < sharp
        else:
            spread = float(radius[k].sum(axis=1).max())
            assert most[k] <= np.linalg.eigvalsh(centre[k])[-1] + spread + 1e-12
            assert least[k] >= np.linalg.eigvalsh(centre[k])[0] - spread - 1e-12


def test_a_small_radius_costs_what_it_must():
    centre = np.diag(np.arange(6.0)) + 0.01 * symmetric(3, 1, 6)
    radius = np.full((1, 6, 6), 1e-4)
    least, most = linalg.eigenvalue_range(centre - radius, centre + radius)
    vectors = np.linalg.eigh(centre[0])[1]
    for found, k, sign in ((most, -1, 1), (least, 0, -1)):
        exact = np.linalg.eigvalsh(centre[0])[k] + sign * 1e-4 * np.abs(vectors[:, k]).sum() ** 2
        assert sign * (found[0] - exact) <= 2e-7


def test_one_side_only_may_be_asked_for():
    centre, radius = symmetric(5, 2, 3), np.abs(symmetric(6, 2, 3))
    low, high = centre - radius, centre + radius
    both = linalg.eigenvalue_range(low, high)
    least = linalg.eigenvalue_range(low, high, "least")
    most = linalg.eigenvalue_range(low, high, "most")
    assert (least[0] == both[0]).all()
    assert (most[1] == both[1]).all()
    assert (least[1] == INF).all()
    assert (most[0] == -INF).all()


@pytest.mark.parametrize("n", [2, 3, 5])
def test_infinite_entries_row_by_row(n):
    low = np.tile(np.eye(n), (5, 1, 1))
    high = low + 0.1 * np.ones((n, n))
    high[1, 0, 0] = INF
    low[2, 1, 1] = -INF
    high[3, 0, 1] = high[3, 1, 0] = INF
    low[4, 0, 1] = low[4, 1, 0] = -INF
    least, most = linalg.eigenvalue_range(low, high)
    assert np.isfinite([least[0], most[0], least[1], most[2]]).all()
    assert most[1] == INF
    assert least[2] == -INF
    assert least[3] == least[4] == -INF
    assert most[3] == most[4] == INF
    assert least[1] == pytest.approx(least[0], abs=0.2)
    assert most[2] == pytest.approx(most[0], abs=0.2)
    sampled = [
        np.linalg.eigvalsh(np.where(np.random.default_rng(k).random((n, n)) > 0.5, low[0], high[0]).T) for k in range(3)
    ]
    assert all(least[1] <= s[0] + 1e-12 for s in sampled)


def test_empty_matrices():
    least, most = linalg.eigenvalue_range(np.zeros((3, 0, 0)), np.zeros((3, 0, 0)))
    assert least.tolist() == [INF] * 3
    assert most.tolist() == [-INF] * 3
    assert linalg.spectral_norm(np.zeros((2, 0, 3)), np.zeros((2, 0, 3))).tolist() == [0.0, 0.0]
    assert linalg.spectral_norm(np.zeros((2, 3, 0)), np.zeros((2, 3, 0))).tolist() == [0.0, 0.0]
    assert linalg.symmetric_norm(np.zeros((2, 0, 0)), np.zeros((2, 0, 0))).tolist() == [0.0, 0.0]


def test_a_basis_that_is_not_quite_orthogonal_is_paid_for():
    bottom, top = np.array([-2.0, 1.0, -2.0, -5.0]), np.array([3.0, 4.0, -1.0, 7.0])
    least, most = linalg._undo_congruence(bottom, top, np.array([0.1, 0.1, 0.1, 0.5]))
    e = Fraction(0.1)
    assert rational(most[0]) >= 3 / (1 - e)
    assert rational(most[1]) >= 4 / (1 - e)
    assert rational(most[2]) >= -1 / (1 + e)
    assert rational(least[0]) <= -2 / (1 - e)
    assert rational(least[1]) <= 1 / (1 + e)
    assert rational(least[2]) <= -2 / (1 - e)
    assert most[:3] == pytest.approx([3 / 0.9, 4 / 0.9, -1 / 1.1], rel=1e-14)
    assert least[:3] == pytest.approx([-2 / 0.9, 1 / 1.1, -2 / 0.9], rel=1e-14)
    assert (least[3], most[3]) == (-INF, INF)


def test_quick_algebra_is_a_block():
    a = symmetric(9, 3, 4)
    exact = linalg.point_eigenvalues(a)
    with linalg.quick_algebra():
        quick = linalg.point_eigenvalues(a)
    assert (linalg.point_eigenvalues(a)[0] == exact[0]).all()
    for k in range(3):
        least, most = spectrum(a[k])
        assert quick[0][k] <= float(least) <= float(most) <= quick[1][k]
        assert quick[1][k] - float(most) < 1e-12
    assert not (quick[0] == exact[0]).all()


def test_error_factors():
    for k in (1, 5, 100, 2**50):
        exact = k * Fraction(1, 2**53) / (1 - k * Fraction(1, 2**53))
        assert exact <= Fraction(linalg.gamma(k)) <= exact * Fraction(102, 100)


# --- norms


def test_norms_of_vectors_and_matrices():
    generator = np.random.default_rng(11)
    v = generator.normal(size=(6, 5))
    v[0] = [0, 0, -3.0, 0, 0]
    v[1] = 0
    spread = np.abs(generator.normal(size=(6, 5))) * np.array([0, 0, 0, 1e-9, 1, 2])[:, None]
    found = linalg.vector_norm(Interval(v - spread, v + spread))
    for k in range(6):
        largest = [
            max(abs(mpmath.mpf(float(a))), abs(mpmath.mpf(float(b)))) for a, b in zip((v - spread)[k], (v + spread)[k])
        ]
        exact = mpmath.sqrt(mpmath.fsum(t * t for t in largest))
        assert mpmath.mpf(float(found[k])) >= exact
        assert found[k] <= float(exact) * (1 + 1e-14) + 1e-145
    assert found[0] == 3.0
    assert found[1] == 0.0
    for shape in ((1, 4), (4, 1), (2, 3), (3, 2)):
        a = generator.normal(size=(3, *shape))
        norm = linalg.spectral_norm(a, a)
        for k in range(3):
            m = mpmath.matrix(a[k].tolist())
            exact = mpmath.sqrt(max(mpmath.eigsy(m.T * m, eigvals_only=True)))
            assert mpmath.mpf(float(norm[k])) >= exact
            assert norm[k] <= float(exact) * (1 + 1e-12)
    a = symmetric(12, 4, 3)
    for matrix, norm in zip(a, linalg.symmetric_norm(a, a)):
        exact = max(abs(t) for t in spectrum(matrix))
        assert float(exact) * (1 + 1e-12) >= norm >= exact
    negative = -np.eye(3)[None] * 2
    assert linalg.symmetric_norm(negative, negative) == pytest.approx([2.0])


def test_perron_bounds():
    a = np.abs(symmetric(13, 5, 4))
    a[0] = 0
    a[1] = np.diag([1.0, 5.0, 2.0, 0.0])
    a[2] = np.ones((4, 4))
    found = linalg.perron_upper(a)
    for k in range(5):
        exact = max(abs(t) for t in spectrum(a[k]))
        assert mpmath.mpf(float(found[k])) >= exact
        assert found[k] <= float(exact) * 1.05 + 1e-8
    assert linalg.perron_upper(np.zeros((1, 3, 3)))[0] < 1e-290


@pytest.mark.parametrize("n", [1, 2, 3])
def test_norms_of_tensors(n):
    generator = np.random.default_rng(14 + n)
    u = generator.normal(size=n)
    u /= np.linalg.norm(u)
    cubic, quartic = np.einsum("i,j,k->ijk", u, u, u) * -2.5, np.einsum("i,j,k,l->ijkl", u, u, u, u) * -2.5
    third, fourth = linalg.cubic_norm(cubic[None]), linalg.quartic_norm(quartic[None])
    exact = 2.5 * float(np.linalg.norm(u)) ** 3
    assert exact * (1 - 1e-15) <= third[0] <= exact * (1 + (1e-12 if n == 1 else 1e-6))
    assert exact * (1 - 1e-15) <= fourth[0] <= exact * (1 + 1e-12)
    a = generator.normal(size=(3, n, n, n))
    a = (
        sum(
            a.transpose(0, *(1 + np.array(p)))
            for p in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
        )
        / 6
    )
    found = linalg.cubic_norm(a)
    directions = generator.normal(size=(3000, n))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    reached = np.abs(np.einsum("bijk,di,dj,dk->bd", a, directions, directions, directions)).max(axis=1)
    assert (found >= reached).all()
    assert (found <= reached * 1.35).all()


def test_bases_and_nets():
    for n in (1, 2, 4):
        basis = linalg.symmetric_basis(n)
        assert basis.shape == (n * (n + 1) // 2, n, n)
        assert np.allclose(np.einsum("pij,qij->pq", basis, basis), np.eye(len(basis)), atol=1e-15)
        assert (basis == basis.swapaxes(1, 2)).all()
    assert linalg.sphere_net(1, 9) == (pytest.approx(np.ones((1, 1))), 0.0)
    for n, size in ((2, 7), (3, 40), (4, 60)):
        net, angle = linalg.sphere_net(n, size)
        assert np.allclose(np.linalg.norm(net, axis=1), 1)
        points = np.random.default_rng(n).normal(size=(4000, n))
        points = np.concatenate([points, np.array(list(product((-1.0, 1.0), repeat=n)))])
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        nearest = np.arccos(np.clip(np.abs(points @ net.T).max(axis=1), 0, 1))
        assert nearest.max() <= angle
        assert angle <= (1.6 if n > 2 else 1.02) * nearest.max()
        assert size / 3 <= len(net) <= 4 * size


# --- programs on intervals and balls


def test_interval_arithmetic_of_programs():
    a, b = Interval.of([-1.5, 0.5, 2.0], [-0.5, 2.5, 2.0]), Interval.of([-1.0, 1.0, 2.0], [0.5, 3.0, 2.0])
    assert INTERVALS.maximum(a, b).lo.tolist() == [-1.0, 1.0, 2.0]
    assert INTERVALS.maximum(a, b).hi.tolist() == [0.5, 3.0, 2.0]
    assert INTERVALS.minimum(a, b).lo.tolist() == [-1.5, 0.5, 2.0]
    assert INTERVALS.minimum(a, b).hi.tolist() == [-0.5, 2.5, 2.0]
    assert INTERVALS.maximum(b, a).lo.tolist() == [-1.0, 1.0, 2.0]
    assert INTERVALS.maximum(b, a).hi.tolist() == [0.5, 3.0, 2.0]
    assert INTERVALS.minimum(b, a).lo.tolist() == [-1.5, 0.5, 2.0]
    assert INTERVALS.minimum(b, a).hi.tolist() == [-0.5, 2.5, 2.0]
    assert INTERVALS.floor(a).lo.tolist() == [-2.0, 0.0, 2.0]
    assert INTERVALS.floor(a).hi.tolist() == [-1.0, 2.0, 2.0]
    assert INTERVALS.ceil(a).lo.tolist() == [-1.0, 1.0, 2.0]
    assert INTERVALS.ceil(a).hi.tolist() == [0.0, 3.0, 2.0]
    assert INTERVALS.sign(b).lo.tolist() == [-1.0, 1.0, 1.0]
    assert INTERVALS.sign(b).hi.tolist() == [1.0, 1.0, 1.0]
    assert INTERVALS.absolute(b).lo.tolist() == [0.0, 1.0, 2.0]
    assert INTERVALS.mul(b, b).lo[0] == 0.0
    assert INTERVALS.mul(b, Interval(b.lo, b.hi)).lo[0] < 0
    assert INTERVALS.neg(a).hi.tolist() == [1.5, -0.5, -2.0]
    quotient = INTERVALS.div(a, Interval.of([2.0, 2.0, 2.0], [4.0, 4.0, 4.0]))
    assert quotient.lo == pytest.approx([-0.75, 0.125, 0.5])
    assert quotient.hi == pytest.approx([-0.125, 1.25, 1.0])
    assert INTERVALS.power(a, Fraction(2)).lo == pytest.approx([0.25, 0.25, 4.0])
    assert INTERVALS.atom("abspow", 1, a, (Fraction(2),)).hi == pytest.approx([-1.0, 5.0, 4.0])
    third = INTERVALS.constant(Fraction(1, 3))
    assert rational(third.lo) < Fraction(1, 3) < rational(third.hi)


RELATIONS = [  # a, b, then (surely true, surely false) of lt, le, eq
    ((0, 1), (2, 3), (1, 0), (1, 0), (0, 1)),
    ((2, 3), (0, 1), (0, 1), (0, 1), (0, 1)),
    ((0, 1), (1, 2), (0, 0), (1, 0), (0, 0)),
    ((1, 2), (0, 1), (0, 1), (0, 0), (0, 0)),
    ((0, 2), (1, 3), (0, 0), (0, 0), (0, 0)),
    ((1, 3), (0, 2), (0, 0), (0, 0), (0, 0)),  # overlapping from either side, one inside of the other
    ((0, 5), (1, 2), (0, 0), (0, 0), (0, 0)),
    ((1, 2), (0, 5), (0, 0), (0, 0), (0, 0)),
    ((1, 1), (1, 1), (0, 1), (1, 0), (1, 0)),
    ((1, 1), (1, 2), (0, 0), (1, 0), (0, 0)),
    ((1, 2), (1, 1), (0, 1), (0, 0), (0, 0)),
    ((1, 1), (0, 1), (0, 1), (0, 0), (0, 0)),
]


def test_relations_of_intervals_have_three_answers():
    a = Interval.of([r[0][0] for r in RELATIONS], [r[0][1] for r in RELATIONS])
    b = Interval.of([r[1][0] for r in RELATIONS], [r[1][1] for r in RELATIONS])
    jets = JetArithmetic(1, 1)
    for place, op in enumerate(("lt", "le", "eq"), 2):
        true, false = INTERVALS.compare(op, a, b)
        assert true.tolist() == [bool(r[place][0]) for r in RELATIONS]
        assert false.tolist() == [bool(r[place][1]) for r in RELATIONS]
        true, false = jets.compare(op, *[jets.variables(t.lo[:, None], t.hi[:, None])[0] for t in (a, b)])
        for k, r in enumerate(RELATIONS):  # differences are rounded: what touches may stay open, never the reverse
            assert not true[k] or r[place][0]
            assert not false[k] or r[place][1]
        assert (true[0], false[1]) == ((op != "eq"), True)
        assert bool(false[0]) == (op == "eq")


def test_truth_values_with_three_answers():
    yes, no, open_ = (
        (np.array(True), np.array(False)),
        (np.array(False), np.array(True)),
        (np.array(False), np.array(False)),
    )
    names = {(True, False): "yes", (False, True): "no", (False, False): "open"}

    def said(pair):
        return names[bool(np.ravel(pair[0])[0]), bool(np.ravel(pair[1])[0])]

    for arithmetic in (INTERVALS, JetArithmetic(1, 1)):
        words = {"yes": yes, "no": no, "open": open_}
        for p, q in product(words, repeat=2):
            both = said(arithmetic.logical("and", [words[p], words[q]]))
            either = said(arithmetic.logical("or", [words[p], words[q]]))
            assert both == ("no" if "no" in (p, q) else "yes" if p == q == "yes" else "open")
            assert either == ("yes" if "yes" in (p, q) else "no" if p == q == "no" else "open")
        assert [said(arithmetic.logical("not", [words[p]])) for p in ("yes", "no", "open")] == ["no", "yes", "open"]
        assert said(arithmetic.logical("true", [])) == "yes"
        assert said(arithmetic.logical("false", [])) == "no"
        three = arithmetic.logical("and", [yes, yes, no])
        assert said(three) == "no"


def test_branches_follow_the_three_answers_row_by_row():
    test = np.array([True, False, False]), np.array([False, True, False])
    one, two = Interval.of([1.0, 1.0, 1.0], [2.0, 2.0, 2.0]), Interval.of([5.0, 5.0, 5.0], [6.0, 6.0, 6.0])
    found = INTERVALS.select(test, one, two)
    assert found.lo.tolist() == [1.0, 5.0, 1.0]
    assert found.hi.tolist() == [2.0, 6.0, 6.0]
    jets = JetArithmetic(1, 2)
    u = jets.variables(np.array([[0.0], [0.0], [0.0]]), np.array([[1.0], [1.0], [1.0]]))[0]
    chosen = jets.select(test, u, jets.mul(u, u))
    slopes = coefficients_of(chosen, 1)
    assert (slopes.lo[0, 0], slopes.hi[0, 0]) == (1.0, 1.0)
    assert slopes.lo[0, 1] == pytest.approx(0.0, abs=1e-300)
    assert slopes.hi[0, 1] == pytest.approx(2.0)
    assert slopes.hi[0, 2] == pytest.approx(2.0)
    bends = coefficients_of(chosen, 2)
    assert (bends.hi[0, 0], bends.lo[0, 2]) == (0.0, 0.0)
    assert bends.hi[0, 2] == pytest.approx(2.0)


def test_maximum_of_jets_is_unknown_beyond_first_order_only_where_the_branch_is_open():
    jets = JetArithmetic(1, 2)
    lo, hi = np.array([[-2.0], [-0.5], [1.5]]), np.array([[-1.0], [0.5], [2.0]])
    u = jets.variables(lo, hi)[0]
    for op, slopes in (("maximum", [(0, 0), (0, 1), (1, 1)]), ("minimum", [(1, 1), (0, 1), (0, 0)])):
        found = getattr(jets, op)(u, jets.constant(Fraction(0)))
        first, second = coefficients_of(found, 1), coefficients_of(found, 2)
        assert list(zip(first.lo[0].tolist(), first.hi[0].tolist())) == slopes
        assert second.lo[0].tolist() == [0.0, -INF, 0.0]
        assert second.hi[0].tolist() == [0.0, INF, 0.0]
        squares = getattr(jets, op)(jets.mul(u, u), u)
        second = coefficients_of(squares, 2)
        assert second.hi[0, 1] == INF
        values = squares.constant_term()
        grid = [[t * t for t in row] + list(row) for row in np.linspace(lo[:, 0], hi[:, 0], 50).T]
        assert all(values.lo[k] <= min(g) or op == "maximum" for k, g in enumerate(grid))
        assert all(values.hi[k] >= max(g) or op == "minimum" for k, g in enumerate(grid))


def test_balls_of_programs():
    import flint

    a, b = flint.arb(2), flint.arb(3)
    assert floats_of(BALLS.sign(a)) == pytest.approx((1, 1))
    assert floats_of(BALLS.sign(flint.arb(0, 1))) == pytest.approx((-1, 1))
    assert floats_of(BALLS.absolute(-a)) == (2, 2)
    low, high = floats_of(BALLS.absolute(flint.arb(0.5, 1)))
    assert low <= 0
    assert 1.5 <= high <= 1.51
    assert floats_of(BALLS.maximum(a, b)) == (3, 3)
    assert floats_of(BALLS.minimum(a, b)) == (2, 2)
    assert floats_of(BALLS.floor(flint.arb(2.5))) == (2, 2)
    assert floats_of(BALLS.ceil(flint.arb(2.5))) == (3, 3)
    assert floats_of(BALLS.power(a, Fraction(5))) == (32, 32)
    assert BALLS.power(a, Fraction(0)) == 1
    assert floats_of(BALLS.power(-b, Fraction(3))) == (-27, -27)
    root = floats_of(BALLS.power(a, Fraction(1, 2)))
    assert Fraction(root[0]) ** 2 < 2 < Fraction(root[1]) ** 2
    assert floats_of(BALLS.power(flint.arb(0.5, 1), Fraction(1, 2))) == (-math.inf, math.inf)
    square = floats_of(BALLS.power(flint.arb(0, 1), Fraction(2)))
    assert square[0] <= 0
    assert square[1] >= 1
    for name, order, function in [
        ("sin", 0, mpmath.sin), ("sin", 1, mpmath.cos), ("sin", 2, lambda t: -mpmath.sin(t)),
        ("sin", 3, lambda t: -mpmath.cos(t)),
        ("cos", 0, mpmath.cos), ("cos", 1, lambda t: -mpmath.sin(t)), ("cos", 3, mpmath.sin), ("exp", 2, mpmath.exp),
        ("sinh", 0, mpmath.sinh), ("cosh", 0, mpmath.cosh), ("tanh", 0, mpmath.tanh), ("asinh", 0, mpmath.asinh),
        ("atan", 0, mpmath.atan), ("erf", 0, mpmath.erf), ("log", 0, mpmath.log), ("log", 1, lambda t: 1 / t),
        ("tanh", 1, lambda t: mpmath.sech(t) ** 2), ("sinh", 1, mpmath.cosh),
    ]:  # fmt: skip
        for t, radius in ((0.7, 0.0), (0.7, 0.2)):
            low, high = floats_of(BALLS.atom(name, order, flint.arb(t, radius), ()))
            values = [rational(function(mpmath.mpf(t) + mpmath.mpf(radius) * s)) for s in (-1, 0, 1)]
            assert rational(low) <= min(values)
            assert rational(high) >= max(values)
            assert high - low <= 1e-13 + 4 * radius * 2
    assert floats_of(BALLS.atom("log", 1, flint.arb(0, 1), ())) == (-math.inf, math.inf)
    assert BALLS.compare("lt", a, b) is True
    assert BALLS.compare("lt", b, a) is False
    assert BALLS.compare("lt", a, a) is False
    assert BALLS.compare("le", a, a) is True
    assert BALLS.compare("le", b, a) is False
    assert BALLS.compare("eq", a, a) is True
    assert BALLS.compare("eq", a, b) is False
    open_ = flint.arb(2, 2)
    for op in ("lt", "le", "eq"):
        assert BALLS.compare(op, open_, b) is None
    assert floats_of(BALLS.select(True, a, b)) == (2, 2)
    assert floats_of(BALLS.select(False, a, b)) == (3, 3)
    low, high = floats_of(BALLS.select(None, a, b))
    assert low <= 2 < 3 <= high
    low, high = floats_of(BALLS.logsumexp([flint.arb(800), flint.arb(0), flint.arb(801)]))
    exact = rational(801 + mpmath.log1p(mpmath.exp(-1) + mpmath.exp(-801)))
    assert rational(low) <= exact <= rational(high)
    assert high - low < 1e-12


def test_constants_of_programs():
    for value in (Fraction(1, 3), 7, 0.1, sympy.pi, sympy.sqrt(2)):
        low, high = enclose(value)
        exact = (
            rational(sympy.N(sympy.nsimplify(value), 60)._to_mpmath(220))
            if isinstance(value, sympy.Expr)
            else Fraction(value)
        )
        assert Fraction(low) <= exact <= Fraction(high)
        assert high - low <= 1e-15


@pytest.mark.parametrize("shift", [0.0, 800.0])
def test_logarithms_of_sums_of_exponentials_and_their_weights(shift):
    lo, hi = np.array([[0.3, -2.0], [0.1, 0.0], [-1.0, -1.0]]), np.array([[0.3, 1.0], [0.4, 0.0], [2.0, -0.5]])
    lo[0] += shift
    hi[0] += shift
    parts = [Interval(a, b) for a, b in zip(lo, hi)]
    value, weights = value_of_logsumexp(parts), softmax_ranges(parts)
    for box in range(2):
        ends = [
            rational(mpmath.log(mpmath.fsum(mpmath.exp(mpmath.mpf(float(t))) for t in side[:, box])))
            for side in (lo, hi)
        ]
        assert rational(value.lo[box]) <= ends[0]
        assert rational(value.hi[box]) >= ends[1]
        assert value.lo[box] == pytest.approx(float(ends[0]), rel=1e-13)
        assert value.hi[box] == pytest.approx(float(ends[1]), rel=1e-13)
        for i in range(3):
            for side, other, end in ((lo, hi, "lo"), (hi, lo, "hi")):
                total = mpmath.fsum(
                    mpmath.exp(mpmath.mpf(float(other[j, box])) - mpmath.mpf(float(side[i, box])))
                    for j in range(3)
                    if j != i
                )
                exact = rational(1 / (1 + total))
                found = getattr(weights[i], end)[box]
                assert rational(found) <= exact if end == "lo" else rational(found) >= exact
                assert found == pytest.approx(float(exact), rel=1e-12, abs=1e-300)


# --- jets


JETS = {
    "product": x * y * z + 3 * x,
    "square": (x + y * z) ** 2,
    "quotient": (1 + x * y) / (2 + z),
    "powers": sympy.sqrt(3 + x + y * z) + (2 + x) ** sympy.Rational(7, 3),
    "waves": sympy.sin(x * y - z) * sympy.exp(x),
    "logsumexp": logsumexp(x, 2 * y - z, y * z),
    "two": logsumexp(x, y),
    "kinks": sympy.Max(x, y - 3) + sympy.Abs(z + 4) * x + sympy.Min(y, z + 9) * y,
    "floor": sympy.floor(x + 9) * y + sympy.ceiling(z + 5) + sympy.sign(y - 7) * z,
    "pieces": sympy.Piecewise((x**3 * y, x < 5), (y, True)),
    "linear": 2 * x - y + 5,
}  # fmt: skip


@pytest.mark.parametrize("name", JETS)
def test_jets_at_points_against_differences(name):
    from bilevel_verify.numbers.floats import MPMATH

    program = program_of(JETS[name], [x, y, z])
    jets = JetArithmetic(3, 3)
    points = np.array([[0.3, -0.4, 0.6], [-0.7, 0.2, 0.9]])
    jet = program.run(jets, jets.variables(points, points))[0]
    for order in range(4):
        tensor = tensor_of(jet, order)
        rows = coefficients_of(jet, order)
        for places in combinations_with_replacement(range(3), order):
            for box, point in enumerate(points):
                orders = tuple(places.count(k) for k in range(3))
                exact = mpmath.diff(
                    lambda *t: program.run(MPMATH, list(t))[0], tuple(map(mpmath.mpf, point.tolist())), orders
                )
                at = (box if tensor.lo.shape[0] > 1 else 0, *places)
                room = mpmath.mpf(10) ** -14 if order else mpmath.mpf(0)
                assert mpmath.mpf(float(tensor.lo[at])) <= exact + room, (places, box)
                assert mpmath.mpf(float(tensor.hi[at])) >= exact - room, (places, box)
                assert tensor.hi[at] - tensor.lo[at] <= 3e-12, (places, box)
                if order:
                    turned = (at[0], *reversed(places))
                    assert tensor.lo[turned] == tensor.lo[at]
                column = box if rows.lo.shape[1] > 1 else 0
                row = jets.space.of_degree(order).index(jets.space.place[orders])
                assert (rows.lo[row, column], rows.hi[row, column]) == (tensor.lo[at], tensor.hi[at])


@pytest.mark.parametrize("name", ["product", "square", "quotient", "powers", "waves", "logsumexp", "two"])
def test_jets_on_boxes_hold_those_of_their_points_and_not_much_more(name):
    program = program_of(JETS[name], [x, y, z])
    jets = JetArithmetic(3, 2)
    lo, hi = np.array([[-0.4, 0.1, 0.2], [0.0, -0.3, 0.5]]), np.array([[-0.3, 0.3, 0.2], [0.2, 0.3, 0.6]])
    wide = program.run(jets, jets.variables(lo, hi))[0]
    generator = np.random.default_rng(17)
    for box in range(2):
        points = np.concatenate(
            [lo[box] + generator.random((30, 3)) * (hi[box] - lo[box]), list(product(*zip(lo[box], hi[box])))]
        )
        thin = program.run(jets, jets.variables(points, points))[0]
        for order in range(3):
            found, inner = tensor_of(wide, order), tensor_of(thin, order)
            at = box if found.lo.shape[0] > 1 else 0
            assert (found.lo[at] <= inner.hi.min(axis=0)).all()
            assert (found.hi[at] >= inner.lo.max(axis=0)).all()
            spread = inner.hi.max(axis=0) - inner.lo.min(axis=0)
            assert (found.hi[at] - found.lo[at] <= 4 * spread + 2.5).all()


def test_jets_of_order_zero_constants_and_supports():
    jets = JetArithmetic(2, 0)
    u, v = jets.variables(np.array([[1.0, 3.0]]), np.array([[2.0, 4.0]]))
    value = jets.mul(u, v).constant_term()
    assert value.lo[0] == pytest.approx(3.0)
    assert value.hi[0] == pytest.approx(8.0)
    assert value.lo[0] <= 3.0
    assert value.hi[0] >= 8.0
    zero = jets.constant(Fraction(0))
    assert zero.support == ()
    assert jets.add(zero, u) is u
    assert jets.add(u, zero) is u
    assert jets.mul(zero, u).support == ()
    assert jets.mul(zero, zero).support == ()
    assert zero.constant_term().lo.tolist() == [0.0]
    space = jet_space(3, 3)
    assert len(space.indices) == 20
    assert [len(space.of_degree(k)) for k in range(4)] == [1, 3, 6, 10]
    assert [space.factorial[space.place[i]] for i in ((3, 0, 0), (2, 1, 0), (1, 1, 1), (0, 0, 0))] == [6, 2, 1, 1]
    assert space.plan((0, 1), (0, 2)).support == (0, 1, 2, space.place[1, 1, 0])
    assert jet_space(2, 2).plan((3,), (1,)).support == ()


def test_steps_of_jets_are_unknown_where_they_jump():
    jets = JetArithmetic(1, 1)
    u = jets.variables(np.array([[0.2], [0.7]]), np.array([[0.8], [1.3]]))[0]
    for op, values in (("floor", [(0, 0), (0, 1)]), ("ceil", [(1, 1), (1, 2)])):
        found = getattr(jets, op)(u)
        value, slope = found.constant_term(), coefficients_of(found, 1)
        assert list(zip(value.lo.tolist(), value.hi.tolist())) == values
        assert slope.lo[0].tolist() == [0.0, -INF]
        assert slope.hi[0].tolist() == [0.0, INF]


def test_sums_of_many_products_are_rounded_outward():
    jets = JetArithmetic(1, 8)
    graph = Graph(("t",))
    t = graph.input_at(0)
    program = finish(
        graph, [graph.mul((graph.atom("exp", t), graph.atom("exp", graph.mul((graph.const(Fraction(1, 3)), t)))))], ()
    )
    point = np.array([[0.1]])
    jet = program.run(jets, jets.variables(point, point))[0]
    with mpmath.workdps(60):
        for order in range(9):
            rate = mpmath.mpf(4) / 3
            exact = rational(rate**order * mpmath.exp(rate * mpmath.mpf(0.1)))
            found = coefficients_of(jet, order)
            assert rational(found.lo[0, 0]) <= exact <= rational(found.hi[0, 0])
            assert found.hi[0, 0] - found.lo[0, 0] <= 1e-13 * float(exact)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_logarithms_of_sums_of_floats_leave_room_on_both_sides(count):
    """Without proved ends: both ends of the result against 50 digits, at points and over boxes."""
    rng = np.random.default_rng(count)
    low = rng.normal(size=(200, count)) * 10.0 ** rng.integers(-3, 3, (200, 1))
    for high in (low, low + rng.random((200, count))):
        found = INTERVALS.logsumexp([Interval(low[:, k], high[:, k]) for k in range(count)])
        for row in range(200):
            ends = [
                mpmath.log(mpmath.fsum(mpmath.exp(mpmath.mpf(float(t))) for t in side[row])) for side in (low, high)
            ]
            assert mpmath.mpf(float(found.lo[row])) <= ends[0] <= ends[1] <= mpmath.mpf(float(found.hi[row]))
            slack = 1e-12 * (1 + max(abs(float(e)) for e in ends))
            assert float(found.lo[row]) > float(ends[0]) - slack
            assert float(found.hi[row]) < float(ends[1]) + slack


@pytest.mark.parametrize(
    "exponent", [Fraction(1, 2), Fraction(3, 2), Fraction(1, 3), Fraction(-1, 2), Fraction(2), Fraction(-3)]
)
@pytest.mark.parametrize("ends", [(2.0, 3.0), (0.25, 4.0), (1e-3, 1e5)])
def test_powers_of_positive_intervals_are_those_of_their_ends(exponent, ends):
    found = INTERVALS.power(Interval(*map(np.array, ends)), exponent)
    power = mpmath.mpf(exponent.numerator) / exponent.denominator
    low, high = sorted(mpmath.mpf(end) ** power for end in ends)
    assert mpmath.mpf(float(found.lo)) <= low
    assert high <= mpmath.mpf(float(found.hi))
    assert float(found.lo) > float(low) * (1 - 1e-13)
    assert float(found.hi) < float(high) * (1 + 1e-13)
