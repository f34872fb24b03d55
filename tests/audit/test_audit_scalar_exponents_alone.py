"""Letters in exponents: what is continuous, convex or monotone, and logarithms of products, one condition at a time."""

from __future__ import annotations

from fractions import Fraction

import pytest
from audit_pieces import Recorder, claim_of, plain, shown

from bilevel_verify.audit.scalar import exponents
from bilevel_verify.audit.scalar.exponents import by_exponents, interior
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.audit.scalar.powers import Term, terms_of
from bilevel_verify.language import parse, to_text
from bilevel_verify.numbers.exact import Formula
from bilevel_verify.numbers.rounding import ball
from bilevel_verify.theorems.card_parts import Expression

pytestmark = pytest.mark.fast
RANGES = (
    "x = (0, oo); y = (0, oo); n = [0, oo); z = (-oo, oo); s = (0, 1]; b = [1, oo); nu = [0, 1]; mu = [0, 1];"
    " e = [-1, 1]; r = [0, oo); k = integers 0..; j = integers 1.."
)


def asked(text: str, where: str = "", outcome: str = "undecided", ranges: str = RANGES) -> tuple[str, list[str]]:
    """The outcome, and the relations that other engines were asked."""
    decide = Recorder(outcome)  # type: ignore[arg-type]
    found = by_exponents(claim_of(text, ranges, where), decide)
    assert found.engine == "exponents"
    return found.outcome, [one.split(";")[0] for one in decide.texts]


# --- both sides alike


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("(x*y)**nu == x**nu*y**nu", "proved"),
        ("(x*y)**nu <= x**nu*y**nu", "proved"),
        ("(x*y)**nu >= x**nu*y**nu", "proved"),
        ("(x*y)**nu < x**nu*y**nu", "undecided"),
        ("(x*y)**nu > x**nu*y**nu", "undecided"),
        ("x**nu + n <= 2*n + x**nu", "proved"),
        ("2*n + x**nu >= x**nu + n", "proved"),
        ("x**nu + n == 2*n + x**nu", "undecided"),
        ("x**nu + 2*n <= n + x**nu", "undecided"),
        ("x**nu + z <= 2*z + x**nu", "undecided"),  # what is left may be negative
        ("x**nu + n < 2*n + x**nu", "undecided"),
        ("x**nu + n**2 <= 2*n**2 + x**nu", "proved"),
        ("x**nu + s**nu == 2*s**nu + x**mu", "undecided"),
        ("x**nu + s**nu == 2*s**nu + s**mu", "undecided"),
        ("x**2 <= x**2 + n", "undecided"),  # no letter in an exponent
        ("x**nu*exp(x) <= x**nu*exp(x)", "proved"),
        ("x**nu + x**sin(x) <= 0", "undecided"),
    ],
)
def test_sides_that_agree_in_powers_of_letters(text: str, outcome: str) -> None:
    assert asked(text) == (outcome, [])


