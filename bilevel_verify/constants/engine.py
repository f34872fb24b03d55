"""The three routes for one formula: calculus, branch and bound, sampling. The best certified bound wins."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import sympy
from sympy import Expr

from bilevel_verify.constants import exact, smoothness
from bilevel_verify.constants.branch import Supremum, middle_of, supremum
from bilevel_verify.constants.constant import Reason, Route
from bilevel_verify.constants.domain import Domain, one_period
from bilevel_verify.constants.forms import Form
from bilevel_verify.constants.model import Model
from bilevel_verify.constants.specials import Special, specials_of
from bilevel_verify.constants.structure import Structure, restrict, ridge_text
from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.intervals.rounding import Array, enclose

TOLERANCE = {1: 2e-3, 2: 2e-3, 3: 1e-2, 4: 5e-2}
"""Relative gap at which branch and bound stops, by order of the derivative."""

BUDGET = {1: 6000, 2: 12000, 3: 12000, 4: 8000}
"""Largest number of boxes, by order (scaled down with the dimension)."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What is known about one supremum (or, for strong convexity, infimum)."""

    upper: float
    lower: float
    certified: bool
    route: Route
    why: Reason
    exact: Expr | None = None
    attained: bool = False
    witness: dict[str, float] = field(default_factory=dict)


class Analysis:
    """Everything known about one formula on one box.

    Parameters
    ----------
    structure : decomposition over the ordered variables (x first).
    is_x : block of each variable.
    domain : box.
    effort : multiplies the box budget.
    name : ``f`` or ``g``, for derivations.
    """

    def __init__(self, structure: Structure, is_x: tuple[bool, ...], domain: Domain, name: str, effort: float = 1.0) -> None:
        self.structure, self.is_x, self.domain, self.name, self.effort = structure, is_x, domain, name, effort
        self.parts = [self._part(group) for group in structure.groups] or []
        self._norms: dict[str, Bound] = {}

    def _part(self, group: tuple[int, ...]) -> Part:
        return Part(restrict(self.structure, group), tuple(self.is_x[i] for i in group), self.domain.part(group), self.name,
                    self.effort)  # fmt: skip

    def norm(self, slots: str) -> Bound:
        """``sup`` of the norm of a derivative form over the domain."""
        if slots not in self._norms:
            with np.errstate(all="ignore"):
                bounds = [part.norm(slots) for part in self.parts if part.touches(slots)]
            self._norms[slots] = _combine(bounds, slots)
        return self._norms[slots]

    def convexity(self) -> Bound:
        """``inf lambda_min`` of the yy block; ``lower`` is the certified end, ``upper`` was reached at the witness."""
        with np.errstate(all="ignore"):
            bounds = [part.convexity() for part in self.parts if any(not b for b in part.is_x)]
        if len(bounds) == 1:
            return bounds[0]
        worst = min(bounds, key=lambda b: b.lower)
        least_upper = min(bounds, key=lambda b: b.upper)
        why = Reason("blocks", f"mu = smallest over {len(bounds)} groups of variables that do not interact", tuple(b.why for b in bounds[:4]))
        separated = all(b is worst or b.lower >= worst.upper or b.exact == worst.exact for b in bounds)
        return replace(worst, upper=least_upper.upper, witness=least_upper.witness, why=why, exact=worst.exact if separated else None)


def _combine(bounds: list[Bound], slots: str) -> Bound:
    """Variables that do not interact: the largest (for a gradient: root of the sum of squares)."""
    if not bounds:
        return Bound(0.0, 0.0, True, "exact", Reason("structure", f"{slots}: vanishes identically"), sympy.Integer(0), True)
    if len(bounds) == 1:
        return bounds[0]
    if len(slots) == 1:
        return _gradient_combination(bounds)
    best = max(bounds, key=lambda b: b.upper)
    shown = tuple(b.why for b in sorted(bounds, key=lambda b: -b.upper)[:3])
    why = Reason("blocks", f"largest over {len(bounds)} groups of variables that do not interact", shown)
    return replace(best, lower=max(b.lower for b in bounds), certified=all(b.certified for b in bounds), why=why)


