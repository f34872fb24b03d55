"""The exact solver piece by piece: guesses of binding rows, the joint system in fractions, every sign."""

from __future__ import annotations

import itertools
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy

from bilevel_verify.truth.functions.quadratics import Quadratic, quadratic_of
from bilevel_verify.truth.simple_bilevel import exact_quadratic
from bilevel_verify.truth.simple_bilevel.exact_quadratic import (
    ExactAnswer,
    _Polyhedron,
    _solve,
    exact_answer,
    solve_rational,
)
from bilevel_verify.truth.simple_bilevel.exact_quadratic import support as support_of
from bilevel_verify.truth.simple_bilevel.exact_quadratic import supports as supports_of

pytestmark = pytest.mark.fast
F = Fraction
X = sympy.symbols("x1 x2 x3", real=True)
NAMES = {str(symbol): symbol for symbol in X}


def quadratic(expression: Any, n: int = 2) -> Quadratic:
    found = quadratic_of(sympy.sympify(expression, NAMES), X[:n])
    assert found is not None
    return found


def vectors(rows: Any) -> list[list[Fraction]]:
    return [[F(v) for v in row] for row in rows]


# ---- rows with a weight -------------------------------------------------------------------------------------------


def support(rows: Any, free: Any, gradient: Any) -> list[int]:
    n = len(gradient)
    return support_of(
        np.array(rows, dtype=float).reshape(-1, n),
        np.array(free, dtype=float).reshape(-1, n),
        np.array(gradient, dtype=float),
    )


@pytest.mark.parametrize(
    ("rows", "free", "gradient", "found"),
    [
        ([], [], (1, 1), []),
        ([(1, 0), (0, 1)], [], (-2, -3), [0, 1]),
        ([(1, 0), (0, 1)], [], (-2, 3), [0]),
        ([(1, 0), (0, 1), (1, 1)], [], (0, -3), [1]),
        ([(-1, 0), (0, 0), (0, 5)], [], (2, -1), [0, 2]),
        ([(1e6, 0)], [], (-1e-3, 0), [0]),  # weights are those of rows of unit length
        ([(1e-6, 0), (0, 1e6)], [], (-1e-3, -1e-3), [0, 1]),
        ([(1, 1)], [(0, 1)], (0, -3), []),  # what a free row can carry needs no weight
        ([(1, 1)], [(0, 2)], (-1, 7), [0]),
        ([(1, 1)], [], (0, -3), [0]),
        ([(0, 1)], [(1, 0), (1, 0)], (5, -1), [0]),  # a free row twice frees no other direction
        ([(0, 1)], [(0, 0)], (5, -1), [0]),
        ([(0, 1)], [(1, 0), (0, 1e-10)], (0, -1), [0]),  # hardly free is not free
        ([(0, 1)], [(1, 0), (0, 1e-9)], (0, -1), []),
        ([(0, 1)], [(1e-6, 0), (0, 1e-9)], (0, -1), []),  # relative to the largest
        ([(0, 1)], [(1e6, 0), (0, 1e-3)], (0, -1), []),
        ([(0, 1)], [(1e6, 0), (0, 1e-5)], (0, -1), [0]),
        ([(0, 1, 0), (0, 0, 1)], [(1, 1, 1)], (-3, -4, -2), [0]),
    ],
)  # fmt: skip
def test_rows_with_a_positive_weight(rows: Any, free: Any, gradient: Any, found: list[int]) -> None:
    assert support(rows, free, gradient) == found


def test_weights_count_from_a_hundred_millionth_of_the_gradient_on() -> None:
    for weight, counts in ((0.95e-7, False), (1e-7, False), (1.05e-7, True), (1e-4, True)):
        assert support([(1, 0)], [(0, 1)], (-weight, 9.0)) == ([0] if counts else [])
    assert support([(1, 0)], [], (-0.9e-8, 0)) == []
    assert support([(1, 0)], [], (-1.1e-8, 0)) == [0]


BOX = np.array([[-1.0, 0], [1, 0], [0, -1], [0, 1], [1, 1]])


