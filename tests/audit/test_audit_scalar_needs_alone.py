"""What a formula needs so that it is defined, one part a line; what is said where it is not shown."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import pytest
from audit_pieces import Recorder, claim_of, ranges, shown

from bilevel_verify.audit.entries import definedness, links
from bilevel_verify.audit.limits import Ended
from bilevel_verify.audit.scalar import needs as needed
from bilevel_verify.audit.scalar import prove, smt
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.needs import Need, defined_everywhere, needs, needs_of
from bilevel_verify.audit.scalar.needs import claim_of as as_claim
from bilevel_verify.language import parse, to_text, tree

pytestmark = pytest.mark.fast

RANGES = "x = (-oo, oo); n = integers ..; k = integers 0..; p = [0, 2]; q = [-1, 1]; v = (-oo, oo)"


def told(need: Need) -> str:
    where = "".join(f" where {to_text(w)}" for w in need.where)
    over = "".join(f" for {i} in {to_text(a)}..{to_text(b)}" for i, a, b in need.ranges)
    return f"{need.what}: {to_text(need.left)} {need.op} {to_text(need.right)}{where}{over}"


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("x + n*x - 3", []),
        ("1/x", ["a division by: abs(x) > 0"]),
        ("x % n", ["a remainder modulo: abs(n) > 0"]),
        ("sqrt(x)", ["the square root of: x >= 0"]),
        ("log(x)", ["the logarithm of: x > 0"]),
        ("exp(x)", []),
        ("tan(x)", ["a tangent where it has a pole, the cosine being: abs(cos(x)) > 0"]),
        # powers with a number as exponent
        ("x**0.5", ["a root of: x >= 0"]),
        ("x**1.5", ["a root of: x >= 0"]),
        ("x**(-0.5)", ["a negative power of: x > 0"]),
        ("x**(-1.5)", ["a negative power of: x > 0"]),
        ("x**(-2)", ["a negative power of: abs(x) > 0"]),
        ("x**(-1)", ["a negative power of: abs(x) > 0"]),
        ("x**2", []),
        ("x**1", []),
        ("x**0", []),
        ("x**(n - n)", []),
        # with letters: integers or reals, of either sign
        ("x**k", []),
        ("x**n", ["a negative power of: abs(x) > 0 where n < 0"]),
        ("x**p", ["a real power of: x >= 0 where floor(p) < p"]),
        ("x**(p + 1)", ["a real power of: x >= 0 where floor(p + 1) < p + 1"]),
        ("x**q", ["a real power of: x >= 0 where floor(q) < q", "a negative power of: abs(x) > 0 where q < 0"]),
        ("x**pi", ["a real power of: x >= 0 where floor(pi) < pi"]),
        ("(1/x)**k", ["a division by: abs(x) > 0"]),
        # integers
        ("binomial(k, n)", ["a binomial of: k >= 0", "a binomial of: n >= 0"]),
        ("binomial(x, k)", ["a binomial of: x >= 0", "a binomial of what is no integer,: floor(x) >= x",
                            "a binomial of: k >= 0"]),
        ("factorial(k)", ["a factorial of: k >= 0"]),
        ("factorial(x)", ["a factorial of: x >= 0", "a factorial of what is no integer,: floor(x) >= x"]),
        # branches
        ("(1/x if x > 0 else log(n))", ["a division by: abs(x) > 0 where x > 0",
                                        "the logarithm of: n > 0 where not x > 0"]),
        ("(1 if log(x) > 0 else 2)", ["the logarithm of: x > 0"]),
        ("((sqrt(x) if n > 1 else 1) if x > 2 else 3)", ["the square root of: x >= 0 where x > 2 where n > 1"]),
        ("(x**q if x > 2 else 3)", ["a real power of: x >= 0 where x > 2 where floor(q) < q",
                                    "a negative power of: abs(x) > 0 where x > 2 where q < 0"]),
        # ranges
        ("sum(1/i, (i, k, n))", ["a division by: abs(i) > 0 for i in k..n"]),
        ("sum(x**i, (i, k, n))", []),
        ("sum(x**i, (i, n, k))", ["a negative power of: abs(x) > 0 where i < 0 for i in n..k"]),
        ("sum(x**i, (i, 0, 3))", []),
        ("sum(x**(3 - i), (i, 0, 3))", []),
        ("sum(x**(2 - i), (i, 0, 3))", ["a negative power of: abs(x) > 0 where 2 - i < 0 for i in 0..3"]),
        ("sum(i, (i, 1/x, sqrt(n)))", ["a division by: abs(x) > 0", "the square root of: n >= 0"]),
        ("prod(i, (i, x, n))", []),
        ("max(i, (i, n, k))", ["the max over an empty range, its length less 1 being: k - n >= 0"]),
        ("min(i, (i, x, k))", ["the min over an empty range, its length less 1 being: k - ceil(x) >= 0"]),
        ("argmin(i, (i, n, x))", ["the argmin over an empty range, its length less 1 being: floor(x) - n >= 0"]),
        ("sum(sum(1/(i - j), (j, 1, i)), (i, 1, k))", ["a division by: abs(i - j) > 0 for i in 1..k for j in 1..i"]),
        ("(sum(1/i, (i, n, k)) if n > 1 else 0)", ["a division by: abs(i) > 0 where n > 1 for i in n..k"]),
        # everywhere inside
        ("abs(1/x) + exp(-log(x))*2", ["a division by: abs(x) > 0", "the logarithm of: x > 0"]),
        ("1/(1/x)", ["a division by: abs(1/x) > 0", "a division by: abs(x) > 0"]),
        ("x <= 1/x", ["a division by: abs(x) > 0"]),
    ],
)  # fmt: skip
def test_needs(text: str, needed: list[str]) -> None:
    assert [told(need) for need in needs(parse(text), ranges(RANGES))] == needed


def test_every_part_before_a_range_belongs_to_it() -> None:
    call = tree.Call("sum", (parse("1"), parse("1/i"), tree.Tuple((parse("i"), parse("n"), parse("k")))))
    assert [told(need) for need in needs(call, ranges(RANGES))] == ["a division by: abs(i) > 0 for i in n..k"]


@pytest.mark.parametrize(
    ("text", "where", "claims"),
    [
        ("1/x <= n", "x <= 3", ["abs(x) > 0; x <= 3"]),
        ("n <= 1/x", "", ["abs(x) > 0"]),
        ("1/x <= 1/x", "", ["abs(x) > 0"]),
        ("1/x <= 1/n", "", ["abs(x) > 0", "abs(n) > 0"]),
        ("1/a <= sqrt(a)", "", []),
        ("1/k <= sqrt(k)", "", ["abs(k) > 0"]),
        ("log(k) <= sqrt(k - 1)", "", ["k > 0", "k - 1 >= 0"]),
        ("factorial(x*x) <= 1", "", ["x*x >= 0", "floor(x*x) >= x*x"]),
        ("factorial(abs(x)) <= 1", "", ["floor(abs(x)) >= abs(x)"]),
        ("(1/x if x > 1 else 0) <= n", "x <= 3", ["abs(x) > 0; x <= 3; x > 1"]),
    ],
)
def test_needs_as_claims(text: str, where: str, claims: list[str]) -> None:
    found = needs_of(claim_of(text, RANGES, where))
    assert [shown(part) for _, part in found] == claims
    assert all(told(need) for need, _ in found)


def test_an_integer_is_needed_whatever_its_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needed, "nonnegative", lambda *_: True)
    found = needs_of(claim_of("factorial(x) <= 1", RANGES))
    assert [shown(part) for _, part in found] == ["floor(x) >= x"]


def test_indices_become_letters_of_the_claim() -> None:
    text = "sum((1/(i - j - x) if j > i else 0), (j, 1, i)) <= x"
    outer = claim_of(
        f"sum({text[:-5]}, (i, n, k)) <= x", f"{RANGES}; i = [0, 1]; j_ = integers 7..; j = (0, 1)", "i <= 1"
    )
    ((need, part),) = needs_of(outer)
    assert shown(part) == "abs(i_ - j__ - x) > 0; i <= 1; j__ > i_"
    new = {name: domain for name, domain in part.domains.items() if name not in outer.domains}
    assert {n: (d.kind, str(d.lower and to_text(d.lower.tree)), str(d.upper and to_text(d.upper.tree)))
            for n, d in new.items()} == {"i_": ("integers", "n", "k"), "j__": ("integers", "1", "i_")}  # fmt: skip
    assert {n: part.domains[n] for n in outer.domains} == dict(outer.domains)
    same = as_claim(replace(need, ranges=()), outer)
    assert shown(same) == "abs(i - j - x) > 0; i <= 1; j > i"


def test_an_index_keeps_its_name_where_it_is_free() -> None:
    ((_, part),) = needs_of(claim_of("sum(1/i, (i, n, k)) <= x", RANGES))
    assert shown(part) == "abs(i) > 0"
    assert part.domains["i"].kind == "integers"


@pytest.mark.parametrize(
    ("outcomes", "answer"),
    [
        ({}, True),
        ({"abs(x) > 0": "vacuous"}, True),
        ({"abs(x) > 0": "undecided"}, False),
        ({"n >= 0": "undecided"}, False),
        ({"abs(x) > 0": "refuted", "n >= 0": "refuted"}, False),
    ],
)
def test_defined_everywhere_is_every_part(outcomes: Any, answer: bool) -> None:
    decide = Recorder("proved", outcomes)
    assert defined_everywhere(claim_of("1/x <= sqrt(n)", RANGES), decide) is answer
    assert defined_everywhere(claim_of("x <= n", RANGES), Recorder("undecided"))


# --- what is said of a relation


class Told:
    """The engines as told: for the solver and for all of them, by what is asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, quick: str = "", **slow: str) -> None:
        self.quick: list[tuple[str, int]] = []
        self.slow: list[tuple[str, int, float]] = []

        def by_smt(claim: ScalarClaim, milliseconds: int) -> Decision:
            self.quick.append((shown(claim), milliseconds))
            return Decision("proved" if quick and quick in shown(claim) else "undecided", "smt")

        def decide_here(claim: ScalarClaim, *, seed: int, effort: float) -> Decision:
            self.slow.append((shown(claim), seed, effort))
            outcome: Any = next((o for name, o in slow.items() if name in shown(claim)), "proved")
            point = {"n": Fraction(-1), "x": Fraction(2)} if outcome == "refuted" else {}
            return Decision(outcome, "some", "because", point)

        monkeypatch.setattr(smt, "prove", by_smt)
        monkeypatch.setattr(prove, "decide_here", decide_here)


