"""Hoffman's constant as its definition says, and what becomes of it: exact numbers, thresholds, certainties."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy

import bilevel_verify as bv
from bilevel_verify.problems.feasible import WholeSpace
from bilevel_verify.truth.arithmetic.enclosure import Enclosure
from bilevel_verify.truth.functions.model import Function
from bilevel_verify.truth.sets import projections
from bilevel_verify.truth.simple_bilevel import error_bound
from bilevel_verify.truth.simple_bilevel.error_bound import ErrorBound, check_error_bound, derive_error_bound

pytestmark = pytest.mark.fast
F = Fraction


def matrix(rows: Any, n: int) -> Any:
    return np.array(rows, dtype=float).reshape(-1, n)


def hoffman(M: Any, normals: Any = (), equations: Any = (), n: int = 3) -> float | None:
    return error_bound.hoffman(matrix(M, n), matrix(normals, n), matrix(equations, n))


def rank(rows: Any) -> int:
    """Also of no rows at all, of which NumPy 2.0 knows no rank."""
    return int(np.linalg.matrix_rank(rows)) if len(rows) else 0


def by_definition(M: Any, normals: Any, equations: Any, n: int) -> float | None:
    """``max 1 / sigma_min+ (M P_J)`` over all independent sets J, projections by pseudo-inverses."""
    M, G, E = matrix(M, n), matrix(normals, n), matrix(equations, n)
    worst = 0.0
    for k in range(n + 1):
        for chosen in itertools.combinations(range(len(G)), k):
            rows = np.vstack([E, G[list(chosen)].reshape(-1, n)])
            if rank(rows) < rank(E) + k:
                continue
            off = M @ (np.eye(n) - np.linalg.pinv(rows) @ rows)
            values = [v for v in np.linalg.svd(off, compute_uv=False) if v > 1e-9]
            worst = max(worst, 1 / min(values)) if values else worst
    return worst or None


ROWS = [[1, 0, 0], [0, 2, 1], [1, 1, 1], [3, -1, 0]]
NORMALS = [[1, 2, 0], [0, 1, -1], [1, 0, 4], [-1, 1, 1]]


@pytest.mark.slow
@pytest.mark.parametrize("equations", [[], [[1, 1, 0]], [[0, 0, 5]], [[1, 0, -1], [0, 1, 1]]])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_the_constant_is_that_of_the_definition(rows: int, equations: Any) -> None:
    for M in itertools.combinations(ROWS, rows):
        for count in range(len(NORMALS) + 1):
            found = hoffman(M, NORMALS[:count], equations)
            expected = by_definition(M, NORMALS[:count], equations, 3)
            assert found == (expected if expected is None else pytest.approx(expected, rel=1e-9))
            assert expected is None or found is None or found >= expected * (1 - 1e-12)


def test_small_rows_count_and_lost_ones_do_not() -> None:
    assert hoffman([[1e-7, 0, 0]]) == pytest.approx(1e7)
    assert hoffman([[1e-7, 0, 0], [0, 0, 0], [0, 1, 0]]) == pytest.approx(1e7)
    assert hoffman([[0, 0, 0]]) is None
    kept, lost = [1, 2e-12, 0], [1, 0.5e-12, 0]
    assert hoffman([kept], (), [[1, 0, 0]]) == pytest.approx(0.5e12)
    assert hoffman([lost], (), [[1, 0, 0]]) is None
    assert hoffman([lost, [0, 0, 2]], (), [[1, 0, 0]]) == pytest.approx(0.5)
    tiny = [[1e-12, 0, 0], [0, 1e-13, 0], [0, 0, 3], [0, 1, 1]]
    assert hoffman([[1, 0, 1]], tiny) == pytest.approx(by_definition([[1, 0, 1]], tiny[2:], [], 3))
    assert hoffman([[1, 0, 1]], [[2e-12, 0, 0]]) == pytest.approx(1.0)


def test_pairs_that_are_hardly_independent_count_by_their_least_singular_value() -> None:
    """Unit normals with singular values 1.5e-9 and 0.7e-9: the first pair spans a plane, the second does not."""
    M = [[0, 1, 1]]
    assert hoffman(M, [[1, 0, 0], [1, 2.1e-9, 0]]) == pytest.approx(1.0)
    assert hoffman(M, [[1, 0, 0], [1, 1.0e-9, 0]]) == pytest.approx(np.sqrt(0.5))


@pytest.mark.parametrize(("n", "normals"), [(1, 2), (2, 1), (2, 5), (3, 4), (3, 7), (4, 3)])
def test_subsets_are_counted_before_they_are_enumerated(monkeypatch: pytest.MonkeyPatch, n: int, normals: int) -> None:
    angles = np.arange(1, normals + 1) / (normals + 1)
    G = np.array([[np.cos(t) if k == 0 else np.sin((k + 1) * t) for k in range(n)] for t in angles])
    G = np.array([[1.0], [-1.0]]) if n == 1 else G
    total = sum(comb(normals, k) for k in range(min(n, normals) + 1))
    monkeypatch.setattr(error_bound, "MOST_SUBSETS", total)
    assert hoffman(np.ones(n), G, n=n) is not None or n == 1
    monkeypatch.setattr(error_bound, "_least_growth", lambda *_: pytest.fail("enumerated"))
    monkeypatch.setattr(error_bound, "MOST_SUBSETS", total - 1)
    assert hoffman(np.ones(n), G, n=n) is None
    monkeypatch.setattr(error_bound, "MOST_SUBSETS", total)
    with pytest.raises(pytest.fail.Exception):
        hoffman(np.ones(n), G, n=n)


# ---- least growth -------------------------------------------------------------------------------------------------

NONE, FIRST = np.empty((2, 0)), np.array([[1.0], [0.0]])


@pytest.mark.parametrize(
    ("part", "found"),
    [
        (0.0, np.inf), (0.5e-13, np.inf), (1e-13, np.inf), (2e-13, None), (0.9e-9, None), (1e-9, None),
        (1.5e-9, 1.5e-9), (1e-3, 1e-3), (1.0, np.sqrt(0.5) * np.sqrt(2)),
    ],
)  # fmt: skip
def test_what_is_nearly_zero_is_refused(part: float, found: float | None) -> None:
    """A row with so much off the span: zero up to 1e-13, unclear up to 1e-9 (of unit rows)."""
    growth = error_bound._least_growth(np.array([[1.0, part]]), FIRST)
    assert growth == (found if found is None else pytest.approx(found, rel=1e-4))
    if growth is not None and found is not None and np.isfinite(found):
        assert growth < part
    both = error_bound._least_growth(np.array([[1.0, part], [0.0, 1.0]]), FIRST)
    assert both == pytest.approx(np.sqrt(1 + part**2)), "a clear row along the same direction"
    beside = error_bound._least_growth(np.array([[1.0, part, 0.0], [0.0, 0.0, 5.0]]), np.eye(3)[:, :1])
    assert beside == (found if found is None else pytest.approx(min(found, 5.0), rel=1e-4)), "one unclear row is enough"


def test_growth_takes_its_rounding_off() -> None:
    plain = error_bound._least_growth(np.diag([3.0, 1.0]), NONE)
    assert plain == pytest.approx(1 - 6e-14, abs=1e-15)
    small = error_bound._least_growth(np.diag([3.0, 1e-9]), NONE)
    assert small is not None
    assert 0.9e-12 < 1 - small / 1e-9 < 1.1e-12
    assert error_bound._least_growth(np.array([[2.0, 0.0], [4.0, 0.0], [0.0, 7.0]]), NONE) == pytest.approx(np.sqrt(20))
    skew = np.array([[3.0, 4.0], [0.0, 2.0]])
    assert error_bound._least_growth(skew, FIRST) == pytest.approx(np.sqrt(20))
    assert error_bound._least_growth(skew, NONE) == pytest.approx(np.linalg.svd(skew, compute_uv=False)[1])


# ---- pairs --------------------------------------------------------------------------------------------------------


def quadratic(*diagonal: Fraction) -> Any:
    n = len(diagonal)
    return SimpleNamespace(Q=[[diagonal[i] if i == j else F(0) for j in range(n)] for i in range(n)])


def level(**changes: Any) -> Any:
    """A lower level of two variables: rows x1 >= 0, 3 x2 >= 0, x1 <= 1 of which the first two press."""
    known: dict[str, Any] = {
        "n": 2, "structure": SimpleNamespace(quadratic=quadratic(F(0), F(0)), missing="", ridges=()),
        "supporting_sets": ([0, 1], [2]), "_reduced": SimpleNamespace(rows=[1, 0, 2], columns=[0, 1, 2]),
        "lower": SimpleNamespace(multipliers=[0.5, 0.25, 9.0]), "upper": SimpleNamespace(multipliers=[7.0, 7.0,
        7.0]), "facts": None,
        "feasible": SimpleNamespace(G=matrix([[-1, 0], [0, -3], [1, 0]], 2), E=matrix([], 2), balls=[], T=np.eye(2)),
        "problem": SimpleNamespace(feasible=bv.Box((0, 0), (3, 4))),
    }  # fmt: skip
    known.update(changes)
    return SimpleNamespace(**known)


def derived(monkeypatch: pytest.MonkeyPatch, simple: Any, H: float | None = 4.0) -> tuple[ErrorBound, list[Any]]:
    asked: list[Any] = []

    def constant(M: Any, normals: Any, equations: Any) -> float | None:
        asked.append((M.tolist(), normals.tolist(), equations.tolist()))
        return H

    monkeypatch.setattr(error_bound, "hoffman", constant)
    return error_bound._by_hoffman(simple), asked


def test_pressed_rows_and_their_least_multiplier() -> None:
    rows, least = error_bound._supporting(level())
    assert (rows.tolist(), least) == ([[-1, 0], [0, -3]], 0.25)
    with_facts = level(facts=SimpleNamespace(weights=(2.0, 3.0, 0.0)))
    assert error_bound._supporting(with_facts)[1] == 2.0
    rows, least = error_bound._supporting(level(supporting_sets=([], [0])))
    assert (rows.shape, least) == ((0, 2), np.inf)


def test_weak_sharpness_is_the_least_multiplier_over_the_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    found, asked = derived(monkeypatch, level())
    assert (found.alpha, found.r, found.certainty) == (0.25 / 4, 1.0, "computed")
    assert asked == [([[-1, 0], [0, -3]], [[-1, 0], [0, -3], [1, 0]], [])]


def test_squares_beside_slacks_take_the_whole_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """One square of weight 4 along x2 beside the slack of x1: reach is the diameter 5 times the norm of the row."""
    structure = SimpleNamespace(quadratic=quadratic(F(0), F(4)), missing="", ridges=())
    simple = level(structure=structure, supporting_sets=([0], []))
    found, asked = derived(monkeypatch, simple)
    assert asked[0][0] == [[0, 2], [-1, 0]]
    assert (found.alpha, found.r, found.certainty) == (pytest.approx(min(1.0, 2 * 0.25 / 5) / 16), 2.0, "computed")
    strong = level(structure=structure, supporting_sets=([0], []), facts=SimpleNamespace(weights=(50.0, 0.0, 0.0)))
    assert derived(monkeypatch, strong)[0].alpha == 1 / 16
    long = level(structure=structure, supporting_sets=([0], []))
    long.feasible.G = matrix([[-3, 4], [0, -3], [1, 0]], 2)
    assert derived(monkeypatch, long)[0].alpha == pytest.approx(2 * 0.25 / 25 / 16)
    for feasible in (bv.Orthant(), None):
        open_set = level(structure=structure, supporting_sets=([0], []), problem=SimpleNamespace(feasible=feasible))
        unknown = derived(monkeypatch, open_set)[0]
        assert (unknown.alpha, unknown.r, unknown.certainty) == (None, None, "computed")


def test_squares_alone_grow_quadratically(monkeypatch: pytest.MonkeyPatch) -> None:
    structure = SimpleNamespace(quadratic=quadratic(F(9), F(1, 4)), missing="", ridges=())
    found, asked = derived(monkeypatch, level(structure=structure, supporting_sets=([], [])))
    assert asked[0][0] == [[3, 0], [0, 0.5]]
    assert (found.alpha, found.r, found.certainty) == (1 / 16, 2.0, "computed")
    assert found.why.startswith("quadratic growth")
    none, _ = derived(monkeypatch, level(structure=structure), H=None)
    assert (none.alpha, none.r, none.certainty) == (None, None, "computed")
    constant, asked = derived(monkeypatch, level(supporting_sets=([], [])))
    assert (constant.alpha, constant.r, constant.certainty, asked) == (None, None, "computed", [])


@pytest.mark.parametrize(("turn", "sharp"), [(2.1e-9, False), (1.0e-9, True), (0.0, True)])
def test_squares_in_the_span_of_the_slacks_add_nothing(
    monkeypatch: pytest.MonkeyPatch, turn: float, sharp: bool
) -> None:
    """Unit rows with least singular value ``turn / sqrt 2`` have rank two above 1e-9."""
    t = F(turn)
    structure = SimpleNamespace(quadratic=SimpleNamespace(Q=[[F(4), 4 * t], [4 * t, 4 * t * t]]), missing="", ridges=())
    simple = level(structure=structure, supporting_sets=([0], []))
    found, asked = derived(monkeypatch, simple)
    assert found.r == (1.0 if sharp else 2.0)
    assert asked[0][0] == ([[-1, 0]] if sharp else [[2, 2 * turn], [-1, 0]])


def test_slacks_that_hardly_differ_have_the_rank_of_all() -> None:
    """Two slacks 2.1e-9 apart span the plane, so that a square within it adds nothing: the same threshold twice."""
    structure = SimpleNamespace(quadratic=quadratic(F(4), F(0)), missing="", ridges=())
    simple = level(structure=structure)
    simple.feasible.G = matrix([[-1, 0], [-1, 2.1e-9], [1, 0]], 2)
    with pytest.MonkeyPatch.context() as patch:
        assert derived(patch, simple)[0].r == 1.0


def test_unit_rows() -> None:
    assert error_bound._unit_rows(matrix([[3, 4], [0, 0], [0, -2]], 2)).tolist() == [[0.6, 0.8], [0, 0], [0, -1]]


def test_every_kind_of_level_has_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed form first, then a lifted level, then none, then Hoffman."""
    monkeypatch.setattr(error_bound, "_by_hoffman", lambda _: ErrorBound(3.0, 2.0, "computed", "by Hoffman"))
    monkeypatch.setattr(error_bound, "_closed_form", lambda simple: getattr(simple, "known", None))
    proved = ErrorBound(0.5, 1.0, "proved", "known")
    assert derive_error_bound(level(known=proved, above=level())) is proved
    assert derive_error_bound(level()).why == "by Hoffman"
    lifted = derive_error_bound(level(above=level(known=ErrorBound(0.25, 1.0, "certified", "above"))))
    assert (lifted.alpha, lifted.r, lifted.certainty) == (0.25, 1.0, "certified")
    assert lifted.why.endswith("lifted: above")
    assert derive_error_bound(level(above=None)).why == "by Hoffman"
    structure = {"quadratic": quadratic(F(1), F(1)), "missing": "", "ridges": ()}
    for change in ({"missing": "a term"}, {"ridges": (1,)}, {"missing": "a term", "ridges": (1,)}):
        found = derive_error_bound(level(structure=SimpleNamespace(**{**structure, **change})))
        assert (found.alpha, found.r, found.certainty) == (None, None, "computed")
        assert "not a quadratic" in found.why
    for balls, T in (([1], np.eye(2)), ([], np.ones((2, 4))), ([1], np.ones((2, 4)))):
        found = derive_error_bound(level(feasible=SimpleNamespace(balls=balls, T=T)))
        assert (found.alpha, found.r, found.certainty) == (None, None, "computed")
        assert "few linear constraints" in found.why


