"""Whether two neighbouring lines of pseudo-code may change places: neither reads or writes what the other writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from bilevel_verify.language import tree
from bilevel_verify.language.text import to_text
from bilevel_verify.theorems import algorithm as script

Use = tuple[str, tuple[tree.Node, ...]]
"""A letter (no indices), or an entry of a sequence."""


def independent(first: script.Statement, second: script.Statement) -> bool:
    """The two in either order do the same: what one writes, the other does not touch, and neither ends anything.

    Entries of one sequence are different if the difference of two of their indices is a number other than 0. Questions
    change nothing, so that their order does not matter; perturbations are used in order, so that theirs does.
    """
    both = [*_parts(first), *_parts(second)]
    if any(isinstance(part, script.Break | script.Return) for part in both):
        return False
    if all(_draws(statement) for statement in (first, second)):
        return False
    pairs = ((first, second), (second, first))
    return not any(_same(w, u) for a, b in pairs for w in _written(a) for u in (*_read(b), *_written(b)))


def _parts(statement: script.Statement) -> Iterator[script.Statement]:
    return iter(script.Program((statement,), "").walk())


def _draws(statement: script.Statement) -> bool:
    expressions = (e for part in _parts(statement) for e in script.expressions_of(part))
    return any("uniform_ball" in tree.functions(expression) for expression in expressions)


def _written(statement: script.Statement) -> Iterator[Use]:
    for part in _parts(statement):
        if isinstance(part, script.Assign):
            yield from (_use(target) for target in part.targets)
        if isinstance(part, script.For):
            yield part.index, ()


def _read(statement: script.Statement) -> Iterator[Use]:
    for part in _parts(statement):
        for expression in script.expressions_of(part):
            yield from (_use(n) for n in expression.walk() if isinstance(n, tree.Letter | tree.Index))


def _use(node: tree.Letter | tree.Index) -> Use:
    return (node.base, node.indices) if isinstance(node, tree.Index) else (node.name, ())


def _same(one: Use, other: Use) -> bool:
    """Whether the two may be one entry."""
    return one[0] == other[0] and not any(_apart(a, b) for a, b in zip(one[1], other[1]))


def _apart(one: tree.Node, other: tree.Node) -> bool:
    """Whether two indices differ by a number other than 0, whatever the letters are."""
    (terms, number), (others, constant) = _sum(one), _sum(other)
    return terms == others and number != constant


def _sum(node: tree.Node, sign: int = 1) -> tuple[Counter[str], Fraction]:
    """Terms with their multiplicities, and the number beside them."""
    if isinstance(node, tree.Number):
        return Counter(), sign * node.value
    if isinstance(node, tree.Negate):
        return _sum(node.operand, -sign)
    if not isinstance(node, tree.Add):
        return Counter({to_text(node): sign}), Fraction(0)
    terms: Counter[str] = Counter()
    number = Fraction(0)
    for term in node.terms:
        found, constant = _sum(term, sign)
        terms.update(found)
        number += constant
    return Counter({text: count for text, count in terms.items() if count}), number
