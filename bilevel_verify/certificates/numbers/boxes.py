"""Branch and bound for a certificate: splits until the checker's own intervals show a relation on each leaf."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeVar

import sympy

from bilevel_check.intervals import Interval, shown
from bilevel_check.terms import WORK, Refused, Tree, letters, tree, work
from bilevel_verify.certificates.finding import Certificate, accepted
from bilevel_verify.certificates.numbers.branches import cells
from bilevel_verify.certificates.numbers.relations import NoTree, Ranges, Relation
from bilevel_verify.certificates.numbers.values import Value, in_values
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

T = TypeVar("T")


def certificates_on_cells(relation: Relation, about: Mapping[str, str], most: int) -> list[Certificate]:
    """Certificates of the relation, one for each cell between the joints of its branches.

    Raises
    ------
    NoTree : why one has none.
    """
    try:
        parts = cells(relation)
    except NoTree:
        if (relation.large - relation.small).has(sympy.Piecewise):
            raise
        parts = [relation]  # intervals know absolute values and maxima
    return [certificate_on_box(one, about, most) for one in parts]


def certificate_on_box(relation: Relation, about: Mapping[str, str], most: int) -> Certificate:
    """A certificate of the relation by a tree of at most ``most`` boxes, accepted by ``bilevel_check``.

    Raises
    ------
    NoTree : why there is none.
    """
    try:
        claim = relation.claim()
        inside, values = in_values(relation)
        goal = inside.claim()
    except NotStated as reason:
        raise NoTree(str(reason)) from None
    return certificate_in_ranges(claim, relation.ranges, about, most, (goal, values))


def certificate_in_ranges(
    claim: list[Any],
    ranges: Ranges,
    about: Mapping[str, str],
    most: int,
    inside: tuple[list[Any], Mapping[str, Value]] | None = None,
) -> Certificate:
    """The same for a relation that is data of a certificate already: ``["<=" or "<", small, large]``.

    ``inside`` is the relation, the same or one that says the same, in letters with two ends and in values.

    Raises
    ------
    NoTree : why there is none.
    """
    told = {"about": dict(about), "statement": {"letters": {}, "hypotheses": [], "claim": claim}}
    if not ranges and (found := accepted({**told, "proof": [["known", claim]]})):
        return found  # rational arithmetic, which has no rounding: equal sides are seen to be equal
    goal, values = inside or (claim, {})
    box = {name: (low, high) for name, (low, high) in ranges.items() if low is not None and high is not None}
    whole = {**box, **{name: (Fraction(one.low), Fraction(one.high)) for name, one in values.items()}}
    try:
        sides = tree(goal[1]), tree(goal[2])
        used = letters(sides[0]) | letters(sides[1])
        work.left = EFFORT
        splits = _splits(goal[0], sides, {name: ends for name, ends in whole.items() if name in used}, most)
    except Refused as reason:
        raise NoTree(str(reason)) from None
    finally:
        work.left = WORK
    hypotheses = ends_of(ranges)
    known = [["hypothesis", place] for place in range(len(hypotheses))]
    statement = {"letters": dict.fromkeys(ranges, "real"), "hypotheses": hypotheses, "claim": claim}
    ends = {
        name: [values[name].tree if name in values else name, str(low), str(high)]
        for name, (low, high) in whole.items()
    }
    shown = [line for one in values.values() for line in one.lines]
    for signs in ([], _signs(box)):
        proof = [*known, *signs, *shown, ["boxes", goal, ends, splits]]
        last = ["identity", claim, [[1, [len(proof) - 1], []]]]
        found = accepted({"about": dict(about), "statement": statement, "proof": [*proof, *([last] if values else [])]})
        if found is not None:
            return found
    raise NoTree("the checker refuses the statement")


def ends_of(ranges: Ranges) -> list[Any]:
    """The ends of the letters as hypotheses."""
    both = [(op, name, end) for name, found in ranges.items() for op, end in zip((">=", "<="), found)]
    return [[op, name, str(end)] for op, name, end in both if end is not None]


def _signs(box: Mapping[str, Interval]) -> list[Any]:
    """Lines that say of a letter whose range leaves out 0 on which side of it it lies: what is divided by it exists."""
    sides = [(name, [0, name] if low > 0 else [name, 0]) for name, (low, high) in box.items() if low > 0 or high < 0]
    return [["boxes", ["<", *order], {name: [name, *map(str, box[name])]}, None] for name, order in sides]


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
