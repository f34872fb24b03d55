"""Repair: the nearest true form of a refuted relation, one change first, two at most.

Units prune the candidates; the others are ordered by how little they change the two sides on points of the range; a few
hundred points refute most of them in milliseconds. Only a candidate that is *proved*, and defined wherever its
hypotheses hold, is a repair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from bilevel_verify.audit.entries.definedness import undefined
from bilevel_verify.audit.scalar.attack import attack, sample_points
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim, prepared
from bilevel_verify.audit.scalar.deciding import decide
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.audit.scalar.numeric import evaluate
from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.theorems.rewrite import moved_limit, negated, with_child

if TYPE_CHECKING:
    from numpy.typing import NDArray

ONE, TWO = tree.Number(Fraction(1)), tree.Number(Fraction(2))
FACTORS = tuple(Fraction(*p) for p in ((11, 10), (5, 4), (3, 2), (2, 1), (3, 1), (4, 1), (6, 1), (10, 1), (100, 1)))
STEPS = (Fraction(1, 2), Fraction(-1, 2), Fraction(1), Fraction(-1))
CANDIDATE_LIMIT = 600
TRIALS, EFFORT = 12, 2.0
SAMPLE = 256
HYPOTHESIS_COST = 0.2
Fits = Callable[[tree.Node, tree.Node], bool]


@dataclass(frozen=True, slots=True)
class Repair:
    """A true neighbour of a refuted relation: which kind of change, the relation, a hypothesis that was added."""

    change: str
    left: tree.Node
    op: str
    right: tree.Node
    hypothesis: tree.Node | None
    decision: Decision

    @property
    def text(self) -> str:
        """The repaired relation as text."""
        shown = to_text(tree.Compare((self.left, self.right), (self.op,)))
        return shown if self.hypothesis is None else f"{shown} where {to_text(self.hypothesis)}"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One changed relation, in the letters of the card."""

    change: str
    left: tree.Node
    op: str
    right: tree.Node
    hypothesis: tree.Node | None = None


def nearest_true(
    left: tree.Node,
    op: str,
    right: tree.Node,
    claim_of: Callable[[Candidate], ScalarClaim],
    fits: Fits,
    *,
    trials: int = TRIALS,
    seed: int = 0,
) -> Repair | None:
    """The first candidate that is proved, nearest first; None if there is none among the first few.

    Parameters
    ----------
    claim_of : a candidate with its letters written out and its hypotheses attached.
    fits : whether two sides have one unit.
    trials : candidates that survive an attack and are put to the proving engines, at most.
    """
    near = islice(candidates(left, op, right, claim_of), CANDIDATE_LIMIT)
    fitting = [c for c in near if fits(c.left, c.right)]
    for candidate in _nearest_first(Candidate("", left, op, right), fitting, claim_of, seed):
        if trials <= 0:
            return None
        try:
            claim = prepared(claim_of(candidate))
            tried = attack(claim, seed, rounds=1)
        except (ValueError, KeyError):
            continue
        if tried.outcome == "refuted" or not tried.attacks:
            continue
        trials -= 1
        decision = decide(claim, seed=seed, effort=EFFORT)
        if decision.outcome == "proved" and undefined(claim, seed, effort=EFFORT)[0].outcome == "proved":
            return Repair(
                candidate.change, candidate.left, candidate.op, candidate.right, candidate.hypothesis, decision
            )
    return None


def _nearest_first(
    printed: Candidate, found: list[Candidate], claim_of: Callable[[Candidate], ScalarClaim], seed: int
) -> list[Candidate]:
    """Candidates by the relative change of the sides on points of the range; a hypothesis costs a fixed share."""
    try:
        start = claim_of(printed)
    except (ValueError, KeyError):
        return found
    points = sample_points(start, seed)

    def sides(candidate: Candidate) -> list[NDArray[np.float64]]:
        claim = claim_of(candidate)
        return [np.broadcast_to(np.asarray(evaluate(n, points), float), (SAMPLE,)) for n in (claim.left, claim.right)]

    def distance(candidate: Candidate) -> float:
        if candidate.hypothesis is not None:
            return HYPOTHESIS_COST
        total = 0.0
        for new, old in zip(sides(candidate), original):
            with np.errstate(all="ignore"):
                change = np.abs(new - old) / (np.abs(new) + np.abs(old))
            change = change[np.isfinite(change)]
            total += float(np.median(change)) if len(change) else 1.0
        return total

    original = sides(printed)
    rated = []
    for number, candidate in enumerate(found):
        try:
            rated.append((distance(candidate), number, candidate))
        except (ValueError, KeyError):
            continue
    return [candidate for _, _, candidate in sorted(rated, key=lambda item: item[:2])]


