"""Letters without bounds: waves, sigmoids and ``1/(1 + x**2)`` become letters of a box of their own.

``sin u`` and ``cos u`` lie between -1 and 1, ``tanh u`` as well, the logistic function and ``a/(a + b x**2)`` between 0
and 1. A formula of such values and of letters with bounds is bounded on the box of both; an identity leads back to
the formula itself. What depends on two values of one letter is bounded as if they were free.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import sympy

from bilevel_verify.atoms.functions import sigmoid
from bilevel_verify.certificates.numbers.formulas import data_of_formula, elementary
from bilevel_verify.certificates.numbers.relations import NoTree, Relation

WAVES = (sympy.sin, sympy.cos, sympy.tanh, sigmoid)


@dataclass(frozen=True, slots=True)
class Value:
    """A letter of the box.

    Attributes
    ----------
    tree : what it stands for, data of a certificate.
    low, high : its ends.
    lines : of a proof, that show that it lies there where it is not plain.
    """

    tree: Any
    low: int
    high: int
    lines: list[Any] = field(default_factory=list)


def in_values(relation: Relation) -> tuple[Relation, dict[str, Value]]:
    """A relation about letters with bounds and values, and the values; itself where all letters have bounds.

    Raises
    ------
    NoTree : a letter without bounds is left.
    """
    gap = elementary(relation.large - relation.small, but=(sigmoid,))
    free = {letter for letter in gap.free_symbols if None in relation.ranges[letter.name]}
    values: dict[str, Value] = {}
    if not free:
        return relation, values
    for node in sorted(gap.atoms(*WAVES), key=str):
        if node.free_symbols & free:
            gap = gap.xreplace({node: _letter(values, _wave(node))})
    for letter in sorted(free & gap.free_symbols, key=str):
        gap = _squares(gap, letter, values)
    if left := sorted(letter.name for letter in free & gap.free_symbols):
        raise NoTree(f"{', '.join(left)} without bounds")
    return replace(relation, small=sympy.S.Zero, large=gap), values


def _letter(values: dict[str, Value], value: Value) -> sympy.Symbol:
    name = f"value_{len(values)}"
    values[name] = value
    return sympy.Symbol(name, positive=value.low == 0 or None, real=True)


def _wave(node: sympy.Expr) -> Value:
    """A wave or a sigmoid with the lines for the ends that are not plain."""
    u = data_of_formula(node.args[0])
    if isinstance(node, sympy.sin | sympy.cos):
        return Value([node.func.__name__, u], -1, 1)
    if isinstance(node, sympy.tanh):
        raised = ["exp", ["*", 2, u]]
        rest = ["/", ["*", 2, raised], ["+", 1, raised]]
        return Value(["tanh", u], -1, 1, [["identity", ["<=", -1, ["tanh", u]], [[rest, [], []]]]])
    raised = ["exp", ["neg", u]]
    tree = ["/", 1, ["+", 1, raised]]
    return Value(tree, 0, 1, [["identity", ["<=", tree, 1], [[["/", raised, ["+", 1, raised]], [], []]]]])


def _squares(gap: sympy.Expr, x: sympy.Symbol, values: dict[str, Value]) -> sympy.Expr:
    """The formula with ``x**2 = (a/b)(1/w - 1)`` for ``w = a/(a + b x**2)``, a + b x**2 one of its bases."""
    a, b = next(_bases(gap, x), (sympy.S.One, sympy.S.One))
    square = data_of_formula(b * x**2)
    below = ["+", data_of_formula(a), square]
    tree = ["/", data_of_formula(a), below]
    line = ["identity", ["<=", tree, 1], [[["/", square, below], [], []]]]
    w = _letter(values, Value(tree, 0, 1, [line]))
    power = sympy.Symbol("power", positive=True)  # for x**2; what is left of x shows that it stands there alone
    found = gap.replace(lambda e: e.is_Pow and e.base == a + b * x**2, lambda e: (a / w) ** e.exp)
    found = found.replace(lambda e: e.is_Pow and e.base == x and e.exp.is_even, lambda e: power ** (e.exp / 2))
    found = sympy.expand(found.subs(power, a / b * (1 / w - 1)))
    return sympy.powdenest(found, force=True) if x not in found.free_symbols else found


def _bases(gap: sympy.Expr, x: sympy.Symbol) -> Any:
    """``a, b`` of the bases ``a + b x**2`` of powers, a and b positive numbers."""
    for node in sorted(gap.atoms(sympy.Pow), key=str):
        match = node.base.as_poly(x) if node.base.free_symbols == {x} else None
        if match is not None and match.degree() == 2 and match.nth(1) == 0:
            a, b = match.nth(0), match.nth(2)
            if a.is_positive and b.is_positive and a.is_Rational and b.is_Rational:
                yield a, b
