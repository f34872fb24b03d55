"""Every proving engine alone, no attack before it, on false claims made for its side conditions: it proves none.

Parts of a proof are decided by an oracle that calls everything proved which is not plainly false at one of many
points, so that an engine that forgets one of its own conditions is not saved by the engines below it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from bilevel_verify.audit.formula import read_ranges
from bilevel_verify.audit.scalar.algebra import by_identity, by_number, by_roots
from bilevel_verify.audit.scalar.attack import attack
from bilevel_verify.audit.scalar.calculus import by_boxes, by_calculus, by_derivative
from bilevel_verify.audit.scalar.cases import by_head_and_tail, by_residues, by_zero_apart
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim, prepared
from bilevel_verify.audit.scalar.exponents import by_exponents
from bilevel_verify.audit.scalar.logs import by_logarithms
from bilevel_verify.audit.scalar.monomials import by_monomials
from bilevel_verify.audit.scalar.moving import by_halves, by_scale
from bilevel_verify.audit.scalar.prove import DEPTH, QUICK, engines, settle
from bilevel_verify.audit.scalar.raising import by_raising
from bilevel_verify.audit.scalar.rolle import by_rolle
from bilevel_verify.audit.scalar.signs import by_cancelling, by_signs, impossible
from bilevel_verify.audit.scalar.smt import contradictory
from bilevel_verify.audit.scalar.smt import prove as by_smt
from bilevel_verify.audit.scalar.sums import by_induction, without_sums
from bilevel_verify.audit.scalar.work import counting
from bilevel_verify.language import parse, tree
from bilevel_verify.theorems.rewrite import free_letters
from bilevel_verify.theorems.vocabulary import NUMBERS

pytestmark = pytest.mark.fast
Engine = Callable[[ScalarClaim], Decision]

FALSE = [
    # strict and not, equality at an end, open and closed ends
    ("x*y < x*(y + 1)", "x = [0, oo)", ""),
    ("a > b", "a = (-oo, oo); b = (-oo, oo)", "a >= b"),
    ("a < b", "a = (-oo, oo); b = (-oo, oo)", "a <= b"),
    ("x < 1", "x = [0, 1]", ""),
    ("x > 0", "x = [0, 1]", ""),
    ("x**2 > 0", "x = [-1, 1]", ""),
    ("0 < x*y", "x = [0, 1]; y = (0, 1]", ""),
    ("x + 1 < 1 + x", "x = [0, 1]", ""),
    ("x**2 - 2*x + 1 > 0", "x = [0, 3]", ""),
    ("x < x", "x = (0, oo)", ""),
    ("1 < exp(x)", "x = [0, 1]", ""),
    ("x**3 - x >= 0", "x = [-1, 1]", ""),
    ("sqrt(x) > 0", "x = [0, 4]", ""),
    ("x <= 1/2", "x = [0, 1]", "x <= 1"),
    ("log(x) < x - 1", "x = (0, oo)", ""),
    ("a*c < b*c", "a = [0, 1]; b = [0, 2]; c = [0, 1]", "a < b"),
    ("a*c <= b*c", "a = [0, 1]; b = [0, 2]; c = [-1, 1]", "a <= b"),
    ("(x*y)**2 > 0", "x = [0, 1]; y = (0, 1)", ""),
    ("exp(x) > 1 + x", "x = [-1, 1]", ""),
    ("a + c < b + c", "a = [0, 1]; b = [0, 1]; c = [0, 1]", "a <= b"),
    # hypotheses that are possible, and ranges that are not empty
    ("a <= x + a - 1", "x = [0, oo); a = (0, oo)", "0 >= x"),
    ("x <= 0", "x = [0, 1]", "x >= 1"),
    ("k <= 0", "k = integers 1/2..1", ""),
    ("x >= 1", "x = [0, 1]", "x*x <= x"),
    ("a <= 0", "a = [0, 1]", "a**2 == a"),
    # integers are not all reals, reals are not all integers
    ("x*(x - 1) >= 0", "x = [0, 1]", ""),
    ("floor(x) == x", "x = [0, 3]", ""),
    ("2*floor(k/2) == k", "k = integers 0..", ""),
    ("floor(k/2) >= k/2", "k = integers 0..", ""),
    ("k % 3 <= 1", "k = integers 0..", ""),
    ("k*(k - 1)*(k - 2) < 6", "k = integers 0..3", ""),
    ("ceil(k/3) <= k/3 + 1/3", "k = integers 0..", ""),
    # sums and products: empty, ends that are no integers, first terms
    ("sum(i, (i, 5, k)) == k*(k + 1)/2 - 10", "k = integers 0..", ""),
    ("sum(i, (i, 5, k)) < 0", "k = integers 0..", ""),
    ("sum(i, (i, 1, k)) == k*(k + 1)/2", "k = integers -5..", ""),
    ("sum(1, (i, 1, x)) == x", "x = [1, 5]", ""),
    ("sum(i, (i, 1, k)) <= k*(k + 1)/2 - 1", "k = integers 0..", ""),
    ("prod(i, (i, 1, k)) >= 2", "k = integers 0..", ""),
    ("sum(1/2**i, (i, 0, k)) < 2 - 2/2**k", "k = integers 0..", ""),
    ("sum(r**i, (i, 0, k)) <= 1/(1 - r)", "r = [-1/2, 2]; k = integers 0..", ""),
    ("sum(r**i, (i, 0, k)) == (1 - r**(k + 1))/(1 - r) + r - r**2", "r = [0, 1/2]; k = integers 0..", ""),
    ("sum((-1)**i, (i, 0, k)) <= 0", "k = integers 0..", ""),
    ("prod(1 - i, (i, 0, k)) > 0", "k = integers 0..", ""),
    ("sum(x, (i, 1, k)) <= k*x - 1", "x = [0, 1]; k = integers 1..", ""),
    ("prod(a, (i, 1, k)) <= a", "a = [0, 2]; k = integers 1..", ""),
    # powers: 0**0, negative bases and exponents, letters in exponents
    ("b**nu > 0", "b = [0, oo); nu = [0, 1]", ""),
    ("0**(n - 1) <= 0", "n = integers 1..", ""),
    ("x**nu <= x", "x = [0, 1]; nu = [0, 1]", ""),
    ("x**nu >= x", "x = [1, 4]; nu = [0, 1]", ""),
    ("x**(1 - n) <= 1/2", "x = [1, 1]; n = integers 1..1", ""),
    ("x**n >= 0", "x = [-2, 2]; n = integers 0..", ""),
    ("(1 - t)**k <= 1/2", "t = [0, 2]; k = integers 1..", ""),
    ("(-1)**n <= 0", "n = integers ..", ""),
    ("(-1)**n >= 0", "n = integers ..", ""),
    ("(x*y)**e <= x**e*y**e - 1", "x = (0, 2]; y = (0, 2]; e = [-1, 1]", ""),
    ("(x**2)**(1/2) == x", "x = [-1, 1]", ""),
    ("sqrt(x**2) <= x", "x = [-1, 1]", ""),
    ("x**e*x**(-e) > 1", "x = (0, 2]; e = [-1, 1]", ""),
    ("a**x <= a**y", "a = (0, 2]; x = [0, 1]; y = [0, 1]", "x <= y"),
    ("a**e <= b**e", "a = (0, 2]; b = (0, 2]; e = [-1, 1]", "a <= b"),
    ("2**k > k**2", "k = integers 1..", ""),
    ("2**k >= 2*k + 1", "k = integers 0..", ""),
    ("x**e + x**(-e) < 2", "x = (1, 4); e = [0, 1]", ""),
    ("a**2*b >= a", "a = (0, oo); b = (0, oo)", "a*b >= 1/2"),
    ("a >= 1", "a = (0, oo); b = (0, oo)", "a*b >= 1; b >= 1"),
    ("a**3 >= 2*b", "a = (0, oo); b = (0, oo)", "a >= b"),
    ("a/b < 1", "a = (0, oo); b = (0, oo)", "a <= b"),
    ("a*b > 1", "a = (0, oo); b = (0, oo)", "a >= 1; b >= 1"),
    # raised to powers: sides of either sign
    ("sqrt(a)*b <= c*sqrt(d)", "a = [0, 4]; b = [-2, 2]; c = [-2, 2]; d = [0, 4]", "a*b**2 <= c**2*d"),
    ("a <= sqrt(b)", "a = [0, 2]; b = [0, 2]", "a**2 <= 2*b"),
    ("-sqrt(a) <= -sqrt(b)", "a = [0, 4]; b = [0, 4]", "a <= b"),
    ("b*sqrt(a) >= -1", "a = [0, 4]; b = [-2, 2]", ""),
    ("(a + b)**(1/2) >= a**(1/2) + b**(1/2)", "a = [0, 4]; b = [0, 4]", ""),
    # poles between the points, logarithms, functions, conditions
    ("1/(x - 1) <= 5", "x = [0, 3]", ""),
    ("1/x <= 1", "x = [-1, 1]", ""),
    ("log(x) <= log(y)", "x = (0, 4]; y = (0, 4]", "x <= 2*y"),
    ("log(a*b) <= a + b - 2 - 1/100", "a = (0, 4]; b = (0, 4]", ""),
    ("log(x**2) == 2*log(x) + 1", "x = (0, 2]", ""),
    ("tanh(x) <= x - 1/100", "x = [0, 2]", ""),
    ("sin(x) >= x", "x = [0, 1]", ""),
    ("cos(x) <= 1 - x**2/2", "x = [0, 1]", ""),
    ("abs(x) <= x", "x = [-1, 1]", ""),
    ("erf(x) >= x", "x = [0, 2]", ""),
    ("atan(x) >= x", "x = [0, 2]", ""),
    ("sinh(x) <= x", "x = [0, 2]", ""),
    ("asinh(x) >= x", "x = [0, 2]", ""),
    ("cosh(x) <= 1", "x = [-1, 1]", ""),
    ("sign(x) >= 0", "x = [-1, 1]", ""),
    ("max(x, y) <= x", "x = [0, 1]; y = [0, 1]", ""),
    ("min(x, y) >= x", "x = [0, 1]; y = [0, 1]", ""),
    ("plus(x) <= x", "x = [-1, 1]", ""),
    ("(1/x if x > 0 else 0) >= 1", "x = [0, 2]", ""),
    ("x >= 1", "x = [0, 2]; nu = [0, 1]", "x**nu >= 1"),
    ("exp(x) <= 1 + 2*x", "x = [0, 2]", ""),
    ("exp(-x) <= 1 - x/2", "x = [0, 2]", ""),
    ("x*log(x) >= 0", "x = (0, 2]", ""),
    ("1 == 2", "", ""),
    ("1/3 == 0.3333333333333333", "", ""),
    ("1 < 1", "", ""),
    ("sqrt(2)**2 > 2", "", ""),
]

NARROW = [
    ("(1 - t)**k >= 0", "t = [0, 1 + 1/10**9]; k = integers 1..3", ""),
    ("x**k >= 0", "x = [-1/10**12, 1]; k = integers 1..3", ""),
    ("2*a**2 - 1 + 1/10**9 <= a**4", "a = [0, 2]", ""),
    ("x**e <= 1 + 1/10**8", "x = (0, 1/4]; e = [-1/10**9, 0]", ""),
    ("x**e <= 1 + 1/10**6", "x = (0, 1/4]; e = [-1/10**9, 0]", ""),
    ("x**(-1/10**9) <= 1 + 1/10**6", "x = (0, 1/4]", ""),
]
"""False in a place that no sample finds."""


@cache
def claim_of(text: str, ranges: str, where: str) -> ScalarClaim:
    node = parse(text)
    assert isinstance(node, tree.Compare)
    conditions = tuple(parse(c) for c in where.split(";") if c.strip())
    used = set().union(*(free_letters(n) for n in (node, *conditions))) - NUMBERS
    return ScalarClaim(node.operands[0], node.operators[0], node.operands[1], read_ranges(ranges, used), conditions)


BELIEVED: dict[tuple[object, ...], Decision] = {}


def trusting(claim: ScalarClaim) -> Decision:
    """Proved unless a few hundred points say otherwise; parts that several engines ask for are tried once."""
    parts = (claim.left, claim.op, claim.right, *claim.domains.items(), *claim.where)
    if parts not in BELIEVED:
        BELIEVED[parts] = _tried(claim)
    return BELIEVED[parts]


def _tried(claim: ScalarClaim) -> Decision:
    claim = prepared(claim)
    number = by_number(claim)
    if number.outcome != "undecided":
        return number
    for seed in range(2):
        tried = attack(claim, seed, rounds=1)
        if tried.outcome == "refuted":
            return tried
    return Decision("proved", "trust")


def forms_of(*claims: ScalarClaim) -> list[ScalarClaim]:
    """Each of several forms of a claim once."""
    return [claim for k, claim in enumerate(claims) if claim not in claims[:k]]


@cache
def whole_forms(text: str, ranges: str, where: str) -> list[ScalarClaim]:
    """A claim for engines that decide it whole: as it is read and prepared, sums closed."""
    plain = claim_of(text, ranges, where)
    return forms_of(without_sums(plain), without_sums(prepared(plain)))


@cache
def parted_forms(text: str, ranges: str, where: str) -> list[ScalarClaim]:
    """A claim for engines that ask for parts of it: prepared, with and without its sums."""
    plain = prepared(claim_of(text, ranges, where))
    return forms_of(plain, without_sums(plain))


PLAIN: dict[str, Engine] = {
    "number": by_number, "signs": by_signs, "identity": by_identity, "roots": by_roots, "boxes": by_boxes,
    "calculus": by_calculus, "rolle": by_rolle, "smt": lambda claim: by_smt(claim, 300),
}  # fmt: skip
PARTED: dict[str, Callable[[ScalarClaim, Engine], Decision]] = {
    "cancelling": by_cancelling, "residues": by_residues, "monomials": by_monomials, "induction": by_induction,
    "exponents": by_exponents, "raising": by_raising, "derivative": by_derivative, "logarithms": by_logarithms,
    "head and tail": by_head_and_tail, "zero apart": by_zero_apart, "halves": by_halves, "scale": by_scale,
}  # fmt: skip


def test_no_engine_is_left_out() -> None:
    names = {name for name, _ in engines(claim_of("x <= x", "x = [0, 1]", ""), DEPTH, 4 * QUICK)}
    assert names | {"number"} == PLAIN.keys() | PARTED.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAIN)
def test_engines_that_need_no_other_prove_nothing_false(name: str) -> None:
    for text, ranges, where in FALSE + NARROW:
        for claim in whole_forms(text, ranges, where):
            found = PLAIN[name](claim)
            assert found.outcome not in ("proved", "vacuous"), f"{text} for {ranges} where {where}: {found}"


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTED)
def test_engines_with_parts_that_are_believed_prove_nothing_false(name: str) -> None:
    for text, ranges, where in FALSE:
        for claim in parted_forms(text, ranges, where):
            found = PARTED[name](claim, trusting)
            assert found.outcome not in ("proved", "vacuous"), f"{text} for {ranges} where {where}: {found}"


@pytest.mark.slow
def test_no_hypothesis_that_can_hold_is_called_a_contradiction() -> None:
    for text, ranges, where in FALSE:
        claim = prepared(claim_of(text, ranges, where))
        assert not contradictory(claim, 300), text
        assert not any(impossible(condition, claim.domains) for condition in claim.where), text


@pytest.mark.slow
@pytest.mark.parametrize(("text", "ranges", "where"), FALSE[::3])
def test_all_engines_together_without_the_first_attack(text: str, ranges: str, where: str) -> None:
    with counting(400.0):
        found = settle(prepared(claim_of(text, ranges, where)), 1, 200)
    assert found.outcome not in ("proved", "vacuous"), found


@pytest.mark.slow
def test_the_corpus_is_false() -> None:
    """Each claim fails at a point that ball arithmetic judges (a handful needs a better search than one round)."""
    missed = [text for text, ranges, where in FALSE if not _fails(claim_of(text, ranges, where))]
    assert missed == []


def _fails(claim: ScalarClaim) -> bool:
    claim = prepared(claim)
    if not claim.letters:
        return by_number(claim).outcome != "proved"
    return any(attack(claim, seed, rounds=2).outcome == "refuted" for seed in range(4))


@pytest.mark.slow
def test_what_is_false_stays_false_with_its_sides_turned() -> None:
    """``a <= b`` as ``b >= a``: no engine depends on how a relation is written."""
    turned = {"<=": ">=", "<": ">", ">=": "<=", ">": "<", "==": "=="}
    for text, ranges, where in FALSE[::2]:
        claim = prepared(claim_of(text, ranges, where))
        mirrored = replace(claim, left=claim.right, op=turned[claim.op], right=claim.left)
        for name in ("signs", "identity", "roots", "boxes"):
            found = PLAIN[name](without_sums(mirrored))
            assert found.outcome not in ("proved", "vacuous"), f"{name}: {text}"
