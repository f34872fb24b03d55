"""Ranges of scalar atoms and of all their derivatives over intervals.

``Scalar.range(k, t)`` is the exact range of ``phi^(k)`` on every interval of a batch, up to rounding: end points plus
the critical points inside (where "inside" cannot be decided in floats the point is included). Closed shapes come from
:mod:`bilevel_verify.atoms.suprema`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import cast

import numpy as np

from bilevel_verify.atoms import suprema
from bilevel_verify.intervals.batch import Interval, clean, integer_power, product_of_positive, square_root
from bilevel_verify.intervals.elementary import ball_ends, point_values
from bilevel_verify.intervals.rounding import Array, Mask, float_above, float_below, up

Critical = tuple[float, float, float, float]
"""Enclosure of a critical point (lo, hi) and of the value there (lo, hi)."""


@lru_cache(maxsize=16384)
def point(value: float | Fraction) -> Interval:
    """A thin interval around one number."""
    exact = Fraction(value)
    return Interval(np.asarray(float_below(exact)), np.asarray(float_above(exact)))


def horner(p: tuple[int, ...], s: Interval) -> Interval:
    """An integer polynomial on thin intervals (coefficients as enclosures: large ones are not floats)."""
    total = Interval(np.zeros_like(s.lo), np.zeros_like(s.hi)) + point(Fraction(p[-1]))
    for coefficient in reversed(p[:-1]):
        total = total * s
        if coefficient:
            total = total + point(Fraction(coefficient))
    return total


class Scalar:
    """A function of one real variable. Sub-classes say what happens at points and where it turns.

    Attributes
    ----------
    name : for derivations.
    domain : closed range of arguments on which every derivative in use exists.
    smooth : number of continuous derivatives (``inf`` for analytic ones).
    """

    name: str = ""
    domain: tuple[float, float] = (-math.inf, math.inf)
    smooth: float = math.inf

    def at(self, order: int, t: Interval) -> Interval:
        """Enclosure of the derivative at thin intervals, limits at infinite points included."""
        raise NotImplementedError

    def critical(self, order: int) -> tuple[Critical, ...]:
        """Where the derivative of that order turns, and its value there."""
        raise NotImplementedError

    def prepare(self, points: Array) -> object:
        """Whatever all derivatives at these points have in common (None: nothing)."""
        return None

    def at_prepared(self, order: int, points: Array, base: object) -> Interval:
        """:meth:`at` for float points, with what :meth:`prepare` returned."""
        return self.at(order, Interval(points, points))

    def range(self, order: int, t: Interval) -> Interval:
        """Range of the derivative over each interval of a batch (the whole line outside the domain)."""
        return self.ranges((order,), t)[0]

    def ranges(self, orders: Sequence[int], t: Interval) -> list[Interval]:
        """Ranges of several derivatives over the same intervals."""
        low, high = np.broadcast_arrays(t.lo, t.hi)
        thin = bool((low == high).all())
        points = low.ravel() if thin else np.concatenate([low.ravel(), high.ravel()])
        base = self.prepare(points)
        return [self._one_range(order, t, points, base, thin) for order in orders]

    def _one_range(self, order: int, t: Interval, points: Array, base: object, thin: bool) -> Interval:
        value = self.at_prepared(order, points, base)
        count, shape = t.lo.size, t.lo.shape
        if thin:
            return self._outside(t, value.lo.reshape(shape), value.hi.reshape(shape))
        low = np.minimum(value.lo[:count], value.lo[count:]).reshape(shape)
        high = np.maximum(value.hi[:count], value.hi[count:]).reshape(shape)
        for a, b, bottom, top in self.critical(order):
            inside = (t.lo <= b) & (t.hi >= a)
            if inside.any():
                low = np.where(inside, np.minimum(low, bottom), low)
                high = np.where(inside, np.maximum(high, top), high)
        return self._outside(t, low, high)

    def _outside(self, t: Interval, low: Array, high: Array) -> Interval:
        first, last = self.domain
        if first == -math.inf and last == math.inf:
            return clean(low, high)
        bad = (t.lo < first) | (t.hi > last)
        return clean(np.where(bad, -np.inf, low), np.where(bad, np.inf, high))


def limit_at(value: Interval, t: Interval, below: tuple[float, float], above: tuple[float, float]) -> Interval:
    """Replace the values at ``-inf`` and ``+inf`` by given limits (low, high)."""
    minus, plus = np.isneginf(t.lo), np.isposinf(t.hi)
    if not (minus.any() or plus.any()):
        return value
    low = np.where(minus, below[0], np.where(plus, above[0], value.lo))
    high = np.where(minus, below[1], np.where(plus, above[1], value.hi))
    return clean(low, high)


class Direct(Scalar):
    """A function whose ranges are computed without end points and critical points."""

    def ranges(self, orders: Sequence[int], t: Interval) -> list[Interval]:
        return [self.range(order, t) for order in orders]

    def range(self, order: int, t: Interval) -> Interval:
        raise NotImplementedError

    def at(self, order: int, t: Interval) -> Interval:
        return self.range(order, t)

    def critical(self, order: int) -> tuple[Critical, ...]:
        return ()


class Trigonometric(Direct):
    """``sin`` (shift 0) and ``cos`` (shift 1); every derivative is a sine with another phase."""

    def __init__(self, name: str) -> None:
        self.name, self.shift = name, {"sin": 0, "cos": 1}[name]

    def range(self, order: int, t: Interval) -> Interval:
        return self.ranges((order,), t)[0]

    def ranges(self, orders: Sequence[int], t: Interval) -> list[Interval]:
        known: dict[bool, Interval] = {}
        out = []
        for order in orders:
            phase = (self.shift + order) % 4
            cosine = phase % 2 == 1
            if cosine not in known:
                known[cosine] = sine_range(t, cosine)
            out.append(-known[cosine] if phase >= 2 else known[cosine])
        return out


_PI = math.pi  # the float is below pi; pi < nextafter(pi)


def sine_range(t: Interval, cosine: bool) -> Interval:
    """Range of sine or cosine on intervals: end points, and 1 / -1 wherever a crest / trough may lie inside."""
    name = "cos" if cosine else "sin"
    with np.errstate(invalid="ignore", over="ignore"):
        wide = ~((t.hi - t.lo) < 6.283) | (np.abs(t.lo) > 1e8) | (np.abs(t.hi) > 1e8)
    lo, hi = np.where(wide, 0.0, t.lo), np.where(wide, 0.0, t.hi)
    left, right = point_values(name, lo), point_values(name, hi)
    low, high = np.minimum(left.lo, right.lo), np.maximum(left.hi, right.hi)
    offset = 0.0 if cosine else 0.25
    # crest at t = 2 pi (n + offset), trough half a period later; the slack covers every rounding for |t| <= 1e8
    for shift, is_crest in ((offset, True), (offset + 0.5, False)):
        first, last = lo / (2 * _PI) - shift, hi / (2 * _PI) - shift
        inside = np.floor(last + 1e-7) >= np.ceil(first - 1e-7)
        # the slack must not claim a crest where the interval is far from one: harmless, only looser
        exact = np.floor(last - 1e-7) >= np.ceil(first + 1e-7)
        near = inside & ~exact
        if is_crest:
            high = np.where(exact | near, 1.0, high)
        else:
            low = np.where(exact | near, -1.0, low)
    return Interval(np.where(wide, -1.0, low), np.where(wide, 1.0, high))


class Exponential(Scalar):
    """``exp``, ``sinh``, ``cosh``: derivatives alternate between two functions, monotone or even."""

    def __init__(self, name: str) -> None:
        self.name = name

    def _which(self, order: int) -> str:
        if self.name == "exp":
            return "exp"
        return ("sinh", "cosh")[(order + (self.name == "cosh")) % 2]

    def at(self, order: int, t: Interval) -> Interval:
        left, right = point_values(self._which(order), t.lo), point_values(self._which(order), t.hi)
        return left.hull(right)

    def critical(self, order: int) -> tuple[Critical, ...]:
        return ((0.0, 0.0, 1.0, 1.0),) if self._which(order) == "cosh" else ()


class Tangent(Scalar):
    """``tan`` on ``(-pi/2, pi/2)`` (other branches are not resolved: the whole line)."""

    name = "tan"
    domain = (-_PI / 2, _PI / 2)

    def at(self, order: int, t: Interval) -> Interval:
        s = point_values("tan", t.lo)
        p: tuple[int, ...] = (0, 1)
        for _ in range(order):
            p = suprema._product(suprema._derivative(p), (1, 0, 1))
        return horner(p, s)

    def critical(self, order: int) -> tuple[Critical, ...]:
        if order == 0:
            return ()
        value = self.at(order, Interval.of(np.zeros(())))
        return ((0.0, 0.0, float(value.lo), float(value.hi)),)


class Power(Scalar):
    """``t^p`` on ``t > 0`` (any real ``p``), or on the whole line for integer ``p``; ``log`` is ``p = 0`` of sorts.

    ``kind``: ``plain`` (t^p), ``abs`` (|t|^p), ``sgn`` (sgn(t)|t|^p), ``plus`` (max(t,0)^p), ``log``.
    """

    def __init__(self, exponent: Fraction, kind: str = "plain") -> None:
        self.exponent, self.kind = exponent, kind
        self.name = {
            "plain": f"t^{exponent}",
            "abs": f"|t|^{exponent}",
            "sgn": f"sgn(t)|t|^{exponent}",
            "plus": f"max(t,0)^{exponent}",
            "log": "log",
        }[kind]
        whole = exponent.denominator == 1 and exponent >= 0
        if (kind in ("plain", "log") and not whole) or kind == "log":
            self.domain = (0.0, math.inf)
        if kind != "plain" and kind != "log":
            p = exponent
            polynomial = p.denominator == 1 and (kind == "abs") == (p % 2 == 0) and kind != "plus"
            self.smooth = math.inf if polynomial else math.ceil(p) - 1 if p.denominator != 1 else int(p) - 1

    def factor(self, order: int) -> Fraction:
        """``p (p-1) ... (p-k+1)`` (for ``log``: ``(-1)^(k-1) (k-1)!``)."""
        if self.kind == "log":
            return Fraction((-1) ** (order - 1) * math.factorial(order - 1))
        value = Fraction(1)
        for j in range(order):
            value *= self.exponent - j
        return value

    def at(self, order: int, t: Interval) -> Interval:
        if self.kind == "log" and order == 0:
            return point_values("log", t.lo).hull(point_values("log", t.hi))
        exponent = self.exponent - order
        coefficient = self.factor(order)
        if coefficient == 0:
            return Interval(np.zeros_like(t.lo), np.zeros_like(t.hi))
        if self.kind in ("plain", "log"):
            return signed_power(t, exponent) * point(coefficient)
        return self._nonsmooth(order, t, exponent) * point(coefficient)

    def _nonsmooth(self, order: int, t: Interval, exponent: Fraction) -> Interval:
        low, high = self._one_side(order, t.lo, exponent), self._one_side(order, t.hi, exponent)
        return low.hull(high)

    def _one_side(self, order: int, points: Array, exponent: Fraction) -> Interval:
        size = np.abs(points)
        value = signed_power(Interval(size, size), exponent)
        odd = (order % 2 == 1) == (self.kind == "abs")
        if self.kind == "plus":
            keep = points >= 0 if exponent > 0 else points > 0
            return Interval(np.where(keep, value.lo, 0.0), np.where(keep, value.hi, 0.0))
        if exponent == 0 and odd:
            both = points == 0  # a jump: both one-sided limits
            return Interval(np.where(points > 0, 1.0, -1.0), np.where(both | (points > 0), 1.0, -1.0))
        negative = odd & (points < 0)
        return Interval(np.where(negative, -value.hi, value.lo), np.where(negative, -value.lo, value.hi))

    def critical(self, order: int) -> tuple[Critical, ...]:
        exponent = self.exponent - order
        if self.kind == "log":
            return ()
        if self.factor(order) == 0:  # beyond the degree: nothing, or a derivative that exists only away from 0
            broken = self.kind in ("abs", "sgn", "plus") and self.smooth != math.inf
            return ((0.0, 0.0, -math.inf, math.inf),) if broken else ()
        if self.kind == "plain" and self.domain[0] == 0.0:
            return ()
        if exponent > 0:
            return ((0.0, 0.0, 0.0, 0.0),)
        if exponent == 0 and self.kind in ("abs", "sgn", "plus"):
            c = abs(float_above(abs(self.factor(order))))
            smooth = self.smooth == math.inf
            return (
                () if smooth else ((0.0, 0.0, -c if self.kind != "plus" else min(0.0, float(self.factor(order))), c),)
            )
        if exponent < 0 and self.kind in ("abs", "sgn", "plus"):
            return ((0.0, 0.0, -math.inf, math.inf),)
        return ()


def signed_power(t: Interval, exponent: Fraction) -> Interval:
    """``t^q`` at thin intervals: repeated products for integers, roots for halves, exp(q log t) otherwise."""
    if exponent.denominator == 1:
        return integer_power(t, int(exponent))
    clipped = Interval(np.maximum(t.lo, 0.0), np.maximum(t.hi, 0.0))
    if exponent.denominator == 2:
        root = square_root(clipped)
        return integer_power(root, int(exponent.numerator))
    low = _positive_power(clipped.lo, exponent)
    high = _positive_power(clipped.hi, exponent)
    return low.hull(high)


def _positive_power(points: Array, exponent: Fraction) -> Interval:
    logarithm = point_values("log", points)
    product = logarithm * point(exponent)
    return point_values("exp", product.lo).hull(point_values("exp", product.hi))


class FamilyScalar(Scalar):
    """The atoms of :data:`bilevel_verify.atoms.suprema.FAMILIES`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.family = suprema.FAMILIES[name]

    def prepare(self, points: Array) -> object:
        match self.family.kind:
            case "generator":
                return _generator(self.family.generator, points)
            case "gauss":
                return gauss_base(points)
        return rational_base(points)

    def at(self, order: int, t: Interval) -> Interval:
        return self.at_prepared(order, t.lo, self.prepare(t.lo))

    def at_prepared(self, order: int, points: Array, base: object) -> Interval:
        if order < self.family.start:
            return _antiderivative(self.name, points)
        p, power = suprema.polynomial(self.name, order)
        if self.family.kind == "generator":
            assert isinstance(base, Interval)
            return horner(p, base)
        if self.family.kind == "gauss":
            return gauss_value(tuple(map(Fraction, p)), base)
        if self.name == "hypot1" and order == 0:
            return _hypot(points)
        return rational_value(tuple(map(Fraction, p)), Fraction(power), points, base)

    def critical(self, order: int) -> tuple[Critical, ...]:
        return _family_critical(self.name, order)


