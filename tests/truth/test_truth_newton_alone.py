"""Batched Newton against a plain loop over single rows, and each condition at the number where it turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import sympy

from bilevel_verify.truth.functions.model import Function
from bilevel_verify.truth.lower_level import newton

pytestmark = pytest.mark.fast
Y1, Y2 = sympy.symbols("y1 y2", real=True)
Scalar = Callable[[float, float], tuple[float, float, float]]
"""x, y -> value, slope, curvature."""


def table(*rows: Sequence[float]) -> Any:
    return np.array(rows, dtype=float)


def batched(function: Scalar, asked: list[list[float]], first: int = 0) -> newton.Local:
    """A function of one x and one y as a batch; notes for every row the points that were asked for."""

    def local(X: Any, Y: Any, rows: Any) -> Any:
        assert len(rows), "nothing is asked of no rows"
        out = [function(float(x), float(y)) for x, y in zip(X[:, 0], Y[:, 0], strict=True)]
        for row, y in zip(rows, Y[:, 0], strict=True):
            asked[int(row) - first].append(float(y))
        found = np.array(out).reshape(len(Y), 3)
        return found[:, 0].copy(), found[:, 1:2].copy(), found[:, 2].reshape(-1, 1, 1).copy()

    return local


def plain_minimise(
    function: Scalar, x: float, start: float, low: float | None = None, high: float | None = None
) -> tuple[float, float, float, list[float]]:
    """One row by itself, as the module says it: the best point, its residual and curvature, the points asked for."""
    asked = [start]
    y, (value, slope, bend) = start, function(x, start)
    best = (abs(slope) if np.isfinite(slope) else np.inf, y, bend)
    stalls, good = 0, True
    for _ in range(120):
        if not np.isfinite([slope, bend]).all():  # no direction
            break
        raw, sure = newton._directions(table([slope]), table([bend]).reshape(1, 1, 1))
        definite = bool(sure[0])
        step = float(newton._capped(raw, sure, table([y]))[0, 0])
        plain = definite and abs(step) <= 1e-4 * (1 + abs(y))
        trial = y + step
        new = function(x, trial)
        asked.append(trial)
        good = plain or _enough(value, slope, step, new[0])
        if not good:
            length = 1.0
            if low is not None and high is not None:
                room = (high - y) / step if step > 0 else (low - y) / step if step < 0 else np.inf
                length = float(np.clip(room, 1e-3, 1.0))
            for _ in range(50):
                trial = y + length * step
                new = function(x, trial)
                asked.append(trial)
                good = _enough(value, slope, length * step, new[0])
                if good:
                    break
                length *= 0.5
        y, (value, slope, bend) = trial, new
        residual = abs(slope) if np.isfinite(slope) else np.inf
        halved = residual <= 0.5 * best[0]
        best = (residual, y, bend) if residual < best[0] else best
        stalls = 0 if halved or not plain else stalls + 1
        if not good or stalls >= 2 or not residual > 0 or not abs(y) < 1e30:
            break
    return best[1], best[0], best[2], asked


def _enough(value: float, slope: float, step: float, new: float) -> bool:
    return bool(np.isfinite(new) and new <= value + 1e-4 * slope * step + 1e-14 * (1 + abs(value)))


def valley(x: float, y: float) -> tuple[float, float, float]:
    """``sqrt(1 + (y - x)^2)``: Newton steps from afar are too long, and the batch has to search."""
    t = y - x
    root = float(np.sqrt(1 + t * t))
    return root, t / root, 1 / (root * root * root)


def wells(x: float, y: float) -> tuple[float, float, float]:
    """``(y^2 - 1)^2 / 4 + x y``: indefinite between the wells."""
    return (y * y - 1) * (y * y - 1) / 4 + x * y, y * (y * y - 1) + x, 3 * y * y - 1


def barrier(x: float, y: float) -> tuple[float, float, float]:
    """``1 / y + x y`` for y > 0, no number elsewhere."""
    return (1 / y + x * y, x - 1 / (y * y), 2 / (y * y * y)) if y > 0 else (np.nan, np.nan, np.nan)


def bowl(x: float, y: float) -> tuple[float, float, float]:
    return (y - x) * (y - x) / 2, y - x, 1.0


def quartic(x: float, y: float) -> tuple[float, float, float]:
    t = y - x
    return t * t * t * t, 4 * t * t * t, 12 * t * t


@pytest.mark.slow
@pytest.mark.parametrize("ranges", [None, (-6.0, 9.0), (0.0, 3.0)])
@pytest.mark.parametrize("function", [valley, wells, barrier, bowl, quartic])
def test_a_batch_is_its_rows_one_by_one(function: Scalar, ranges: tuple[float, float] | None) -> None:
    """Rows that converge at once, are searched, run away or are no number: every one asks for the points of its own."""
    xs = [0.25, 1.0, 0.5, 2.0, 0.25, 4.0, 0.75, 1.5]
    starts = [0.3, -2.5, 0.5, 0.9, 40.0, 0.01, -0.1, 1.5]
    low, high = ranges or (None, None)
    asked: list[list[float]] = [[] for _ in xs]
    bounds = (None, None) if ranges is None else (np.array([low]), np.array([high]))
    found = newton.minimise(batched(function, asked), table(xs).T, table(starts).T, *bounds)
    for k, (x, start) in enumerate(zip(xs, starts)):
        y, residual, bend, points = plain_minimise(function, x, start, low, high)
        assert len(asked[k]) == len(points), (x, start)
        np.testing.assert_array_equal(asked[k], points)
        assert (found.y[k, 0], found.residual[k]) == (y, residual)
        assert found.curvature[k] == (bend if np.isfinite(bend) else -np.inf)
        done = residual <= 1e-7 * (1 + abs(bend) * (1 + abs(y))) and residual <= 1e-6 * bend * (1 + abs(y)) and bend > 0
        assert found.converged[k] == done


def test_rows_keep_their_numbers_in_every_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "CHUNK", 3)
    asked: list[list[float]] = [[] for _ in range(8)]
    starts = [30.0, 0.1, -7.0, 2.0, 55.0, 1.0, 3.0, -20.0]
    newton.minimise(batched(valley, asked), np.full((8, 1), 1.0), table(starts).T)
    assert asked == [plain_minimise(valley, 1.0, start)[3] for start in starts]


def scripted(answers: list[tuple[float, float, float]]) -> tuple[newton.Local, list[float]]:
    """One row whose k-th evaluation answers what is written (the last answer for ever), with the points asked for."""
    asked: list[float] = []

    def local(X: Any, Y: Any, rows: Any) -> Any:
        value, slope, bend = answers[min(len(asked), len(answers) - 1)]
        asked.append(float(Y[0, 0]))
        return np.array([value]), table([slope]), table([bend]).reshape(1, 1, 1)

    return local, asked


def run(answers: list[tuple[float, float, float]], start: float = 0.0) -> tuple[newton.Minimised, list[float]]:
    local, asked = scripted(answers)
    return newton.minimise(local, table([0.0]), table([start])), asked


def test_a_step_of_exactly_the_small_size_is_taken_without_a_search() -> None:
    """From 0 the small size is 1e-4; a value that grows forbids every step that is not plain."""
    for slope, plain in ((1e-4, True), (np.nextafter(1e-4, 1), False), (0.9e-4, True)):
        _, asked = run([(0.0, slope, 1.0), (1.0, slope / 1e3, 1.0), (1.0, 0.0, 1.0)])
        assert len(asked) == (3 if plain else 52)
    _, asked = run([(0.0, 3.9e-4, 1.0), (1.0, 1e-9, 1.0), (1.0, 0.0, 1.0)], start=3.0)
    assert len(asked) == 3, "relative to the point"
    _, asked = run([(0.0, 1e-5, -1.0), (1.0, 1e-9, 1.0), (1.0, 0.0, 1.0)])
    assert len(asked) == 52, "no plain steps where the Hessian is not definite"


def test_fifty_halvings_are_the_end_of_a_search() -> None:
    _, asked = run([(0.0, 1.0, 1.0), *[(5.0, 1.0, 1.0)] * 51, (0.0, 0.0, 1.0)])
    assert asked[:2] == [0.0, -1.0]
    assert asked[2:] == [-(0.5**k) for k in range(50)], "and of the row, which has no other direction"


def test_a_search_asks_for_a_part_of_the_fall_along_its_own_step() -> None:
    """Slope 1, step -1000: a fall of 0.04 is enough for a quarter of the step (0.025), not for a half of it (0.05)."""
    _, asked = run([(0.0, 1.0, 1e-3), *[(-0.04, 1.0, 1e-3)] * 4, (-0.04, 0.0, 1e-3)])
    assert asked[:5] == [0.0, -1000.0, -1000.0, -500.0, -250.0]
    assert asked[5] == -1250.0


def test_without_unknowns_there_is_nothing_to_do() -> None:
    step, definite = newton._directions(np.empty((2, 0)), np.empty((2, 0, 0)))
    assert (step.shape, definite.tolist()) == ((2, 0), [True, True])


def test_the_number_of_steps_is_limited() -> None:
    found, asked = run([(-float(k), 1.0, 1.0) for k in range(400)])
    assert len(asked) == 1 + newton.MOST_STEPS == 121
    assert (found.y[0, 0], found.residual[0], found.converged[0]) == (0.0, 1.0, False), "the first of equal residuals"


def test_a_row_that_runs_away_ends() -> None:
    """Steps without curvature are ten times the size of the iterate: the thirtieth power of ten is soon reached."""
    _, asked = run([(-(1e300 / 2.0 ** (800 - k)), 1.0, 0.0) for k in range(400)])
    assert abs(asked[-2]) < newton.FAR <= abs(asked[-1])
    _, asked = run([(0.0, newton.FAR, 1e-6), (-(newton.FAR**2), 1.0, 1.0), (0.0, 0.0, 1.0)], start=-newton.FAR / 1e7)
    assert len(asked) == 3, "what is not so far away goes on"


def test_two_plain_steps_that_do_not_halve_the_residual_end_a_row() -> None:
    flat = [(0.0, 1e-6, 1.0)] * 9
    assert len(run(flat)[1]) == 3
    halving = [(0.0, 1e-6 * 0.5**k, 1.0) for k in range(6)]
    assert len(run([*halving, (0.0, 0.0, 1.0)])[1]) == 7, "exactly one half is a half"
    nearly = [(0.0, 1e-6 * 0.51**k, 1.0) for k in range(9)]
    assert len(run(nearly)[1]) == 3
    between = [(0.0, s, 1.0) for s in (1e-6, 0.9e-6, 0.4e-6, 0.39e-6, 0.1e-6, 0.09e-6, 0.08e-6, 0.0)]
    assert len(run(between)[1]) == 7, "a halving begins the count anew"
    large = [(-0.1 * k, 1e-2, 1.0) for k in range(9)]
    assert len(run([*large, (-9.0, 0.0, 1.0)])[1]) == 10, "steps that are not plain do not count"


def test_a_residual_of_zero_ends_a_row_and_what_is_no_number_is_never_the_best() -> None:
    found, asked = run([(0.0, 1.0, 1.0), (-0.5, 0.0, 1.0), (0.0, 1.0, 1.0)])
    assert asked == [0.0, -1.0]
    assert found.converged[0]
    lost, _ = run([(0.0, np.nan, 1.0), (np.nan, np.nan, np.nan)])
    assert (lost.residual[0], lost.converged[0], lost.y[0, 0]) == (np.inf, False, 0.0)
    later, _ = run([(0.0, 1e-5, 1.0), (np.nan, np.nan, np.nan), (0.0, 1e-6, 1.0)])
    assert later.residual[0] <= 1e-5


def test_penalties_hand_every_row_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """``rows`` are the numbers of the rows in the whole batch: for f, for g and for lam."""
    seen: list[tuple[str, list[int]]] = []

    def local_of(name: Any) -> Any:
        def local(X: Any, Y: Any, rows: Any) -> Any:
            seen.append((name, list(rows)))
            return X[:, 0], Y, Y[:, :, None]

        return local

    monkeypatch.setattr(newton, "local_of", local_of)
    both: Any = newton.penalty_of
    value, slope, bend = both("f", "g", np.array([0.0, 10.0, 100.0]))(
        table([1.0], [2.0]), table([3.0], [4.0]), np.array([2, 1])
    )
    assert seen == [("f", [2, 1]), ("g", [2, 1])]
    assert value.tolist() == [101, 22]
    assert slope.tolist() == [[303], [44]]
    assert bend.tolist() == [[[303]], [[44]]]


def test_singular_neighbours_change_no_direction() -> None:
    """One exactly singular Hessian in the batch, and the others keep their Newton steps and their certainty."""
    gradient = table([2.0, 4.0], [1.0, 2.0], [0.0, 0.0], [3.0, -1.0], [1.0, 1.0])
    matrices = np.array([np.diag([2.0, 4.0]), np.diag([1.0, 0.0]), np.zeros((2, 2)), [[2.0, 1.0], [1.0, 2.0]],
                         np.diag([1.0, -3.0])])  # fmt: skip
    step, definite = newton._directions(gradient, matrices)
    assert definite.tolist() == [True, False, True, True, True], "a descent direction is enough"
    for k in range(5):
        alone, sure = newton._directions(gradient[k : k + 1], matrices[k : k + 1])
        np.testing.assert_array_equal(step[k], alone[0])
        assert definite[k] == sure[0]
    assert step[0].tolist() == [-1.0, -1.0]
    assert step[3] == pytest.approx([-7 / 3, 5 / 3])
    assert step[2].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("gradient", "matrix", "step", "definite"),
    [
        ((0.1, 0.1), ((-1, 0), (0, -1)), (-0.1, -0.1), False),  # a slope between 0 and 1 is uphill too
        ((0, 1), ((1, 0), (0, -1)), (0, -1), False),  # one zero in the gradient does not make a stationary point
        ((2, 2), ((1, 0), (0, -1)), (-2, -2), False),  # a slope of exactly 0 is no descent
        ((4, 4), ((-4, 0), (0, 0)), (-1, -1e8), False),  # the sizes are moduli
        ((1, 0), ((1, 0), (0, 0)), (-1, 0), False),
        ((1, 2), ((0, 0), (0, 0)), (-1e38, -2e38), False),
        ((0, 0), ((-1, 0), (0, -1)), (0, 0), True),
        ((1, np.nan), ((1, 0), (0, 1)), (0, 0), False),
        ((np.inf, 1), ((1, 0), (0, 1)), (0, 0), False),
        ((1, 1), ((1, np.nan), (0, 1)), (0, 0), False),
        ((1, 1), ((np.inf, 0), (0, 1)), (0, 0), False),
    ],
)  # fmt: skip
def test_directions_at_the_edges(gradient: Any, matrix: Any, step: Any, definite: bool) -> None:
    found, sure = newton._directions(table(gradient), table(*matrix)[None])
    assert found[0] == pytest.approx(np.array(step, dtype=float), rel=1e-9)
    assert sure[0] == definite
    good = newton._directions(np.vstack([table(gradient), table([3.0, 5.0])]), np.stack([table(*matrix), np.eye(2)]))
    assert good[0][1].tolist() == [-3, -5]
    assert good[1][1]


@pytest.mark.parametrize(
    ("value", "slope", "step", "edge"),
    [(1.0, 0.0, -1.0, 2e-14), (0.0, 0.0, -1.0, 1e-14), (-3.0, 0.0, 1.0, 4e-14), (0.0, 2.0, -3.0, 1e-14 - 6e-4)],
)
def test_armijo_turns_at_its_edge(value: float, slope: float, step: float, edge: float) -> None:
    def accepts(trial: float) -> bool:
        return bool(newton._armijo(np.array([value]), table([slope]), table([step]), np.array([trial]))[0])

    exact = value + 1e-4 * (slope * step) + 1e-14 * (1 + abs(value))
    assert exact == pytest.approx(value + edge, rel=0, abs=1e-15)
    assert accepts(exact)
    assert not accepts(np.nextafter(exact, np.inf))


def test_the_three_conditions_turn_at_their_numbers() -> None:
    def done(residual: float, bend: float, y: float = 0.0) -> bool:
        return bool(newton._judged(table([y]), np.array([residual]), table([bend]).reshape(1, 1, 1)).converged[0])

    assert done(2e-7, 1.0)
    assert not done(2.01e-7, 1.0)
    assert done(1e-7 * 3.9, 1.0, y=2.0)
    assert not done(1e-7 * 4.1, 1.0, y=2.0)
    assert done(1e-6 * 0.01, 0.01)
    assert not done(1.01e-6 * 0.01, 0.01)
    assert done(0.99e-6 * 0.03, 0.01, y=2.0)
    assert not done(1.01e-6 * 0.03, 0.01, y=2.0)
    assert not done(0.0, 0.0)
    wide = newton._judged(table([0.0, 0.0]), np.array([9e-7]), np.array([[[9.0, 2.0], [2.0, 9.0]]]))
    assert wide.converged[0], "the size is that of the largest entry"
    assert not newton._judged(table([0.0, 0.0]), np.array([1.1e-6]), np.array([[[9.0, 2.0], [2.0, 9.0]]])).converged[0]


def test_steps_are_cut_at_their_own_lengths() -> None:
    Y = table([3.0, 4.0])
    for definite, longest in ((True, 6e6), (False, 60.0)):
        exact = newton._capped(table([longest, 0.0]), np.array([definite]), Y)
        assert exact[0].tolist() == [longest, 0.0]
        cut = newton._capped(table([0.0, -3 * longest]), np.array([definite]), Y)
        assert cut[0] == pytest.approx([0.0, -longest], rel=1e-15)
        assert newton._capped(table([0.9 * longest, 0.0]), np.array([definite]), Y)[0].tolist() == [0.9 * longest, 0.0]


def test_longest_steps_at_the_ends_of_the_range() -> None:
    low, high = np.array([-1.0, -2.0]), np.array([3.0, 4.0])
    Y = table([1.0, -2.0], [1.0, 4.0], [1.0, 1.0], [2.0, 1.0], [-1.0, 0.5], [1.0, 1.0])
    step = table([4.0, 0.0], [-4.0, 0.0], [0.0, 12.0], [0.5, -6.0], [0.0, 0.25], [1e4, 0.0])
    expected = [0.5, 0.5, 0.25, 0.5, 1.0, 1e-3]
    assert newton._longest(Y, step, low, high) == pytest.approx(expected, rel=1e-15)


def test_an_empty_batch_is_empty_in_every_part() -> None:
    found = newton.minimise(batched(bowl, []), np.empty((0, 3)), np.empty((0, 2)))
    assert found.y.shape == (0, 2)
    assert found.residual.shape == found.curvature.shape == found.converged.shape == (0,)


def test_norms_and_eigenvalues_of_rows() -> None:
    assert newton._norms(table([3.0, 4.0], [0.0, -2.0])).tolist() == [5.0, 2.0]
    many = np.array([[[np.inf, 0.0], [0.0, 1.0]], [[4.0, 0.0], [0.0, 3.0]], [[1.0, 2.0], [2.0, 1.0]]])
    assert newton._smallest_eigenvalue(many) == pytest.approx([-np.inf, 3.0, -1.0])


def test_outputs_of_a_second_order_program_have_their_places() -> None:
    names = (sympy.Symbol("x1", real=True), Y1, Y2)
    local = newton.local_of(Function(names[0] * Y1**2 + 3 * Y1 * Y2 + 5 * Y2**2, names, 1))
    value, gradient, hessian = local(table([2.0], [1.0]), table([1.0, 1.0], [2.0, 0.0]), np.arange(2))
    assert value.tolist() == [10.0, 4.0]
    assert gradient.tolist() == [[7.0, 13.0], [4.0, 6.0]]
    assert hessian.tolist() == [[[4.0, 3.0], [3.0, 10.0]], [[2.0, 3.0], [3.0, 10.0]]]


@pytest.mark.parametrize(
    ("step", "share"), [(0.5, 0.5), (0.1, 1.0), (4.0, 0.0625), (-0.5, 1.0), (-2.0, 0.5), (0.0, 1.0)]
)
def test_a_step_of_any_size_stays_within_the_declared_range(step: float, share: float) -> None:
    from bilevel_verify.truth.lower_level import newton as rules

    found = rules._longest(np.zeros((1, 1)), np.array([[step]]), np.array([-1.0]), np.array([0.25]))
    assert found.tolist() == [share]
