"""Products of powers, exactly: what the logarithm of one is, whatever way it is written."""

from __future__ import annotations

from collections.abc import Container, Mapping
from fractions import Fraction
from math import gcd, lcm

from bilevel_verify.language import tree
from bilevel_verify.theorems.rewrite import rebuild
from bilevel_verify.theorems.vocabulary import NUMBERS

Product = tuple[Fraction, dict[str, Fraction]]
"""A positive factor, and the exponents of the letters."""


def product_of(node: tree.Node, bounded: Container[str] = ()) -> Product | None:
    """A product of powers of positive letters with its factor; None for anything else.

    Parameters
    ----------
    bounded : letters that stand in exponents, and are no sizes.
    """
    match node:
        case tree.Number(value=value) if value > 0:
            return value, {}
        case tree.Letter(name=name) if name not in NUMBERS and name not in bounded:
            return Fraction(1), {name: Fraction(1)}
        case tree.Multiply(factors=factors):
            return _multiplied([product_of(f, bounded) for f in factors])
        case tree.Divide(numerator=top, denominator=bottom):
            return _multiplied([product_of(top, bounded), _raised(product_of(bottom, bounded), Fraction(-1))])
        case tree.Power(base=base, exponent=exponent):
            power = tree.rational(exponent)
            return None if power is None else _raised(product_of(base, bounded), power)
        case tree.Call(function="sqrt", arguments=(inside,)):
            return _raised(product_of(inside, bounded), Fraction(1, 2))
    return None


def same_logarithm(argument: tree.Node, bounded: Container[str] = ()) -> tree.Node:
    """One argument for all products of powers whose logarithms are the same up to a positive factor."""
    found = product_of(argument, bounded)
    if found is None:
        return argument
    factor, powers = found
    if factor == 1 and powers:
        whole = lcm(*(e.denominator for e in powers.values()))
        size = Fraction(gcd(*(int(e * whole) for e in powers.values())), whole)
        powers = {name: e / size for name, e in powers.items()}
    return _written(factor, powers)


def with_logarithms_apart(node: tree.Node, bounded: Container[str] = ()) -> tree.Node:
    """The same with the logarithms of products written as sums, ``log(a**2/b)`` as ``2*log(a) + log(1/b)``."""
    if isinstance(node, tree.Call) and node.function == "log":
        found = product_of(node.arguments[0], bounded)
        if found is not None and len(found[1]) > 1 and found[0] == 1:
            return tree.Add(tuple(_term(name, e) for name, e in sorted(found[1].items())))
    return rebuild(node, lambda part: with_logarithms_apart(part, bounded))


def _term(name: str, exponent: Fraction) -> tree.Node:
    inside = _written(Fraction(1), {name: Fraction(1 if exponent > 0 else -1)})
    return tree.Multiply((tree.Number(abs(exponent)), tree.Call("log", (inside,))))


def _written(factor: Fraction, powers: Mapping[str, Fraction]) -> tree.Node:
    top = [_power(n, e) for n, e in sorted(powers.items()) if e > 0]
    bottom = [_power(n, -e) for n, e in sorted(powers.items()) if e < 0]
    if factor.numerator != 1 or not top:
        top.insert(0, tree.Number(Fraction(factor.numerator)))
    if factor.denominator != 1:
        bottom.insert(0, tree.Number(Fraction(factor.denominator)))
    above = top[0] if len(top) == 1 else tree.Multiply(tuple(top))
    if not bottom:
        return above
    return tree.Divide(above, bottom[0] if len(bottom) == 1 else tree.Multiply(tuple(bottom)))


def _power(name: str, exponent: Fraction) -> tree.Node:
    letter = tree.Letter(name)
    return letter if exponent == 1 else tree.Power(letter, tree.Number(exponent))


def _multiplied(parts: list[Product | None]) -> Product | None:
    factor, powers = Fraction(1), dict[str, Fraction]()
    for part in parts:
        if part is None:
            return None
        factor *= part[0]
        for name, exponent in part[1].items():
            powers[name] = powers.get(name, Fraction(0)) + exponent
    return factor, {name: e for name, e in powers.items() if e}


def _raised(found: Product | None, power: Fraction) -> Product | None:
    if found is None or (found[0] != 1 and power.denominator != 1):
        return None
    factor = Fraction(1) if found[0] == 1 else found[0] ** int(power)
    return factor, {name: e * power for name, e in found[1].items() if power}
