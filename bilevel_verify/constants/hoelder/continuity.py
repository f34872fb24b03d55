"""Moduli of continuity of derivatives through sums, products and compositions: how a kink inside a formula counts.

For every subformula ``q`` the calculus keeps, for j = 0, ..., k, the bound ``s_j >= sup |D^j q|`` (every slot in one
block of variables) and a modulus of continuity of ``D^j q`` as a function of all variables,
``|D^j q(z) - D^j q(z')| <= sum_i min(H_i |z - z'|^nu_i, omega_i)``. Leibniz and Faa di Bruno write ``D^k`` of a product
or a composition as a sum of products of such derivatives; one factor moves at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import sympy
from sympy import Expr, Integer, Symbol

from bilevel_verify.atoms.table import recognise
from bilevel_verify.constants.formula.rewriting import is_affine
from bilevel_verify.constants.formula.scalars import CompositeScalar
from bilevel_verify.constants.formula.structure import as_ridge
from bilevel_verify.constants.hoelder.moduli import scalar_modulus
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.scalar import Derived, Scalar, scalar
from bilevel_verify.numbers.rounding import Array, enclose

ROOM = 1 + 1e-11
"""Relative room for the rounding of some hundred sums and products of non-negative numbers."""


@dataclass(frozen=True, slots=True)
class Step:
    """``min(constant * distance^nu, oscillation)``."""

    nu: Expr
    constant: float
    oscillation: float

    def times(self, size: float) -> Step:
        """The modulus of a multiple."""
        return Step(self.nu, _product(size, self.constant), _product(size, self.oscillation))


@dataclass(frozen=True, slots=True)
class Known:
    """Of a subformula: range of its values, ``sizes[j]`` and ``moduli[j]`` of ``D^j`` for j = 0, ..., k."""

    value: Interval
    sizes: tuple[float, ...]
    moduli: tuple[tuple[Step, ...], ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """Variables with their ranges, the block in which the slots live, and the order ``k``."""

    variables: tuple[Symbol, ...]
    lo: Array
    hi: Array
    block: frozenset[int]
    order: int


def moduli_of(expression: Expr, setting: Setting) -> tuple[Step, ...] | None:
    """Modulus of ``D^k`` of a formula (one step for each exponent), None if some node has no rule."""
    found = _known(expression, setting)
    return (
        None if found is None else tuple(Step(s.nu, s.constant * ROOM, s.oscillation * ROOM) for s in found.moduli[-1])
    )


def composite_modulus(function: Scalar, k: int, span: tuple[float, float]) -> tuple[Step, ...] | None:
    """The same for ``phi^(k)`` of a one-variable formula on an interval."""
    if not isinstance(function, CompositeScalar):
        return None
    ends = np.array([span[0]]), np.array([span[1]])
    return moduli_of(function.expression, Setting((function.variable,), *ends, frozenset({0}), k))


def _known(expression: Expr, setting: Setting) -> Known | None:
    symbols = expression.free_symbols & set(setting.variables)
    if not symbols:
        return _constant(expression, setting)
    if is_affine(expression, symbols):
        return _affine(expression, setting)
    if isinstance(expression, sympy.Add):
        parts = [_known(term, setting) for term in expression.args]
        return None if None in parts else _sum([p for p in parts if p is not None])
    outer = _outer(expression, symbols)
    if outer is not None:
        function, argument, factor = outer
        inner = _known(argument, setting)
        return None if inner is None else _product_of(_constant(factor, setting), _composition(function, inner))
    if isinstance(expression, sympy.Mul):
        return _folded([_known(factor, setting) for factor in expression.args])
    return None


def _folded(factors: Sequence[Known | None]) -> Known | None:
    total = factors[0]
    for factor in factors[1:]:
        if total is None or factor is None:
            return None
        total = _product_of(total, factor)
    return total


def _outer(core: Expr, symbols: set[Symbol]) -> tuple[Scalar, Expr, Expr] | None:
    """``(phi, argument, factor)``: an atom or a power of anything, or a smooth function of one affine form."""
    known = recognise(core)
    if known is not None and known[0] not in ("floor", "ceil"):
        name, order, parameters, argument = known
        base = scalar(name, *(Fraction(int(p.p), int(p.q)) for p in parameters))
        return (Derived(base, order) if order else base), argument, Integer(1)
    if isinstance(core, sympy.Pow) and core.exp.is_Rational:
        return scalar("power", Fraction(int(core.exp.p), int(core.exp.q))), core.base, Integer(1)
    ridge = as_ridge(core, symbols) if isinstance(core, sympy.Mul) else None
    if ridge is None or isinstance(ridge[1], CompositeScalar):
        return None
    return ridge[1], ridge[2], ridge[0]


# -- leaves


def _interval(expression: Expr) -> Interval:
    low, high = enclose(expression)
    return Interval(np.asarray(low), np.asarray(high))


def _constant(expression: Expr, setting: Setting) -> Known:
    value = _interval(expression)
    zeros = (0.0,) * setting.order
    return Known(value, (float(value.magnitude()), *zeros), ((),) * (setting.order + 1))


def _affine(expression: Expr, setting: Setting) -> Known:
    expanded = sympy.expand(expression)
    inside = joint = 0.0
    value = _interval(expanded.subs(dict.fromkeys(setting.variables, 0)))
    for place, variable in enumerate(setting.variables):
        coefficient = expanded.coeff(variable, 1)
        if coefficient == 0:
            continue
        factor = _interval(coefficient)
        square = float(factor.magnitude()) ** 2
        joint += square
        inside += square if place in setting.block else 0.0
        value = value + Interval(np.asarray(setting.lo[place]), np.asarray(setting.hi[place])) * factor
    lengths = [math.sqrt(s) * (1 + 1e-14) for s in (inside, joint)]
    sizes = (float(value.magnitude()), lengths[0], *(0.0,) * (setting.order - 1))
    first = (Step(Integer(1), lengths[1], _width(value)),)
    return Known(value, sizes[: setting.order + 1], (first, *((),) * setting.order))


def _width(value: Interval) -> float:
    with np.errstate(invalid="ignore"):
        width = float(np.nextafter(value.hi - value.lo, np.inf))
    return math.inf if math.isnan(width) else width


# -- rules


def _sum(parts: Sequence[Known]) -> Known:
    value = parts[0].value
    for part in parts[1:]:
        value = value + part.value
    orders = range(len(parts[0].sizes))
    sizes = [math.fsum(p.sizes[j] for p in parts) for j in orders]
    sizes[0] = min(sizes[0], float(value.magnitude()))
    return Known(value, tuple(sizes), tuple(_gathered(s for p in parts for s in p.moduli[j]) for j in orders))


def _product_of(first: Known, second: Known) -> Known:
    """Leibniz: ``D^j(fg) = sum_i C(j, i) D^i f D^(j-i) g``, symmetrised."""
    value = first.value * second.value
    sizes, moduli = [], []
    for j in range(len(first.sizes)):
        pairs = [(math.comb(j, i), i, j - i) for i in range(j + 1)]
        sizes.append(math.fsum(c * _product(first.sizes[a], second.sizes[b]) for c, a, b in pairs))
        steps = []
        for c, a, b in pairs:
            steps += [s.times(c * second.sizes[b]) for s in first.moduli[a]]
            steps += [s.times(c * first.sizes[a]) for s in second.moduli[b]]
        moduli.append(_bounded(steps, sizes[-1]))
    return Known(value, tuple(sizes), tuple(moduli))


def _composition(function: Scalar, inner: Known) -> Known:
    """Faa di Bruno: ``D^j phi(q) = sum over partitions of j of phi^(m)(q) prod D^b q``."""
    order = len(inner.sizes) - 1
    span = float(inner.value.lo), float(inner.value.hi)
    outer_sizes = [float(function.range(m, inner.value).magnitude()) for m in range(order + 1)]
    outer_moduli = [_of_argument(function, m, span, inner) for m in range(order + 1)]
    sizes, moduli = [outer_sizes[0]], [outer_moduli[0]]
    for j in range(1, order + 1):
        total, steps = 0.0, []
        for count, blocks in _partitions(j):
            factors = [outer_sizes[len(blocks)], *(inner.sizes[b] for b in blocks)]
            moving = [outer_moduli[len(blocks)], *(inner.moduli[b] for b in blocks)]
            total += count * math.prod(factors) if 0.0 not in factors else 0.0
            for place, own in enumerate(moving):
                others = factors[:place] + factors[place + 1 :]
                rest = 0.0 if 0.0 in others else count * math.prod(others)
                steps += [s.times(rest) for s in own]
        sizes.append(total)
        moduli.append(_bounded(steps, total))
    return Known(function.range(0, inner.value), tuple(sizes), tuple(moduli))


def _of_argument(function: Scalar, m: int, span: tuple[float, float], inner: Known) -> tuple[Step, ...]:
    """Modulus of ``phi^(m)(q)``: exponents multiply, ``H_phi |q - q'|^nu`` with the modulus of ``q`` itself."""
    nu, constant, _, oscillation, _ = scalar_modulus(function, m, span)
    if len(inner.moduli[0]) != 1:
        # several exponents inside: subadditivity of t^nu, one step each
        return _gathered(_powered(s, nu, constant, oscillation) for s in inner.moduli[0])
    return (_powered(inner.moduli[0][0], nu, constant, oscillation),)