# ---- claims -------------------------------------------------------------------------------------------------------


def claim(
    monkeypatch: pytest.MonkeyPatch, rows: list[tuple[float, float, float]], slack: float = 0.0, **options: Any
) -> Any:
    """Test of a pair on points with given (g, distance, error of the distance)."""
    monkeypatch.setattr(error_bound, "_values", lambda _: lambda z: rows[int(z[0])][0])
    simple: Any = SimpleNamespace(
        g_star=Enclosure(2.0, slack), distance=lambda z: Enclosure(rows[int(z[0])][1], rows[int(z[0])][2])
    )
    points = np.arange(len(rows), dtype=float)[:, None]
    return check_error_bound(simple, options.get("alpha", 1.0), options.get("r", 1.0), points)


@pytest.mark.parametrize("r", [1.0, 2.0, 3.0])
def test_ratios_are_those_of_the_definition(monkeypatch: pytest.MonkeyPatch, r: float) -> None:
    """``(g - g* + 2 slack) r / (alpha (dist - error)^r)``, the least of all points."""
    rows = [(5.0, 1.5, 0.5), (9.0, 3.0, 1.0), (2.25, 0.75, 0.25), (4.0, 0.5, 0.5), (2.0, 0.25, 0.5)]
    found = claim(monkeypatch, rows, slack=0.125, alpha=0.5, r=r)
    ratios = [(g - 2 + 0.25) * r / (0.5 * (d - e) ** r) for g, d, e in rows if d > e]
    assert found.ratio == min(ratios)
    assert found.samples == 5
    assert found.holds == (min(ratios) >= 1)
    assert (found.witness is None) == found.holds
    if not found.holds:
        assert found.witness.tolist() == [ratios.index(min(ratios))]


