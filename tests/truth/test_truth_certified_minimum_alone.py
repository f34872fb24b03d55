"""Exact lower-level minima piece by piece: which points are tried, which bound they carry, who belongs to a set."""

from __future__ import annotations

import itertools
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
import sympy

import bilevel_verify as bv
from bilevel_verify.truth.functions.structure import structure_of
from bilevel_verify.truth.simple_bilevel import certified_minimum as room
from bilevel_verify.truth.simple_bilevel.certified_minimum import certified_minimum, holds_in, least_norm

pytestmark = pytest.mark.fast
F = Fraction
X = sympy.symbols("x1 x2", real=True)
A, B = X
GRID = [F(-2), F(-1), F(-1, 2), F(0), F(1, 3), F(1, 2), F(1), F(2), F(5)]


def level(g: Any, feasible: Any = None, n: int = 2) -> Any:
    return SimpleNamespace(problem=SimpleNamespace(g=g, x=X[:2], feasible=feasible), n=n, structure=structure_of(g, X))


# ---- candidates ---------------------------------------------------------------------------------------------------


class Tried(Exception):
    """Candidates were asked for."""


def test_up_to_forty_variables_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def candidates(*_: Any) -> Any:
        raise Tried

    monkeypatch.setattr(room, "_candidates", candidates)
    for n in (1, 39, 40):
        with pytest.raises(Tried):
            certified_minimum(level(A**2, n=n), [0.0])
    assert certified_minimum(level(A**2, n=41), [0.0]) is None
    for n in (1, 41):
        none: Any = SimpleNamespace(problem=SimpleNamespace(g=None), n=n)
        assert certified_minimum(none, [0.0]) is None


def test_the_first_candidate_inside_that_attains_its_bound_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = [
        ((F(2), F(0)), F(4)),
        ((F(0), F(1)), F(0)),
        ((F(1), F(0)), F(0)),
        ((F(1), F(1)), F(1)),
        ((F(0), F(0)), F(0)),
    ]
    monkeypatch.setattr(room, "_candidates", lambda *_: iter(tried))
    assert certified_minimum(level(A**2 + 3 * B, bv.Box((0, 0), (1, 1))), [0.0, 0.0]) == (F(0), (F(0), F(0)))
    assert certified_minimum(level(A**2, None), [0.0, 0.0]) == (F(4), (F(2), F(0))), "no set holds every point"
    assert certified_minimum(level(A**2 + 7, bv.Box((0, 0), (1, 1))), [0.0, 0.0]) is None
    irrational = [((F(2), F(0)), F(0)), ((F(4), F(0)), F(2))]
    monkeypatch.setattr(room, "_candidates", lambda *_: iter(irrational))
    root: Any = SimpleNamespace(problem=SimpleNamespace(g=sympy.sqrt(A), x=X, feasible=None), n=2)
    assert certified_minimum(root, [0.0, 0.0]) == (F(2), (F(4), F(0)))


@pytest.mark.parametrize(
    "near", [(0.414, 3.14159265), (1 / 841, 1 / 839), (1 / 7, 1 / 5), (1 / 999983, 0.0), (0.0, -1 / 13)]
)
def test_points_of_nonnegative_terms_are_rounded_to_small_denominators(near: Any) -> None:
    g = bv.atoms.abspow(3, A - 1) + B**2
    found = list(room._candidates(level(g), g, near))
    denominators = [1, 2, 6, 12, 60, 100, 840, 1000, 1_000_000]
    assert found == [(tuple(F(v).limit_denominator(d) for v in near), F(0)) for d in denominators]


def test_other_levels_have_one_candidate_or_none() -> None:
    def candidates(g: Any) -> Any:
        return list(room._candidates(level(g), g, [0.5, 0.25]))

    assert candidates(sympy.exp(A)) == [], "a ridge that is not zero anywhere"
    assert candidates(bv.atoms.abspow(3, A) - B**2) == []
    assert candidates(A + B) == []
    assert candidates((A - 2) ** 2 + 3) == [((F(2), F(0)), F(3))]
    unknown = level(bv.atoms.abspow(3, A))
    unknown.structure = SimpleNamespace(ridges=(1,), missing="a term")
    assert list(room._candidates(unknown, bv.atoms.abspow(3, A), [0.5, 0.25])) == []
    assert list(room._candidates(unknown, sympy.exp(A), [0.5, 0.25])) == []


