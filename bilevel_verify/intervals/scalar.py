"""Ranges of scalar atoms and of all their derivatives over intervals: the atom of a name.

``Scalar.range(k, t)`` is the exact range of ``phi^(k)`` on every interval of a batch, up to rounding: end points plus
the critical points inside (where "inside" cannot be decided in floats the point is included). Closed shapes come from
:mod:`bilevel_verify.atoms.suprema`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from bilevel_verify.atoms import suprema
from bilevel_verify.intervals.families import Erf, FamilyScalar
from bilevel_verify.intervals.powers import Power
from bilevel_verify.intervals.removable import Monotone, Sinc
from bilevel_verify.intervals.rough import Derived, Huber, Psi
from bilevel_verify.intervals.scalar_base import Direct, Scalar, point
from bilevel_verify.intervals.waves import Exponential, Tangent, Trigonometric
from bilevel_verify.intervals.weighted import WeightedPolynomial, rational_horner

__all__ = [
    "EXTRA",
    "Derived",
    "Direct",
    "Exponential",
    "FamilyScalar",
    "Huber",
    "Power",
    "Psi",
    "Scalar",
    "Trigonometric",
    "WeightedPolynomial",
    "point",
    "rational_horner",
    "scalar",
]

EXTRA: dict[str, Callable[..., Scalar]] = {}
"""Atoms that rooms below register (name -> constructor from parameters)."""


@lru_cache(maxsize=256)
def scalar(name: str, *parameters: Fraction) -> Scalar:
    """The scalar atom of a name: those of the language, and ``lorentz odd_lorentz log1psquare hypot1 gauss``.

    Raises
    ------
    KeyError : unknown name.
    """
    if name in ("sin", "cos"):
        return Trigonometric(name)
    if name in ("exp", "sinh", "cosh"):
        return Exponential(name)
    if name == "tan":
        return Tangent()
    if name in suprema.FAMILIES:
        return FamilyScalar(name)
    if name == "erf":
        return Erf()
    if name == "psi":
        return Psi(parameters[0])
    if name == "log":
        return Power(Fraction(0), "log")
    if name == "sqrt":
        return Power(Fraction(1, 2))
    if name == "power":
        return Power(parameters[0])
    if name == "bell":
        return WeightedPolynomial("rational", (Fraction(1),), parameters[0])
    if name in ("abspow", "sgnpow", "pluspow"):
        return Power(parameters[0], name[:-3])
    if name == "huber":
        return Huber(parameters[0])
    if name in EXTRA:
        return EXTRA[name](*parameters)
    if name in ("sinc", "exprel", "logrel"):
        return Sinc() if name == "sinc" else Monotone(name)
    raise KeyError(name)