@pytest.mark.parametrize(
    ("f", "g", "x", "active", "upper", "supporting"),
    [
        ("x2", "x1", (0, 0), [0, 2], [0, 2], [0]),
        ("x2", "x1", (0, 0), [2, 0], [0, 2], [0]),
        ("-x2", "x1", (0, 0), [0, 2], [0], [0]),
        ("x2", "x1**2/2 - 3*x1", (1, 0), [1, 2], [1, 2], [1]),
        ("x2**2/2 - 3*x2", "x1", (0, 1), [0, 3], [0, 3], [0]),
        ("x1 + x2", "x1**2", (0, 0), [0, 2], [2], []),  # along x1 the square of g carries the slope
        ("x1 + x2", "x2**2", (0, 0), [0, 2], [0], []),
        ("x1 + x2", "0*x1", (0, 0), [0, 2], [0, 2], []),
        ("x1 + x2", "0*x1", (0, 0), [2], [2], []),
        ("-x1 - x2", "-x1", (1, 0), [1, 4], [1, 4], [1]),
        ("x1", "x1", (0, 0), [0, 2], [0], [0]),  # what presses already carries f too
    ],
)  # fmt: skip
def test_rows_that_carry_a_multiplier_of_either_level(
    f: str, g: str, x: Any, active: Any, upper: Any, supporting: Any
) -> None:
    none = np.empty((0, 2))
    found = supports_of(quadratic(f), quadratic(g), BOX, none, np.array(x, dtype=float), active)
    assert found == (upper, supporting)


def test_equations_carry_what_they_can() -> None:
    equation = np.array([[0.0, 1.0]])
    x = np.zeros(2)
    assert supports_of(quadratic("x1 + x2"), quadratic("0*x1"), BOX, equation, x, [0, 2]) == ([0], [])
    assert supports_of(quadratic("x1"), quadratic("x2"), BOX, equation, x, [0, 2]) == ([0], [])


# ---- the joint system ---------------------------------------------------------------------------------------------


def test_the_joint_system_is_that_of_both_levels() -> None:
    """Rows times any unknowns (x, mu, nu, lam, nu2, w), against the conditions written out."""
    f, g = quadratic("x1**2 + x1*x2 + 3*x3**2 - 2*x1 + x3", 3), quadratic("(x1 - x2)**2 + 2*x3**2 + 5*x2 - x3", 3)
    G = vectors([(1, 2, 0), (0, -1, 1), (3, 0, -2), (1, 1, 1)])
    Z = _Polyhedron(G, [F(7), F(11), F(13), F(17)], vectors([(1, -1, 4), (2, 0, 1)]), [F(19), F(23)])
    along = exact_quadratic._independent(g.Q)
    assert len(along) == 2
    for active, supporting in (([0, 2, 3], [2]), ([1], []), ([0, 1, 2], [0, 1])):
        rows, right = exact_quadratic._joint_conditions(f, g, Z, active, supporting, along)
        sizes = [3, len(supporting), 2, len(active), 2, len(along)]
        total = sum(sizes)
        assert all(len(row) == total for row in rows)
        assert len(rows) == len(right) == 6 + len(active) + 2
        unknowns = [F(7 * k % 11 - 5, 1 + k % 3) for k in range(total)]
        ends = list(itertools.accumulate(sizes))
        x, mu, nu, lam, nu2, w = (unknowns[a:b] for a, b in zip([0, *ends], ends))
        expected = []
        for i in range(3):
            lower = sum((a * b for a, b in zip(g.Q[i], x)), g.q[i]) + sum(
                (m * G[c][i] for c, m in zip(supporting, mu)), F(0)
            )
            expected.append(lower + sum((v * row[i] for v, row in zip(nu, Z.E)), F(0)))
            upper = sum((a * b for a, b in zip(f.Q[i], x)), f.q[i]) + sum(
                (m * G[c][i] for c, m in zip(active, lam)), F(0)
            )
            upper += sum((v * row[i] for v, row in zip(nu2, Z.E)), F(0)) + sum(
                (v * row[i] for v, row in zip(w, along)), F(0)
            )
            expected.append(upper)
        for row, end in [*((G[c], Z.h[c]) for c in active), *zip(Z.E, Z.e)]:
            expected.append(sum((a * b for a, b in zip(row, x)), F(0)) - end)
        assert [sum((a * b for a, b in zip(row, unknowns)), F(0)) - r for row, r in zip(rows, right)] == expected


class Tried(Exception):
    """The system was built."""


def test_systems_of_more_than_260_unknowns_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """n + supporting + equations, then active + equations + squares: 2 + 1 + 1 + 2 + 1 and the rest."""

    def built(*_: Any) -> Any:
        raise Tried

    monkeypatch.setattr(exact_quadratic, "_joint_conditions", built)
    Z = _Polyhedron(vectors([(1, 0), (0, 1)]), [F(1), F(1)], vectors([(1, 1)]), [F(0)])
    for squares, tried in ((253, True), (254, False)):
        monkeypatch.setattr(exact_quadratic, "_independent", lambda _, squares=squares: [[F(1), F(0)]] * squares)
        if tried:
            with pytest.raises(Tried):
                _solve(quadratic("x1"), quadratic("x2"), Z, [0, 1], [1])
        else:
            assert _solve(quadratic("x1"), quadratic("x2"), Z, [0, 1], [1]) == (None, set())
    for squares, tried in ((251, True), (252, False), (253, False)):
        monkeypatch.setattr(exact_quadratic, "_independent", lambda _, squares=squares: [[F(1), F(0)]] * squares)
        three = _Polyhedron(Z.G, Z.h, vectors([(1, 1), (1, 0)]), [F(0), F(0)])
        if tried:
            with pytest.raises(Tried):
                _solve(quadratic("x1"), quadratic("x2"), three, [0, 1], [1])
        else:
            assert _solve(quadratic("x1"), quadratic("x2"), three, [0, 1], [1]) == (None, set())


