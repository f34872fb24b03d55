"""Special terms and the rest put together: sums of bounds, Loewner sums, sums over data apart from everything else."""

from __future__ import annotations

import math

import numpy as np

from bilevel_verify.constants.calculus.data import DataTerm
from bilevel_verify.constants.calculus.forms import Form
from bilevel_verify.constants.groups.group import Group
from bilevel_verify.constants.groups.sparse import SparseTerm
from bilevel_verify.constants.search.sampling import sample_points
from bilevel_verify.intervals.linalg import Sides
from bilevel_verify.intervals.rounding import Array

LARGE = 200
"""From this dimension on one eigenvalue takes a second: fewer sample points."""


def with_specials(part: Group, slots: str) -> float:
    """Ridges, quadratic and plain rest by forms, special terms by their own rules, added up."""
    if not part.specials:
        return math.inf
    lo, hi = part.whole()
    form = Form(part.plain, slots, 4096)
    pieces = part.plain.evaluate(len(slots), lo, hi)
    blocks = {s: part.model.slots(s) for s in "xyz"}
    base = float(form.upper(pieces)[0])
    extra = special_sum(part, slots, blocks)
    total = float(np.nextafter(base + extra, math.inf)) if base else extra
    if len(slots) == 2 and form.symmetric:
        least, most = special_extremes(part, form)
        total = min(total, max(-least, most, 0.0))
    return total


def apart(part: Group, slots: str, other: float) -> float:
    """Sums over data by their rules, added to a bound of everything else (``other``: by all three routes)."""
    lo, hi = part.whole()
    blocks = {s: part.model.slots(s) for s in "xyz"}
    data = [special for special in part.specials if isinstance(special, DataTerm)]
    total = other
    for special in data:
        total = float(np.nextafter(total + special.bound(slots, blocks, lo[0], hi[0])[0], math.inf))
    return total


def special_sum(part: Group, slots: str, blocks: dict[str, tuple[int, ...]]) -> float:
    """Sum of the special terms: per coordinate for two and more slots (projector rule), plainly for a gradient."""
    lo, hi = part.whole()
    per_variable = np.zeros(part.n)
    plain = 0.0
    for special in part.specials:
        size = special.bound(slots, blocks, lo[0], hi[0])[0]
        plain += size
        per_variable[list(special.members)] += size
    alone = len(part.specials) == 1
    total = plain if alone or len(slots) == 1 else min(plain, float(per_variable.max()))
    return total if alone or total == 0 else float(total * (1 + 1e-14 * len(part.specials)))


def special_extremes(
    part: Group, form: Form, box: tuple[Array, Array] | None = None, sides: Sides = "both"
) -> tuple[float, float]:
    """Loewner bounds: quadratic, ridges, and the special terms between their own matrices (of the sides wanted)."""
    lo, hi = part.whole() if box is None else box
    pieces = part.plain.evaluate(2, lo, hi)
    choices = [special.loewner(part.n, lo[0], hi[0], form.slots[0]) for special in part.specials]
    least, most = -math.inf, math.inf
    for pick in range(max(max(len(a), len(b)) for a, b in choices)):
        below = sum((a[min(pick, len(a) - 1)] for a, _ in choices), np.zeros((part.n, part.n)))
        above = sum((b[min(pick, len(b) - 1)] for _, b in choices), np.zeros((part.n, part.n)))
        if sides != "most" and np.isfinite(below).all():
            least = max(least, float(form.extremes(pieces, below, below, "least")[0][0]))
        if sides != "least" and np.isfinite(above).all():
            most = min(most, float(form.extremes(pieces, above, above, "most")[1][0]))
    return least, most


def sampled_specials(part: Group, slots: str) -> float:
    """Sums over data: the Hessian at a few points, between its Loewner bounds there (0 for other forms)."""
    if slots not in ("xx", "yy", "zz") or part.effort <= 0 or any(isinstance(s, SparseTerm) for s in part.specials):
        return 0.0
    best = 0.0
    for point in sample_points(part.domain, part.n, 4 if part.n <= LARGE else 1):
        least, most = special_extremes(part, Form(part.plain, slots), (point[None], point[None]))
        best = max(best, most - 2e-9 * abs(most), -least - 2e-9 * abs(least))
    return best


def sampled_convexity(part: Group) -> tuple[float, dict[str, float]]:
    """Sums over data: the least curvature in y at a few points, and where (float arithmetic, rounded up)."""
    best: tuple[float, dict[str, float]] = (math.inf, {})
    if part.effort <= 0 or any(isinstance(s, SparseTerm) for s in part.specials):
        return best
    for point in sample_points(part.domain, part.n, 4 if part.n <= LARGE else 1):
        least = special_extremes(part, Form(part.plain, "yy"), (point[None], point[None]), "least")[0]
        value = least + 2e-9 * abs(least)
        if math.isfinite(value) and value < best[0]:
            best = value, part.named(point)
    return best
