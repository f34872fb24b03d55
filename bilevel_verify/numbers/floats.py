"""Ready arithmetics for programs: Python floats, NumPy arrays (vectorised over points), mpmath numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from bilevel_verify.numbers import kernels
from bilevel_verify.numbers.kernels import nearest_float
from bilevel_verify.numbers.powers import whole_power


class PythonFloat:
    """IEEE arithmetic on Python floats: overflow gives inf, undefined operations NaN, as compiled code does."""

    def constant(self, value: Any) -> float:
        return nearest_float(value)

    def add(self, a: float, b: float) -> float:
        return a + b

    def mul(self, a: float, b: float) -> float:
        return a * b

    def neg(self, a: float) -> float:
        return -a

    def div(self, a: float, b: float) -> float:
        if b != 0.0:
            return a / b
        if a == 0.0 or a != a:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)

    def power(self, a: float, exponent: Fraction) -> float:
        if exponent.denominator == 1:
            return float(whole_power(a, int(exponent)))
        return kernels.real_power(a, float(exponent))

    def atom(self, name: str, order: int, a: float, parameters: tuple[Any, ...]) -> float:
        return float(kernels.scalar(name, order, parameters)(a))

    def logsumexp(self, args: Sequence[float]) -> float:
        return kernels.logsumexp(args)

    def absolute(self, a: float) -> float:
        return abs(a)

    def sign(self, a: float) -> float:
        return a if a != a else float((a > 0) - (a < 0))

    def floor(self, a: float) -> float:
        return float(math.floor(a)) if math.isfinite(a) else a

    def ceil(self, a: float) -> float:
        return float(math.ceil(a)) if math.isfinite(a) else a

    def maximum(self, a: float, b: float) -> float:
        return a if a >= b or a != a else b

    def minimum(self, a: float, b: float) -> float:
        return a if a <= b or a != a else b

    def compare(self, op: str, a: float, b: float) -> bool:
        return bool(_COMPARE[op](a, b))

    def logical(self, op: str, args: Iterable[bool]) -> bool:
        return _logical(op, args)

    def select(self, test: bool, yes: float, no: float) -> float:
        return yes if test else no


class Numpy:
    """Arrays over a batch of points; constants stay scalars. Complex arrays work too (for complex steps): comparisons,
    absolute values and signs then look at the real part."""

    def constant(self, value: Any) -> Any:
        return nearest_float(value)

    def add(self, a: Any, b: object) -> Any:
        return a + b

    def mul(self, a: Any, b: Any) -> Any:
        return a * b

    def neg(self, a: Any) -> Any:
        return -a

    def div(self, a: Any, b: Any) -> Any:
        return np.true_divide(a, b)

    def power(self, a: Any, exponent: Fraction) -> Any:
        if exponent.denominator == 1:
            return whole_power(a, int(exponent))
        return np.sqrt(a) if exponent == Fraction(1, 2) else np.power(a, float(exponent))

    def atom(self, name: str, order: int, a: Any, parameters: tuple[Any, ...]) -> Any:
        return kernels.array(name, order, parameters)(a)

    def logsumexp(self, args: Sequence[Any]) -> Any:
        return kernels.logsumexp_array(args)

    def absolute(self, a: Any) -> Any:
        return np.where(np.real(a) < 0, -a, a)

    def sign(self, a: Any) -> Any:
        return np.sign(np.real(a))

    def floor(self, a: Any) -> Any:
        return np.floor(np.real(a))

    def ceil(self, a: Any) -> Any:
        return np.ceil(np.real(a))

    def maximum(self, a: Any, b: Any) -> Any:
        return np.where((np.real(a) >= np.real(b)) | np.isnan(a), a, b)

    def minimum(self, a: Any, b: Any) -> Any:
        return np.where((np.real(a) <= np.real(b)) | np.isnan(a), a, b)

    def compare(self, op: str, a: Any, b: Any) -> Any:
        return _COMPARE[op](np.real(a), np.real(b))

    def logical(self, op: str, args: Iterable[Any]) -> Any:
        match op:
            case "and":
                return np.logical_and.reduce(np.broadcast_arrays(*args))
            case "or":
                return np.logical_or.reduce(np.broadcast_arrays(*args))
            case "not":
                return np.logical_not(next(iter(args)))
        return op == "true"

    def select(self, test: Any, yes: Any, no: Any) -> Any:
        return np.where(test, yes, no)

    def lowered(self, op: str, a: Any, value: Any) -> Any:
        """``call`` and ``real_power`` of lowered programs."""
        if op == "real_power":
            return np.power(a, float(value))
        function = getattr(np, value, None)
        return kernels.array(value, 0, ())(a) if function is None else function(a)


class Mpmath(PythonFloat):
    """mpmath numbers at the working precision that holds when the program runs (``mpmath.workdps``)."""

    def constant(self, value: Any) -> Any:
        return kernels.mp_constant(value)

    def div(self, a: Any, b: Any) -> Any:
        return a / b

    def power(self, a: Any, exponent: Fraction) -> Any:
        if exponent.denominator == 1:
            return a ** int(exponent)
        return kernels.mp_constant(a) ** kernels.mp_constant(exponent)

    def atom(self, name: str, order: int, a: Any, parameters: tuple[Any, ...]) -> Any:
        return kernels.multiprecision(name, order, parameters)(a)

    def logsumexp(self, args: Sequence[object]) -> Any:
        return kernels.logsumexp_mp(args)

    def sign(self, a: Any) -> Any:
        return kernels.mp_constant((a > 0) - (a < 0))

    def floor(self, a: object) -> Any:
        return kernels.mp_module().floor(a)

    def ceil(self, a: object) -> Any:
        return kernels.mp_module().ceil(a)


PYTHON_FLOAT, NUMPY, MPMATH = PythonFloat(), Numpy(), Mpmath()

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
}


def _logical(op: str, args: Iterable[bool]) -> bool:
    match op:
        case "and":
            return all(args)
        case "or":
            return any(args)
        case "not":
            return not next(iter(args))
    return op == "true"