# --- single products in logarithms


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "where", "proved"),
    [
        ("s**nu <= 1", "", True),
        ("s**nu >= 1", "", False),
        ("1 >= s**nu", "", True),
        ("s**nu < 1", "", False),
        ("b**nu >= 1", "", True),
        ("b**nu <= 1", "", False),
        ("x**nu <= y**nu", "x <= y", True),
        ("x**nu <= y**nu", "y >= x", True),
        ("x**nu <= y**nu", "x < y", True),
        ("x**nu <= y**nu", "x >= y", False),
        ("x**nu <= y**nu", "x == y", True),
        ("x**nu < y**nu", "x < y", False),  # nu may be 0
        ("x**nu < y**nu", "x < y; nu > 0", True),
        ("x**nu < y**nu", "x < y; nu >= 0", False),
        ("x**e <= y**e", "x <= y", False),
        ("x**e <= y**e", "x <= y; e >= 0", True),
        ("x**nu*y**nu <= 1", "x*y <= 1", True),
        ("x**nu*y**nu <= 1", "x*y <= 2", False),
        ("x**nu*y**nu <= 1", "x*y <= -1", True),  # never
        ("x**nu*y**nu <= 1", "x + y <= 1", True),
        ("x**nu*y**nu <= 1", "x + y <= 3", False),
        ("2**nu <= 2", "", True),
        ("2**nu <= 3/2", "", False),
        ("2**nu < 2", "", False),
        ("2**nu < 201/100", "", True),
        ("2**nu <= 3**(631/1000*nu)", "", True),  # log 2/log 3 = 0.63093
        ("2**nu <= 3**(630/1000*nu)", "", False),
        ("2**nu >= 3**(630/1000*nu)", "", True),
        ("2**nu >= 3**(631/1000*nu)", "", False),
        ("3*s**nu <= 3", "", True),
        ("3*s**nu <= 2", "", False),
        ("n**nu <= 1", "n <= 1", False),  # n may be 0: it has no logarithm
        ("z**2*s**nu <= z**2", "", False),
    ],
)
def test_single_products_compare_by_their_logarithms(text: str, where: str, proved: bool) -> None:
    claim = claim_of(text, RANGES, where)
    small, large = exponents.collected(claim)
    found = exponents._in_logarithms(claim, small, large)
    assert (found is not None and found.outcome == "proved") == proved
    if proved:
        assert found is not None
        assert found.certificate.startswith("single products: their logarithms compare (")
        assert asked(text, where)[0] == "proved"


def test_what_cannot_be_read_says_why() -> None:
    found = by_exponents(claim_of("x**nu + x**sin(x) <= 0", RANGES), Recorder())
    assert found.certificate == "sin is not algebraic"


def test_sums_have_no_logarithm() -> None:
    claim = claim_of("s**nu <= 1", RANGES)
    small, large = exponents.collected(claim)
    assert exponents._in_logarithms(claim, small, large * 2) is None
    assert exponents._in_logarithms(claim, small * 2, large) is None
    assert exponents._Logarithms(claim).of(Term(Fraction(-1)), large[0]) is None
    assert exponents._Logarithms(claim).of(small[0], Term(Fraction(0))) is None


@pytest.mark.parametrize(
    "number", [Fraction(2), Fraction(1, 3), Fraction(10**30), Fraction(3, 10**40), Fraction(10**9 + 1, 10**9)]
)
def test_logarithms_of_numbers_are_between_their_ends(number: Fraction) -> None:
    from flint import arb, ctx, fmpq

    logs = exponents._Logarithms(claim_of("s**nu <= 1", RANGES))
    low, high = logs.ends(parse(str(number)) if number.denominator == 1 else exponents.tree.Number(number))
    assert low is not None
    assert high is not None
    before, ctx.prec = ctx.prec, 300
    try:
        exact = arb(fmpq(number.numerator, number.denominator)).log()
        a, b = (linear_form(end.tree) for end in (low, high))
        assert a is not None
        assert b is not None
        room = arb(fmpq(2, 10**9)) - arb(fmpq(1, 10**12))  # for the rounding of a float on either side
        assert arb(fmpq(a[0].numerator, a[0].denominator)) < exact - room
        assert arb(fmpq(b[0].numerator, b[0].denominator)) > exact + room
        assert b[0] - a[0] == Fraction(5, 10**9)
    finally:
        ctx.prec = before


@pytest.mark.parametrize(
    ("base", "low", "high"),
    [("1", "0", "0"), ("s", None, "0"), ("b", "0", None), ("x", None, None), ("1 + n", "0", None)],
)
def test_ends_of_the_logarithm_of_a_base(base: str, low: str | None, high: str | None) -> None:
    def text(end: Expression | None) -> str | None:
        return None if end is None else end.text

    logs = exponents._Logarithms(claim_of("s**nu <= b*x*n", RANGES))
    assert tuple(map(text, logs.ends(parse(base)))) == (low, high)
    name = logs.letter(parse(base))
    domain = logs.domains[name]
    assert (domain.kind, domain.lower_closed, domain.upper_closed) == ("interval", low is not None, high is not None)
    assert logs.letter(parse(base)) == name
    assert logs.letter(parse("y")) != name


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("x <= y", True), ("x*y == 2", True), ("x < y", True), ("x > 2", True), ("x >= y**2", True),
        ("1 <= 1", True), ("x <= 0", False), ("0 <= x", False), ("-1 <= x", False), ("x + y <= 1", False),
        ("x <= y <= 2", False),
        ("x != y", False), ("z*x <= 1", False), ("n <= 1", False), ("x <= (x*z)**nu", False),
    ],
)  # fmt: skip
def test_hypotheses_that_are_single_products(text: str, written: bool) -> None:
    logs = exponents._Logarithms(claim_of("x**nu <= y*z*n", RANGES))
    found = logs.condition(parse(text)) if "!=" not in text else logs.condition(parse("x"))
    assert (found is not None) == written
    if found is not None:
        assert found.operators == parse(text).operators  # type: ignore[attr-defined]


