"""The formulas of the atoms on floats (as source text too), on NumPy arrays and on mpmath numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from bilevel_verify.atoms.formulas import FORMULAS
from bilevel_verify.language.elementary import ELEMENTARY

if TYPE_CHECKING:
    import mpmath

Kernel = Callable[..., Any]

PLAIN = sorted({*ELEMENTARY, *"atan2 fabs hypot inf log1p nan pi".split()} - {"cosh", "exp", "sign"})
PRELUDE = f"from math import {', '.join(PLAIN)}"
PRELUDE += """
from math import cosh as _cosh, exp as _exp

two = 2.0


def where(test, yes, no):
    return yes if test else no


def sign(t):
    return 1.0 if t > 0.0 else (-1.0 if t < 0.0 else 0.0*t)


def exp_(t):
    return inf if t > 709.782712893384 else _exp(t)


def log_(t):
    return log(t) if t > 0.0 else (-inf if t == 0.0 else nan)


def sinh_(t):
    return sinh(t) if -710.4 < t < 710.4 else (t if t != t else (inf if t > 0.0 else -inf))


def cosh_(t):
    return _cosh(t) if -710.4 < t < 710.4 else (t if t != t else inf)


def power(base, exponent):
    return base**exponent if base != 0.0 or exponent >= 0.0 else inf

"""
"""Helpers of the scalar kernels: plain Python, every ``def`` compiles under numba."""


def kernel_name(name: str, order: int) -> str:
    """Name of a scalar kernel in generated code, ``sigmoid_2``."""
    return f"{name}_{order}"


@cache
def scalar_source(name: str, order: int = 0) -> str:
    """Source text of one scalar kernel ``name_order(t, *parameters)``; needs :data:`PRELUDE` above it."""
    parameters, formula = FORMULAS[name]
    body = "\n    ".join(formula(order).splitlines())
    return f"def {kernel_name(name, order)}({', '.join(('t', *parameters))}):\n    {body}\n"


def module_source(wanted: Iterable[tuple[str, int]]) -> str:
    """A self-contained module text with the helpers and the kernels ``(name, order)`` asked for, without repetition."""
    return PRELUDE + "\n" + "\n\n".join(scalar_source(*key) for key in dict.fromkeys(wanted))


@cache
def scalar(name: str, order: int = 0) -> Callable[..., float]:
    """The scalar kernel as a plain Python function on floats."""
    namespace: dict[str, Any] = {}
    exec(
        compile(PRELUDE + "\n" + scalar_source(name, order), f"<atom {name}, {order}>", "exec"), namespace
    )  # our own text, from the table above
    kernel: Kernel = namespace[kernel_name(name, order)]
    return kernel


@cache
def array(name: str, order: int = 0) -> Kernel:
    """The kernel on float64 arrays (elementwise; infinities instead of warnings)."""
    import numpy as np

    plain = _bound(name, order, _numpy_names())

    def kernel(t: object, *parameters: object) -> Any:
        with np.errstate(all="ignore"):
            return plain(np.asarray(t, dtype=float), *parameters)

    return kernel


@cache
def multiprecision(name: str, order: int = 0) -> Callable[..., mpmath.mpf]:
    """The kernel on mpmath numbers, at the working precision of the moment."""
    return _bound(name, order, _mpmath_names())


def _bound(name: str, order: int, names: dict[str, Any]) -> Kernel:
    namespace = dict(names)
    exec(
        compile(scalar_source(name, order), f"<atom {name}, {order}>", "exec"), namespace
    )  # our own text, from the table above
    kernel: Kernel = namespace[kernel_name(name, order)]
    return kernel


@cache
def _numpy_names() -> dict[str, object]:
    import numpy as np

    names: dict[str, object] = {name: one.array for name, one in ELEMENTARY.items()}
    names |= {"fabs": np.fabs, "hypot": np.hypot, "log1p": np.log1p, "atan2": np.arctan2, "where": np.where}
    names |= {"exp_": np.exp, "log_": np.log, "sinh_": np.sinh, "cosh_": np.cosh, "power": np.power}
    return names | {"pi": math.pi, "inf": math.inf, "nan": math.nan, "two": 2.0}


@cache
def _mpmath_names() -> dict[str, object]:
    import mpmath
    from mpmath import mp

    def power(base: mpmath.mpf, exponent: mpmath.mpf) -> mpmath.mpf:
        return mp.inf if base == 0 and exponent < 0 else mp.mpf(base) ** exponent

    def logarithm(t: mpmath.mpf) -> mpmath.mpf:
        return mp.log(t) if t > 0 else (-mp.inf if t == 0 else mp.nan)

    names = {name: getattr(mp, name) for name in (*ELEMENTARY, "fabs", "hypot", "log1p", "atan2")}
    names |= {"exp_": mp.exp, "log_": logarithm, "sinh_": mp.sinh, "cosh_": mp.cosh, "power": power}
    names["where"] = lambda test, yes, no: yes if test else no
    return names | {"pi": mpmath.pi, "inf": mp.inf, "nan": mp.nan, "two": mp.mpf(2)}
