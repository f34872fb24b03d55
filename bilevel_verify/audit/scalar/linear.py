"""Exact affine forms of trees: constant and rational coefficient of every letter."""

from __future__ import annotations

from fractions import Fraction

from bilevel_verify.language import tree

Affine = tuple[Fraction, dict[str, Fraction]]


def linear_form(node: tree.Node) -> Affine | None:
    """``(constant, letter -> coefficient)`` of a tree that is affine with rational coefficients, else None."""
    match node:
        case tree.Number(value=value):
            return value, {}
        case tree.Letter(name=name):
            return None if name in ("pi", "E", "oo") else (Fraction(0), {name: Fraction(1)})
        case tree.Negate(operand=operand):
            return _scaled(linear_form(operand), Fraction(-1))
        case tree.Add(terms=terms):
            return _sum([linear_form(t) for t in terms])
        case tree.Divide(numerator=top, denominator=bottom):
            below = linear_form(bottom)
            if below is None or below[1] or not below[0]:
                return None
            return _scaled(linear_form(top), 1 / below[0])
        case tree.Multiply(factors=factors):
            return _product([linear_form(f) for f in factors])
        case tree.Power(base=base, exponent=exponent):
            foot, height = linear_form(base), linear_form(exponent)
            if foot is None or height is None or foot[1] or height[1] or height[0].denominator != 1:
                return None
            if not foot[0] and height[0] < 0:
                return None
            return (foot[0] ** int(height[0]), {}) if abs(height[0]) <= 64 else None
    return None


def _scaled(form: Affine | None, factor: Fraction) -> Affine | None:
    return None if form is None else (form[0] * factor, {k: v * factor for k, v in form[1].items() if v * factor})


def _sum(forms: list[Affine | None]) -> Affine | None:
    constant, coefficients = Fraction(0), dict[str, Fraction]()
    for form in forms:
        if form is None:
            return None
        constant += form[0]
        for name, value in form[1].items():
            coefficients[name] = coefficients.get(name, Fraction(0)) + value
    return constant, {k: v for k, v in coefficients.items() if v}


def _product(forms: list[Affine | None]) -> Affine | None:
    result: Affine = (Fraction(1), {})
    for form in forms:
        if form is None or (form[1] and result[1]):
            return None
        constant, letters = (form[0], result) if not form[1] else (result[0], form)
        scaled = _scaled(letters, constant)
        assert scaled is not None
        result = scaled
    return result