@lru_cache(maxsize=1024)
def _family_critical(name: str, order: int) -> tuple[Critical, ...]:
    family = suprema.FAMILIES[name]
    scalar = FamilyScalar(name)
    if order + 1 < family.start:
        raise ValueError(f"{name}: order {order} has no critical points in closed form")
    found = []
    for a, b in suprema.critical_generators(name, order):
        with ball_ends():
            where = _argument(family.generator, a, b) if family.kind == "generator" else _thin(a, b)
            if order < family.start:
                value = scalar.at(order, where).hull(scalar.at(order, Interval(where.hi, where.hi)))
            elif family.kind == "generator":
                value = horner(suprema.polynomial(name, order)[0], _thin(a, b))
            else:
                value = scalar.at(order, Interval(where.lo, where.lo)).hull(
                    scalar.at(order, Interval(where.hi, where.hi))
                )
                value = _widen_by_slope(order, where, value)
        found.append((float(where.lo), float(where.hi), float(value.lo), float(value.hi)))
    return tuple(found)


def _widen_by_slope(order: int, where: Interval, value: Interval) -> Interval:
    """The turning point lies between two neighbouring floats; a second-order term far below rounding is added."""
    width = float(where.hi - where.lo)
    room = 1e3 * math.factorial(order + 3) * width * width * max(1.0, float(value.magnitude()))
    return Interval(np.asarray(value.lo - room), np.asarray(value.hi + room)) if width else value


