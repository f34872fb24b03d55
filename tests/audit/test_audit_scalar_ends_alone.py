"""Side conditions of the scalar engines at one end: powers that are split, inner ranges, signs, simpler numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy
from audit_pieces import claim_of

from bilevel_verify.audit.scalar import boxes, powers
from bilevel_verify.audit.scalar.algebra import NotAlgebraic
from bilevel_verify.audit.scalar.combination import LETTER, Range, Reader
from bilevel_verify.audit.scalar.powers import Term
from bilevel_verify.audit.scalar.rolle import by_rolle
from bilevel_verify.audit.scalar.shrink import _simpler
from bilevel_verify.audit.scalar.sums import closed, has_sum
from bilevel_verify.language import parse, tree
from bilevel_verify.numbers.exact import Formula

pytestmark = pytest.mark.fast
F = Fraction
RANGES = "z = (-oo, oo); v = (-oo, oo); k = integers 0.."


def test_a_power_is_not_split_where_one_of_several_exponents_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """(z sqrt(v))**2 = z**2 v holds where sqrt(v) is defined only: every exponent must be whole, not one of them."""
    claim, half, one = claim_of("z + v <= 1", RANGES), sympy.Rational(1, 2), sympy.Integer(1)
    for exponents, split in (((one, half), False), ((half, one), False), ((half, half), False), ((one, one), True)):
        made = Term(F(1), {tree.Letter(name): power for name, power in zip("zv", exponents)})
        monkeypatch.setattr(powers, "terms_of", lambda node, claim, made=made: [made])
        if split:
            assert set(powers._power(parse("z"), sympy.Integer(2), claim).powers.values()) == {sympy.Integer(2)}
        else:
            with pytest.raises(NotAlgebraic, match="may not be split"):
                powers._power(parse("z"), sympy.Integer(2), claim)


def test_an_inner_sum_is_closed_only_if_it_counts_upward_for_every_outer_index() -> None:
    """sum(p, (p, i, 2)) is empty for i > 3: a closed form would be negative there."""
    claim = claim_of("k <= 1", RANGES)
    assert has_sum(closed(parse("sum(sum(p, (p, i, 2)), (i, 0, k))"), claim))
    again = closed(parse("sum(sum(p, (p, i, k)), (i, 0, k))"), claim)
    for k in range(5):
        wanted = sum(sum(range(i, k + 1)) for i in range(k + 1))
        assert Formula({"k": F(k)}).value(again) == wanted


def test_a_box_as_a_range_keeps_both_ends() -> None:
    domain = boxes._closed(F(1, 3), F(-2, 7))
    ends = [Formula({}).value(end.tree) for end in (domain.lower, domain.upper) if end is not None]
    assert ends == [F(1, 3), F(-2, 7)]


@pytest.mark.parametrize(
    ("factor", "where", "sign"),
    [
        (1 - LETTER, Range(F(0), F(1)), 1),
        (LETTER - 1, Range(F(0), F(1)), -1),
        (LETTER, Range(F(0), F(1)), 1),
        (-LETTER, Range(F(0), None), -1),
        (LETTER - 2, Range(F(2), None), 1),
    ],
)
def test_the_sign_of_a_factor_is_that_inside_not_at_an_end(factor: object, where: Range, sign: int) -> None:
    assert Reader("x", where)._sign(factor.numer) == sign  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["a <= a + 1", "a*a <= a*a + a"])
def test_what_was_compared_is_named(text: str) -> None:
    said = repr(by_rolle(claim_of(text)))
    assert "proved" in said
    assert "logarithms of both sides" not in said


def test_simpler_numbers_have_small_denominators_and_whole_reciprocals() -> None:
    assert F(5, 4) in set(_simpler(F(12734, 10000)))
    near = F(33001, 10000000)
    assert F(1, 303) in set(_simpler(near))
    assert F(303) not in set(_simpler(near))
