"""Hoffman's constant against closed forms, the pair of the constants room, and the test of claimed pairs."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.truth.simple_bilevel import error_bound

pytestmark = pytest.mark.fast
S = bv.simple_bilevel
NO_ROWS = np.empty((0, 2))


def hoffman(M: Any, normals: Any, equations: Any = None) -> float | None:
    M = np.atleast_2d(np.asarray(M, dtype=float))
    n = M.shape[1]
    rows = np.asarray(normals, dtype=float).reshape(-1, n)
    return error_bound.hoffman(
        M, rows, np.empty((0, n)) if equations is None else np.atleast_2d(equations).astype(float)
    )


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("cosine", [0.1, 0.6, -0.6, 0.9])
def test_one_normal_beside_the_row(n: int, cosine: float) -> None:
    """``dist <= |M d| / sin`` where the set is cut obliquely: the subset of the one normal must be looked at."""
    a, b = np.zeros(n), np.zeros(n)
    a[0], b[0], b[1] = 1.0, cosine, np.sqrt(1 - cosine**2)
    assert hoffman(2 * a, [b]) == pytest.approx(1 / (2 * np.sqrt(1 - cosine**2)))
    assert hoffman(2 * a, np.empty((0, n))) == pytest.approx(0.5)


def test_every_subset_of_normals_counts() -> None:
    turn = np.deg2rad([80.0, 100.0])
    normals = np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
    third = np.array([[0.0, np.cos(0.2), np.sin(0.2)]])
    M = np.array([[0.0, 0.0, 1.0]])
    assert hoffman(M, normals) == pytest.approx(1.0)
    assert hoffman(M, third) == pytest.approx(1 / np.cos(0.2))
    both = hoffman(M, np.vstack([normals, third]))
    assert both is not None
    assert both >= 1 / np.cos(0.2) * (1 - 1e-12)
    pair = np.vstack([normals[:1], third])
    basis = np.linalg.qr(pair.T)[0]
    exact = 1 / np.linalg.norm(M[0] - basis @ (basis.T @ M[0]))
    assert hoffman(M, pair) == pytest.approx(exact)


def test_equations_only_leave_directions() -> None:
    assert hoffman([3.0, 4.0], np.empty((0, 2)), [[0.0, 1.0]]) == pytest.approx(1 / 3)
    assert hoffman([0.0, 4.0], np.empty((0, 2)), [[0.0, 1.0]]) is None
    assert hoffman([3.0, 0.0, 1.0], [[1.0, 1.0, 0.0]], [[0.0, 1.0, 0.0]]) == pytest.approx(1.0)


def test_dependent_zero_and_repeated_normals_change_nothing() -> None:
    normals = [[0.6, 0.8], [0.0, 0.0], [1.2, 1.6], [0.6, 0.8]]
    assert hoffman([1.0, 0.0], normals) == pytest.approx(1 / 0.8)
    opposite = hoffman([1.0, 0.0], [[0.6, 0.8], [-0.6, -0.8]])
    assert opposite == pytest.approx(1 / 0.8)


def test_too_many_subsets_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    normals = np.eye(2)
    assert hoffman([1.0, 0.5], normals) is not None
    monkeypatch.setattr(error_bound, "MOST_SUBSETS", 4)
    assert hoffman([1.0, 0.5], normals) is not None, "1 + 2 + 1 subsets"
    monkeypatch.setattr(error_bound, "MOST_SUBSETS", 3)
    assert hoffman([1.0, 0.5], normals) is None


def sampled(M: Any, normals: Any) -> float:
    """A lower bound of Hoffman's constant: distances to ``{G z <= 0, M z = 0}`` of random points of the cone."""
    from scipy.optimize import nnls

    rng, worst = np.random.default_rng(0), 0.0
    M, G = np.atleast_2d(M), np.atleast_2d(normals)
    for _ in range(400):
        z = rng.normal(size=M.shape[1])
        z = z - np.linalg.lstsq(G, np.maximum(G @ z, 0), rcond=None)[0] if rng.random() < 0.7 else z
        if np.any(G @ z > 1e-12) or np.linalg.norm(M @ z) < 1e-9:
            continue
        columns = np.vstack([G, M, -M]).T  # the polar cone: z minus its projection
        distance = np.linalg.norm(columns @ nnls(columns, z)[0])
        worst = max(worst, distance / np.linalg.norm(M @ z))
    return float(worst)


