"""Oracles that answer in mpmath numbers, for runs in many digits of methods that are written with arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bilevel_verify.errors import ParameterError
from bilevel_verify.oracles.oracles import Oracles
from bilevel_verify.oracles.programs import direction_block
from bilevel_verify.problems.problem import Problem

if TYPE_CHECKING:
    import mpmath
    from numpy.typing import ArrayLike, NDArray

DISTURBANCE = "1e-30"
"""How far off disturbed numbers are at least, in units of their size, of 1 where that is less."""


class PreciseOracles(Oracles):
    """The questions of :class:`Oracles`, on object arrays of mpmath numbers at the working precision of the moment.

    Counts and budget are those of the base class. Only single evaluations are offered, no batches, no compiled form.
    """

    def __init__(self, problem: Problem, budget: int | None = None) -> None:
        super().__init__(problem, compiled=False, budget=budget)
        self._exact: dict[str, Callable[..., None]] = {}

    def value_f(self, x: ArrayLike, y: ArrayLike = ()) -> mpmath.mpf:
        """f(x, y)."""
        return self._ask("value_f", x, y)[0]

    def value_g(self, x: ArrayLike, y: ArrayLike = ()) -> mpmath.mpf:
        """g(x, y)."""
        return self._ask("value_g", x, y)[0]

    def _ask(
        self,
        field: str,
        x: ArrayLike,
        y: ArrayLike,
        v: ArrayLike | None = None,
    ) -> Any:
        import mpmath

        lengths = self.programs.ranges
        arguments = [_numbers(x, len(lengths["x"]), "x"), _numbers(y, len(lengths["y"]), "y")]
        if v is not None:
            arguments.append(_numbers(v, len(lengths[direction_block(field)]), "v"))
        self._count(field)
        if field not in self._exact:
            self._exact[field] = self._multiprecision(field)
        result: list[Any] = [mpmath.mpf(0)] * self.programs.length(field)
        self._exact[field](*arguments, result)
        return np.array(result, dtype=object)


class DisturbedOracles(PreciseOracles):
    """The same, each answer off by less than floats of any kind resolve: a solver that rounds does not notice."""

    def _ask(
        self,
        field: str,
        x: ArrayLike,
        y: ArrayLike,
        v: ArrayLike | None = None,
    ) -> Any:
        return off(super()._ask(field, x, y, v), int(self.counts_array.sum()))


def off(numbers: Sequence[mpmath.mpf] | NDArray[np.object_], turn: int) -> NDArray[np.object_]:
    """The numbers, each by another multiple of :data:`DISTURBANCE` too large."""
    import mpmath

    step = mpmath.mpf(DISTURBANCE) * (7 + turn % 7)
    return np.array([number + step * (place + 1) * max(1, abs(number)) for place, number in enumerate(numbers)], object)


def _numbers(value: ArrayLike, length: int, name: str) -> list[float | mpmath.mpf]:
    entries = list(np.asarray(value, dtype=object))
    if len(entries) != length:
        raise ParameterError(f"{name} has {len(entries)} entries; the problem has {length}")
    return entries
