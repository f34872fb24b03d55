"""Signs at a glance, one side condition a line: open and closed ends, zeros, all of many, impossible hypotheses."""

from __future__ import annotations

from fractions import Fraction

import pytest
from audit_pieces import Recorder, claim_of, plain, ranges, shown

from bilevel_verify.audit.scalar.signs import by_cancelling, by_signs, folded, impossible, nonnegative, positive
from bilevel_verify.language import parse, to_text, tree
from bilevel_verify.theorems.card_parts import Domain, Expression

pytestmark = pytest.mark.fast

RANGES = (
    "p = (0, oo); q = (0, oo); n = [0, oo); m = [0, oo); z = (-oo, oo); one = [1, oo); half = [1/2, 2]; two = [2, 3];"
    " low = (-1, oo); unit = [0, 1]; lopen = (0, 1]; hopen = [0, 1); open = (0, 1); k = integers 0..; j = integers 1..;"
    " down = integers ..3; few = integers 0..1; over_p = [p, oo); over_n = [n, oo); over_z = [z, oo); under_p = [z, p];"
    " over_pi = [pi, oo); past_half = (1/2, 2]; twice = [2*n - z, oo); neg = [-2, -1]; over_neg = [neg, oo)"
)
SIGNS = [
    # text, plainly positive, plainly nonnegative
    ("2", True, True),
    ("0", False, True),
    ("-1", False, False),
    ("pi", True, True),
    ("E", True, True),
    ("p", True, True),
    ("n", False, True),
    ("z", False, False),
    ("one", True, True),
    ("half", True, True),
    ("low", False, False),
    ("unit", False, True),
    ("lopen", True, True),
    ("hopen", False, True),
    ("k", False, True),
    ("j", True, True),
    ("down", False, False),
    ("stranger", False, False),
    ("over_p", True, True),
    ("over_n", False, True),
    ("over_z", False, False),
    ("under_p", False, False),
    ("over_pi", True, True),
    ("twice", False, False),
    ("over_neg", False, False),
    # sums: every term, one of them strictly; affine ones at the ends of their letters
    ("n + m", False, True),
    ("n + p", True, True),
    ("p + n", True, True),
    ("p + q", True, True),
    ("n + z", False, False),
    ("z + n", False, False),
    ("p*q + z", False, False),
    ("p*q - 1", False, False),
    ("one - 1", False, True),
    ("one - 1/2", True, True),
    ("one - 2", False, False),
    ("two - 1", True, True),
    ("two - 2", False, True),
    ("p - 1", False, False),
    ("1 - unit", False, True),
    ("1 - hopen", True, True),
    ("1 - lopen", False, True),
    ("2 - unit", True, True),
    ("1 - 2*unit", False, False),
    ("2 - unit - hopen", True, True),
    ("2 - hopen - unit", True, True),
    ("2 - unit - lopen", False, True),
    ("half/2 - 1/4", False, True),
    ("past_half/2 - 1/4", True, True),
    ("half/2 - 1/8", True, True),
    ("two - half", False, True),
    ("two - unit", True, True),
    ("1 - few", False, True),
    ("2 - few", True, True),
    ("k - 1", False, False),
    ("1 - k", False, False),
    ("1 - stranger", False, False),
    ("over_p - 1", False, False),
    ("over_one - 1", False, False),
    ("over_pi - 1", False, False),
    ("-neg - 1", False, True),
    ("-neg - 2", False, False),
    # products and quotients
    ("p*q", True, True),
    ("p*n", False, True),
    ("n*p", False, True),
    ("p*z", False, False),
    ("z*p", False, False),
    ("p/q", True, True),
    ("p/n", True, True),
    ("n/p", False, True),
    ("p/z", False, False),
    ("z/p", False, False),
    # powers
    ("p**z", True, True),
    ("n**z", False, True),
    ("z**2", False, True),
    ("z**3", False, False),
    ("z**(2*k)", False, True),
    ("z**k", False, False),
    ("z**p", False, False),
    ("p**2", True, True),
    # functions
    ("sqrt(p)", True, True),
    ("sqrt(n)", False, True),
    ("sqrt(z)", False, False),
    ("max(p, q)", True, True),
    ("max(p, n)", False, True),
    ("max(p, z)", False, False),
    ("min(n, p)", False, True),
    ("min(z, p)", False, False),
    ("max(p*i, (i, 1, 3))", False, False),
    ("abs(z)", False, True),
    ("abs(p)", True, True),
    ("abs(n)", False, True),
    ("exp(z)", True, True),
    ("log(p)", False, False),
    ("-p", False, False),
]