def judged(
    monkeypatch: pytest.MonkeyPatch,
    x: Any,
    mu: Any,
    lam: Any,
    free: Any = (),
    active: Any = (0, 1, 2),
    supporting: Any = (1, 2),
) -> tuple[ExactAnswer | None, set[int]]:
    """What is made of a solution of the joint system: one equation, rows ``x1 <= 4, x2 <= 5, x1 + x2 <= 8``."""
    values = [F(v) for v in (*x, *mu, 100, *lam, -200, -300)]
    monkeypatch.setattr(exact_quadratic, "solve_rational", lambda *_: (values, set(free)))
    Z = _Polyhedron(vectors([(1, 0), (0, 1), (1, 1)]), [F(4), F(5), F(8)], vectors([(1, 0)]), [F(1)])
    f, g = quadratic("x1**2 + x1*x2 + 3*x2 + 1"), quadratic("x2**2 - x1 + 2")
    return _solve(f, g, Z, list(active), list(supporting))


def test_every_sign_is_checked_and_the_values_are_those_of_the_point(monkeypatch: pytest.MonkeyPatch) -> None:
    found, wrong = judged(monkeypatch, (2, 3), (F(1, 2), 0), (1, -7, 0))
    assert wrong == set()
    assert found == ExactAnswer(F(4 + 6 + 9 + 1), F(9 - 2 + 2), (F(2), F(3)), True), (
        "a supporting row may have any sign"
    )
    assert judged(monkeypatch, (2, 3), (0, 0), (0, 0, 0))[0] is not None
    assert judged(monkeypatch, (2, 3), (0, 1), (0, 0, -1))[0] is not None
    assert judged(monkeypatch, (2, 3), (-1, 1), (0, 0, 0)) == (None, set()), "a negative multiplier of the lower level"
    assert judged(monkeypatch, (2, 3), (1, F(-1, 9)), (0, 0, 0)) == (None, set())
    assert judged(monkeypatch, (2, 3), (1, 1), (F(-1, 9), 0, 0)) == (None, {0}), "wrong rows are named"
    assert judged(monkeypatch, (2, 3), (0, 1), (0, -1, 0)) == (None, set()), (
        "no weight, wrong sign; but it was supporting"
    )
    assert judged(monkeypatch, (2, 3), (1,), (-2, 0, -3), supporting=(1,)) == (None, {0, 2})
    assert judged(monkeypatch, (2, 3), (F(1, 2), 0), (F(1, 2), -7, F(1, 3)))[0] is not None


def test_every_row_of_the_set_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    for x, inside in (
        ((4, 4), True),
        ((3, 5), True),
        ((F(41, 10), 0), False),
        ((0, F(51, 10)), False),
        ((4, F(41, 10)), False),
    ):
        found, wrong = judged(monkeypatch, x, (1, 1), (1, 1, 1))
        assert (found is not None, wrong) == (inside, set())
    assert judged(monkeypatch, (9, 9), (1, 1), (-1, 1, 1)) == (None, {0})


def test_only_free_variables_make_a_solution_one_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    for free, unique in (((), True), ((2,), True), ((5, 8), True), ((0,), False), ((1, 7), False), ((0, 1), False)):
        found, _ = judged(monkeypatch, (2, 3), (1, 1), (1, 1, 1), free)
        assert found is not None
        assert found.unique == unique


def test_systems_without_a_solution_answer_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_quadratic, "solve_rational", lambda *_: None)
    Z = _Polyhedron(vectors([(1, 0)]), [F(4)], [], [])
    assert _solve(quadratic("x1"), quadratic("x2"), Z, [0], []) == (None, set())


def test_values_are_exact() -> None:
    q = quadratic("x1**2/3 - x1*x2 + 5*x2**2 + x1/7 - 2*x2 + 11")
    for x, y in itertools.product((F(0), F(1), F(-2, 3), F(5, 7)), repeat=2):
        assert exact_quadratic._value(q, [x, y]) == x * x / 3 - x * y + 5 * y * y + x / 7 - 2 * y + 11


@pytest.mark.parametrize(
    ("expression", "yes"),
    [("x1**2", True), ("0*x1 + 3", True), ("x1 - x2", True), ("-x1**2", False), ("x1*x2", False),
    ("x1**2 - x2**2", False),
     ("(x1 + x2)**2", True), ("x1**2 + 3*x1*x2 + x2**2", False)],
)  # fmt: skip
def test_convexity_of_quadratics(expression: str, yes: bool) -> None:
    assert exact_quadratic._convex(quadratic(expression)) is yes


