"""Integer-valued exponents and ranges of indices: where they are defined, what is true of them, what is not."""

from __future__ import annotations

import pytest

from bilevel_verify.audit.findings.finding import Finding
from bilevel_verify.audit.formula import check, read_ranges
from bilevel_verify.audit.scalar.integers import even, odd, whole
from bilevel_verify.language import parse, tree

LETTERS = "k = integers 0..; n = integers ..; x = [-3, 3]; p = [0, 2]"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("3", True), ("1/2", False), ("k", True), ("x", False), ("unknown", False), ("2*n - k + 1", True),
        ("k/2", False), ("k/2 + k/2", True), ("k*n", True), ("k*x", False), ("n**k", True), ("k**n", False),
        ("(-1)**n", True), ("2**n", False), ("2**(k + 1)", True), ("2**(k - 1)", False), ("k*(k + 1)/2", True),
        ("k*(k + 1)/3", False), ("n*(n + 1)*(n + 2)/6", True), ("(k/2 + k/2)/2", False), ("(x + k)/1", False),
        ("floor(x)", True), ("ceil(x)*n", True), ("binomial(k, 2)", True), ("factorial(k)", True), ("sqrt(k)", False),
        ("max(k, n)", True), ("max(k, x)", False), ("abs(n)", True), ("n % 2", True), ("x % 2", False),
        ("sum(i, (i, 0, k))", True), ("sum(i*x, (i, 0, k))", False), ("prod(i + n, (i, 1, x))", True),
        ("sum(x, (x, 0, k))", True), ("argmin(x, (i, 0, k))", True), ("(k if x > 0 else n)", True),
        ("(k if x > 0 else x)", False), ("k**(1/2)", False), ("floor(x)*(floor(x) + 1)/2", True),
    ],
)  # fmt: skip
def test_what_is_an_integer(text: str, answer: bool) -> None:
    assert whole(parse(text), read_ranges(LETTERS, set())) is answer


@pytest.mark.parametrize(
    ("text", "parity"),
    [("2*n", "even"), ("2*n + 1", "odd"), ("k", ""), ("k*(k + 1)", "even"), ("k**2 + k + 1", "odd"), ("2*x", ""),
     ("4", "even"), ("-3", "odd"), ("3*k", ""), ("2*floor(x)", "even"), ("n**2 - n", "even"), ("1/2", "")],
)  # fmt: skip
def test_parity(text: str, parity: str) -> None:
    node, domains = parse(text), read_ranges(LETTERS, set())
    assert (even(node, domains), odd(node, domains)) == (parity == "even", parity == "odd")


def judged(text: str, ranges: str, where: str = "") -> tuple[str, Finding | None]:
    """The verdict on a link, and the finding about its definedness."""
    found = check(text, ranges, where, seconds=10)
    return found[0].verdict, found[1] if len(found) > 1 else None


TRUE = [
    ("(1 - t)**k <= 1", "t = [0, 2]; k = integers 1.."),
    ("(-1)**n <= 1", "n = integers 1..4"),
    ("(-1)**n >= -1", "n = integers .."),
    ("(-1)**(2*n) == 1", "n = integers .."),
    ("x**(2*n) >= 0", "x = [-3, 3]; n = integers 0.."),
    ("x**(k*(k + 1)) >= 0", "x = [-3, 3]; k = integers 0.."),
    ("sum((-1)**i, (i, 0, n)) <= 1", "n = integers 0.."),
    ("sum((-1)**i, (i, 0, n)) >= 0", "n = integers 0.."),
    ("x**(n - 1) <= 1", "x = [0, 1]; n = integers 1.."),
    ("k**2 <= 2", "k = integers 1..K-1; K = [3/2, 2]"),
    ("k <= K - 1", "k = integers floor(K/2)..K-1; K = [2, oo)"),
]


