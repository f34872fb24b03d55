"""``2(k + 1)^2 - (k + 1)(k + 2) = k(k + 1)``: an equation between sums and products of one running letter.

Both sides are multiplied out at whole numbers, exactly. What defines a letter, is supposed or solved for is left alone,
and so is what holds at one of the numbers, or has the letter on one side only: it may be a condition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.parameters import NEW
from bilevel_verify.proofreading.names.closed_forms import value_at
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems.rewrite import free_letters

POINTS = (2, 3, 5, 7, 12)
MOST_POWER = 6
IMAGINARY = frozenset({"i", "j"})
"""What may be the root of -1."""
SUPPOSED = re.compile(
    r"\b(?:if|when|whenever|unless|until|solv\w+|equation|root|suppos\w+|assum\w+)\b[^.;]{0,60}\Z", re.I
)


def identity_defects(paper: Paper) -> Iterator[Defect]:
    """Equations of one running letter, or of numbers alone, that hold nowhere."""
    for sentence in paper.sentences:
        if (
            sentence.read.formula.kind == "algorithm-line"
            or SUPPOSED.search(sentence.before)
            or NEW.search(sentence.before)
        ):
            continue
        for left, right in _equations(sentence):
            letters = free_letters(left)
            if len(letters) > 1 or free_letters(right) != letters or not letters <= paper.notation.indices - IMAGINARY:
                continue
            name = next(iter(letters), "")
            values = [{name: Fraction(n)} for n in POINTS] if name else [{}]
            found = [(v.get(name), value_at(left, v), value_at(right, v)) for v in values]
            if all(one is not None and other is not None and one != other for _, one, other in found):
                yield _defect(sentence, left, right, name, found[0])


def _defect(
    sentence: Sentence,
    left: tree.Node,
    right: tree.Node,
    name: str,
    shown: tuple[Fraction | None, Fraction | None, Fraction | None],
) -> Defect:
    at = f" at {name} = {shown[0]}" if name else ""
    title = f"{to_text(left)} is not {to_text(right)}: {shown[1]} and {shown[2]}{at}"
    return Defect("total", sentence.place, title, "local slip", sentence.latex, unit=sentence.unit)


def _equations(sentence: Sentence) -> Iterator[tuple[tree.Node, tree.Node]]:
    """Neighbours with ``=`` between them, neither of them a letter or a value, under no condition."""
    for chain in sentence.chains():
        for left, relation, right in chain.links() if not chain.conditions and not chain.word else ():
            if relation.word == "==" and _compound(left) and (_compound(right) or isinstance(right, tree.Number)):
                yield left, right


def _compound(node: tree.Node) -> bool:
    return isinstance(node, tree.Add | tree.Multiply | tree.Divide | tree.Power) and _is_plain(node)


def _is_plain(node: tree.Node) -> bool:
    """Whether only sums, products, quotients and small whole powers of letters and numbers stand in a formula."""
    if isinstance(node, tree.Power):
        power = tree.rational(node.exponent)
        return power is not None and power.denominator == 1 and abs(power) <= MOST_POWER and _is_plain(node.base)
    kinds = tree.Number | tree.Letter | tree.Add | tree.Negate | tree.Multiply | tree.Divide
    return isinstance(node, kinds) and all(map(_is_plain, node.children()))
