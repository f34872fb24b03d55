"""Small pieces for tests of single engines: trees, ranges and claims from text, and a decider that keeps a record."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from operator import eq, ge, gt, le, lt

from bilevel_verify.audit.formula import read_ranges
from bilevel_verify.audit.scalar.claim import Decision, Outcome, ScalarClaim
from bilevel_verify.language import parse, to_text, tree
from bilevel_verify.theorems.card import Domain
from bilevel_verify.theorems.exact import Formula
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


def true_at(condition: tree.Node, point: dict[str, Fraction]) -> bool:
    """Whether a chain of relations between rational formulas holds at a point, by exact arithmetic."""
    assert isinstance(condition, tree.Compare)
    sides = [Formula(point).value(o) for o in condition.operands]
    tests = {"<": lt, "<=": le, ">": gt, ">=": ge, "==": eq}
    return all(tests[op](one, two) for one, op, two in zip(sides, condition.operators, sides[1:]))
