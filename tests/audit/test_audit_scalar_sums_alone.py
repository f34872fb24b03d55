"""Sums closed, written out or left alone, against brute force; induction, each of its parts."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from audit_pieces import Recorder, claim_of, plain, ranges, shown, value_at

from bilevel_verify.audit.scalar import sums
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.sums import _first, _steps, by_induction, closed, has_sum, without_sums
from bilevel_verify.language import parse, to_text, tree

pytestmark = pytest.mark.fast

RANGES = (
    "n = [0, oo); z = (-oo, oo); r = (0, 1); q = (1, oo); s = [-1/2, -1/4]; h = [0, 1/2]; k = integers 0..;"
    " j = integers 1..; m = integers ..; l = integers 2.."
)
VALUES = {"z": ("-1", "2/3"), "r": ("1/3", "1/2"), "q": ("2", "5/2"), "s": ("-1/2", "-1/3"), "h": ("0", "1/4",
    "1/2"), "n": ("3",),
          "k": ("0", "1", "4"), "j": ("1", "3"), "m": ("-2", "0", "3"), "l": ("2", "4"), "a": ("2", "1/3")}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "answer"),
    [("sum(i, (i, 1, k))", True), ("1 + 2*prod(i, (i, 1, k))", True), ("max(i, (i, 1, k))", False),
    ("max(k, j)", False),
     ("argmin(i, (i, 1, k))", False), ("k + 1", False), ("sqrt(k + sum(i, (i, 1, k)))", True)],
)  # fmt: skip
def test_sums_are_seen(text: str, answer: bool) -> None:
    assert has_sum(parse(text)) is answer


CLOSED = [
    "sum(i, (i, 1, k))", "sum(i**2, (i, 0, k))", "sum(i**3 - 2*i, (i, 2, k + 1))", "sum(1, (i, 1, k))",
    "sum(z, (i, 1, k))",
    "sum(i*z + 1, (i, 1, k))", "sum(i*z - n + z*i**2, (i, -1, k + 3))", "sum(i, (i, j, j + k))", "sum(i, (i, -k, k))",
    "sum(i**2, (i, -k, -1))", "sum(i, (i, -k, -k - 1))", "sum(i, (i, 1, 2*k))", "sum(i, (i, k + 1, 3*k + l))",
    "sum(i/(1 + n), (i, 1, k))", "sum(z*i*(q - i), (i, 2, k + 1))", "1 + 2*sum(i, (i, 1, k))**2",
    "sum(sum(p, (p, 1, i)), (i, 1, k))", "sum(sum(p*i, (p, i, k)), (i, 0, k))", "sum(i, (i, 0, 64))",
    "sum(i*i, (i, -70, 2))",
    "sum(i**20, (i, 1, k))", "sum(2*i + 3*z, (i, 0, k)) - sum(i, (i, 1, l))", "sum(i, (i, k*k, k*k + 2))",
    # powers: a ratio that is never 0 and never 1
    "sum(q**i, (i, 0, k))", "sum(s**i, (i, 0, k))", "sum(r**i, (i, 0, k))", "sum(2**i, (i, 1, k))",
    "sum(z*q**i*3, (i, j, j + k))",
    "sum(q**(3 - i), (i, 0, k))*2", "sum(2**(i + k), (i, 1, k))", "sum(2**(k - i), (i, 1, k))",
    "sum((1/3)**(i + 2), (i, 0, k))",
    "sum((-2)**i, (i, 1, k))", "sum((q + 1)**(-i), (i, 1, k))", "sum(i + r**i, (i, 0, k))",
    "sum(5*r**i - z, (i, 1, k))",
    "sum(sum(r**p, (p, 0, 2)), (i, 1, k))",
    # a ratio that may be 0, where no exponent is negative; a ratio that is a power
    "sum(h**i, (i, 0, k))", "sum(h**(k - i), (i, 0, k))", "sum((s + h)**i, (i, 0, k))", "sum(r**(2*i), (i, 0, k))",
    "sum(q**(-3*i), (i, 0, k))", "sum(s**(2*i + 1), (i, 0, k))",
]  # fmt: skip
WRITTEN = [
    ("sum(i, (i, 1, 3))", "1 + 2 + 3"),
    ("sum(i*z, (i, -1, 1))", "-1*z + 0*z + 1*z"),
    ("prod(i, (i, 1, 3))", "1*2*3"),
    ("prod(1 - z/i, (i, 2, 3))", "(1 - z/2)*(1 - z/3)"),
    ("sum(i, (i, 3, 3))", "3"),
    ("prod(i, (i, 3, 3))", "3"),
    ("sum(i, (i, 1, 0))", "0"),
    ("prod(i, (i, 1, 0))", "1"),
    ("sum(i, (i, 5, 1))", "0"),
    ("sum(sqrt(i), (i, 1, 2))", "sqrt(1) + sqrt(2)"),
    ("sum(i, (i, 2/2, 4/2))", "1 + 2"),
    ("sum(sum(p, (p, 1, i)), (i, 1, 2))", None),
    ("sum(i, (i, 0, 63))", "+".join(str(i) for i in range(64))),
    ("prod(i, (i, 1, 65))", "prod(i, (i, 1, 65))"),
    ("prod(i, (i, 2, 65))", "*".join(str(i) for i in range(2, 66))),
]
LEFT = [
    "sum(i, (i, pi, 3))",
    "sum(i, (i, 1, pi))",
    "sum(i, (i, z*z, 3))",
    "sum(i, (i, floor(z), floor(z) + 2))",
    "sum(i, (i, 1, m))", "sum(i, (i, 5, k))", "sum(i, (i, 2, k))", "sum(i, (i, k, -2))", "sum(i, (i, l, 0))",
    "sum(i, (i, 1, z))",
    "sum(i, (i, z, z + 3))", "sum(1, (i, 1, n))", "sum(1, (i, n, k + n))", "sum(i, (i, 1, k + 1/2))",
    "sum(i, (i, 1/2, 3))",
    "sum(i, (i, 1, 7/2))", "sum(1, (i, 0, pi))", "prod(i, (i, 1, k))", "prod(2, (i, 1, k))", "sum(sqrt(i), (i, 1, k))",
    "sum(i + sqrt(i), (i, 1, k))", "sum(i**21, (i, 1, k))", "sum(k, (k, 1, 3))", "sum(k, (k, 1, j))",
    "sum(1/i, (i, 1, k))",
    "sum(exp(z)*i, (i, 1, k))", "sum(prod(p, (p, 1, i)), (i, 1, k))", "sum(prod(p, (p, 1, i)), (i, 1, 3))",
    "sum(h**(i - 1), (i, 0, k))", "sum(h**(-i), (i, 0, k))", "sum(z**i, (i, 0, k))", "sum(n**i, (i, 0, k))",
    "sum(i*2**i, (i, 0, k))",
    "sum(r**(5*i), (i, 0, k))",
    "sum(r**i*q**i, (i, 0, k))", "sum(i**i, (i, 1, k))", "sum(r**(i/2), (i, 0, k))", "sum(r**(i + z), (i, 0, k))",
    "sum(r**(i*k), (i, 0, k))", "sum(1/2**i, (i, 0, k))", "max(i, (i, 1, k))", "min(i, (i, 1, 3))",
    "argmax(i, (i, 1, 3))",
    "sum(q**(i*i), (i, 0, k))", "sum(1**i*i**2/(i + 1), (i, 0, k))", "sum(i, (i, 1, -k))",
    "sum((s + h)**(i - 1), (i, 0, k))",
]  # fmt: skip


def points(*nodes: tree.Node) -> list[dict[str, Fraction]]:
    names = sorted({p.name for node in nodes for p in node.walk() if isinstance(p, tree.Letter)} & VALUES.keys())
    return [dict(zip(names, map(Fraction, v))) for v in product(*(VALUES[n] for n in names))]


@pytest.mark.slow
@pytest.mark.parametrize("text", CLOSED)
def test_closed_forms_are_those_of_brute_force(text: str) -> None:
    node = parse(text)
    found = closed(node, claim_of(f"{text} <= 1", RANGES))
    assert not has_sum(found)
    assert len(points(node)) >= 1
    for point in points(node):
        assert value_at(found, point) == value_at(node, point), point


@pytest.mark.parametrize(("text", "result"), WRITTEN)
def test_few_terms_are_written_out(text: str, result: str | None) -> None:
    found = closed(parse(text), claim_of(f"{text} <= 1", RANGES))
    if result is not None:
        assert to_text(found) == plain(result)
    else:
        assert value_at(found, {}) == value_at(parse(text), {})
        assert not has_sum(found)


@pytest.mark.parametrize("text", LEFT)
def test_what_may_not_be_closed_is_left(text: str) -> None:
    found = closed(parse(text), claim_of(f"{text} <= 1", RANGES))
    assert to_text(found) == plain(text)


def test_parts_of_what_is_left_are_closed() -> None:
    def text(one: str) -> str:
        return to_text(closed(parse(one), claim_of(f"{one} <= 1", RANGES)))

    assert text("sum(sum(1, (p, 1, i))*sqrt(i), (i, 1, k))") == "sum(((i - 1 + 1)*1)*sqrt(i), (i, 1, k))"
    assert text("prod(i, (i, 1, sum(1, (p, 1, k))))") == plain("prod(i, (i, 1, (k - 1 + 1)*1))")
    assert text("prod(i, (i, sum(1, (p, 1, k)), m))") == plain("prod(i, (i, (k - 1 + 1)*1, m))")
    assert text("prod(sum(1, (p, 1, k)), (i, m, 0))") == plain("prod((k - 1 + 1)*1, (i, m, 0))")


def test_numbers_as_ends_of_what_cannot_be_written_out() -> None:
    def text(one: str) -> str:
        return to_text(closed(parse(one), claim_of(f"{one} <= 1", RANGES)))

    assert text("sum(prod(p, (p, 1, k)), (i, 3, 3))") == "(3 - 3 + 1)*prod(p, (p, 1, k))"
    assert text("sum(prod(p, (p, 1, k)), (i, 3, 2))") == "(2 - 3 + 1)*prod(p, (p, 1, k))"
    assert has_sum(parse(text("sum(prod(p, (p, 1, k)), (i, 3, 1))")).arguments[0])  # type: ignore[attr-defined]
    assert text("sum(prod(p, (p, 1, k)), (i, 3, 1))") == "sum(prod(p, (p, 1, k)), (i, 3, 1))"
    assert "1/prod(p, (p, 1, k))" in text("sum(r**i/prod(p, (p, 1, k)), (i, 0, k))")
    assert "sum" not in text("sum(r**i/prod(p, (p, 1, k)), (i, 0, k))")


def test_a_ratio_and_ends_by_hypotheses() -> None:
    claim = claim_of("sum(z**i, (i, 0, k)) <= sum(i, (i, 5, k))", RANGES, "z > 1; k >= 4")
    found = without_sums(claim)
    assert not has_sum(found.left)
    assert not has_sum(found.right)
    assert without_sums(claim_of("z <= k", RANGES)) == claim_of("z <= k", RANGES)
    (one, two) = (without_sums(claim_of(t, RANGES)) for t in ("sum(1, (i, 1, k)) <= z", "z <= sum(1, (i, 1, k))"))
    assert [shown(one), shown(two)] == [plain("(k - 1 + 1)*1 <= z"), plain("z <= (k - 1 + 1)*1")]
    assert has_sum(without_sums(claim_of("sum(1, (i, 5, k)) <= sum(1, (i, 1, k))", RANGES)).left)


def test_what_the_solver_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []
    answers: dict[str, Any] = {}

    def by_smt(claim: ScalarClaim, milliseconds: int) -> Decision:
        asked.append((shown(claim), milliseconds))
        return Decision(answers.get(shown(claim), "undecided"), "smt")

    monkeypatch.setattr(sums, "by_smt", by_smt)

    def done(text: str, **told: Any) -> bool:
        asked.clear()
        answers.clear()
        answers.update(told)
        return not has_sum(closed(parse(text), claim_of("z <= 1", RANGES, "z <= 1")))

    counts = {"j <= k + 1; z <= 1": "proved"}
    assert not done("sum(i, (i, j, k))")
    assert asked == [("j <= k + 1; z <= 1", 1000)]
    assert done("sum(i, (i, j, k))", **counts)
    assert not done("sum(i, (i, j, k))", **{"j <= k + 1; z <= 1": "vacuous"})
    below, above, small, large = "z < 0; z <= 1", "0 < z; z <= 1", "z < 1; z <= 1", "1 < z; z <= 1"
    assert not done("sum(z**i, (i, j, k))", **counts)
    assert asked[1:] == [(below, 1000), (above, 1000), (small, 1000)]
    natural = "0 <= j; z <= 1"
    assert done("sum(z**i, (i, j, k))", **counts, **{small: "proved", natural: "proved"})  # 0**0 is 1 in both
    assert asked[1:] == [(below, 1000), (above, 1000), (small, 1000), (natural, 1000)]
    assert not done("sum(z**i, (i, j, k))", **counts, **{natural: "proved"})
    assert done("sum(z**i, (i, j, k))", **counts, **{below: "proved"})
    assert not done("sum(z**i, (i, j, k))", **counts, **{above: "proved"})
    assert asked[1:] == [(below, 1000), (above, 1000), (small, 1000), (large, 1000)]
    assert done("sum(z**i, (i, j, k))", **counts, **{above: "proved", small: "proved"})
    assert done("sum(z**i, (i, j, k))", **counts, **{above: "proved", large: "proved"})
    assert not done("sum(z**i, (i, j, k))", **counts, **{small: "proved", large: "proved"})
    assert not done("sum(z**i, (i, j, k))", **counts, **{above: "vacuous", large: "vacuous"})
    assert not done("sum(z**i, (i, j, k))", **{below: "proved"})


# --- induction

START = [("integers 0..", 0), ("integers 2..", 2), ("integers 1/2..", 1), ("integers -3/2..", -1),
("integers 7/3..", 3),
         ("integers ..", None), ("integers 1..5", None), ("integers c..", None), ("[1, oo)", None),
         ("integers ..4", None),
         ("integers pi..", None)]  # fmt: skip


@pytest.mark.parametrize(("domain", "first"), START)
def test_the_first_value_of_an_integer(domain: str, first: int | None) -> None:
    claim = claim_of("sum(i, (i, 0, k)) <= 3*k", f"k = {domain}; c = (0, 1)")
    assert _first("k", claim) == first
    assert [letter for letter, _, _ in _steps(claim)] == ([] if first is None or first < -1 else ["k"])
    assert _first("stranger", claim) is None


ADDS = [
    ("sum(i, (i, 1, k)) <= k**2", ["k + 1 <= (k + 1)**2 - k**2"]),
    ("k**2 >= sum(i, (i, 1, k))", ["(k + 1)**2 - k**2 >= k + 1"]),
    ("sum(i, (i, 1, k)) < k**2 + 1", ["k + 1 <= ((k + 1)**2 + 1) - (k**2 + 1)"]),
    ("k**2 + 1 > sum(i, (i, 1, k))", ["((k + 1)**2 + 1) - (k**2 + 1) >= k + 1"]),
    ("sum(i, (i, 1, k)) == k*(k + 1)/2", ["k + 1 == (k + 1)*((k + 1) + 1)/2 - k*(k + 1)/2"]),
    ("2*sum(sqrt(i), (i, 1, k)) + 1 <= k**2 - sum(i, (i, 0, k - 1))",
     ["2*sqrt(k + 1) + 0 <= ((k + 1)**2 - k**2) - ((k - 1) + 1)"]),
    ("-sum(i, (i, 1, k)) <= 0", ["-(k + 1) <= 0"]),
    ("sum(i, (i, 2, k)) <= 3", ["k + 1 <= 0"]),
    ("sum(i, (i, 1, k))/z <= 1", ["1/z*(k + 1) <= 0"]),
    ("z*sum(i, (i, 1, k + 2)) <= 1", ["z*((k + 2) + 1) <= 0"]),
    ("sum(i + l, (i, 1, k)) <= l", ["(k + 1) + l <= 0"]),
    ("sum(z**i, (i, 1, k)) <= z**k", ["z**(k + 1) <= z**(k + 1) - z**k"]),
    ("sum(i, (i, 1, k)) <= sum(i, (i, 1, l))", ["0 <= l + 1"]),
]  # fmt: skip
MULTIPLIES = [
    ("prod(1 - a, (i, 1, k)) <= 1/k", ["1/k*(1 - a) <= 1/(k + 1)", "0 <= 1 - a"]),
    ("prod(i, (i, 1, k)) > k", ["k*(k + 1) >= k + 1", "0 < k + 1"]),
    ("k < prod(i, (i, 1, k))", ["k + 1 <= k*(k + 1)", "0 < k + 1"]),
    ("prod(i, (i, 1, k)) == k", ["k*(k + 1) == k + 1", "0 <= k + 1"]),
    ("2**k >= k + 1", ["(k + 1)*2 >= (k + 1) + 1", "0 <= 2"]),
    ("3*a**(k + 2)*b < k", ["k*a <= k + 1", "0 < a"]),
    ("z*prod(a + i, (i, 1, k))/b <= 1", ["1*(a + (k + 1)) <= 1", "0 <= a + (k + 1)"]),
]  # fmt: skip
NO_STEP = [
    "2**k*prod(i, (i, 1, k)) <= z", "sum(i, (i, 1, k))*k <= 3", "sum(i, (i, 1, 2*k)) <= 3", "sum(i, (i, k, 3)) <= 3",
    "sum(i*k, (i, 1, k)) <= 3", "sum(i, (i, 3, k)) <= 3", "sum(i, (i, z, k)) <= 3", "sum(i, (i, 1/2, k)) <= 3",
    "1/sum(i, (i, 1, k)) <= 1", "sum(i, (i, 1, k + 1/2)) <= 3", "sum(i, (i, 1, k))*sum(i, (i, 1, k)) <= 3", "k**k <= 3",
    "prod(i, (i, 1, k)) <= sum(i, (i, 1, k))", "sum(sum(i, (i, 1, p)), (p, 1, k)) <= 3", "a**(2*k) <= 3", "k*a**k <= 3",
    "sum(i, (i, 1, k))**2 <= 3 + sum(i, (i, 1, k))", "a**n <= 3", "a**m <= 3", "z <= 3", "k <= k**2",
    "sum(i, (i, 1, -k)) <= 3",
    "sum(i, (i, 1, k + l)) <= 3", "sum(i, (i, l, k)) <= 3", "sum(i, (i, 1, z)) <= 3", "sum(i, (i, 1, k*k)) <= z",
    "2 - prod(i, (i, 1, k)) <= 3", "2 - sum(i, (i, 1, k))*k <= 3", "a**(k*k) <= 3", "a**(k/2) <= 3",
    "exp(sum(i, (i, 1, k))) <= 3",
]  # fmt: skip
INTEGERS = "k = integers 1..; l = integers 1..; z = (-oo, oo); m = integers ..; n = [0, oo)"


@pytest.mark.parametrize(("text", "parts"), ADDS + MULTIPLIES)
def test_steps_of_an_induction(text: str, parts: list[str]) -> None:
    ((letter, found, how),) = [step for step in _steps(claim_of(text, INTEGERS)) if step[0] == "k" or "1, l" in text][
        -1:
    ]
    assert letter == ("l" if "1, l" in text else "k")
    assert [shown(part) for part in found] == parts
    assert how == ("adds" if (text, parts) in ADDS else "multiplies by")


@pytest.mark.parametrize("text", NO_STEP)
def test_where_no_step_is_plain(text: str) -> None:
    assert list(_steps(claim_of(text, INTEGERS))) == []


def test_both_sides_and_all_letters_are_tried() -> None:
    text = "sum(i, (i, 1, k)) + sum(i, (i, 1, l)) <= 3*k*l"
    found = [(letter, [shown(p) for p in parts]) for letter, parts, _ in _steps(claim_of(text, INTEGERS))]
    assert found == [("k", ["(k + 1) + 0 <= 3*(k + 1)*l - 3*k*l"]), ("l", ["0 + (l + 1) <= 3*k*(l + 1) - 3*k*l"])]
    found = [(letter, [shown(p) for p in parts]) for letter, parts, _ in _steps(claim_of("2**k <= 3**k", INTEGERS))]
    assert found == [
        ("k", [plain("3**k*2 <= 3**(k + 1)"), plain("0 <= 2")]),
        ("k", [plain("2**(k + 1) <= 2**k*3"), plain("0 <= 3")]),
    ]


def test_steps_are_true_of_true_statements() -> None:
    """Where a relation holds at k and at the step, it holds at k + 1: by brute force, for false relations too."""
    tests = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
             "==": lambda a, b: a == b}  # fmt: skip

    def holds(claim: ScalarClaim, point: dict[str, Fraction]) -> bool:
        return bool(tests[claim.op](value_at(claim.left, point), value_at(claim.right, point)))

    met = 0
    for text, _ in ADDS[:5] + ADDS[6:12] + MULTIPLIES:
        claim = claim_of(text, INTEGERS)
        for letter, parts, _ in _steps(claim):
            for k, a, z in product(range(1, 5), ("1/2", "2", "3"), ("-2", "1/3", "2")):
                point = {"k": Fraction(k), "l": Fraction(2), "a": Fraction(a), "z": Fraction(z), "b": Fraction(1)}
                if holds(claim, point) and all(holds(part, point) for part in parts):
                    met += 1
                    assert holds(claim, {**point, letter: point[letter] + 1}), (text, point)
    assert met > 100


@pytest.mark.parametrize(
    ("text", "domains", "where", "asked", "said"),
    [
        ("sum(i, (i, 1, k)) <= k**2", "k = integers 2..", "", ["1 + 2 <= 2**2", "k + 1 <= (k + 1)**2 - k**2"],
         "true at k = 2, and each step adds no more than it may"),
        ("2**k >= k", "k = integers 0..", "", ["2**0 >= 0", "k*2 >= k + 1", "0 <= 2"],
         "true at k = 0, and each step multiplies by no more than it may"),
        ("sum(i, (i, 1, k)) <= k**2*z", "k = integers 0..; z = [1, 2]", "z <= 3", ["0 <= 0**2*z; z <= 3",
         "k + 1 <= (k + 1)**2*z - k**2*z; z <= 3"], "true at k = 0, and each step adds no more than it may"),
    ],
)  # fmt: skip
def test_induction(text: str, domains: str, where: str, asked: list[str], said: str) -> None:
    decide = Recorder()
    found = by_induction(claim_of(text, domains, where), decide)
    assert decide.texts == ["; ".join(plain(p) for p in one.split("; ")) for one in asked]
    assert (found.outcome, found.engine, found.certificate) == ("proved", "induction", said)
    assert "k" not in decide.asked[0].domains


@pytest.mark.parametrize(
    ("outcome", "part", "said"),
    [("vacuous", 0, "proved"), ("vacuous", 1, "proved"), ("vacuous", 2, "proved"), ("undecided", 0, "undecided"),
     ("undecided", 1, "undecided"), ("undecided", 2, "undecided"), ("refuted", 0, "undecided"),
     ("refuted", 1, "undecided"),
     ("refuted", 2, "undecided")],
)  # fmt: skip
def test_every_part_of_an_induction_counts(outcome: Any, part: int, said: str) -> None:
    parts = [plain(p) for p in ("2**0 >= 0", "k*2 >= k + 1", "0 <= 2")]
    found = by_induction(claim_of("2**k >= k", "k = integers 0.."), Recorder("proved", {parts[part]: outcome}))
    assert (found.outcome, found.engine) == (said, "induction")
    assert not found.point
    if said != "proved":
        assert found.certificate == "a part is undecided: as told"


@pytest.mark.parametrize(
    ("text", "domains", "where"),
    [
        ("sum(i, (i, 1, k)) <= k**2", "k = integers 2..", "k <= 3"),
        ("sum(i, (i, 1, k)) <= k**2*a", "k = integers 2..; a = [1/k, 2]", ""),
        ("sum(i, (i, 1, m)) <= m**2", "m = integers ..", ""),
        ("a <= b", "", ""),
    ],
)
def test_tied_letters_are_no_letters_of_induction(text: str, domains: str, where: str) -> None:
    decide = Recorder()
    found = by_induction(claim_of(text, domains, where), decide)
    assert (found.outcome, decide.asked) == ("undecided", [])
    assert found.certificate == "", "what does not apply has nothing to say"


def test_another_letter_is_tried_where_one_is_tied() -> None:
    decide = Recorder()
    text = "sum(i, (i, 1, k)) + sum(i, (i, 1, l)) <= 9*k*l"
    assert by_induction(claim_of(text, INTEGERS, "k <= 4"), decide).outcome == "proved"
    assert all("k" in claim.domains for claim in decide.asked)
    refusing = Recorder("proved", {"(k + 1) + 0 <= 9*(k + 1)*l - 9*k*l": "undecided"})
    found = by_induction(claim_of(text, INTEGERS), refusing)
    assert found.outcome == "proved"
    assert "true at l = 1" in found.certificate
    assert ranges("k = integers 1..")["k"].kind == "integers"


@pytest.mark.parametrize(("low", "counts"), [("0", True), ("1", True), ("-5", False), ("-2", False), ("-1", False)])
def test_an_inner_sum_is_closed_only_if_it_counts_from_the_lowest_outer_index_on(low: str, counts: bool) -> None:
    """``sum(1, (p, 1, i))`` is 0 for i < 0, where its closed form i is negative."""
    claim = claim_of("k <= 1", RANGES)
    found = closed(parse(f"sum(sum(1, (p, 1, i)), (i, {low}, k))"), claim)
    assert has_sum(found) is not counts
    for k in range(4):
        wanted = sum(max(0, i) for i in range(int(low), k + 1))
        assert value_at(found, {"k": Fraction(k)}) == wanted


@pytest.mark.parametrize(
    "text", ["sum(2**(i - i), (i, 0, k))", "sum(2**(i - i + 3), (i, 0, k))", "sum(2**(0*i), (i, 0, k))"]
)
def test_an_exponent_in_which_the_index_cancels_is_no_geometric_sum(text: str) -> None:
    claim = claim_of("k <= 1", RANGES)
    found = closed(parse(text), claim)
    for k in range(4):
        wanted = (8 if "3" in text else 1) * (k + 1)
        assert value_at(found, {"k": Fraction(k)}) == wanted
