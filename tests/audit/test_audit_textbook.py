"""Textbook statements that stayed undecided in walks by the docs alone; beside each a neighbour that is false."""

from __future__ import annotations

from fractions import Fraction

import pytest
from audit_pieces import claim_of

from bilevel_verify.audit.formula import check
from bilevel_verify.audit.scalar.claim import Decision
from bilevel_verify.audit.scalar.moving import _cleared, _mirrored, _right, by_halves, by_scale
from bilevel_verify.audit.scalar.plain import plain
from bilevel_verify.audit.scalar.sums import _rising, closed
from bilevel_verify.language import parse, to_text

WALKED = [
    ("factorial(k) >= (k/E)**k", "factorial(k) >= (k/2)**k", "k = integers 1.."),
    ("binomial(2*n, n) <= 4**n", "binomial(2*n, n) <= 3**n", "n = integers 0.."),
    ("2**n <= factorial(n)", "3**n <= factorial(n)", "n = integers 4.."),
    ("binomial(n, 2) <= n**2/2", "binomial(n, 2) <= n**2/3", "n = integers 0.."),
    ("exp(t) <= 1 + t + t**2", "exp(t) <= 1 + t + t**2/2", "t = (-oo, 1]"),
    ("atan(x) < pi/2", "atan(x) < 1.57", "x = (-oo, oo)"),
    ("sin(x)/x >= 2/pi", "sin(x)/x >= 2/3", "x = (0, pi/2]"),
    ("log(x)/x <= 1/E", "log(x)/x <= 1/3", "x = (0, oo)"),
    ("x**x >= exp(-1/E)", "x**x >= exp(-1/3)", "x = (0, oo)"),
    ("floor(x) == 0", "floor(x) == 1", "x = [0, 1)"),
    ("(-1)**(n*(n + 1)) == 1", "(-1)**(n*(n + 2)) == 1", "n = integers 0.."),
    ("sum((1 - m/L)**i, (i, 0, k - 1)) <= L/m", "sum((1 - m/L)**i, (i, 0, k - 1)) < L/m",
     "L = (0, oo); m = (0, L]; k = integers 1.."),
    ("sum(q**(2*i), (i, 0, k)) <= 1/(1 - q**2)", "sum(q**(2*i), (i, 0, k)) <= 1/(1 - q**3)",
     "q = (0, 1); k = integers 0.."),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wrong", "ranges"), WALKED)
def test_textbook_statements_are_proved_and_their_neighbours_refuted(text: str, wrong: str, ranges: str) -> None:
    assert [(f.verdict, f.row.certainty) for f in check(text, ranges)] == [("holds", "proved")]
    assert [f.verdict for f in check(wrong, ranges)] == ["refuted"]


@pytest.mark.fast
@pytest.mark.parametrize(
    ("text", "ranges", "written"),
    [
        ("(-1)**(n**2 + n)", "n = integers ..", "1"),
        ("(-1)**(2*n + 1)", "n = integers ..", "-1"),
        ("(-1)**n", "n = integers ..", None),
        ("(-1)**(2*x)", "x = [0, 1]", None),
        ("floor(x)", "x = [-1, 0)", "-1"),
        ("floor(x)", "x = [0, 1]", None),
        ("floor(-x)", "x = [0, 1)", None),
        ("ceil(x)", "x = (0, 1]", "1"),
        ("ceil(x)", "x = [0, 1]", None),
        ("floor(x)", "x = (-oo, 1)", None),
        ("binomial(n, 2)", "n = integers 0..", "n*(n - 1)/2"),
        ("binomial(n, 0)", "n = integers 0..", "1"),
        ("binomial(n, 2)", "n = integers ..", None),
        ("binomial(n, 2)", "n = [0, oo)", None),
        ("binomial(n, 9)", "n = integers 0..", None),
    ],
)
def test_what_integers_say_is_written_out_only_where_it_is_so(text: str, ranges: str, written: str | None) -> None:
    claim = claim_of(f"{text} <= 7", ranges)
    moved = plain(claim)
    if written is None:
        assert moved.left == claim.left
        return
    for value in (Fraction(0), Fraction(1), Fraction(5)):
        (name,) = claim.letters
        assert _number(to_text(moved.left), name, value) == _number(written, name, value)


def _number(text: str, name: str, value: Fraction) -> Fraction:
    return Fraction(eval(text, {name: value}))  # texts of this file


@pytest.mark.fast
def test_an_index_of_that_name_keeps_its_own_range() -> None:
    claim = claim_of("sum(floor(x), (x, 1, 3)) <= 7", "x = [0, 1)")
    assert plain(claim) is claim


@pytest.mark.fast
@pytest.mark.parametrize(
    ("inner", "first", "step"),
    [("k", 0, "k + 1"), ("2*k + 1", 0, "((2*k + 1) + 1)*((2*k + 1) + 2)"), ("3", 0, "1"), ("k - 1", 1, "(k - 1) + 1"),
     ("k - 1", 0, None), ("5*k", 0, None), ("5 - k", 0, None), ("k/2", 0, None), ("k + 1/2", 0, None),
     ("k + j", 0, None),
     ("k**2", 0, None)],
)  # fmt: skip
def test_a_factorial_grows_by_a_product_while_its_argument_is_a_natural_number(
    inner: str, first: int, step: str | None
) -> None:
    found = _rising(parse(inner), "k", first)
    assert (found and to_text(found)) == step


@pytest.mark.fast
@pytest.mark.parametrize(
    ("text", "ranges", "done"),
    [
        ("sum(q**i, (i, 0, n))", "q = [0, 1); n = integers 0..", True),
        ("sum(q**i, (i, 0, n))", "q = (-1, 1); n = integers 0..", True),
        ("sum(q**(i - 1), (i, 0, n))", "q = [0, 1); n = integers 0..", False),
        ("sum(q**(n - i), (i, 0, n))", "q = [0, 1); n = integers 0..", True),
        ("sum(q**(n - i), (i, 0, n + 1))", "q = [0, 1); n = integers 0..", False),
        ("sum(q**i, (i, 0, n))", "q = [0, 1]; n = integers 0..", False),
        ("sum(q**i, (i, 0, n))", "q = [0, 2]; n = integers 0..", False),
        ("sum(q**(2*i), (i, 0, n))", "q = (0, 1); n = integers 0..", True),
        ("sum(q**(-2*i), (i, 0, n))", "q = (0, 1); n = integers 0..", True),
        ("sum(q**(9*i), (i, 0, n))", "q = (0, 1); n = integers 0..", False),
    ],
)
def test_a_geometric_sum_is_closed_where_its_ratio_is_never_one_nor_a_pole(text: str, ranges: str, done: bool) -> None:
    claim = claim_of(f"{text} <= 7", ranges)
    assert (closed(claim.left, claim) != claim.left) is done


@pytest.mark.fast
@pytest.mark.parametrize(
    ("ranges", "right", "left"),
    [
        ("x = (-oo, oo)", "[0, oo)", "[0, oo)"),
        ("x = (-oo, 2)", "[0, 2)", "[0, oo)"),
        ("x = (-oo, -2]", None, "[2, oo)"),
    ],
)
def test_the_halves_cover_the_range(ranges: str, right: str | None, left: str) -> None:
    claim = claim_of("x <= exp(x)", ranges)

    def ends(domain: object) -> str:
        upper = f"{to_text(domain.upper.tree)}" if domain.upper else "oo"
        return f"[{to_text(domain.lower.tree)}, {upper}{']' if domain.upper_closed else ')'}"

    assert [ends(d) for _, d in _right(claim)] == ([right] if right else [])
    mirror = _mirrored(claim)
    assert ends(mirror.domains["x"]) == left
    assert to_text(mirror.left) == "-x"


@pytest.mark.fast
def test_halves_and_scales_ask_for_every_part_and_keep_to_one_real_letter() -> None:
    asked: list[str] = []

    def decide(part: object) -> Decision:
        asked.append(to_text(part.left))
        return Decision("proved" if len(asked) == 1 else "undecided", "test")

    assert by_halves(claim_of("x <= exp(x)", "x = (-oo, oo)"), decide).outcome == "undecided"
    assert asked == ["x", "-x"]
    for text, ranges in (
        ("x <= 2*x", "x = [0, oo)"),
        ("n <= 2*n", "n = integers .."),
        ("x <= y", "x = (-oo, oo); y = (-oo, oo)"),
    ):
        assert by_halves(claim_of(text, ranges), lambda part: Decision("proved", "test")).outcome == "undecided"
    for text, ranges in (("x <= 3", "x = [0, 1]"), ("x == pi", "x = [0, 1]"), ("x <= pi", "x = integers 0..")):
        assert by_scale(claim_of(text, ranges), lambda part: Decision("proved", "test")).outcome == "undecided"
    assert by_scale(claim_of("x <= pi", "x = [0, 1]"), lambda part: Decision("proved", "test")).outcome == "undecided"
    assert by_scale(claim_of("x <= pi", "x = [0, pi]"), lambda part: Decision("proved", "test")).outcome == "proved"


@pytest.mark.fast
def test_only_what_is_positive_is_cleared_away() -> None:
    import sympy

    u, v = sympy.Symbol("u", positive=True), sympy.Symbol("v", real=True)
    assert _cleared(sympy.sin(u) / u - 2, u) == sympy.sin(u) - 2 * u
    assert _cleared(-sympy.E * u + sympy.E, u) == 1 - u or _cleared(-sympy.E * u + sympy.E, u) == sympy.E - sympy.E * u
    with pytest.raises(Exception, match="change its sign"):
        _cleared(1 / v - 2, v)