def _gradient_combination(bounds: list[Bound]) -> Bound:
    total = sum((sympy.Integer(0) if b.exact is None else b.exact**2 for b in bounds), sympy.Integer(0))
    closed = sympy.sqrt(total) if all(b.exact is not None and b.exact.is_finite for b in bounds) else None
    if closed is not None:
        upper = enclose(closed)[1]
    else:
        upper = float(np.nextafter(math.sqrt(math.fsum(b.upper**2 for b in bounds)) * (1 + 1e-15), math.inf))
    lower = math.sqrt(sum(b.lower**2 for b in bounds))
    worst = max(bounds, key=lambda b: b.upper)
    why = Reason("blocks", "root of the sum of squares over groups of variables that do not interact", tuple(b.why for b in bounds[:4]))
    return Bound(upper, lower, all(b.certified for b in bounds), worst.route, why, closed, all(b.attained for b in bounds), worst.witness)


class Part:
    """One group of interacting variables."""

    def __init__(self, structure: Structure, is_x: tuple[bool, ...], domain: Domain, name: str, effort: float) -> None:
        self.structure, self.is_x, self.domain, self.name, self.effort = structure, is_x, domain, name, effort
        self.model = Model(structure, is_x)
        self.n = len(is_x)
        self.norms: dict[str, Bound] = {}
        self.specials: list[Special] = []
        if structure.rest is not None:
            self.specials, remaining = specials_of(structure.rest, structure.variables)
            self.plain = Model(replace(structure, rest=remaining), is_x) if self.specials else self.model

    def touches(self, slots: str) -> bool:
        """False if a slot's block is empty here, or nothing of this order can be there."""
        if any(not self.model.slots(s) for s in slots):
            return False
        k = len(slots)
        return bool(self.structure.rest is not None or self.structure.ridges or (k == 2 and self.structure.quadratic)
                    or (k == 1 and (self.structure.linear or self.structure.quadratic)))  # fmt: skip

    # -- norms -----------------------------------------------------------------------------------------------------

    def norm(self, slots: str) -> Bound:
        """Calculus on the whole domain, then branch and bound where that leaves a gap."""
        slots = self._canonical(slots)
        if not self.touches(slots):
            return _combine([], slots)
        if slots not in self.norms:
            self.norms[slots] = self._norm(slots)
        return self.norms[slots]

    def _canonical(self, slots: str) -> str:
        """``z`` slots become ``y`` (or ``x``) slots where the derivative sees that block only."""
        active = self._free_variables(len(slots))
        if len(slots) == 2:
            for pair in self.structure.quadratic:
                active[list(pair)] = True
        seen_x, seen_y = bool(active[list(self.model.x)].any()), bool(active[list(self.model.y)].any())
        if len(slots) < 2 or (seen_x and seen_y) or not (seen_x or seen_y):
            return slots
        return slots.replace("z", "y") if seen_y else slots.replace("z", "x")

    def _norm(self, slots: str) -> Bound:
        lost = smoothness.first_jump(self.structure, self.domain, tuple(self.model.slots(s) for s in slots))
        if lost is not None and lost.order < len(slots):
            return _jump_bound(lost, len(slots))
        endless = self._endless_gradient(slots)
        if endless is not None:
            return endless
        first = self._calculus(slots)
        gap = first.upper - first.lower
        tolerance = TOLERANCE[len(slots)]
        if self.effort <= 0 or first.attained or first.upper == 0 or gap <= tolerance * abs(first.lower) or self._hopeless():
            return first
        second = self._search(slots, first)
        return second

    def _endless_gradient(self, slots: str) -> Bound | None:
        """A gradient that certainly grows without bound: a quadratic along an unbounded variable, the rest bounded."""
        if len(slots) != 1 or self.structure.rest is not None or not self.domain.unbounded:
            return None
        members = set(self.model.slots(slots))
        lo, hi = self._whole()
        slopes = self.model.ridge_ranges(1, self.model.arguments(lo, hi))
        if not np.isfinite(slopes.magnitude()).all():
            return None
        for (i, j), value in self.structure.quadratic.items():
            for own, other in ((i, j), (j, i)):
                if own in members and not (np.isfinite(self.domain.lo[other]) and np.isfinite(self.domain.hi[other])):
                    variable, name = self.structure.variables[other], self.structure.variables[own]
                    statement = (f"{self._label(slots)} = oo: the quadratic term {value}*{name}*{variable} makes the gradient grow "
                                 f"along {variable}; a bounded range of {variable} makes it finite")  # fmt: skip
                    return Bound(math.inf, math.inf, True, "exact", Reason("unbounded ray", statement), sympy.oo, True,
                                 {variable.name: math.inf})  # fmt: skip
        return None

    def _hopeless(self) -> bool:
        return self.n > 12

    def _whole(self) -> tuple[Array, Array]:
        return self.domain.lo[None, :], self.domain.hi[None, :]

    def _calculus(self, slots: str) -> Bound:
        k = len(slots)
        form = Form(self.model, slots, 4096)
        lo, hi = self._whole()
        with ball_ends():
            upper = float(form.upper(self.model.evaluate(k, lo, hi))[0])
            special = self._with_specials(slots)
        if special < upper:
            upper, form = special, form
        free = self._free_arguments()
        closed = self._closed(slots) if free else None
        sample_lower = self._sampled(slots, Form(self.model, slots))
        rule = self._rule(slots)
        if closed is not None:
            top = enclose(closed)[1]
            why = Reason(rule, f"{self._label(slots)} = {closed}", self._range_reasons(k))
            return Bound(top, top, True, "exact", why, closed, True)
        why = Reason(rule, f"{self._label(slots)} <= {upper:.9g}", self._range_reasons(k))
        attained = free and form.net is not None and k >= 2
        if free and (k == 2 or form.net is not None) and k >= 2 and math.isfinite(upper):
            factor = 1.0 if form.net is None or (k == 2 and form.symmetric) else form.net.factor
            sample_lower = max(sample_lower, upper / factor * (1 - 1e-9)) if self._tight_at(slots, form) else sample_lower
        if math.isinf(upper):
            why = Reason(rule, f"{self._label(slots)}: no finite bound", (self._culprit(k), *why.parts))
        witness: dict[str, float] = {}
        return Bound(upper, min(sample_lower, upper), True, "calculus", why, None, attained and sample_lower > upper * (1 - 1e-5), witness)

    def _with_specials(self, slots: str) -> float:
        """Ridges, quadratic and plain rest by forms, special terms by their own rules, added up."""
        if not self.specials:
            return math.inf
        lo, hi = self._whole()
        form = Form(self.plain, slots, 4096)
        pieces = self.plain.evaluate(len(slots), lo, hi)
        blocks = {s: self.model.slots(s) for s in "xyz"}
        total = float(form.upper(pieces)[0])
        for special in self.specials:
            total = float(np.nextafter(total + special.bound(slots, blocks, lo[0], hi[0])[0], math.inf)) if total else \
                special.bound(slots, blocks, lo[0], hi[0])[0]  # fmt: skip
        if len(slots) == 2 and form.symmetric:
            least, most = self._special_extremes(form)
            total = min(total, max(-least, most, 0.0))
        return total

    def _special_extremes(self, form: Form) -> tuple[float, float]:
        """Loewner bounds: quadratic, ridges, and the special terms between their own matrices."""
        lo, hi = self._whole()
        pieces = self.plain.evaluate(2, lo, hi)
        choices = [special.loewner(self.n, lo[0], hi[0]) for special in self.specials]
        least, most = -math.inf, math.inf
        for pick in range(max(max(len(a), len(b)) for a, b in choices)):
            below = sum((a[min(pick, len(a) - 1)] for a, _ in choices), np.zeros((self.n, self.n)))
            above = sum((b[min(pick, len(b) - 1)] for _, b in choices), np.zeros((self.n, self.n)))
            if np.isfinite(below).all():
                least = max(least, float(form.extremes(pieces, below, below)[0][0]))
            if np.isfinite(above).all():
                most = min(most, float(form.extremes(pieces, above, above)[1][0]))
        return least, most

    def _tight_at(self, slots: str, form: Form) -> bool:
        """The bound over independent coefficient ranges is a supremum (nets, or eigenvalues of the extreme matrices)."""
        return form.net is not None or form.symmetric

    def _free_arguments(self) -> bool:
        """Ridges only, independent rows, whole space: every combination of ridge values is approached."""
        return (self.structure.rest is None and self.domain.free
                and exact.independent_rows(self.structure.ridges, self.n))  # fmt: skip

    def _closed(self, slots: str) -> Expr | None:
        """Closed form on the whole space for independent rows: eigenvalues (order 2) or orthogonal ridges (order >= 3)."""
        k = len(slots)
        ridges = self.structure.ridges
        ranges = [exact.exact_range(r.function, k) for r in ridges]
        if any(r is None for r in ranges) or k < 2:
            return None
        scaled = [_scale(r.weight, bounds) for r, bounds in zip(ridges, ranges) if bounds is not None]
        if k == 2 and len(set(slots)) == 1:
            members = self.model.slots(slots[0])
            low = exact.exact_matrix(self.structure, [s[0] for s in scaled], members)
            high = exact.exact_matrix(self.structure, [s[1] for s in scaled], members)
            top = exact.extreme_eigenvalue(_frozen(high), True)
            bottom = exact.extreme_eigenvalue(_frozen(low), False)
            return None if top is None or bottom is None else _larger(top, -bottom)
        if k >= 3 and (len(ridges) == 1 or exact.orthogonal(ridges)) and (len(ridges) == 1 or len(set(slots)) == 1):
            values = [_larger(-s[0], s[1]) * self._length(r, slots) for r, s in zip(ridges, scaled)]
            best = values[0]
            for value in values[1:]:
                best = _larger(best, value)
            return sympy.sqrtdenest(sympy.expand(best)) if not best.is_Rational else best
        return None

    def _length(self, ridge: object, slots: str) -> Expr:
        product: Expr = sympy.Integer(1)
        for s in slots:
            members = set(self.model.slots(s))
            square = sum((v**2 for i, v in ridge.row if i in members), sympy.Integer(0))  # type: ignore[attr-defined]
            product = product * square
        return sympy.sqrt(sympy.expand(product))

    def _rule(self, slots: str) -> str:
        if self.structure.rest is not None:
            return "interval derivative tensor on the whole domain"
        if len(slots) == 2:
            return "Loewner bounds Q + A' diag(phi'') A"
        return "ridges: sup |phi^(k)| with directions" if len(self.structure.ridges) > 1 else "one ridge"

    def _label(self, slots: str) -> str:
        names = {1: "nabla", 2: "nabla^2", 3: "D^3", 4: "D^4"}
        block = "" if set(slots) == {"z"} else f"_{slots}"
        return f"sup |{names[len(slots)]}{block} {self.name}|"

    def _range_reasons(self, k: int) -> tuple[Reason, ...]:
        lo, hi = self._whole()
        arguments = self.model.arguments(lo, hi)
        reasons = []
        for number, ridge in enumerate(self.structure.ridges[:8]):
            values = ridge.function.range(k, arguments[:, number])
            row = " + ".join(f"{c}*{self.structure.variables[i]}" for i, c in ridge.row)
            reasons.append(Reason("range of an atom", f"{ridge.weight} * ({ridge.function.name})^({k}) at {row} + {ridge.shift}: "
                                  f"phi^({k}) in [{float(values.lo[0]):.9g}, {float(values.hi[0]):.9g}]"))  # fmt: skip
        return tuple(reasons)

    def _culprit(self, k: int) -> Reason:
        """Which terms have an unbounded k-th derivative, and a box that makes all of them finite."""
        guilty = []
        lo, hi = self._whole()
        slopes = self.model.ridge_ranges(k, self.model.arguments(lo, hi))
        for number, ridge in enumerate(self.structure.ridges):
            if not np.isfinite(slopes.magnitude()[0, number]):
                guilty.append(ridge_text(ridge, self.structure))
        if k == 1 and self.domain.unbounded and self.structure.quadratic:
            guilty.append("the quadratic part")
        for term in sympy.Add.make_args(self.structure.rest) if self.structure.rest is not None else ():
            alone = Model(replace(self.structure, rest=term, ridges=(), quadratic={}, linear={}), self.is_x)
            if not np.isfinite(alone.evaluate(k, lo, hi).entries.magnitude()).all():
                guilty.append(str(term))
        return Reason("blows up", f"derivative {k} of {'; '.join(guilty[:4]) or 'the sum'} is unbounded on this domain{self._advice(k)}")

    def _advice(self, k: int) -> str:
        """A bounded box on which the derivative is finite, if a simple one is found."""
        for size in (10.0, 1.0):
            lo = np.where(np.isneginf(self.domain.lo), -size, self.domain.lo)
            hi = np.where(np.isposinf(self.domain.hi), size, self.domain.hi)
            if (lo > hi).any() or not self.domain.unbounded:
                continue
            pieces = self.model.evaluate(k, lo[None], hi[None])
            if np.isfinite(pieces.ridges.magnitude()).all() and np.isfinite(pieces.entries.magnitude()).all():
                open_ends = [v.name for v, a, b in zip(self.structure.variables, self.domain.lo, self.domain.hi) if math.isinf(b - a)]
                return f"; it is finite for {', '.join(open_ends[:6])} in [-{size:g}, {size:g}]"
        if not self.domain.unbounded:
            return "; a smaller box that keeps away from the singularity makes it finite"
        return ""

    # -- sampling --------------------------------------------------------------------------------------------------

    def points(self, count: int = 256) -> Array:
        """Deterministic sample of the domain (heavy tails where it is unbounded)."""
        rng = np.random.default_rng(20240229)
        lo, hi = self.domain.lo, self.domain.hi
        unit = rng.random((count, self.n))
        wide = rng.standard_cauchy((count, self.n)) * 2.0
        both = np.isfinite(lo) & np.isfinite(hi)
        with np.errstate(invalid="ignore"):
            inside = np.where(both, lo + unit * (hi - lo), wide)
        inside = np.where(np.isfinite(lo) & ~both, lo + np.abs(wide), inside)
        inside = np.where(np.isfinite(hi) & ~both, hi - np.abs(wide), inside)
        corners = _corners(lo, hi, self.n)
        return np.clip(np.concatenate([middle_of(lo[None], hi[None]), corners, inside]), lo, hi)

    def _sampled(self, slots: str, form: Form) -> float:
        """Largest value over sample points, improved by shrinking random steps."""
        k = len(slots)

        def values(points: Array) -> Array:
            found = form.lower(self.model.evaluate(k, points, points))
            return np.where(np.isfinite(found), found, -np.inf)

        if self.effort <= 0:
            return 0.0
        return max(0.0, _climb(values, self.points(), self.domain.lo, self.domain.hi)[0])

    # -- branch and bound ------------------------------------------------------------------------------------------

    def _search(self, slots: str, first: Bound) -> Bound:
        k = len(slots)
        form = Form(self.model, slots)
        domain = one_period(self.structure, self.domain, k) if self.domain.unbounded else self.domain
        split = self._free_variables(k)

        def bound(lo: Array, hi: Array) -> Array:
            return form.upper(self.model.evaluate(k, lo, hi))

        def sample(points: Array) -> Array:
            return form.lower(self.model.evaluate(k, points, points))

        budget = self._budget(k, math.isinf(first.upper))
        found = supremum(bound, sample, domain.lo, domain.hi, TOLERANCE[k] / 2, budget, first.lower, split,
                         first.upper)
        if found.upper >= first.upper:
            return replace(first, lower=min(max(first.lower, found.lower), first.upper), witness=first.witness or self._blow_up(found))
        statement = f"{self._label(slots)} <= {found.upper:.9g} (at least {found.lower:.9g}), {found.boxes} boxes"
        why = Reason("interval branch and bound, covering certified in ball arithmetic", statement, (first.why,))
        return Bound(found.upper, min(found.lower, found.upper), True, "branch and bound", why, None, False,
                     self._named(found.where))  # fmt: skip

    def _budget(self, k: int, infinite: bool) -> int:
        base = BUDGET[k] * self.effort / max(1, self.n - 2) ** 2
        if self.structure.rest is not None and self.domain.unbounded:
            base /= 4
        return max(32, int(min(base, 1500) if infinite else base))

    def _free_variables(self, k: int) -> Array:
        used = np.zeros(self.n, dtype=bool)
        for ridge in self.structure.ridges:
            used[[i for i, _ in ridge.row]] = True
        if self.structure.rest is not None:
            used |= np.array([v in self.structure.rest.free_symbols for v in self.structure.variables])
        if k == 1:
            for pair in self.structure.quadratic:
                used[list(pair)] = True
        return used

    def _named(self, point: Array) -> dict[str, float]:
        return {v.name: float(x) for v, x in zip(self.structure.variables, point)}

    def _blow_up(self, found: Supremum) -> dict[str, float]:
        return self._named(middle_of(found.worst[0][None], found.worst[1][None])[0])

    # -- strong convexity ------------------------------------------------------------------------------------------

    def convexity(self) -> Bound:
        """``inf lambda_min(nabla^2_yy)``."""
        lost = smoothness.first_jump(self.structure, self.domain, (self.model.y,))
        if lost is not None and lost.order < 2:
            return self._nonsmooth_convexity(lost)
        form = Form(self.model, "yy")
        lo, hi = self._whole()
        with ball_ends():
            least = float(form.extremes(self.model.evaluate(2, lo, hi))[0][0])
            if self.specials:
                least = max(least, self._special_extremes(Form(self.plain, "yy"))[0])
        closed = self._closed_convexity() if self._free_arguments() else None
        reasons = self._range_reasons(2)
        if closed is not None:
            value = enclose(closed)[0]
            why = Reason("Loewner bound lambda_min(Q_yy + A_y' diag(inf phi'') A_y)", f"mu = {closed}", reasons)
            return Bound(value, value, True, "exact", why, closed, True, self._convexity_sample(form)[1])
        best, witness = self._convexity_sample(form)
        why = Reason("Loewner bound lambda_min(Q_yy + A_y' diag(inf phi'') A_y)", f"mu >= {least:.9g}", reasons)
        if self.effort <= 0 or self._free_arguments() or best - least <= TOLERANCE[2] * max(abs(best), 1e-9) or self._hopeless():
            return Bound(best, least, True, "calculus", why, None, self._free_arguments(), witness)
        return self._search_convexity(form, least, best, witness, why)

    def _nonsmooth_convexity(self, lost: smoothness.Jump) -> Bound:
        """The gradient jumps: only kinks of convex ridges (|t|, max(t, 0) with positive weight) keep a lower bound."""
        from bilevel_verify.intervals.scalar import Power

        kept, dropped = [], []
        for ridge in self.structure.ridges:
            convex = (isinstance(ridge.function, Power) and ridge.function.kind in ("abs", "plus")
                      and ridge.function.exponent == 1 and enclose(ridge.weight)[0] >= 0)  # fmt: skip
            (dropped if convex else kept).append(ridge)
        smooth = replace(self.structure, ridges=tuple(kept))
        if len(kept) < len(self.structure.ridges):
            again = smoothness.first_jump(smooth, self.domain, (self.model.y,))
            if again is None or again.order >= 2:
                part = Part(smooth, self.is_x, self.domain, self.name, self.effort)
                inner = part.convexity()
                why = Reason("convex kinks add nothing negative", f"mu >= {inner.lower:.9g}", (inner.why,))
                return Bound(inner.upper, inner.lower, True, inner.route, why, inner.exact, inner.attained, inner.witness)
        why = Reason("lost smoothness", f"{lost.text}; no curvature bound")
        return Bound(math.inf, -math.inf, True, "calculus", why, None, False, lost.where)

    def _closed_convexity(self) -> Expr | None:
        ridges = self.structure.ridges
        ranges = [exact.exact_range(r.function, 2) for r in ridges]
        if any(r is None for r in ranges):
            return None
        scaled = [_scale(r.weight, b) for r, b in zip(ridges, ranges) if b is not None]
        rows = exact.exact_matrix(self.structure, [s[0] for s in scaled], self.model.y)
        return exact.extreme_eigenvalue(_frozen(rows), False)

    def _convexity_sample(self, form: Form) -> tuple[float, dict[str, float]]:
        def values(points: Array) -> Array:
            return -form.least_eigenvalue(self.model.evaluate(2, points, points))

        points = self.points() if self.effort > 0 else self.points(8)
        value, where = _climb(values, points, self.domain.lo, self.domain.hi, self.effort > 0)
        return -value, self._named(where)

    def _search_convexity(self, form: Form, least: float, best: float, witness: dict[str, float], why: Reason) -> Bound:
        domain = one_period(self.structure, self.domain, 2) if self.domain.unbounded else self.domain
        top = max(abs(best), 1e-9)

        def bound(lo: Array, hi: Array) -> Array:
            return -form.extremes(self.model.evaluate(2, lo, hi))[0]

        def sample(points: Array) -> Array:
            return -form.least_eigenvalue(self.model.evaluate(2, points, points))

        found = supremum(bound, sample, domain.lo, domain.hi, TOLERANCE[2] / 2, self._budget(2, math.isinf(least)), -best,
                         self._free_variables(2), -least)  # fmt: skip
        del top
        if -found.upper <= least:
            return Bound(min(best, -found.lower), least, True, "calculus", why, None, False, witness)
        reached = min(best, -found.lower)
        where = self._named(found.where) if -found.lower < best else witness
        reason = Reason("interval branch and bound, covering certified in ball arithmetic",
                        f"mu >= {-found.upper:.9g} (at most {reached:.9g}), {found.boxes} boxes", (why,))  # fmt: skip
        return Bound(reached, -found.upper, True, "branch and bound", reason, None, False, where)


