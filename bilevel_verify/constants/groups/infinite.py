"""Infinite constants: proofs that a derivative is unbounded.

A search cannot show that a constant is infinite. What shows it here: a quadratic or a polynomial entry that depends on
an unbounded variable while everything else is bounded; a power with a singular derivative inside the domain; ridges
that all grow with the same sign along a ray.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Expr, Rational, Symbol

from bilevel_verify.constants.bound.bounds import Bound
from bilevel_verify.constants.calculus.specials import Radial, radial_power
from bilevel_verify.constants.formula.model import Model
from bilevel_verify.constants.formula.structure import Ridge, ridge_text
from bilevel_verify.constants.groups.group import Group
from bilevel_verify.constants.groups.unbounded import all_finite, unbounded_terms, with_remedy
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.jets import jet_space
from bilevel_verify.intervals.scalar import Derived, Exponential, Power, Psi, Scalar
from bilevel_verify.numbers.rounding import Array, enclose

Line = tuple[Symbol, dict[Expr, Expr]]
"""A variable, and a rational inner point for all the others."""
FAR = (1e6, 1e12)
"""Places along a line at which a polynomial that grows differs in size."""
NEAR = 1e-3
"""Half-width of the box around a singular point in which everything else has to be bounded."""


def infinite(part: Group, slots: str) -> Bound | None:
    """A proof that the form is unbounded on the domain, None if there is none (which says nothing)."""
    return (
        _endless_gradient(part, slots)
        or _singular_power(part, slots)
        or _growing_entry(part, slots)
        or _growing_ray(part, slots)
        or _radial_blow_up(part, slots)
    )


def _proved(part: Group, slots: str, text: str, where: dict[str, float]) -> Bound:
    why = with_remedy("unbounded ray", f"{part.label(slots)} = oo: {text}", part, len(slots))
    return Bound(math.inf, math.inf, True, "exact", why, sympy.oo, True, where)


def _endless_gradient(part: Group, slots: str) -> Bound | None:
    """A gradient that certainly grows without bound: a quadratic along an unbounded variable, the rest bounded."""
    if len(slots) != 1 or part.structure.rest is not None or not part.domain.unbounded:
        return None
    members = set(part.model.slots(slots))
    lo, hi = part.whole()
    if not np.isfinite(part.model.ridge_ranges(1, part.model.arguments(lo, hi)).magnitude()).all():
        return None
    for (i, j), value in part.structure.quadratic.items():
        for own, other in ((i, j), (j, i)):
            if own in members and _open(part, other):
                variable, name = part.structure.variables[other], part.structure.variables[own]
                text = f"the quadratic term {value}*{name}*{variable} makes the gradient grow along {variable}"
                return _proved(part, slots, text, {variable.name: math.inf})
    return None


def _open(part: Group, i: int) -> bool:
    return not (np.isfinite(part.domain.lo[i]) and np.isfinite(part.domain.hi[i]))


# -- a singular derivative inside the domain


def _power_of(function: Scalar) -> tuple[Power, int] | None:
    base, order = (function.base, function.order) if isinstance(function, Derived) else (function, 0)
    return (base, order) if isinstance(base, Power) else None


def _singular_power(part: Group, slots: str) -> Bound | None:
    """``|t|^p`` and its relatives with ``p < k`` (also ``log t``, ``psi_nu``) at a point of the domain."""
    k = len(slots)
    lo, hi = part.whole()
    arguments = part.model.arguments(lo, hi)
    for number, ridge in enumerate(part.structure.ridges):
        place = _singular_place(ridge.function, k, float(arguments.lo[0, number]), float(arguments.hi[0, number]))
        if place is None or not _seen(part, ridge, slots):
            continue
        point = _point_on(part, number, place)
        if point is None or not _bounded_around(part, k, point, number):
            continue
        row = sympy.Add(ridge.shift, *[c * part.structure.variables[i] for i, c in ridge.row])
        text = f"derivative {k} of {ridge_text(ridge, part.structure)} is unbounded at {row} = {place:g}"
        return _proved(part, slots, text, part.named(point))
    return None


def _singular_place(function: Scalar, k: int, low: float, high: float) -> float | None:
    """An argument in ``[low, high]`` next to which the k-th derivative is unbounded, if one is known."""
    if isinstance(function, Derived):
        return _singular_place(function.base, k + function.order, low, high)
    if isinstance(function, Psi):
        even = 2.0 * math.ceil(max(low, -1e6) / 2)
        return even if k == 4 and 0 < function.nu < 1 and even <= high else None
    if not isinstance(function, Power) or not low <= 0 <= high:
        return None
    smooth = function.kind not in ("plain", "log") and math.isinf(function.smooth)
    return None if smooth or function.factor(k) == 0 or not function.exponent < k else 0.0


def _seen(part: Group, ridge: Ridge, slots: str) -> bool:
    members = {i for i, _ in ridge.row}
    return all(members & set(part.model.slots(s)) for s in slots)


def _point_on(part: Group, number: int, place: float) -> Array | None:
    """A point of the domain with ``a . z + s = place``, away from its boundary where that is possible."""
    row, shift = part.model.row_centres[number], float(part.model.shifts.centre()[number]) - place
    lo, hi = part.domain.lo, part.domain.hi
    start = np.random.default_rng(3).normal(size=part.n) * 0.37
    for _ in range(60):
        start = np.clip(start - row * (row @ start + shift) / (row @ row), lo, hi)
    return start if abs(row @ start + shift) <= 1e-12 * (1 + float(np.abs(row) @ np.abs(start))) else None


def _bounded_around(part: Group, k: int, point: Array, number: int) -> bool:
    """Whether every other term has bounded derivatives near the point."""
    others = tuple(r for index, r in enumerate(part.structure.ridges) if index != number)
    model = Model(replace(part.structure, ridges=others), part.is_x)
    lo, hi = np.maximum(point - NEAR, part.domain.lo)[None], np.minimum(point + NEAR, part.domain.hi)[None]
    return all_finite(model, k, lo, hi)


# -- polynomials


def _growing_entry(part: Group, slots: str) -> Bound | None:
    """An entry of the tensor that is a non-constant polynomial along a coordinate line, everything else bounded."""
    k = len(slots)
    if k < 2 or not part.domain.unbounded or part.only_specials or part.n > 8:
        return None
    total, remaining = _expressions(part)
    lo, hi = part.whole()
    if total == 0 or not all_finite(remaining, k, lo, hi):
        return None
    space = jet_space(part.n, k)
    derivatives = {(0,) * part.n: total}
    lines = [_line(part, i) for i in range(part.n) if _open(part, i)]
    for number, grows in zip(space.of_degree(k), _may_grow(part, total, k, lines), strict=True):
        if not grows or not _fits(part, space.indices[number], slots):
            continue
        entry = _derivative(derivatives, part.structure.variables, space.indices[number])
        if entry.has(sympy.Derivative, sympy.Subs):
            continue  # a derivative that has no closed form is no polynomial either
        for variable, others in lines:
            if variable in entry.free_symbols and _is_growing_polynomial(entry.xreplace(others), variable):
                terms = "; ".join(unbounded_terms(part, k)[:4])
                text = f"derivative {k} of {terms}: the entry {str(entry)[:60]} grows along {variable}"
                return _proved(part, slots, text, {variable.name: math.inf})
    return None


def _may_grow(part: Group, total: Expr, k: int, lines: list[Line]) -> NDArray[np.bool_]:
    """Which entries of the k-th derivative of an expression are larger far out on some line than nearer.

    Enclosures at points decide where the exact work is worth it; what is skipped wrongly (a slope of 1e-11 of the
    value) is not proved to be infinite, no more.
    """
    points = []
    for variable, others in lines:
        end = part.domain.hi[part.structure.variables.index(variable)]
        for far in FAR:
            values = {**others, variable: far if end == np.inf else -far}
            points.append([float(values[v]) for v in part.structure.variables])
    alone = Model(replace(part.structure, rest=total, ridges=(), quadratic={}, linear={}), part.is_x)
    sizes = alone.evaluate(k, np.array(points), np.array(points)).entries.magnitude()
    return np.asarray(np.any(~(sizes[1::2] <= 10 * sizes[::2]), axis=0))


def _derivative(known: dict[tuple[int, ...], Expr], variables: Sequence[Symbol], index: tuple[int, ...]) -> Expr:
    """A partial derivative from one of an order less, each taken once.

    SymPy simplifies after each derivative of an order above one: that was most of the time here.
    """
    if index not in known:
        i = next(i for i, times in enumerate(index) if times)
        lower = (*index[:i], index[i] - 1, *index[i + 1 :])
        known[index] = sympy.diff(_derivative(known, variables, lower), variables[i])
    return known[index]


def _line(part: Group, i: int) -> Line:
    """A variable, and a rational inner point for all the others."""
    values = {}
    for j, variable in enumerate(part.structure.variables):
        if j != i:
            low, high = max(part.domain.lo[j], -1.0), min(part.domain.hi[j], 1.0)
            inner = (
                low + 0.6875 * (high - low) if low <= high else (part.domain.lo[j] if low > 0 else part.domain.hi[j])
            )
            values[variable] = Rational(*float(inner).as_integer_ratio())
    return part.structure.variables[i], values


def _is_growing_polynomial(entry: Expr, variable: Symbol) -> bool:
    if not entry.is_polynomial(variable):
        return False
    poly = sympy.Poly(sympy.expand(entry), variable)
    low, high = enclose(poly.LC())
    return bool(poly.degree() >= 1 and (low > 0 or high < 0))


def _fits(part: Group, index: tuple[int, ...], slots: str) -> bool:
    """Whether a partial derivative is an entry of the form (blocks x and y taken in the order of the slots)."""
    wanted = [i for i, count in enumerate(index) for _ in range(count)]
    free = list(slots)
    for i in wanted:
        own = "x" if part.is_x[i] else "y"
        taken = own if own in free else "z" if "z" in free else None
        if taken is None:
            return False
        free.remove(taken)
    return True


def _expressions(part: Group) -> tuple[Expr, Model]:
    """Integer powers of affine forms and the rest as one expression, and the model of the other ridges."""
    structure = part.structure
    terms: list[Expr] = [] if structure.rest is None else [structure.rest]
    ridges: list[Ridge] = []
    for ridge in structure.ridges:
        found = _power_of(ridge.function)
        if found is not None and found[0].kind == "plain" and found[1] == 0 and _natural(found[0].exponent):
            argument = sympy.Add(ridge.shift, *[c * structure.variables[i] for i, c in ridge.row])
            terms.append(ridge.weight * argument ** int(found[0].exponent))
        else:
            ridges.append(ridge)
    return sympy.Add(*terms), Model(replace(structure, ridges=tuple(ridges), rest=None), part.is_x)


def _natural(exponent: Fraction) -> bool:
    return exponent.denominator == 1 and exponent >= 0


# -- rays


def _growing_ray(part: Group, slots: str) -> Bound | None:
    """Ridges along a ray: those that do not stay bounded all grow with one sign, and one of them surely diverges."""
    k = len(slots)
    if not part.domain.unbounded or part.only_specials or len(part.structure.ridges) > 40:
        return None
    lo, hi = part.whole()
    bare = Model(replace(part.structure, ridges=()), part.is_x)
    if (k > 1 and not all_finite(bare, k, lo, hi)) or (k == 1 and part.structure.rest is not None):
        return None
    for direction in _rays(part):
        if k == 1 and _quadratic_moves(part, direction):
            continue
        for number, ridge in enumerate(part.structure.ridges):
            if _all_grow(part, slots, direction, number):
                arrow = ", ".join(
                    f"{v} -> {'+' if d > 0 else '-'}oo" for v, d in zip(part.structure.variables, direction) if d
                )
                where = {v.name: math.copysign(math.inf, d) for v, d in zip(part.structure.variables, direction) if d}
                text = f"derivative {k} of {ridge_text(ridge, part.structure)} grows without bound as {arrow}"
                return _proved(part, slots, text, where)
    return None


def _all_grow(part: Group, slots: str, direction: Array, term: int) -> bool:
    """Whether a ridge diverges along the ray, tested along its own row in every slot, and no other one opposes it."""
    rows = part.model.row_centres
    slopes, seen = rows @ direction, np.ones(len(rows))
    for s in slots:
        members = list(part.model.slots(s))
        seen = seen * (rows[:, members] @ rows[term, members])
    own = _divergence(part, term, len(slots), slopes[term], seen[term])
    if own is None or not own[1]:
        return False
    for number in range(len(rows)):
        other = _divergence(part, number, len(slots), slopes[number], seen[number])
        if other is None or other[0] == -own[0]:
            return False
    return True


def _quadratic_moves(part: Group, direction: Array) -> bool:
    return any(direction[i] or direction[j] for i, j in part.structure.quadratic)


def _rays(part: Group) -> list[Array]:
    """Directions along which the domain is unbounded: coordinates, and the rows of the ridges on the whole space."""
    rays = []
    for i in range(part.n):
        for sign, end in ((1.0, part.domain.hi[i]), (-1.0, part.domain.lo[i])):
            if math.isinf(end):
                rays.append(sign * np.eye(part.n)[i])
    if part.domain.free:
        for row in part.model.row_centres[:6]:
            rays += [row, -row]
    return rays


def _divergence(part: Group, number: int, k: int, slope: float, seen: float) -> tuple[int, bool] | None:
    """``(sign, surely infinite)`` of one ridge along a ray, ``(0, False)`` if bounded, None if nothing is known.

    ``slope``: of the ridge's argument along the ray; ``seen``: product of its row with the test vectors.
    """
    ridge = part.structure.ridges[number]
    weight = enclose(ridge.weight)
    if slope == 0.0:
        lo, hi = part.whole()
        values = ridge.function.range(k, part.model.arguments(lo, hi)[:, number])
        return (0, False) if np.isfinite(values.magnitude()).all() else None
    far = (
        Interval(np.array([1.0]), np.array([math.inf]))
        if slope > 0
        else Interval(np.array([-math.inf]), np.array([-1.0]))
    )
    values = ridge.function.range(k, far)
    low, high = float(values.lo[0]), float(values.hi[0])
    if math.isfinite(low) and math.isfinite(high):
        return 0, False
    if (math.isinf(low) and math.isinf(high)) or abs(seen) < 1e-12:
        return None
    side = 1 if math.isinf(high) else -1
    return int(side * math.copysign(1.0, weight[0]) * math.copysign(1.0, seen)), _diverges(ridge.function, k, slope > 0)


def _diverges(function: Scalar, k: int, up: bool) -> bool:
    """Whether the k-th derivative certainly tends to infinity at that end."""
    found = _power_of(function)
    if found is not None:
        power, shift = found
        order = k + shift
        defined_there = up or power.kind in ("abs", "sgn") or (power.kind == "plain" and _natural(power.exponent))
        return power.kind != "log" and defined_there and power.exponent > order
    base = function.base if isinstance(function, Derived) else function
    return isinstance(base, Exponential) and (up or base.name != "exp")


def _radial_blow_up(part: Group, slots: str) -> Bound | None:
    """A power of a distance, at infinity or at its centre, when nothing else is unbounded there."""
    k = len(slots)
    if len(part.specials) != 1 or not isinstance(part.specials[0], Radial) or k < 2:
        return None
    special = part.specials[0]
    power = radial_power(special)
    members = set(special.members)
    if power is None or not all(members & set(part.model.slots(s)) for s in slots):
        return None
    even = power.is_Integer and power >= 0 and power % 2 == 0
    lo, hi = part.whole()
    if not all_finite(part.plain, k, lo, hi):
        return None
    if power > k and any(_open(part, i) for i in members) and (len(set(slots)) == 1 or part.domain.free):
        names = ", ".join(str(part.structure.variables[i]) for i in sorted(members))
        text = f"derivative {k} of {special.term} grows without bound with {names}"
        return _proved(part, slots, text, {})
    centre = [enclose(c) for c in special.centre]
    inside = all(part.domain.lo[i] < a and b < part.domain.hi[i] for i, (a, b) in zip(special.members, centre))
    if power < k and not even and inside and len(set(slots)) == 1:
        where = {str(part.structure.variables[i]): a for i, (a, _) in zip(special.members, centre)}
        return _proved(part, slots, f"derivative {k} of {special.term} is unbounded at its centre", where)
    return None
