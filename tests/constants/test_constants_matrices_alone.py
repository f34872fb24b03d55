"""Forms by matrices, line by line against naive loops: extreme eigenvalues, gradients, tensors, ascents."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import sympy
from constants_tensors import centre_tensor
from sympy import cos, sin

from bilevel_verify.constants.calculus import ascent, tensors
from bilevel_verify.constants.calculus.ascent import _contract, _unit, ascended
from bilevel_verify.constants.calculus.forms import (
    Form,
    Net,
    _basis_of_rows,
    _dyadic,
    _grid,
    _matrix,
    _tidy,
    gradient_entries,
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


ZERO = np.zeros((2, 2))


# ---- extreme eigenvalues ---------------------------------------------------------------------------------------------


def asked_extremes(
    monkeypatch: pytest.MonkeyPatch, form: Form, pieces: Pieces, *further: Any
) -> tuple[dict[str, tuple[Any, Any]], Any, Any]:
    """What the eigenvalue ranges were asked for, and the answer where all of them are 0."""
    asked: dict[str, tuple[Any, Any]] = {}

    def eigenvalue_range(low: Any, high: Any, side: str) -> tuple[Any, Any]:
        asked[side] = low, high
        return np.zeros(len(low)), np.zeros(len(low))

    monkeypatch.setattr(linalg, "eigenvalue_range", eigenvalue_range)
    least, most = form.extremes(pieces, *further)
    return asked, least, most


@pytest.mark.parametrize("letter", ["x", "y", "z"])
@pytest.mark.parametrize("further", ["", "below", "above", "below above"])
@pytest.mark.parametrize("seed", range(2))
def test_extremes_are_those_of_the_two_extreme_matrices_with_room_for_rounding(
    letter: str, further: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(MIXED + A * B * C + 3 * sin(C), (True, False, False))
    form, rows = Form(model, 2 * letter), model.row_centres
    pieces = random_pieces(model, 2, 3, seed)
    members = list(model.slots(letter))
    n = len(members)
    rng = np.random.default_rng(seed)
    given = {end: rng.normal(size=(3, 3)) if end in further else None for end in ("below", "above")}
    asked, least, most = asked_extremes(monkeypatch, form, pieces, *(given.values() if further else ()))
    for box in range(3):
        matrices = {}
        for end, coefficients, entries in (
            ("low", pieces.ridges.lo, pieces.entries),
            ("high", pieces.ridges.hi, pieces.entries),
        ):
            outer = np.zeros((n, n))
            for a, i in enumerate(members):
                for b, j in enumerate(members):
                    outer[a, b] = sum(c * row[i] * row[j] for c, row in zip(coefficients[box], rows))
                    more = given["below" if end == "low" else "above"]
                    outer[a, b] += 0.0 if more is None else more[i, j]
            entry = [np.zeros((n, n)), np.zeros((n, n))]
            for column, (i, j) in enumerate(positions(model, 2)):
                if i in members and j in members:
                    for side, values in enumerate((entries.lo, entries.hi)):
                        entry[side][members.index(i), members.index(j)] = values[box, column]
                        entry[side][members.index(j), members.index(i)] = values[box, column]
            matrices[end] = outer, entry
        for side, end in (("least", "low"), ("most", "high")):
            outer, entry = matrices[end]
            np.testing.assert_allclose(asked[side][0][box], entry[0] + outer, rtol=1e-13, atol=1e-14)
            np.testing.assert_allclose(asked[side][1][box], entry[1] + outer, rtol=1e-13, atol=1e-14)
        sizes = [sum(row[i] ** 2 for i in members) for row in rows]
        for found, end, which, sign in ((least, "low", 0, -1.0), (most, "high", 1, 1.0)):
            own = pieces.ridges.lo[box] if end == "low" else pieces.ridges.hi[box]
            room = float(np.abs(own) @ sizes) * (len(rows) + n + 6) * 3e-16
            outer, entry = matrices[end]
            size = np.abs(entry[which]).max() + np.abs(outer).max()
            assert found[box] == pytest.approx(sign * (room + n * 3e-16 * size), rel=1e-9, abs=1e-40)


def test_infinite_entries_do_not_spoil_the_room_of_the_other_side(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(MIXED)
    pieces = random_pieces(model, 2, 2)
    pieces.entries.hi[1, 0] = INF
    pieces.ridges.lo[0, 0] = -INF
    form = Form(model, "zz")
    _, least, most = asked_extremes(monkeypatch, form, pieces)
    assert least[0] == -INF
    assert 0.0 < most[0] < 1e-13
    assert -1e-13 < least[1] < 0.0
    size = (model.row_centres**2).sum(axis=1)
    room_low, room_high = (float(np.abs(e[1]) @ size) * 10 * 3e-16 for e in (pieces.ridges.lo, pieces.ridges.hi))
    assert most[1] == pytest.approx(room_high, rel=1e-9, abs=1e-40)  # an infinite size adds nothing
    pieces.entries.lo[1, 0] = -INF
    assert asked_extremes(monkeypatch, form, pieces)[1][1] == pytest.approx(-room_low, rel=1e-9, abs=1e-40)
    pieces = random_pieces(model, 2, 2)
    pieces.ridges.hi[1, 1] = INF
    asked, least, most = asked_extremes(monkeypatch, form, pieces)
    assert (math.isfinite(least[1]), most[1], math.isfinite(most[0])) == (True, INF, True)
    pieces.ridges.hi[1, 1] = 0.0
    np.testing.assert_array_equal(asked["most"][0], asked_extremes(monkeypatch, form, pieces)[0]["most"][0])


@pytest.mark.parametrize(
    ("ridge", "entry", "further", "exact"),
    [
        ([0.5, 2.0], [1.0, 0.25, 3.0], (), True),
        ([0.1, 2.0], [1.0, 0.25, 3.0], (), False),
        ([0.5, 2.0], [1.0, 0.1, 3.0], (), False),
        ([0.5, 2.0], [1.0, 0.25, 3.0], (ZERO, ZERO), False),
        ([0.5, 2.0], [1.0, 0.25, 3.0], (ZERO, None), False),
        ([0.5, 2.0], [1.0, 0.25, 3.0], (None, ZERO), False),
    ],
)
@pytest.mark.parametrize("end", ["lo", "hi"])
def test_sums_without_rounding_need_no_room(
    ridge: list[float], entry: list[float], further: Any, exact: bool, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One end of a coefficient that is no short number is enough for room on both sides."""
    model = model_of(A**3 * B + sin(A + B) + cos(A - 2 * B))
    ridges, entries = interval([[0.5, 2.0]] * 2), interval([[1.0, 0.25, 3.0]] * 2)
    getattr(ridges, end)[1], getattr(entries, end)[1] = ridge, entry
    _, least, most = asked_extremes(monkeypatch, Form(model, "zz"), Pieces(2, ridges, entries), *further)
    assert (least[1] == 0.0 == most[1]) == exact
    assert (least[0] == 0.0 == most[0]) == (not further)
    assert least[1] <= 0.0 <= most[1]


