"""Controls of the audit: fixed mutations of links that were proved, and what becomes of them.

A mutant may still be true (a slack bound); such survivors are proved true and counted apart. Of the others, nearly all
must be refuted: a checker that lets mutants pass would let errors of papers pass too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from bilevel_verify.audit.reading import written
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.prove import decide
from bilevel_verify.language import tree
from bilevel_verify.theorems.card import Card, Inequality
from bilevel_verify.theorems.rewrite import with_child

Mutate = Callable[[tree.Node], tree.Node | None]
HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mutated link: which operator, where, and what was decided."""

    paper: str
    statement: str
    link: int
    operator: str
    decision: Decision


def flip_sign(node: tree.Node) -> tree.Node | None:
    """One term of a sum with the other sign."""
    if isinstance(node, tree.Add):
        last = node.terms[-1]
        turned = last.operand if isinstance(last, tree.Negate) else tree.Negate(last)
        return replace(node, terms=(*node.terms[:-1], turned))
    return None


def scale_number(node: tree.Node) -> tree.Node | None:
    """A number doubled."""
    return replace(node, value=node.value * 2) if isinstance(node, tree.Number) and node.value else None


def halve_number(node: tree.Node) -> tree.Node | None:
    """A number halved."""
    return replace(node, value=node.value * HALF) if isinstance(node, tree.Number) and node.value else None


def raise_exponent(node: tree.Node) -> tree.Node | None:
    """An exponent larger by one half."""
    if isinstance(node, tree.Power):
        return replace(node, exponent=tree.Add((node.exponent, tree.Number(HALF))))
    return None


def lower_exponent(node: tree.Node) -> tree.Node | None:
    """An exponent smaller by one half."""
    if isinstance(node, tree.Power):
        return replace(node, exponent=tree.Add((node.exponent, tree.Negate(tree.Number(HALF)))))
    return None


def drop_factor(node: tree.Node) -> tree.Node | None:
    """A product without its first factor."""
    if isinstance(node, tree.Multiply):
        return node.factors[1] if len(node.factors) == 2 else replace(node, factors=node.factors[1:])
    return None


def shift_index(node: tree.Node) -> tree.Node | None:
    """A sum that runs one further."""
    if isinstance(node, tree.Call) and node.arguments and isinstance(node.arguments[-1], tree.Tuple):
        span = node.arguments[-1]
        if len(span.items) == 3:
            longer = tree.Add((span.items[2], tree.Number(Fraction(1))))
            return replace(node, arguments=(*node.arguments[:-1], replace(span, items=(*span.items[:2], longer))))
    return None


OPERATORS: dict[str, Mutate] = {
    "sign": flip_sign,
    "factor 2": scale_number,
    "factor 1/2": halve_number,
    "exponent +1/2": raise_exponent,
    "exponent -1/2": lower_exponent,
    "dropped factor": drop_factor,
    "index": shift_index,
}


def mutants_of(node: tree.Node, operator: Mutate) -> Iterator[tree.Node]:
    """All trees that differ from ``node`` by one application of the operator."""
    changed = operator(node)
    if changed is not None:
        yield changed
    for place, child in enumerate(node.children()):
        for mutant in mutants_of(child, operator):
            yield with_child(node, place, mutant)


def controls(card: Card, *, most: int = 40, seed: int = 0, seconds: float = 5.0) -> list[Mutant]:
    """Mutants of links that are proved on a card, at most ``most`` of them, chosen with a fixed seed."""
    random = np.random.default_rng(seed)
    candidates: list[tuple[str, int, str, ScalarClaim]] = []
    for entry in card.entries.values():
        if not isinstance(entry, Inequality) or entry.refuted is not None:
            continue
        table = written(card, entry)
        for number, link in enumerate(entry.chain):
            for name, operator in OPERATORS.items():
                for side in ("left", "right"):
                    for mutant in mutants_of(getattr(link, side).tree, operator):
                        try:
                            claim = table.claim(link)
                            changed = replace(claim, **{side: table.out(mutant)})  # type: ignore[arg-type]
                        except (ValueError, KeyError):
                            continue
                        candidates.append((entry.id, number, name, changed))
    chosen = random.permutation(len(candidates))[:most]
    return [_judged(card, candidates[i], seed, seconds) for i in chosen]


def _judged(card: Card, candidate: tuple[str, int, str, ScalarClaim], seed: int, seconds: float) -> Mutant:
    statement, number, name, claim = candidate
    try:
        decision = decide(claim, seed=seed, seconds=seconds)
    except ValueError as reason:
        decision = Decision("undecided", "reading", str(reason))
    return Mutant(card.key, statement, number + 1, name, decision)


def counts(mutants: list[Mutant]) -> dict[str, int]:
    """Refuted, survivors proved true, undecided: the three numbers that are printed."""
    tally = Counter(m.decision.outcome for m in mutants)
    return {"refuted": tally["refuted"], "proved still true": tally["proved"], "undecided": tally["undecided"]}
