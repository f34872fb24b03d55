"""Ranges whose ends are no floats: what is certified holds on the declared range, not on that of the nearest floats."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy
from seeds import SEED

import bilevel_verify as bv
from bilevel_verify.checks.claims.values import EvaluationError
from bilevel_verify.checks.judging.attack import _domain_letter
from bilevel_verify.checks.judging.boxes import prove
from bilevel_verify.numbers.rounding import inward, outward

pytestmark = pytest.mark.fast


def ends(chance: random.Random) -> tuple[Fraction, Fraction]:
    low, high = sorted(Fraction(chance.randint(-40, 40), chance.choice((3, 7, 9, 11, 13))) for _ in range(2))
    return low, high + Fraction(1, 3)


def holds(enclosure: Any, true: Fraction) -> bool:
    return Fraction(enclosure.lower) <= true <= Fraction(enclosure.upper)


@pytest.mark.slow
@pytest.mark.seeded
@pytest.mark.parametrize("scale", [1, 10**6, 10**18])
def test_the_least_value_of_a_line_is_enclosed(scale: int) -> None:
    """c x on [a, b]: the least value is c a or c b, a fraction."""
    chance = random.Random(SEED)
    for _ in range(12):
        (low, high), slope = ends(chance), chance.choice((-1, 1)) * scale * Fraction(chance.randint(1, 9), 7)
        p = bv.single_level(f=f"({slope})*x1", x="x1", domain={"x1": (str(low), str(high))})
        found = bv.truth(p)
        least = found.phi_min()
        assert holds(least, min(slope * low, slope * high)), (slope, low, high)
        assert least.error <= 1e-14 * abs(float(slope)) * max(1.0, abs(float(low)), abs(float(high)))
        assert low <= Fraction(float(found.phi_argmin()[0])) <= high


@pytest.mark.parametrize(
    ("problem", "least"),
    [
        (bv.bilevel(f="y1 - 3*x1", g="(y1 - x1)**2", x="x1", y="y1", domain={"x1": (0, "1/3")}), Fraction(-2, 3)),
        (bv.minimax(f="x1*y1 - y1**2/2 - 2*x1", x="x1", y="y1", domain={"x1": (0, "1/3")}), Fraction(-11, 18)),
        (bv.single_level(f="x1*x2 - x1 - x2", x="x1 x2", domain={"x1": (0, "1/3"), "x2": (0, "2/3")}), Fraction(-7, 9)),
        (bv.single_level(f="-x1 - x2", x="x1 x2", domain={"x1": (0, "1/3"), "x2": (0, "2/3")}), Fraction(-1)),
        (bv.single_level(f="(x1 - 1)**2", x="x1", domain={"x1": (-1, "1/3")}), Fraction(4, 9)),
    ],
)
def test_the_least_value_at_a_rational_end_is_enclosed(problem: bv.Problem, least: Fraction) -> None:
    found = bv.truth(problem).phi_min()
    assert found.certainty == "certified"
    assert holds(found, least)


def test_the_penalty_function_too() -> None:
    """y*_lam = x - 1/(2 lam): L* = x - 1/(4 lam) - 3 x, least at 1/3."""
    p = bv.bilevel(f="y1 - 3*x1", g="(y1 - x1)**2", x="x1", y="y1", domain={"x1": (0, "1/3")})
    assert holds(bv.truth(p).L_star_min(4.0), Fraction(-2, 3) - Fraction(1, 16))


def test_a_range_between_two_floats_is_not_certified() -> None:
    low = Fraction(1, 3)
    p = bv.single_level(f="x1", x="x1", domain={"x1": (str(low), str(low + Fraction(1, 10**30)))})
    assert bv.truth(p).phi_min().certainty == "computed"


def test_a_float_next_to_an_end_is_outside() -> None:
    """float(1/3) < 1/3 < the next float; float(2/3) < 2/3."""
    assert inward(sympy.Rational(1, 3), sympy.Rational(2, 3)) == (math.nextafter(1 / 3, 1), 2 / 3)
    assert outward(sympy.Rational(1, 3), sympy.Rational(2, 3)) == (1 / 3, math.nextafter(2 / 3, 1))
    assert inward(0, sympy.oo) == outward(0, sympy.oo) == (0.0, math.inf)
    p = bv.bilevel(f="y1**2", g="(1 + x1)*y1**2", x="x1", y="y1", domain={"x1": ("1/3", 1)})
    assert bv.truth(p).phi([1 / 3]).certainty == "computed"
    assert bv.truth(p).phi([math.nextafter(1 / 3, 1)]).certainty == "certified"


def test_points_of_an_attack_lie_in_the_declared_range() -> None:
    """1/3 <= x holds on [1/3, 1] and fails at float(1/3)."""
    p = bv.single_level(f="x1", x="x1", domain={"x1": ("1/3", 1)})
    case: Any = SimpleNamespace(problem=p)
    letter = _domain_letter("x", "x", case)
    for u in (0.0, 0.5, 1.0):
        (entry,) = letter.build(np.array([u])).entries
        assert Fraction(1, 3) <= Fraction(float(entry)) <= 1
    narrow = bv.single_level(f="x1", x="x1", domain={"x1": ("1/3", "333333333333333333334/10**21")})
    with pytest.raises(EvaluationError, match="no float"):
        _domain_letter("x", "x", SimpleNamespace(problem=narrow))  # type: ignore[arg-type]


def test_a_proof_on_boxes_covers_the_declared_range(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []
    monkeypatch.setattr(
        "bilevel_verify.checks.judging.boxes._branch", lambda case, judged, letter, box: seen.append(box)
    )
    p = bv.single_level(f="x1", x="x1", domain={"x1": ("1/3", "2/3")})
    domain = SimpleNamespace(kind="domain", space="x")
    judged: Any = SimpleNamespace(claim=SimpleNamespace(for_={"x": domain}, where=()), link=SimpleNamespace(op="<="))
    truth = SimpleNamespace(batch_certainty="certified")
    case: Any = SimpleNamespace(problem=p, functions=object(), instance=SimpleNamespace(truth=truth))
    prove(case, judged)
    (box,) = seen
    assert Fraction(float(box[0, 0])) <= Fraction(1, 3)
    assert Fraction(2, 3) <= Fraction(float(box[0, 1]))