def test_which_numbers_are_short() -> None:
    rows = [[1.0, 1 / 64], [1.0, 1 / 128], [-999999.0, 2.0], [1e6, 1.0], [INF, 1.0], [-1e6, 0.5]]
    assert _tidy(np.array(rows)).tolist() == [
        True, False, True, False, False, False,
    ]  # fmt: skip
    good, bad = np.array([[1.0], [1.0]]), np.array([[1.0], [0.1]])
    rows = np.array([[1.0, -63.0], [2.0, 0.0]])
    assert _dyadic(rows, good, good).tolist() == [True, True]
    assert _dyadic(rows, bad, good).tolist() == _dyadic(rows, good, bad).tolist() == [True, False]
    for row in ([1.0, -64.0], [64.0, 1.0], [0.5, 1.0]):
        assert _dyadic(np.array([[2.0, 0.0], row]), good, good).tolist() == [False, False]


@pytest.mark.parametrize("slots", ["zz", "yy", "xx"])
def test_entries_in_intervals_are_covered_at_every_corner(slots: str) -> None:
    """Off-diagonal entries whose upper end counts: eigenvalues of all corner matrices lie within."""
    model = model_of(A**3 * B + A * B**3 + sin(A / 3), (False, False) if slots != "xx" else (True, True))
    low = np.array([[-1.0, -0.5, -2.0], [0.0, 0.25, 1.0]])
    high = np.array([[2.0, 3.0, 1.0], [0.5, 4.0, 1.5]])
    pieces = Pieces(2, interval([[-0.1], [0.3]], [[0.2], [0.7]]), interval(low, high))
    least, most = Form(model, slots).extremes(pieces)
    row = model.row_centres[0]
    for box in range(2):
        values = []
        for corner in itertools.product((0, 1), repeat=4):
            entries = [(low, high)[corner[k]][box, k] for k in range(3)]
            matrix = _matrix(np.array([entries]), 2)[0] + [pieces.ridges.lo, pieces.ridges.hi][corner[3]][
                box, 0
            ] * np.outer(row, row)
            values += np.linalg.eigvalsh(matrix).tolist()
        assert least[box] == pytest.approx(min(values), rel=1e-12)
        assert most[box] == pytest.approx(max(values), rel=1e-12)


