"""A bound that says more than what is cited gives: with one factor, letter or index changed it is derived exactly.

Exactly means without anything dropped: the derived right side is what comes out when the citations are carried out.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

from bilevel_verify.language import tree
from bilevel_verify.manuscript.comparing import Relation
from bilevel_verify.proofreading.instances.edits import LIKELY
from bilevel_verify.theorems.rewrite import with_child

DROPPED = ("a size", "a hypothesis")
"""Sources of derivations that drop a term, or use a bound that nobody cites."""
MOST_LETTERS, MOST_EDITS = 3, 32


def changed(step: Relation) -> Iterator[tuple[tree.Node, tree.Node, Relation]]:
    """What stands on the right side of a step, what would stand there, and the step with it."""
    for old, new, right in islice(_edits(step.right), MOST_EDITS):
        yield old, new, Relation(step.left, step.op, right)


def _edits(right: tree.Node) -> Iterator[tuple[tree.Node, tree.Node, tree.Node]]:
    terms = right.terms if isinstance(right, tree.Add) else (right,)
    for place, term in enumerate(terms):
        for new in _scaled(term):
            whole = tree.Add((*terms[:place], new, *terms[place + 1 :])) if len(terms) > 1 else new
            yield term, new, whole
    for factor in LIKELY if len(terms) > 1 else ():  # a factor of the left side
        new = tree.Multiply((tree.Number(factor), right))
        yield right, new, new
    yield from _moved(right)


def _scaled(term: tree.Node) -> Iterator[tree.Node]:
    for factor in LIKELY:
        yield tree.Multiply((tree.Number(factor), term))
    letters = sorted(p.name for p in set(term.walk()) if isinstance(p, tree.Letter) and len(p.name) < 8)
    for name in letters[:MOST_LETTERS]:
        yield tree.Multiply((tree.Letter(name), term))
        yield tree.Divide(term, tree.Letter(name))


def _moved(node: tree.Node) -> Iterator[tuple[tree.Node, tree.Node, tree.Node]]:
    """An entry with its last index one on or one back."""
    if isinstance(node, tree.Index) and not isinstance(node.indices[-1], tree.Number):
        for step in (1, -1):
            index = tree.Add((node.indices[-1], tree.Number(Fraction(step))))
            entry = tree.Index(node.base, (*node.indices[:-1], index))
            yield node, entry, entry
        return
    for place, child in enumerate(node.children()):
        for old, new, whole in _moved(child):
            yield old, new, with_child(node, place, whole)


def is_exact(sources: tuple[str, ...] | None, cited: frozenset[str]) -> bool:
    """Whether a derivation uses a citation and drops nothing."""
    if sources is None or not cited & {*sources}:
        return False
    return not any(s in DROPPED or s.startswith("the range") for s in sources)
