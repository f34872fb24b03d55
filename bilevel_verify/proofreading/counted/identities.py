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
            letters = free_letters(left) | free_letters(right)
            if (
                len(letters) > 1
                or not letters <= paper.notation.indices - IMAGINARY
                or free_letters(left) != free_letters(right)
            ):
                continue
            name = next(iter(letters), "")
            found = [(n, _value(left, name, n), _value(right, name, n)) for n in (POINTS if name else POINTS[:1])]
            if all(one is not None and other is not None and one != other for _, one, other in found):
                yield _defect(sentence, left, right, name, found[0])


def _defect(
    sentence: Sentence,
    left: tree.Node,
    right: tree.Node,
    name: str,
    shown: tuple[int, Fraction | None, Fraction | None],
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
    return isinstance(node, tree.Add | tree.Multiply | tree.Divide | tree.Power)


def _value(node: tree.Node, name: str, value: int) -> Fraction | None:
    """The value of sums, products, quotients and small whole powers; None for anything else."""
    parts = [_value(part, name, value) for part in node.children()]
    if any(part is None for part in parts):
        return None
    held = [part for part in parts if part is not None]
    match node:
        case tree.Number(value=number):
            return number
        case tree.Letter(name=letter):
            return Fraction(value) if letter == name else None
        case tree.Add():
            return sum(held, Fraction(0))
        case tree.Negate():
            return -held[0]
        case tree.Multiply():
            found = Fraction(1)
            for part in held:
                found *= part
            return found
        case tree.Divide():
            return held[0] / held[1] if held[1] else None
        case tree.Power() if held[1].denominator == 1 and abs(held[1]) <= MOST_POWER and (held[0] or held[1] > 0):
            return held[0] ** int(held[1])
    return None
