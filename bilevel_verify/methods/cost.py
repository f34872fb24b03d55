"""The cost model of Doikov et al. 2023 (FSBA, Assumption 4.1): N for a gradient or a product, dN for a Hessian."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bilevel_verify.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Cost:
    """Oracle calls of a run, gradients, products and Hessians apart.

    Attributes
    ----------
    gradients : calls of gradients of f and g.
    products : Hessian-vector and Jacobian-vector products.
    hessians : full Hessians (all blocks at one point).
    d : dimension, max(d_x, d_y). ``N`` : cost of one gradient.
    """

    gradients: int
    products: int
    hessians: int
    d: int
    N: float = 1.0

    @property
    def total(self) -> float:
        """``N (gradients + products) + d N hessians``."""
        return self.N * (self.gradients + self.products + self.d * self.hessians)


def cost_of(counts: Mapping[str, int], d: int, N: float = 1.0) -> Cost:
    """The cost of a run from its counts.

    Stopping tests that a paper does not count (``stop_...``), function values and projections are left out.

    Raises
    ------
    ParameterError : d or N is not positive.
    """
    if not (d >= 1 and N > 0 and math.isfinite(N)):
        raise ParameterError(f"the cost model needs d >= 1 and N > 0, not d = {d!r}, N = {N!r}")

    def total(*kinds: str) -> int:
        return sum(int(number) for kind, number in counts.items() if kind.startswith(kinds))

    return Cost(total("grad_"), total("hvp_", "jvp_"), total("hess_"), d, N)


def recommended_snapshot(d: float, kappa: float) -> float:
    """``1 + d/sqrt(kappa)``: the snapshot length m that Theorem 4.3 recommends, up to a constant."""
    if not (d >= 1 and kappa >= 1):
        raise ParameterError(f"m needs d >= 1 and kappa >= 1, not d = {d!r}, kappa = {kappa!r}")
    return 1.0 + d / math.sqrt(kappa)
