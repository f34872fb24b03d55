"""Combinations of logarithms read from trees: their values against many digits, every refusal; signs from slopes."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import mpmath
import pytest
import sympy
from audit_pieces import claim_of

from bilevel_verify.audit.scalar import rolle
from bilevel_verify.audit.scalar.combination import (
    DEGREE,
    FIELD,
    LETTER,
    Combination,
    NotACombination,
    Range,
    Reader,
    has_root,
    number,
    odd_roots,
)
from bilevel_verify.audit.scalar.work import counting
from bilevel_verify.language import parse

pytestmark = pytest.mark.fast
F = Fraction
ONE, FREE = Range(F(0), F(1)), Range(F(0), None)
RING = FIELD.ring.gens[0]


def valued(found: Combination, at: Any) -> Any:
    x = sympy.Symbol("x")

    def of(expression: Any) -> Any:
        return sympy.lambdify(x, sympy.sympify(str(expression.as_expr())), "mpmath")(at)

    return of(found.rest) + sum(of(r) * mpmath.log(of(p)) for p, r in found.logs.items())


def written(text: str, at: Any) -> Any:
    x = sympy.Symbol("x")
    return sympy.lambdify(x, sympy.sympify(text, {"x": x, "E": sympy.E}, rational=True), "mpmath")(at)


PLAIN = [
    "3/4", "x", "-x + 2", "x + x**2 - 1/3", "2*x*(x + 1)*3", "(x + 1)/(2*x + 3)", "x**3", "(x + 2)**(-2)", "x**(-1)",
    "log(x)", "log(2*x)/x", "x*log(x + 1) - log(x)/2", "log(x)/(x + 3)*2", "log(x*(x + 1)/(x + 2))", "log(3)",
    "log((x + 1)**2/4)", "x**0 + 1", "(1/x)**2", "log(1/x)", "-log(x)*(x + 1)", "log(x) + log(x) - 2*log(x)",
]  # fmt: skip
UNDER_LOG = [
    "x", "x**2*(x + 1)", "E", "E**x", "exp(x**2)", "(1 + 1/x)**x", "x**x", "sqrt(x + 1)", "sqrt(x)*x/(x + 1)**(3/2)",
    "exp(log(x)*2)", "x**(1/2)", "E*x", "(x + 1)**(x/3)/exp(1 - x)", "2**x", "(x**2)**(1/(x + 1))",
]  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_an_expression_has_the_value_of_its_combination(text: str) -> None:
    found = Reader("x", FREE).of(parse(text))
    assert all(found.logs.values())
    with mpmath.workdps(40):
        for at in (mpmath.mpf("0.37"), mpmath.mpf(5)):
            assert abs(valued(found, at) - written(text, at)) < mpmath.mpf(10) ** -35


@pytest.mark.parametrize("text", UNDER_LOG)
def test_a_logarithm_has_the_value_of_its_combination(text: str) -> None:
    found = Reader("x", FREE).logarithm(parse(text))
    with mpmath.workdps(40):
        for at in (mpmath.mpf("0.37"), mpmath.mpf(5)):
            assert abs(valued(found, at) - mpmath.log(written(text, at))) < mpmath.mpf(10) ** -35


@pytest.mark.parametrize("text", ["sqrt(x)", "x**(3/2)", "sqrt(x)*x + x**(-1/2)", "x", "log(x)"])
def test_with_a_root_the_letter_is_a_square(text: str) -> None:
    found = Reader("x", FREE, 2).of(parse(text))
    with mpmath.workdps(40):
        for at in (mpmath.mpf("0.37"), mpmath.mpf(5)):
            assert abs(valued(found, at) - written(text, at**2)) < mpmath.mpf(10) ** -35


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a + x", "another function, or another letter"), ("sin(x)", "another function, or another letter"),
        ("exp(x)", "another function, or another letter"), ("x/log(x)", "a logarithm in a place where none may stand"),
        ("log(x)**2", "a logarithm in a place where none may stand"), ("log(x)*log(x)", "a product of logarithms"),
        ("log(log(x))", "no product of powers"), ("1/(x - 1/2)", "a pole in the range"),
        ("(x - 1/2)**(-1)", "a pole in the range"), ("1/(x - x)", "a pole in the range"),
        ("2**x", "the letter in an exponent"), ("x**x", "the letter in an exponent"),
        ("(x + 1)**(1/2)", "a root, or a high power"), ("sqrt(x)", "a root, or a high power"),
        ("(x + 1)**(60 + 5)", "a root, or a high power"), ("(x + 1)**(-60 - 5)", "a root, or a high power"),
        ("log(x - 1)", "no product of powers"), ("log(1 + sin(x))", "no product of powers"),
    ],
)  # fmt: skip
def test_what_is_no_combination_on_the_range(text: str, why: str) -> None:
    with pytest.raises(NotACombination, match=why):
        Reader("x", ONE).of(parse(text))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x - 1", "not positive"), ("-x", "not positive"), ("x - x", "not positive"), ("-3", "not positive"),
        ("x - 1/2", "has a zero in the range"), ("(x - 1/2)**2", "has a zero in the range"),
        ("(x - 1)*(x + 1)", "not positive"), ("-(x**2)/(x + 1)", "not positive"), ("1/(x - 1)", "not positive"),
    ],
)  # fmt: skip
def test_arguments_of_a_logarithm_are_positive(text: str, why: str) -> None:
    reader = Reader("x", ONE)
    with pytest.raises(NotACombination, match=why):
        reader._log_of(reader.rational(parse(text)))


def test_powers_up_to_a_degree_are_written_out() -> None:
    assert DEGREE == 64
    for text, value in (("(x + 1)**64", (LETTER + 1) ** 64), ("(x + 1)**(-64)", 1 / (LETTER + 1) ** 64)):
        assert Reader("x", ONE).of(parse(text)) == Combination(value, {})


def test_two_negative_factors_have_a_logarithm_together() -> None:
    found = Reader("x", ONE).logarithm(parse("(x - 1)*(x - 2)"))
    assert found.logs == {1 - RING: 1, 2 - RING: 1}
    assert Reader("x", ONE).logarithm(parse("(x - 1)**2/(3 - x)**3")).logs == {1 - RING: 2, 3 - RING: -3}


@pytest.mark.parametrize(
    ("text", "asked"),
    [("x/x", ["x"]), ("1/(x + 1)", ["x + 1"]), ("x**(-2)", ["x"]), ("log(x)", ["x"]), ("x**2", []), ("x/3", []),
     ("log(x) - log(x)", ["x"]), ("log(x/(x + 1))", ["x", "x + 1"]), ("x**0", ["x"]), ("(x + 1)**0", ["x + 1"])],
)  # fmt: skip
def test_what_must_not_vanish_at_an_end(text: str, asked: list[str]) -> None:
    reader = Reader("x", ONE)
    reader.of(parse(text))
    found = {str(poly) for poly in reader.nonzero if not poly.is_ground}
    assert found == set(asked)


def test_sums_products_and_slopes_of_combinations() -> None:
    p, q = RING + 1, RING + 2
    one = Combination(LETTER, {p: LETTER, q: FIELD.one})
    two = Combination(number(F(1, 2)), {p: -LETTER, RING: number(F(2))})
    total = one.plus(two)
    assert total.rest == LETTER + number(F(1, 2))
    assert total.logs == {q: 1, RING: 2}  # what cancels is gone
    assert one.times(FIELD.zero) == Combination(FIELD.zero, {})
    assert one.times(LETTER).logs == {p: LETTER**2, q: LETTER}
    slope = one.derivative()  # (x + x log(x + 1) + log(x + 2))' = 1 + log(x + 1) + x/(x + 1) + 1/(x + 2)
    assert slope.logs == {p: FIELD.one}
    assert slope.rest == 1 + LETTER / (LETTER + 1) + 1 / (LETTER + 2)


@pytest.mark.parametrize("low", [F(0), F(1), F(3, 2), F(-1)])
@pytest.mark.parametrize("high", [F(2), F(3), None])
def test_roots_inside_an_open_range(low: Fraction, high: Fraction | None) -> None:
    roots = {F(0): 1, F(1): 2, F(2): 3, F(3): 1}
    poly = RING * (RING - 1) ** 2 * (RING - 2) ** 3 * (RING - 3) * (RING**2 + 1)
    inside = [at for at in roots if at > low and (high is None or at < high)]
    where = Range(low, high)
    assert odd_roots(poly, where) == sum(roots[at] % 2 for at in inside)
    assert has_root(poly, where) is bool(inside)
    assert has_root(RING**2 - 2, where) is (low < F(3, 2) and (high is None or high >= 2))
    assert not has_root(RING**0, where)
    assert odd_roots(RING**0 * 5, where) == 0


# --- signs from a slope and from two ends


def least_story(slope: tuple[int, ...], low: int, high: int) -> set[tuple[int, ...]] | None:
    """Signs of a function that has these limits and slopes, drawn on a grid: every shape that is possible."""
    found = set()
    levels = range(-2, 3)
    limits = {-1: [-2, -1], 0: [0], 1: [1, 2]}
    for start, turn, end in product(limits[low], levels, limits[high]):
        path = [start, end] if len(slope) == 1 else [start, turn, end]
        steps = [b - a for a, b in pairwise(path)]
        if any(s * (1 if step > 0 else -1 if step < 0 else 0) <= 0 for s, step in zip(slope, steps)):
            continue
        signs: list[int] = []
        for a, b in pairwise(path):
            for k in range(1, 200):
                value = a + (b - a) * F(k, 200)
                sign = (value > 0) - (value < 0)
                if sign and (not signs or signs[-1] != sign):
                    signs.append(sign)
        found.add(tuple(signs))
    return found


@pytest.mark.parametrize("slope", [(1,), (-1,), (1, -1), (-1, 1)])
@pytest.mark.parametrize("low", [-1, 0, 1])
@pytest.mark.parametrize("high", [-1, 0, 1])
def test_signs_from_slopes_are_the_only_possible_ones(
    slope: tuple[int, ...], low: int, high: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rolle, "_limit", lambda value, where, upper: high if upper else low)
    possible = least_story(slope, low, high)
    try:
        found = rolle._from_slope(slope, Combination(FIELD.zero, {}), ONE)
    except NotACombination:
        assert len(possible) != 1
        return
    if possible:  # else no function has this slope and these limits
        assert possible == {found}


def test_a_slope_of_nothing_is_a_constant_and_many_turns_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (-1, 0, 1):
        monkeypatch.setattr(rolle, "_limit", lambda *_, value=value: value)
        assert rolle._from_slope((0,), Combination(FIELD.zero, {}), ONE) == (value,)
    with pytest.raises(NotACombination):
        rolle._from_slope((1, -1, 1), Combination(FIELD.zero, {}), ONE)


@pytest.mark.parametrize(
    ("text", "where", "signs"),
    [
        ("0*x", ONE, (0,)), ("x", ONE, (1,)), ("-x", ONE, (-1,)), ("x - 1/2", ONE, (-1, 1)),
        ("(x - 1/2)**2", ONE, (1,)), ("(x - 1/3)*(x - 2/3)", ONE, (1, -1, 1)), ("1/(x + 1) - 1/2", FREE, (1, -1)),
        ("1 - x", FREE, (1, -1)), ("log(x)", FREE, (-1, 1)), ("log(x)", ONE, (-1,)), ("x - log(x)", FREE, None),
        ("log(x) - x + 1", FREE, None), ("-x*log(x)", ONE, (1,)),
        ("(x - 1)**2*log(x + 1)", FREE, None),  # it is 0 at 1, where the quotient by (x - 1)^2 is not
        ("(x - 1)**2*log(x + 1)", ONE, (1,)), ("(x + 1)**2*log(x + 1)", FREE, (1,)),
    ],
)  # fmt: skip
def test_signs_on_the_parts_of_a_range(text: str, where: Range, signs: Any) -> None:
    value = Reader("x", where).of(parse(text))
    with counting(1e6) as work:
        if signs is None:
            with pytest.raises(NotACombination):
                rolle._signs(value, where)
            return
        assert rolle._signs(value, where) == signs
    assert work.spent >= rolle.STEP_WORK * (1 + len(value.logs))


def test_a_pole_inside_of_the_range_has_no_signs() -> None:
    assert rolle._signs_of_rational(1 / (LETTER - 1), ONE) == (-1,)
    for pole in (F(1, 2), F(1, 3)):
        with pytest.raises(NotACombination, match="a pole in the range"):
            rolle._signs_of_rational(1 / (LETTER - number(pole)) ** 2, ONE)


def test_more_than_five_logarithms_are_too_many() -> None:
    for count, many in ((5, False), (6, True)):
        text = " + ".join(f"log(x + {k})" for k in range(1, count + 1))
        value = Reader("x", FREE).of(parse(text))
        if many:
            with pytest.raises(NotACombination, match="too many"):
                rolle._signs(value, FREE)
        else:
            assert rolle._signs(value, FREE) == (1,)


@pytest.mark.parametrize(
    ("texts", "root"),
    [(("x",), 1), (("sqrt(x)",), 2), (("x**(1/3)", "sqrt(x)"), 6),
     (("x**(1/5)", "sqrt(x)"), 1), (("(x + 1)**(1/2)",), 1),
     (("x**0.5",), 2), (("y**0.5",), 1), (("x**0.25", "x**(1/3)"), 1), (("x**0.5", "x**(1/3)"), 6),
     (("sqrt(pi)*x",), 1), (("sqrt(y)",), 1),
     (("x**(2/4)",), 2), (("x**3", "y**(1/2)"), 1), (("sqrt(x + 1)",), 1), (("x**(1/2)", "x**(1/2)"), 2)],
)  # fmt: skip
def test_the_root_in_which_both_sides_are_rational(texts: tuple[str, ...], root: int) -> None:
    assert rolle._root("x", *(parse(text) for text in texts)) == root


@pytest.mark.parametrize(
    ("value", "root", "found"),
    [(F(4), 2, F(2)), (F(9, 4), 2, F(3, 2)), (F(2), 2, None), (F(-4), 2, None), (F(-4), 1, F(-4)), (F(0), 3, F(0)),
     (F(27, 8), 3, F(3, 2)), (F(-8), 3, None), (F(5, 4), 2, None), (F(64), 6, F(2))],
)  # fmt: skip
def test_exact_roots_of_ends(value: Fraction, root: int, found: Fraction | None) -> None:
    assert rolle._exact_root(value, root) == found


@pytest.mark.parametrize(
    ("domain", "where", "root", "found"),
    [
        ("x = [1, 4]", (), 1, (F(1), F(4), (True, True), 1)), ("x = (1, 4]", (), 1, (F(1), F(4), (False, True), 1)),
        ("x = [1, 4)", (), 2, (F(1), F(2), (True, False), 2)), ("x = [2, 4]", (), 2, (F(2), F(4), (True, True), 1)),
        ("x = [1, 2]", (), 2, (F(1), F(2), (True, True), 1)), ("x = [1, oo)", (), 2, (F(1), None, (True, True), 2)),
        ("x = (0, oo)", ("x >= 1",), 1, (F(1), None, (True, True), 1)), ("x = (-oo, 1]", (), 1, None),
        ("x = [2, 2]", (), 1, None), ("x = [3, 2]", (), 1, None),
        ("x = (0, 4)", ("x <= 1",), 1, (F(0), F(1), (False, True), 1)),
    ],
)  # fmt: skip
def test_the_range_of_the_letter(domain: str, where: tuple[str, ...], root: int, found: Any) -> None:
    claim = claim_of("x <= 5", domain, "; ".join(where))
    reader = rolle._reader(claim, "x", root)
    if found is None:
        assert reader is None
        return
    assert reader is not None
    low, high, closed, kept = found
    assert (reader.where.low, reader.where.high, reader.root) == (low, high, kept)
    assert reader.where.closed[0] is closed[0]
    assert high is None or reader.where.closed[1] is closed[1]


def test_candidates_are_where_the_argument_of_a_logarithm_is_one() -> None:
    value = Reader("x", FREE).of(parse("log(x) + log(2*x + 1)/x + log(x**2 - 3*x + 3) + log(x/3)"))
    assert rolle._candidates(value, FREE) == [1, 2]
    assert rolle._candidates(value, Range(F(1), None)) == [2]
    assert rolle._candidates(value, Range(F(0), F(2))) == [1]


def test_numbers_too_large_or_too_close_are_no_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotACombination, match="too large"):
        rolle._sign_of((F(0), {F(3): F(10**7), F(2): F(-(10**7) - 1)}))
    monkeypatch.setattr(rolle, "PRECISIONS", (64,))
    with pytest.raises(NotACombination, match="too close"):
        rolle._sign_of((F(-693147180559945309417232121458, 10**30), {F(2): F(1)}))
    from flint import ctx

    before = ctx.prec
    assert rolle._sign_of((F(1), {F(2): F(1)})) == 1
    assert ctx.prec == before


@pytest.mark.parametrize(
    "text", ["2*sqrt(x) <= x + 1", "x + 1 >= 2*sqrt(x)", "3*x**(1/3) <= x + 2", "3*x**(1/3) - 2 <= x"]
)
def test_roots_of_the_letter_on_either_side_are_powers_of_one_root(text: str) -> None:
    assert rolle.by_rolle(claim_of(text, "x = (0, oo)")).outcome == "proved"
    false = text.replace("+ 1", "+ 9/10").replace("+ 2", "+ 19/10").replace("- 2", "- 19/10")
    assert rolle.by_rolle(claim_of(false, "x = (0, oo)")).outcome == "undecided"
