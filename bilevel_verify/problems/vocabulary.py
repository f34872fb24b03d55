"""The words of a problem's formulas: functions and constants that a text may use, and what its names mean.

Every function has an explicit entry; nothing else can be called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import sympy
from sympy import S

from bilevel_verify import atoms
from bilevel_verify.errors import MathematicalError
from bilevel_verify.language import Node
from bilevel_verify.language.elementary import TRANSCENDENTAL

CONSTANTS = {"pi": sympy.pi, "E": sympy.E}
RANGE_FUNCTIONS = ("sum", "prod", "mean", "max", "min")
VECTOR_FUNCTIONS = ("dot", "norm", "T", "rows", "columns")
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": sympy.Lt,
    "<=": sympy.Le,
    ">": sympy.Gt,
    ">=": sympy.Ge,
    "==": sympy.Eq,
}


LARGE = 60
"""Nodes from which on it matters which side of a maximum is written twice."""


def maximum(*values: object) -> sympy.Expr:
    """``max`` as ``a + plus(b - a)``, so that the kink stays a known atom; ``max(t, 0)`` is ``plus(t)``.

    Rounds of pairs keep the tree of n values at about ``n**1.6`` nodes (a fold would have ``2**n``); of two unequal
    sides the larger one is written once, so that nested maxima stay small too.
    """
    left = sorted(values, key=lambda value: bool(value != 0))
    while len(left) > 1:
        left = [_larger(*left[i : i + 2]) if i + 1 < len(left) else left[i] for i in range(0, len(left), 2)]
    return left[0]


def _larger(a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
    if a == 0:
        return atoms.plus(b)
    if _nodes(a, LARGE) >= LARGE and _nodes(b, LARGE) < LARGE:
        a, b = b, a
    return a + atoms.plus(b - a)


def _nodes(expression: sympy.Expr, most: int) -> int:
    """Number of nodes of a tree, counted up to ``most``."""
    return sum(1 for _ in islice(sympy.preorder_traversal(expression), most))


def minimum(*values: sympy.Expr) -> sympy.Expr:
    """``min`` by the same atom."""
    return -maximum(*(-v for v in values))


def _absolute(t: sympy.Expr) -> sympy.Expr:
    return atoms.abspow(S.One, t)


def _sign(t: sympy.Symbol) -> sympy.Expr:
    return atoms.sgnpow(S.Zero, t)


def _order(k: sympy.Expr, largest: int) -> sympy.Expr:
    if not k.is_Integer or not 1 <= k <= largest:
        raise MathematicalError(f"the order of a derivative must be an integer from 1 to {largest}, not {k}")
    return k


FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    **{name: (1, getattr(sympy, name)) for name in ("sqrt", *TRANSCENDENTAL)},
    "abs": (1, _absolute),
    "sign": (1, _sign),
    "floor": (1, sympy.floor),
    "ceil": (1, sympy.ceiling),
    "ceiling": (1, sympy.ceiling),
    "plus": (1, lambda t: atoms.plus(t)),
    "softplus": (1, atoms.softplus),
    "logistic": (1, lambda t: atoms.softplus(-t)),
    "sigmoid": (1, atoms.sigmoid),
    "logcosh": (1, atoms.logcosh),
    "psi": (2, atoms.psi),
    "huber": (2, atoms.huber),
    "psi_d": (3, lambda k, nu, t: atoms.psi_d(_order(k, 4), nu, t)),
    "huber_d": (3, lambda k, delta, t: atoms.huber_d(_order(k, 2), delta, t)),
    "sigmoid_d": (2, lambda k, t: atoms.sigmoid_d(_order(k, 20), t)),
    "abspow": (2, atoms.abspow),
    "sgnpow": (2, atoms.sgnpow),
    "pluspow": (2, atoms.pluspow),
    "max": (-1, maximum),
    "min": (-1, minimum),
    "logsumexp": (-1, atoms.logsumexp),
}
"""Name -> (number of arguments, -1 for any; meaning)."""

SPECIAL = ("Piecewise", "Rational", "binomial", "factorial")
KNOWN_FUNCTIONS = frozenset((*FUNCTIONS, *SPECIAL, *RANGE_FUNCTIONS, *VECTOR_FUNCTIONS))
"""Every function that a problem may call."""

SMALL_INTEGER = 500
"""Largest argument of ``factorial`` and ``binomial``."""


@dataclass(frozen=True, slots=True)
class Definition:
    """An abbreviation of a problem file: a letter (no parameters) or a function, expanded where it is used."""

    parameters: tuple[str, ...]
    body: Node
    text: str


@dataclass(slots=True)
class Scope:
    """What names mean: scalars (symbols, knobs), vectors of symbols, data arrays."""

    scalars: Mapping[str, Any]
    vectors: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    definitions: Mapping[str, Definition] = field(default_factory=dict)

    def names(self) -> set[str]:
        """Every name that a text may use."""
        plain = {n for n, d in self.definitions.items() if not d.parameters}
        return {*self.scalars, *self.vectors, *self.data, *CONSTANTS, *plain}

    def functions(self) -> set[str]:
        """Every function that a text may call."""
        return {*KNOWN_FUNCTIONS, *(n for n, d in self.definitions.items() if d.parameters)}