def _thin(a: Fraction, b: Fraction) -> Interval:
    return Interval(np.asarray(float_below(a)), np.asarray(float_above(b)))


def _argument(generator: str, a: Fraction, b: Fraction) -> Interval:
    """Enclosure of ``t`` where the generator takes the value in [a, b]."""
    import flint

    from bilevel_verify.intervals.rounding import floats_of

    ends = []
    for value in (a, b):
        s = flint.arb(flint.fmpq(value.numerator, value.denominator))
        t = s.atanh() if generator == "tanh" else (s / (1 - s)).log()
        ends.append(floats_of(t))
    return Interval(np.asarray(ends[0][0]), np.asarray(ends[1][1]))


def _generator(name: str, points: Array) -> Interval:
    return point_values("tanh", points) if name == "tanh" else sigmoid(points)


def sigmoid(points: Array) -> Interval:
    """``1/(1+exp(-t))`` at points, accurate in both tails."""
    decay = point_values("exp", -np.abs(points))
    one = Interval.of(1.0)
    small = decay * (one + decay).reciprocal()  # e/(1+e) <= 1/2: monotone use of the same thin interval is safe
    large = (one + decay).reciprocal()
    positive = points >= 0
    low = np.clip(np.where(positive, large.lo, small.lo), 0.0, 1.0)
    high = np.clip(np.where(positive, large.hi, small.hi), 0.0, 1.0)
    return Interval(low, high)


