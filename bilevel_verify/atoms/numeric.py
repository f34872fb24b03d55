"""Names for :func:`sympy.lambdify`, so that expressions with atoms of our own can be evaluated by NumPy or mpmath."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import sympy

from bilevel_verify.atoms.kernels import array, multiprecision

if TYPE_CHECKING:
    import mpmath
    import numpy as np


def lambdify_modules(target: Literal["numpy", "mpmath"] = "numpy") -> list[object]:
    """``modules`` argument of :func:`sympy.lambdify` that knows the atoms of our own."""
    kernel = array if target == "numpy" else multiprecision
    names: dict[str, Any] = {name: kernel(name) for name in ("softplus", "sigmoid", "logcosh")}
    for name in ("abspow", "sgnpow", "pluspow", "psi", "huber"):
        names[name] = _swapped(kernel(name))
    names["sigmoid_d"] = lambda k, t: kernel("sigmoid", int(k))(t)
    for name in ("psi", "huber"):
        names[f"{name}_d"] = lambda k, parameter, t, name=name: kernel(name, int(k))(t, parameter)
    names["logsumexp"] = _numpy_logsumexp if target == "numpy" else _mpmath_logsumexp
    return [names, "scipy", "numpy"] if target == "numpy" else [names, "mpmath"]


def evaluator(
    expressions: object,
    symbols: tuple[sympy.Symbol, ...] | list[sympy.Symbol],
    target: Literal["numpy", "mpmath"] = "numpy",
) -> Callable[..., Any]:
    """``lambdify`` with common subexpressions and the atoms of our own (for checks; solvers use programs)."""
    function: Callable[..., Any] = sympy.lambdify(symbols, expressions, modules=lambdify_modules(target), cse=True)
    return function


def _swapped(kernel: Callable[..., object]) -> Callable[..., object]:
    return lambda parameter, t: kernel(t, parameter)


def _numpy_logsumexp(*values: np.ndarray) -> object:
    import numpy as np

    top = np.maximum.reduce(np.broadcast_arrays(*values))
    return top + np.log(sum(np.exp(v - top) for v in values))


def _mpmath_logsumexp(*values: mpmath.mpf) -> mpmath.mpf:
    from mpmath import mp

    top = max(values)
    return top + mp.log(mp.fsum(mp.exp(v - top) for v in values))
