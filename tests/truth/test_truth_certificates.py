"""Each certificate of truth alone, on inputs made to break it: it must not certify."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
import sympy

import bilevel_verify as bv
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.problems.feasible import Box
from bilevel_verify.truth.arithmetic.krawczyk import krawczyk
from bilevel_verify.truth.functions.limits import limit_at_infinity
from bilevel_verify.truth.functions.model import Function
from bilevel_verify.truth.functions.profiles import profile_kind
from bilevel_verify.truth.functions.quadratics import affine_form, ldl, quadratic_of
from bilevel_verify.truth.minimum.convex_minimum import is_convex, positive_semidefinite
from bilevel_verify.truth.sets.ranges import ranges_over
from bilevel_verify.truth.sets.squares import complete_squares
from bilevel_verify.truth.simple_bilevel import supported
from bilevel_verify.truth.simple_bilevel.certified_minimum import _nonnegative, certified_minimum, holds_in
from bilevel_verify.truth.simple_bilevel.exact_quadratic import _Polyhedron, _solve, exact_answer, solve_rational
from bilevel_verify.truth.simple_bilevel.path_following import Region, follow

pytestmark = pytest.mark.fast
S = bv.simple_bilevel
F = Fraction
T = sympy.Symbol("t", real=True)
X = sympy.symbols("x1 x2", real=True)


# ---- Krawczyk ------------------------------------------------------------------------------------------------------


def square_system(c: float) -> Any:
    """``u^2 = c``."""

    def system(u: list[Any]) -> tuple[list[Any], Any]:
        return [u[0] ** 2 - c], flint.arb_mat([[2 * u[0]]])

    return system


def test_krawczyk_holds_the_root_and_its_ball_is_small() -> None:
    found = krawczyk(square_system(2.0), [1.3])
    assert found is not None
    assert found[0].contains(flint.arb(2).sqrt())
    assert float(found[0].rad()) < 1e-12


@pytest.mark.parametrize(
    ("c", "start"), [(0.0, 0.3), (-1.0, 0.5), (2.0, 0.0), (2.0, float("nan")), (2.0, float("inf"))]
)
def test_krawczyk_proves_no_double_or_missing_root(c: float, start: float) -> None:
    assert krawczyk(square_system(c), [start]) is None


def test_krawczyk_sees_a_jacobian_that_is_wide() -> None:
    def system(u: list[Any]) -> tuple[list[Any], Any]:
        return [u[0] - 1], flint.arb_mat([[flint.arb(1, 2)]])

    assert krawczyk(system, [1.0]) is None


def test_krawczyk_in_two_unknowns_keeps_their_order() -> None:
    def system(u: list[Any]) -> tuple[list[Any], Any]:
        return [u[0] + u[1] - 3, u[0] * u[1] - 2], flint.arb_mat([[1, 1], [u[1], u[0]]])

    found = krawczyk(system, [0.8, 2.3])
    assert found is not None
    assert found[0].contains(1)
    assert found[1].contains(2)
    assert krawczyk(lambda u: ([u[0] + u[1], u[0] + u[1]], flint.arb_mat([[1, 1], [1, 1]])), [0.0, 0.0]) is None


# ---- rational answers ----------------------------------------------------------------------------------------------


def test_rational_systems() -> None:
    assert solve_rational([[F(2), F(0)], [F(0), F(4)]], [F(1), F(1)]) == ([F(1, 2), F(1, 4)], set())
    assert solve_rational([[F(1), F(1)], [F(2), F(2)]], [F(1), F(3)]) is None
    values, free = solve_rational([[F(1), F(1)], [F(2), F(2)]], [F(1), F(2)]) or ([], set())
    assert (values, free) == ([F(1), F(0)], {1})
    assert solve_rational([[F(0), F(0)]], [F(0)]) == ([F(0), F(0)], {0, 1})
    assert solve_rational([[F(0), F(0)]], [F(1)]) is None


def box_rows() -> _Polyhedron:
    """``0 <= x <= 1`` in two variables: rows x1 >= 0, x1 <= 1, x2 >= 0, x2 <= 1."""
    G = [[F(v) for v in row] for row in ((-1, 0), (1, 0), (0, -1), (0, 1))]
    return _Polyhedron(G, [F(0), F(1), F(0), F(1)], [], [])


@pytest.mark.parametrize(
    ("active", "supporting", "right"),
    [
        ([0], [0], True), ([0, 2], [0], False), ([1], [1], False), ([], [], False), ([0, 3], [0], False),
        ([0, 1], [0], False), ([2], [2], False), ([0], [], False),
    ],
)  # fmt: skip
def test_only_the_right_binding_rows_are_accepted(active: list[int], supporting: list[int], right: bool) -> None:
    f, g = quadratic_of((X[0] - 1) ** 2 + (X[1] - sympy.Rational(1, 2)) ** 2, X), quadratic_of(X[0] + X[0] ** 2, X)
    assert f is not None
    assert g is not None
    found, _ = _solve(f, g, box_rows(), active, supporting)
    assert (found is not None) == right
    if found is not None:
        assert (found.f_star, found.g_star, found.x, found.unique) == (F(1), F(0), (F(0), F(1, 2)), True)


def test_ties_of_the_upper_level_are_not_unique() -> None:
    p = S(f="x1**2", g="x2**2", x="x1 x2 x3", feasible=bv.Box((1, -1, -1), (2, 1, 1)))
    answer = exact_answer(bv.truth(p).simple)
    assert answer is not None
    assert (answer.f_star, answer.unique) == (F(1), False)
    assert bv.truth(p).x_star.error == np.inf


@pytest.mark.parametrize(
    ("f", "g", "feasible"),
    [
        ("x1**2", "x1**3", bv.Box((0,), (1,))), ("exp(x1)", "x1**2", bv.Box((0,), (1,))),
        ("x1**2", "x1**2", bv.Ball(1)),
    ],
)  # fmt: skip
def test_other_kinds_have_no_exact_answer(f: str, g: str, feasible: Any) -> None:
    assert exact_answer(bv.truth(S(f=f, g=g, x="x1", feasible=feasible)).simple) is None


@pytest.mark.parametrize(
    ("term", "yes"),
    [
        (X[0] ** 2 + 3 * (X[1] - 1) ** 4, True), (X[0] ** 2 - X[1] ** 2, False), (X[0] ** 3, False), (X[0], False),
        (sympy.Abs(X[0]) + bv.atoms.pluspow(1, X[1]), True), (-sympy.Abs(X[0]), False), (X[0] ** 2 + 1, False),
        (sympy.exp(X[0]), False), (X[0] ** -2, True), (sympy.Integer(0) * X[0], False),
    ],
)  # fmt: skip
def test_lower_bounds_of_zero(term: Any, yes: bool) -> None:
    assert _nonnegative(term) == yes


def test_certified_minima_are_attained_in_the_set() -> None:
    simple = bv.truth(S(f="x1", g="abspow(3, x1 - 1/3)", x="x1", feasible=bv.Box((0,), (1,)))).simple
    assert certified_minimum(simple, [0.3333333]) == (F(0), (F(1, 3),))
    assert certified_minimum(simple, [0.4]) is None
    outside = bv.truth(S(f="x1", g="abspow(3, x1 - 2)", x="x1", feasible=bv.Box((0,), (1,)))).simple
    assert certified_minimum(outside, [2.0]) is None


@pytest.mark.parametrize(
    ("feasible", "inside", "outside"),
    [
        (bv.Box((0, 0), (1, np.inf)), [(0, 0), (1, 9)], [(0, F(-1, 10**30)), (1 + F(1, 10**30), 0)]),
        (bv.Orthant(), [(0, 5)], [(F(-1, 10**30), 0)]),
        (bv.Ball(5), [(3, 4), (0, -5)], [(3, 4 + F(1, 10**30))]),
        (bv.Ball(1, (2.0, 0.0)), [(2, 1), (3, 0)], [(0, 0), (3, F(1, 10**20))]),
        (bv.Simplex(1), [(0, 1), (F(1, 3), F(2, 3))], [(F(1, 2), F(1, 2) + F(1, 10**30)), (-1, 2)]),
        (bv.L1Ball(1), [(F(-1, 2), F(1, 2))], [(F(-1, 2), F(1, 2) + F(1, 10**30))]),
        (bv.HalfSpace((1.0, 2.0), 3.0), [(1, 1)], [(1, 1 + F(1, 10**30))]),
        (bv.Isotonic(), [(1, 1), (-1, 4)], [(1, 1 - F(1, 10**30))]),
        (bv.Intersection((bv.Orthant(), bv.Ball(1))), [(0, 1)], [(-1, 0), (1, 1)]),
        (bv.WholeSpace(), [(10**9, -5)], []),
    ],
)
def test_membership_is_exact(feasible: Any, inside: Any, outside: Any) -> None:
    assert all(holds_in(feasible, tuple(map(F, point))) for point in inside)
    assert not any(holds_in(feasible, tuple(map(F, point))) for point in outside)


# ---- quadratics and convexity --------------------------------------------------------------------------------------


def test_sums_of_squares_are_exact() -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        n = int(rng.integers(1, 5))
        a = rng.integers(-3, 4, size=(n, n))
        matrix = [[F(int(v)) for v in row] for row in (a @ a.T if rng.random() < 0.6 else a + a.T)]
        factor = ldl(matrix)
        eigen = np.linalg.eigvalsh(np.array(matrix, dtype=float))
        total = [[sum((w * v[i] * v[j] for w, v in factor.squares), F(0)) for j in range(n)] for i in range(n)]
        if factor.sign != 0 or total == matrix:
            assert total == matrix
            signs = {1 if w > 0 else -1 for w, _ in factor.squares}
            assert factor.sign == (1 if signs <= {1} else -1 if signs == {-1} else 0)
        assert positive_semidefinite(matrix) == (eigen[0] > -1e-9)
    assert ldl([[F(0), F(1)], [F(1), F(0)]]).sign == 0
    assert not positive_semidefinite([[F(0), F(1)], [F(1), F(0)]])
    assert positive_semidefinite([[F(0), F(0)], [F(0), F(0)]])
    assert not positive_semidefinite([[F(-1)]])
    assert not positive_semidefinite([[F(1), F(0)], [F(0), F(-1, 10**30)]])


def test_completed_squares_are_the_same_function() -> None:
    expression = 3 * X[0] ** 2 + 2 * X[0] * X[1] + X[1] ** 2 - 5 * X[0] + 7
    quadratic = quadratic_of(expression, X)
    assert quadratic is not None
    squares, constant = complete_squares(quadratic) or ([], F(0))
    again = sum(sympy.Rational(w) / 2 * (sum(sympy.Rational(v) * s for v, s in zip(n, X)) + sympy.Rational(c)) ** 2
                for w, n, c in squares) + sympy.Rational(constant)  # fmt: skip
    assert sympy.expand(again - expression) == 0
    assert complete_squares(quadratic_of(X[0] ** 2 + X[1], X)) is None  # type: ignore[arg-type]
    assert complete_squares(quadratic_of(X[0] ** 2 - X[1] ** 2, X)) is None  # type: ignore[arg-type]
    assert affine_form(2 * X[0] - 3, X) == ((F(2), F(0)), F(-3))
    assert affine_form(X[0] ** 2, X) is None
    assert quadratic_of(X[0] ** 2 * X[1], X) is None
    assert quadratic_of(sympy.sqrt(2) * X[0], X) is None


@pytest.mark.parametrize(
    ("profile", "kind"),
    [
        (sympy.exp(T), "strict"), (sympy.exp(-3 * T + 1), "strict"), (T**4, "strict"), (-sympy.exp(T), None),
        (T**3, None), (-(T**4), None), (sympy.sin(T), None), (T**2 * sympy.exp(-(T**2)), None),
        (bv.atoms.softplus(2 * T), "strict"), (-bv.atoms.softplus(T), None), (bv.atoms.logcosh(T), "strict"),
        (sympy.exp(T**2), "strict"), (sympy.exp(T) - sympy.exp(-T), None),
        (sympy.cos(T) + T**2 / 4, None), (sympy.exp(sympy.Abs(T)), None), (sympy.Abs(T), "kinked"),
        (-sympy.Abs(T), None), (sympy.Max(T, 0) ** 2, "kinked"), (-sympy.Max(T, 0), None), (sympy.sqrt(T), None),
        (sympy.log(T), None), (bv.atoms.abspow(sympy.Rational(1, 2), T), None),
        (bv.atoms.abspow(sympy.Rational(3, 2), T), "strict"), (bv.atoms.huber(1, T), "kinked"),
        (sympy.sign(T) * T**2, None), (sympy.atan(T), None),
    ],
)  # fmt: skip
def test_only_convex_profiles_are_called_convex(profile: Any, kind: str | None) -> None:
    found = profile_kind(profile, T)
    assert (None if found is None else found[0]) == kind


def test_the_pieces_of_kinked_profiles() -> None:
    inf = np.inf
    assert profile_kind(sympy.Abs(2 * T - 3), T) == ("kinked", ((-inf, 1.5), (1.5, inf)))
    assert profile_kind(sympy.Max(4 - 2 * T, 0), T) == ("kinked", ((2.0, inf), (-inf, 2.0)))
    assert profile_kind(sympy.Max(4 - 2 * T, 0) ** 2, T) == ("kinked", ((2.0, inf),))
    assert profile_kind(bv.atoms.huber(2, T - 1), T) == ("kinked", ((-inf, -1.0), (3.0, inf)))
    assert profile_kind(bv.atoms.pluspow(3, T), T) == ("kinked", ((-inf, 0.0),))


def test_our_own_mistakes_are_not_taken_for_unknown_convexity(monkeypatch: pytest.MonkeyPatch) -> None:
    from bilevel_verify.symbolic import differentiate

    def broken(*_: Any) -> Any:
        raise KeyError("a mistake")

    monkeypatch.setattr(differentiate, "hessian", broken)
    with pytest.raises(KeyError):
        profile_kind(sympy.exp(T**2), T)


@pytest.mark.parametrize(
    ("expression", "low", "high", "yes"),
    [
        (X[0] ** 2 + X[1] ** 2, -1, 1, True), (X[0] ** 2 - X[1] ** 2, -1, 1, False),
        (1 / X[0], -1, 2, False), (sympy.exp(X[0] + X[1]), -1, 1, True),
        (X[0] * X[1], -1, 1, False), (-sympy.exp(X[0]), -1, 1, False),
    ],
)  # fmt: skip
def test_convexity_on_a_box(expression: Any, low: float, high: float, yes: bool) -> None:
    assert is_convex(expression, X, ranges_over(Box((low, low), (high, high)))) == yes


# ---- the path in high precision and what it proves -----------------------------------------------------------------


def region(G: Any, h: Any, E: Any = (), e: Any = (), balls: Any = (), room: float = 0.0, n: int = 2) -> Region:
    rows = [[F(v) for v in row] for row in G]
    return Region(None, rows, [flint.arb(v) for v in h], [[F(v) for v in row] for row in E], [flint.arb(v) for v in e],
                  [([F(v) for v in c], F(r)) for c, r in balls], room, n)  # fmt: skip


def minimise(expression: Any, where: Region, start: Any) -> Any:
    with precision(1280):
        return follow(Function(sympy.sympify(expression), X[: where.n], where.n), where, start)


def test_the_bound_below_holds_and_is_tiny() -> None:
    end = minimise(X[0] + X[1] ** 2, region([(-1, 0)], [2]), [0.3, 0.4])
    assert float(end.value) == pytest.approx(-2)
    assert float(end.value) - (-2.0) <= end.below < 1e-70
    assert float(end.weights[0]) == pytest.approx(1)
    assert end.violation == 0.0
    tied = minimise(X[0] ** 2 + X[1] ** 2, region([(1, 0)], [5], E=[(1, 1)], e=[2]), [0.0, 9.0])
    assert [float(v) for v in tied.z] == pytest.approx([1, 1])
    assert float(tied.free[0]) == pytest.approx(-2)
    assert float(tied.weights[0]) < 1e-60


def test_paths_without_a_minimiser_break_off() -> None:
    assert minimise(X[0], region([(0, 1)], [1]), [0.0, 0.0]) is None
    assert minimise(X[0] ** 2 + X[1] ** 2, region([(1, 0), (-1, 0)], [-1, -1]), [0.0, 0.0]) is None, "an empty set"
    assert minimise(X[0] ** 2, region([(0, 1)], [1], E=[(1, 1), (2, 2)], e=[0, 1]), [0.0, 0.0]) is None
    assert minimise(X[0] ** 2, region([(0, 1)], [1]), [float("nan"), 0.0]) is None


def facts_of(g: str, feasible: Any, f: str = "(x1-2)**2/2 + (x2-1)**2/2") -> Any:
    from bilevel_verify.truth.simple_bilevel.simple_bilevel import SimpleTruth

    simple = SimpleTruth(S(f=f, g=g, x="x1 x2", feasible=feasible))  # as it stands: nothing is taken off g
    _ = simple.lower
    return simple, simple.facts


def test_facts_say_what_every_solution_shares() -> None:
    _, found = facts_of("x1/10**9 + x2**2", bv.Box((-3, -3), (3, 3)))
    assert list(found.supporting) == [0]
    assert found.weights[0] == pytest.approx(1e-9)
    assert sum(found.weights[1:]) == 0.0
    assert [row.normal for row in found.rows] == [[F(0), F(1)]]
    assert found.single is None
    assert 0 < found.room < 1e-20
    _, ball = facts_of("x1/10**9", bv.Ball(1))
    assert ball.single is not None
    assert ball.single < 1e-25
    _, flat = facts_of("0*x1 + 1", bv.Box((-3, -3), (3, 3)))
    assert (flat.supporting, flat.rows, flat.single) == ({}, [], None)
    assert not any(flat.weights)


def test_an_answer_that_is_no_lower_solution_has_no_error_bar() -> None:
    """The facts of a lower level without its slope: the point found has another value of g."""
    from dataclasses import replace

    simple, found = facts_of("x1/10**9 + x2**2", bv.Box((-3, -3), (3, 3)))
    wrong = supported.supported(simple, replace(found, supporting={}))
    assert isinstance(wrong, str)
    assert "g - g*" in wrong
    right = supported.supported(simple, found)
    assert isinstance(right, supported.Supported)
    assert abs(right.f - 13) <= right.f_error < 1e-12
    lost = supported.supported(simple, replace(found, single=1.0))
    assert lost == "the solution of the lower level is not known well enough"


def test_rooms_of_the_facts_widen_the_error_bar() -> None:
    from dataclasses import replace

    simple, found = facts_of("(x1+x2)**2", bv.Box((-3, -3), (3, 3)))
    loose = replace(found, rows=[replace(row, room=1e-9) for row in found.rows])
    answer = supported.supported(simple, loose)
    assert isinstance(answer, supported.Supported)
    assert answer.f_error >= 1.5e-9, "the multiplier of x1 + x2 = 0 is 3/2"
    near = replace(found, single=1e-7)
    answer = supported.supported(simple, near)
    assert isinstance(answer, supported.Supported)
    assert answer.x_error >= 1e-7
    assert answer.f_error >= 1e-7


def test_without_facts_there_is_no_error_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    from bilevel_verify.truth.simple_bilevel import simple_bilevel

    monkeypatch.setattr(simple_bilevel, "lower_facts", lambda *_: None)
    t = bv.truth(S(f="x1**2 + x2**4", g="exp(x1) - x1 + x2/10**7", x="x1 x2", feasible=bv.L1Ball(1)))
    for found in (t.f_star, t.g_star, t.x_star, t.distance_to_solutions([0.0, 0.0])):
        assert found.error == np.inf
        assert found.certainty == "computed"


def test_how_far_a_profile_leaves_its_tangent() -> None:
    from bilevel_verify.truth.functions.structure import structure_of

    with precision(1280):
        quartic = structure_of(X[0] ** 4, X[:1]).ridges[0]
        assert supported._reach(quartic, flint.arb(0), 1e-48) in (1e-12, 1e-11)
        assert supported._reach(quartic, flint.arb(1), 1e-48) in (1e-24, 1e-23)
        assert supported._reach(quartic, flint.arb(0), 1.0) == np.inf
        one_sided = structure_of(sympy.exp(X[0]), X[:1]).ridges[0]
        assert supported._reach(one_sided, flint.arb(-300), 1e-40) == np.inf


def test_limits() -> None:
    assert limit_at_infinity(-sympy.exp(T), T) == -sympy.oo
    assert limit_at_infinity(1 / T, T) == 0


def test_every_kind_of_fact_counts_in_the_room() -> None:
    row = supported.Row([F(1)], flint.arb(0), 2.0)
    bare = supported.Facts([], [], flint.arb(0), 0.0, {}, (), [], [], None)
    from dataclasses import replace

    assert bare.room == 0.0
    assert replace(bare, supporting={3: 5.0}, rows=[row]).room == 5.0
    assert replace(bare, supporting={3: 1.0}, rows=[row]).room == 2.0
    assert replace(bare, rows=[row], single=7.0).room == 7.0


def test_squares_leave_the_root_of_the_error() -> None:
    _, found = facts_of("x2**2", bv.Box((-3, -3), (3, 3)))
    assert found.error > 0
    assert found.rows[0].room >= np.sqrt(2 * found.error / 2) * (1 - 1e-12)
    _, curved = facts_of("sqrt(1 + x1**2 + x2**2)", bv.Box((-3, -3), (3, 3)))
    assert curved.single is not None
    assert np.sqrt(2 * curved.error) <= curved.single < 1e-20
    _, missing = facts_of("sqrt(1 + x1**2*x2**0 + (x1 + x1**3/3)**2)", bv.WholeSpace())
    assert missing is None, "x2 is free, and no decomposition says so"


def test_pieces_of_kinked_terms_are_inequalities_and_strict_ones_equations() -> None:
    _, found = facts_of("max(0, x1 - 1)**2 + exp(x2)", bv.Box((-3, -3), (3, 3)))
    assert [(list(normal), end) for normal, end in found.halves] == [([F(1), F(0)], F(1))]
    assert [row.normal for row in found.rows] == [[F(0), F(1)]]
    assert 0 < found.rows[0].room < 1e-20
    simple, held = facts_of("max(0, x1 - 1)**2 + (max(0, 5 - x1) + x2**2)*0 + (x1 - 2)**4", bv.Box((-3, -3), (3, 3)))
    assert held is None or all(row.room > 0 for row in held.rows)
    assert abs(float(bv.truth(simple.problem).g_star.value) - 0.0) < 1


def test_at_an_exact_solution_there_is_no_room() -> None:
    _, found = facts_of("x1**4 + (x1 + x2 - 1)**4", bv.Box((-3, -3), (3, 3)))
    assert found.error == 0.0
    assert [row.room for row in found.rows] == [0.0, 0.0]


def test_a_path_that_breaks_off_gives_no_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    simple = bv.truth(S(f="x1**2", g="exp(x1)", x="x1", feasible=bv.Box((0,), (1,)))).simple
    monkeypatch.setattr(supported, "follow", lambda *_: None)
    assert supported.lower_facts(simple, np.zeros(1)) is None


def test_floats_of_balls_cover_their_rounding() -> None:
    with precision(300):
        third = flint.arb(1) / 3
        value, error = supported.float_value(third, 0.0)
        assert abs(F(value) - F(1, 3)) <= F(error) < F(1, 10**16)
        wide, room = supported.float_value(flint.arb(1, 0.25), 0.5)
        assert (wide, room >= 0.75) == (1.0, True)
        assert supported.float_value(flint.arb(2), 0.0) == (2.0, 0.0)


def test_the_error_of_x_grows_with_that_of_f() -> None:
    end = minimise(X[0] ** 2 + X[1] ** 2, region([(-1, 0)], [-1]), [2.0, 0.4])
    simple = bv.truth(S(f="x1**2 + x2**2", g="0*x1", x="x1 x2", feasible=bv.Box((1, -9), (9, 9)))).simple
    spread = supported._spread(simple, region([(-1, 0)], [-1]), end, 1e-20, [])
    assert np.sqrt(1e-20) <= spread < 1e-9
    assert supported._spread(simple, region([(-1, 0)], [-1]), end, 1e-8, []) >= np.sqrt(1e-8)
    flat = bv.truth(S(f="x1**2", g="0*x1", x="x1 x2", feasible=bv.Box((1, -9), (9, 9)))).simple
    assert supported._spread(flat, region([(-1, 0)], [-1]), end, 1e-20, []) == np.inf


@pytest.mark.parametrize(("f", "g"), [("-x1**2", "x2**2"), ("x1**2", "-x2**2")])
def test_concave_quadratics_have_no_exact_answer(f: str, g: str) -> None:
    assert exact_answer(bv.truth(S(f=f, g=g, x="x1 x2", feasible=bv.Box((0, 0), (1, 1)))).simple) is None


def test_a_quadratic_without_a_minimiser_has_no_least_norm_solution() -> None:
    from bilevel_verify.truth.simple_bilevel.certified_minimum import least_norm

    assert least_norm(bv.truth(S(f="x1", g="x1**2 + x2", x="x1 x2", feasible=bv.Ball(1))).simple) is None
    found = least_norm(bv.truth(S(f="x1", g="(x1 + x2 - 1)**2", x="x1 x2", feasible=bv.Ball(1))).simple)
    assert found == ((F(1, 2), F(1, 2)), F(0))
    moved = least_norm(bv.truth(S(f="x1", g="x1**2", x="x1 x2", feasible=bv.Ball(1, (3.0, 5.0)))).simple)
    assert moved == ((F(0), F(5)), F(0))
