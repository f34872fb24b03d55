"""The assertion on simple bilevel solvers: minimise f over the minimisers of g in a feasible set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.testing.instances import decoding
from bilevel_verify.testing.instances.simple import SimpleInstance, nearest
from bilevel_verify.testing.trials.common import Function, name_of, split, text
from bilevel_verify.testing.trials.contracts import BrokenContract, Profile, call, hidden, profile, vector
from bilevel_verify.testing.trials.trying import try_out

__tracebackhide__ = hidden

FloatArray = NDArray[np.float64]


class SimpleOracles:
    """Counting oracles of a simple bilevel instance; every method counts once and raises when the budget ends.

    Attributes
    ----------
    dx : dimension. ``L_f``, ``L_g``, ``mu_f`` : exact constants. ``radius``, ``feasible`` : the set, around the origin.
    """

    kind = "simple_bilevel"

    def __init__(self, instance: SimpleInstance, budget: int) -> None:
        self.instance, self.budget, self.dx = instance, budget, instance.dx
        self.L_f, self.L_g, self.mu_f = instance.L_f, instance.L_g, instance.f.mu
        self.radius, self.feasible = instance.radius, instance.feasible
        self._counts: Counter[str] = Counter()

    @property
    def counts(self) -> Mapping[str, int]:
        """Kind -> calls so far."""
        return MappingProxyType(dict(self._counts))

    def _ask(self, kind: str, x: ArrayLike) -> FloatArray:
        from bilevel_verify.oracles import BudgetExhausted

        if self._counts.total() >= self.budget:
            raise BudgetExhausted(f"more than {self.budget} oracle calls")
        self._counts[kind] += 1
        return np.array(x, dtype=float)

    def value_f(self, x: ArrayLike) -> float:
        """f(x)."""
        return self.instance.f.value(self._ask("value_f", x))

    def value_g(self, x: ArrayLike) -> float:
        """g(x)."""
        return self.instance.g.value(self._ask("value_g", x))

    def grad_f(self, x: ArrayLike) -> FloatArray:
        """Gradient of f."""
        return self.instance.f.gradient(self._ask("grad_f", x))

    def grad_g(self, x: ArrayLike) -> FloatArray:
        """Gradient of g."""
        return self.instance.g.gradient(self._ask("grad_g", x))

    def project(self, x: ArrayLike) -> FloatArray:
        """The nearest feasible point."""
        return nearest(self.instance, self._ask("projection", x))


def assert_simple_bilevel(
    function: Function,
    tolerance: float = 1e-2,
    profile_: Profile | str | None = None,
    budget: int = 200_000,
    seed: int | None = None,
) -> None:
    """``function(oracles, x0, tolerance) -> x``, feasible, with ``f(x) <= f* + tolerance``, ``g(x) <= g* + tolerance``.

    Raises
    ------
    BrokenContract : which of the three, and by how much.
    """
    chosen = profile(profile_)
    chosen = replace(chosen, examples=max(10, chosen.examples // 4))  # whole runs are slow

    def case(data: bytes) -> tuple[SimpleInstance, FloatArray]:
        read, rest = split(data)
        instance = decoding.simple_bilevel(rest, dx=(2, 1, 3)[read.upto(2)], flat=True)
        return instance, nearest(instance, read.point(instance.dx))

    def judge(data: bytes) -> None:
        instance, start = case(data)
        asked = SimpleOracles(instance, budget)
        x = vector(call(function, asked, start.copy(), tolerance, where="the run", limit=chosen), instance.dx, "output")
        where = f"x = {x.tolist()}"
        missed = float(np.linalg.norm(x - nearest(instance, x)))
        if not missed <= 1e-9 * instance.radius:
            raise BrokenContract("output is not feasible", where, f"misses the {instance.feasible} by {missed:.3g}")
        for name, value, best in (
            ("g", instance.g.value(x), instance.g_star),
            ("f", instance.f.value(x), instance.f_star),
        ):
            if not value - best <= tolerance:
                detail = (
                    f"{name} = {value:.9g} > {name}* + tolerance = {best:.9g} + {tolerance:g}, by {value - best:.3g}"
                )
                raise BrokenContract(f"{name} is too large", where, detail)

    def describe(data: bytes) -> str:
        instance, start = case(data)
        return text(f"x0 = {start.tolist()}, x* = {instance.x_star.tolist()}", instance)

    try_out("assert_simple_bilevel", name_of(function), judge, describe, chosen, seed)
