"""Forms by nets, line by line against naive loops: values, sizes, covering, infinite coefficients, what is attained."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

from bilevel_verify.constants.calculus import forms
from bilevel_verify.constants.calculus.forms import (
    Form,
    Net,
    _finite,
    defined,
)
from bilevel_verify.constants.formula.model import Model, Pieces
from bilevel_verify.constants.formula.structure import normalise, structure_of
from bilevel_verify.intervals import linalg
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.jets import jet_space

pytestmark = pytest.mark.fast

INF = math.inf
A, B, C, D = NAMES = sympy.symbols("a b c d", real=True)


def model_of(expression: Any, is_x: tuple[bool, ...] = (False, False)) -> Model:
    return Model(structure_of(normalise(sympy.sympify(expression)), NAMES[: len(is_x)]), is_x)


MIXED = A**3 * B + sin(A / 3 + B / 5) + 2 * cos(A - 2 * B)  # a rest and two ridges, one of them short
RIDGES = sin(A / 3 + B / 5) + 2 * cos(A - 2 * B)


def interval(low: Any, high: Any = None) -> Interval:
    return Interval(np.array(low, dtype=float), np.array(low if high is None else high, dtype=float))


def random_pieces(model: Model, k: int, boxes: int = 3, seed: int = 0, width: float = 0.5) -> Pieces:
    """Coefficients in intervals of some width, no short numbers."""
    rng = np.random.default_rng(seed)
    count = len(jet_space(model.n, k).of_degree(k))
    parts = []
    for columns in (len(model.row_centres), count):
        middle = rng.normal(size=(boxes, columns))
        radius = width * rng.uniform(size=(boxes, columns))
        parts.append(interval(middle - radius, middle + radius))
    return Pieces(k, *parts)


def positions(model: Model, k: int) -> list[list[int]]:
    space = jet_space(model.n, k)
    return [[i for i, a in enumerate(space.indices[m]) for _ in range(a)] for m in space.of_degree(k)]


# ---- nets ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("slots", ["z", "zz", "xy", "yx", "zzz", "xyy", "zxy", "xxyy"])
@pytest.mark.parametrize("expression", [MIXED, RIDGES, RIDGES + A * B])
def test_the_values_of_a_net_are_those_of_the_tensors(slots: str, expression: Any) -> None:
    model, k = model_of(expression, (True, False)), len(slots)
    form = Form(model, slots)
    rng = np.random.default_rng(1)
    vectors = {s: rng.normal(size=(4, 2)) for s in set(slots)}
    net = form._values(vectors, 1.5)
    rows = model.row_centres
    ridge = [[math.prod(float(row @ vectors[s][d]) for s in slots) for d in range(4)] for row in rows]
    np.testing.assert_allclose(net.ridge, ridge, rtol=1e-13)
    lengths = [math.prod(math.sqrt(sum(row[i] ** 2 for i in model.slots(s))) for s in slots) for row in rows]
    np.testing.assert_allclose(net.ridge_slack, np.array(lengths) * 1e-12, rtol=1e-13)
    seen = k == 1 or expression is MIXED or (k == 2 and expression is not RIDGES)
    assert form.has_entries() == seen
    if not seen:
        assert net.entry.shape == (0, 4)
        assert net.entry_slack.shape == (0,)
        return
    entry = [
        [sum(math.prod(vectors[s][d][i] for s, i in zip(slots, order)) for order in set(itertools.permutations(place)))
         for d in range(4)] for place in positions(model, k)
    ]  # fmt: skip
    np.testing.assert_allclose(net.entry, entry, rtol=1e-13)
    np.testing.assert_allclose(net.entry_slack, np.abs(entry).max(axis=1) * 1e-12, rtol=1e-13)
    assert net.factor == 1.5


SPACE = (False,) * 3


@pytest.mark.parametrize(
    ("expression", "is_x", "slots", "wanted", "sizes"),
    [
        (MIXED, (False, False), "zzz", None, {2: 480}),
        (MIXED, (False, False), "zzz", 100, {2: 100}),
        (MIXED, (False, False), "zzz", 7, {2: 24}),  # never fewer than 24
        (MIXED, (True, False), "xyy", None, {1: 1}),
        (MIXED, (True, False), "zzy", None, {1: 1, 2: 480}),
        (MIXED + A * B * C, SPACE, "zzz", None, {3: 2400}),
        (MIXED + A * B * C, SPACE, "zzz", 5000, {3: 5000}),
        (MIXED + A * B * C, (True, False, False), "zzy", None, {2: 13, 3: 179}),
        (MIXED + A * B * C * D, (True, True, False, False), "xxy", None, {2: 48}),
        (sin(A + 2 * B) + sin(2 * A + 4 * B), (False, False), "zzz", None, {1: 1}),  # parallel rows
        (sin(A + B + C) + cos(A - B), SPACE, "zzz", None, {2: 480}),  # rows of rank two in space
    ],
)
def test_the_size_of_a_net(
    expression: Any, is_x: tuple[bool, ...], slots: str, wanted: int | None, sizes: dict[int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Directions are shared between the blocks by their dimensions, at least 24 each."""
    asked: dict[int, int] = {}
    delta = {1: 0.0, 2: 0.125, 3: 0.0625}

    def sphere_net(n: int, size: int) -> tuple[Any, float]:
        asked[n] = size
        return np.eye(n)[:1], delta[n]

    monkeypatch.setattr(linalg, "sphere_net", sphere_net)
    model = model_of(expression, is_x)
    form = Form(model, slots, wanted) if wanted else Form(model, slots)
    assert asked == {n: max(24, size) if n > 1 else 1 for n, size in sizes.items()}
    assert form.net is not None
    blocks = {s: len(form._basis(s)) for s in set(slots)}
    factor = math.prod(1 / math.cos(slots.count(s) * delta[n]) for s, n in blocks.items())
    assert factor * (1 + 0.9e-12) <= form.net.factor <= factor * (1 + 1.1e-12)


