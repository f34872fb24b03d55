"""Letters that are numbers because a number is compared with them, whatever else they looked like.

A norm, an absolute value and an inner product are numbers. So where one stands in a side of an inequality, the letters
that stand in the other side itself, and not in a norm or an inner product, are numbers too; the author's answer wins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from bilevel_verify.drafting.forms import NORMS, Sorts
from bilevel_verify.drafting.relations import Printed
from bilevel_verify.language import tree
from bilevel_verify.latex import Notation
from bilevel_verify.latex.statements import ORDERED

TAKEN_FOR = ("vector", "matrix", "set")
ROLES = ("letter", "sequence")


def with_numbers(notation: Notation, printed: Iterable[Printed], answered: Collection[str] = ()) -> Notation:
    """The notation in which letters that are compared with numbers are numbers.

    Parameters
    ----------
    answered : displays of symbols whose kind the author has given.
    """
    sorts = Sorts(notation)
    found = set().union(*(_letters(*sides, sorts) for p in printed if p.op in ORDERED for sides in _both(p)))
    entries = tuple(
        replace(e, kind="scalar") if e.name in found and e.role in ROLES and e.display not in answered else e
        for e in notation.entries
    )
    return replace(notation, entries=entries)


def _both(printed: Printed) -> tuple[tuple[tree.Node, tree.Node], tuple[tree.Node, tree.Node]]:
    return (printed.left, printed.right), (printed.right, printed.left)


def _letters(number: tree.Node, other: tree.Node, sorts: Sorts) -> set[str]:
    """Letters of a side that the other side, a number for certain, shows to be numbers."""
    if sorts.of(number) != "scalar" or not _certain(number) or sorts.of(other) not in TAKEN_FOR:
        return set()
    return set(_standing(other, sorts))


def _certain(node: tree.Node) -> bool:
    """Whether a side, or a term of it, is a number and nothing else: norms, absolute values, inner products."""
    match node:
        case tree.Call(function=name):
            return bool(NORMS.match(name)) or name in ("abs", "dot")
        case tree.Add(terms=terms):
            return any(_certain(term) for term in terms)
        case tree.Multiply(factors=factors):
            rest = [factor for factor in factors if not isinstance(factor, tree.Number)]
            return bool(rest) and all(_certain(factor) for factor in rest)
        case tree.Divide(numerator=inner, denominator=tree.Number()) | tree.Negate(operand=inner):
            return _certain(inner)
        case tree.Power(base=base):
            return _certain(base)
    return False


def _standing(node: tree.Node, sorts: Sorts) -> Iterable[str]:
    """Letters that are no numbers yet and stand in a sum, product, quotient or power of a side."""
    match node:
        case tree.Letter(name=name) | tree.Index(base=name):
            role, kind, _ = sorts.entries.get(name, ("", "", frozenset()))
            if role in ROLES and kind in TAKEN_FOR:
                yield name
        case tree.Add() | tree.Multiply() | tree.Divide() | tree.Negate() | tree.Power():
            for part in node.children():
                yield from _standing(part, sorts)
