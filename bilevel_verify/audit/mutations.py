"""Controls of the audit: fixed mutations of links that were proved, and what becomes of them.

A mutant may still be true (a slack bound); such survivors are proved true and counted apart. Of the others, nearly all
must be refuted: a checker that lets mutants pass would let errors of papers pass too.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from bilevel_verify.audit.pool import shared
from bilevel_verify.audit.reading import Written, written
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.prove import decide
from bilevel_verify.language import tree
from bilevel_verify.theorems.card import Card, Expression, Inequality, Link
from bilevel_verify.theorems.rewrite import with_child

Mutate = Callable[[tree.Node], tree.Node | None]
HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mutated link: which operator (``none`` for the link itself), where, and what was decided."""

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


def drop_hypotheses(claim: ScalarClaim) -> Iterator[ScalarClaim]:
    """One hypothesis less."""
    for place in range(len(claim.where)):
        yield replace(claim, where=claim.where[:place] + claim.where[place + 1 :])


def start_earlier(claim: ScalarClaim) -> Iterator[ScalarClaim]:
    """An integer letter that starts one earlier: the off-by-one of a loop."""
    for name in claim.letters:
        domain = claim.domains[name]
        if domain.kind == "integers" and domain.lower is not None:
            earlier = tree.Add((domain.lower.tree, tree.Negate(tree.Number(Fraction(1)))))
            moved = replace(domain, lower=Expression(earlier, f"{domain.lower.text} - 1"))
            yield replace(claim, domains={**claim.domains, name: moved})


CLAIM_OPERATORS: dict[str, Callable[[ScalarClaim], Iterator[ScalarClaim]]] = {
    "dropped hypothesis": drop_hypotheses,
    "off-by-one loop": start_earlier,
}


def controls(
    card: Card, *, per_link: int = 2, most: int | None = None, seed: int = 0, seconds: float = 5.0, jobs: int = 1
) -> list[Mutant]:
    """Mutants of every link of a card that is proved, and the proved links themselves (operator ``none``).

    Parameters
    ----------
    per_link : mutants of each link, drawn with the seed from all operators and places.
    most : no more than so many links, drawn with the seed; all of them by default.
    seed, seconds : of the engines; processor time for each link and mutant.
    jobs : processes.
    """
    links = list(_links(card))
    if most is not None and most < len(links):
        chosen = sorted(np.random.default_rng(seed).permutation(len(links))[:most])
        links = [links[i] for i in chosen]
    tasks = [(card, name, number, per_link, seed, seconds) for name, number in links]
    return [mutant for part in shared(_of_link, tasks, jobs) for mutant in part]


def _links(card: Card) -> Iterator[tuple[str, int]]:
    for entry in card.entries.values():
        if isinstance(entry, Inequality) and entry.refuted is None:
            for number in range(len(entry.chain)):
                yield entry.id, number


def _of_link(task: tuple[Card, str, int, int, int, float]) -> list[Mutant]:
    """The link itself, and if it is proved, some of its mutants."""
    card, name, number, per_link, seed, seconds = task
    entry = card.entries[name]
    assert isinstance(entry, Inequality)
    try:
        table, link = written(card, entry), entry.chain[number]
        claim = table.claim(link)
    except ValueError:
        return []
    truth = _judged(card, name, number, "none", claim, seed, seconds)
    if truth.decision.outcome != "proved":
        return []
    candidates = list(
        {(o, c.left, c.right, c.where, str(c.domains)): (o, c) for o, c in _mutants(table, link, claim)}.values()
    )
    random = np.random.default_rng([seed, zlib.crc32(f"{card.key}/{name}/{number}".encode())])
    kinds = sorted({operator for operator, _ in candidates})
    found = [truth]
    for operator in random.permutation(kinds)[:per_link] if kinds else []:
        same = [c for o, c in candidates if o == operator]
        changed = same[int(random.integers(len(same)))]
        found.append(_judged(card, name, number, str(operator), changed, seed, seconds))
    return found


def _mutants(table: Written, link: Link, claim: ScalarClaim) -> Iterator[tuple[str, ScalarClaim]]:
    for name, operator in OPERATORS.items():
        for side in ("left", "right"):
            for mutant in mutants_of(getattr(link, side).tree, operator):
                try:
                    changed = table.out(mutant)
                except (ValueError, KeyError):
                    continue
                if changed != getattr(claim, side):
                    yield name, replace(claim, **{side: changed})  # type: ignore[arg-type]
    for name, change in CLAIM_OPERATORS.items():
        for altered in change(claim):
            yield name, altered


def _judged(
    card: Card, statement: str, number: int, operator: str, claim: ScalarClaim, seed: int, seconds: float
) -> Mutant:
    try:
        decision = decide(claim, seed=seed, seconds=seconds)
    except ValueError as reason:
        decision = Decision("undecided", "reading", str(reason))
    return Mutant(card.key, statement, number + 1, operator, decision)


def counts(mutants: list[Mutant]) -> dict[str, int]:
    """Mutants refuted, proved still true (or without any place left), undecided; true links tried and refuted."""
    tally = Counter(m.decision.outcome for m in mutants if m.operator != "none")
    true = [m.decision.outcome for m in mutants if m.operator == "none"]
    return {
        "refuted": tally["refuted"],
        "proved still true": tally["proved"] + tally["vacuous"],
        "undecided": tally["undecided"],
        "true links": len(true),
        "true links refuted": true.count("refuted"),
    }