# --- ends of ranges


@pytest.mark.parametrize(
    ("text", "ranges", "where", "opened"),
    [
        ("x**nu <= 1", "x = [0, 1]; nu = [0, 1]", "", {"x"}),
        ("x**nu < 1", "x = [0, 1]; nu = [0, 1]", "", set()),
        ("x**nu > 1", "x = [0, 1]; nu = [0, 1]", "", set()),
        ("1 >= x**nu", "x = [0, 1]; nu = [0, 1]", "", {"x"}),
        ("x**nu == 1", "x = [0, 1]; nu = [0, 1]", "", {"x"}),
        ("x**e <= 1", "x = [0, 1]; e = [-1, 1]", "", set()),  # a pole at 0
        ("x**nu <= 1", "x = [-1, 1]; nu = [0, 1]", "", set()),
        ("x**nu <= 1", "x = [1, 1]; nu = [0, 1]", "", set()),  # nothing is inside
        ("x**nu <= 1", "x = [0, 1]; nu = [0, 1]", "x <= nu", set()),  # a hypothesis needs it
        ("x*y**nu <= 1", "x = [0, 1]; y = [x, 2]; nu = [0, 1]", "", set()),
        ("x**nu <= 1", "x = [0, oo); nu = [0, 1]", "", {"x"}),
        ("x**nu <= y", "x = [0, y]; y = [1, 2]; nu = [0, 1]", "", set()),  # its end is a letter
        ("x**nu <= 1", "x = (0, 1]; nu = [0, 1]", "", {"x"}),
        ("x**nu <= 1", "x = [0, 1); nu = [0, 1]", "", {"x"}),
        ("k**nu <= 1", "k = integers 0..3; nu = [0, 1]", "", set()),
        ("x**nu <= 1", "x = (-oo, 1]; nu = [0, 1]", "", set()),
        ("2**nu <= floor(x)", "x = [0, 1]; nu = [0, 1]", "", set()),
    ],
)
def test_closed_ends_that_may_be_left_out(text: str, ranges: str, where: str, opened: set[str]) -> None:
    claim = claim_of(text, ranges, where)
    found = interior(claim)
    for name, domain in claim.domains.items():
        new = found.domains[name]
        if name in opened:
            assert (new.lower_closed, new.upper_closed) == (False, False)
        else:
            assert new == domain
    assert shown(found) == shown(claim)


@pytest.mark.parametrize(
    ("text", "name", "answer"),
    [
        ("y", "x", True), ("floor(y)", "x", True), ("x", "x", True), ("-x", "x", True), ("x + y*x", "x", True),
        ("z/(y - 3)", "z", True), ("sqrt(n + abs(floor(n)))", "n", False),
        ("x + floor(x)", "x", False), ("y*floor(x)", "x", False), ("-floor(x)", "x", False), ("x/y", "x", True),
        ("y/x", "x", True), ("y/z", "z", False), ("floor(x)/y", "x", False), ("y/(x + floor(x))", "x", False),
        ("z/y", "z", True), ("1/n", "n", False), ("1/(1 + n)", "n", True), ("z**2", "z", True), ("z**0", "z", True),
        ("z**(-2)", "z", False), ("z**(1/2)", "z", False), ("n**(1/2)", "n", True), ("n**(-1/2)", "n", False),
        ("n**nu", "n", True), ("n**e", "n", False), ("z**nu", "z", False), ("x**nu", "nu", False),
        ("floor(n)**2", "n", False),
        ("sqrt(n)", "n", True), ("sqrt(z)", "z", False), ("sqrt(floor(n))", "n", False), ("exp(x)", "x", False),
        ("(x + z)**2", "z", True), ("y + z", "z", True), ("x**(-1)", "x", False),
    ],
)  # fmt: skip
def test_what_is_plainly_continuous(text: str, name: str, answer: bool) -> None:
    assert exponents._continuous(parse(text), name, claim_of(f"{text} <= x*y*z*n*nu*e", RANGES)) == answer