@pytest.mark.parametrize(("text", "strictly", "weakly"), SIGNS)
def test_signs(text: str, strictly: bool, weakly: bool) -> None:
    domains = ranges(RANGES)
    assert positive(parse(text), domains) is strictly
    assert nonnegative(parse(text), domains) is weakly


def test_a_number_below_zero_is_neither() -> None:
    assert not positive(tree.Number(Fraction(-1)), {})
    assert not nonnegative(tree.Number(Fraction(-1)), {})


def test_ends_of_integers_belong_to_them() -> None:
    zero, one = (Expression(tree.Number(Fraction(n)), str(n)) for n in (0, 1))
    domains = {"k": Domain("", "integers", zero, one, False, False)}
    assert nonnegative(parse("k"), domains)
    assert not positive(parse("k"), domains)
    assert not positive(parse("1 - k"), domains)
    assert not positive(parse("k + 0"), domains)


def test_ranges_that_need_each_other_say_nothing() -> None:
    domains = {"a": Domain("", "interval", Expression(parse("b"), "b")),
               "b": Domain("", "interval", Expression(parse("a"), "a"))}  # fmt: skip
    assert not nonnegative(parse("a"), domains)
    assert not positive(parse("b"), domains)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("0*z", "0"),
        ("z*0*p", "0"),
        ("z*p", "z*p"),
        ("0/z", "0"),
        ("z/p", "z/p"),
        ("-0", "0"),
        ("-z", "-z"),
        ("0**p", "0"),
        ("0**n", "0**n"),
        ("0**2", "0"),
        ("z**p", "z**p"),
        ("sqrt(0)", "0"),
        ("sqrt(p)", "sqrt(p)"),
        ("exp(0)", "exp(0)"),
        ("z + 0", "z"),
        ("0 + z", "z"),
        ("z + 0 + p", "z + p"),
        ("1 + 2", "3"),
        ("1 - 3", "-2"),
        ("0 + 0", "0"),
        ("z - z", "0"),
        ("1 + z", "1 + z"),
        ("1 + z - z", "1"),
        ("z*p + 0*z", "z*p"),
        ("exp(p + 0*z)", "exp(p)"),
        ("(z*p + 0)/(1 + 0*z)", "z*p/1"),
    ],
)
def test_zeros_are_folded(text: str, result: str) -> None:
    assert to_text(folded(parse(text), ranges(RANGES))) == plain(result)


@pytest.mark.parametrize(
    ("text", "cannot"),
    [
        ("0 >= p", True),
        ("0 > p", True),
        ("p <= 0", True),
        ("p < 0", True),
        ("p == 0", True),
        ("0 == p", True),
        ("0 == n", False),
        ("n == 0", False),
        ("n <= 0", False),
        ("0 >= n", False),
        ("n < 0", True),
        ("0 > n", True),
        ("z < 0", False),
        ("z == 0", False),
        ("0 == z", False),
        ("0 <= p", False),
        ("0 < p", False),
        ("p > 0", False),
        ("p >= 0", False),
        ("p <= q", False),
        ("p == q", False),
        ("z <= p <= 0", True),
        ("p <= 0 <= z", True),
        ("z <= q <= p", False),
        ("0*z >= p + 0", True),
        ("p <= 0 and q <= 0", False),
        ("p", False),
    ],
)
def test_impossible_hypotheses(text: str, cannot: bool) -> None:
    assert impossible(parse(text), ranges(RANGES)) is cannot