# ---- gradients, tensors, ascents -------------------------------------------------------------------------------------


@pytest.mark.parametrize("slots", ["x", "y", "z"])
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_a_gradient_is_the_smaller_of_two_bounds(slots: str, count: int, seed: int) -> None:
    expression = [sin(A / 3 + 2 * B), cos(A - B), sin(A + 4 * B)][:count]
    model = model_of(sympy.Add(*expression) + 3 * A - B, (True, False))
    pieces = random_pieces(model, 1, 2, seed, width=2.0)
    form, rows = Form(model, slots), model.row_centres
    found, members = form._gradient(pieces), list(model.slots(slots))
    order = [p[0] for p in positions(model, 1)]
    for box in range(2):
        total = [
            interval([pieces.entries.lo[box, order.index(i)]], [pieces.entries.hi[box, order.index(i)]])
            for i in members
        ]
        norm = math.hypot(*(max(abs(t.lo[0]), abs(t.hi[0])) for t in total))
        for number, row in enumerate(rows):
            ends = pieces.ridges.lo[box, number], pieces.ridges.hi[box, number]
            for k, i in enumerate(members):
                corners = [e * row[i] for e in ends]
                total[k] = interval(total[k].lo + min(corners), total[k].hi + max(corners))
        by_entries = math.hypot(*(max(abs(t.lo[0]), abs(t.hi[0])) for t in total))
        size = np.maximum(np.abs(pieces.ridges.lo[box]), np.abs(pieces.ridges.hi[box]))
        scaled = size[:, None] * rows[:, members]
        by_rows = np.linalg.norm(scaled, 2) * math.sqrt(len(rows)) + norm
        expected = by_entries if len(rows) < 2 else min(by_entries, by_rows)
        assert expected * (1 - 1e-14) <= found[box] <= expected * (1 + 2e-11)


def test_orthogonal_rows_make_the_second_bound_of_a_gradient_the_smaller_one() -> None:
    """|sum c_l a_l| for |c_l| <= 1 and four equal lengths: entries give more than the spectral norm does."""
    model = model_of(sin(A + B) + cos(A - B), (False, False))
    pieces = Pieces(1, interval([[-1.0, -1.0]], [[1.0, 1.0]]), interval([[0.0, 0.0]]))
    found = float(Form(model, "z")._gradient(pieces)[0])
    assert 2.0 < found <= 2.0 * (1 + 1e-11)
    wide = Pieces(1, interval([[-1.0, -INF]], [[1.0, 1.0]]), interval([[0.0, 0.0]]))
    assert Form(model, "z")._gradient(wide).tolist() == [INF]
    shifted = Pieces(1, interval([[-1.0, -1.0]], [[1.0, 1.0]]), interval([[3.0, -4.0]]))
    assert float(Form(model, "z")._gradient(shifted)[0]) <= 7.0 * (1 + 1e-11)


