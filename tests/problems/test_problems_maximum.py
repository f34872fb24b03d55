"""A maximum of many pieces stays small, and is the maximum."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import bilevel_verify as bv
from bilevel_verify.problems.vocabulary import maximum, minimum

X = sympy.symbols("x1:4", real=True)


def size(expression: sympy.Expr) -> int:
    return sum(1 for _ in sympy.preorder_traversal(expression))


def pieces(count: int) -> list[sympy.Expr]:
    rng = np.random.default_rng(count)
    return [
        sum(int(c) * v for c, v in zip(rng.integers(-9, 10, 3), X)) + int(rng.integers(-9, 10)) for _ in range(count)
    ]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_it_is_the_maximum(count: int) -> None:
    parts = pieces(count)
    largest, smallest = maximum(*parts), minimum(*parts)
    for point in np.random.default_rng(1).integers(-3, 4, (12, 3)).tolist():  # integers, so that ties occur
        at = dict(zip(X, map(sympy.Integer, point)))
        there = [part.subs(at) for part in parts]
        assert (largest.subs(at), smallest.subs(at)) == (max(there), min(there))


@pytest.mark.parametrize("count", [16, 64, 128])
def test_it_grows_less_than_with_the_square(count: int) -> None:
    assert size(maximum(*pieces(count))) < 40 * count**1.6


@pytest.mark.parametrize("first", [True, False])
def test_nested_maxima_stay_small(first: bool) -> None:
    found = X[0]
    for part in pieces(40):
        found = maximum(found, part) if first else maximum(part, found)
    assert size(found) < 4000


def test_a_problem_with_many_pieces_is_read_and_evaluated() -> None:
    text = ", ".join(f"{i}*y1 + x1/{i + 1}" for i in range(100))
    p = bv.bilevel(f="x1**2 + y1", g=f"y1**2 + max({text})", x="x1", y="y1")
    assert bv.oracles(p).grad_y_g([1.0], [0.5]) == pytest.approx([100.0])
