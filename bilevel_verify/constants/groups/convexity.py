"""Strong convexity in y: the infimum of the smallest eigenvalue of the yy block, with a witness."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from sympy import Expr

from bilevel_verify.constants.bound.bounds import Bound
from bilevel_verify.constants.bound.constant import Ranges, Reason
from bilevel_verify.constants.calculus import exact
from bilevel_verify.constants.calculus.forms import Form
from bilevel_verify.constants.formula import smoothness
from bilevel_verify.constants.formula.domain import one_period
from bilevel_verify.constants.formula.structure import Ridge
from bilevel_verify.constants.groups.composition import sampled_convexity, special_extremes
from bilevel_verify.constants.groups.part import TOLERANCE, Part
from bilevel_verify.constants.groups.unbounded import added, bounded
from bilevel_verify.constants.groups.weighted import without_weighted_ridges
from bilevel_verify.constants.search.branch import Cuts, Known, supremum
from bilevel_verify.constants.search.sampling import climb, sample_points
from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.intervals.scalar import Power
from bilevel_verify.numbers.rounding import Array, enclose

FAR, FAR_POINTS = 1e3, 32
"""How many sample points are looked at so many times farther out as well."""


def convexity(part: Part) -> Bound:
    """``inf lambda_min(nabla^2_yy)``; where it is not positive, with a simple box on which it is, if there is one."""
    found = _of_all_terms(part)
    if found.lower > 0 or part.effort <= 0:
        return found
    return replace(found, why=replace(found.why, remedy=_curved_on(part)))


def _curved_on(part: Part) -> Ranges:
    """Ranges in the place of the ends that are infinite, on which calculus alone shows positive curvature."""
    for size in (10.0, 1.0):
        domain = bounded(part.domain, size)
        if domain is not None:
            inner = Part(part.structure, part.is_x, domain, part.name, 0.0)
            if _of_all_terms(inner).lower > 0:
                return added(part, domain.lo, domain.hi)
    return {}


def _of_all_terms(part: Part) -> Bound:
    """The better of all terms together and of those that remain when weighted ridges are taken apart."""
    found = _of_the_whole(part)
    fewer = None if found.upper - found.lower <= TOLERANCE[2] * abs(found.upper) else without_weighted_ridges(part)
    if fewer is None:
        return found
    others, more = fewer
    inner = _of_the_whole(others)
    least = float(np.nextafter(inner.lower + more, -math.inf)) if more else inner.lower
    if not least > found.lower:
        return found
    why = Reason("weighted ridges w(x) phi(c'y) apart: rank one each", f"mu >= {least:.9g}", (inner.why,))
    return Bound(found.upper, least, True, "calculus", why, None, False, found.witness)


def _of_the_whole(part: Part) -> Bound:
    """The same with all terms together."""
    lost = smoothness.first_jump(part.structure, part.domain, (part.model.y,))
    if lost is not None and lost.order < 2:
        return _nonsmooth_convexity(part, lost)
    form = Form(part.model, "yy")
    lo, hi = part.whole()
    with ball_ends():
        least = -math.inf if part.only_specials else float(form.extremes(part.model.evaluate(2, lo, hi))[0][0])
        if part.specials:
            least = max(least, special_extremes(part, Form(part.plain, "yy"), sides="least")[0])
    closed = _closed_convexity(part) if part._free_arguments() else None
    reasons = part._range_reasons(2)
    if closed is not None:
        value = enclose(closed)[0]
        why = Reason("Loewner bound lambda_min(Q_yy + A_y' diag(inf phi'') A_y)", f"mu = {closed}", reasons)
        return Bound(value, value, True, "exact", why, closed, True, _convexity_sample(part, form)[1])
    best, witness = sampled_convexity(part) if part.only_specials else _convexity_sample(part, form)
    why = Reason("Loewner bound lambda_min(Q_yy + A_y' diag(inf phi'') A_y)", f"mu >= {least:.9g}", reasons)
    if (
        part.effort <= 0
        or part._free_arguments()
        or best - least <= TOLERANCE[2] * max(abs(best), 1e-9)
        or part._beyond_search()
    ):
        return Bound(best, least, True, "calculus", why, None, part._free_arguments(), witness)
    return _search_convexity(part, form, least, best, witness, why)


def _nonsmooth_convexity(part: Part, lost: smoothness.Jump) -> Bound:
    """The gradient jumps: only kinks of convex ridges (|t|, max(t, 0) with positive weight) keep a lower bound."""
    kept: list[Ridge] = []
    for ridge in part.structure.ridges:
        convex = (
            isinstance(ridge.function, Power)
            and ridge.function.kind in ("abs", "plus")
            and ridge.function.exponent == 1
            and enclose(ridge.weight)[0] >= 0
        )
        if not convex:
            kept.append(ridge)
    smooth = replace(part.structure, ridges=tuple(kept))
    again = smoothness.first_jump(smooth, part.domain, (part.model.y,))
    if again is None or again.order >= 2:
        inner_part = Part(smooth, part.is_x, part.domain, part.name, part.effort)
        inner = convexity(inner_part)
        why = Reason("convex kinks add nothing negative", f"mu >= {inner.lower:.9g}", (inner.why,))
        return Bound(inner.upper, inner.lower, True, inner.route, why, inner.exact, inner.attained, inner.witness)
    why = Reason("lost smoothness", f"{lost.text}; no curvature bound")
    return Bound(math.inf, -math.inf, True, "calculus", why, None, False, lost.where)


def _closed_convexity(part: Part) -> Expr | None:
    ridges = part.structure.ridges
    ranges = [exact.exact_range(r.function, 2) for r in ridges]
    if any(r is None for r in ranges) or any(exact.safe_ends(r, 2)[0] for r in ridges):
        return None
    scaled = [exact.scale(r.weight, b) for r, b in zip(ridges, ranges) if b is not None]
    rows = exact.exact_matrix(part.structure, [s[0] for s in scaled], part.model.y)
    return exact.extreme_eigenvalue(exact.frozen(rows), False)


def _convexity_sample(part: Part, form: Form) -> tuple[float, dict[str, float]]:
    def values(points: Array) -> Array:
        return -form.least_eigenvalue(part.model.evaluate(2, points, points))

    brief = part.searched_anyway()
    points = sample_points(part.domain, part.n, 8 if part.effort <= 0 else 48 if brief else 256)
    if part.domain.unbounded:  # curvature that fades out is seen there, and needs no search
        far = np.clip(FAR * points[1:FAR_POINTS], part.domain.lo, part.domain.hi)
        points = np.concatenate([points, far])
    value, where = climb(values, points, part.domain.lo, part.domain.hi, part.effort > 0 and not brief)
    return -value, part.named(where)


def _search_convexity(
    part: Part, form: Form, least: float, best: float, witness: dict[str, float], why: Reason
) -> Bound:
    domain = one_period(part.structure, part.domain, 2) if part.domain.unbounded else part.domain

    def bound(lo: Array, hi: Array) -> Array:
        return -form.extremes(part.model.evaluate(2, lo, hi), sides="least")[0]

    def sample(points: Array) -> Array:
        return -form.least_eigenvalue(part.model.evaluate(2, points, points))

    alike = part.alike(domain, form.slots)
    lo, hi = part.starts(domain, 2, alike)
    found = supremum(
        part.in_stages(form, domain, bound, "least"),
        sample,
        lo,
        hi,
        TOLERANCE[2],
        part._budget(2, math.isinf(least)),
        Known(-best, -least),
        Cuts(part._free_variables(2), part.slopes(2), alike),
    )
    if -found.upper <= least:
        return Bound(min(best, -found.lower), least, True, "calculus", why, None, False, witness)
    reached = min(best, -found.lower)
    where = part.named(found.where) if -found.lower < best else witness
    reason = Reason(
        "interval branch and bound, covering certified in ball arithmetic",
        f"mu >= {-found.upper:.9g} (at most {reached:.9g}), {found.boxes} boxes",
        (why,),
    )
    return Bound(reached, -found.upper, True, "branch and bound", reason, None, False, where)