@pytest.mark.parametrize(("delta", "used"), [(0.3, True), (1 / 3 + 1e-9, False), (0.4, False), (0.25, True)])
def test_a_net_must_cover_all_equal_slots_within_one(delta: float, used: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linalg, "sphere_net", lambda n, size: (np.eye(n), delta))
    assert (Form(model_of(MIXED), "zzz").net is not None) == used
    monkeypatch.setattr(linalg, "sphere_net", lambda n, size: (np.eye(n), 0.5))
    assert Form(model_of(MIXED), "zz").net is None  # exactly one


def test_nets_are_for_three_dimensions_at_most() -> None:
    four = MIXED + A * B * C * D
    assert Form(model_of(four, (False,) * 4), "zzz").net is None
    assert Form(model_of(four, (True, False, False, False)), "yyy").net is not None
    assert Form(model_of(four, (True, False, False, False)), "zyy").net is None
    assert Form(model_of(four, (True, True, False, False)), "xyy").net is not None


@pytest.mark.parametrize(
    ("expression", "n", "slots", "exact"),
    [
        (A**2 * B**2, 2, "zz", True),
        (A**2 * B**2, 2, "zzz", False),
        (A**2 * B**2 + sin(A), 2, "zz", False),
        (A**2 * B**2 * C**2, 3, "zz", True),
        (A**2 * B**2, 2, "xy", False),
    ],
)
def test_matrices_are_exact_without_ridges(expression: Any, n: int, slots: str, exact: bool) -> None:
    model = model_of(expression, (False,) * n if slots != "xy" else (True, False))
    structure = model.structure
    if not structure.ridges or exact is False:
        assert Form(model, slots)._exact_by_vertices() == (exact and n <= linalg.VERTEX_LIMIT)
        assert (Form(model, slots).net is None) == (exact and n <= linalg.VERTEX_LIMIT)


def test_a_block_as_large_as_the_limit_is_exact() -> None:
    n = linalg.VERTEX_LIMIT
    names = sympy.symbols(f"v:{n + 1}", real=True)
    for size in (n, n + 1):
        model = Model(structure_of(sympy.Add(*[v**2 for v in names[:size]]), names[:size]), (False,) * size)
        assert Form(model, "yy")._exact_by_vertices() == (size == n)


def test_the_basis_of_a_block() -> None:
    model = model_of(MIXED, (True, False))
    assert Form(model, "xy")._basis("y").tolist() == [[0.0, 1.0]]
    assert Form(model, "zz")._basis("z").tolist() == [[1.0, 0.0], [0.0, 1.0]]
    flat = model_of(sin(3 * A + 4 * B) + cos(6 * A + 8 * B))
    basis = Form(flat, "zzz")._basis("z")
    np.testing.assert_allclose(np.abs(basis), [[0.6, 0.8]], rtol=1e-14)
    inner = model_of(sin(3 * B + 4 * C) + A**2, (True, False, False))
    np.testing.assert_allclose(np.abs(Form(inner, "yyy")._basis("y")), [[0.0, 0.6, 0.8]], rtol=1e-14)
    unseen = model_of(sin(A), (True, False, False))
    assert Form(unseen, "yyy")._basis("y").tolist() == [[0.0, 1.0, 0.0]]
    assert Form(unseen, "yy").has_entries() is False
    assert Form(unseen, "y")._basis("y").tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


# ---- bounds by nets --------------------------------------------------------------------------------------------------