CLAIM = "1/x <= sqrt(n) + log(p)"


def test_every_part_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    engines = Told(monkeypatch, quick="n >= 0")
    found, part = definedness.undefined_here(claim_of(CLAIM, RANGES), 5, ())
    assert (found.outcome, found.engine, part) == ("proved", "definedness", None)
    assert found.certificate == "defined on the whole range (3 parts looked at)"
    assert engines.quick == [("abs(x) > 0", 300), ("n >= 0", 300), ("p > 0", 300)]
    assert engines.slow == [("abs(x) > 0", 5, 3.0), ("p > 0", 5, 3.0)]


def test_hypotheses_are_solved_first(monkeypatch: pytest.MonkeyPatch) -> None:
    engines = Told(monkeypatch)
    definedness.undefined_here(claim_of("1/x <= y", RANGES, "x == n + 1"), 0, ())
    assert [text for text, _ in engines.quick] == ["abs(n + 1) > 0"]


@pytest.mark.parametrize(
    ("slow", "outcome", "certificate"),
    [
        ({"x": "undecided"}, "undecided", "not shown: a division by x is defined"),
        ({"n": "undecided"}, "undecided", "not shown: the square root of n is defined"),
        ({"n": "undecided", "p": "undecided"}, "undecided", "not shown: the square root of n is defined"),
        ({"x": "vacuous"}, "proved", "defined on the whole range (3 parts looked at)"),
        ({"n": "refuted"}, "refuted", "undefined at n = -1, x = 2: the square root of n"),
        ({"x": "undecided", "p": "refuted"}, "refuted", "undefined at n = -1, x = 2: the logarithm of p"),
        ({"x": "refuted", "p": "undecided"}, "refuted", "undefined at n = -1, x = 2: a division by x"),
    ],
)
def test_one_part_that_is_not_defined(
    slow: dict[str, str], outcome: str, certificate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Told(monkeypatch, **slow)
    found, part = definedness.undefined_here(claim_of(CLAIM, RANGES), 0, ())
    assert (found.outcome, found.certificate, found.engine) == (outcome, certificate, "definedness")
    assert (part is not None) is (outcome == "refuted")
    assert bool(found.point) is (outcome == "refuted")
    if part is not None:
        assert certificate.endswith(shown(part).partition(" ")[0].removeprefix("abs(").rstrip(")"))


def test_a_number_that_is_not_defined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smt, "prove", lambda *_: Decision("undecided", "smt"))
    monkeypatch.setattr(prove, "decide_here", lambda *_, **__: Decision("refuted", "number"))
    found, _ = definedness.undefined_here(claim_of("1/(2 - 2) <= n", RANGES), 0, ())
    assert found.certificate == "undefined: a division by 2 - 2"


