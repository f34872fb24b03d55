"""The room of numbers alone: logic against completions, conversions against fractions, trees against Python."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb, ctx

from bilevel_verify.errors import MathematicalError
from bilevel_verify.language import parse, tree
from bilevel_verify.numbers import exact, trees
from bilevel_verify.numbers.exact import EXACT, Formula, compare, ends, integer, middle, relation
from bilevel_verify.numbers.logic import conjunction, disjunction, logical, logical_batch, opposite
from bilevel_verify.numbers.rounding import ball, constant_ball, enclose, float_above, floats_of, fraction, precision
from bilevel_verify.numbers.trees import TreeEvaluator

pytestmark = pytest.mark.fast
F = Fraction
ANSWERS = (True, False, None)
WIDE, ZERO = arb(1, 0.5), arb(0, 0.5)


# --- logic


@pytest.mark.parametrize("answers", [list(a) for n in range(4) for a in itertools.product(ANSWERS, repeat=n)])
def test_three_valued_logic_is_what_all_completions_agree_on(answers: list[bool | None]) -> None:
    choices = [(True, False) if a is None else (a,) for a in answers]
    for rule, op, found in ((all, "and", conjunction(answers)), (any, "or", disjunction(answers))):
        completed = {rule(choice) for choice in itertools.product(*choices)}
        assert found is (completed.pop() if len(completed) == 1 else None)
        assert logical(op, answers) is found
        if answers:
            pairs = [(np.array([a is True]), np.array([a is False])) for a in answers]
            true, false = logical_batch(op, pairs)
            assert (bool(true[0]), bool(false[0])) == (found is True, found is False)


def test_what_follows_a_decisive_answer_is_not_looked_at() -> None:
    def then(answer: bool) -> Any:
        yield answer
        raise AssertionError

    assert conjunction(then(False)) is False
    assert disjunction(then(True)) is True


def test_negations_and_constants() -> None:
    assert [opposite(a) for a in ANSWERS] == [logical("not", [a]) for a in ANSWERS] == [False, True, None]
    assert (logical("true", ()), logical("false", ())) == (True, False)
    yes, no = logical_batch("not", [(np.array([True, False, False]), np.array([False, True, False]))])
    assert (yes.tolist(), no.tolist()) == ([False, True, False], [True, False, False])
    for op in ("true", "false"):
        assert [bool(side) for side in logical_batch(op, [])] == [op == "true", op == "false"]


# --- conversions


def test_precision_is_given_back() -> None:
    before = ctx.prec
    with precision(333):
        assert ctx.prec == 333
    with pytest.raises(ZeroDivisionError), precision(333):
        _ = 1 / 0
    assert ctx.prec == before


def read(value: arb) -> Fraction:
    mantissa, exponent = value.mid().man_exp()
    return F(int(mantissa)) * F(2) ** int(exponent)


THIRD = mpmath.mpf(1) / 3


@pytest.mark.parametrize(
    ("number", "wanted"),
    [
        *[(x, F(x)) for x in (3, -7, 0, 0.1, -2.5, 1e300, 5e-324)],
        (np.float64(0.3), F(0.3)),
        (np.int64(-4), F(-4)),
        (THIRD, F(int(THIRD.man)) * F(2) ** int(THIRD.exp)),
        (-(mpmath.mpf(2) ** 90), -(F(2) ** 90)),
    ],
)
def test_floats_integers_and_binary_numbers_are_exact_balls(number: Any, wanted: Fraction) -> None:
    with precision(20):
        found = ball(number)
    assert found.is_exact()
    assert read(found) == wanted
    assert ball(found) is found


@pytest.mark.parametrize("number", [mpmath.nan, mpmath.inf, -mpmath.inf])
def test_what_is_no_finite_binary_number_has_no_ball(number: Any) -> None:
    with pytest.raises(MathematicalError, match="precision"):
        ball(number)


@pytest.mark.parametrize("value", [F(1, 3), F(-22, 7), F(10**40 + 1, 10**40), F(1, 10**400), F(10) ** 400])
def test_rationals_lie_within_their_balls_and_floats(value: Fraction) -> None:
    found = ball(value)
    low, high = floats_of(found)
    assert low < high
    assert low == -math.inf or F(low) <= value
    assert high == math.inf or value <= F(high)
    exact_low, exact_high = ends(value)
    assert low <= exact_low <= exact_high <= high
    assert exact_high == float_above(value)
    assert exact_low <= middle(value) <= exact_high
    assert enclose(value) == (exact_low, exact_high)


def test_ends_of_what_is_infinite_or_lost() -> None:
    assert [math.isnan(end) for end in ends(arb("nan"))] == [True, True]
    assert ends(arb("+inf")) == (exact.LARGEST, math.inf)
    assert ends(arb("-inf")) == (-math.inf, -exact.LARGEST)
    assert ends(arb(0, math.inf)) == (-math.inf, math.inf)
    assert floats_of(arb("nan")) == (-math.inf, math.inf)


def test_rational_parameters() -> None:
    import sympy

    assert fraction(0.1) == F(0.1)
    assert fraction(sympy.Rational(2, 7)) == F(2, 7)
    for thing in (sympy.sqrt(2), "x", None, math.inf):
        with pytest.raises(MathematicalError, match="must be rational"):
            fraction(thing)


def test_constants_are_read_at_the_precision_in_force() -> None:
    import sympy

    for bits in (60, 300):
        with precision(bits):
            assert EXACT.constant(sympy.sqrt(2)).rel_accuracy_bits() == pytest.approx(bits, abs=6)
    assert EXACT.constant(3) == F(3)
    assert isinstance(EXACT.constant(3), Fraction)
    assert constant_ball(sympy.Pow(2, -3, evaluate=False)) == F(1, 8).numerator / arb(8)


# --- relations


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "=="])
def test_relations_say_no_more_than_every_pair_of_numbers_does(operator: str) -> None:
    import operator as python

    rule: Callable[[Any, Any], bool] = {
        "<": python.lt, "<=": python.le, ">": python.gt, ">=": python.ge, "==": python.eq,
    }[operator]  # fmt: skip
    thin = [F(0), F(1), F(2)]
    sides: list[tuple[Any, list[Fraction]]] = [(x, [x]) for x in thin] + [(arb(int(x)), [x]) for x in thin]
    sides += [
        (arb(low).union(arb(high)), [F(low), F(low + high, 2), F(high)]) for low, high in ((0, 1), (1, 2), (0, 2))
    ]
    for (a, inside_a), (b, inside_b) in itertools.product(sides, repeat=2):
        held = {rule(p, q) for p in inside_a for q in inside_b}
        found = compare(a, operator, b)
        assert found is None or held == {found}
        if len(inside_a) == len(inside_b) == 1:
            assert found is not None


def test_lost_numbers_are_in_no_relation() -> None:
    for op in ("lt", "le", "eq"):
        for a, b in ((arb("nan"), F(1)), (F(1), arb("nan")), (arb("nan"), arb("nan"))):
            assert relation(op, a, b) is None


def test_whole_numbers() -> None:
    assert integer(F(4), "it") == integer(arb(4), "it") == 4
    for value in (F(1, 2), arb(4, 1e-30), arb("nan"), WIDE):
        with pytest.raises(MathematicalError, match=r"it (is 1/2, not an integer|cannot be told)"):
            integer(value, "it")


# --- trees


def value(text: str, **letters: Any) -> Any:
    return Formula(letters).value(parse(text))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a - b - c", F(2) - F(3) - F(5)),
        ("-a + b - (-c)", F(-2) + 3 + 5),
        ("a*b/c", F(6, 5)),
        ("a**b**a", F(2) ** 9),
        ("-c % b", F(-5) % 3),
        ("c % (0 - b)", F(5) % F(-3)),
        ("sum(i*a, (i, 1, c))", F(30)),
        ("prod(i, (i, b, c))", F(60)),
        ("sum(sum(i*j, (j, 1, i)), (i, 1, b))", F(1 + 6 + 18)),
        ("sum(a, (a, 1, 3)) + a", F(8)),
        ("max(i*(c - i), (i, 0, c))", F(6)),
        ("min((i - a)**2, (i, b, c))", F(1)),
        ("argmax(i*(c - i), (i, 0, c))", F(2)),
        ("argmin(0, (i, b, c))", F(3)),
        ("sum(i, (i, 4/3, 7/2))", F(5)),
        ("sum(1/(i - i), (i, 3, 2))", F(0)),
        ("prod(1/(i - i), (i, 3, 2))", F(1)),
        ("max(a, c, b)", F(5)),
        ("binomial(c, a) + factorial(b)", F(16)),
        ("a if a < b < c else 1/0", F(2)),
        ("1/0 if a < b < a else c", F(5)),
        ("a if False or not b > c else c", F(2)),
    ],
)
def test_trees_are_worth_what_python_says(text: str, wanted: Fraction) -> None:
    found = value(text, a=F(2), b=F(3), c=F(5))
    assert isinstance(found, Fraction)
    assert found == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1/(a - a)", "division by zero"),
        ("(a - a)**(0 - 1)", "negative power"),
        ("1/z", "may be 0"),
        ("z**(0 - 2)", "may be 0"),
        ("log(z)", "may not be positive"),
        ("max(i, (i, 3, 2))", "an empty max"),
        ("argmin(i, (i, 3, 2))", "an empty argmin"),
        ("argmin(w*i, (i, 0, 1)) + argmax(z*i, (i, 0, 1))", "tie"),
        ("sum(i, (i, w, 9))", "precision: a lower limit cannot be told"),
        ("sum(i, (i, 0, w))", "precision: an upper limit cannot be told"),
        ("sum(1, (i, 1, 1000001))", "budget: an index range of more than 1000000 terms"),
        ("a + (a < a)", "Compare cannot be evaluated here"),
        ("sin(a, a)", "2 arguments"),
        ("floor(1, 2)", "2 arguments"),
        ("x[1]", "Index cannot be evaluated here"),
        ("norm(a)", "norm of 1 arguments"),
        ("integral(i, (i, 0, 1))", "integral of 2 arguments"),
        ("a if a + a else a", "a condition was expected"),
        ("factorial(2001)", "budget"),
        ("factorial(0 - 1)", "negative"),
    ],
)
def test_what_has_no_value_says_why(text: str, message: str) -> None:
    with pytest.raises(MathematicalError, match=message):
        value(text, a=F(2), w=WIDE, z=ZERO)


def test_undecided_branches_and_roundings_are_joined() -> None:
    assert ends(value("10 if w < 1 else 20", w=WIDE)) == pytest.approx((10.0, 20.0))
    low, high = ends(value("floor(w)", w=WIDE))
    assert low <= 0 < 1 <= high
    low, high = ends(value("ceil(w)", w=WIDE))
    assert low <= 1 < 2 <= high
    low, high = ends(value("sign(z)", z=ZERO))
    assert low <= -1 < 1 <= high
    assert value("z**0", z=ZERO) == 1


def test_an_index_hides_a_letter_and_nothing_is_left_of_it() -> None:
    letters = {"i": F(100)}
    assert Formula(letters).value(parse("sum(i, (i, 1, 3)) + i")) == 106
    assert letters == {"i": F(100)}
    with pytest.raises(KeyError, match="j"):
        Formula(letters).value(parse("sum(j, (j, 1, 3)) + j"))


def test_conditions_and_numbers_are_told_apart() -> None:
    formula = Formula({"a": F(2), "z": ZERO})
    assert formula.answer(parse("a > 1 and not z > 1")) is True
    assert formula.answer(parse("z > 0")) is None
    assert formula.answer(parse("a > 3 and 1/0 > 1")) is False
    for text, ask in (("a", formula.answer), ("a > 1", formula.value)):
        with pytest.raises(MathematicalError, match="was expected"):
            ask(parse(text))


def test_remembered_trees_stay_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled is found again by the tree itself; when there is too much of it, it is compiled again."""
    monkeypatch.setattr(trees, "REMEMBERED", 3)
    one = TreeEvaluator(EXACT, exact.FUNCTIONS)
    nodes = [tree.Add((tree.Letter("x"), tree.Number(F(k)))) for k in range(10)]
    for _ in range(2):
        for k, node in enumerate(nodes):
            assert one.compiled(node)({"x": F(1)}) == 1 + k
    assert one.compiled(nodes[9]) is one.compiled(nodes[9])
    assert len(one._compiled) <= 3


def test_rounding_up_and_down_and_the_place_of_the_least_and_the_largest() -> None:
    assert (value("floor(a)", a=F(7, 3)), value("ceil(a)", a=F(7, 3))) == (2, 3)
    assert (value("floor(-a)", a=F(7, 3)), value("ceil(-a)", a=F(7, 3))) == (-3, -2)
    assert value("argmin((i - 2)**2, (i, 0, 5))") == value("argmax(-(i - 2)**2, (i, 0, 5))") == 2
    assert value("argmin(i, (i, 0, 5))") == value("argmax(-i, (i, 0, 5))") == 0
    assert value("argmax(i, (i, 0, 5))") == value("argmin(-i, (i, 0, 5))") == 5
