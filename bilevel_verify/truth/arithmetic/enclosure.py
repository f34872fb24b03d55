"""A value with its error: the only form in which truth speaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import InputError, MathematicalError

Certainty = Literal["proved", "certified", "computed", "sampled"]
"""Ordered from best to worst; the certainty of a result is the weakest of its ingredients."""

RANK: dict[str, int] = {"proved": 0, "certified": 1, "computed": 2, "sampled": 3}


def weakest(*levels: Certainty) -> Certainty:
    """The weakest of several certainties (``proved`` for none)."""
    return max(levels, key=RANK.__getitem__, default="proved")


def is_witness(certainty: Certainty) -> bool:
    """Whether numbers of this certainty can show that a hypothesis is false: exact or outward-rounded ones only."""
    return certainty in ("proved", "certified")


@dataclass(frozen=True, slots=True)
class Enclosure:
    """The true quantity lies within ``error`` of ``value``.

    Attributes
    ----------
    value : float, or array of float64. May be infinite (an unbounded quantity), never NaN.
    error : radius. Euclidean norm for vectors, spectral (bounded by Frobenius) for matrices, absolute for scalars.
    certainty : ``certified`` only where the error was bounded with outward rounding all the way.
    method : how it was found, in a few words ("Krawczyk", "Newton, residual / mu", "Clarabel dual bound").
    attained : for infima and suprema, whether the value is attained; None where it does not apply or is not known.
    """

    value: float | NDArray[np.float64]
    error: float
    certainty: Certainty = "computed"
    method: str = ""
    attained: bool | None = None

    def __post_init__(self) -> None:
        try:
            wrong = bool(np.any(np.isnan(np.asarray(self.value, dtype=float)))) or not self.error >= 0
        except (TypeError, ValueError, OverflowError):
            wrong = True
        if wrong:
            raise InputError(f"not an enclosure: value {self.value!r}, error {self.error!r}")

    @property
    def lower(self) -> float:
        """Lower end of a scalar enclosure, rounded down."""
        return float(np.nextafter(float(self.value) - self.error, -np.inf)) if self.error else float(self.value)

    @property
    def upper(self) -> float:
        """Upper end of a scalar enclosure, rounded up."""
        return float(np.nextafter(float(self.value) + self.error, np.inf)) if self.error else float(self.value)

    def __str__(self) -> str:
        how = f"{self.certainty}, {self.method}" if self.method else self.certainty
        value = f"{self.value:.17g}" if np.ndim(self.value) == 0 else np.array2string(np.asarray(self.value))
        return f"{value} ± {self.error:.2g} ({how})"

    def _repr_latex_(self) -> str | None:
        if np.ndim(self.value) > 0 or not np.isfinite(float(self.value)):
            return None
        return rf"${float(self.value):.12g} \pm {self.error:.2g}$"


def flattened(found: Enclosure) -> Enclosure:
    """A column as a vector."""
    return Enclosure(np.asarray(found.value).reshape(-1), found.error, found.certainty, found.method, found.attained)


def between(low: float, high: float, certainty: Certainty, method: str, attained: bool | None = None) -> Enclosure:
    """Enclosure of a scalar from its two ends.

    Raises
    ------
    MathematicalError : an end is infinite.
    """
    if not np.isfinite(high) or not np.isfinite(low):
        raise MathematicalError(f"only one side is known: [{low}, {high}] ({method})")
    value = low if low == high else 0.5 * low + 0.5 * high  # halves of the smallest numbers are rounded to zero
    error = 0.0 if low == high else float(np.nextafter(max(high - value, value - low), np.inf))
    return Enclosure(value, error, certainty, method, attained)
