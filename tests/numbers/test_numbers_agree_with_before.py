"""The one evaluator of trees agrees with the four that it replaced, on every formula of every card at random points.

Rationals agree exactly, balls overlap and are as wide, samples are the same floats, and what has no value for one has
none for the other. The evaluators of before stand in ``numbers_before_*.py``, as they were.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numbers_before_boxes as before_boxes
import numbers_before_claims as before_claims
import numbers_before_exact as before_exact
import numbers_before_sampled as before_sampled
import numpy as np
import pytest
from flint import arb
from seeds import SEED

from bilevel_verify.audit.scalar import boxes, numeric
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.errors import ExpressionError, MathematicalError
from bilevel_verify.language import parse, to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.numbers.exact import Formula
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.numbers.trees import is_condition
from bilevel_verify.theorems import load_card
from bilevel_verify.theorems.library import shipped

POINTS = 4
F = Fraction

SIDE_CONDITIONS = [
    "floor(b)", "ceil(b)", "floor(b + 1/2)", "ceil(c/3)", "0**(-1)", "0**0", "(a - a)**(-2)", "z**(-1)", "z**2", "z**3",
    "z**0", "z**(1/2)", "(0 - c)**(1/2)", "(0 - c)**3", "c**(-3)", "c**b", "b**c", "0**b", "sqrt(z)", "sqrt(0 - c)",
    "sum(i, (i, 3, 2))", "prod(i, (i, 3, 2))", "max(i, (i, 3, 2))", "argmin(i, (i, 3, 2))", "sum(i**2, (i, 1, n))",
    "prod(i + c, (i, 0, n))", "max(c*i - i**2, (i, 0, n))", "min(i*z, (i, 1, n))", "argmin((i - 2)**2, (i, 0, n))",
    "argmax(b*i, (i, 0, n))", "argmin(z*i, (i, 0, n))", "sum(1/i, (i, 0, n))", "sum(i, (i, 1/2, c))",
    "sum(i, (i, b, 5))", "sum(i, (i, 1, b))", "sum(sum(i*j, (j, 1, i)), (i, 1, n))", "sum(n, (n, 1, 3)) + n",
    "sum(1, (i, 1, 2000000))", "sum(sum(1, (j, 1, 100)), (i, 1, 2000000))", "c % 2", "(0 - c) % 3", "c % 0", "b % 2",
    "c if n > 2 else 1/0", "1/0 if n > 2 else c", "1/0 if z > 0 else c", "c if z > 0 else b", "b if z == 0 else c",
    "abs(b)", "abs(z)", "sign(z)", "sign(b)", "plus(z)", "log(0)", "log(z)", "log(b)", "log(1)", "exp(0)", "cos(0)",
    "erf(b)", "tan(c)", "asinh(z)", "binomial(n, 2)", "binomial(2, n)", "factorial(n)", "factorial(0 - 1)",
    "binomial(c, 2)", "pi", "E**2", "oo", "unknown + 1", "b - b", "b - c - b", "-b + b", "2*b - b", "max(b, c, 2)",
    "min(b, z)", "1/z",
    "b/(c - c)", "c < b", "b < c <= n", "z == 0", "c == c", "b == b", "not z > 0", "c > 0 and z > 0", "c < 0 and z > 0",
    "c > 0 or z > 0", "z > 0 or b > 0", "c < 0 or z > 0 or not b > 0", "(c + 1) < (c + 2)", "b**2 >= 0",
]  # fmt: skip
"""Where numbers are undecided or undefined: c is rational, n whole, b a ball above 1, z a ball around 0."""


def _trees(item: Any) -> Iterator[tree.Node]:
    """Every expression that a card holds, wherever it stands."""
    if isinstance(item, tree.Node):
        yield item
    elif dataclasses.is_dataclass(item):
        for field in dataclasses.fields(item):
            yield from _trees(getattr(item, field.name))
    elif isinstance(item, dict):
        for value in item.values():
            yield from _trees(value)
    elif isinstance(item, list | tuple | frozenset):
        for value in item:
            yield from _trees(value)


@cache
def formulas() -> dict[str, list[tree.Node]]:
    """Every expression of every card and every part of one, once."""
    found = {
        key: list(dict.fromkeys(part for node in _trees(load_card(key)) for part in node.walk())) for key in shipped()
    }
    return {key: [node for node in nodes if not isinstance(node, tree.Tuple)] for key, nodes in found.items()}


def letters_of(node: tree.Node, random: np.random.Generator, wide: float) -> dict[str, Any]:
    """A number for every letter: small integers, rationals, and balls with a share of ``wide``."""
    made: dict[str, Any] = {}
    for name in sorted(tree.letters(node) - {"pi", "E", "oo"}):
        kind = random.random()
        value = F(int(random.integers(-2, 7)), 1 if kind < 0.5 else int(random.integers(1, 9)))
        made[name] = arb(float(value), float(random.choice([0, 1e-12, 0.3]))) if random.random() < wide else value
    return made


def outcome(evaluate: Any, *arguments: Any) -> Any:
    """A value, or the kind of refusal."""
    try:
        return evaluate(*arguments)
    except KeyError:  # an UnboundError is one
        return KeyError
    except (MathematicalError, ExpressionError) as error:
        return type(error)


def agree(old: Any, new: Any) -> bool:
    """Equal rationals and answers; balls that overlap, the new one no wider; the same kind of refusal."""
    if isinstance(old, type) or isinstance(new, type):
        kinds = isinstance(old, type) and isinstance(new, type)
        return kinds and (old is new or {old, new} <= {MathematicalError, before_claims.EvaluationError})
    if isinstance(old, bool | None) or isinstance(new, bool | None):
        return old is new
    if isinstance(old, F) and isinstance(new, F):
        return old == new
    if not isinstance(old, F | arb) or not isinstance(new, F | arb):
        return old == new
    with precision(400):  # a fraction at the precision of the day would be wider than the ball of before
        one, other = before_exact.ball(old), before_exact.ball(new)
    if one.is_nan() or other.is_nan():
        return bool(one.is_nan() and other.is_nan())
    return bool(one.overlaps(other)) and not float(other.rad()) > float(one.rad()) * (1 + 1e-6)


def lazy(node: tree.Node) -> bool:
    """Whether what follows a decisive part of a condition may be left alone: before, formulas looked at everything."""
    return any(isinstance(part, tree.Logical) for part in node.walk())


def ranged_integral(node: tree.Node) -> bool:
    """An integral, which formulas took for an argmin."""
    return any(isinstance(part, tree.Call) and part.function == "integral" and binder(part) for part in node.walk())


def cases() -> list[tuple[str, list[tree.Node]]]:
    return [*formulas().items(), ("side conditions", [parse(text) for text in SIDE_CONDITIONS])]


CASES = [*sorted(shipped()), "side conditions"]
KNOWN = {"c": F(7, 3), "n": F(4), "b": arb(1.5, 0.25), "z": arb(0, 0.5), "a": F(2)}


@pytest.mark.seeded
@pytest.mark.parametrize("key", CASES)
def test_exact_formulas_agree(key: str) -> None:
    random, compared = np.random.default_rng([SEED, 1]), 0
    for node in dict(cases())[key]:
        name = "answer" if is_condition(node) else "value"
        for wide in (0.0, 0.5):
            letters = KNOWN if key == "side conditions" else letters_of(node, random, wide)
            with precision(200):
                old = outcome(getattr(before_exact.Formula(letters), name), node)
                new = outcome(getattr(Formula(letters), name), node)
            if ranged_integral(node):
                assert new is MathematicalError or new is KeyError
            elif not (old is MathematicalError and lazy(node)):
                assert agree(old, new), (to_text(node), letters, old, new)
                compared += not isinstance(new, type)
    assert compared >= 100


@pytest.mark.seeded
@pytest.mark.parametrize("key", CASES)
def test_claims_agree(key: str) -> None:
    random, compared = np.random.default_rng([SEED, 2]), 0
    for node in dict(cases())[key]:
        letters = KNOWN if key == "side conditions" else letters_of(node, random, 0.3)
        table: dict[str, Any] = {n: (x, "computed" if k % 3 else "proved") for k, (n, x) in enumerate(letters.items())}
        with precision(200):
            one, other = before_claims.Evaluator(table), Evaluator(table)
            old, new = outcome(one.value, node), outcome(other.value, node)
        assert agree(old, new), (to_text(node), letters, old, new)
        if not isinstance(new, type):
            assert one.certainty == other.certainty, to_text(node)
            compared += 1
    assert compared >= 70


@pytest.mark.seeded
@pytest.mark.parametrize("key", CASES)
def test_samples_agree_bit_for_bit(key: str) -> None:
    random, compared = np.random.default_rng([SEED, 3]), 0
    for node in dict(cases())[key]:
        points = {n: np.round(random.normal(size=5) * 4, 1) for n in tree.letters(node) - {"pi", "E", "oo"}}
        old, new = outcome(before_sampled.evaluate, node, points), outcome(numeric.evaluate, node, points)
        if isinstance(old, type) or isinstance(new, type):
            assert old is new, (to_text(node), old, new)
            continue
        left, right = (side.astype(float) for side in np.broadcast_arrays(old, new))
        assert np.array_equal(left, right, equal_nan=True), (to_text(node), points, old, new)
        compared += 1
    assert compared >= 70


@pytest.mark.seeded
@pytest.mark.parametrize("key", CASES)
def test_boxes_agree(key: str) -> None:
    random, compared = np.random.default_rng([SEED, 4]), 0
    for node in dict(cases())[key]:
        name = "truth" if is_condition(node) else "enclose"
        made: list[Any] = []
        for module in (before_boxes, boxes):
            try:
                made.append(getattr(module, name)(node))
            except (before_boxes.NoEnclosure, boxes.NoEnclosure):
                made.append(None)
        assert (made[0] is None) == (made[1] is None) or isinstance(node, tree.Truth), to_text(node)
        if made[0] is None or made[1] is None:
            continue
        for _ in range(POINTS):
            ends = {n: sorted(random.integers(-2, 9, 2) / 2) for n in tree.letters(node) - {"pi", "E", "oo"}}
            with precision(90):
                box = {n: arb(a).union(arb(b)) if random.random() < 0.7 else arb(a) for n, (a, b) in ends.items()}
                old, new = made[0](box), made[1](box)
            assert agree(old, new), (to_text(node), box, old, new)
            compared += new is not None
    assert compared >= 50
