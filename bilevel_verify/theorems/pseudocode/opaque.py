"""Values of a pseudo-code that are not followed, and what an expression shows of its value without them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import TypeAlias

from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.numbers.exact import Scalar
from bilevel_verify.theorems.vocabulary import SCALAR_CALLS


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value that is not followed; ``made_of`` are the opaque values that it was computed from, and they from."""

    number: int
    made_of: frozenset[int] = field(default=frozenset(), compare=False)


UNDEFINED = Opaque(-1)
Value: TypeAlias = "Scalar | Opaque"


def least(node: tree.Node, numbers: Mapping[str, object]) -> Fraction | None:
    """What an expression is certainly not below, from norms, squares and numbers in it; None where nothing is seen."""
    match node:
        case tree.Number(value=value):
            return value
        case tree.Letter(name=name):
            known = numbers.get(name)
            return known if isinstance(known, Fraction) else None
        case tree.Call(function="norm" | "abs" | "sqrt"):
            return Fraction(0)
        case tree.Call(function="max", arguments=parts):
            return max((low for p in parts if (low := least(p, numbers)) is not None), default=None)
        case tree.Power(exponent=tree.Number(value=value)) if value.denominator == 1 and value % 2 == 0:
            return Fraction(0)
        case tree.Add(terms=parts) | tree.Multiply(factors=parts):
            lows = [least(p, numbers) for p in parts]
            if isinstance(node, tree.Add):
                return None if None in lows else sum((low for low in lows if low is not None), Fraction(0))
            return Fraction(0) if all(low is not None and low >= 0 for low in lows) else None
    return None


def calls_own(node: tree.Node) -> bool:
    """Whether a function is called that is not one of numbers."""
    return any(isinstance(p, tree.Call) and p.function not in SCALAR_CALLS for p in node.walk())


@cache
def leaves(node: tree.Node, bound: frozenset[str] = frozenset()) -> list[tree.Letter | tree.Index]:
    """The letters and entries of an expression, each once; those under the index of a sum are no values."""
    found: dict[tree.Letter | tree.Index, None] = {}
    match node:
        case tree.Letter(name=name):
            return [] if name in bound else [node]
        case tree.Index():
            inside = [leaf for index in node.indices for leaf in leaves(index, bound)]
            free = not any(isinstance(p, tree.Letter) and p.name in bound for i in node.indices for p in i.walk())
            return [node] if free else inside
        case tree.Call() if (span := binder(node)) is not None:
            bound |= {span[0]}
    for part in node.children():
        found |= dict.fromkeys(leaves(part, bound))
    return list(found)
