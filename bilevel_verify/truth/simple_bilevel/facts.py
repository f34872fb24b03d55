"""What is known about the solutions of a lower level without y: facts with their errors, an exact description."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.truth.sets.polyhedra import Reduced

Vector = list[Fraction]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """``|normal . (x - z^)| <= room`` for every solution x; ``value`` is ``normal . z^``."""

    normal: Vector
    value: Any
    room: float


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about every solution of the lower level.

    Attributes
    ----------
    z, w : the solution found, exact (in lifted variables: w).
    value : g there; no feasible point lies more than ``error`` below it.
    supporting : rows of the feasible set that bind -> how far a solution may be from binding.
    weights : multipliers of all rows of the feasible set and of its balls, zero where they do not press (or so
        lightly that it cannot be told).
    rows : forms that all solutions share. halves : ``normal . x <= end`` (pieces on which a profile is affine).
    single : every solution lies within this distance of z; None where there may be others.
    """

    z: list[Any]
    w: list[Any]
    value: Any
    error: float
    supporting: dict[int, float]
    weights: tuple[float, ...]
    rows: list[Row]
    halves: list[tuple[Vector, Fraction]]
    single: float | None

    @property
    def room(self) -> float:
        """The largest room of a fact."""
        return max([0.0, *self.supporting.values(), *(row.room for row in self.rows), self.single or 0.0])


@dataclass(frozen=True, slots=True)
class SolutionSet:
    """Exact description of ``argmin_Z g`` around a lower-level solution.

    Attributes
    ----------
    reduced : the set; None where no exact description is known (``missing`` says why).
    point : a lower-level solution.
    unique : the lower level has a single solution.
    slack : how far the right-hand sides of the description may be off (from the accuracy of the lower-level solution).
    """

    reduced: Reduced | None
    point: FloatArray
    unique: bool
    slack: float
    missing: str = ""