def candidates(
    left: tree.Node, op: str, right: tree.Node, claim_of: Callable[[Candidate], ScalarClaim]
) -> Iterator[Candidate]:
    """The neighbourhood of a relation: sign, exponent, index, hypothesis, then factors from small to large."""
    for change, moves in (("sign", _signs), ("exponent", _exponents), ("index", _indices)):
        for place, side in (("left", left), ("right", right)):
            for changed in moves(side):
                sides = (changed, right) if place == "left" else (left, changed)
                yield Candidate(change, sides[0], op, sides[1])
    yield from _hypotheses(left, op, right, claim_of)
    for factor in FACTORS:
        for place, side in (("left", left), ("right", right)):
            for changed in _scaled(side, factor, op, place):
                sides = (changed, right) if place == "left" else (left, changed)
                yield Candidate("factor", sides[0], op, sides[1])


def _everywhere(node: tree.Node, change: Callable[[tree.Node], Iterator[tree.Node]]) -> Iterator[tree.Node]:
    """All trees with one sub-tree changed."""
    yield from change(node)
    for place, child in enumerate(node.children()):
        for changed in _everywhere(child, change):
            yield with_child(node, place, changed)


def _signs(node: tree.Node) -> Iterator[tree.Node]:
    def flip(part: tree.Node) -> Iterator[tree.Node]:
        if isinstance(part, tree.Add):
            for i, term in enumerate(part.terms):
                turned = term.operand if isinstance(term, tree.Negate) else tree.Negate(term)
                yield replace(part, terms=(*part.terms[:i], turned, *part.terms[i + 1 :]))
        if isinstance(part, tree.Power):
            yield replace(part, exponent=negated(part.exponent))

    yield from _everywhere(node, flip)


def _exponents(node: tree.Node) -> Iterator[tree.Node]:
    def move(part: tree.Node) -> Iterator[tree.Node]:
        if not isinstance(part, tree.Power):
            return
        form = linear_form(part.exponent)
        for step in STEPS:
            if form is not None and not form[1]:
                yield replace(part, exponent=tree.signed(form[0] + step))
            else:
                yield replace(part, exponent=tree.Add((part.exponent, tree.signed(step))))

    yield from _everywhere(node, move)


def _indices(node: tree.Node) -> Iterator[tree.Node]:
    def shift(part: tree.Node) -> Iterator[tree.Node]:
        if isinstance(part, tree.Call) and binder(part) is not None:
            yield from (moved_limit(part, place, step) for place in (1, 2) for step in (1, -1))

    yield from _everywhere(node, shift)
    for letter in dict.fromkeys(p.name for p in node.walk() if isinstance(p, tree.Letter) and p.name in "ijkmnst"):
        for step in (1, -1):
            value = tree.Add((tree.Letter(letter), tree.signed(Fraction(step))))

            def there(part: tree.Node, name: str = letter, new: tree.Node = value) -> Iterator[tree.Node]:
                if isinstance(part, tree.Letter) and part.name == name:
                    yield new

            yield from _everywhere(node, there)


def _hypotheses(
    left: tree.Node, op: str, right: tree.Node, claim_of: Callable[[Candidate], ScalarClaim]
) -> Iterator[Candidate]:
    """An end of a range excluded or moved, and a strict relation where an equality is the trouble."""
    if op in ("<", ">"):
        yield Candidate("strictness", left, op + "=", right)
    try:
        claim = prepared(claim_of(Candidate("", left, op, right)))
    except (ValueError, KeyError):
        return
    for name in claim.letters:
        domain, letter = claim.domains[name], tree.Letter(name)
        low = None if domain.lower is None else linear_form(domain.lower.tree)
        if low is None or low[1]:
            continue
        more = [(">=", low[0] + 1), (">=", low[0] + 2)] if domain.kind == "integers" else [(">", low[0])]
        more += [(">=", Fraction(1)), ("<=", Fraction(1)), ("<=", Fraction(1, 2))] if domain.kind == "interval" else []
        for relation, bound in more:
            condition = tree.Compare((letter, tree.signed(bound)), (relation,))
            yield Candidate("hypothesis", left, op, right, condition)


def _scaled(side: tree.Node, factor: Fraction, op: str, place: str) -> Iterator[tree.Node]:
    """A whole side with another factor, in the direction that weakens the relation."""
    grows = (place == "right") == (op in ("<=", "<"))
    if op == "==":
        grows = True
    value = factor if grows else 1 / factor
    body = side.operand if isinstance(side, tree.Negate) else side
    if isinstance(side, tree.Negate) or _is_negative(side):
        value = 1 / value
    scaled = tree.Multiply((tree.signed(value), body))
    yield tree.Negate(scaled) if isinstance(side, tree.Negate) else scaled


def _is_negative(node: tree.Node) -> bool:
    match node:
        case tree.Multiply(factors=factors):
            return _is_negative(factors[0])
        case tree.Divide(numerator=top):
            return _is_negative(top)
    return isinstance(node, tree.Negate)