def _jump_bound(lost: smoothness.Jump, order: int) -> Bound:
    why = Reason("lost smoothness", f"{lost.text}; no Lipschitz constant of the derivative of order {order - 1}")
    lower = math.inf if lost.sure else 0.0
    return Bound(math.inf, lower, True, "calculus", why, sympy.oo if lost.sure else None, lost.sure, lost.where)


def _scale(weight: Expr, bounds: tuple[Expr, Expr]) -> tuple[Expr, Expr]:
    low, high = weight * bounds[0], weight * bounds[1]
    return (low, high) if _larger(low, high) == high else (high, low)


def _larger(a: Expr, b: Expr) -> Expr:
    """The larger of two exact numbers (ties either way)."""
    if a == b:
        return a
    first, second = enclose(a), enclose(b)
    if first[0] > second[1]:
        return a
    if second[0] > first[1]:
        return b
    return a if sympy.simplify(a - b).is_nonnegative else b


def _frozen(rows: list[list[Expr]]) -> tuple[tuple[Expr, ...], ...]:
    return tuple(tuple(sympy.expand(c) for c in row) for row in rows)


def _corners(lo: Array, hi: Array, n: int) -> Array:
    if n > 6 or not (np.isfinite(lo).all() and np.isfinite(hi).all()):
        return np.zeros((0, n))
    pattern = np.indices([2] * n).reshape(n, -1).T
    return np.where(pattern == 0, lo, hi)


def _climb(values: object, points: Array, lo: Array, hi: Array, refine: bool = True) -> tuple[float, Array]:
    """Best sampled value: a start set, then random steps of shrinking length around the leaders."""
    measure = values  # callable on (m, n)
    found = measure(points)  # type: ignore[operator]
    rng = np.random.default_rng(7)
    leaders = np.argsort(-found)[:8]
    best_points, best_values = points[leaders], found[leaders]
    span = np.where(np.isfinite(hi - lo), hi - lo, 4.0)
    for scale in (0.2, 0.05, 0.01, 2e-3, 2e-4) if refine else ():
        trial = best_points[:, None, :] + rng.normal(size=(len(best_points), 12, points.shape[1])) * span * scale
        trial = np.clip(trial.reshape(-1, points.shape[1]), lo, hi)
        everything = np.concatenate([best_points, trial])
        scores = np.concatenate([best_values, measure(trial)])  # type: ignore[operator]
        leaders = np.argsort(-scores)[:8]
        best_points, best_values = everything[leaders], scores[leaders]
    return float(best_values[0]), best_points[0]