def _antiderivative(name: str, points: Array) -> Interval:
    """Value of softplus, logcosh, atan, asinh, log(1+t^2) at float points."""
    match name:
        case "softplus" | "logcosh":
            scale = 1.0 if name == "softplus" else 2.0
            decay = point_values("exp", -scale * np.abs(points))
            small = point_values("log1p", decay.lo).hull(point_values("log1p", decay.hi))
            base = np.maximum(points, 0.0) if name == "softplus" else np.abs(points)
            value = Interval(base, base) + small
            if name == "logcosh":
                two = point_values("log", np.asarray(2.0))
                value = value - two
                value = Interval(np.maximum(value.lo, 0.0), value.hi)
            return value
        case "atan" | "asinh":
            return point_values(name, points)
        case "log1psquare":
            square = Interval(points, points).square()
            return point_values("log1p", square.lo).hull(point_values("log1p", square.hi))
    raise ValueError(f"no value rule for {name}")


class WeightedPolynomial(Scalar):
    """``P(t) exp(-t^2/2)`` (kind ``gauss``) or ``P(t) (1+t^2)^(-e)`` (kind ``rational``), any rational ``P`` and ``e``.

    The derivatives keep that shape, so critical points are roots of polynomials and ranges on half lines are exact.
    """

    def __init__(self, kind: str, p: tuple[Fraction, ...], power: Fraction = Fraction(0)) -> None:
        self.kind, self.first, self.power = kind, p, power
        body = " + ".join(f"{c} t^{i}" for i, c in enumerate(p) if c)
        self.name = f"({body}) exp(-t^2/2)" if kind == "gauss" else f"({body}) (1+t^2)^(-{power / 2})"
        self._shapes: dict[int, tuple[tuple[Fraction, ...], Fraction]] = {0: (p, power)}
        self._critical: dict[int, tuple[Critical, ...]] = {}

    def shape(self, order: int) -> tuple[tuple[Fraction, ...], Fraction]:
        """Polynomial of the derivative and twice the exponent of ``1/(1+t^2)``."""
        if order not in self._shapes:
            p, power = self.shape(order - 1)
            slope = tuple(i * c for i, c in enumerate(p))[1:] or (Fraction(0),)
            if self.kind == "gauss":
                self._shapes[order] = _combine(slope, (Fraction(0), *p), Fraction(-1)), power
            else:
                raised = _combine(slope, (Fraction(0), Fraction(0), *slope), Fraction(1))
                self._shapes[order] = _combine(raised, (Fraction(0), *p), -power), power + 2
        return self._shapes[order]

    def prepare(self, points: Array) -> object:
        return gauss_base(points) if self.kind == "gauss" else rational_base(points)

    def at(self, order: int, t: Interval) -> Interval:
        return self.at_prepared(order, t.lo, self.prepare(t.lo))

    def at_prepared(self, order: int, points: Array, base: object) -> Interval:
        p, power = self.shape(order)
        return gauss_value(p, base) if self.kind == "gauss" else rational_value(p, power, points, base)

    def critical(self, order: int) -> tuple[Critical, ...]:
        if order not in self._critical:
            q, _ = self.shape(order + 1)
            denominator = math.lcm(*(c.denominator for c in q))
            found = []
            for a, b in suprema.real_roots(tuple(int(c * denominator) for c in q)):
                where = _thin(a, b)
                with ball_ends():
                    left, right = (self.at(order, Interval(end, end)) for end in (where.lo, where.hi))
                value = _widen_by_slope(order, where, left.hull(right))
                found.append((float(where.lo), float(where.hi), float(value.lo), float(value.hi)))
            self._critical[order] = tuple(found)
        return self._critical[order]


