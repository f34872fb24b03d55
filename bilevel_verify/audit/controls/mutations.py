"""Operators of the controls: one small error in a printed relation, as papers make them.

Each operator takes a node and returns its mutated form, or None where it does not apply; ``mutants_of`` applies it at
every place of a tree, the operators on whole claims change hypotheses and ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from bilevel_verify.audit.scalar.claim import ScalarClaim
from bilevel_verify.language import tree
from bilevel_verify.theorems.card_parts import Domain, Expression
from bilevel_verify.theorems.rewrite import binder, moved_limit, with_child

Mutate = Callable[[tree.Node], tree.Node | None]
HALF, ONE = Fraction(1, 2), tree.Number(Fraction(1))


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


def later_end(node: tree.Node) -> tree.Node | None:
    """A sum that runs one further."""
    return _moved(node, 2, 1)


def earlier_end(node: tree.Node) -> tree.Node | None:
    """A sum that stops one earlier."""
    return _moved(node, 2, -1)


def later_start(node: tree.Node) -> tree.Node | None:
    """A sum that starts one later."""
    return _moved(node, 1, 1)


def _moved(node: tree.Node, place: int, step: int) -> tree.Node | None:
    return moved_limit(node, place, step) if isinstance(node, tree.Call) and binder(node) is not None else None


def shift_index(names: frozenset[str]) -> Mutate:
    """One occurrence of an integer letter or of a bound index larger by one."""

    def shift(node: tree.Node) -> tree.Node | None:
        return tree.Add((node, ONE)) if isinstance(node, tree.Letter) and node.name in names else None

    return shift


OPERATORS: dict[str, tuple[Mutate, ...]] = {
    "sign": (flip_sign,),
    "factor 2": (scale_number,),
    "factor 1/2": (halve_number,),
    "exponent +1/2": (raise_exponent,),
    "exponent -1/2": (lower_exponent,),
    "dropped factor": (drop_factor,),
    "off-by-one loop": (later_end, earlier_end, later_start),
}
"""Operators on trees; an index shift needs to know the integer letters and comes on top."""


def indices_of(node: tree.Node) -> frozenset[str]:
    """Names that sums, products and their kind bind inside a tree."""
    spans = (binder(part) for part in node.walk() if isinstance(part, tree.Call))
    return frozenset(span[0] for span in spans if span is not None)


def mutants_of(node: tree.Node, operator: Mutate) -> Iterator[tree.Node]:
    """All trees that differ from ``node`` by one application of the operator (the name of a bound index stays)."""
    changed = operator(node)
    if changed is not None:
        yield changed
    for place, child in enumerate(node.children()):
        if isinstance(node, tree.Tuple) and place == 0:
            continue
        for mutant in mutants_of(child, operator):
            yield with_child(node, place, mutant)


def tree_mutants(node: tree.Node, integers: frozenset[str]) -> Iterator[tuple[str, tree.Node]]:
    """All mutants of a tree with the names of their operators."""
    index = ("index", (shift_index(integers | indices_of(node)),))
    for name, operators in (*OPERATORS.items(), index):
        for operator in operators:
            for mutant in mutants_of(node, operator):
                yield name, mutant


def drop_hypotheses(claim: ScalarClaim) -> Iterator[ScalarClaim]:
    """One hypothesis less."""
    for place in range(len(claim.where)):
        yield replace(claim, where=claim.where[:place] + claim.where[place + 1 :])


def longer_ranges(claim: ScalarClaim) -> Iterator[ScalarClaim]:
    """An integer letter that starts one earlier or ends one later: the off-by-one of a loop."""
    for name in claim.letters:
        domain = claim.domains[name]
        if domain.kind != "integers":
            continue
        for moved in _longer(domain):
            yield replace(claim, domains={**claim.domains, name: moved})


def _longer(domain: Domain) -> Iterator[Domain]:
    if domain.lower is not None:
        earlier = tree.Add((domain.lower.tree, tree.Negate(ONE)))
        yield replace(domain, lower=Expression(earlier, f"{domain.lower.text} - 1"))
    if domain.upper is not None:
        yield replace(domain, upper=Expression(tree.Add((domain.upper.tree, ONE)), f"{domain.upper.text} + 1"))


CLAIM_OPERATORS: dict[str, Callable[[ScalarClaim], Iterator[ScalarClaim]]] = {
    "dropped hypothesis": drop_hypotheses,
    "off-by-one loop": longer_ranges,
}
