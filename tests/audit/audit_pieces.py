"""Small pieces for tests of single engines: trees, ranges and claims from text, and a decider that keeps a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor, prod
from operator import eq, ge, gt, le, lt

from bilevel_verify.audit.formula import read_ranges
from bilevel_verify.audit.orders import derivations
from bilevel_verify.audit.orders.monomials import Regime
from bilevel_verify.audit.orders.vanishing import Logarithms
from bilevel_verify.audit.scalar.claim import POSITIVE, Decision, Outcome, ScalarClaim
from bilevel_verify.audit.scalar.monomials import Monomial, _Reader
from bilevel_verify.language import parse, to_text, tree
from bilevel_verify.theorems.card_parts import Domain
from bilevel_verify.theorems.rewrite import free_letters
from bilevel_verify.theorems.vocabulary import NUMBERS


def ranges(text: str, *names: str) -> dict[str, Domain]:
    """Ranges from text; further ``names`` are positive."""
    return read_ranges(text, set(names))


def claim_of(text: str, domains: str = "", where: str = "") -> ScalarClaim:
    """A relation as a claim; letters without a range are positive."""
    node = parse(text)
    assert isinstance(node, tree.Compare)
    conditions = tuple(parse(c) for c in where.split(";") if c.strip())
    used = set().union(*(free_letters(n) for n in (node, *conditions))) - NUMBERS
    return ScalarClaim(node.operands[0], node.operators[0], node.operands[1], read_ranges(domains, used), conditions)


def shown(claim: ScalarClaim) -> str:
    """The relation of a claim and its hypotheses as text."""
    relation = f"{to_text(claim.left)} {claim.op} {to_text(claim.right)}"
    return "; ".join([relation, *(to_text(c) for c in claim.where)])


def plain(text: str) -> str:
    """A text as the language writes it."""
    return to_text(parse(text))


@dataclass
class Recorder:
    """Decides every part alike (``outcomes`` for some of them) and remembers what it was asked."""

    outcome: Outcome = "proved"
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    asked: list[ScalarClaim] = field(default_factory=list)

    def __call__(self, claim: ScalarClaim) -> Decision:
        self.asked.append(claim)
        outcome = self.outcomes.get(shown(claim), self.outcome)
        return Decision(outcome, "recorder", "as told", {"a": Fraction(1)} if outcome == "refuted" else {})

    @property
    def texts(self) -> list[str]:
        """What was asked, as text."""
        return [shown(claim) for claim in self.asked]


def value_at(node: tree.Node, point: Mapping[str, Fraction]) -> Fraction:
    """The value of a rational formula, sums and products over ranges included, written out naively."""
    match node:
        case tree.Number(value=value):
            return value
        case tree.Letter(name=name):
            return point[name]
        case tree.Add(terms=terms):
            return sum((value_at(t, point) for t in terms), Fraction(0))
        case tree.Multiply(factors=factors):
            return prod((value_at(f, point) for f in factors), start=Fraction(1))
        case tree.Negate(operand=operand):
            return -value_at(operand, point)
        case tree.Divide(numerator=top, denominator=bottom):
            return value_at(top, point) / value_at(bottom, point)
        case tree.Power(base=base, exponent=exponent):
            height = value_at(exponent, point)
            assert height.denominator == 1
            return value_at(base, point) ** int(height)
        case tree.Call(
            function="sum" | "prod" as name, arguments=(body, tree.Tuple(items=(tree.Letter(name=i), a, b)))
        ):
            low, high = ceil(value_at(a, point)), floor(value_at(b, point))
            parts = (value_at(body, {**point, i: Fraction(k)}) for k in range(low, high + 1))
            return sum(parts, Fraction(0)) if name == "sum" else prod(parts, start=Fraction(1))
        case tree.Call(function="floor", arguments=(inner,)):
            return Fraction(floor(value_at(inner, point)))
        case tree.Call(function="max" | "min" as name, arguments=arguments):
            return (max if name == "max" else min)(value_at(a, point) for a in arguments)
    raise AssertionError(node)


def mono(text: str, strict: bool = False, *letters: str) -> Monomial:
    """A monomial; all its letters are positive, those named are exponents."""
    claim = claim_of(f"{text} <= 1")
    found = _Reader(claim, letters).monomial(parse(text))
    return Monomial(found.exponents, strict)


def true_at(condition: tree.Node, point: Mapping[str, Fraction]) -> bool:
    """Whether a chain of relations between rational formulas holds at a point, by exact arithmetic."""
    assert isinstance(condition, tree.Compare)
    sides = [value_at(o, point) for o in condition.operands]
    tests = {"<": lt, "<=": le, ">": gt, ">=": ge, "==": eq}
    return all(tests[op](one, two) for one, op, two in zip(sides, condition.operators, sides[1:]))


def judged(result: tree.Node, gives: tree.Node, regime: Regime) -> Decision:
    """What the algebra says of an order whose letters are positive, and of which nothing else is known."""
    return derivations._judge(result, gives, Logarithms(regime, dict.fromkeys(regime.letters, POSITIVE)))