def gauss_base(points: Array) -> tuple[Mask, Interval, Interval]:
    """For ``P(t) exp(-t^2/2)``: which points are far out, the near ones, and the weight there.

    Beyond 60 the weight is below exp(-1800): every polynomial in use times it is below the smallest float.
    """
    far = np.abs(points) > 60.0
    near = np.where(far, 0.0, points)
    here = Interval(near, near)
    exponent = here.square() * Interval.of(-0.5)
    return far, here, point_values("exp", exponent.lo).hull(point_values("exp", exponent.hi))


def gauss_value(p: tuple[Fraction, ...], base: object) -> Interval:
    """``P(t) exp(-t^2/2)`` at prepared points."""
    far, here, weight = cast(tuple[Mask, Interval, Interval], base)
    value = rational_horner(p, here) * weight
    floor = 0.0 if len(p) == 1 and p[0] >= 0 else -1e-300
    return Interval(np.where(far, floor, value.lo), np.where(far, 1e-300, value.hi))


def rational_base(points: Array) -> tuple[Interval, Interval]:
    """``u = |t|/sqrt(1+t^2)`` and ``c = 1/sqrt(1+t^2)`` at points, both in [0, 1]."""
    size = np.minimum(np.abs(points), 1e150)
    huge = np.abs(points) > 1e150
    root = square_root(Interval.of(1.0) + Interval(size, size).square())
    inverse = root.reciprocal()
    c = Interval(np.where(huge, 0.0, np.maximum(inverse.lo, 0.0)), np.minimum(inverse.hi, 1.0))
    u = product_of_positive(Interval(size, size), inverse)
    return Interval(np.where(huge, np.nextafter(1.0, 0), u.lo), np.where(huge, 1.0, np.minimum(u.hi, 1.0))), c


