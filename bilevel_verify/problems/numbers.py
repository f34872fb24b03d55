"""Exact real numbers from what users write: Python, NumPy and SymPy numbers, texts, and knobs that use each other."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify import language
from bilevel_verify.errors import ExpressionError, InputError, ProblemError
from bilevel_verify.problems.expression_arrays import exact_number
from bilevel_verify.problems.names import check_name
from bilevel_verify.problems.to_sympy import to_sympy

INFINITY = re.compile(r"\s*-?\s*oo\s*")
"""Texts of the two infinities."""


def read_knobs(
    knobs: Mapping[str, object] | None, letters: Mapping[str, sympy.Expr] | None = None
) -> dict[str, sympy.Expr]:
    """Knobs as exact numbers; a text may use other knobs (and ``letters``), in any order.

    Raises
    ------
    ProblemError : not a number, NaN, infinite, circular.
    """
    given = mapping_of(knobs, "knobs")
    values: dict[str, Any] = {}
    waiting: dict[str, Any] = {}
    for name, value in given.items():
        check_name(name, "knob")
        if isinstance(value, str):
            waiting[name] = (_parsed(value, f"knob {name!r}"), value)
        else:
            values[name] = number(value, f"knob {name!r}")
    while waiting:
        ready = [n for n, (node, _) in waiting.items() if not (language.letters(node) - {n}) & waiting.keys()]
        if not ready or any(n in language.letters(waiting[n][0]) for n in ready):
            raise ProblemError(f"the knobs {', '.join(sorted(waiting))} depend on each other in a circle")
        for name in ready:
            node, text = waiting.pop(name)
            values[name] = _evaluated(node, {**(letters or {}), **values}, text, f"knob {name!r}")
    return {name: values[name] for name in given}


def constant(value: sympy.Expr, what: str) -> sympy.Expr:
    """A SymPy expression that is a real number.

    Raises
    ------
    ProblemError : it depends on something, or is not real; ``what`` names it.
    """
    if value.free_symbols or not value.is_number or not value.is_real:
        raise ProblemError(f"{what} must be a real number, not {str(value)[:60]}")
    try:
        if math.isfinite(float(value)):
            return value
    except (OverflowError, ValueError):
        pass
    raise ProblemError(f"{what} is beyond the range of floats (1.8e308)")


def _parsed(text: str, what: str) -> language.Node:
    try:
        return language.parse(text)
    except ExpressionError as error:
        raise ExpressionError(f"{what}: {error.plain}", text, error.column) from None


def _evaluated(node: language.Node, letters: Mapping[str, sympy.Expr], text: str, what: str) -> sympy.Expr:
    """The number that a text means; an error names what it is for."""
    try:
        return constant(to_sympy(node, letters, text=text), what)
    except ExpressionError as error:
        raise ExpressionError(f"{what}: {error.plain}", text, error.column) from None


def number(value: object, what: str, *, infinite: bool = False) -> sympy.Expr:
    """One exact real number from Python, NumPy or SymPy; NaN and (unless allowed) infinities are refused."""
    if isinstance(value, str):
        node = _parsed(value, what)
        inner = node.operand if isinstance(node, language.tree.Negate) else node
        if infinite and inner == language.tree.Letter("oo"):
            return sympy.oo if inner is node else -sympy.oo
        return _evaluated(node, {}, value, what)
    if isinstance(value, sympy.Expr):
        if infinite and value in (sympy.oo, -sympy.oo):
            return value
        if value.has(sympy.nan, sympy.oo, sympy.zoo):
            raise ProblemError(f"{what} must be finite, not {value}")
        return constant(exact_number(value), what)
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | Fraction | np.number):
        raise ProblemError(f"{what} must be a number, not {type(value).__name__}")
    if isinstance(value, complex | np.complexfloating):
        raise ProblemError(f"{what} must be real")
    plain = float(value) if not isinstance(value, int | Fraction) else value
    if isinstance(plain, float) and not math.isfinite(plain):
        if infinite and not math.isnan(plain):
            return sympy.oo if plain > 0 else -sympy.oo
        raise ProblemError(f"{what} must be finite, not {plain}")
    return constant(exact_number(value), what)


def end_of_range(value: object, missing: sympy.Expr, what: str, knobs: Mapping[str, sympy.Expr]) -> sympy.Expr:
    """One end of a range, or one coordinate: a number, an infinity, or a text over the knobs; ``missing`` for None."""
    if value is None:
        return missing
    if isinstance(value, str) and not INFINITY.fullmatch(value):
        return _evaluated(_parsed(value, what), knobs, value, what)
    return number(value, what, infinite=True)


def float_array(value: object, what: str, error: type[InputError] = InputError) -> NDArray[np.float64]:
    """An array of floats from a number, from lists of numbers or from an array; NaN and infinities stay.

    Raises
    ------
    InputError : (or ``error``) texts, complex numbers, ragged lists, integers beyond floats, whatever is no number.
    """
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value
    try:
        array = np.asarray(value)
        nothing = array.dtype.kind == "O" and any(entry is None for entry in array.ravel())
        if array.dtype.kind in "biufO" and not nothing and not isinstance(value, bool):
            return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, AttributeError, RecursionError):
        pass
    raise error(f"{what} must be numbers within the range of floats, not {type(value).__name__}")


def mapping_of(value: object, what: str) -> Mapping[str, object]:
    """A field that maps names to values; None is the empty one.

    Raises
    ------
    ProblemError : anything else; ``what`` names the field.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
        raise ProblemError(f"{what} must map names to values")
    return value