@pytest.mark.parametrize(("text", "ranges"), TRUE)
def test_true_statements_about_integer_powers_hold(text: str, ranges: str) -> None:
    assert judged(text, ranges) == ("holds", None)


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("abs((1 - eta*L)**k) <= 1", "eta = (0, 2/L]; L = (0, oo); k = integers 0.."),
        ("sum(x**i, (i, 0, n)) >= 0", "x = [-1, 1]; n = integers 0.."),
        ("sum(1, (i, 1, K)) <= K", "K = [1, 5]"),
        ("x**floor(p) <= 9", "x = [-3, 3]; p = [0, 2]"),
    ],
)
def test_others_are_never_called_undefined_or_false(text: str, ranges: str) -> None:
    verdict, pole = judged(text, ranges)
    assert verdict in ("holds", "undecided")
    assert pole is None


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("x**n >= 0", "x = [-3, 3]; n = integers 0.."),
        ("x**(2*n + 1) >= 0", "x = [-3, 3]; n = integers 0.."),
        ("(-1)**n <= 0", "n = integers 1..4"),
        ("0**(n - 1) <= 0", "n = integers 1.."),
        ("(1 - t)**k <= 1", "t = [0, 9/4]; k = integers 1.."),
        ("x**p >= 0", "x = [-3, 3]; p = [1, 1]"),
        ("sum((-1)**i, (i, 0, n)) <= 0", "n = integers 0.."),
        ("sum(1, (i, 1, K)) >= K", "K = [1, 5]"),
        ("sum(1, (i, K, 5)) >= 6 - K", "K = [1, 5]"),
    ],
)
def test_false_statements_about_integer_powers_are_refuted(text: str, ranges: str) -> None:
    assert judged(text, ranges)[0] == "refuted"


UNDEFINED = [
    ("x**(2*n) >= 0", "x = [-3, 3]; n = integers -2..", {"x": "0", "n": "-1"}),
    ("x**(-2) > 0", "x = [-3, 3]", {"x": "0"}),
    ("x**(1/3) <= 2", "x = [-3, 3]", {"x": "-1"}),
    ("x**p <= 9", "x = [-3, 3]; p = [0, 2]", {"x": "-1", "p": "1/2"}),
    ("x**(k/2) <= 9", "x = [-3, 3]; k = integers 0..4", {"x": "-1", "k": "1"}),
    ("1/k <= 1", "k = integers 0..", {"k": "0"}),
    ("k % m <= k", "k = integers 0..; m = integers 0..", {"m": "0"}),
    ("max(i, (i, 1, K)) <= K", "K = [0, 5]", {"K": "0"}),
    ("factorial(k) >= 0", "k = integers -1..", {"k": "-1"}),
    ("sum(1/i, (i, k, 5)) <= 9", "k = integers 0..", {"k": "0", "i": "0"}),
    ("k*sum(1/k, (k, 0, 5)) <= 9", "k = integers 1..", {"k_": "0"}),
]


@pytest.mark.parametrize(("text", "ranges", "point"), UNDEFINED)
def test_what_is_undefined_is_found_and_does_not_hold(text: str, ranges: str, point: dict[str, str]) -> None:
    verdict, pole = judged(text, ranges)
    assert verdict != "holds"
    assert pole is not None
    assert pole.verdict == "refuted"
    assert point.items() <= dict(pole.counterexample or {}).items()


def test_bound_indices_hide_letters() -> None:
    """The index k of the sum is an integer although the letter k is real, and the other way round."""
    verdict, pole = judged("sum((-1)**k, (k, 0, 3)) <= k", "k = [0, oo)")
    assert (verdict in ("holds", "undecided"), pole) == (True, None)
    node = parse("sum((-1)**k, (k, 0, 3))*(-1)**k")
    assert isinstance(node, tree.Multiply)
    assert not whole(node, read_ranges("k = [0, oo)", set()))


def test_a_relation_holds_only_where_both_sides_are_defined() -> None:
    link, pole = check("k/k <= 1", "k = integers 0..")
    assert link.verdict == "undecided"
    assert (link.row.reason or "").startswith("undefined at k = 0; holds where defined: ")
    assert (pole.row.kind, pole.verdict) == ("definedness", "refuted")
    (inside,) = check("k/k <= 1", "k = integers 1..")
    assert inside.verdict == "holds"
