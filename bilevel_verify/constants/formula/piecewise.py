"""One-variable Piecewise functions: exact smoothness at the joints, ranges branch by branch."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
import sympy
from sympy import Expr
from sympy.core.relational import Relational

from bilevel_verify.atoms.functions import AtomFunction, abspow, pluspow, sgnpow
from bilevel_verify.constants.formula.flat import flat_branch
from bilevel_verify.constants.formula.scalars import composite
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.scalar import EXTRA, Direct, Scalar, WeightedPolynomial
from bilevel_verify.numbers.rounding import enclose

DEEPEST = 6
"""Highest derivative whose continuity is examined at the joints of a Piecewise."""


class PiecewiseScalar(Direct):
    """Branches on consecutive intervals; ``smooth`` continuous derivatives.

    ``breaks``: joint -> order of the first derivative that is not continuous there.
    """

    def __init__(
        self, node: sympy.Expr, variable: sympy.Symbol, joints: list[Expr], convert: Callable[[Expr], Scalar | None]
    ) -> None:
        self.node, self.name = node, str(node)
        orders = {joint: first_mismatch(node, variable, joint) for joint in joints}
        broken = [order for order in orders.values() if order is not None]
        self.smooth = min(broken) - 1 if broken else math.inf
        self.breaks = {joint: order for joint, order in orders.items() if order is not None}
        ends = [-sympy.oo, *joints, sympy.oo]
        self.pieces: list[tuple[float, float, Scalar | None]] = []
        for left, right in itertools.pairwise(ends):
            branch = branch_at(node, variable, _inside(left, right))
            function = None if branch is None or not branch.free_symbols else convert(branch)
            self.pieces.append((enclose(left)[0], enclose(right)[1], function))
        self.values = [branch_at(node, variable, _inside(a, b)) for a, b in itertools.pairwise(ends)]

    def range(self, order: int, t: Interval) -> Interval:
        low, high = np.full(t.lo.shape, np.inf), np.full(t.hi.shape, -np.inf)
        for (left, right, function), branch in zip(self.pieces, self.values):
            inside = (t.hi >= left) & (t.lo <= right)
            if not inside.any():
                continue
            clipped = Interval(np.clip(t.lo, left, right), np.clip(t.hi, left, right))
            if function is not None:
                value = function.range(order, clipped)
            else:
                a, b = enclose(branch) if order == 0 and branch is not None else (0.0, 0.0)
                value = Interval(np.full(t.lo.shape, a), np.full(t.hi.shape, b))
            low = np.where(inside, np.minimum(low, value.lo), low)
            high = np.where(inside, np.maximum(high, value.hi), high)
        return Interval(low, high)


REGISTRY: list[PiecewiseScalar] = []
"""One-variable Piecewise functions in use; the atom ``pieced(n, t)`` stands for number n."""


EXTRA["pieced"] = lambda number: REGISTRY[int(number)]


class pieced(AtomFunction):
    """A registered Piecewise function of one affine argument, as an atom of the jets."""

    atom = "pieced"
    nargs = 2


def registered(node: sympy.Expr, variable: sympy.Symbol, rewrite: Callable[[Expr], Expr]) -> Expr | None:
    """The atom for a Piecewise in one variable, None if its joints are not simple."""
    t = sympy.Symbol("t", real=True)
    body = node.subs(variable, t)
    scale = _scale(body, t)
    if scale != 1:
        body = _tidy(body.subs(t, scale * t))
        inner: Expr = variable / scale
    else:
        inner = variable
    for number, known in enumerate(REGISTRY):
        if known.node == body:
            return pieced(sympy.Integer(number), inner)
    joints = joints_of(body, t)
    if joints is None or body.free_symbols != {t}:
        return None
    REGISTRY.append(PiecewiseScalar(body, t, joints, lambda branch: branch_scalar(rewrite(branch), t)))
    return pieced(sympy.Integer(len(REGISTRY) - 1), inner)


def _scale(body: sympy.Expr, t: sympy.Symbol) -> Expr:
    """A joint that is not rational sets the unit of the argument: in that unit the other numbers may be rational."""
    for joint in joints_of(body, t) or []:
        if not joint.is_Rational and joint != 0:
            return abs(joint)
    return sympy.Integer(1)


def _tidy(body: sympy.Expr) -> sympy.Expr:
    """Cancel the unit in every branch and condition."""
    pairs = []
    for branch, condition in body.args:
        cancelled = condition
        for relation in condition.atoms(Relational):
            gap = sympy.radsimp(sympy.expand(relation.lhs - relation.rhs))
            cancelled = cancelled.xreplace({relation: relation.func(gap, 0)})
        pairs.append((branch.replace(sympy.exp, lambda e: sympy.exp(sympy.radsimp(sympy.cancel(e)))), cancelled))
    return sympy.Piecewise(*pairs)


def _inside(left: Expr, right: Expr) -> Expr:
    if left == -sympy.oo:
        return sympy.Integer(0) if right == sympy.oo else right - 1
    return left + 1 if right == sympy.oo else (left + right) / 2


def _unfolded(gap: Expr) -> list[Expr]:
    """A difference with absolute values, for both signs of each."""
    forms = [gap]
    for node in sorted(gap.atoms(sympy.Abs, abspow), key=str):
        if isinstance(node, abspow) and node.parameters[0] != 1:
            continue
        inner = node.args[-1]
        forms = [form.xreplace({node: sign * inner}) for form in forms for sign in (1, -1)]
    return [sympy.expand(form) for form in forms]


def joints_of(node: sympy.Expr, variable: sympy.Symbol) -> list[Expr] | None:
    """Where conditions change or an absolute value inside a branch turns; None if that is not an affine question."""
    found: set[Expr] = set()
    gaps = [g for _, condition in node.args for r in condition.atoms(Relational) for g in _unfolded(r.lhs - r.rhs)]
    gaps += [kink.args[-1] for branch, _ in node.args for kink in branch.atoms(sympy.Abs, abspow, sgnpow, pluspow)]
    for gap in gaps:
        gap = sympy.expand(gap)
        if not gap.is_polynomial(variable) or sympy.Poly(gap, variable).degree() != 1:
            return None
        found.add(-gap.coeff(variable, 0) / gap.coeff(variable, 1))
    return sorted(found, key=lambda v: enclose(v)[0])


def first_mismatch(node: sympy.Expr, variable: sympy.Symbol, joint: Expr, orders: int = DEEPEST) -> int | None:
    """Lowest of some orders at which the branches left and right of a joint differ (None: none of them).

    A limit that cannot be taken counts as a mismatch: smoothness is only claimed where it was shown.
    """
    near = [j for j in joints_of(node, variable) or [] if j != joint]
    gap = min([abs(joint - j) for j in near], default=sympy.Integer(2), key=lambda v: enclose(v)[0]) / 2
    left, right = (branch_at(node, variable, joint + side * gap) for side in (-1, 1))
    here = branch_at(node, variable, joint)
    if left is None or right is None or here is None:
        return 0
    if here not in (left, right) and sympy.simplify(
        here.subs(variable, joint) - _one_sided(left, variable, 0, joint, "-")
    ):
        return 0  # a value of its own
    for order in range(orders):
        try:
            values = [_one_sided(branch, variable, order, joint, side) for branch, side in ((left, "-"), (right, "+"))]
        except (ValueError, NotImplementedError, ArithmeticError, RecursionError):
            return order
        if sympy.simplify(values[0] - values[1]) != 0:
            return order
    return None


def is_joined_smoothly(node: sympy.Piecewise, order: int = 1) -> bool:
    """Whether a Piecewise of one affine form is continuous with its derivatives up to an order.

    False where that is not shown.
    """
    borders = [sympy.expand(relation.lhs - relation.rhs) for relation in node.atoms(Relational)]
    variable = next((s for b in borders for s in sorted(b.free_symbols, key=str) if b.diff(s).is_number), None)
    if variable is None:
        return False
    border = next(b for b in borders if b.diff(variable).is_number)
    slope, form = border.diff(variable), sympy.Symbol("t", real=True)
    rest = border.subs(variable, 0)
    node = node.subs(variable, (form - rest + rest.subs(dict.fromkeys(rest.free_symbols, 0))) / slope)
    node = node if node.free_symbols == {form} else sympy.expand(node)
    return node.free_symbols == {form} and _is_smooth(node, form, order)


@lru_cache(maxsize=1024)
def _is_smooth(node: sympy.Expr, variable: sympy.Symbol, order: int) -> bool:
    joints = joints_of(node, variable)
    return joints is not None and all(first_mismatch(node, variable, joint, order + 1) is None for joint in joints)


def _one_sided(branch: Expr, variable: sympy.Symbol, order: int, joint: Expr, side: str) -> Expr:
    flat = flat_branch(branch, variable)
    decays = flat is not None and (flat.power == 2 or side == "+")
    if flat is not None and decays and joint == sympy.Rational(flat.start.numerator, flat.start.denominator):
        return sympy.Integer(0)  # flat at the joint: every one-sided derivative vanishes
    derivative = sympy.diff(branch, variable, order)
    if derivative.is_polynomial(variable):
        return derivative.subs(variable, joint)
    return sympy.limit(derivative, variable, joint, side)


def branch_at(node: sympy.Expr, variable: sympy.Symbol, where: Expr) -> Expr | None:
    """The branch in force at a point, absolute values resolved by their sign there."""
    for branch, condition in node.args:
        if condition == sympy.true or condition.subs(variable, where) == sympy.true:
            return branch.xreplace({kink: _resolved(kink, variable, where) for kink in _kinks(branch)})
    return None


def _kinks(branch: Expr) -> list[sympy.Expr]:
    return sorted(branch.atoms(sympy.Abs, abspow, sgnpow, pluspow), key=str)


def _resolved(kink: sympy.Expr, variable: sympy.Symbol, where: Expr) -> Expr:
    inner = kink.args[-1]
    positive = bool(inner.subs(variable, where) > 0)
    size = inner if positive else -inner
    if isinstance(kink, sympy.Abs):
        return size
    power = size ** kink.parameters[0]
    if isinstance(kink, pluspow):
        return power if positive else sympy.Integer(0)
    return -power if isinstance(kink, sgnpow) and not positive else power


def branch_scalar(branch: Expr, t: sympy.Symbol) -> Scalar:
    """A branch as a function of one variable: flat at a point, polynomial, or by subdivision."""
    flat = flat_branch(branch, t)
    return flat or _polynomial(branch, t) or composite(branch, t)


def _polynomial(branch: Expr, t: sympy.Symbol) -> Scalar | None:
    if not branch.is_polynomial(t):
        return None
    coefficients = list(reversed(sympy.Poly(branch, t).all_coeffs()))
    if not all(c.is_Rational for c in coefficients) or len(coefficients) > 12:
        return None
    return WeightedPolynomial("rational", tuple(Fraction(int(c.p), int(c.q)) for c in coefficients))
