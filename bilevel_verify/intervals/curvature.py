"""Hessians over boxes between two interval matrices in the Loewner order: what entry by entry gets lost.

The entries of ``phi'' g g'`` move together: its eigenvalues are 0 and ``phi'' |g|^2``, but an interval matrix with the
same entries has eigenvalues of either sign. So a node carries, beside its jet of order two, a matrix that is nowhere
above its Hessian and one that is nowhere below it (interval matrices: some member is). For ``g = m + e``, ``|e| <= r``
and any ``0 < t <= 1``

    g g' >= (1 - t) m m' - (1/t - 1) e e',    e e' <= (sum r) diag(r),

which is exact for constant gradients (``t`` near 0) and leaves the positive part out for vague ones (``t = 1``).

For a sum ``s`` of ``c`` and squares of affine forms, ``g g' <= 2 (s - c) A`` with its Hessian ``A`` (Cauchy), so that
the Hessian of ``phi(s)`` lies between two multiples of ``A``, ``phi'`` and ``phi' + 2 (s - c) phi''``: functions of
``s`` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.jet_arithmetic import JetArithmetic, logsumexp, softmax_ranges
from bilevel_verify.intervals.jets import Jet, add, as_row, multiply, quotient, substitute, zero_jet
from bilevel_verify.intervals.scalar import Scalar, scalar
from bilevel_verify.numbers.logic import Answers
from bilevel_verify.numbers.rounding import Array, fraction, up

if TYPE_CHECKING:
    import sympy

VAGUE = 4.0
"""``t`` is this many times the relative radius of the gradient: larger values give up its direction earlier."""

HALF = Interval.of(0.5)

PARTS = 24
"""So many parts of the range of ``s`` are looked at one by one, shorter ones near ``c``."""

Pair = tuple[Jet, Jet]
"""Second-order terms below and above those of a node."""


@dataclass(frozen=True, slots=True)
class Curved:
    """A node: its jet of order two, and second-order terms around those of the jet where they may differ.

    ``floor`` : the node is this constant plus squares of affine forms with weights of the sign ``side`` (None: not
    known to be).
    """

    jet: Jet
    pair: Pair | None = None
    floor: Interval | None = None
    side: int = 1

    def is_constant(self) -> bool:
        """Whether only the value may differ from zero."""
        return all(number == 0 for number in self.jet.support)

    def ends(self) -> Pair:
        """Second-order terms below and above."""
        if self.pair is not None:
            return self.pair
        own = _of_degree(self.jet, 2)
        return own, own


class CurvatureArithmetic:
    """Runs straight-line programs on jets of order two with Loewner bounds of the Hessian."""

    def __init__(self, n: int) -> None:
        self.jets = JetArithmetic(n, 2)

    def variables(self, lo: Array, hi: Array) -> list[Curved]:
        """The coordinate functions over boxes, shape (boxes, n)."""
        return [Curved(jet) for jet in self.jets.variables(lo, hi)]

    def constant(self, value: Fraction | sympy.Expr) -> Curved:
        return Curved(self.jets.constant(value))

    def add(self, a: Curved, b: Curved) -> Curved:
        jet = add(a.jet, b.jet)
        floor, side = _floor_of_sum(a, b)
        if a.pair is None and b.pair is None:
            return Curved(jet, None, floor, side)
        return Curved(jet, _plus(a.ends(), b.ends()), floor, side)

    def mul(self, a: Curved, b: Curved) -> Curved:
        if a is b:
            affine = a.pair is None and not _of_degree(a.jet, 2).support
            return replace(_composed(_SQUARE, a, 0), floor=Interval(np.zeros(1), np.zeros(1)) if affine else None)
        jet = multiply(a.jet, b.jet)
        floor, side = _floor_of_product(a, b)
        if a.pair is None and b.pair is None:
            return Curved(jet, None, floor, side)
        cross = multiply(_of_degree(a.jet, 1), _of_degree(b.jet, 1))
        parts = _plus(_times(a.jet.constant_term(), b.ends()), _times(b.jet.constant_term(), a.ends()))
        return Curved(jet, _plus(parts, (cross, cross)), floor, side)

    def neg(self, a: Curved) -> Curved:
        jet, floor = self.jets.neg(a.jet), None if a.floor is None else -a.floor
        pair = None if a.pair is None else (self.jets.neg(a.pair[1]), self.jets.neg(a.pair[0]))
        return Curved(jet, pair, floor, -a.side)

    def div(self, a: Curved, b: Curved) -> Curved:
        product = self.mul(a, _composed(scalar("power", Fraction(-1)), b, 0))
        return replace(product, jet=quotient(a.jet, b.jet, product.jet))

    def power(self, a: Curved, exponent: Fraction) -> Curved:
        return self.mul(a, a) if exponent == 2 else _composed(scalar("power", exponent), a, 0)

    def atom(self, name: str, order: int, a: Curved, parameters: tuple[Fraction, ...]) -> Curved:
        return _composed(scalar(name, *(fraction(p) for p in parameters)), a, order)

    def logsumexp(self, args: Sequence[Curved]) -> Curved:
        """The Hessian is the mean of those of the arguments plus the covariance of their gradients."""
        jet = logsumexp([a.jet for a in args])
        weights = softmax_ranges([a.jet.constant_term() for a in args])
        gradients = [_of_degree(a.jet, 1) for a in args]
        below, above = _times(weights[0], args[0].ends())
        for weight, a in zip(weights[1:], args[1:], strict=True):
            below, above = _plus((below, above), _times(weight, a.ends()))
        centre = zero_jet(jet.space)  # the covariance is at most the mean square distance from any point
        for weight, gradient in zip(weights, gradients, strict=True):
            middle = gradient.data.centre() * weight.centre()
            centre = add(centre, Jet(jet.space, gradient.support, Interval(middle, middle)))
        some = centre.data.centre()
        minus = Jet(jet.space, centre.support, Interval(-some, -some))
        for weight, gradient in zip(weights, gradients, strict=True):
            apart = add(gradient, minus)
            above = add(above, _scaled(multiply(apart, apart), weight * HALF))
        return Curved(jet, (below, above))

    def absolute(self, a: Curved) -> Curved:
        return Curved(self.jets.absolute(a.jet))

    def sign(self, a: Curved) -> Curved:
        return Curved(self.jets.sign(a.jet))

    def floor(self, a: Curved) -> Curved:
        return Curved(self.jets.floor(a.jet))

    def ceil(self, a: Curved) -> Curved:
        return Curved(self.jets.ceil(a.jet))

    def maximum(self, a: Curved, b: Curved) -> Curved:
        return Curved(self.jets.maximum(a.jet, b.jet))

    def minimum(self, a: Curved, b: Curved) -> Curved:
        return Curved(self.jets.minimum(a.jet, b.jet))

    def compare(self, op: str, a: Curved, b: Curved) -> Answers:
        return self.jets.compare(op, a.jet, b.jet)

    def logical(self, op: str, args: Iterable[Answers]) -> Answers:
        return self.jets.logical(op, args)

    def select(self, test: Answers, yes: Curved, no: Curved) -> Curved:
        return Curved(self.jets.select(test, yes.jet, no.jet))


def _floor_of_sum(a: Curved, b: Curved) -> tuple[Interval | None, int]:
    """Constant and sign of a sum of two nodes of one sign, or of one and a constant."""
    if a.is_constant():
        a, b = b, a
    if a.floor is None:
        return None, 1
    if b.is_constant():
        return a.floor + b.jet.constant_term(), a.side
    return (None, 1) if b.floor is None or b.side != a.side else (a.floor + b.floor, a.side)


def _floor_of_product(a: Curved, b: Curved) -> tuple[Interval | None, int]:
    """Constant and sign of a multiple of a node."""
    factor, other = (a, b) if a.is_constant() else (b, a)
    weight = factor.jet.constant_term()
    sign = 1 if (weight.lo >= 0).all() else -1 if (weight.hi <= 0).all() else 0
    if other.floor is None or not factor.is_constant() or not sign:
        return None, 1
    return weight * other.floor, sign * other.side


class _Square:
    """``t^2`` with its derivatives."""

    def ranges(self, orders: Sequence[int], t: Interval) -> list[Interval]:
        two = Interval(np.full_like(t.lo, 2.0), np.full_like(t.lo, 2.0))
        return [(t.square(), Interval(2 * t.lo, 2 * t.hi), two)[k] for k in orders]


_SQUARE = _Square()


def _composed(function: Scalar | _Square, inner: Curved, order: int) -> Curved:
    """``phi^(order)`` of a node."""
    value = inner.jet.constant_term()
    derivatives = function.ranges([order, order + 1, order + 2], value)
    jet = substitute(derivatives, inner.jet) if function is not _SQUARE else multiply(inner.jet, inner.jet)
    gradient = _of_degree(inner.jet, 1)
    if inner.pair is None and len(gradient.support) <= 1:
        return Curved(jet)  # one entry at most: nothing moves together
    pair = _plus(_times(derivatives[1], inner.ends()), _rank_one(derivatives[2] * HALF, gradient))
    if inner.floor is None or isinstance(function, _Square):
        return Curved(jet, pair)
    return Curved(jet, _better(pair, _multiples(function, order, value, inner)))


def _multiples(function: Scalar, order: int, value: Interval, inner: Curved) -> Pair:
    """Multiples of the Hessian ``A`` of a sum of squares below and above that of ``phi`` of it."""
    assert inner.floor is not None
    low, high = np.atleast_1d(value.lo), np.atleast_1d(value.hi)
    with np.errstate(all="ignore"):
        shares = [(k / PARTS) ** 2 if inner.side > 0 else 1.0 - (1.0 - k / PARTS) ** 2 for k in range(1, PARTS)]
        steps = [low + (high - low) * share for share in shares]
        grid = np.stack([low, *(np.clip(step, low, high) for step in steps), high])
    grid = np.where(np.isnan(grid), np.where(np.arange(PARTS + 1)[:, None] < PARTS, low, high), grid)
    parts = Interval(grid[:-1], grid[1:])
    slope, curve = function.ranges([order + 1, order + 2], parts)
    squares = parts - inner.floor
    limit = np.maximum if inner.side > 0 else np.minimum
    squares = Interval(limit(squares.lo, 0.0), limit(squares.hi, 0.0))
    whole = slope + squares * curve * Interval.of(2.0)
    least = np.minimum(slope.lo, whole.lo).min(axis=0)
    most = np.maximum(slope.hi, whole.hi).max(axis=0)
    hessian = _of_degree(inner.jet, 2)
    ends = _scaled(hessian, Interval(least, least)), _scaled(hessian, Interval(most, most))
    return ends if inner.side > 0 else (ends[1], ends[0])


def _better(first: Pair, second: Pair) -> Pair:
    """Of two pairs, box by box, the ends whose Gershgorin discs reach less far."""
    below = _where(_reach(first[0], -1) <= _reach(second[0], -1), first[0], second[0])
    return below, _where(_reach(first[1], 1) <= _reach(second[1], 1), first[1], second[1])


def _reach(jet: Jet, sign: int) -> Array:
    """How far the discs of a matrix reach up (``sign = 1``) or down (an estimate: it only chooses)."""
    space, data = jet.space, jet.data
    rows = np.zeros((space.n, data.lo.shape[1]))
    for row, number in enumerate(jet.support):
        i, *other = [k for k, a in enumerate(space.indices[number]) if a]
        if other:
            size = np.maximum(np.abs(data.lo[row]), np.abs(data.hi[row]))
            rows[[i, *other]] += size
        else:
            rows[i] += 2.0 * (data.hi[row] if sign > 0 else -data.lo[row])
    return np.asarray(np.nan_to_num(rows.max(axis=0), nan=np.inf))


def _rank_one(weight: Interval, gradient: Jet) -> Pair:
    """``w (g . d)^2`` from below and from above."""
    if not gradient.support:
        nothing = zero_jet(gradient.space)
        return nothing, nothing
    square = multiply(gradient, gradient)
    low, high = np.atleast_1d(weight.lo), np.atleast_1d(weight.hi)
    inner = _inner_square(gradient) if (low > 0).any() or (high < 0).any() else None

    def end(size: Array, sign: int) -> Jet:
        plain = _scaled(square, Interval(size, size))
        helps = sign * size > 0
        if inner is None or not helps.any():
            return plain
        small = _scaled(inner, Interval(size, size))
        return _where(helps, small, plain)

    return end(low, 1), end(high, -1)


def _inner_square(gradient: Jet) -> Jet:
    """Second-order terms of a matrix that is nowhere above ``g g'``: ``(1 - t) m m' - (1/t - 1) (sum r) diag(r)``."""
    space, point = gradient.space, gradient.data.lo == gradient.data.hi
    middle = np.where(point, gradient.data.lo, gradient.data.centre())
    radius = np.where(point, 0.0, gradient.data.radius(middle))
    with np.errstate(all="ignore"):
        vague = VAGUE * np.sqrt((radius * radius).sum(axis=0) / (middle * middle).sum(axis=0))
        t = np.where(vague < 1.0, np.maximum(vague, 2.0**-40), 1.0)  # not below 1 (no number among them): given up
    core = Jet(space, gradient.support, Interval(middle, middle))
    left = Interval.of(1.0) - Interval(t, t)
    kept = _scaled(multiply(core, core), Interval(np.maximum(left.lo, 0.0), np.maximum(left.lo, 0.0)))
    total = radius.sum(axis=0) * (1 + 4 * len(radius) * 2.0**-53)
    with np.errstate(all="ignore"):
        loss = up(up(up(up(1.0 / t) - 1.0) * total) * radius)
    loss = np.where(t == 1.0, 0.0, np.where(np.isnan(loss), np.inf, loss))
    squares = tuple(space.place[tuple(2 * a for a in space.indices[number])] for number in gradient.support)
    order = np.argsort(squares)
    lost = Jet(space, tuple(squares[k] for k in order), Interval(-loss[order], -loss[order]))
    given_up = _where(t == 1.0, _scaled(kept, Interval.of(np.zeros(1))), kept)
    return add(given_up, lost)


def _where(test: Any, yes: Jet, no: Jet) -> Jet:
    """One of two jets, box by box."""
    support = tuple(sorted(set(yes.support) | set(no.support)))
    width = max(np.size(test), yes.data.lo.shape[1], no.data.lo.shape[1])

    def spread(jet: Jet, pick: Callable[[Interval], Array]) -> Array:
        out = np.zeros((len(support), width))
        out[[support.index(s) for s in jet.support]] = pick(jet.data)
        return out

    low = np.where(test, spread(yes, lambda d: d.lo), spread(no, lambda d: d.lo))
    return Jet(
        yes.space, support, Interval(low, np.where(test, spread(yes, lambda d: d.hi), spread(no, lambda d: d.hi)))
    )


def _of_degree(jet: Jet, degree: int) -> Jet:
    rows = [row for row, number in enumerate(jet.support) if jet.space.degree[number] == degree]
    return Jet(jet.space, tuple(jet.support[row] for row in rows), jet.data[rows])


def _scaled(jet: Jet, factor: Interval) -> Jet:
    return Jet(jet.space, jet.support, jet.data * as_row(factor)) if jet.support else jet


def _plus(a: Pair, b: Pair) -> Pair:
    below = add(a[0], b[0])
    return below, below if a[0] is a[1] and b[0] is b[1] else add(a[1], b[1])


def _times(factor: Interval, pair: Pair) -> Pair:
    """Bounds of ``c Q`` for ``c`` in an interval: a negative factor exchanges the two ends."""
    below, above = pair
    if below is above:
        both = _scaled(below, factor)
        return both, both
    positive = Interval(np.maximum(factor.lo, 0.0), np.maximum(factor.hi, 0.0))
    negative = Interval(np.minimum(factor.lo, 0.0), np.minimum(factor.hi, 0.0))
    if not negative.lo.any():
        return _scaled(below, positive), _scaled(above, positive)
    if not positive.hi.any():
        return _scaled(above, negative), _scaled(below, negative)
    return (
        add(_scaled(below, positive), _scaled(above, negative)),
        add(_scaled(above, positive), _scaled(below, negative)),
    )
