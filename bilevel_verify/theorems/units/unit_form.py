"""The form of a unit as a card writes it: a product of powers of base units; exponents are formulas of letters."""

from __future__ import annotations

from collections.abc import Collection

from bilevel_verify.language import tree


def unit_fault(node: tree.Node, bases: Collection[str]) -> str:
    """What keeps an expression from being a unit (``1``, ``F/X**2``, ``G/X**(3+nu_g)``); '' if nothing does."""
    match node:
        case tree.Number(value=value) if value == 1:
            return ""
        case tree.Letter(name=name):
            return "" if name in bases else f"{name!r} is no base unit; known are {', '.join(sorted(bases))}"
        case tree.Multiply() | tree.Divide():
            return next((fault for part in node.children() if (fault := unit_fault(part, bases))), "")
        case tree.Power(base=base, exponent=exponent):
            return unit_fault(base, bases) or exponent_fault(exponent)
    return "a unit is a product of powers of base units"


def exponent_fault(node: tree.Node) -> str:
    """What keeps an expression from being the exponent of a unit; '' if nothing does."""
    match node:
        case tree.Number() | tree.Letter():
            return ""
        case tree.Add() | tree.Multiply() | tree.Divide() | tree.Negate() | tree.Power():
            return next((fault for part in node.children() if (fault := exponent_fault(part))), "")
    return "an exponent that is not a formula of letters"
