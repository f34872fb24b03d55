"""What the text before a step says of inner products, norms and differences that stand in the step.

An equation is put in for what it is about, at the indices of the step; a bound is put in as if it were reached, which
its hypotheses allow: a step that follows from the bound holds there, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from bilevel_verify.language import tree
from bilevel_verify.proofreading.instances.entries import as_entries
from bilevel_verify.proofreading.joints.carrying import EQUAL, Bounded, bounds_of
from bilevel_verify.proofreading.joints.quoting import fitted, renamed
from bilevel_verify.proofreading.source import PROMISES, Paper, Passage
from bilevel_verify.theorems.rewrite import rebuild

MOST_KNOWN = 40
ABOUT = ("dot", "norm")


def known_before(paper: Paper, passage: Passage, place: int, entries: Mapping[str, tree.Index]) -> list[Bounded]:
    """Relations before the formula with number ``place``: of the same passage, and equations of statements.

    ``entries`` are letters that stand for entries of sequences.
    """
    found: dict[tuple[tree.Node, str], Bounded] = {}
    for one in islice(_before(paper, passage, place), MOST_KNOWN):
        left, right = (as_entries(side, entries) for side in (one.left, one.right))
        found.setdefault((left, one.op), Bounded(left, one.op, right))
    return list(found.values())


def _before(paper: Paper, passage: Passage, place: int) -> Iterator[Bounded]:
    stated = (p for p in paper.passages if p.kind in PROMISES and passage.kind == "proof")
    for one in (passage, *stated):
        for sentence in reversed(one.formulas):
            if sentence.read.formula.n < place:
                lasts = {bound.left: bound for bound in bounds_of(sentence)}  # of each chain first and last member
                for bound in lasts.values():
                    if _is_about(bound.left) and (one is passage or bound.op in EQUAL):
                        yield bound
                    if bound.op in EQUAL and is_form(bound.left) and is_form(bound.right):  # either for the other
                        yield bound
                        yield Bounded(bound.right, bound.op, bound.left)


def _is_about(node: tree.Node) -> bool:
    """Whether a side is an inner product, a norm or a power of one, or a difference of entries."""
    match node:
        case tree.Call(function=name):
            return name in ABOUT
        case tree.Power(base=tree.Call(function="norm")):
            return True
        case tree.Add(terms=(tree.Index(), tree.Negate(operand=tree.Index()))):
            return True
    return False


def is_form(node: tree.Node) -> bool:
    """Whether a side is a product that begins with a transposed vector, ``p^T A r``."""
    while isinstance(node, tree.MatrixMultiply):
        node = node.left
        if isinstance(node, tree.Call) and node.function == "T":
            return True
    return False


def put_in(paper: Paper, node: tree.Node, facts: Sequence[Bounded]) -> tree.Node:
    """A formula with what is known in the place of what it is about."""
    for one in facts:
        for turned in _turned(one.left):
            if type(turned) is type(node) and (binding := _fitted(paper, turned, node)) is not None:
                return renamed(one.right, binding)
    return rebuild(node, lambda part: put_in(paper, part, facts))


def met(paper: Paper, node: tree.Node, fact: Bounded) -> set[tree.Node]:
    """The parts of a formula for which a fact would be put in."""
    turned = list(_turned(fact.left))
    return {p for p in node.walk() for t in turned if type(t) is type(p) and _fitted(paper, t, p) is not None}


def _fitted(paper: Paper, pattern: tree.Node, node: tree.Node) -> dict[str, tree.Node] | None:
    """As ``fitted``, but what the paper sets equal to something, ``v = H^{-1} b``, stands for itself alone."""
    binding = fitted(paper, pattern, node)
    moved = {n for n, value in (binding or {}).items() if value != tree.Letter(n)}
    return None if moved & paper.valued else binding


def _turned(node: tree.Node) -> Iterator[tree.Node]:
    yield node
    match node:
        case tree.Call(function="dot", arguments=(left, right)):
            yield tree.Call("dot", (right, left))
