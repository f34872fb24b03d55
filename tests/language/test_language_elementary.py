"""Every column of the table of elementary functions against mpmath, and every room that looks there."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import flint
import mpmath
import numpy as np
import pytest

from bilevel_verify.language import parse, to_latex
from bilevel_verify.language.elementary import ELEMENTARY, INCREASING, TRANSCENDENTAL, Elementary

FUNCTIONS = list(ELEMENTARY.values())
NAMES = [one.name for one in FUNCTIONS]
POINTS = [k / 8 for k in range(-80, 81)]


def true_value(one: Elementary, t: float) -> mpmath.mpf | None:
    """mpmath's value, None outside the domain."""
    if t < one.start or (one.name == "log" and t == 0):
        return None
    return getattr(mpmath, one.name)(mpmath.mpf(t))


@pytest.mark.parametrize("one", FUNCTIONS, ids=NAMES)
def test_shape_is_what_mpmath_shows(one: Elementary) -> None:
    with mpmath.workdps(40):
        values = [(t, v) for t in POINTS if (v := true_value(one, t)) is not None]
        low, high = one.values
        assert all(low <= v <= high for _, v in values)
        rising = all(a <= b for (_, a), (_, b) in pairwise(values))
        assert rising == one.increasing
        assert one.parity != "odd" or all(true_value(one, -t) == -v for t, v in values)
        assert one.parity != "even" or all(true_value(one, -t) == v for t, v in values)
        assert one.parity or any(true_value(one, -t) not in (v, -v) for t, v in values if t)
        assert one.steps == (len({v for _, v in values if v}) < 25)


@pytest.mark.parametrize("one", FUNCTIONS, ids=NAMES)
def test_range_is_the_smallest(one: Elementary) -> None:
    """Each finite end is come near to, so that a range that is too wide shows; an infinite one is left behind."""
    far = [1e-9, *(t for k in range(300) if (t := -60.0 + 0.4 * k) >= one.start)]
    values = [float(v) for t in far if (v := true_value(one, t)) is not None]
    for end, reached in zip(one.values, (min(values), max(values))):
        assert math.isclose(end, reached, abs_tol=0.05) if math.isfinite(end) else abs(reached) > 4
    for end, t in zip(one.limits, (-1e3, 1e3)):
        if not math.isnan(end):
            value = float(true_value(one, t)) if t >= one.start else math.nan
            assert math.isclose(value, end, abs_tol=1e-12) if math.isfinite(end) else value * np.sign(end) > 6


@pytest.mark.parametrize("one", FUNCTIONS, ids=NAMES)
def test_the_three_evaluations_agree(one: Elementary) -> None:
    points = [t for t in POINTS if true_value(one, t) is not None and abs(t) < 5]
    array = one.array(np.array(points))
    for t, value in zip(points, array.tolist()):
        assert math.isclose(one.real(t), value, rel_tol=1e-14, abs_tol=1e-300)
        if one.name != "sign":
            assert one.ball(flint.arb(t)).overlaps(flint.arb(value, 1e-13 * max(1.0, abs(value))))


@pytest.mark.parametrize("one", FUNCTIONS, ids=NAMES)
def test_names_are_read_and_written(one: Elementary) -> None:
    tree = parse(f"{one.name}(x)")
    assert tree.function == one.name
    assert all(parse(f"{other}(x)") == tree for other in one.synonyms)
    assert "x" in to_latex(tree)


def test_rooms_look_here() -> None:
    """A function of the table is known to every interpreter, or stands here with the reason why not."""
    from bilevel_verify.audit.entries.script import MPMATH
    from bilevel_verify.audit.scalar.boxes import RULES
    from bilevel_verify.audit.scalar.numeric import FUNCTIONS as SAMPLED
    from bilevel_verify.checks.claims.meanings import FUNCTIONS as CLAIMS
    from bilevel_verify.manuscript.values import REAL
    from bilevel_verify.numbers.exact import FUNCTIONS as UNARY
    from bilevel_verify.problems.vocabulary import FUNCTIONS as PROBLEMS

    for table in (SAMPLED, MPMATH, CLAIMS, REAL, PROBLEMS, UNARY):
        assert set(NAMES) <= set(table), set(NAMES) - set(table)
    assert set(NAMES) - set(RULES) == {"tan", "sign"}  # a pole inside a box; a jump that has no ball
    assert set(TRANSCENDENTAL) == set(NAMES) - {"sqrt", "sign", "floor", "ceil"}
    assert {"exp", "floor", "sqrt"} <= INCREASING
    assert UNARY["exp"](Fraction(0)) == 1