def test_what_must_hold_for_all_vectors_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    engines = Told(monkeypatch)
    found, part = definedness.undefined_here(claim_of("1/abs(v) + 1/x <= log(v + p)", RANGES), 0, ("v", "w"))
    assert (found.outcome, part) == ("undecided", None)
    assert found.certificate == "not shown: a division by abs(v) is defined"
    assert [text for text, _ in engines.quick] == ["abs(x) > 0"]
    assert definedness.undefined_here(claim_of("1/x <= v", RANGES), 0, ("v",))[0].outcome == "proved"


def asked_of(monkeypatch: pytest.MonkeyPatch, answer: Any) -> list[Any]:
    asked: list[Any] = []

    def bounded(*arguments: Any, **options: Any) -> Any:
        asked.append((arguments, options))
        return answer

    monkeypatch.setattr(definedness, "bounded", bounded)
    return asked


def test_the_search_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    claim, answer = claim_of(CLAIM, RANGES), (Decision("proved", "definedness"), None)
    asked = asked_of(monkeypatch, answer)
    assert definedness.undefined(claim) == answer
    assert definedness.undefined(claim, 3, ("v",), seconds=2.0) == answer
    assert asked == [((definedness.HERE, claim, 0, (), 3.0), {"seconds": 60.0}),
                     ((definedness.HERE, claim, 3, ("v",), 3.0), {"seconds": 2.0})]  # fmt: skip
    asked_of(monkeypatch, Ended("60 seconds were over"))
    found, part = definedness.undefined(claim)
    assert (found.outcome, found.engine, part) == ("undecided", "definedness", None)
    assert found.certificate == "not shown that both sides are defined: 60 seconds were over"