def naive_net(net: Net, pieces: Pieces, seen: bool) -> list[float]:
    """Over all coefficients in their intervals, at every direction; infinite where an infinite one matters."""
    found = []
    for box in range(pieces.ridges.lo.shape[0]):
        best, slack, lost = 0.0, 0.0, False
        parts = [(pieces.ridges, net.ridge, net.ridge_slack)] + [(pieces.entries, net.entry, net.entry_slack)] * seen
        values = np.zeros(net.ridge.shape[1])
        for direction in range(net.ridge.shape[1]):
            middle, radius = 0.0, 0.0
            for coefficients, basis, _ in parts:
                for k in range(len(basis)):
                    lo, hi = coefficients.lo[box, k], coefficients.hi[box, k]
                    if math.isinf(lo) or math.isinf(hi):
                        lost = lost or bool(np.any(basis[k] != 0))
                        continue
                    middle += 0.5 * (lo + hi) * basis[k, direction]
                    radius += 0.5 * (hi - lo) * abs(basis[k, direction])
            values[direction] = abs(middle) + radius
        best = values.max()
        for coefficients, basis, slacks in parts:
            for k in range(len(basis)):
                size = max(abs(coefficients.lo[box, k]), abs(coefficients.hi[box, k]))
                slack += 0.0 if math.isinf(size) else size * slacks[k]
        found.append(INF if lost else (best * (1 + 1e-12) + slack) * net.factor)
    return found


@pytest.mark.parametrize("expression", [MIXED, RIDGES])
@pytest.mark.parametrize("scale", [1.0, 1e-3])
@pytest.mark.parametrize("seed", range(3))
def test_a_bound_by_a_net_is_the_largest_value_at_its_directions(expression: Any, scale: float, seed: int) -> None:
    model = model_of(expression)
    form = Form(model, "zzz")
    seen = expression is MIXED
    rng = np.random.default_rng(seed)
    pieces = random_pieces(model, 3, 4, seed)
    if not seen:
        pieces = Pieces(3, pieces.ridges, interval(np.full((4, 4), -INF), np.full((4, 4), INF)))  # nothing looks there
    count = 4 if seen else 0
    for slack in (0.0, 0.25):  # a slack as large as this shows its own part
        net = Net(rng.normal(size=(2, 5)) * scale, rng.normal(size=(count, 5)) * scale, 1.25,
                  slack * rng.uniform(size=2), slack * rng.uniform(size=count))  # fmt: skip
        found = form._by_net(net, pieces)
        np.testing.assert_allclose(found, naive_net(net, pieces, seen), rtol=2e-14)


