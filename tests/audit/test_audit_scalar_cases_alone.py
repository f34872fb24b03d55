"""Proofs by cases and over logarithms, with a decider that keeps a record: every case is asked, none is left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from audit_pieces import Recorder, claim_of, plain, shown

from bilevel_verify.audit.scalar import cases, logs
from bilevel_verify.audit.scalar.cases import by_head_and_tail, by_residues, by_zero_apart, rounded_exactly
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.audit.scalar.logs import by_logarithms
from bilevel_verify.language import parse, to_text, tree
from bilevel_verify.numbers.exact import Formula
from bilevel_verify.numbers.rounding import ball

pytestmark = pytest.mark.fast
RANGES = "k = integers 0..; m = integers ..; j = integers ..; x = (-oo, oo); z = (-oo, oo); t = [0, 1]; e = [-1, 1]"


def claim(text: str, ranges: str = RANGES, where: str = "") -> ScalarClaim:
    return claim_of(text, ranges, where)


# --- logarithms


@pytest.mark.parametrize(
    ("text", "asked", "certificate"),
    [
        ("log(a) <= log(b)", "a <= b", "the logarithm is increasing: the arguments compared"),
        ("log(a) < log(b)", "a < b", "the logarithm is increasing: the arguments compared"),
        ("log(a) <= b", "a <= exp(b)", "the exponentials of both sides compared"),
        ("b > log(a)", "exp(b) > a", "the exponentials of both sides compared"),
        ("c*log(a) <= log(b)", "exp(c*log(a)) <= b", "the exponentials of both sides compared"),
        ("c + log(a*b) <= 3", "c + (log(a) + log(b)) <= 3", "the logarithms of products written out"),
        ("log(a*b) == 3", "log(a) + log(b) == 3", "the logarithms of products written out"),
    ],
)
def test_what_is_asked_in_place_of_logarithms(text: str, asked: str, certificate: str) -> None:
    decide = Recorder()
    found = by_logarithms(claim(text), decide)
    assert (found.outcome, found.engine, found.certificate) == ("proved", "logarithms", certificate)
    assert decide.texts == [shown(claim(asked))]


def test_the_next_form_is_tried_where_one_is_undecided() -> None:
    decide = Recorder("undecided")
    assert by_logarithms(claim("log(a*b) <= log(c)"), decide).outcome == "undecided"
    assert decide.texts == [plain("a*b <= c"), plain("log(a) + log(b) <= log(c)")]
    vacuous = Recorder("vacuous")
    assert by_logarithms(claim("log(a*b) <= log(c)"), vacuous).outcome == "undecided"
    assert len(vacuous.asked) == 2


@pytest.mark.parametrize("text", ["a <= b", "exp(a) <= b", "log(a) == log(b)", "a + log(b) <= c"])
def test_nothing_is_asked_where_no_logarithm_goes(text: str) -> None:
    decide = Recorder()
    assert by_logarithms(claim(text), decide).outcome == "undecided"
    assert decide.asked == []


def test_hypotheses_are_written_out_too() -> None:
    decide = Recorder()
    assert by_logarithms(claim("a <= b", RANGES, "log(a*b) <= 1"), decide).outcome == "proved"
    assert decide.texts == [f"{plain('a <= b')}; {plain('log(a) + log(b) <= 1')}"]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("log(a*b*c)", "log(a) + log(b) + log(c)"),
        ("log(a/b)", "log(a) - log(b)"),
        ("log(a**x)", "x*log(a)"),
        ("log(a**2*b)", "2*log(a) + log(b)"),
        ("log(sqrt(a))", "log(a)/2"),
        ("log(sqrt(a*b))", "(log(a) + log(b))/2"),
        ("log(1)", "0"),
        ("log(1/a)", "0 - log(a)"),
        ("log(2)", "log(2)"),
        ("log(2*a)", "log(2) + log(a)"),
        ("log(a + b)", "log(a + b)"),
        ("exp(log(a*b))", "exp(log(a) + log(b))"),
        # one part may be negative or zero: nothing is taken apart
        ("log(a*z)", "log(a*z)"),
        ("log(z*a)", "log(z*a)"),
        ("log(a/z)", "log(a/z)"),
        ("log(z/a)", "log(z/a)"),
        ("log(z**2)", "log(z**2)"),
        ("log(sqrt(z))", "log(sqrt(z))"),
        ("log(t*a)", "log(t*a)"),
        ("log(0*a)", "log(0*a)"),
        ("log((-2)*(z - 1))", "log((-2)*(z - 1))"),
    ],
)
def test_logarithms_written_out(text: str, written: str) -> None:
    owner = claim(f"{text} <= a + b + c + z + t")
    found = logs._expand(parse(text), owner)
    point = {n: Fraction(v) for n, v in (("a", 2), ("b", 3), ("c", 5), ("x", 7))}
    if "z" in text or "t*" in text or "0*" in text:
        assert to_text(found) == plain(text)
    else:
        one, two = (ball(Formula(point).value(node)) for node in (found, parse(written)))
        assert float(one.mid()) == pytest.approx(float(two.mid()), rel=1e-12, abs=0)
        assert to_text(found).count("log") == written.count("log")


# --- roundings of integers


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("floor(3*m + 5/2)", True),
        ("ceil(3*m + 5/2)", True),
        ("floor(-3*m - 5/2)", True),
        ("floor(2*m - j + 1/3)", True),
        ("floor(5/2)", True),
        ("ceil(5/2)", True),
        ("floor(0*m - 1/2)", True),
        ("floor(floor(m + 1/2) + 1/3)", True),
        ("1 + floor(m)*2", True),
        ("floor(m/2)", False),
        ("floor(x)", False),
        ("floor(x + 1)", False),
        ("floor(m + x)", False),
        ("floor(m*j + 1/2)", False),
        ("(6*m + 5) % 3", True),
        ("(3*m*j + 7) % 3", True),
        ("(3*m**2 - 7) % 3", True),
        ("7 % 3", True),
        ("(-7) % 3", True),
        ("(3*m + 5) % 1", True),
        ("(6*m + 5) % 4", False),
        ("(m + 3) % 3", False),
        ("(3*x + 3) % 3", False),
        ("(3*m + 1/2) % 3", False),
        ("(3*m + x) % 3", False),
        ("(3*m/2) % 3", False),
        ("(3*m) % j", False),
        ("7 % (3/2)", False),
        ("(3*sqrt(k)) % 3", False),
        ("(3*2**k) % 3", False),
        ("(3*exp(m)) % 3", False),
    ],
)
def test_roundings_are_exact_or_stay(text: str, gone: bool) -> None:
    owner = claim(f"{text} <= m + j + k + x")
    found = rounded_exactly(parse(text), owner)
    shown_ = to_text(found)
    assert (not any(word in shown_ for word in ("floor", "ceil", "%"))) == gone
    for value in (-3, -2, 0, 1, 2, 5) if "2**k" not in text and "exp" not in text and "sqrt" not in text else ():
        point = {"m": Fraction(value), "j": Fraction(2 * value + 1), "k": Fraction(4), "x": Fraction(value, 3)}
        assert Formula(point).value(found) == Formula(point).value(parse(text))


def test_a_number_that_is_rounded_is_a_number() -> None:
    assert rounded_exactly(parse("floor(5/2)"), claim("a <= b")) == tree.Number(Fraction(2))


@pytest.mark.parametrize(
    ("text", "where", "modulus"),
    [
        ("floor(k/2) <= 1", "", ("k", 2)),
        ("floor(k/2) <= floor(k/3)", "", ("k", 6)),
        ("1 <= ceil(3*k/4)", "", ("k", 4)),
        ("floor((k + 1)/2) <= 1", "", ("k", 2)),
        ("k % 4 <= 1", "", ("k", 4)),
        ("floor(k/2) <= k % 3", "", ("k", 6)),
        ("k <= 1", "k % 5 <= 1", ("k", 5)),
        ("1 <= floor(k/2)", "floor(j/3) <= 1", ("k", 2)),
        ("1 <= k % 2", "j % 3 <= 1", ("k", 2)),
        ("k <= 1", "floor(k/5) <= 1", ("k", 5)),
        ("floor(k/24) <= 1", "", ("k", 24)),
        ("floor(k/25) <= 1", "", None),
        ("k % 25 <= 1", "", None),
        ("floor(k) <= 1", "", None),
        ("k % 1 <= 1", "", None),
        ("floor(x/2) <= 1", "", None),
        ("x % 2 <= 1", "", None),
        ("floor((k + x)/2) <= 1", "", None),
        ("floor(k**2/2) <= 1", "", None),
        ("(k + m) % 3 <= 1", "", None),
        ("k % m <= 1", "", None),
        ("k % (1/2) <= 1", "", None),
        ("3 % 2 <= 1", "", None),
        ("k <= 1", "", None),
    ],
)
def test_which_letter_and_which_modulus(text: str, where: str, modulus: tuple[str, int] | None) -> None:
    assert cases._modulus(claim(text, RANGES, where)) == modulus


def numbers(part: ScalarClaim, name: str) -> range:
    """The integers of a letter of a claim, cut at 60 where there is no end."""
    domain = part.domains[name]
    assert domain.kind == "integers"
    low, high = (None if e is None else linear_form(e.tree) for e in (domain.lower, domain.upper))
    assert low is None or low[0].denominator == 1
    assert high is None or high[0].denominator == 1
    return range(-60 if low is None else int(low[0]), (60 if high is None else int(high[0])) + 1)


@pytest.mark.parametrize(
    ("ends", "low", "high"),
    [
        ("integers 3..10", 3, 10),
        ("integers -7..", -7, 60),
        ("integers ..5", -60, 5),
        ("integers ..", -60, 60),
        ("integers 1/2..19/2", 1, 9),
    ],
)
@pytest.mark.parametrize("q", [2, 3, 5])
def test_residue_classes_are_all_integers_of_the_range_once(ends: str, low: int, high: int, q: int) -> None:
    """Every asked claim, at every integer of its class, is the original one at q*m + r, and no integer is left out."""
    text = f"floor(k/{q}) + k <= (k % {q})*k + 1"
    original = claim(text, f"k = {ends}")
    decide = Recorder()
    found = by_residues(original, decide)
    assert (found.outcome, found.certificate) == ("proved", f"{q} classes of k, each proved")
    assert len(decide.asked) == q
    met = []
    for r, part in enumerate(decide.asked):
        assert "k" not in part.domains
        for value in numbers(part, "k_class"):
            k = Fraction(q * value + r)
            met.append(k)
            for side, other in ((part.left, original.left), (part.right, original.right)):
                assert Formula({"k_class": Fraction(value)}).value(side) == Formula({"k": k}).value(other)
    assert len(met) == len(set(met))
    assert low == -60 or min(met) >= low
    assert high == 60 or max(met) <= high
    inside = [k for k in met if low <= k <= high]
    assert sorted(inside) == list(range(low, high + 1))


def test_one_undecided_class_is_enough() -> None:
    last = Recorder()

    def decide(part: ScalarClaim) -> Decision:
        last(part)
        return Decision("undecided" if len(last.asked) == 3 else "vacuous", "x", "why not")

    found = by_residues(claim("floor(k/3) <= 1"), decide)
    assert (found.outcome, found.certificate) == ("undecided", "k = 3*m + 2 is undecided: why not")
    assert by_residues(claim("k <= 1"), last).certificate == ""
    assert by_residues(claim("floor(k/3) <= 1"), Recorder("vacuous")).outcome == "vacuous"
    assert by_residues(claim("floor(k/3) <= 1"), Recorder("refuted")).outcome == "undecided"


def test_hypotheses_of_a_class_are_those_of_its_integers() -> None:
    decide = Recorder()
    by_residues(claim("floor(k/2) <= 1", RANGES, "floor(k/2) >= 3"), decide)
    for r, part in enumerate(decide.asked):
        for value in range(-2, 6):
            k = Fraction(2 * value + r)
            stated = all(Formula({"k_class": Fraction(value)}).answer(c) for c in part.where)
            assert stated == (k >= 0 and k // 2 >= 3)


# --- head and tail


@pytest.mark.parametrize(
    ("ends", "asked"),
    [
        ("integers 2..5", [2, 3, 4, 5]),
        ("integers 1/2..7/2", [1, 2, 3]),
        ("integers 4..4", [4]),
        ("integers -2..0", [-2, -1, 0]),
    ],
)
def test_few_values_one_by_one(ends: str, asked: list[int]) -> None:
    decide = Recorder()
    found = by_head_and_tail(claim("a*k <= b", f"k = {ends}"), decide)
    assert (found.outcome, found.certificate) == ("proved", f"{len(asked)} values of k, each proved")
    assert [to_text(p.left) for p in decide.asked] == [plain(f"a*({k})" if k < 0 else f"a*{k}") for k in asked]
    assert all("k" not in part.domains for part in decide.asked)


def test_forty_values_are_tried_and_more_are_not() -> None:
    assert by_head_and_tail(claim("k <= a", "k = integers 1..40"), Recorder()).outcome == "proved"
    more = Recorder()
    assert by_head_and_tail(claim("k <= a", "k = integers 1..41"), more).outcome == "undecided"
    assert more.asked == []


@pytest.mark.parametrize("outcome", ["undecided", "refuted"])
def test_one_value_that_is_not_proved_is_enough(outcome: str) -> None:
    decide = Recorder(outcomes={shown(claim("3 <= a", "a = (0, oo)", "3 >= 2; 3 <= 5")): outcome})  # type: ignore[dict-item]
    assert by_head_and_tail(claim("k <= a", "k = integers 2..5"), decide).outcome == "undecided"
    assert len(decide.asked) == 2


def test_values_where_the_hypotheses_fail_are_no_obstacle_and_no_proof() -> None:
    contradicted = shown(claim("3 <= a", "a = (0, oo)", "3 >= 2; 3 <= 5"))
    one = Recorder(outcomes={contradicted: "vacuous"})  # type: ignore[dict-item]
    assert by_head_and_tail(claim("k <= a", "k = integers 2..5"), one).outcome == "proved"
    found = by_head_and_tail(claim("k <= a", "k = integers 2..5"), Recorder("vacuous"))
    assert (found.outcome, found.certificate) == ("vacuous", "every value of k contradicts the hypotheses")


@pytest.mark.parametrize("ends", ["integers 5..4", "integers 1/3..2/3"])
def test_a_range_without_an_integer_proves_nothing(ends: str) -> None:
    decide = Recorder()
    found = by_head_and_tail(claim("k <= a", f"k = {ends}"), decide)
    assert found.outcome == "vacuous"
    assert found.certificate.startswith("no integer k lies between ")
    assert decide.asked == []


def proving(test: Callable[[ScalarClaim], bool]) -> tuple[Recorder, Callable[[ScalarClaim], Decision]]:
    record = Recorder()

    def decide(part: ScalarClaim) -> Decision:
        record(part)
        return Decision("proved" if test(part) else "undecided", "x", "")

    return record, decide


@pytest.mark.parametrize(("from_", "cut"), [(4, 1), (7, 4), (8, 12), (16, 24), (27, 24)])
def test_an_unbounded_letter_is_proved_one_by_one_until_its_tail_is(from_: int, cut: int) -> None:
    """Values from 3 on; the tail is proved from ``from_`` on."""
    record, decide = proving(lambda part: "k" not in part.domains or numbers(part, "k")[0] >= from_)
    found = by_head_and_tail(claim("k <= a", "k = integers 3.."), decide)
    heads = [int(str(to_text(p.left))) for p in record.asked if "k" not in p.domains]
    tails = [numbers(p, "k")[0] for p in record.asked if "k" in p.domains]
    assert heads == list(range(3, 3 + cut))  # each once
    assert tails == [3 + c for c in (1, 4, 12, 24) if c <= cut]
    text = f"k = 3..{2 + cut} one by one, the rest as real numbers"
    assert (found.outcome, found.certificate) == ("proved", text)


def test_a_head_that_fails_ends_it_and_a_tail_must_be_proved() -> None:
    record, decide = proving(lambda part: "k" not in part.domains and to_text(part.left) != "5")
    assert by_head_and_tail(claim("k <= a", "k = integers 3.."), decide).outcome == "undecided"
    assert [to_text(p.left) for p in record.asked] == ["3", "k", "4", "5"]
    assert by_head_and_tail(claim("k <= a", "k = integers 3.."), Recorder("vacuous")).outcome == "undecided"


@pytest.mark.parametrize(
    "ranges", ["k = [0, 5]", "k = integers ..", "k = integers ..5", "k = integers 0..3; a = [k, oo)"]
)
def test_letters_without_a_first_value_or_with_dependants_are_left_alone(ranges: str) -> None:
    decide = Recorder()
    assert by_head_and_tail(claim("k <= a", ranges), decide).outcome == "undecided"
    assert decide.asked == []


def test_a_second_integer_letter_is_tried() -> None:
    assert by_head_and_tail(claim("k <= m", "k = integers ..; m = integers 0..2"), Recorder()).outcome == "proved"


# --- zero apart


def test_zero_by_itself_and_the_positive_numbers() -> None:
    assert by_zero_apart(claim("t*a <= b", "t = [0, oo)"), Recorder()).outcome == "proved"
    decide = Recorder()
    found = by_zero_apart(claim("t*a <= b", "t = [0, 1]"), decide)
    assert (found.outcome, found.engine, found.certificate) == ("proved", "recorder", "t = 0 apart; as told")
    zero, rest = decide.asked
    assert (to_text(zero.left), "t" in zero.domains) == (plain("0*a"), False)
    assert not rest.domains["t"].lower_closed
    assert rest.domains["t"].upper_closed
    assert to_text(rest.left) == plain("t*a")


@pytest.mark.parametrize(
    "domain", ["(0, 1]", "[1, 2]", "[-1, 1]", "integers 0..", "[b, oo)", "(-oo, 0]", "(-oo, oo)", "[b - b, 1]"]
)
def test_only_ranges_that_begin_at_zero(domain: str) -> None:
    decide = Recorder()
    found = by_zero_apart(claim("t*b <= b", f"t = {domain}; b = (0, oo)"), decide)
    assert (found.outcome == "proved") == (domain == "[b - b, 1]")  # its end is 0 as well
    assert bool(decide.asked) == (domain == "[b - b, 1]")


def test_ranges_without_an_end_are_no_reason_to_stop() -> None:
    """A range may have no lower or no upper end at all: the next letter is tried, nothing is raised."""
    _, decide = proving(lambda part: True)
    given = claim("t*b <= b", "t = [0, 1]; b = (0, oo)")
    for low, high in ((None, None), (None, given.domains["t"].upper), (given.domains["t"].lower, None)):
        open_ = replace(given.domains["t"], lower=low, upper=high)
        found = by_zero_apart(replace(given, domains={**given.domains, "t": open_}), decide)
        assert (found.outcome == "proved") == (low is not None)


def test_both_parts_are_needed() -> None:
    record, decide = proving(lambda part: "t" in part.domains)
    assert by_zero_apart(claim("t <= a", "t = [0, 1]"), decide).outcome == "undecided"
    assert len(record.asked) == 1
    record, decide = proving(lambda part: "t" not in part.domains)
    assert by_zero_apart(claim("t <= a", "t = [0, 1]"), decide).outcome == "undecided"
    assert len(record.asked) == 2
    assert by_zero_apart(claim("t <= a", "t = [0, 1]"), Recorder("vacuous")).outcome == "undecided"
    record, decide = proving(lambda part: "t" not in part.domains or "s" not in part.domains)
    assert by_zero_apart(claim("t <= s", "t = [0, 1]; s = [0, 1]"), decide).outcome == "undecided"
    assert len(record.asked) == 4  # the next letter is tried
