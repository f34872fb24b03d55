"""Relations on the cells between the joints of branches: on each cell a formula without branches is left.

Joints are those of ``Piecewise``, ``Abs``, ``Max``, ``Min``, ``sign`` and Huber's function where these depend on one
letter in a linear way. At a joint itself the formula of either side may be looked at: a bound of a second derivative
that holds on both sides is one of the Lipschitz constant where the gradient is continuous.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import pairwise, product

import sympy
from sympy.core.relational import Relational

from bilevel_verify.atoms.pieces import huber_d
from bilevel_verify.certificates.numbers.relations import NoTree, Range, Relation

PLACES = 10**12
"""A joint that is not rational is overlapped by twice 1/PLACES."""
HEADS = (sympy.Piecewise, sympy.Abs, sympy.Max, sympy.Min, sympy.sign)
MOST_CELLS = 40


def cells(relation: Relation) -> list[Relation]:
    """The relation on each cell; itself alone where it has no branches.

    Raises
    ------
    NoTree : branches that depend on several letters, or not linearly; too many cells.
    """
    gap = (relation.large - relation.small).replace(huber_d, _huber)
    joints: dict[str, set[sympy.Expr]] = {}
    for edge in _edges(gap):
        letter, joint = _joint(edge)
        joints.setdefault(letter, set()).add(joint)
    if not joints:
        return [replace(relation, small=sympy.S.Zero, large=gap)] if gap.has(*HEADS) else [relation]
    parts = {name: list(_parts(relation.ranges[name], found)) for name, found in joints.items()}
    if reduce(lambda count, one: count * len(one), parts.values(), 1) > MOST_CELLS:
        raise NoTree(f"branches with more than {MOST_CELLS} cells")
    return [_on_cell(relation, gap, dict(zip(parts, cell))) for cell in product(*parts.values())]


def _huber(order: sympy.Expr, delta: sympy.Expr, t: sympy.Expr) -> sympy.Expr:
    """Huber's derivatives: a clipped identity, an indicator."""
    if order == 1:
        return sympy.Max(-delta, sympy.Min(t, delta))
    return sympy.Piecewise((0, t <= -delta), (1, t <= delta), (0, True))


def _edges(gap: sympy.Expr) -> Iterator[sympy.Expr]:
    """Expressions whose signs choose the branches."""
    for node in gap.atoms(*HEADS):
        if isinstance(node, sympy.Piecewise):
            for _, condition in node.args:
                yield from (one.lhs - one.rhs for one in sympy.sympify(condition).atoms(Relational))
        elif isinstance(node, sympy.Abs | sympy.sign):
            yield node.args[0]
        else:
            yield from (one - other for one in node.args for other in node.args if str(one) < str(other))


def _joint(edge: sympy.Expr) -> tuple[str, sympy.Expr]:
    """The letter of a linear expression, and where the expression is 0."""
    letters = edge.free_symbols
    if len(letters) != 1:
        raise NoTree("branches that depend on several letters")
    [letter] = letters
    slope = sympy.diff(edge, letter)
    if slope.free_symbols or slope == 0:
        raise NoTree("branches with joints that no linear equation gives")
    return letter.name, -edge.subs(letter, 0) / slope


def _parts(whole: Range, joints: set[sympy.Expr]) -> Iterator[tuple[Range, Fraction]]:
    """The cells of a letter, the ends of each rounded outward, with a point inside."""
    low, high = whole
    inside = sorted((j for j in joints if (low is None or j > low) and (high is None or j < high)), key=sympy.N)
    ends = [low, *inside, high]
    for one, other in pairwise(ends):
        below, above = _rounded(one, -1), _rounded(other, 1)
        if below is not None and above is not None:
            point = (below + above) / 2
        else:
            point = above - 1 if above is not None else below + 1 if below is not None else Fraction(0)
        yield (below, above), point


def _rounded(end: Fraction | sympy.Expr | None, way: int) -> Fraction | None:
    if end is None or isinstance(end, Fraction):
        return end
    if end.is_Rational:
        return Fraction(int(end.p), int(end.q))
    return Fraction(int(sympy.floor(end * PLACES)) + (way > 0), PLACES)


def _on_cell(relation: Relation, gap: sympy.Expr, cell: dict[str, tuple[Range, Fraction]]) -> Relation:
    """The relation on one cell, with the branches that hold there."""
    points = {
        letter: sympy.Rational(cell[letter.name][1].numerator, cell[letter.name][1].denominator)
        for letter in gap.free_symbols
        if letter.name in cell
    }
    while gap.has(*HEADS):
        node = next(one for one in gap.atoms(*HEADS) if not any(part.has(*HEADS) for part in one.args))
        gap = gap.xreplace({node: _branch(node, points)})
    ranges = {**relation.ranges, **{name: found for name, (found, _) in cell.items()}}
    return replace(relation, small=sympy.S.Zero, large=gap, ranges=ranges)


def _branch(node: sympy.Expr, points: dict[sympy.Symbol, sympy.Rational]) -> sympy.Expr:
    """What a node is around a point."""
    if isinstance(node, sympy.Piecewise):
        return next(formula for formula, condition in node.args if sympy.sympify(condition).subs(points) == sympy.true)
    if isinstance(node, sympy.Abs | sympy.sign):
        sign = sympy.sign(node.args[0].subs(points))
        return sign * node.args[0] if isinstance(node, sympy.Abs) else sign
    best = max if isinstance(node, sympy.Max) else min
    return best(node.args, key=lambda part: part.subs(points))