def test_a_bound_by_a_net_is_rounded_up_and_zero_stays_zero() -> None:
    form = Form(model_of(RIDGES), "zzz")
    empty = interval(np.zeros((2, 0)))
    ridges = interval([[3.0, 0.0], [1e-30, 0.0]])
    net = Net(np.array([[0.5], [0.0]]), np.zeros((0, 1)), 1.0, np.zeros(2), np.zeros(0))
    found = form._by_net(net, Pieces(3, ridges, empty))
    assert found.tolist() == [np.nextafter(1.5 * (1 + 1e-12), 9), np.nextafter(0.5e-30 * (1 + 1e-12), 9)]
    blind = Net(np.zeros((2, 1)), np.zeros((0, 1)), 1.0, np.zeros(2), np.zeros(0))
    assert form._by_net(blind, Pieces(3, ridges, empty)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("part", ["ridges", "entries"])
@pytest.mark.parametrize("ends", [(-INF, 1.0), (1.0, INF), (-INF, INF), (math.nan, 1.0)])
def test_an_infinite_coefficient_counts_where_its_direction_is_not_zero(part: str, ends: tuple[float, float]) -> None:
    form = Form(model_of(MIXED), "zzz")
    basis = {"ridges": np.array([[0.25, -0.5], [0.0, 0.0]]), "entries": np.zeros((4, 2))}
    basis["entries"][1] = [-0.125, 0.0]
    net = Net(basis["ridges"], basis["entries"], 1.0, np.zeros(2), np.zeros(4))
    for place in range(2 if part == "ridges" else 4):
        parts = {"ridges": interval(np.ones((2, 2))), "entries": interval(np.ones((2, 4)))}
        parts[part].lo[1, place], parts[part].hi[1, place] = ends
        found = form._by_net(net, Pieces(3, parts["ridges"], parts["entries"]))
        assert math.isfinite(found[0])
        assert math.isinf(found[1]) == bool(basis[part][place].any())


def test_infinite_coefficients_become_zero_one_by_one() -> None:
    values = interval([[-INF, 1.0, 2.0], [0.5, 1.0, 2.0]], [[1.0, 1.5, INF], [0.5, 1.0, 2.5]])
    kept, lost = _finite(values, np.array([True, True, False]))
    assert kept.lo.tolist() == [[0.0, 1.0, 0.0], [0.5, 1.0, 2.0]]
    assert kept.hi.tolist() == [[0.0, 1.5, 0.0], [0.5, 1.0, 2.5]]
    assert lost.tolist() == [True, False]
    assert _finite(values, np.array([False, True, False]))[1].tolist() == [False, False]
    assert _finite(values, np.array([False, True, True]))[1].tolist() == [True, False]
    finite = values[1:]
    assert _finite(finite, np.array([True] * 3))[0] is finite
    assert _finite(finite, np.array([True] * 3))[1].tolist() == [False]


@pytest.mark.parametrize("slots", ["zz", "zzz", "xy", "z"])
def test_the_smaller_of_both_bounds_is_taken(slots: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(MIXED, (True, False))
    form = Form(model, slots)
    pieces = random_pieces(model, len(slots), 2)
    monkeypatch.setattr(form, "_by_net", lambda net, p: np.array([3.0, 5.0]))
    monkeypatch.setattr(form, "_by_matrices", lambda p: np.array([4.0, 2.0]))
    assert form.upper(pieces).tolist() == ([3.0, 2.0] if slots == "zz" else [3.0, 5.0])
    form.net = None
    assert form.upper(pieces).tolist() == [4.0, 2.0]


# ---- attained values -------------------------------------------------------------------------------------------------


def test_attained_values_come_from_matrices_nets_or_ascents(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(MIXED, (True, False))
    pieces = random_pieces(model, 2, 3, width=0.0)
    form = Form(model, "zz")
    exact = [np.abs(np.linalg.eigvalsh(m)).max() for m in form.matrix(pieces)]
    np.testing.assert_allclose(form.lower(pieces), exact, rtol=1e-14)
    least = [np.linalg.eigvalsh(m)[0] for m in form.matrix(pieces)]
    np.testing.assert_allclose(form.least_eigenvalue(pieces), least, rtol=1e-13)
    mixed = Form(model, "xy")
    np.testing.assert_allclose(mixed.lower(pieces), np.abs(mixed.matrix(pieces)).ravel(), rtol=1e-12)
    for expression, seen in ((MIXED, True), (RIDGES, False)):
        model = model_of(expression)
        pieces = random_pieces(model, 3, 3, width=0.0)
        form = Form(model, "zzz")
        assert form.net is not None
        values = pieces.ridges.lo @ form.net.ridge + (pieces.entries.lo @ form.net.entry if seen else 0.0)
        np.testing.assert_allclose(form.lower(pieces), np.abs(values).max(axis=1), rtol=1e-12)
        monkeypatch.setattr(forms, "ascended", lambda m, s, p: np.array([7.0, 8.0, 9.0]))
        form.net = None
        assert form.lower(pieces).tolist() == [7.0, 8.0, 9.0]


def test_only_known_points_are_attained_each_with_its_own_value() -> None:
    model = model_of(MIXED)
    known = random_pieces(model, 2, 4, width=0.0)
    holes = Pieces(2, interval(known.ridges.lo.copy(), known.ridges.hi.copy()), known.entries)
    holes.ridges.hi[1, 0] += 1.0
    holes.ridges.lo[3, 1] = -INF
    form = Form(model, "zz")
    with np.errstate(all="ignore"):
        assert defined(holes).tolist() == [True, False, True, False]
        lower, least = form.lower(holes), form.least_eigenvalue(holes)
    assert lower[[1, 3]].tolist() == [-INF, -INF]
    assert least[[1, 3]].tolist() == [INF, INF]
    np.testing.assert_array_equal(lower[[0, 2]], form.lower(known)[[0, 2]])
    np.testing.assert_array_equal(least[[0, 2]], form.least_eigenvalue(known)[[0, 2]])
    nowhere = Pieces(2, interval(np.zeros((2, 2)), np.ones((2, 2))), interval(np.zeros((2, 3))))
    assert form.lower(nowhere).tolist() == [-INF, -INF]
    assert form.least_eigenvalue(nowhere).tolist() == [INF, INF]


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize(
    ("low", "high", "known"),
    [
        (1.0, 1.0, True),
        (1.0, 1.0 + 1.9e-3, True),
        (1.0, 1.0 + 2.1e-3, False),
        (-1.0 - 2.1e-3, -1.0, False),
        (0.0, 0.99e-3, True),
        (0.0, 1.01e-3, False),
        (-1e-3, 1e-3, False),
        (999.0, 1000.0, True),
        (998.0, 1000.0, False),
        (INF, INF, False),
        (-INF, -INF, False),
        (0.0, INF, False),
    ],
)
def test_a_value_is_known_to_a_thousandth(part: int, low: float, high: float, known: bool) -> None:
    parts = [interval(np.ones((2, 2))), interval(np.ones((2, 3)))]
    parts[part].lo[1, 1], parts[part].hi[1, 1] = low, high
    assert defined(Pieces(2, parts[0], parts[1])).tolist() == [True, known]