def rational_value(p: tuple[Fraction, ...], power: Fraction, points: Array, base: object) -> Interval:
    """``sum_j p_j t^j (1+t^2)^(-power/2) = sum_j p_j (+-u)^j c^(power - j)``: nothing overflows for j <= power."""
    u, c = cast(tuple[Interval, Interval], base)
    negative = points < 0
    lead = signed_power(c, power - (len(p) - 1))
    shrink = [lead]  # c^(power - d), c^(power - d + 1), ... up to c^power
    for _ in range(len(p) - 1):
        shrink.append(shrink[-1] * c)
    total: Interval | None = None
    grow: Interval | None = None
    for j, coefficient in enumerate(p):
        grow = None if j == 0 else u if grow is None else product_of_positive(grow, u)
        if not coefficient:
            continue
        term = shrink[len(p) - 1 - j] if grow is None else grow * shrink[len(p) - 1 - j]
        if coefficient != 1:
            term = term * point(coefficient)
        if j % 2:
            term = Interval(np.where(negative, -term.hi, term.lo), np.where(negative, -term.lo, term.hi))
        total = term if total is None else total + term
    return Interval(np.zeros_like(points), np.zeros_like(points)) if total is None else total


def _hypot(points: Array) -> Interval:
    size = np.minimum(np.abs(points), 1e150)
    root = square_root(Interval.of(1.0) + Interval(size, size).square())
    far = np.abs(points) > 1e150
    return Interval(
        np.where(far, np.abs(points), root.lo),
        np.where(far, np.where(np.isinf(points), np.inf, up(np.abs(points))), root.hi),
    )


def rational_horner(p: tuple[Fraction, ...], s: Interval) -> Interval:
    """A rational polynomial at thin intervals."""
    total = Interval(np.zeros_like(s.lo), np.zeros_like(s.hi)) + point(p[-1])
    for coefficient in reversed(p[:-1]):
        total = total * s
        if coefficient:
            total = total + point(coefficient)
    return total


def _combine(p: tuple[Fraction, ...], q: tuple[Fraction, ...], factor: Fraction) -> tuple[Fraction, ...]:
    size = max(len(p), len(q))
    zero = Fraction(0)
    out = [(p[i] if i < len(p) else zero) + factor * (q[i] if i < len(q) else zero) for i in range(size)]
    while len(out) > 1 and out[-1] == 0:
        out.pop()
    return tuple(out)


class Erf(Direct):
    """``erf``: derivatives are scaled Gaussians, ``erf^(k)(t) = 2/sqrt(pi) sqrt(2)^(k-1) G^(k-1)(sqrt(2) t)``."""

    name = "erf"

    def __init__(self) -> None:
        self.gauss = FamilyScalar("gauss")
        root = square_root(Interval.of(2.0))
        self.root = root
        self.front = (
            Interval.of(2.0) * square_root(Interval(np.asarray(_PI), np.asarray(np.nextafter(_PI, 4)))).reciprocal()
        )

    def range(self, order: int, t: Interval) -> Interval:
        if order == 0:
            return Interval(point_values("erf", t.lo).lo, point_values("erf", t.hi).hi)
        inner = self.gauss.range(order - 1, t * self.root)
        return inner * self.front * integer_power(self.root, order - 1)


