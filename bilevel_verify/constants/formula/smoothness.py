"""Where a formula loses smoothness: the first derivative that jumps or does not exist, and where."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import sympy
from sympy import Expr

from bilevel_verify.atoms import abspow, pluspow, sgnpow
from bilevel_verify.atoms.table import recognise
from bilevel_verify.constants.formula.domain import Domain
from bilevel_verify.constants.formula.inner import inner_of
from bilevel_verify.constants.formula.piecewise import PiecewiseScalar, first_mismatch, is_joined_smoothly, joints_of
from bilevel_verify.constants.formula.structure import Ridge, Structure
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.jet_arithmetic import JetArithmetic
from bilevel_verify.intervals.scalar import Derived, Huber, Power, Psi, Scalar, scalar
from bilevel_verify.numbers.rounding import enclose

JUMPING = (sympy.Piecewise, sympy.floor, sympy.ceiling, sympy.sign, sgnpow)
"""Functions whose value may jump."""


def may_jump(expression: Expr) -> bool:
    """Whether the value may jump somewhere, by its functions alone: then a derivative that vanishes proves nothing."""
    return bool(expression.has(*JUMPING))


def slope_may_jump(expression: Expr) -> bool:
    """Whether value or gradient may jump somewhere: then second derivatives prove nothing beyond a point.

    By the functions alone; a Piecewise of one affine form is examined at its joints.
    """
    powers = expression.atoms(abspow, pluspow)
    kinks = any((power.parameters[0] > 1) != sympy.true for power in powers)
    others = (sympy.floor, sympy.ceiling, sympy.sign, sgnpow, sympy.Abs, sympy.Max, sympy.Min)
    return kinks or bool(expression.has(*others)) or not all(map(is_joined_smoothly, expression.atoms(sympy.Piecewise)))


@dataclass(frozen=True, slots=True)
class Jump:
    """The derivative of order ``order`` is the first that is not continuous (it jumps, or does not exist).

    ``sure`` is False where only the proof of smoothness failed (so that an infinite constant is not certified).
    """

    order: int
    text: str
    where: dict[str, float] = field(default_factory=dict)
    sure: bool = True


def first_jump(structure: Structure, domain: Domain, blocks: tuple[tuple[int, ...], ...] = ()) -> Jump | None:
    """The worst loss of smoothness on the domain that a form with the given slots can see, None if there is none."""
    jumps = []
    for ridge in structure.ridges:
        members = {i for i, _ in ridge.row}
        if all(members & set(block) for block in blocks):
            jump = _ridge_jump(ridge, structure, domain)
            if jump is not None:
                jumps.append(jump)
    if len(jumps) > 1:
        jumps = [Jump(j.order, j.text, j.where, False) for j in jumps]  # several kinks might cancel
    if structure.rest is not None:
        jumps += list(_rest_jumps(structure, domain))
    return min(jumps, key=lambda j: (j.order, j.sure)) if jumps else None


def kinks(function: Scalar, low: float = -math.inf, high: float = math.inf) -> tuple[float, list[float] | None]:
    """Number of continuous derivatives on ``[low, high]`` and the inner places that limit it (None: odd integers)."""
    if isinstance(function, Derived):
        smooth, places = kinks(function.base, low, high)
        return smooth - function.order, places
    if isinstance(function, Psi):
        return (2, None) if function.nu == 0 else (3, None)
    breaks = [(smooth, place) for smooth, place in _breaks(function) if place[1] > low and place[0] < high]
    least = min((smooth for smooth, _ in breaks), default=math.inf)
    return least, [0.5 * (a + b) for smooth, (a, b) in breaks if smooth == least]


def _breaks(function: Scalar) -> list[tuple[float, tuple[float, float]]]:
    """(number of continuous derivatives there, enclosure of the place) for every kink."""
    if isinstance(function, Power):
        return [(function.smooth, (0.0, 0.0))] if math.isfinite(function.smooth) else []
    if isinstance(function, PiecewiseScalar):
        return [(order - 1, enclose(joint)) for joint, order in function.breaks.items()]
    if isinstance(function, Huber):
        return [(1, (sign * float(function.delta),) * 2) for sign in (-1, 1)]
    return []


def _ridge_jump(ridge: Ridge, structure: Structure, domain: Domain) -> Jump | None:
    low, high = _argument(ridge, domain)
    smooth, places = kinks(ridge.function, low, high)
    if math.isinf(smooth):
        return None
    row = sympy.Add(ridge.shift, *[c * structure.variables[i] for i, c in ridge.row])
    return _jump_of(ridge.function, smooth, places, str(row))


def _jump_of(function: Scalar, smooth: float, places: list[float] | None, argument: str) -> Jump:
    place = f"odd integers of {argument}" if places is None else f"{argument} = {places[0]:g}"
    if smooth < 0:
        return Jump(0, f"{function.name} itself jumps at {place}")
    return Jump(int(smooth) + 1, f"derivative {int(smooth) + 1} of {function.name} is not continuous at {place}")


def _argument(ridge: Ridge, domain: Domain) -> tuple[float, float]:
    total = Interval(*(np.asarray(v) for v in enclose(ridge.shift)))
    for i, c in ridge.row:
        factor = Interval(*(np.asarray(v) for v in enclose(c)))
        total = total + Interval(np.asarray(domain.lo[i]), np.asarray(domain.hi[i])) * factor
    return float(total.lo), float(total.hi)


def _rest_jumps(structure: Structure, domain: Domain) -> Iterator[Jump]:
    """Nonsmooth nodes inside the rest whose kink may lie in the domain."""
    assert structure.rest is not None
    for node in sympy.preorder_traversal(structure.rest):
        if isinstance(node, sympy.Piecewise):
            yield from _piecewise_jumps(node, structure, domain)
        elif isinstance(node, sympy.Max | sympy.Min):
            yield Jump(1, f"derivative 1 of {node} may jump where its arguments meet", sure=False)
        elif isinstance(node, sympy.Heaviside | sympy.floor | sympy.ceiling):
            yield Jump(0, f"{node} itself may jump", sure=False)
        else:
            yield from _atom_jumps(node, structure, domain)


def _atom_jumps(node: sympy.Expr, structure: Structure, domain: Domain) -> Iterator[Jump]:
    known = recognise(node) if isinstance(node, sympy.Function) else None
    if known is None or known[0] not in ("abspow", "sgnpow", "pluspow", "psi", "huber", "pieced"):
        return
    name, order, parameters, argument = known
    function = scalar(name, *(Fraction(int(p.p), int(p.q)) for p in parameters))
    low, high = range_of(argument, structure, domain)
    smooth, places = kinks(Derived(function, order) if order else function, low, high)
    if math.isinf(smooth):
        return
    jump = _jump_of(function, smooth, places, str(argument))
    yield Jump(jump.order, jump.text, jump.where, False)


def range_of(expression: Expr, structure: Structure, domain: Domain) -> tuple[float, float]:
    """Enclosure of the values of a formula on a domain."""
    from bilevel_verify.symbolic.program import program_of

    natural = program_of(expression, list(structure.variables)), domain.lo[None], domain.hi[None]
    inner = inner_of(expression, structure.variables)
    values = []
    for program, lo, hi in (natural, (inner.program, *inner.arguments(*natural[1:]))):
        arithmetic = JetArithmetic(lo.shape[1], 0)
        values.append(program.run(arithmetic, arithmetic.variables(lo, hi))[0].constant_term())
    value = values[0].meet(values[1])
    return float(value.lo[0]), float(value.hi[0])


def _piecewise_jumps(node: sympy.Basic, structure: Structure, domain: Domain) -> Iterator[Jump]:
    """One variable: one-sided values of the derivatives at every joint, exactly. Otherwise nothing is proved."""
    symbols = node.free_symbols
    if len(symbols) != 1:
        yield Jump(0, f"{str(node)[:80]}: smoothness of a Piecewise in several variables is not proved", sure=False)
        return
    variable = next(iter(symbols))
    place = structure.variables.index(variable)
    joints = joints_of(node, variable)
    if joints is None:
        yield Jump(0, f"{str(node)[:80]}: the joints of this Piecewise are not simple", sure=False)
        return
    for joint in joints:
        low, high = enclose(joint)
        if high <= domain.lo[place] or low >= domain.hi[place]:
            continue
        order = first_mismatch(node, variable, joint)
        if order is not None:
            where = {variable.name: float(low)}
            text = (
                f"derivative {order} of {str(node)[:80]} jumps at {variable} = {joint}"
                if order
                else f"{str(node)[:80]} jumps at {variable} = {joint}"
            )
            yield Jump(order, text, where)