@pytest.mark.parametrize("slots", ["y", "z", "zz", "yy", "xy", "zzz", "xyy"])
def test_every_form_has_its_own_matrices(slots: str, monkeypatch: pytest.MonkeyPatch) -> None:
    form = Form(model_of(MIXED, (True, False)), slots)
    pieces = random_pieces(form.model, len(slots), 2)
    monkeypatch.setattr(form, "_gradient", lambda p: np.array([1.0, 2.0]))
    monkeypatch.setattr(form, "extremes", lambda p: (np.array([-3.0, 4.0]), np.array([-2.0, 5.0])))
    monkeypatch.setattr(tensors, "tensor_bound", lambda model, word, p: np.array([6.0, 7.0]))
    expected = {"y": [1.0, 2.0], "z": [1.0, 2.0], "zz": [3.0, 5.0], "yy": [3.0, 5.0]}.get(slots, [6.0, 7.0])
    assert form._by_matrices(pieces).tolist() == expected


def test_gradient_entries_follow_the_variables() -> None:
    pieces = Pieces(
        1, interval(np.zeros((2, 0))), interval(np.arange(8.0).reshape(2, 4), np.arange(8.0).reshape(2, 4) + 0.5)
    )
    order = [p[0] for p in positions(model_of(A + B + C + D, (False,) * 4), 1)]
    found = gradient_entries(pieces, 4)
    for i in range(4):
        assert found.lo[:, i].tolist() == pieces.entries.lo[:, order.index(i)].tolist()
        assert found.hi[:, i].tolist() == pieces.entries.hi[:, order.index(i)].tolist()


def test_matrices_by_multi_index_are_symmetric() -> None:
    entries = np.arange(12.0).reshape(2, 6) + 1
    found = _matrix(entries, 3)
    for column, (i, j) in enumerate(positions(model_of(A * B * C, (False,) * 3), 2)):
        assert found[:, i, j].tolist() == found[:, j, i].tolist() == entries[:, column].tolist()
    assert _matrix(np.zeros((2, 0)), 3).tolist() == np.zeros((2, 3, 3)).tolist()


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("expression", [MIXED, RIDGES, A**3 * B])
def test_the_tensor_at_the_centre_entry_by_entry(k: int, expression: Any) -> None:
    model = model_of(expression)
    pieces = random_pieces(model, k, 2)
    pieces.entries.lo[:, 0] = pieces.entries.hi[:, 0] = 0.0  # an entry that vanishes, and one that does in one box only
    pieces.entries.lo[0, 1] = pieces.entries.hi[0, 1] = 0.0
    found = centre_tensor(model, pieces)
    places = [sorted(p) for p in positions(model, k)]
    for box in range(2):
        for index in itertools.product(range(2), repeat=k):
            column = places.index(sorted(index))
            value = 0.5 * (pieces.entries.lo[box, column] + pieces.entries.hi[box, column])
            for number, row in enumerate(model.row_centres):
                centre = 0.5 * (pieces.ridges.lo[box, number] + pieces.ridges.hi[box, number])
                value += centre * math.prod(row[i] for i in index)
            assert found[(box, *index)] == pytest.approx(value, rel=1e-12, abs=1e-13)
    nothing = Pieces(k, pieces.ridges, interval(np.zeros((2, 0))))
    zero = Pieces(k, pieces.ridges, interval(np.zeros_like(pieces.entries.lo)))
    np.testing.assert_array_equal(centre_tensor(model, nothing), centre_tensor(model, zero))


@pytest.mark.parametrize("k", [2, 3, 4])
def test_contractions_leave_one_slot(k: int) -> None:
    rng = np.random.default_rng(k)
    tensor = rng.normal(size=(2, *[3] * k))
    vectors = [rng.normal(size=(2, 3)) for _ in range(k)]
    for skip in range(k):
        found = _contract(tensor, vectors, skip)
        for box, i in itertools.product(range(2), range(3)):
            value = sum(
                tensor[(box, *index)] * math.prod(vectors[s][box, j] for s, j in enumerate(index) if s != skip)
                for index in itertools.product(range(3), repeat=k)
                if index[skip] == i
            )
            assert found[box, i] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("slots", ["zzz", "xyy", "xzz"])