@pytest.mark.parametrize("seed", range(6))
def test_the_constant_is_never_below_what_points_show(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 4))
    M, normals = rng.normal(size=(int(rng.integers(1, n)), n)), rng.normal(size=(int(rng.integers(1, 4)), n))
    found = hoffman(M, normals)
    assert found is not None
    assert found >= sampled(M, normals) * (1 - 1e-9)


# ---- the pair of the constants room --------------------------------------------------------------------------------


def pair(alpha: float, r: float, sure_alpha: bool = True, sure_r: bool = True) -> Any:
    why = SimpleNamespace(statement="said so")
    return {
        "alpha": SimpleNamespace(value=alpha, certified=sure_alpha, why=why),
        "r": SimpleNamespace(value=r, certified=sure_r, why=why),
    }


def closed_form(monkeypatch: pytest.MonkeyPatch, answer: Any) -> Any:
    def constants(*_: Any, **__: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(importlib.import_module("bilevel_verify.constants"), "constants", constants)
    return error_bound._closed_form(SimpleNamespace(problem=None))  # type: ignore[arg-type]


def test_a_certified_pair_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    found = closed_form(monkeypatch, pair(0.5, 2.0))
    assert (found.alpha, found.r, found.certainty, found.why) == (0.5, 2.0, "proved", "said so")


@pytest.mark.parametrize(
    "answer",
    [
        pair(0.5, 2.0, sure_alpha=False), pair(0.5, 2.0, sure_r=False), pair(0.0, 2.0), pair(-1.0, 2.0),
        pair(0.5, np.inf), pair(0.5, np.nan), pair(np.nan, 2.0), {}, {"alpha": pair(1, 2)["alpha"]},
        bv.MathematicalError("no"), bv.InputError("no"),
    ],
)  # fmt: skip
def test_nothing_else_is_a_closed_form(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    assert closed_form(monkeypatch, answer) is None


def test_our_own_mistakes_are_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError):
        closed_form(monkeypatch, TypeError("a mistake"))


# ---- derived pairs -------------------------------------------------------------------------------------------------


def by_hoffman(g: str, feasible: Any, n: int = 2) -> Any:
    names = " ".join(f"x{i + 1}" for i in range(n))
    return error_bound._by_hoffman(bv.truth(S(f="x1**2", g=g, x=names, feasible=feasible)).simple)


def test_quadratic_growth() -> None:
    found = by_hoffman("(2*x1)**2/2", bv.Box((-1, -1), (1, 1)))
    assert (found.alpha, found.r, found.certainty) == (pytest.approx(4), 2.0, "computed")
    cut = by_hoffman("x1**2/2", bv.Intersection((bv.HalfSpace((-3.0, 4.0), 0.0), bv.Box((-9, -9), (9, 9)))))
    assert cut.alpha == pytest.approx(0.8**2), "1 / H with the oblique side"


def test_weak_sharpness_takes_the_least_multiplier() -> None:
    found = by_hoffman("2*x1 + 5*x2", bv.Box((0, 0), (1, 1)))
    assert (found.alpha, found.r) == (pytest.approx(2), 1.0)
    assert found.alpha <= 2 * (1 + 1e-12)


def test_mixed_growth_holds_on_the_whole_set() -> None:
    g, box = "x1/100 + x2**2/2", bv.Box((0, 0), (4, 4))
    found = by_hoffman(g, box)
    assert found.r == 2
    grid = np.stack(np.meshgrid(np.linspace(0, 4, 41), np.linspace(0, 4, 41)), axis=-1).reshape(-1, 2)
    value, distance = grid[:, 0] / 100 + grid[:, 1] ** 2 / 2, np.linalg.norm(grid, axis=1)
    assert (found.alpha / 2 * distance**2 <= value * (1 + 1e-12)).all()
    assert found.alpha == pytest.approx(min(1.0, 2 * 0.01 / (4 * 2**0.5)))
    open_set = by_hoffman(g, bv.Orthant())
    assert (open_set.alpha, open_set.r) == (None, None)


def test_a_constant_level_and_too_many_rows_give_no_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    assert by_hoffman("0*x1 + 3", bv.Box((0, 0), (1, 1))).alpha is None
    monkeypatch.setattr(error_bound, "MOST_SUBSETS", 0)
    assert by_hoffman("x1**2/2", bv.Box((-1, -1), (1, 1))).alpha is None


@pytest.mark.parametrize(
    ("alpha", "r"), [(0, 2), (-1, 2), (np.nan, 2), (np.inf, 2), (1, 0.5), (1, np.nan), (1, np.inf)]
)
def test_claims_out_of_range_are_refused(alpha: float, r: float) -> None:
    simple = bv.truth(S(f="x1**2", g="x1**2/2", x="x1", feasible=bv.Box((-1,), (1,)))).simple
    with pytest.raises(bv.InputError, match="alpha > 0"):
        error_bound.check_error_bound(simple, alpha, r)


def test_claims_are_judged_at_the_boundary() -> None:
    simple = bv.truth(S(f="x1**2", g="x1**2/2", x="x1", feasible=bv.Box((-1,), (1,)))).simple
    points = np.array([[0.5], [-0.25], [0.0]])
    assert error_bound.check_error_bound(simple, 1.0, 2, points).holds
    assert error_bound.check_error_bound(simple, 1.0, 2, points).ratio == pytest.approx(1.0)
    wrong = error_bound.check_error_bound(simple, 1.001, 2, points)
    assert not wrong.holds
    assert wrong.samples == 3
    assert wrong.witness is not None
    sharp = error_bound.check_error_bound(simple, 0.25, 1, points)
    assert not sharp.holds
    assert sharp.witness.tolist() == [-0.25], "the worst point"
    assert sharp.ratio == pytest.approx(0.5)
    only_solutions = error_bound.check_error_bound(simple, 1.0, 2, np.zeros((2, 1)))
    assert only_solutions.holds
    assert only_solutions.witness is None


def test_unknown_distances_test_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from bilevel_verify.truth.simple_bilevel import simple_bilevel

    monkeypatch.setattr(simple_bilevel, "lower_facts", lambda *_: None)
    simple = bv.truth(S(f="x1**2", g="x1**2/2 + exp(x1)/9", x="x1", feasible=bv.Box((-1,), (1,)))).simple
    with pytest.raises(bv.MathematicalError, match="cannot be tested"):
        error_bound.check_error_bound(simple, 100.0, 2, np.array([[0.5]]))


@pytest.mark.slow
@pytest.mark.parametrize("power", [4, 10, 16, 20, 24])
def test_small_curvatures_are_not_lost_beside_large_ones(power: int) -> None:
    found = by_hoffman(f"x1**2/10**{power} + x2**2", bv.Box((-1, -1), (1, 1)))
    assert found.alpha == pytest.approx(2 * 10.0**-power, rel=1e-3)
    assert found.alpha <= 2 * 10.0**-power * (1 + 1e-12)
    mixed = by_hoffman(f"x1**2/10**{power} + x2", bv.Box((-1, 0), (1, 1)))
    assert mixed.r == 2, "x1 has no slope: not weakly sharp"
    assert mixed.alpha <= 2 * 10.0**-power * (1 + 1e-12)


def test_directions_that_are_nearly_the_same_are_not_told_apart() -> None:
    assert hoffman([1.0, 0.0], [[1.0, 1e-11]]) is None
    assert hoffman([1.0, 0.0], [[1.0, 1e-16]]) == pytest.approx(1.0)
    assert hoffman([1.0, 0.0], [[1.0, 1e-5]]) == pytest.approx(1e5)


def test_least_growth_off_a_span() -> None:
    M = np.array([[3.0, 0.0], [0.0, 1e-9]])
    none, first = np.empty((2, 0)), np.array([[1.0], [0.0]])
    assert error_bound._least_growth(M, none) == pytest.approx(1e-9, rel=1e-3)
    assert error_bound._least_growth(M, first) == pytest.approx(1e-9, rel=1e-3)
    assert error_bound._least_growth(M[:1], none) == pytest.approx(3.0)
    assert error_bound._least_growth(M[:1], first) == np.inf
    assert error_bound._least_growth(M[:0], none) == np.inf
