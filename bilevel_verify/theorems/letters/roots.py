"""Numbers that are no plain formula: loop lengths of real limits, and roots of increasing functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from bilevel_verify.errors import MathematicalError
from bilevel_verify.theorems import exact
from bilevel_verify.theorems.card_parts import LetterSpec, Root
from bilevel_verify.theorems.exact import Formula, Scalar
from bilevel_verify.theorems.rewrite import free_letters, order_of

INTEGER_SLACK = Fraction(1, 10**9)
"""A loop limit this close (relatively) to an integer is that integer."""


def run_value(scalar: Scalar, value: float, spec: LetterSpec | None) -> tuple[float | int, str]:
    """What a solver gets for a letter: a float, or the integer that a loop really produces."""
    if spec is None:
        return value, ""
    if spec.rounding == "up":
        return loop_length(scalar, spec.name)
    if spec.domain is not None and spec.domain.kind == "integers":
        top = scalar if isinstance(scalar, Fraction) else Fraction(value)
        return round(top), ""
    return value, ""


def loop_length(scalar: Scalar, name: str = "K") -> tuple[int, str]:
    """How often ``while k < K`` runs for a real K: ceil(K), and K itself if it is an integer up to rounding."""
    middle = scalar if isinstance(scalar, Fraction) else Fraction(exact.middle(scalar))
    near = round(middle)
    if abs(middle - near) <= INTEGER_SLACK * max(1, abs(near)) and near >= 1:
        exactly = isinstance(scalar, Fraction) and scalar == near
        return near, "" if exactly else f"{name} is {near} up to rounding"
    up = math.ceil(middle)
    return up, f"{name} = {float(middle):.6g} is no integer; the loop runs {up} times"


def solve_root(name: str, root: Root, letters: Mapping[str, Scalar]) -> Scalar:
    """Enclosure of the only zero of an increasing function in its bracket, by bisection with certified signs.

    Raises
    ------
    MathematicalError : the bracket does not show a change of sign.
    """

    def sign(at: Fraction) -> int:
        local = {**letters, name: at}
        for key in order_of({k: free_letters(e.tree) for k, e in root.define.items()}):
            local[key] = Formula(local).value(root.define[key].tree)
        value = Formula(local).value(root.equation.tree)
        return 1 if exact.compare(value, ">", Fraction(0)) else -1 if exact.compare(value, "<", Fraction(0)) else 0

    formula = Formula(letters)
    low = Fraction(exact.ends(formula.value(root.between[0].tree))[0])
    high = Fraction(exact.ends(formula.value(root.between[1].tree))[1])
    if sign(low) > 0 or sign(high) < 0:
        raise MathematicalError(f"no change of sign between {float(low):.6g} and {float(high):.6g}")
    return _bisect(sign, low, high)


def _bisect(sign: Callable[[Fraction], int], low: Fraction, high: Fraction) -> Scalar:
    """Shrink until the width is below 2**-90 of the root or the signs are no longer certain."""
    if sign(low) == 0 and low == high:
        return low
    for _ in range(400):
        if high - low <= abs(high) / 2**90:
            break
        at = _simple_middle(low, high)
        found = sign(at)
        if found == 0:
            quarter = (high - low) / 4
            if sign(low + quarter) < 0 and sign(high - quarter) > 0:
                low, high = low + quarter, high - quarter
                continue
            break
        low, high = (at, high) if found < 0 else (low, at)
    return exact.hull(low, high)


def _simple_middle(low: Fraction, high: Fraction) -> Fraction:
    """A dyadic number near the middle, so that bisection does not grow denominators."""
    width = high - low
    bits = max(0, width.denominator.bit_length() - width.numerator.bit_length() + 3)
    scale = 2**bits
    return Fraction(round((low + high) / 2 * scale), scale)