def test_an_ascent_is_step_by_step_that_of_its_documentation(slots: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(MIXED + A * B * C, (True, False, False))
    form, pieces = Form(model, slots), random_pieces(model, 3, 2, width=0.0)
    tensor = centre_tensor(model, pieces)
    rng = np.random.default_rng(5)
    masks = [np.array([float(i in model.slots(s)) for i in range(3)]) for s in slots]
    best = np.zeros(2)
    for _ in range(2):
        vectors = []
        for mask in masks:
            drawn = rng.normal(size=(2, 3)) * mask
            vectors.append(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))
        for step in range(4):
            place = step % 3
            contracted = np.zeros((2, 3))
            for box, index in itertools.product(range(2), itertools.product(range(3), repeat=3)):
                others = math.prod(vectors[s][box, j] for s, j in enumerate(index) if s != place)
                contracted[box, index[place]] += tensor[(box, *index)] * others * masks[place][index[place]]
            length = np.linalg.norm(contracted, axis=1)
            best = np.maximum(best, length)
            vectors[place] = contracted / length[:, None]
    np.testing.assert_allclose(ascended(form.model, form.slots, pieces, 2, 4), best, rtol=1e-12)
    calls: list[int] = []
    contract = ascent._contract
    monkeypatch.setattr(ascent, "_contract", lambda t, v, p: calls.append(p) or contract(t, v, p))
    ascended(form.model, form.slots, pieces)
    assert calls == [step % 3 for step in range(25)] * 6


def test_unit_vectors_grids_and_bases() -> None:
    np.testing.assert_allclose(
        _unit(np.array([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]])), [[0.6, 0.8], [0.0, 0.0], [0.0, -1.0]]
    )
    found = _grid({"x": np.array([[1.0], [2.0]]), "y": np.array([[3.0], [4.0], [5.0]])})
    assert list(zip(found["x"][:, 0], found["y"][:, 0])) == [(1, 3), (1, 4), (1, 5), (2, 3), (2, 4), (2, 5)]
    assert _basis_of_rows(np.zeros((2, 3))).shape == (0, 3)
    assert _basis_of_rows(np.array([[0.0, 0.0, 0.0], [0.0, 0.1, 0.0]])).shape == (1, 3)
    for gap, rank in ((1.5e-13, 1), (3e-13, 2), (1e-10, 2)):  # a part of half the gap is left out by a mean direction
        assert len(_basis_of_rows(np.array([[1.0, 0.0], [1.0, gap]]))) == rank
    rows = np.random.default_rng(2).normal(size=(2, 3))
    for weights in ([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -3.0]], [[1.0, 2.0], [-2.0, -4.0]]):
        mixed = np.array(weights) @ rows
        basis = _basis_of_rows(mixed)
        assert len(basis) == np.linalg.matrix_rank(np.array(weights))
        np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-14)
        np.testing.assert_allclose(mixed @ basis.T @ basis, mixed, atol=1e-13)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("which", ["ridges", "entries"])
def test_a_lost_coefficient_that_touches_the_net_with_any_sign_is_lost(which: str, sign: float) -> None:
    """A row of negative numbers touches as well: a coefficient of unknown size makes the bound infinite."""
    model = model_of(MIXED)
    form, pieces = Form(model, "zz"), random_pieces(model, 2, 2)
    ridges, entries = np.zeros((len(model.row_centres), 3)), np.zeros((pieces.entries.lo.shape[1], 3))
    table = ridges if which == "ridges" else entries
    table[0] = [sign, 0.0, 2 * sign]
    net = Net(ridges, entries, 1.0, np.zeros(len(ridges)), np.zeros(len(entries)))
    assert np.isfinite(form._by_net(net, pieces)).all()
    getattr(pieces, which).hi[1, 0] = INF
    getattr(pieces, which).hi[0, 1] = INF  # touches nothing
    assert np.isinf(form._by_net(net, pieces)).tolist() == [False, True]


def test_letters_that_are_equal_make_a_symmetric_form() -> None:
    model = model_of(MIXED, (True, False))
    assert [Form(model, s).symmetric for s in ("x", "zz", "xy", "zzz", "xyx")] == [True, True, False, True, False]
    assert [Form(model, s).order for s in ("x", "xy", "xyzz")] == [1, 2, 4]
    no_x = model_of(MIXED)
    assert [Form(no_x, s).empty for s in ("y", "xy", "yx", "xx", "zz")] == [False, True, True, True, False]
    assert Form(no_x, "xy").net is None
