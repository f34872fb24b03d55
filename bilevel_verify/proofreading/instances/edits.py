"""A formula with one small thing changed: what a slip of the pen changes, undone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from bilevel_verify.language import tree
from bilevel_verify.proofreading.joints.nearly import neighbours, renamings
from bilevel_verify.theorems.rewrite import negated, with_child

LIKELY = tuple(Fraction(n, d) for n, d in ((2, 1), (1, 2), (4, 1), (1, 4)))
"""Factors that most slips have."""
FACTORS = (*LIKELY, Fraction(3), Fraction(1, 3))
TWO, ONE = Fraction(2), Fraction(1)
SIZED = ("norm", "norm_2", "dual_norm", "abs")
NAMES = "names"
"""Edits that need equality: another index, letter or end of a sum."""


@dataclass(frozen=True, slots=True)
class Edit:
    """The changed formula, what stood there, what stands there now, and the sort of the change."""

    whole: tree.Node
    old: tree.Node
    new: tree.Node
    sort: str


def edits(node: tree.Node, letters: tuple[str, ...], bases: tuple[str, ...], names: bool) -> Iterator[Edit]:
    """Every edit of a formula; with ``names`` also of indices, letters and ends of sums."""
    for new, sort in _of_values(node):
        yield Edit(new, node, new, sort)
    if isinstance(node, tree.Add):
        yield from _of_terms(node, letters)
    if names:
        for new in renamings(node, bases, letters, partial(neighbours, steps=(1, -1, 2, -2))):
            yield Edit(new, node, new, NAMES)
    if isinstance(node, tree.Index):
        return
    for place, child in enumerate(node.children()):
        raised = isinstance(node, tree.Power) and place == 1 and isinstance(child, tree.Number)
        if raised or isinstance(child, tree.Tuple):
            continue
        for one in edits(child, letters, bases, names):
            yield Edit(with_child(node, place, one.whole), one.old, one.new, one.sort)


def _of_values(node: tree.Node) -> Iterator[tuple[tree.Node, str]]:
    match node:
        case tree.Number(value=value):
            steps = {value + 1, value - 1, *(value * f for f in FACTORS)}
            yield from ((tree.Number(v), "number") for v in sorted(steps) if v > 0 and (v * 16).denominator == 1)
        case tree.Power(base=base, exponent=tree.Number(value=value)):
            steps = {v for v in (value + 1, value - 1, value * 2) if v > 1}
            yield from ((tree.Power(base, tree.Number(v)), "exponent") for v in sorted(steps))
            yield base, "exponent"
        case tree.Divide(numerator=top, denominator=tree.Add() as bottom):
            yield tree.Divide(top, tree.Power(bottom, tree.Number(TWO))), "exponent"
        case tree.Call(function=name) if name in SIZED:
            yield tree.Power(node, tree.Number(TWO)), "exponent"
        case tree.Power(base=base, exponent=exponent) if not isinstance(exponent, tree.Number):
            yield tree.Power(base, negated(exponent)), "exponent"


def _of_terms(node: tree.Add, letters: tuple[str, ...]) -> Iterator[Edit]:
    """A term of a sum with another sign or factor."""
    terms = node.terms
    for place, term in enumerate(terms):
        changed = [(negated(term), "sign")]
        changed += [(tree.Multiply((tree.Number(f), term)), "number") for f in FACTORS]
        for name in letters:
            changed += [(tree.Multiply((tree.Letter(name), term)), "letter"),
                        (tree.Divide(term, tree.Letter(name)), "letter")]  # fmt: skip
        for new, sort in changed:
            yield Edit(replace(node, terms=(*terms[:place], new, *terms[place + 1 :])), term, new, sort)