def test_ties_name_the_first_point_and_the_boundary_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert claim(monkeypatch, [(2.5, 1.0, 0.0), (2.5, 1.0, 0.0)]).witness.tolist() == [0.0]
    monkeypatch.setattr(error_bound, "_values", lambda _: lambda z: float(z[0]))
    exact: Any = SimpleNamespace(g_star=Enclosure(0.0, 0.0), distance=lambda z: Enclosure(1.0, 0.0))
    edge = 1 - 1e-9
    assert check_error_bound(exact, 1.0, 1.0, [[edge]]).holds
    assert not check_error_bound(exact, 1.0, 1.0, [[np.nextafter(edge, 0)]]).holds
    assert check_error_bound(exact, 1.0, 1.0, [[edge]]).witness is None
    empty = check_error_bound(exact, 1.0, 1.0, np.empty((0, 1)))
    assert (empty.holds, empty.ratio, empty.samples) == (True, np.inf, 0)


@pytest.mark.parametrize(("error", "slack"), [(np.inf, 0.0), (0.0, np.inf), (np.inf, np.inf)])
def test_without_an_error_bar_nothing_is_tested(monkeypatch: pytest.MonkeyPatch, error: float, slack: float) -> None:
    with pytest.raises(bv.MathematicalError, match="cannot be tested"):
        claim(monkeypatch, [(5.0, 1.0, error)], slack=slack)


