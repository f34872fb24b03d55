"""Exact numbers of the calculus, each choice alone: the larger of two, extreme roots, independent rows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Integer, Rational, sqrt

from bilevel_verify.constants.calculus import exact
from bilevel_verify.constants.formula.rewriting import normalise
from bilevel_verify.constants.formula.structure import structure_of

pytestmark = pytest.mark.fast
NAMES = sympy.symbols("a b c", real=True)
A, B, C = NAMES
TINY = Rational(1, 10**30)
NUMBERS = [Integer(1), Integer(-2), sqrt(2), Rational(7, 5), sympy.pi, 1 + TINY, 1 - TINY, sqrt(2) + TINY, 3 - sqrt(2)]
NUMBERS += [(1 + sqrt(2)) * (sqrt(2) - 1) + Rational(1, 10**40)]  # above 1 by less than its enclosure tells


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(NUMBERS, 2)))
def test_the_larger_of_two_numbers_even_where_floats_do_not_tell(one: Any, other: Any) -> None:
    wanted = one if sympy.N(one - other, 60) > 0 else other
    assert exact.larger(one, other) == wanted


def test_numbers_written_differently_are_alike() -> None:
    one, other = sqrt(2) * sqrt(3), sqrt(6)
    assert exact.larger(one, other) == one == other
    assert exact.scale(Integer(-2), (Integer(1), Integer(3))) == (-6, -2)
    assert exact.scale(Integer(2), (Integer(1), Integer(3))) == (2, 6)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_an_extreme_root_is_separated_from_all_others(order: tuple[int, ...]) -> None:
    """Enclosures that overlap do not tell which root is the extreme one, however little they do."""
    one, two, three = Integer(1), Integer(2), Integer(3)
    apart = [(0.9, 1.1, one), (1.9, 2.1, two), (2.9, 3.1, three)]
    assert exact._extreme_root([apart[k] for k in order], True) == three
    assert exact._extreme_root([apart[k] for k in order], False) == one
    top = [(0.9, 1.1, one), (1.9, 2.95, two), (2.9, 3.1, three)]
    assert exact._extreme_root([top[k] for k in order], True) is None
    assert exact._extreme_root([top[k] for k in order], False) in (one, None)
    bottom = [(0.9, 2.0, one), (1.9, 2.1, two), (2.9, 3.1, three)]
    assert exact._extreme_root([bottom[k] for k in order], True) in (three, None)
    assert exact._extreme_root([bottom[k] for k in order], False) is None


def test_roots_that_touch_or_have_no_closed_form() -> None:
    assert exact._extreme_root([], True) is None
    assert exact._extreme_root([(0.0, 1.0, Integer(1)), (1.0, 2.0, Integer(2))], True) is None
    assert exact._extreme_root([(0.0, 1.0, Integer(1)), (2.0, 3.0, None)], True) is None
    assert exact._extreme_root([(0.0, 1.0, Integer(1)), (2.0, 3.0, None)], False) == 1


@pytest.mark.parametrize(
    ("expression", "n", "independent"),
    [
        (sympy.exp(A) + sympy.exp(B), 2, True),
        (sympy.exp(A) + sympy.sin(A), 2, False),
        (sympy.exp(A + B) + sympy.sin(2 * A + 2 * B), 2, False),
        (sympy.exp(A + B) + sympy.sin(A - B), 2, True),
        (sympy.exp(A + B) + sympy.sin(A - B) + sympy.cos(A), 2, False),  # three rows of two letters
        (sympy.exp(A + B) + sympy.sin(B + C) + sympy.cos(A - C), 3, False),
        (sympy.exp(A + B) + sympy.sin(B + C) + sympy.cos(A + C), 3, True),
        (sympy.exp(sqrt(2) * A) + sympy.sin(A), 2, False),
        (sympy.exp(sqrt(2) * A) + sympy.sin(B), 2, True),
    ],
)
def test_rows_are_independent_if_their_rank_is_their_number(expression: Any, n: int, independent: bool) -> None:
    ridges = structure_of(normalise(expression), NAMES[:n]).ridges
    rows = np.array([[float(dict(r.row).get(i, 0)) for i in range(n)] for r in ridges])
    assert (np.linalg.matrix_rank(rows) == len(rows)) == independent
    assert exact.independent_rows(ridges, n) is independent


@pytest.mark.parametrize(
    ("matrix", "value"),
    [
        ([[2, 0], [0, 3]], 2), ([[0, 0], [0, 3]], 3), ([[1, 1], [1, 1]], 2), ([[0, 0], [0, 0]], None),
        ([[-1, 0], [0, 3]], None), ([[2, 1], [1, 3]], (5 - sqrt(5)) / 2), ([[1, 2], [2, 1]], None),
    ],
)  # fmt: skip
def test_the_smallest_positive_eigenvalue_is_no_zero(matrix: Any, value: Any) -> None:
    rows = tuple(tuple(Integer(v) for v in row) for row in matrix)
    found = exact.smallest_positive_eigenvalue(rows)
    assert found is None if value is None else sympy.simplify(found - value) == 0


def test_a_matrix_that_is_not_rational_has_no_such_eigenvalue() -> None:
    assert exact.smallest_positive_eigenvalue(((sqrt(2), Integer(0)), (Integer(0), Integer(1)))) is None
