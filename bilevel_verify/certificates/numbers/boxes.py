"""Branch and bound for a certificate: splits until the checker's own intervals show a relation on each leaf."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import sympy

from bilevel_check.intervals import Interval, shown
from bilevel_check.terms import WORK, Refused, Tree, tree, work
from bilevel_verify.certificates.finding import Certificate, accepted
from bilevel_verify.certificates.numbers.formulas import data_of_formula
from bilevel_verify.certificates.statement import NotStated

DEPTH = 50
"""Splits one below the other: the checker reads certificates of 60 levels."""
BITS = 64
EFFORT = 300_000
"""Counted steps of the checker's arithmetic that one search may take: half as many again as a certificate may cost."""

SLACKS = (Fraction(1, 10), Fraction(1, 100), Fraction(1, 1000), Fraction(1, 10**6))
"""Relative distances from a certified value, the weakest first: intervals do not show a bound attained inside a box."""
FEW, MANY = 60, 1_500
"""Most boxes for the value itself, and for a weaker one."""

Ranges = Mapping[str, Interval]
T = TypeVar("T")


class NoTree(Exception):
    """The intervals do not show the relation on a tree of the size asked for; or there is no word for it."""


@dataclass(frozen=True, slots=True)
class Relation:
    """``small op large`` for all values of the letters in their ranges; ``op`` is ``<=`` or ``<``."""

    small: sympy.Expr
    op: str
    large: sympy.Expr
    ranges: Ranges

    def claim(self) -> list[Any]:
        """The relation as data of a certificate.

        Raises
        ------
        NotStated : a function that certificates have no word for.
        """
        return [self.op, data_of_formula(self.small), data_of_formula(self.large)]


def certificate_on_box(relation: Relation, about: Mapping[str, str], most: int) -> Certificate:
    """A certificate of the relation by a tree of at most ``most`` boxes, accepted by ``bilevel_check``.

    Raises
    ------
    NoTree : why there is none.
    """
    try:
        claim = relation.claim()
    except NotStated as reason:
        raise NoTree(str(reason)) from None
    return certificate_in_ranges(claim, relation.ranges, about, most)


def certificate_in_ranges(claim: list[Any], ranges: Ranges, about: Mapping[str, str], most: int) -> Certificate:
    """The same for a relation that is data of a certificate already: ``["<=" or "<", small, large]``.

    Raises
    ------
    NoTree : why there is none.
    """
    told = {"about": dict(about), "statement": {"letters": {}, "hypotheses": [], "claim": claim}}
    if not ranges and (found := accepted({**told, "proof": [["known", claim]]})):
        return found  # rational arithmetic, which has no rounding: equal sides are seen to be equal
    try:
        sides = tree(claim[1]), tree(claim[2])
        work.left = EFFORT
        splits = _splits(claim[0], sides, dict(ranges), most)
    except Refused as reason:
        raise NoTree(str(reason)) from None
    finally:
        work.left = WORK
    ends = {name: (name, str(low), str(high)) for name, (low, high) in ranges.items()}
    hypotheses = [one for name, low, high in ends.values() for one in ([">=", name, low], ["<=", name, high])]
    known = [["hypothesis", place] for place in range(len(hypotheses))]
    statement = {"letters": dict.fromkeys(ends, "real"), "hypotheses": hypotheses, "claim": claim}
    for signs in ([], _signs(ranges, ends)):
        proof = [*known, *signs, ["boxes", claim, ends, splits]]
        found = accepted({"about": dict(about), "statement": statement, "proof": proof})
        if found is not None:
            return found
    raise NoTree("the checker refuses the statement")


def _signs(ranges: Ranges, ends: Mapping[str, tuple[str, str, str]]) -> list[Any]:
    """Lines that say of a letter whose range leaves out 0 on which side of it it lies: what is divided by it exists."""
    sides = [(name, [0, name] if low > 0 else [name, 0]) for name, (low, high) in ranges.items() if low > 0 or high < 0]
    return [["boxes", ["<", *order], {name: ends[name]}, None] for name, order in sides]


def tightest(attempt: Callable[[Fraction, int], T]) -> tuple[T | None, str]:
    """What ``attempt(slack, boxes)`` gives for the value itself, else for the smallest slack; None with the reason."""
    try:
        return attempt(Fraction(0), FEW), ""
    except NoTree:
        found, reason = None, ""
    for slack in SLACKS:
        try:
            found = attempt(slack, MANY)
        except NoTree as error:
            reason = str(error)
            break
    return found, reason if found is None else ""


def _splits(relation: str, sides: tuple[Tree, Tree], box: dict[str, Interval], most: int) -> Any:
    """The tree of splits ``[letter, place, below, above]``, None a leaf; the widest letter is halved.

    Raises
    ------
    NoTree : more than ``most`` leaves, or boxes that no longer shrink.
    """
    op = ">" if relation == "<" else ">="
    whole = {name: high - low or Fraction(1) for name, (low, high) in box.items()}
    leaves = 0

    def split(here: dict[str, Interval], depth: int) -> Any:
        nonlocal leaves
        if _leaf(op, sides, here):
            leaves += 1
            return None
        name = max(here, key=lambda letter: (here[letter][1] - here[letter][0]) / whole[letter], default="")
        if not name or depth == 0 or leaves + DEPTH - depth > most or here[name][0] == here[name][1]:
            raise NoTree(f"no tree of {most} boxes")
        low, high = here[name]
        middle = (low + high) / 2
        below = split({**here, name: (low, middle)}, depth - 1)
        return [name, str(middle), below, split({**here, name: (middle, high)}, depth - 1)]

    return split(box, DEPTH)


def _leaf(op: str, sides: tuple[Tree, Tree], box: dict[str, Interval]) -> bool:
    """Whether the checker's intervals show the relation on one box; a side not seen to be defined is no."""
    try:
        return shown(op, *sides, box, BITS)
    except Refused:
        if work.left < 0:  # the effort is spent, which is no word about the box
            raise
        return False
