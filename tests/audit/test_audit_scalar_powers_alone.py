"""Sums of products of powers, when a power may be split; both sides raised to a power, when they may."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import sympy
from audit_pieces import Recorder, claim_of, plain

from bilevel_verify.audit.scalar import powers
from bilevel_verify.audit.scalar.algebra import NotAlgebraic
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.powers import Term, collected, surely, symbols, terms_of, total
from bilevel_verify.audit.scalar.raising import _from_zero, _order_of_sums, by_raising
from bilevel_verify.language import parse, to_text, tree

pytestmark = pytest.mark.fast

RANGES = (
    "n = [0, oo); m = [0, oo); z = (-oo, oo); nu = [0, 1]; mu = (0, 1]; w = [-1, 1]; k = integers 0..; j = integers ..;"
    " one = [1, oo)"
)


def told(term: Term) -> str:
    return " ".join([str(term.number), *sorted(f"{to_text(b)}^({p})" for b, p in term.powers.items())])


def read(text: str, where: str = "") -> list[str]:
    claim = claim_of(f"{text} <= 1", RANGES, where)
    return [told(term) for term in terms_of(claim.left, claim)]


# --- reading


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("3", ["3"]),
        ("a", ["1 a^(1)"]),
        ("a + 2*b", ["1 a^(1)", "2 b^(1)"]),
        ("a - b/2 + 3", ["1 a^(1)", "-1/2 b^(1)", "3"]),
        ("-(a - b)", ["-1 a^(1)", "1 b^(1)"]),
        ("3*a*b/2", ["3/2 a^(1) b^(1)"]),
        ("a*a", ["1 a^(2)"]),
        ("a/a", ["1"]),
        ("a/(2*b)", ["1/2 a^(1) b^(-1)"]),
        ("(a + b)*(a - b)", ["1 a^(2)", "-1 a^(1) b^(1)", "1 a^(1) b^(1)", "-1 b^(2)"]),
        ("(a + 3)/c", ["1 a^(1) c^(-1)", "3 c^(-1)"]),
        ("a/(b + c)", ["1 a^(1) b + c^(-1)"]),
        ("(b + c)**2/(b + c)", ["1 b + c^(1)"]),
        ("sqrt(4*a)", ["1 4^(1/2) a^(1/2)"]),
        ("sqrt(a + b)", ["1 a + b^(1/2)"]),
        ("sqrt(sqrt(a))", ["1 a^(1/4)"]),
        ("(2*a)**nu", ["1 2^(nu) a^(nu)"]),
        ("(3*a)**2", ["9 a^(2)"]),
        ("(3*a)**(-2)", ["1/9 a^(-2)"]),
        ("(a/2)**3", ["1/8 a^(3)"]),
        ("2**64", ["18446744073709551616"]),
        ("2**(-64)", ["1/18446744073709551616"]),
        ("a**nu*a**(1 - nu)", ["1 a^(1)"]),
        ("a**nu*a**(-nu)*b", ["1 b^(1)"]),
        ("a**nu*a", ["1 a^(nu + 1)"]),
        ("a**nu/a**(nu - 1)", ["1 a^(1)"]),
        ("a**(nu/(1 + nu))*a**(1/(1 + nu))", ["1 a^(1)"]),
        ("a**(1/2 - nu)*a**((2*nu - 1)/2)", ["1"]),
        ("exp(z)*a", ["1 a^(1) exp(z)^(1)"]),
        ("2*max(a, b)", ["2 max(a, b)^(1)"]),
        # powers of products: positive, or nonnegative with nonnegative exponents, or integer exponents
        ("(a*b)**nu", ["1 a^(nu) b^(nu)"]),
        ("(a*b)**w", ["1 a^(w) b^(w)"]),
        ("(a**w)**nu", ["1 a^(nu*w)"]),
        ("(n*m)**nu", ["1 m^(nu) n^(nu)"]),
        ("(n*m)**0.5", ["1 m^(1/2) n^(1/2)"]),
        ("(n*a)**nu", ["1 a^(nu) n^(nu)"]),
        ("(n**nu)**nu", ["1 n^(nu**2)"]),
        ("(n**nu*a)**0.5", ["1 a^(1/2) n^(nu/2)"]),
        ("(z*a)**2", ["1 a^(2) z^(2)"]),
        ("(z*a)**(-1)", ["1 a^(-1) z^(-1)"]),
        ("(z**2/a)**3", ["1 a^(-3) z^(6)"]),
        ("(-z)**3", ["-1 z^(3)"]),
        ("(-a)**2", ["1 a^(2)"]),
        ("(a + z)**nu", ["1 a + z^(nu)"]),
        ("(one - 1)**nu", ["1 one - 1^(nu)"]),
        ("((a + b)**2)**0.5", ["1 a + b^(1)"]),
    ],
)
def test_sums_of_products(text: str, terms: list[str]) -> None:
    assert read(text) == terms


@pytest.mark.parametrize(
    "text",
    ["(n*m)**w", "(n*m)**(-0.5)", "(n**w)**nu", "(n**w)**2", "(n**w*m)**nu", "(z*a)**nu", "(z*n)**nu", "(z**2)**0.5",
     "(z**nu)**2", "(-a)**nu", "(-a)**0.5", "(-1)**nu", "0**2", "(0*a)**2", "0**nu", "a/0", "sum(a, (i, 1, 3))",
     "a*prod(i, (i, 1, k))", "1/sum(a, (i, 1, k))", "(a*z)**(-0.5)", "(z*a)**j", "(n*m)**j"],
)  # fmt: skip
def test_powers_that_may_not_be_split(text: str) -> None:
    with pytest.raises(NotAlgebraic):
        read(text)


def test_hypotheses_say_what_is_positive() -> None:
    assert read("((z - a)**2)**0.5", "z > a") == ["1 z - a^(1)"]
    with pytest.raises(NotAlgebraic):
        read("((z - a)*b)**nu*(z*b)**nu", "z > a - 1")
    assert read("(z*b)**nu", "z > a") == ["1 b^(nu) z^(nu)"]
    assert read("(z*b)**nu", "z >= 0") == ["1 b^(nu) z^(nu)"]
    with pytest.raises(NotAlgebraic):
        read("(z*b)**w", "z >= 0")
    assert read("(n*b)**(w - nu)", "w > nu") == ["1 b^(-nu + w) n^(-nu + w)"]


def test_as_many_terms_as_are_allowed() -> None:
    assert len(read("(a + b + c + d)*(e + f + g + h + i + l)")) == 24
    assert len(read("+".join("abcdefghijlopqrstuvxyABC"))) == 24
    with pytest.raises(NotAlgebraic):
        read("(a + b + c + d + o)*(e + f + g + h + i)")
    with pytest.raises(NotAlgebraic):
        read("+".join("abcdefghijlopqrstuvxyABCD"))


def test_terms_as_they_are() -> None:
    a = parse("a")
    one = Term(Fraction(3), {a: sympy.Integer(2)})
    assert told(one.raised(sympy.Integer(64))) == f"{3**64} a^(128)"
    assert told(one.raised(sympy.Integer(65))) == "1 3^(65) a^(130)"
    assert told(one.raised(sympy.Integer(-64))) == f"1/{3**64} a^(-128)"
    assert told(one.raised(sympy.Integer(-65))) == "1 3^(-65) a^(-130)"
    assert told(one.raised(sympy.Rational(1, 2))) == "1 3^(1/2) a^(1)"
    assert told(Term(Fraction(1), {a: sympy.Integer(2)}).raised(sympy.Rational(1, 2))) == "1 a^(1)"
    assert told(Term(Fraction(1, 3)).raised(sympy.Rational(1, 2))) == "1 1/3^(1/2)"
    assert told(Term(Fraction(-2)).raised(sympy.Integer(3))) == "-8"
    for number, exponent in ((0, 2), (-2, 65), (-2, sympy.Rational(1, 2))):
        with pytest.raises(NotAlgebraic):
            Term(Fraction(number)).raised(sympy.sympify(exponent))
    assert told(one * Term(Fraction(1, 2), {a: sympy.Integer(-2), parse("b"): sympy.Integer(1)})) == "3/2 b^(1)"
    assert told(one * one) == "9 a^(4)"
    nu = sympy.Symbol("nu")
    assert Term(Fraction(1), {a: (nu + 1) ** 2}).key() == Term(Fraction(5), {a: nu**2 + 2 * nu + 1}).key()
    assert Term(Fraction(1), {a: nu}).key() != Term(Fraction(1), {a: 2 * nu}).key()


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (Term(Fraction(1)), "1"),
        (Term(Fraction(-2, 3)), "-(2/3)"),
        (Term(Fraction(0)), "0"),
        (Term(Fraction(1), {parse("a"): sympy.Integer(1)}), "a"),
        (Term(Fraction(2), {parse("a"): sympy.Integer(1)}), "2*a"),
        (Term(Fraction(1), {parse("a"): sympy.Integer(2)}), "a**2"),
        (Term(Fraction(3), {parse("a"): sympy.Integer(1), parse("b"): sympy.Symbol("nu")}), "3*a*b**nu"),
    ],
)
def test_terms_as_trees(term: Term, text: str) -> None:
    assert to_text(term.tree()) == plain(text)


def test_sums_as_trees() -> None:
    a, b = (Term(Fraction(1), {parse(name): sympy.Integer(1)}) for name in "ab")
    assert [to_text(total(terms)) for terms in ([], [a], [a, b], [a, b, a])] == ["0", "a", "a + b", "a + b + a"]


@pytest.mark.parametrize(
    ("text", "small", "large"),
    [
        ("a <= b", ["1 a^(1)"], ["1 b^(1)"]),
        ("a < b", ["1 a^(1)"], ["1 b^(1)"]),
        ("a == b", ["1 a^(1)"], ["1 b^(1)"]),
        ("a >= b", ["1 b^(1)"], ["1 a^(1)"]),
        ("a > b", ["1 b^(1)"], ["1 a^(1)"]),
        ("a - b <= 2*c - 3", ["1 a^(1)", "3"], ["2 c^(1)", "1 b^(1)"]),
        ("a + b <= 3*a + b", [], ["2 a^(1)"]),
        ("a + b + b <= a + b", ["1 b^(1)"], []),
        ("a/2 <= a/3 + b", ["1/6 a^(1)"], ["1 b^(1)"]),
        ("a <= a", [], []),
        ("a**(nu*(nu + 1)) <= a**(nu**2 + nu) + b", [], ["1 b^(1)"]),
        ("(a + b)*c <= a*c", ["1 b^(1) c^(1)"], []),
    ],
)
def test_nothing_in_common_and_no_minus(text: str, small: list[str], large: list[str]) -> None:
    found = collected(claim_of(text, RANGES))
    assert [sorted(told(t) for t in side) for side in found] == [sorted(small), sorted(large)]


@pytest.mark.parametrize(
    ("text", "where", "strictly", "weakly"),
    [
        ("a", "", True, True),
        ("n", "", False, True),
        ("z", "", False, False),
        ("z", "z > 0", True, True),
        ("z", "z >= 0", False, True),
        ("z - a", "z >= a", False, True),
        ("z**2 + 1", "", True, True),
        ("z**2 - 2*z + 1", "", False, True),
        ("sin(z)", "", False, False),
    ],
)
def test_what_is_surely_positive(text: str, where: str, strictly: bool, weakly: bool) -> None:
    claim = claim_of("1 <= 2", RANGES, where)
    claim = ScalarClaim(claim.left, "<=", claim.right, claim_of(f"{text} <= a", RANGES).domains, claim.where)
    assert surely(parse(text), claim) is strictly
    assert surely(parse(text), claim, strict=False) is weakly


def test_what_the_solver_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str, int]] = []

    def by_smt(claim: ScalarClaim, milliseconds: int) -> Decision:
        asked.append((to_text(claim.left), claim.op, milliseconds))
        return Decision("vacuous", "smt")

    monkeypatch.setattr(powers, "by_smt", by_smt)
    claim = claim_of("z <= 1", RANGES)
    assert not surely(claim.left, claim)
    assert not surely(claim.left, claim, strict=False)
    assert surely(parse("1"), claim)
    assert asked == [("0", "<", 500), ("0", "<=", 500)]


def test_symbols_of_letters() -> None:
    claim = claim_of("a*n + z <= k", RANGES)
    found = symbols(ScalarClaim(claim.left, "<=", claim.right, dict(claim.domains) | {"pi": claim.domains["a"]}))
    assert set(found) == set(claim.domains)
    assert found["a"].is_positive
    assert found["z"].is_positive is None


# --- raising

FORMS = [
    # as asked, what is decided, the powers
    ("sqrt(a) <= b", "(a_root_**2)**0.5 <= b; a_root_**2 > 0", "1, a = a_root_**2"),
    ("sqrt(a) < b", "(a_root_**2)**0.5 < b; a_root_**2 > 0", "1, a = a_root_**2"),
    ("b > sqrt(a)", "(a_root_**2)**0.5 < b; a_root_**2 > 0", "1, a = a_root_**2"),
    ("b >= sqrt(a)", "(a_root_**2)**0.5 <= b; a_root_**2 > 0", "1, a = a_root_**2"),
    ("a**(1/6) <= b", "(a_root_**6)**(1/6) <= b; a_root_**6 > 0", "1, a = a_root_**6"),
    ("a**(1/7) <= b", None, ""),
    ("a**(1/5)*a**(1/3)*c**0.5 <= b", None, ""),
    ("sqrt(a) + a**(1/3) <= b", "(a_root_**6)**0.5 + (a_root_**6)**(1/3) <= b; a_root_**6 > 0", "1, a = a_root_**6"),
    ("sqrt(a + b) <= sqrt(a) + sqrt(b)",
     "a_root_**2 + b_root_**2 <= ((a_root_**2)**0.5 + (b_root_**2)**0.5)**2; a_root_**2 > 0; b_root_**2 > 0",
     "2, a = a_root_**2, b = b_root_**2"),
    ("sqrt(a) + sqrt(b) <= sqrt(2*a + 2*b)",
     "((a_root_**2)**0.5 + (b_root_**2)**0.5)**2 <= 2*a_root_**2 + 2*b_root_**2; a_root_**2 > 0; b_root_**2 > 0",
     "2, a = a_root_**2, b = b_root_**2"),
    ("(a + b)**1.5 <= c", "(a + b)**3 <= c**2", "2"),
    ("c < (a + b)**1.5", "c**2 < (a + b)**3", "2"),
    ("c + a <= (a + b)**1.5", "(c + a)**2 <= (a + b)**3", "2"),
    ("(a + b)**(1/6) <= c", "a + b <= c**6", "6"),
    ("(a + b)**(1/7) <= c", None, ""),
    ("2*sqrt(a + b) <= 3*c", "4*(a + b) <= 9*c**2", "2"),
    ("sqrt(a + b) <= sqrt(a + c)", "a + b <= a + c", "2"),
    ("sqrt(a + b) <= (a + c)**(1/3)", "(a + b)**3 <= (a + c)**2", "6"),
    ("sqrt(a + b)*(a + c)**(1/3) <= c", "(a + b)**3*(a + c)**2 <= c**6", "6"),
    ("sqrt(a + b) <= sqrt(a + c) + 1", None, ""),
    ("sqrt(a + c) + 1 >= sqrt(a + b)", None, ""),
    ("sqrt(a + b) + sqrt(a + c) <= d", None, ""),
    ("sqrt(a + b) + c <= sqrt(a + d)", None, ""),
    ("sqrt(a + b) + c <= 1", None, ""),
    ("a <= b", None, ""),
    ("a + b <= c", None, ""),
    ("sqrt(3)*a <= b", None, ""),
    ("a**nu <= b", None, ""),
    ("sqrt(a) <= b**nu", None, ""),
    ("sqrt(a) == b", None, ""),
    ("sqrt(a) <= 0", None, ""),
    ("0 <= sqrt(a)", None, ""),
    ("sqrt(a) - b <= 0*c", "(a_root_**2)**0.5 <= b; a_root_**2 > 0", "1, a = a_root_**2"),
    # ranges: real letters that start at 0 or later; everything nonnegative
    ("sqrt(n) <= a", "(n_root_**2)**0.5 <= a; n_root_**2 >= 0", "1, n = n_root_**2"),
    ("sqrt(one) <= a", "(one_root_**2)**0.5 <= a; one_root_**2 >= 1", "1, one = one_root_**2"),
    ("sqrt(z) <= a", None, ""),
    ("sqrt(k) <= a", None, ""),
    ("sqrt(a) <= z", None, ""),
    ("z*sqrt(a) <= b", None, ""),
    ("sqrt(a + z) <= b", None, ""),
    ("n*sqrt(a) <= b", "n*(a_root_**2)**0.5 <= b; a_root_**2 > 0", "1, a = a_root_**2"),
    ("log(a)*sqrt(b) <= c", None, ""),
    ("(a*z)**nu <= b", None, ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "part", "said"), FORMS)
def test_both_sides_raised(text: str, part: str | None, said: str) -> None:
    decide = Recorder()
    found = by_raising(claim_of(text, RANGES), decide)
    assert decide.texts == ([] if part is None else [_written(part)])
    assert found.outcome == ("undecided" if part is None else "proved")
    assert found.engine == "raising"
    assert found.certificate == (f"both sides to the power {said}; as told" if part else "")


def _written(text: str) -> str:
    return "; ".join(plain(part) for part in text.split("; "))


@pytest.mark.parametrize(
    ("told_", "said"),
    [("proved", "proved"), ("vacuous", "vacuous"), ("refuted", "undecided"), ("undecided", "undecided")],
)
def test_the_raised_relation_decides(told_: Any, said: str) -> None:
    found = by_raising(claim_of("sqrt(a) <= b", RANGES), Recorder(told_))
    assert (found.outcome, found.engine) == (said, "raising")
    assert not found.point


@pytest.mark.parametrize(
    ("domain", "closed", "conditions"),
    [("[0, 4]", True, "a_root_**2 >= 0; a_root_**2 <= 4"), ("(0, 4)", False, "a_root_**2 > 0; a_root_**2 < 4"),
     ("(1, oo)", False, "a_root_**2 > 1"), ("[1, 4)", True, "a_root_**2 >= 1; a_root_**2 < 4")],
)  # fmt: skip
def test_the_range_of_a_root(domain: str, closed: bool, conditions: str) -> None:
    decide = Recorder()
    by_raising(claim_of("sqrt(a) <= b", f"a = {domain}; b = (0, 1]", "a*b <= 1"), decide)
    (part,) = decide.asked
    assert "; ".join(to_text(c) for c in part.where) == _written(f"a_root_**2*b <= 1; {conditions}")
    assert set(part.domains) == {"b", "a_root_"}
    root = part.domains["a_root_"]
    assert root.lower is not None
    assert (root.kind, root.upper, to_text(root.lower.tree)) == ("interval", None, "0")
    assert (root.lower_closed, root.upper_closed) == (closed, False)


@pytest.mark.parametrize("domain", ["[-1, 4]", "[c, 4]", "[pi, 4]", "(-oo, 4]"])
def test_ranges_without_a_number_at_their_lower_end(domain: str) -> None:
    decide = Recorder()
    by_raising(claim_of("sqrt(a) <= b", f"a = {domain}; c = (0, 1)", "a >= 0"), decide)
    assert decide.asked == []


def test_a_root_takes_nobody_s_name() -> None:
    decide = Recorder()
    by_raising(claim_of("sqrt(a) <= a_root_", "a_root_ = [0, 1]"), decide)
    (part,) = decide.asked
    assert to_text(part.left) == "(a_root__**2)**0.5"
    assert to_text(part.right) == "a_root_"
    assert set(part.domains) == {"a_root_", "a_root__"}


def test_nothing_is_said_of_what_cannot_be_read() -> None:
    found = by_raising(claim_of("sum(a, (i, 1, k)) <= sqrt(b)", RANGES), Recorder())
    assert found == Decision("undecided", "raising", "")
    assert isinstance(parse("a"), tree.Letter)


def test_a_letter_under_a_root_begins_at_a_number_that_is_not_negative() -> None:
    given = claim_of("a <= b", "a = [0, 1]; b = [a, 2]; c = [-1, 1]; d = (0, oo); e = [3, 4]").domains
    assert [_from_zero(given[name]) for name in "abcde"] == [True, False, False, True, True]
    assert not _from_zero(replace(given["a"], lower=None))  # no lower end at all
    assert _from_zero(replace(given["a"], upper=None))


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("sqrt(a + b) <= a", 2),
        ("a <= sqrt(a + b)", 2),
        ("sqrt(a + b) <= sqrt(a + 2*b)", 2),
        ("sqrt(a + b) <= (a + b)**(1/3)", 6),
        ("a + b <= a + 2*b", 1),
        ("sqrt(a + b) + a <= b", None),  # squared, the root would remain
        ("sqrt(a + b) + a <= sqrt(a + 2*b) + b", None),
        ("sqrt(a + b) + a <= sqrt(a + 2*b)", None),
        ("sqrt(a + b) <= a + b", 2),
    ],
)
def test_the_power_that_clears_the_roots_of_sums(text: str, order: int | None) -> None:
    small, large = collected(claim_of(text, "a = (0, oo); b = (0, oo)"))
    assert _order_of_sums(small, large) == order