def test_the_script_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = claim_of(CLAIM, RANGES)
    asked = asked_of(monkeypatch, "import math")
    assert definedness.script_of(claim, claim, {"n": Fraction(1)}) == "import math"
    assert asked == [((definedness.SCRIPT, claim, claim, {"n": Fraction(1)}), {"seconds": 60.0})]
    asked_of(monkeypatch, Ended("over"))
    assert definedness.script_of(claim, claim, {}) is None


PROOF = Decision("proved", "smt", "unsat", attacks=7)


@pytest.mark.parametrize(
    ("proof", "defined", "expected"),
    [
        (PROOF, Decision("proved", "d"), PROOF),
        (PROOF, Decision("vacuous", "d"), PROOF),
        (replace(PROOF, outcome="refuted"), Decision("refuted", "d", "x"), replace(PROOF, outcome="refuted")),
        (replace(PROOF, outcome="undecided"), Decision("undecided", "d"), replace(PROOF, outcome="undecided")),
        (replace(PROOF, outcome="vacuous"), Decision("undecided", "d"), replace(PROOF, outcome="vacuous")),
        (PROOF, Decision("refuted", "d", "undefined at a = 0: a division by a"),
         Decision("undecided", "undefined at a = 0; holds where defined", "smt: unsat")),
        (PROOF, Decision("undecided", "d", "not shown: a: b"),
         Decision("undecided", "not shown: a: b; holds where defined", "smt: unsat")),
        (replace(PROOF, certificate=""), Decision("undecided", "d", "not shown"),
         Decision("undecided", "not shown; holds where defined", "smt")),
    ],
)  # fmt: skip
def test_a_relation_holds_only_where_it_is_defined(proof: Decision, defined: Decision, expected: Decision) -> None:
    assert definedness.where_defined(proof, defined) == expected


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("1/x <= 1", "refuted"),
        ("1/(x*x + 1) <= 1", "proved"),
        ("sqrt(p) <= 2", "proved"),
        ("log(p) <= 2", "refuted"),
        ("x**k <= x**k + 1", "proved"),
        ("x**p <= x**p + 1", "refuted"),
    ],
)
def test_with_the_engines(text: str, outcome: str) -> None:
    found, part = definedness.undefined_here(claim_of(text, RANGES), 0, ())
    assert found.outcome == outcome
    assert (part is None) is (outcome == "proved")


