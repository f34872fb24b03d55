"""Parameters, starts and budgets of a run, checked before anything is run."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from bilevel_verify.errors import ParameterError
from bilevel_verify.methods.kernels.state import Real
from bilevel_verify.methods.registry import Letter, Method
from bilevel_verify.problems.problem import Problem

if TYPE_CHECKING:
    from typing import SupportsFloat

    import mpmath
    import sympy


PLAIN = frozenset((float, np.float64))


class Number(Protocol):
    """Turns what a user gives into a number of the arithmetic of the run."""

    def __call__(self, value: Any, /) -> Real: ...


def to_float(value: SupportsFloat) -> float:
    """A float from anything that is a number; strings only where they are plain decimals."""
    return float(value)


def to_multiprecision(value: Any) -> mpmath.mpf:
    """An mpmath number, exact for rationals and floats, correctly rounded for decimals in strings."""
    import mpmath

    if isinstance(value, Fraction):
        return mpmath.mpf(value.numerator) / value.denominator
    if getattr(value, "is_Rational", False):
        return mpmath.mpf(int(value.p)) / int(value.q)
    if isinstance(value, (np.floating, np.integer)):
        return mpmath.mpf(value.item())
    if hasattr(value, "evalf"):
        return mpmath.mpf(value.evalf(mpmath.mp.dps + 5))
    return mpmath.mpf(value)


def resolve_letters(method: Method, parameters: Mapping[str, Any], eps: Any, number: Number) -> dict[str, Any]:
    """Every letter of the method with its value in the arithmetic of the run; absent optional ones are left out.

    Raises
    ------
    ParameterError : a letter that is missing, not a number, NaN, infinite or out of range.
    """
    given = dict(parameters)
    if eps is not None:
        if not _is_number(eps) or not float(eps) > 0:
            raise ParameterError(f"eps must be a positive number, not {eps!r}")
        given.setdefault("eps", eps)
    resolved: dict[str, Any] = {}
    for letter in method.letters:
        value = given.get(letter.name)
        if value is None:
            value = letter.default
        if value is None:
            if letter.optional:
                continue
            known = {entry.name for entry in method.letters}
            unknown = sorted(set(given) - known)
            also = f" (not a letter of this method: {', '.join(unknown)})" if unknown else ""
            how = f"settings of the statement that prescribe it, or --set {letter.name}=VALUE"
            raise ParameterError(f"{method.name} needs the parameter {letter.name!r}: {how}{also}")
        resolved[letter.name] = _letter_value(method, letter, value, number)
    return resolved


def _letter_value(method: Method, letter: Letter, value: Any, number: Number) -> Any:
    where = f"parameter {letter.name!r} of {method.name}"
    if isinstance(value, str) and letter.words:
        if value not in letter.words:
            raise ParameterError(f"{where} must be a number, a list of numbers, or one of {', '.join(letter.words)}")
        return value
    if letter.kind == "length":
        return _length(where, value)
    if letter.kind == "sequence" and np.ndim(value) == 1:
        if not len(value) or not all(_is_number(entry) for entry in value):
            raise ParameterError(f"{where} must be a list of finite numbers")
        return tuple(number(entry) for entry in value)
    if not _is_number(value):
        raise ParameterError(f"{where} must be a finite number, not {value!r}")
    if letter.kind == "count":
        return _whole(where, value, least=1)
    plain = float(value)
    if letter.kind == "positive" and not plain > 0:
        raise ParameterError(f"{where} must be positive, not {value!r}")
    if letter.kind == "nonnegative" and not plain >= 0:
        raise ParameterError(f"{where} must not be negative, not {value!r}")
    return number(value)


def _length(where: str, value: object) -> int | tuple[int, ...]:
    """An inner length, or one per epoch."""
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str):
        if len(value) == 0:
            raise ParameterError(f"{where}: a list of lengths needs at least one entry")
        return tuple(_whole(where, entry, least=0) for entry in value)
    return _whole(where, value, least=0)


def _whole(where: str, value: Any, least: int) -> int:
    if not _is_number(value) or float(value) != int(float(value)) or int(float(value)) < least:
        raise ParameterError(f"{where} must be an integer >= {least}, not {value!r}")
    whole = int(value)
    if whole > 2**62:
        raise ParameterError(f"{where} is beyond 2^62")
    return whole


def _is_number(value: Any) -> bool:
    """True for finite numbers of any arithmetic (and decimals in strings)."""
    if isinstance(value, (bool, complex)) or value is None:
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return isinstance(value, int)
    except (TypeError, ValueError):
        return False


def resolve_start(problem: Problem, name: str, value: Any, number: Number) -> list[Real]:
    """A start as a list of numbers.

    Parameters
    ----------
    name : ``x0`` (length dx, inside the domain), ``y0`` (length dy, inside the domain) or ``v0`` (length dy).

    Raises
    ------
    ParameterError : wrong shape, not finite, outside the domain.
    """
    symbols = problem.x if name == "x0" else problem.y
    if value is None:
        if name == "x0":
            if problem.start is None:
                raise ParameterError(f"this problem suggests no start: give x0 ({len(symbols)} numbers)")
            value = problem.start
        else:
            return [number(0)] * len(symbols)
    entries = [value] if np.ndim(value) == 0 else list(value)
    if len(entries) != len(symbols) or any(np.ndim(entry) for entry in entries):
        raise ParameterError(f"{name} must be {len(symbols)} numbers, not {_shape(value)}")
    if not all(_is_number(entry) for entry in entries):
        raise ParameterError(f"{name} must be finite numbers, not {value!r}")
    if name != "v0":
        for symbol, entry in zip(symbols, entries):
            low, high = _ends(problem.range_of(symbol))
            if not low <= float(entry) <= high:
                raise ParameterError(f"{name} leaves the domain: {symbol} = {float(entry)!r} is not in [{low}, {high}]")
    return [number(entry) for entry in entries]


def plain(value: object) -> list[float] | None:
    """The entries of a number, a list, a tuple or an array of Python's or NumPy's own floats; None for anything
    else.
    """
    if type(value) is np.ndarray:
        return value.tolist() if value.dtype == np.float64 and value.ndim == 1 else None
    entries: list[Any] = [*value] if type(value) is list or type(value) is tuple else [value]
    return entries if PLAIN.issuperset(map(type, entries)) else None


def finite_ends(problem: Problem, symbol: sympy.Symbol) -> tuple[float, float]:
    """The floats of the range of a variable, infinities left out."""
    low, high = _ends(problem.range_of(symbol))
    return max(low, -sys.float_info.max), min(high, sys.float_info.max)


@lru_cache(maxsize=1024)
def _ends(interval: tuple[Any, Any]) -> tuple[float, float]:
    low, high = interval
    return float(low), float(high)


def resolve_noise(problem: Problem, noise: object, number: Number) -> list[list[Real]] | None:
    """Explicit perturbations, one row each.

    Raises
    ------
    ParameterError : empty, wrong shape, not finite.
    """
    if noise is None:
        return None
    try:
        table = np.array(noise, dtype=object)
    except ValueError:
        table = np.empty((0,))
    if table.ndim == 1 and problem.dx == 1:
        table = table[:, None]
    if table.ndim != 2 or table.shape[0] == 0 or table.shape[1] != problem.dx:
        raise ParameterError(f"noise must be a list of perturbations of {problem.dx} numbers each, not {_shape(noise)}")
    if not all(_is_number(entry) for entry in table.ravel()):
        raise ParameterError("noise must be finite numbers")
    return [[number(entry) for entry in row] for row in table]


def resolve_budget(budget: object) -> tuple[int, int]:
    """Most oracle calls of all kinds together, most iterations.

    Parameters
    ----------
    budget : an integer (oracle calls), or a mapping with ``calls`` and ``iterations``.

    Raises
    ------
    ParameterError : not a positive integer.
    """
    unlimited = 2**62
    wanted = dict(budget) if isinstance(budget, Mapping) else {"calls": budget}
    unknown = sorted(set(wanted) - {"calls", "iterations"})
    if unknown:
        raise ParameterError(f"a budget limits 'calls' and 'iterations', not {', '.join(map(repr, unknown))}")
    return tuple(  # type: ignore[return-value]
        _whole(f"budget ({key})", wanted.get(key, unlimited), least=1) for key in ("calls", "iterations")
    )


def _shape(value: Any) -> str:
    try:
        shape = np.shape(value)
    except ValueError:
        return "a ragged list"
    return "one number" if shape == () else f"an array of shape {shape}"