def test_letters_whose_ends_may_be_taken() -> None:
    def letters(text: str, where: str = "", ranges: str = RANGES) -> list[str]:
        claim = claim_of(text, ranges, where)
        small, large = exponents.collected(claim)
        return list(exponents._letters_of_exponents(claim, small + large))

    assert letters("x**nu <= y**e") == ["nu", "e"]
    assert letters("x**nu*nu <= y**r") == ["nu"]  # r has no end
    assert letters("x**k <= y**nu", ranges=RANGES.replace("k = integers 0..", "k = integers 0..5")) == ["nu"]
    assert letters("x**nu <= y", "nu <= x") == []
    assert letters("x**nu <= s") == ["nu"]
    assert letters("x**nu <= mu", ranges="nu = [0, 1]; mu = [nu, 2]") == []
    assert letters("x**nu <= y", ranges="nu = [a, 1]; a = [0, 1]") == []


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("x**nu", True), ("x**(3 - 2*nu)*y**nu", True), ("2**nu", True), ("x**(nu**2)", False),
        ("x**(1/(1 + nu))", False), ("n**nu", False), ("(1 + nu)**(-1)", True), ("(1 + nu)**0*x**nu", True),
        ("(1 + nu)**(-1/2)*x**nu", True), ("(1 + nu)**2", False),
        ("(1 + nu)**nu", False), ("(1 + nu**2)**(-1)", False), ("x**2", True), ("(1 + nu)**(-mu)", False),
    ],
)  # fmt: skip
def test_log_convex_in_a_letter(text: str, answer: bool) -> None:
    claim = claim_of(f"{text} <= x*y*n*nu*mu", RANGES)
    assert exponents._log_convex(terms_of(claim.left, claim)[0], "nu", claim) == answer


@pytest.mark.parametrize(
    ("text", "factor"),
    [
        ("x**nu", "1*x**1"), ("x**(-nu)*y**(2*nu)", "1*x**(-1)*y**2"), ("x**mu", "1"), ("x**(nu*mu)", "1*x**mu"),
        ("x**(nu**2)", None), ("n**nu", None), ("(1 + nu)**2*x**nu", None), ("2**nu", "1*2**1"), ("x**3", "1"),
    ],
)  # fmt: skip
def test_what_a_term_is_multiplied_by(text: str, factor: str | None) -> None:
    claim = claim_of(f"{text} <= x*y*n*nu*mu", RANGES)
    found = exponents._slope(terms_of(claim.left, claim)[0], "nu", claim)
    if factor is None or found is None:
        assert (found is None) == (factor is None)
        return
    point = {"x": Fraction(3), "y": Fraction(5), "mu": Fraction(1, 2)}
    one, two = (ball(Formula(point).value(node)) for node in (found, parse(factor)))
    assert float(one.mid()) == pytest.approx(float(two.mid()), rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        # terms over one large one: log-convex, both ends
        ("x**nu + y**(1 - nu) <= 3", [0, 1]),
        ("3 >= x**nu + y**(1 - nu)", [0, 1]),
        ("x**nu + y**nu <= b**(2*nu)", [0, 1]),
        ("x**nu + n**nu <= 3*x", None),
        ("1 + y <= (1 + nu)**2*x", [0, 1]),  # over it, not times it
        ("1 + y <= (1 + nu)**(-2)*x", None),
        ("1 <= n**nu + b**nu", None),  # the change of one term is not known
        ("x**(nu**2) + y <= 3", None),
        # one small one: monotone, one end
        ("s**nu <= s + 1/2*s", [0]),
        ("b**nu <= b + b**2", [1]),
        ("1 <= b**nu + b**(2*nu)", [0]),
        ("1 <= s**nu + s**(2*nu)", [1]),
        ("1 <= s**nu + b**nu", None),
        ("x**nu + y <= 1 + y**nu", None),  # two and two
    ],
)
def test_ends_that_are_asked(text: str, ends: list[int] | None) -> None:
    claim = claim_of(text, RANGES)
    small, large = exponents.collected(claim)
    found = [list(map(int, chosen)) for chosen, _ in exponents._ends_that_decide(claim, "nu", small, large)]
    assert (ends in found) if ends is not None else found == []