class Psi(Direct):
    """The period-4 function of exponent ``nu`` whose third derivative is ``sgn(s)|s|^nu``, s a triangle wave.

    (ragd-gs, numerical section.) ``psi, psi', psi'', psi'''`` are monotone between integers.
    """

    def __init__(self, nu: Fraction) -> None:
        self.nu = nu
        self.name = f"psi_{nu}"
        self.smooth = 3

    def at(self, order: int, t: Interval) -> Interval:
        points = t.lo
        infinite = ~np.isfinite(points) | (np.abs(points) > 1e12)
        safe = np.where(infinite, 0.0, points)
        with np.errstate(invalid="ignore"):
            # exact: fmod of floats is exact, and the shift by 1 is done on the reduced argument
            reduced = np.fmod(safe, 4.0)
            reduced = np.where(reduced < 0, reduced + 4.0, reduced)  # rounding here is covered below
        wave, rising = self._triangle(reduced)
        value = self._value(order, wave, rising)
        return clean(np.where(infinite, -np.inf, value.lo), np.where(infinite, np.inf, value.hi))

    @staticmethod
    def _triangle(reduced: Array) -> tuple[Interval, Mask]:
        """Triangle wave of arguments in [0, 4]: t on [0,1], 2-t on [1,3], t-4 on [3,4], with a step of slack."""
        falling = (reduced >= 1) & (reduced <= 3)
        late = reduced > 3
        s = np.where(falling, 2.0 - reduced, np.where(late, reduced - 4.0, reduced))
        slack = np.where(np.abs(reduced - np.round(reduced)) == 0, 0.0, 1e-15)
        return Interval(np.maximum(s - slack, -1.0), np.minimum(s + slack, 1.0)), ~falling

    def _value(self, order: int, s: Interval, rising: Mask) -> Interval:
        nu = self.nu
        size = s.absolute()
        sign_positive, sign_negative = s.lo >= 0, s.hi <= 0

        def odd(v: Interval) -> Interval:
            low = np.where(sign_positive, v.lo, -v.hi)
            high = np.where(sign_negative, -v.lo, v.hi)
            return Interval(low, high)

        def signed(v: Interval) -> Interval:
            return Interval(np.where(rising, v.lo, -v.hi), np.where(rising, v.hi, -v.lo))

        if order == 3:
            if nu == 0:
                return Interval(np.where(s.lo > 0, 1.0, -1.0), np.where(s.hi < 0, -1.0, 1.0))
            return odd(_unit_power(size, nu))
        if order == 2:
            return signed((_unit_power(size, 1 + nu) - Interval.of(1.0)) * point(1 / (1 + nu)))
        if order == 1:
            return odd(_unit_power(size, 2 + nu)) * point(1 / ((1 + nu) * (2 + nu))) - s * point(1 / (1 + nu))
        if order == 0:
            return self._zeroth(size, rising)
        # order 4 and more: not bounded near the zeros of s for nu < 1
        if order == 4 and nu == 1:
            return signed(Interval(np.ones_like(s.lo), np.ones_like(s.hi)))
        return Interval(np.full_like(s.lo, -np.inf), np.full_like(s.hi, np.inf))

    def _zeroth(self, size: Interval, rising: Mask) -> Interval:
        nu = self.nu
        first, second = 1 / ((1 + nu) * (2 + nu) * (3 + nu)), Fraction(1, 2) / (1 + nu)
        value = _unit_power(size, 3 + nu) * point(first) - size.square() * point(second)
        flipped = point(2 * (first - second)) - value
        return Interval(np.where(rising, value.lo, flipped.lo), np.where(rising, value.hi, flipped.hi))

    def range(self, order: int, t: Interval) -> Interval:
        if order > 4 or (order == 4 and self.nu != 1):
            return Interval(np.full_like(t.lo, -np.inf), np.full_like(t.hi, np.inf))
        if order == 4:
            return Interval(np.full_like(t.lo, -1.0), np.full_like(t.hi, 1.0))
        with np.errstate(invalid="ignore"):
            wide = ~((t.hi - t.lo) < 4.0) | (np.abs(t.lo) > 1e9) | (np.abs(t.hi) > 1e9)
        lo, hi = np.where(wide, 0.0, t.lo), np.where(wide, 0.0, t.hi)
        value = self.at(order, Interval(lo, lo)).hull(self.at(order, Interval(hi, hi)))
        low, high = value.lo, value.hi
        for j in range(4):
            inside = np.floor((hi - j) / 4 + 1e-9) >= np.ceil((lo - j) / 4 - 1e-9)
            there = self.at(order, Interval.of(np.asarray(float(j))))
            low = np.where(inside | wide, np.minimum(low, there.lo), low)
            high = np.where(inside | wide, np.maximum(high, there.hi), high)
        return Interval(low, high)


