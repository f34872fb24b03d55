"""Variables that a function does not tell apart: a supremum is attained where their values are in order.

If exchanging any two variables of a class leaves the function, the box and every block of the derivative as they are,
the norm of the derivative at a point is that at the point with the values of the class sorted. So the part of the box
where they ascend carries the supremum: one of 120 parts of it for five variables. Where signs may change, too, it is a
chamber of these reflections: ascending with ``x_1 >= 0`` (any sign), or with ``x_1 + x_2 >= 0`` (two signs together:
make all but the least in absolute value positive).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from bilevel_verify.atoms.datasum import DataSum
from bilevel_verify.constants.formula.domain import Domain
from bilevel_verify.constants.formula.structure import Structure
from bilevel_verify.constants.search.branch import Alike


def interchangeable(structure: Structure, domain: Domain, blocks: Sequence[Sequence[int]]) -> tuple[Alike, ...]:
    """The classes of at least two variables.

    Parameters
    ----------
    blocks : numbers of the variables that each slot of the derivative sees.
    """
    if structure.rest is None or structure.rest.has(DataSum):
        return ()
    classes: list[list[int]] = []
    for i in range(len(structure.variables)):
        for members in classes:
            if _alike(structure, domain, blocks, members[0], i):
                members.append(i)
                break
        else:
            classes.append([i])
    found = [tuple(members) for members in classes if len(members) > 1]
    return tuple(Alike(members, _signs(structure, domain, members)) for members in found)


def positive(structure: Structure, domain: Domain, alike: Sequence[Alike]) -> tuple[int, ...]:
    """Variables that may be taken to be positive: each alone among them in a change of signs that alters nothing.

    Such changes (of one, of two, of all variables) make a group; elimination modulo 2 finds, for as many variables as
    possible, a change that turns this one and none of the others chosen. Variables of a class in ``alike`` are not
    chosen: its own order settles their signs, and moves no other variable.
    """
    n = len(structure.variables)
    if structure.rest is None or structure.rest.has(DataSum):
        return ()
    in_ridges = {i for ridge in structure.ridges for i, _ in ridge.row}
    free = [i for i in range(n) if i not in in_ridges]
    settled = {i for one in alike for i in one.members}
    rows: list[set[int]] = []
    pivots: list[int] = []
    for changed in [*itertools.combinations(free, 1), *itertools.combinations(free, 2), tuple(range(n))]:
        left = set(changed)
        for row, pivot in zip(rows, pivots, strict=True):
            left ^= row if pivot in left else set()
        choice = min(left - settled, default=None)
        if choice is None or not left <= set(free) or not _even(structure, domain, changed):
            continue
        rows = [row ^ left if choice in row else row for row in rows]
        rows.append(left)
        pivots.append(choice)
    return tuple(sorted(pivots))


def _signs(structure: Structure, domain: Domain, members: tuple[int, ...]) -> int:
    """How many signs of a class may change together: one, two, or none (0)."""
    for count in (1, 2):
        if _even(structure, domain, members[:count]):
            return count
    return 0


def _even(structure: Structure, domain: Domain, changed: tuple[int, ...]) -> bool:
    """Whether the other signs of some variables that stand in no ridge leave the function and the box as they are."""
    if any(domain.lo[i] != -domain.hi[i] or structure.linear.get(i, 0) != 0 for i in changed):
        return False
    if any((a in changed) != (b in changed) and entry != 0 for (a, b), entry in structure.quadratic.items()):
        return False
    turned = {structure.variables[i]: -structure.variables[i] for i in changed}
    return bool(structure.rest is None or structure.rest.xreplace(turned) == structure.rest)


def _alike(structure: Structure, domain: Domain, blocks: Sequence[Sequence[int]], i: int, j: int) -> bool:
    """Whether exchanging two variables changes nothing."""
    if domain.lo[i] != domain.lo[j] or domain.hi[i] != domain.hi[j]:
        return False
    if any((i in block) != (j in block) for block in blocks):
        return False
    if any({i, j} & {k for k, _ in ridge.row} for ridge in structure.ridges):
        return False  # a ridge with its mirror image would do; nobody has asked for it
    other = {i: j, j: i}
    if structure.linear.get(i, 0) != structure.linear.get(j, 0):
        return False
    for (a, b), entry in structure.quadratic.items():
        there = (other.get(a, a), other.get(b, b))
        if structure.quadratic.get((min(there), max(there)), 0) != entry:
            return False
    first, second = structure.variables[i], structure.variables[j]
    return bool(structure.rest is None or structure.rest.xreplace({first: second, second: first}) == structure.rest)