@pytest.mark.parametrize(
    ("alpha", "r"), [(0.0, 2.0), (-1.0, 2.0), (np.inf, 2.0), (np.nan, 2.0), (1.0, np.inf), (1.0, np.nan), (1.0, 0.999)]
)
def test_other_pairs_are_refused(monkeypatch: pytest.MonkeyPatch, alpha: float, r: float) -> None:
    with pytest.raises(bv.InputError, match="alpha > 0 and r >= 1"):
        claim(monkeypatch, [(5.0, 1.0, 0.0)], alpha=alpha, r=r)


def test_samples_are_drawn_near_and_far(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def project(feasible: Any, z: Any) -> Any:
        asked.append(feasible)
        return z

    monkeypatch.setattr(projections, "project", project)
    base, box = np.array([5.0, 7.0, 9.0]), bv.Box((0, 0, 0), (1, 1, 1))
    for feasible in (box, None):
        simple: Any = SimpleNamespace(
            problem=SimpleNamespace(feasible=feasible), solutions=SimpleNamespace(point=base), n=3
        )
        asked.clear()
        found = error_bound._sample(simple, 9, 4)
        rng, expected = np.random.default_rng(4), []
        for k in range(9):
            size = 10.0 ** rng.uniform(-3, 0.7)
            draw = rng.normal(size=3)
            expected.append(base + size * draw if k % 2 == 1 else 2 * draw)
        assert found.tolist() == np.array(expected).tolist()
        assert all(one is box if feasible else isinstance(one, WholeSpace) for one in asked)
        assert len(asked) == 9


def test_two_hundred_points_of_seed_zero_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(
        error_bound, "_sample", lambda _, count, seed: asked.append((count, seed)) or np.ones((count, 1))
    )
    monkeypatch.setattr(error_bound, "_values", lambda _: lambda z: 9.0)
    simple: Any = SimpleNamespace(g_star=Enclosure(0.0, 0.0), distance=lambda z: Enclosure(1.0, 0.0))
    assert check_error_bound(simple, 1.0, 1.0).samples == 200
    assert check_error_bound(simple, 1.0, 1.0, count=3, seed=5).samples == 3
    assert asked == [(200, 0), (3, 5)]


def test_values_come_from_derivatives_or_from_the_program_alone() -> None:
    x = sympy.symbols("x1 x2", real=True)
    simple: Any = SimpleNamespace(smooth=lambda g: lambda z: (g + z[0], 8.0, 9.0), _g=7.0, above=None)
    assert error_bound._values(simple)(np.array([2.0, 3.0])) == 9.0
    del simple.above
    assert error_bound._values(simple)(np.array([2.0, 3.0])) == 9.0
    kinked: Any = SimpleNamespace(_g=Function(sympy.Abs(x[0]) + 3 * x[1] + 0.5, x, 2), above=level())
    assert error_bound._values(kinked)(np.array([-2.0, 3.0])) == 11.5