@pytest.mark.parametrize(
    ("text", "where", "outcome"),
    [
        ("0 <= p*n", "", "proved"),
        ("0 < p*n", "", "undecided"),
        ("0 < p*q", "", "proved"),
        ("p*q > 0", "", "proved"),
        ("p*n > 0", "", "undecided"),
        ("p*n >= 0", "", "proved"),
        ("p*n <= 0", "", "undecided"),
        ("0 >= p*n", "", "undecided"),
        ("0 > p*n", "", "undecided"),
        ("0*z <= p*n", "", "proved"),
        ("1 <= one", "", "undecided"),
        ("z <= z", "", "proved"),
        ("z >= z", "", "proved"),
        ("z < z", "", "undecided"),
        ("z > z", "", "undecided"),
        ("z == z", "", "undecided"),
        ("z + 0 <= z + 0*p", "", "proved"),
        ("0 == 0", "", "undecided"),
        ("z <= p", "", "undecided"),
        ("z <= p", "p <= 0", "vacuous"),
        ("z <= p", "p <= 0; z <= 1", "vacuous"),
        ("z <= p", "z <= 1; p <= 0", "vacuous"),
        ("z <= p", "z <= 0", "undecided"),
        ("z == p", "p < 0", "vacuous"),
    ],
)
def test_by_signs(text: str, where: str, outcome: str) -> None:
    assert by_signs(claim_of(text, RANGES, where)).outcome == outcome


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("z + p <= z + q", "p <= q"),
        ("z + p < z + q", "p < q"),
        ("z + p + p <= p + q", "z + p <= q"),
        ("z + p <= p", None),
        ("z + p <= p + z", "0 <= 0"),
        ("p*z <= p*q", "z <= q"),
        ("p*z < p*q", "z < q"),
        ("p*z > p*q", "z > q"),
        ("p*n <= p*n", "1 <= 1"),
        ("p*n == p*n", "1 == 1"),
        ("n*z <= n*q", "z <= q"),
        ("n*z >= n*q", "z >= q"),
        ("n*z < n*q", None),
        ("n*z > n*q", None),
        ("z*p <= z*q", None),
        ("z*p*n <= z*p*m", "z*n <= z*m"),
        ("p*(z + q) <= p*(z + n)", "q <= n"),
        ("z + p*(n + q) <= z + p*(n + z)", "q <= z"),
        ("z + p*(z + p*(z + p*(z + p*(z + p*q)))) <= z + p*(z + p*(z + p*(z + p*(z + p*n))))", "q <= n"),
        ("z + p <= z*p", None),
        ("z*p <= z + p", None),
        ("p*z <= p/z", None),
        ("p/z <= p*z", None),
        ("z <= p", None),
        ("z/p <= z/q", None),
    ],
)
def test_common_parts_are_left_out(text: str, left: str | None) -> None:
    decide = Recorder()
    found = by_cancelling(claim_of(text, RANGES, "z <= 1"), decide)
    if left is None:
        assert (found.outcome, decide.texts) == ("undecided", [])
    else:
        assert (found.outcome, decide.texts) == ("proved", [shown(claim_of(left, RANGES, "z <= 1"))])


@pytest.mark.parametrize(
    ("told", "said"),
    [("proved", "proved"), ("vacuous", "vacuous"), ("refuted", "undecided"), ("undecided", "undecided")],
)
def test_what_is_left_decides(told: str, said: str) -> None:
    found = by_cancelling(claim_of("z + p <= z + q", RANGES), Recorder(told))  # type: ignore[arg-type]
    assert found.outcome == said
    assert not found.point
    assert found.certificate == ("common parts left out; as told" if said != "undecided" else "as told")
