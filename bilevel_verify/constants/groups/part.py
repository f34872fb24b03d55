"""One group of interacting variables: calculus on the whole domain, sampling, branch and bound."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import sympy

from bilevel_verify.atoms.datasum import DataSum
from bilevel_verify.constants.bound.bounds import Bound, combine, jump_bound
from bilevel_verify.constants.bound.constant import Reason
from bilevel_verify.constants.calculus import exact
from bilevel_verify.constants.calculus.affine_variables import faces
from bilevel_verify.constants.calculus.forms import Form, defined
from bilevel_verify.constants.calculus.loewner import Loewner
from bilevel_verify.constants.calculus.symmetry import interchangeable, positive
from bilevel_verify.constants.formula import smoothness
from bilevel_verify.constants.formula.domain import Domain, one_period
from bilevel_verify.constants.formula.piecewise import PiecewiseScalar
from bilevel_verify.constants.formula.scalars import CompositeScalar
from bilevel_verify.constants.formula.structure import Structure, ridge_text
from bilevel_verify.constants.groups.closed_form import closed_form
from bilevel_verify.constants.groups.composition import apart, sampled_specials, with_specials
from bilevel_verify.constants.groups.group import Group
from bilevel_verify.constants.groups.infinite import infinite
from bilevel_verify.constants.groups.unbounded import unbounded_term
from bilevel_verify.constants.search.branch import (
    FEW,
    Alike,
    Cuts,
    Known,
    Slopes,
    Staged,
    Supremum,
    middle_of,
    supremum,
)
from bilevel_verify.constants.search.branch import Bound as SearchBound
from bilevel_verify.constants.search.peaks import NODES, ROWS, Peaks, larger_of, supremum_of_powers
from bilevel_verify.constants.search.sampling import climb, sample_points
from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.intervals.linalg import Sides
from bilevel_verify.intervals.removable import Sinc
from bilevel_verify.numbers.rounding import Array, enclose

TOLERANCE = {1: 8e-3, 2: 8e-3, 3: 1.7e-2, 4: 9e-2}
"""Relative gap at which branch and bound stops, by order of the derivative."""

BUDGET = {1: 6000, 2: 12000, 3: 12000, 4: 8000}
"""Largest number of boxes, by order (scaled down with the dimension)."""

ROUGH = 0.1
"""Share of the budget where a kink is in sight and nothing finite is known (it pays only if the kink is not there)."""

CONVERGED = 1.05
"""On the whole space a search counts if its bound is within this factor of what was reached."""

SAMPLED_ENTRIES = 4000
"""Entries of a tensor up to which sampling is thorough."""


class Part(Group):
    """One group of interacting variables: its norms by calculus, sampling, branch and bound."""

    def __init__(self, structure: Structure, is_x: tuple[bool, ...], domain: Domain, name: str, effort: float) -> None:
        super().__init__(structure, is_x, domain, name, effort, Part)
        self.norms: dict[str, Bound] = {}
        self._hessian_ranges: dict[str, tuple[float, float]] = {}

    @cached_property
    def without_data(self) -> Part:
        """The part without its sums over data."""
        remaining = [t for t in sympy.Add.make_args(self.structure.rest) if not t.has(DataSum)]
        structure = replace(self.structure, rest=sympy.Add(*remaining) if remaining else None)
        return Part(structure, self.is_x, self.domain, self.name, self.effort)

    def touches(self, slots: str) -> bool:
        """False if a slot's block is empty here, or nothing of this order can be there."""
        if any(not self.model.slots(s) for s in slots):
            return False
        k = len(slots)
        return bool(
            self.structure.rest is not None
            or self.structure.ridges
            or (k == 2 and self.structure.quadratic)
            or (k == 1 and (self.structure.linear or self.structure.quadratic))
        )

    # -- norms -----------------------------------------------------------------------------------------------------

    def norm(self, slots: str) -> Bound:
        """Calculus on the whole domain, then branch and bound where that leaves a gap."""
        slots = self._canonical(slots)
        if not self.touches(slots):
            return combine([], slots)
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
            return jump_bound(lost, len(slots))
        first = self._calculus(slots)
        if math.isinf(first.upper):
            first = infinite(self, slots) or first
        gap = first.upper - first.lower
        tolerance = TOLERANCE[len(slots)]
        if (
            self.effort <= 0
            or first.attained
            or first.upper == 0
            or gap <= tolerance * abs(first.lower)
            or self._beyond_search()
        ):
            return first
        rough = math.isinf(first.upper) and lost is not None and lost.order <= len(slots)
        return self._search(slots, first, ROUGH if rough else 1.0)

    def _beyond_search(self) -> bool:
        return self.n > 12 or self.only_specials

    def _calculus(self, slots: str) -> Bound:
        k = len(slots)
        free = self._free_arguments()
        closed = closed_form(self, slots) if free else None
        if closed is not None:
            top = enclose(closed)[1]
            why = Reason(self._rule(slots), f"{self.label(slots)} = {closed}", self._range_reasons(k))
            return Bound(top, top, True, "exact", why, closed, True)
        form = Form(self.model, slots, 4096)
        upper = self._calculus_bound(slots, form)
        peaks = self._peaks(slots) if free and k >= 3 and form.symmetric else None
        tight = free and k >= 2 and self._tight_at(form) and math.isfinite(upper)
        if peaks is not None and self._exact_ranges():
            upper, lower, tight = min(upper, peaks.upper), peaks.lower, peaks.upper < peaks.lower * (1 + 1e-5)
        elif tight:
            factor = 1.0 if form.net is None or (k == 2 and form.symmetric) else form.net.factor
            lower = upper / factor * (1 - 1e-9)
        else:
            lower = self._sample_lower(slots)
        parts = (*self._special_reasons(slots), *self._range_reasons(k))
        if peaks is not None:
            upper = min(upper, peaks.upper)
            statement = f"{peaks.caps} caps around local maxima, {peaks.cuts} cuts between them"
            parts = (Reason("largest sum of powers over unit vectors", statement), *parts)
        why = Reason(self._rule(slots), f"{self.label(slots)} <= {upper:.9g}", parts)
        if math.isinf(upper):
            why = Reason(why.rule, f"{self.label(slots)}: no finite bound", (unbounded_term(self, k), *why.parts))
        attained = tight and (form.net is not None or peaks is not None) and lower > upper * (1 - 1e-5)
        return Bound(upper, min(lower, upper), True, "calculus", why, None, attained)

    def _calculus_bound(self, slots: str, form: Form) -> float:
        """Smallest certified bound from one evaluation on the whole domain."""
        lo, hi = self.whole()
        with ball_ends():
            special = with_specials(self, slots)
            if self.only_specials:
                return min(special, apart(self, slots, lambda s: self.without_data.norm(s)))
            return min(special, float(form.upper(self.model.evaluate(len(slots), lo, hi))[0]))

    def _sample_lower(self, slots: str) -> float:
        if self.only_specials:
            return sampled_specials(self, slots)
        return self._sampled(slots) if self.effort > 0 else 0.0

    def _peaks(self, slots: str) -> Peaks | None:
        """Independent arguments: the coefficients of the ridges take any combination of their values."""
        lo, hi = self.whole()
        with ball_ends():
            values = self.model.ridge_ranges(len(slots), self.model.arguments(lo, hi))
        low, high = values.lo[0], values.hi[0]
        straddling = bool((np.isfinite(low) & np.isfinite(high) & (low <= 0) & (high >= 0)).all())
        if not straddling or not 1 < len(low) <= ROWS:
            return None
        rows = self.model.row_centres[:, list(self.model.slots(slots[0]))]
        nodes = int(NODES * min(1.0, self.effort))
        if len(slots) == 3:
            return supremum_of_powers(rows, high, -low, 3, nodes)
        return larger_of(*(supremum_of_powers(rows, c, c, 4, nodes) for c in (high, -low)))

    def hessian_range(self, letter: str = "z") -> tuple[float, float]:
        """Certified range of the eigenvalues of a diagonal Hessian block (branch and bound for both ends)."""
        if letter not in self._hessian_ranges:
            form = Form(self.model, letter * 2)
            lo, hi = self.whole()
            with ball_ends():
                least, most = (float(v[0]) for v in form.extremes(self.model.evaluate(2, lo, hi)))
            if self.effort > 0 and not self.domain.unbounded:
                least, most = -self._eigenvalue_search(form, 0, -least), self._eigenvalue_search(form, 1, most)
            self._hessian_ranges[letter] = least, most
        return self._hessian_ranges[letter]

    def _eigenvalue_search(self, form: Form, end: int, known: float) -> float:
        """Supremum of the largest eigenvalue (end 1) or of minus the smallest (end 0)."""
        sign = (-1.0, 1.0)[end]

        def bound(lo: Array, hi: Array) -> Array:
            return sign * form.extremes(self.model.evaluate(2, lo, hi), sides=("least", "most")[end])[end]

        def sample(points: Array) -> Array:
            pieces = self.model.evaluate(2, points, points)
            values = sign * np.linalg.eigvalsh(form.matrix(pieces))[:, -end]
            return np.where(defined(pieces), values, -np.inf)

        lo, hi = faces(self.domain, self.structure, 2)
        cuts = Cuts(None, self.slopes(2), self.alike(self.domain, form.slots))
        found = supremum(bound, sample, lo, hi, TOLERANCE[2], self._budget(2, False), Known(-math.inf), cuts)
        return min(known, found.upper)

    def _tight_at(self, form: Form) -> bool:
        """Whether the bound is a supremum: exact ranges of the atoms, and nets or extreme matrices over them."""
        return self._exact_ranges() and (form.net is not None or (form.order == 2 and form.symmetric))

    def _exact_ranges(self) -> bool:
        enclosed = CompositeScalar | PiecewiseScalar | Sinc
        return not any(isinstance(ridge.function, enclosed) for ridge in self.structure.ridges)

    def _free_arguments(self) -> bool:
        """Ridges only, independent rows in whole lines: every combination of ridge values is approached."""
        if self.structure.rest is not None:
            return False
        members = {i for ridge in self.structure.ridges for i, _ in ridge.row}
        whole = all(np.isneginf(self.domain.lo[i]) and np.isposinf(self.domain.hi[i]) for i in members)
        return whole and exact.independent_rows(self.structure.ridges, self.n)

    def _rule(self, slots: str) -> str:
        if self.only_specials:
            return "sums over data by Loewner sums of the samples, everything else by its own rules"
        if self.specials:
            return "terms with rules of their own, added to ridges and quadratics"
        if self.structure.rest is not None:
            return "interval derivative tensor on the whole domain"
        if len(slots) == 2:
            return "Loewner bounds Q + A' diag(phi'') A"
        return "ridges: sup |phi^(k)| with directions" if len(self.structure.ridges) > 1 else "one ridge"

    def _special_reasons(self, slots: str) -> tuple[Reason, ...]:
        if self.effort <= 0:
            return ()
        lo, hi = self.whole()
        blocks = {s: self.model.slots(s) for s in "xyz"}
        reasons = []
        for special in self.specials[:4]:
            value, rule = special.bound(slots, blocks, lo[0], hi[0])
            reasons.append(Reason(rule, f"{str(special.term)[:60]}: {self.label(slots)} <= {value:.9g}"))
        return tuple(reasons)

    def _range_reasons(self, k: int) -> tuple[Reason, ...]:
        if self.effort <= 0:
            return ()
        lo, hi = self.whole()
        arguments = self.model.arguments(lo, hi)
        reasons = []
        for number, ridge in enumerate(self.structure.ridges[:8]):
            values = ridge.function.range(k, arguments[:, number])
            low, high = float(values.lo[0]), float(values.hi[0])
            statement = f"{ridge_text(ridge, self.structure)}: phi^({k}) in [{low:.9g}, {high:.9g}]"
            reasons.append(Reason("range of an atom", statement))
        return tuple(reasons)

    # -- sampling --------------------------------------------------------------------------------------------------

    def _sampled(self, slots: str) -> float:
        """Largest value over sample points, improved by shrinking random steps."""
        k, form = len(slots), Form(self.model, slots)

        def values(points: Array) -> Array:
            found = form.lower(self.model.evaluate(k, points, points))
            return np.where(np.isfinite(found), found, -np.inf)

        small = self.n**k <= SAMPLED_ENTRIES
        points = sample_points(self.domain, self.n, (48 if self.searched_anyway() else 256) if small else 12)
        refine = small and not self.searched_anyway()
        return max(0.0, climb(values, points, self.domain.lo, self.domain.hi, refine)[0])

    def searched_anyway(self) -> bool:
        """Few variables in a box and a rest: branch and bound follows and probes better than a random climb."""
        return self.structure.rest is not None and self.n <= 3 and not self.domain.unbounded

    # -- branch and bound ------------------------------------------------------------------------------------------

    def _search(self, slots: str, first: Bound, share: float = 1.0) -> Bound:
        k = len(slots)
        form = Form(self.model, slots)
        domain = one_period(self.structure, self.domain, k) if self.domain.unbounded else self.domain

        def bound(lo: Array, hi: Array) -> Array:
            return form.upper(self.model.evaluate(k, lo, hi))

        def sample(points: Array) -> Array:
            return form.lower(self.model.evaluate(k, points, points))

        budget = max(32, int(share * self._budget(k, math.isinf(first.upper))))
        coarse = 0.0 if form.net is None or (k == 2 and form.symmetric) else form.net.factor - 1.0
        tolerance = TOLERANCE[k] + coarse
        alike = self.alike(domain, slots)
        lo, hi = self.starts(domain, k, alike)
        cuts = Cuts(self._free_variables(k), self.slopes(k), alike)
        whole = self.in_stages(form, domain, bound, "both")
        found = supremum(whole, sample, lo, hi, tolerance, budget, Known(first.lower, first.upper), cuts)
        # on the whole space the calculus is independent of the coordinates; a search that got stuck is not
        stuck = self.domain.free and found.upper > CONVERGED * max(found.lower, first.lower)
        if found.upper >= first.upper or (stuck and math.isfinite(first.upper)):
            return replace(
                first,
                lower=min(max(first.lower, found.lower), first.upper),
                witness=first.witness or self._blow_up(found),
            )
        statement = f"{self.label(slots)} <= {found.upper:.9g} (at least {found.lower:.9g}), {found.boxes} boxes"
        why = Reason("interval branch and bound, covering certified in ball arithmetic", statement, (first.why,))
        return Bound(
            found.upper,
            min(found.lower, found.upper),
            True,
            "branch and bound",
            why,
            None,
            False,
            self.named(found.where),
        )

    def in_stages(self, form: Form, domain: Domain, bound: SearchBound, sides: Sides) -> SearchBound:
        """Hessians are bounded by matrices first where the centred form (``bound``) costs many times as much.

        ``sides`` : ``both`` for the norm, ``least`` for minus the least eigenvalue.
        """
        if form.order != 2 or not form.symmetric or self.n <= FEW or self.structure.rest is None:
            return bound
        matrices = Loewner(self.model, domain.lo, domain.hi)

        def first(lo: Array, hi: Array) -> Array:
            below, above = matrices.pieces(lo, hi)
            least, most = form.between(below, above, sides)
            return -least if sides == "least" else np.maximum(np.maximum(-least, most), 0.0)

        return Staged(first, bound)

    def alike(self, domain: Domain, slots: str) -> tuple[Alike, ...]:
        """Variables that may change places, where there are so many that every search lasts."""
        blocks = [self.model.slots(s) for s in set(slots)]
        return interchangeable(self.structure, domain, blocks) if self.n > FEW else ()

    def starts(self, domain: Domain, k: int, alike: tuple[Alike, ...]) -> tuple[Array, Array]:
        """Boxes that together carry the supremum, shape (boxes, n)."""
        lo, hi = faces(domain, self.structure, k)
        if self.n <= FEW:
            return lo, hi
        members = list(positive(self.structure, domain, alike))
        lo[:, members] = np.maximum(lo[:, members], 0.0)
        kept = (lo <= hi).all(axis=1)
        return lo[kept], hi[kept]

    def _budget(self, k: int, infinite: bool) -> int:
        base = BUDGET[k] * self.effort / max(1, self.n - 2) ** 2
        if self.structure.rest is not None and self.domain.unbounded:
            base /= 4
        return max(32, int(min(base, 1500 * max(self.effort, 1.0)) if infinite else base))

    def slopes(self, k: int) -> Slopes | None:
        """Where to cut: by the change of the derivative of that order, if there is more than one side to choose."""
        return partial(self.model.slopes, k) if self.n > 1 and self.structure.rest is not None else None

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

    def _blow_up(self, found: Supremum) -> dict[str, float]:
        return self.named(middle_of(found.worst[0][None], found.worst[1][None])[0])