@pytest.mark.parametrize(
    ("g", "feasible", "found"),
    [
        (A**2, bv.Ball(1), ((F(0), F(0)), F(0))),
        (A**2, None, ((F(0), F(0)), F(0))),
        (A**2 - 2 * A, bv.Box((0, 0), (1, 1)), ((F(1), F(0)), F(-1))),
        (A**2, bv.Ball(1, (3.0, 5.0)), ((F(0), F(5)), F(0))),
        ((A + B) ** 2 + 1, bv.Ball(1, (1.0, 0.5)), ((F(1, 4), F(-1, 4)), F(1))),
        ((A - 2 * B - 5) ** 2 / 3, bv.Ball(9), ((F(1), F(-2)), F(0))),
        (A**2 + A * B + B**2 - 3 * A, bv.Ball(1, (7.0, 7.0)), ((F(2), F(-1)), F(-3))),
        (A, bv.Ball(1), None),
        (sympy.Integer(3), bv.Ball(1), None),
        (A**2 + B, bv.Ball(1), None),
        (A**2 + sympy.Float(0.1), bv.Ball(1), None),  # not exact
        (sympy.exp(A * B), bv.Ball(1), None),
    ],
)  # fmt: skip
def test_least_norm_solutions(g: Any, feasible: Any, found: Any) -> None:
    """Nearest to the centre of a ball, to zero in every other set."""
    assert least_norm(level(g, feasible)) == found


@pytest.mark.parametrize(
    ("g", "yes"),
    [
        (A**2, True), (3 * A**4 + B**2, True), (A**3, False), (-(A**2), False), (A**2 - B**2, False), (sympy.sqrt(A),
        False),
        (bv.atoms.pluspow(3, A), True), (bv.atoms.abspow(3, A), True), (sympy.Abs(A), True), (sympy.Abs(A) ** 3, False),
        (-2 * sympy.Abs(A), False), (A, False), (A**2 + sympy.exp(B), False), (sympy.exp(B) + A**2, False),
        (sympy.Integer(1), False),
        (bv.atoms.abspow(3, A) - bv.atoms.abspow(3, B), False), (5 * bv.atoms.pluspow(2, B) + A**2, True),
    ],
)  # fmt: skip
def test_terms_that_cannot_be_negative(g: Any, yes: bool) -> None:
    assert room._nonnegative(g) is yes


# ---- membership ---------------------------------------------------------------------------------------------------


def norm1(*v: Fraction) -> Fraction:
    return sum((abs(c) for c in v), F(0))


@pytest.mark.parametrize(
    ("feasible", "inside"),
    [
        (bv.WholeSpace(), lambda x, y: True),
        (bv.Orthant(), lambda x, y: x >= 0 and y >= 0),
        (bv.Box((-1, 0), (1, 2)), lambda x, y: -1 <= x <= 1 and 0 <= y <= 2),
        (bv.Box((-float("inf"), 0.5), (1, float("inf"))), lambda x, y: x <= 1 and y >= F(1, 2)),
        (bv.Ball(1), lambda x, y: x * x + y * y <= 1),
        (bv.Ball(2), lambda x, y: x * x + y * y <= 4),
        (bv.Ball(2, (0.5, -1.0)), lambda x, y: (x - F(1, 2)) ** 2 + (y + 1) ** 2 <= 4),
        (bv.Simplex(1), lambda x, y: x >= 0 and y >= 0 and x + y == 1),
        (bv.Simplex(2), lambda x, y: x >= 0 and y >= 0 and x + y == 2),
        (bv.L1Ball(1), lambda x, y: norm1(x, y) <= 1),
        (bv.L1Ball(2.5), lambda x, y: norm1(x, y) <= F(5, 2)),
        (bv.HalfSpace((1.0, 2.0), 3.0), lambda x, y: x + 2 * y <= 3),
        (bv.HalfSpace((-0.5, 1.0), 0.0), lambda x, y: y <= x / 2),
        (bv.Isotonic(), lambda x, y: x <= y),
        (bv.Intersection((bv.Orthant(), bv.Ball(1))), lambda x, y: x >= 0 and y >= 0 and x * x + y * y <= 1),
        (bv.Intersection((bv.HalfSpace((1.0, 0.0), 0.0), bv.Orthant())), lambda x, y: x == 0 and y >= 0),
        (object(), lambda x, y: False),
    ],
)  # fmt: skip
def test_membership_on_a_grid(feasible: Any, inside: Any) -> None:
    for x, y in itertools.product(GRID, repeat=2):
        assert holds_in(feasible, (x, y)) == inside(x, y), (x, y)


def test_order_needs_every_pair() -> None:
    for point in itertools.product((F(0), F(1), F(2)), repeat=3):
        assert holds_in(bv.Isotonic(), point) == (point[0] <= point[1] <= point[2])