def test_every_end_that_is_chosen_has_to_be_shown() -> None:
    outcome, texts = asked("x**nu + y**(1 - nu) <= 3", outcome="proved")
    assert outcome == "proved"
    assert len(texts) == 2
    assert asked("x**nu + y**(1 - nu) <= 3", outcome="vacuous")[0] == "proved"
    assert asked("x**nu + y**(1 - nu) <= 3", outcome="refuted")[0] == "undecided"
    claim = claim_of("x**nu + y**(1 - nu) < 3", RANGES)
    decide = Recorder()
    found = by_exponents(claim, decide)
    assert found.certificate == "every term over the other side is log-convex in nu: true at 0, 1"
    assert [one.op for one in decide.asked] == ["<", "<"]
    at = Formula({"x": Fraction(2), "y": Fraction(3)})
    assert [at.value(one.left) for one in decide.asked] == [1 + 3, 2 + 1]
    weak = Recorder()
    by_exponents(claim_of("x**nu + y**(1 - nu) <= 3", RANGES), weak)
    assert [one.op for one in weak.asked] == ["<=", "<="]
    one = Recorder(outcomes={decide.texts[1]: "undecided"})
    assert by_exponents(claim, one).outcome == "undecided"
    assert [to_text(part.right) for part in decide.asked] == ["3", "3"]
    assert all("nu" not in part.domains for part in decide.asked)


# --- integer letters whose base may be 0


def test_a_first_value_apart() -> None:
    claim = claim_of("k**nu + s**nu <= 2*k + 1", RANGES)
    small, large = exponents.collected(claim)
    decide = Recorder()
    found = exponents._first_apart(claim, small + large, decide)
    assert found is not None
    assert [one.split(";")[0] for one in decide.texts] == [plain("0**nu + s**nu <= 2*0 + 1")]
    lower = found.domains["k"].lower
    assert lower is not None
    assert lower.text == "1"
    half = claim_of("(2*k - 1)**nu + s**nu <= 2*k + 1", RANGES.replace("k = integers 0..", "k = integers 1/2.."))
    record = Recorder()
    exponents._first_apart(half, [term for side in exponents.collected(half) for term in side], record)
    assert [one.domains.get("k") for one in record.asked] == [None] * len(record.asked)
    free = claim_of("n**nu + j**nu <= 2*j + n", RANGES)
    record = Recorder()
    assert exponents._first_apart(free, [t for side in exponents.collected(free) for t in side], record) == free
    assert record.asked == []  # the base that may be 0 has no integer in it
    assert exponents._first_apart(claim, small + large, Recorder("undecided")) is None
    assert exponents._first_apart(claim, small + large, Recorder("refuted")) is None
    vacuous = exponents._first_apart(claim, small + large, Recorder("vacuous"))
    assert vacuous is not None
    positive = claim_of("j**nu + s**nu <= 2*j + 1", RANGES)
    positive_terms = [term for side in exponents.collected(positive) for term in side]
    record = Recorder()
    assert exponents._first_apart(positive, positive_terms, record) == positive
    assert record.asked == []
    endless = claim_of("k**2*s**nu <= k**2 + 1", "k = integers ..; s = (0, 1]; nu = [0, 1]")
    endless_terms = [term for side in exponents.collected(endless) for term in side]
    assert exponents._first_apart(endless, endless_terms, record) == endless
    assert record.asked == []
    assert asked("k**nu + s**nu <= 2*k + 1", outcome="undecided") == ("undecided", [plain("0**nu + s**nu <= 2*0 + 1")])
