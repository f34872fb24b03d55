"""Numerical kernels of atoms in the three ready arithmetics, stable where the textbook formula is not.

The kernels themselves live in the table of atoms; here they get their parameters and never raise: overflow gives inf,
an argument outside the domain NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, lru_cache, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.atoms import kernels as atom_kernels
from bilevel_verify.language.elementary import ELEMENTARY, TRANSCENDENTAL

if TYPE_CHECKING:
    import mpmath
    import sympy

Kernel = Callable[[Any], Any]


def real_power(a: float, exponent: float) -> float:
    """``a ** exponent`` by IEEE rules: NaN for a negative base, inf on overflow."""
    if exponent == 0.5:
        return math.sqrt(a) if a >= 0.0 else math.nan
    if a < 0.0 or a != a:
        return math.nan
    try:
        return float(a**exponent)
    except OverflowError:
        return math.inf
    except ZeroDivisionError:
        return math.inf


def scalar(name: str, order: int, parameters: tuple[Fraction, ...]) -> Kernel:
    """Kernel of a (derivative of an) atom on Python floats; never raises."""
    return _scalar(name, order, tuple(nearest_float(p) for p in parameters))


@cache
def _scalar(name: str, order: int, parameters: tuple[float, ...]) -> Kernel:
    plain, fallback = atom_kernels.scalar(name, order), atom_kernels.array(name, order)

    def kernel(t: float) -> float:
        try:
            return float(plain(t, *parameters))
        except (ArithmeticError, ValueError):
            return float(fallback(t, *parameters))

    return kernel


def array(name: str, order: int, parameters: tuple[Fraction, ...]) -> Kernel:
    """Kernel of a (derivative of an) atom on NumPy arrays."""
    if order == 0 and name in TRANSCENDENTAL and name != "erf":  # SciPy's erf of complex points is another matter
        return ELEMENTARY[name].array  # works on complex arrays, too
    kernel, numbers = atom_kernels.array(name, order), tuple(nearest_float(p) for p in parameters)
    return lambda t: kernel(t, *numbers)


@lru_cache(maxsize=65536)
def nearest_float(value: sympy.Expr | Fraction) -> float:
    """The float64 nearest to an exact number (Fraction, or SymPy number that is not rational)."""
    return float(value.evalf(40)) if hasattr(value, "evalf") else float(value)


def mp_module() -> mpmath.ctx_mp.MPContext:
    """mpmath."""
    import mpmath

    return mpmath


def mp_constant(value: object) -> mpmath.mpf:
    """A number at the current working precision of mpmath."""
    mp = mp_module()
    if isinstance(value, Fraction):
        return mp.mpf(value.numerator) / value.denominator
    if hasattr(value, "evalf"):
        return mp.mpf(value.evalf(mp.mp.dps + 10)._mpf_)
    return mp.mpf(value)


def multiprecision(name: str, order: int, parameters: tuple[Fraction, ...]) -> Kernel:
    """Kernel of a (derivative of an) atom on mpmath numbers."""
    kernel, numbers = atom_kernels.multiprecision(name, order), tuple(mp_constant(p) for p in parameters)
    return lambda t: kernel(t, *numbers)


def logsumexp(args: Sequence[float]) -> float:
    """``log(sum(exp(args)))`` shifted by the maximum."""
    top = reduce(lambda a, b: a if a >= b or a != a else b, args)
    if not math.isfinite(top):
        return top
    total = 0.0
    for a in args:
        total += math.exp(a - top)
    return top + math.log(total)


def logsumexp_array(args: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The same over a batch; complex arguments are shifted by the largest real part."""
    top = reduce(np.maximum, [np.real(a) for a in args])
    return top + np.log(reduce(np.add, [np.exp(a - top) for a in args]))


def logsumexp_mp(args: Sequence[mpmath.mpf]) -> mpmath.mpf:
    """The same on mpmath numbers."""
    mp = mp_module()
    top = max(args)
    return top + mp.log(mp.fsum(mp.exp(a - top) for a in args))
