"""Random statements about orders of growth with logarithms, and their truth by evaluation on geometric grids.

Numbers are kept as a sign and a logarithm, so that letters go from ``exp(-10**7)`` to ``exp(10**7)`` and to within
``10**-40`` of 1, many at once. ``result <= C*gives`` is true where the least C that serves a small grid serves a large
one too, and false where it grows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.language import parse, tree

Array = NDArray[np.float64]
DOMAINS = {
    "(0, 1]": (-1, 0),
    "[1, oo)": (0, 1),
    "(0, oo)": (-1, 1),
    "[2, oo)": (np.log(2), 1),
    "(0, 1/3]": (-1, -np.log(3)),
}
"""Ranges, with the ends of the logarithm; -1 and 1 stand for what has no end."""
RELATIONS = ("a <= b", "a >= b", "a*b >= 1", "a*b <= 1", "a >= b**2")
SMALL, LARGE = 1e3, 1e7


@dataclass(frozen=True)
class Signed:
    """Numbers as sign (nan: undefined) and logarithm of the absolute value."""

    sign: Array
    size: Array

    def times(self, other: Signed) -> Signed:
        """Product."""
        sign = self.sign * other.sign
        return Signed(sign, np.where(sign == 0, -np.inf, self.size + other.size))

    def plus(self, other: Signed) -> Signed:
        """Sum."""
        first = (self.size > other.size) | (self.sign * other.sign == 0) & (self.size >= other.size)
        gap = -np.abs(np.where(self.size == other.size, 0.0, self.size - other.size))
        alike = self.sign * other.sign >= 0
        rest = np.where(alike, np.log1p(np.exp(gap)), np.log1p(-np.exp(np.minimum(gap, 0.0))))
        none = (self.sign == 0) | (other.sign == 0)
        size = np.where(first, self.size, other.size) + np.where(none, 0.0, rest)
        sign = np.where(first, self.sign, other.sign) * np.where(size == -np.inf, 0, 1) + 0 * (self.sign + other.sign)
        return Signed(sign, size)

    def to(self, power: float) -> Signed:
        """Power; of a negative number a whole one."""
        if power == 0:
            return Signed(self.sign * 0 + 1, self.size * 0)
        whole = power == int(power)
        sign = np.where(self.sign < 0, (self.sign ** int(power) if whole else np.nan), self.sign)
        return Signed(np.where((sign == 0) & (power < 0), np.nan, sign), self.size * power)

    def value(self) -> Array:
        """What orders them."""
        return np.where(self.sign == 0, 0.0, self.sign * (1e9 + self.size))

    def where(self, mine: NDArray[np.bool_], other: Signed) -> Signed:
        """These or others."""
        sign = np.where(mine, self.sign, other.sign) + 0 * (self.sign + other.sign)
        return Signed(sign, np.where(mine, self.size, other.size))


def evaluated(node: tree.Node, letters: dict[str, Signed]) -> Signed:
    """A tree of positive numbers, letters, sums, products, powers, roots, logarithms, absolute values, extremes."""
    match node:
        case tree.Number(value=value):
            one = next(iter(letters.values())).sign * 0 + 1
            return Signed(one * np.sign(float(value)), one * (np.log(abs(float(value))) if value else -np.inf))
        case tree.Letter(name=name):
            return letters[name]
        case tree.Negate(operand=inside):
            found = evaluated(inside, letters)
            return Signed(-found.sign, found.size)
        case tree.Power(base=base, exponent=exponent):
            return evaluated(base, letters).to(constant(exponent))
        case tree.Divide(numerator=top, denominator=bottom):
            return evaluated(top, letters).times(evaluated(bottom, letters).to(-1))
        case tree.Add() | tree.Multiply():
            first, *others = (evaluated(part, letters) for part in node.children())
            for other in others:
                first = first.plus(other) if isinstance(node, tree.Add) else first.times(other)
            return first
        case tree.Call(function=name, arguments=arguments):
            return _called(name, [evaluated(a, letters) for a in arguments])
    raise AssertionError(node)


def _called(name: str, inside: list[Signed]) -> Signed:
    one = inside[0]
    if name == "log":
        size = np.log(np.abs(one.size))
        return Signed(np.where(one.sign > 0, np.sign(one.size), np.nan), size)
    if name == "abs":
        return Signed(np.abs(one.sign), one.size)
    if name == "sqrt":
        return one.to(0.5)
    if name in ("max", "min"):
        for other in inside[1:]:
            one = one.where((one.value() >= other.value()) == (name == "max"), other)
        return one
    assert name in ("O", "Omega", "Theta"), name
    return one


def constant(node: tree.Node) -> float:
    """The value of an exponent."""
    match node:
        case tree.Number(value=value):
            return float(value)
        case tree.Negate(operand=inside):
            return -constant(inside)
        case tree.Divide(numerator=top, denominator=bottom):
            return constant(top) / constant(bottom)
    raise AssertionError(node)


def places(domain: str, largest: float, least: float) -> list[float]:
    """Logarithms of a letter, both ends of its range and 1 approached geometrically."""
    low, high = DOMAINS[domain]
    steps = [0.0, *np.geomspace(least, 1, 9), *np.geomspace(1, largest, 25)[1:]]
    found = {s * sign for s in steps for sign in (1, -1)}
    if low > 0:
        found = {low + abs(s) for s in found}
    if low == -1 and high not in (0, 1):
        found = {high - abs(s) for s in found}
    return sorted(s for s in found if (s >= 0 or low == -1) and (s <= 0 or high == 1))


def least_constant(result: tree.Node, gives: tree.Node, domains: tuple[str, str], where: str, large: bool) -> float:
    """The logarithm of the least C on a grid; infinite where none serves, nan where nothing is defined."""
    axes = [places(d, LARGE if large else SMALL, 1e-40 if large else 1e-3) for d in domains]
    with np.errstate(all="ignore"):
        a, b = (np.array(x).ravel() for x in np.meshgrid(*axes))
        if where:
            inside = {"a <= b": a <= b, "a >= b": a >= b, "a*b >= 1": a + b >= 0, "a*b <= 1": a + b <= 0}
            inside["a >= b**2"] = a >= 2 * b
            a, b = a[inside[where]], b[inside[where]]
        letters = {"a": Signed(np.ones_like(a), a), "b": Signed(np.ones_like(b), b)}
        one, two = evaluated(result, letters), evaluated(gives, letters)
        defined = ~np.isnan(one.sign + two.sign + one.size + two.size) | ((one.sign == 0) | (two.sign == 0))
        defined &= ~np.isnan(one.sign + two.sign)
        if not defined.any():
            return float("nan")
        ratio = one.size - two.size
        if (defined & (one.sign > 0) & (two.sign <= 0)).any() or (defined & (one.sign == 0) & (two.sign < 0)).any():
            return float("inf")
        lower = np.max(ratio[defined & (one.sign > 0) & (two.sign > 0)], initial=-np.inf)
        upper = np.min(ratio[defined & (one.sign < 0) & (two.sign < 0)], initial=np.inf)
    return float(lower) if lower <= upper + 1e-6 else float("inf")


def truth(result: str, gives: str, domains: tuple[str, str], where: str = "") -> bool | None:
    """Whether ``result`` is of the order ``gives``; None where the grids do not tell."""
    one, bound = parse(result), parse(gives)
    assert isinstance(bound, tree.Call)
    both = [(one, bound)] if bound.function == "O" else [(bound, one)]
    both += [(one, bound)] if bound.function == "Theta" else []
    answers = []
    for left, right in both:
        small, large = (least_constant(left, right, domains, where, grid) for grid in (False, True))
        if np.isnan(large):
            return None
        if large == np.inf or large - max(small, -50.0) > np.log(8):
            answers.append(False)
        else:
            answers.append(True if large - small < np.log(1.5) or large < -50 else None)
    return False if False in answers else None if None in answers else True


def statements(random: Random, number: int) -> Iterator[tuple[str, str, tuple[str, str], str]]:
    """Result, bound, ranges of ``a`` and ``b``, a relation between them or ''."""
    for _ in range(number):
        domains = random.choice(list(DOMAINS)), random.choice(list(DOMAINS))
        symbol = random.choice(("O", "O", "O", "O", "Omega", "Theta"))
        result = _expression(random, random.choice((1, 2, 2, 3)))
        bound = result if random.random() < 0.3 else _expression(random, random.choice((0, 1, 1, 2)))
        if random.random() < 0.25:
            bound = f"{_monomial(random)} + {bound}"
        if random.random() < 0.15:
            result = f"{result} - {_expression(random, 1)}"
        yield result, f"{symbol}({bound})", domains, random.choice(("", "", "", *RELATIONS))


def _monomial(random: Random) -> str:
    return random.choice(("1", "1", "a", "b", "a*b", "1/a", "1/b", "a/b", "sqrt(a)", "a**2", "a**(1/10)", "b**(-1/10)"))


def _logarithm(random: Random) -> str:
    inside = (
        "a",
        "a",
        "b",
        "1/a",
        "1/b",
        "a*b",
        "a/b",
        "a**2/b",
        "1 + a",
        "1 + 1/a",
        "2*a",
        "b/3",
        "max(a, b)",
        "a + b",
    )
    if random.random() < 0.05:
        return "log(log(a))"
    return f"log({random.choice(inside)})"


def _expression(random: Random, depth: int) -> str:
    if depth == 0:
        return random.choice((_monomial, _logarithm, _logarithm))(random)
    one = _expression(random, depth - 1)
    match random.randrange(12):
        case 0 | 1:
            return f"abs({one})"
        case 2:
            return f"({one})**{random.choice((2, 2, 3, 4))}"
        case 3:
            return f"sqrt({one})"
        case 4:
            return f"sqrt(({one})**2 + {random.choice(('1', _monomial(random)))})"
        case 5:
            return f"({one})**(-{random.choice((1, 2))})"
        case 6 | 7:
            return f"({one})*({_expression(random, depth - 1)})"
        case 8:
            return f"{random.choice(('max', 'min'))}({one}, {_expression(random, depth - 1)})"
        case 9:
            return f"min({one}, {_monomial(random)})"
        case _:
            return f"{random.choice(('', '2*'))}({one}) + {_expression(random, depth - 1)}"
