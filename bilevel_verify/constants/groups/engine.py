"""The three routes for one formula: calculus, branch and bound, sampling. The best certified bound wins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bilevel_verify.constants.bound.bounds import Bound, combine
from bilevel_verify.constants.bound.constant import Reason
from bilevel_verify.constants.formula.domain import Domain
from bilevel_verify.constants.formula.structure import Structure, restrict
from bilevel_verify.constants.groups.convexity import convexity
from bilevel_verify.constants.groups.part import Part


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

    def __init__(
        self, structure: Structure, is_x: tuple[bool, ...], domain: Domain, name: str, effort: float = 1.0
    ) -> None:
        self.structure, self.is_x, self.domain, self.name, self.effort = structure, is_x, domain, name, effort
        self.parts = [self._part(group) for group in structure.groups]
        self._norms: dict[str, Bound] = {}

    def _part(self, group: tuple[int, ...]) -> Part:
        return Part(
            restrict(self.structure, group),
            tuple(self.is_x[i] for i in group),
            self.domain.part(group),
            self.name,
            self.effort,
        )

    def norm(self, slots: str) -> Bound:
        """``sup`` of the norm of a derivative form over the domain."""
        if slots not in self._norms:
            with np.errstate(all="ignore"):
                bounds = [part.norm(slots) for part in self.parts if part.touches(slots)]
            self._norms[slots] = combine(bounds, slots)
        return self._norms[slots]

    def convexity(self) -> Bound:
        """``inf lambda_min`` of the yy block; ``lower`` is the certified end, ``upper`` was reached at the witness."""
        with np.errstate(all="ignore"):
            bounds = [convexity(part) for part in self.parts if any(not b for b in part.is_x)]
        # a sampled eigenvalue carries rounding errors: never below what is certified
        bounds = [replace(b, upper=max(b.upper, b.lower)) for b in bounds]
        if len(bounds) == 1:
            return bounds[0]
        worst = min(bounds, key=lambda b: b.lower)
        least_upper = min(bounds, key=lambda b: b.upper)
        why = Reason(
            "blocks",
            f"mu = smallest over {len(bounds)} groups of variables that do not interact",
            tuple(b.why for b in bounds[:4]),
        )
        separated = all(b is worst or b.lower >= worst.upper or b.exact == worst.exact for b in bounds)
        return replace(
            worst,
            upper=least_upper.upper,
            certified=all(b.certified for b in bounds),
            witness=least_upper.witness,
            why=why,
            exact=worst.exact if separated else None,
        )
