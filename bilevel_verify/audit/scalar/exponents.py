"""Letters in exponents: ends of their ranges by convexity or monotony, and relations between products in logarithms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor

import sympy

from bilevel_verify.audit.scalar.algebra import NotAlgebraic
from bilevel_verify.audit.scalar.back import to_tree
from bilevel_verify.audit.scalar.calculus import numeric_ends
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.audit.scalar.powers import ONE, ZERO, Term, collected, surely, symbols, terms_of, total
from bilevel_verify.audit.scalar.signs import nonnegative, positive
from bilevel_verify.audit.scalar.smt import prove as by_smt
from bilevel_verify.language import tree
from bilevel_verify.theorems.card_parts import Domain, Expression
from bilevel_verify.theorems.rewrite import free_letters

Decide = Callable[[ScalarClaim], Decision]
ENGINE = "exponents"
SECONDS = 2_000
DIGITS = 10**9


def by_exponents(claim: ScalarClaim, decide: Decide) -> Decision:
    """Sums of products of powers with letters in their exponents.

    Proved where both sides are the same after powers of products are split, where a letter that occurs in exponents may
    be put at an end of its range (a sum of log-convex terms is largest at the ends), and where both sides are single
    products whose logarithms compare.
    """
    undecided = Decision("undecided", ENGINE, "")
    if not any(
        isinstance(p, tree.Power) and free_letters(p.exponent) for s in (claim.left, claim.right) for p in s.walk()
    ):
        return undecided
    inner = interior(claim)
    try:
        small, large = collected(inner)
    except (NotAlgebraic, ValueError) as reason:
        return replace(undecided, certificate=str(reason))
    bases = {base for term in large for base in term.powers}
    if not small and (claim.op in ("<=", ">=") or (claim.op == "==" and not large)):
        if all(surely(base, inner, strict=False) for base in bases):
            return Decision("proved", ENGINE, "both sides in powers of single letters: the terms agree")
        return undecided
    if claim.op == "==" or not small or not large:
        return undecided
    apart = _first_apart(inner, small + large, decide)
    if apart is None:
        return undecided
    inner = apart
    found = _in_logarithms(inner, small, large)
    if found is not None:
        return found
    for name in _letters_of_exponents(inner, small + large):
        for ends, text in _ends_that_decide(inner, name, small, large):
            left, right = total(small), total(large)
            part = replace(inner, left=left, right=right, op="<" if claim.op in ("<", ">") else "<=")
            decisions = [decide(part.at(name, end)) for end in ends]
            if all(d.outcome in ("proved", "vacuous") for d in decisions):
                return Decision("proved", ENGINE, f"{text} {name}: true at {', '.join(map(str, ends))}")
    return undecided


def _first_apart(claim: ScalarClaim, terms: list[Term], decide: Decide) -> ScalarClaim | None:
    """The claim without first values of integer letters at which a base may be 0; None where it is not true there."""
    for name in sorted(claim.integers):
        bases = [base for term in terms for base in term.powers if name in free_letters(base)]
        low = numeric_ends(claim, name)[0]
        if low is None or all(surely(base, claim) for base in bases):
            continue
        first = ceil(low)
        if decide(claim.with_values({name: tree.signed(first)})).outcome not in ("proved", "vacuous"):
            return None
        domain = replace(claim.domains[name], lower=_number(Fraction(first + 1)))
        claim = replace(claim, domains={**claim.domains, name: domain})
    return claim


def interior(claim: ScalarClaim) -> ScalarClaim:
    """The claim with closed ends of ranges left out, where both sides are continuous there and nothing else needs them.

    What holds inside holds at such an end as well (not for strict relations).
    """
    if claim.op in ("<", ">"):
        return claim
    domains = dict(claim.domains)
    for name, domain in claim.domains.items():
        if domain.kind != "interval" or not (domain.lower_closed or domain.upper_closed):
            continue
        low, high = numeric_ends(claim, name)
        if low is None or claim.tied(name):
            continue
        if domain.upper_closed if high is None else low >= high:
            continue
        if all(_continuous(side, name, claim) for side in (claim.left, claim.right)):
            domains[name] = replace(domain, lower_closed=False, upper_closed=False)
    return replace(claim, domains=domains)


def _continuous(node: tree.Node, name: str, claim: ScalarClaim) -> bool:
    """Whether a tree is plainly continuous in a letter up to the ends of its range."""
    if name not in free_letters(node):
        return True
    match node:
        case tree.Letter():
            return True
        case tree.Add() | tree.Multiply() | tree.Negate():
            return all(_continuous(child, name, claim) for child in node.children())
        case tree.Divide(numerator=top, denominator=bottom):
            fine = name not in free_letters(bottom) or positive(bottom, claim.domains)
            return fine and all(_continuous(child, name, claim) for child in (top, bottom))
        case tree.Power(base=base, exponent=exponent):
            if name in free_letters(exponent) or not _continuous(base, name, claim):
                return False
            whole = isinstance(exponent, tree.Number) and exponent.value.denominator == 1 and exponent.value >= 0
            return whole or (nonnegative(exponent, claim.domains) and nonnegative(base, claim.domains))
        case tree.Call(function="sqrt", arguments=(inner,)):
            return nonnegative(inner, claim.domains) and _continuous(inner, name, claim)
    return False


def _letters_of_exponents(claim: ScalarClaim, terms: list[Term]) -> Iterator[str]:
    """Real letters with numbers as ends that occur in an exponent and in no hypothesis."""
    used = {str(s) for term in terms for power in term.powers.values() for s in power.free_symbols}
    for name in claim.letters:
        domain = claim.domains[name]
        if name not in used or domain.kind != "interval" or claim.tied(name):
            continue
        if None not in numeric_ends(claim, name):
            yield name


def _ends_that_decide(
    claim: ScalarClaim, name: str, small: list[Term], large: list[Term]
) -> Iterator[tuple[list[Fraction], str]]:
    """Ends of a letter at which the relation may be judged instead of on the whole range."""
    low, high = numeric_ends(claim, name)
    assert low is not None
    assert high is not None
    if len(large) == 1:
        ratios = [term * large[0].raised(sympy.Integer(-1)) for term in small]
        if all(_log_convex(ratio, name, claim) for ratio in ratios):
            yield [low, high], "every term over the other side is log-convex in"
    if len(small) == 1:
        ratios = [term * small[0].raised(sympy.Integer(-1)) for term in large]
        slopes = [_slope(ratio, name, claim) for ratio in ratios]
        for end, low_side in ((high, False), (low, True)):
            sides = [(ONE, s) if low_side else (s, ONE) for s in slopes if s is not None]
            ordered = (_holds(claim, one, other) for one, other in sides)
            if len(sides) == len(slopes) and all(ordered):
                yield [end], f"every term over the other side is {'increasing' if low_side else 'decreasing'} in"


def _holds(claim: ScalarClaim, left: tree.Node, right: tree.Node) -> bool:
    return by_smt(ScalarClaim(left, "<=", right, claim.domains, claim.where), SECONDS).outcome == "proved"


def _log_convex(ratio: Term, name: str, claim: ScalarClaim) -> bool:
    """Exponents affine in the letter over positive bases without it, or negative numbers over affine ones."""
    letter = symbols(claim)[name]
    for base, power in ratio.powers.items():
        if not surely(base, claim):
            return False
        if name not in free_letters(base):
            if sympy.expand(sympy.diff(power, letter, 2)) != 0 or not power.is_polynomial(letter):
                return False
        elif not (power.is_Rational and power <= 0 and linear_form(base) is not None):
            return False
    return True


def _slope(ratio: Term, name: str, claim: ScalarClaim) -> tree.Node | None:
    """What a term is multiplied by when the letter grows by one; None where that depends on the letter."""
    letter, factors = symbols(claim)[name], []
    for base, power in ratio.powers.items():
        step = sympy.diff(power, letter)
        if name in free_letters(base) or not surely(base, claim) or letter in step.free_symbols:
            return None
        if step != 0:
            factors.append(tree.Power(base, to_tree(step)))
    return tree.Multiply((ONE, *factors))


def _in_logarithms(claim: ScalarClaim, small: list[Term], large: list[Term]) -> Decision | None:
    """``x**a*y**b <= c``: an inequality in the logarithms, under the hypotheses that are of this form as well."""
    if len(small) != 1 or len(large) != 1:
        return None
    logs = _Logarithms(claim)
    relation = logs.of(small[0], large[0])
    if relation is None:
        return None
    hypotheses = []
    for condition in claim.conditions():
        found = logs.condition(condition)
        if found is not None:
            hypotheses.append(found)
    domains = {n: d for n, d in claim.domains.items() if n in logs.kept} | logs.domains
    op = "<" if claim.op in ("<", ">") else "<="
    conditions = [c for c in claim.conditions() if free_letters(c) <= logs.kept]
    moved = ScalarClaim(relation, op, ZERO, domains, (*hypotheses, *conditions))
    if by_smt(moved, SECONDS).outcome == "proved":
        return Decision("proved", ENGINE, f"single products: their logarithms compare ({len(hypotheses)} hypotheses)")
    return None


class _Logarithms:
    """Logarithms of positive bases as new real letters; those of numbers within rational bounds."""

    def __init__(self, claim: ScalarClaim) -> None:
        self.claim = claim
        self.names: dict[tree.Node, str] = {}
        self.domains: dict[str, Domain] = {}
        self.kept: set[str] = set()

    def of(self, small: Term, large: Term) -> tree.Node | None:
        """``log small - log large``; None where a base may be 0."""
        parts: list[tree.Node] = []
        for term, sign in ((small, 1), (large, -1)):
            if term.number <= 0:
                return None
            if term.number != 1:
                parts.append(tree.Multiply((tree.signed(sign), tree.Letter(self.letter(tree.Number(term.number))))))
            for base, power in term.powers.items():
                if not surely(base, self.claim):
                    return None
                self.kept |= {str(s) for s in power.free_symbols}
                parts.append(tree.Multiply((tree.signed(sign), to_tree(power), tree.Letter(self.letter(base)))))
        return tree.Add(tuple(parts)) if parts else ZERO

    def condition(self, node: tree.Node) -> tree.Node | None:
        """A hypothesis between two single products, in logarithms; None for others."""
        if not (isinstance(node, tree.Compare) and len(node.operators) == 1 and node.operators[0] in TURNED):
            return None
        one, other = node.operands
        try:
            sides = [terms_of(side, self.claim) for side in (one, other)]
        except (NotAlgebraic, ValueError):
            return None
        if any(len(side) != 1 for side in sides):
            return None
        found = self.of(sides[0][0], sides[1][0])
        return None if found is None else tree.Compare((found, ZERO), (node.operators[0],))

    def letter(self, base: tree.Node) -> str:
        """The letter of the logarithm of a base."""
        if base not in self.names:
            name = f"log_{len(self.names)}_"
            self.names[base] = name
            low, high = self.ends(base)
            self.domains[name] = Domain(name, "interval", low, high, low is not None, high is not None)
        return self.names[base]

    def ends(self, base: tree.Node) -> tuple[Expression | None, Expression | None]:
        if isinstance(base, tree.Number):
            from flint import arb, fmpq

            ball = arb(fmpq(base.value.numerator, base.value.denominator)).log()
            if base.value == 1:
                return _number(Fraction(0)), _number(Fraction(0))
            middle = Fraction(floor(float(ball.mid()) * DIGITS), DIGITS)
            return _number(middle - Fraction(2, DIGITS)), _number(middle + Fraction(3, DIGITS))
        least = _number(Fraction(0)) if _holds(self.claim, ONE, base) else None
        most = _number(Fraction(0)) if _holds(self.claim, base, ONE) else None
        return least, most


TURNED = ("<=", "<", ">=", ">", "==")


def _number(value: Fraction) -> Expression:
    return Expression(tree.signed(value), str(value))