@pytest.mark.parametrize(("budget", "effort", "seconds"), [(20.0, 3.0, 60.0), (2.0, 3.0, 60.0), (0.05, 0.075, 1.5)])
def test_a_small_budget_binds_the_search_for_undefined_points(
    budget: float, effort: float, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asked_of(monkeypatch, (Decision("proved", "definedness"), None))
    links._definedness(cast(Any, SimpleNamespace(seed=0, budget=budget)), claim_of("1/x <= y", RANGES), ())
    [(arguments, options)] = asked
    assert (arguments[-1], options["seconds"]) == pytest.approx((effort, seconds))


@pytest.mark.parametrize(
    ("text", "letters", "outcome"),
    [
        ("sum(1/x, (i, 1, n)) >= 0", "x = [0, 1]; n = integers 0..0", "proved"),
        ("sum(1/x, (i, 1, n)) >= 0", "x = [0, 1]; n = integers 0..1", "refuted"),
        ("sum(i/n, (i, 1, n)) <= n", "n = integers 0..", "proved"),  # no terms where n is 0
        ("sum(i/n, (i, 0, n)) <= n", "n = integers 0..", "refuted"),
        ("prod(log(x), (i, 2, 1)) >= 0", "x = [0, 1]", "proved"),
        ("sum(1/x, (i, 1, t)) >= 0", "x = [0, 1]; t = [0, 9/10]", "proved"),
        ("sum(1/x, (i, 1, t)) >= 0", "x = [0, 1]; t = [0, 3/2]", "refuted"),
        ("sum(sum(1/x, (j, i + 1, i)), (i, 1, n)) >= 0", "x = [0, 1]; n = integers 0..3", "proved"),
        ("sum(sum(1/x, (j, 1, i)), (i, 1, n)) >= 0", "x = [0, 1]; n = integers 0..3", "refuted"),
        ("sum(sum(1/x, (j, 1, i)), (i, 1, n)) >= 0", "x = [0, 1]; n = integers 0..0", "proved"),
    ],
)
def test_an_empty_sum_needs_nothing_of_its_terms(text: str, letters: str, outcome: str) -> None:
    found, _ = definedness.undefined_here(claim_of(text, letters), 0, (), 1.0)
    assert found.outcome == outcome, found.certificate
