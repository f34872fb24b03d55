"""Numerical kernels of atoms in the three ready arithmetics, stable where the textbook formula is not.

Scalar kernels follow IEEE rules where Python raises: overflow gives inf, an argument outside the domain NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any

import numpy as np

Kernel = Callable[[Any], Any]


def integer_power(a: Any, n: int) -> Any:
    """``a ** n`` for n >= 1 as products, in the same order as generated code: squares first."""
    result, square = None, a
    while n:
        if n & 1:
            result = square if result is None else result * square
        n >>= 1
        if n:
            square = square * square
    return result


def real_power(a: float, exponent: float) -> float:
    """``a ** exponent`` by IEEE rules: NaN for a negative base, inf on overflow."""
    if exponent == 0.5:
        return math.sqrt(a) if a >= 0.0 else math.nan
    if a < 0.0 or a != a:
        return math.nan
    try:
        return a**exponent
    except OverflowError:
        return math.inf
    except ZeroDivisionError:
        return math.inf


def ieee(function: Callable[[float], float], overflow: Kernel, domain: Kernel = lambda a: math.nan) -> Kernel:
    """A function of ``math`` that answers instead of raising."""

    def kernel(a: float) -> float:
        try:
            return function(a)
        except OverflowError:
            return float(overflow(a))
        except ValueError:
            return float(domain(a))

    return kernel


def _signed_infinity(a: float) -> float:
    return math.copysign(math.inf, a)


def softplus(a: float) -> float:
    """``log(1 + exp(a))``."""
    return a + math.log1p(math.exp(-a)) if a > 0.0 else math.log1p(math.exp(a))


def sigmoid(a: float) -> float:
    """``1 / (1 + exp(-a))``."""
    if a >= 0.0:
        return 1.0 / (1.0 + math.exp(-a))
    e = math.exp(a)
    return e / (1.0 + e)


def logcosh(a: float) -> float:
    """``log(cosh(a))``."""
    b = abs(a)
    return b + math.log1p(math.exp(-2.0 * b)) - 0.6931471805599453


SCALAR: dict[str, Kernel] = {
    "exp": ieee(math.exp, lambda a: math.inf),
    "log": ieee(math.log, lambda a: math.inf, lambda a: -math.inf if a == 0.0 else math.nan),
    "sin": ieee(math.sin, lambda a: math.nan),
    "cos": ieee(math.cos, lambda a: math.nan),
    "tan": ieee(math.tan, lambda a: math.nan),
    "sinh": ieee(math.sinh, _signed_infinity),
    "cosh": ieee(math.cosh, lambda a: math.inf),
    "tanh": math.tanh,
    "asinh": math.asinh,
    "atan": math.atan,
    "erf": math.erf,
    "softplus": softplus,
    "sigmoid": sigmoid,
    "logcosh": logcosh,
}


def scalar(name: str, order: int, parameters: tuple[Any, ...]) -> Kernel:
    """Kernel of an atom on Python floats."""
    return SCALAR[name]


def _softplus_array(a: Any) -> Any:
    if np.iscomplexobj(a):
        return np.where(a.real > 0, a + np.log1p(np.exp(-np.abs(a.real)) * np.exp(-1j * a.imag)), np.log1p(np.exp(a)))
    return np.logaddexp(0.0, a)


def _sigmoid_array(a: Any) -> Any:
    positive = np.real(a) >= 0
    e = np.exp(np.where(positive, -a, a))
    return np.where(positive, 1.0 / (1.0 + e), e / (1.0 + e))


def _logcosh_array(a: Any) -> Any:
    b = np.where(np.real(a) < 0, -a, a)
    return b + np.log1p(np.exp(-2.0 * b)) - 0.6931471805599453


def _erf_array(a: Any) -> Any:
    from scipy.special import erf

    return erf(a)


ARRAY: dict[str, Kernel] = {
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "erf": _erf_array,
    "softplus": _softplus_array,
    "sigmoid": _sigmoid_array,
    "logcosh": _logcosh_array,
}


def array(name: str, order: int, parameters: tuple[Any, ...]) -> Kernel:
    """Kernel of an atom on NumPy arrays."""
    return ARRAY[name]


def mp_module() -> Any:
    """mpmath."""
    import mpmath

    return mpmath


def mp_constant(value: Any) -> Any:
    """A number at the current working precision of mpmath."""
    mp = mp_module()
    if isinstance(value, Fraction):
        return mp.mpf(value.numerator) / value.denominator
    if hasattr(value, "evalf"):
        return mp.mpf(value.evalf(mp.mp.dps + 10)._mpf_)
    return mp.mpf(value)


@lru_cache(maxsize=1)
def _mp_kernels() -> dict[str, Kernel]:
    mp = mp_module()

    def softplus_mp(a: Any) -> Any:
        return a + mp.log1p(mp.exp(-a)) if a > 0 else mp.log1p(mp.exp(a))

    def sigmoid_mp(a: Any) -> Any:
        return 1 / (1 + mp.exp(-a)) if a >= 0 else mp.exp(a) / (1 + mp.exp(a))

    def logcosh_mp(a: Any) -> Any:
        return abs(a) + mp.log1p(mp.exp(-2 * abs(a))) - mp.log(2)

    own = {"softplus": softplus_mp, "sigmoid": sigmoid_mp, "logcosh": logcosh_mp}
    return {name: own.get(name) or getattr(mp, name) for name in SCALAR}


def multiprecision(name: str, order: int, parameters: tuple[Any, ...]) -> Kernel:
    """Kernel of an atom on mpmath numbers."""
    return _mp_kernels()[name]


def logsumexp(args: Sequence[float]) -> float:
    """``log(sum(exp(args)))`` shifted by the maximum."""
    top = reduce(lambda a, b: a if a >= b or a != a else b, args)
    if not math.isfinite(top):
        return top
    total = 0.0
    for a in args:
        total += math.exp(a - top)
    return top + math.log(total)


def logsumexp_array(args: Sequence[Any]) -> Any:
    """The same over a batch; complex arguments are shifted by the largest real part."""
    top = reduce(np.maximum, [np.real(a) for a in args])
    return top + np.log(reduce(np.add, [np.exp(a - top) for a in args]))


def logsumexp_mp(args: Sequence[Any]) -> Any:
    """The same on mpmath numbers."""
    mp = mp_module()
    top = max(args)
    return top + mp.log(mp.fsum(mp.exp(a - top) for a in args))