def _powered(step: Step, nu: Expr, constant: float, oscillation: float) -> Step:
    low, high = enclose(nu)
    power = max(step.constant**low, step.constant**high) * (1 + 1e-14) if step.constant > 0 else 0.0
    return Step(nu * step.nu, _product(constant, power) if nu != 0 else constant, oscillation)


def _bounded(steps: Iterable[Step], size: float) -> tuple[Step, ...]:
    """Steps with equal exponents together; a single one never oscillates by more than twice the size."""
    gathered = _gathered(steps)
    if len(gathered) == 1:
        only = gathered[0]
        return (Step(only.nu, only.constant, min(only.oscillation, 2 * size)),)
    return gathered


def _gathered(steps: Iterable[Step]) -> tuple[Step, ...]:
    found: dict[Expr, Step] = {}
    for step in steps:
        if step.constant == 0 or step.oscillation == 0:
            continue
        old = found.get(step.nu)
        found[step.nu] = (
            step if old is None else Step(step.nu, old.constant + step.constant, old.oscillation + step.oscillation)
        )
    return tuple(found.values())


def _product(a: float, b: float) -> float:
    """Zero stays zero: a derivative that vanishes identically, next to one without a bound."""
    return 0.0 if a == 0 or b == 0 else a * b


@lru_cache(maxsize=8)
def _partitions(j: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """``(number of set partitions, block sizes)`` of a set of ``j`` elements."""
    found = []
    for sizes in _descending(j, j):
        count = math.factorial(j)
        for size in sizes:
            count //= math.factorial(size)
        for size in set(sizes):
            count //= math.factorial(sizes.count(size))
        found.append((count, sizes))
    return tuple(found)


def _descending(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    if total == 0:
        yield ()
    for first in range(min(total, largest), 0, -1):
        for rest in _descending(total - first, first):
            yield (first, *rest)