class Huber(Direct):
    """``t^2/2`` for ``|t| <= delta``, ``delta |t| - delta^2/2`` outside: the second derivative jumps at ``+-delta``."""

    smooth = 1

    def __init__(self, delta: Fraction) -> None:
        self.delta, self.name = delta, f"Huber_{delta}"

    def range(self, order: int, t: Interval) -> Interval:
        d = point(self.delta)
        if order == 1:
            return Interval(np.clip(t.lo, -d.hi, d.hi), np.clip(t.hi, -d.hi, d.hi))
        if order == 2:
            wholly_inside = (t.lo > -d.lo) & (t.hi < d.lo)
            touches = (t.lo <= d.hi) & (t.hi >= -d.hi)
            return Interval(np.where(wholly_inside, 1.0, 0.0), np.where(touches, 1.0, 0.0))
        if order > 2:
            kink = ((t.lo <= d.hi) & (t.hi >= d.lo)) | ((t.lo <= -d.lo) & (t.hi >= -d.hi))
            return Interval(np.where(kink, -np.inf, 0.0), np.where(kink, np.inf, 0.0))
        size = t.absolute()
        return Interval(self._value(size.lo, d).lo, self._value(size.hi, d).hi)

    @staticmethod
    def _value(size: Array, d: Interval) -> Interval:
        here = Interval(size, size)
        inner = here.square() * Interval.of(0.5)
        outer = d * here - d.square() * Interval.of(0.5)
        return Interval(
            np.where(size <= d.lo, inner.lo, np.maximum(outer.lo, 0.0)),
            np.where(size <= d.lo, inner.hi, np.where(np.isinf(size), np.inf, outer.hi)),
        )

    def at(self, order: int, t: Interval) -> Interval:
        return self.range(order, t)

    def critical(self, order: int) -> tuple[Critical, ...]:
        return ()


class Derived(Direct):
    """The derivative of another scalar function, as a function of its own."""

    def __init__(self, base: Scalar, order: int) -> None:
        self.base, self.order = base, order
        self.name, self.domain = f"{base.name}^({order})", base.domain
        self.smooth = base.smooth - order

    def range(self, order: int, t: Interval) -> Interval:
        return self.base.range(order + self.order, t)

    def ranges(self, orders: Sequence[int], t: Interval) -> list[Interval]:
        return self.base.ranges([order + self.order for order in orders], t)

    def at(self, order: int, t: Interval) -> Interval:
        return self.base.at(order + self.order, t)

    def critical(self, order: int) -> tuple[Critical, ...]:
        return self.base.critical(order + self.order)


def _unit_power(size: Interval, exponent: Fraction) -> Interval:
    """``s^q`` for s in [0, 1], q > 0: monotone."""
    if exponent == 0:
        return Interval(np.ones_like(size.lo), np.ones_like(size.hi))
    low = signed_power(Interval(size.lo, size.lo), exponent)
    high = signed_power(Interval(size.hi, size.hi), exponent)
    return Interval(np.clip(low.lo, 0.0, 1.0), np.clip(high.hi, 0.0, 1.0))


EXTRA: dict[str, Callable[..., Scalar]] = {}
"""Atoms that rooms below register (name -> constructor from parameters)."""


@lru_cache(maxsize=256)
def scalar(name: str, *parameters: Fraction) -> Scalar:
    """The scalar atom of a name: those of the language, and ``lorentz odd_lorentz log1psquare hypot1 gauss``.

    Raises
    ------
    KeyError : unknown name.
    """
    if name in ("sin", "cos"):
        return Trigonometric(name)
    if name in ("exp", "sinh", "cosh"):
        return Exponential(name)
    if name == "tan":
        return Tangent()
    if name in suprema.FAMILIES:
        return FamilyScalar(name)
    if name == "erf":
        return Erf()
    if name == "psi":
        return Psi(parameters[0])
    if name == "log":
        return Power(Fraction(0), "log")
    if name == "sqrt":
        return Power(Fraction(1, 2))
    if name == "power":
        return Power(parameters[0])
    if name == "bell":
        return WeightedPolynomial("rational", (Fraction(1),), parameters[0])
    if name in ("abspow", "sgnpow", "pluspow"):
        return Power(parameters[0], name[:-3])
    if name == "huber":
        return Huber(parameters[0])
    if name in EXTRA:
        return EXTRA[name](*parameters)
    if name in ("sinc", "exprel", "logrel"):
        from bilevel_verify.intervals.removable import Monotone, Sinc

        return Sinc() if name == "sinc" else Monotone(name)
    raise KeyError(name)