def test_reduced_systems() -> None:
    rows = vectors([(0, 2, 4), (0, 1, 2)])
    assert solve_rational(rows, [F(6), F(3)]) == ([F(0), F(3), F(0)], {0, 2})
    assert solve_rational(rows, [F(6), F(4)]) is None
    assert solve_rational(vectors([(3, 1), (1, 1), (1, -1)]), [F(5), F(3), F(-1)]) == ([F(1), F(2)], set())
    assert solve_rational(vectors([(3, 1), (1, 1), (1, -1)]), [F(5), F(3), F(0)]) is None
    assert solve_rational(vectors([(1, 0, 0)]), [F(2, 3)]) == ([F(2, 3), F(0), F(0)], {1, 2})


# ---- the whole ----------------------------------------------------------------------------------------------------


def problem(f: str = "x1**2", g: Any = "x2", **changes: Any) -> Any:
    """Rows ``x1 + slack``: of a point (3, 4) whose allowance is 6e-7."""
    slacks = [0.0, 5.9e-7, 6.1e-7, 6e-7, -1.0]
    known: dict[str, Any] = {
        "problem": SimpleNamespace(f=sympy.sympify(f, NAMES), g=None if g is None else sympy.sympify(g, NAMES),
        x=X[:2]),
        "feasible": SimpleNamespace(
            G=np.array([[1.0, 0], [0, 0], [0, 0], [0, 0], [0, 1]]),
            h=np.array([3.0, 0, 0, 0, 4]) + slacks, E=np.empty((0, 2)),
            e=np.empty(0), T=np.eye(2), balls=[],
        ),
        "upper": SimpleNamespace(z=[3.0, 4.0]), "lower": SimpleNamespace(z=[50.0, 60.0]),
        "supporting_sets": ([1, 2, 3], [0]),
    }  # fmt: skip
    known.update(changes)
    return SimpleNamespace(**known)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """``_solve`` answers what is written; the binding rows it is asked with are noted."""

    def prepare(answers: list[Any]) -> list[Any]:
        asked: list[Any] = []

        def solve(f: Any, g: Any, Z: Any, active: Any, supporting: Any) -> Any:
            asked.append((list(active), list(supporting)))
            return answers[min(len(asked), len(answers)) - 1]

        def guess(f: Any, g: Any, G: Any, E: Any, x: Any, active: Any) -> Any:
            asked.append((x.tolist(), list(active)))
            return [7], [8]

        monkeypatch.setattr(exact_quadratic, "_solve", solve)
        monkeypatch.setattr(exact_quadratic, "supports", guess)
        return asked

    return prepare


ANSWER = ExactAnswer(F(1), F(2), (F(3),), True)


def test_the_first_guess_is_that_of_least_squares(scripted: Any) -> None:
    asked = scripted([(ANSWER, {1})] * 2)
    assert exact_answer(problem()) is ANSWER
    assert asked == [([3.0, 4.0], [0, 1, 3, 4]), ([7], [8])]


def test_wrong_rows_leave_the_guess_four_times(scripted: Any) -> None:
    asked = scripted([None, (None, {5}), (None, {0}), (None, {4}), (None, {9}), (None, {3})])
    assert exact_answer(problem()) is None
    assert asked[2:] == [([0, 1, 3, 4], [1, 3]), ([1, 3, 4], [1, 3]), ([1, 3], [1, 3]), ([1, 3], [1, 3])]
    asked = scripted([None, (None, set()), (None, {0}), (ANSWER, {1})])
    assert exact_answer(problem()) is ANSWER
    assert len(asked) == 4
    asked = scripted([None, (None, {1}), (None, set())])
    assert exact_answer(problem()) is None
    assert len(asked) == 3, "nothing wrong is named: another guess would be the same"


@pytest.mark.parametrize(
    "changes",
    [
        {"g": None}, {"g": "x1**3"}, {"f": "x1**3"}, {"f": "-x1**2"}, {"g": "-x2**2"}, {"f": "x1*x2", "g": "-x1**2"},
        {"feasible": SimpleNamespace(balls=[1], T=np.eye(2))}, {"feasible": SimpleNamespace(balls=[], T=np.ones((2,
        4)))},
        {"feasible": SimpleNamespace(balls=[1], T=np.ones((2, 4)))},
    ],
)  # fmt: skip
def test_other_kinds_are_not_even_tried(scripted: Any, changes: Any) -> None:
    asked = scripted([(ANSWER, set())])
    assert exact_answer(problem(**changes)) is None
    assert asked == []
