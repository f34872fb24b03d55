"""What is always true of norms and inner products that letters stand for: triangle inequality, Cauchy and Schwarz."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations, product

from bilevel_verify.language import tree

Combination = dict[tree.Node, Fraction]
MOST_NORMS = 8
MOST_TERMS = 3


def facts_about(made: Mapping[tree.Node, str], euclidean: bool = True) -> list[tree.Node]:
    """Relations between the letters of norms and inner products; ``made``: expression -> its letter.

    ``norm(u) <= norm(v) + norm(w)`` where u is a sum or difference of v and w (of up to three), and
    ``-norm(u)*norm(v) <= dot(u, v) <= norm(u)*norm(v)``. Every vector is taken as it stands: a combination with
    numbers as coefficients of parts that nothing is assumed of. An arbitrary norm has no inner product of its own.
    """
    norms = [
        (linear(node.arguments[0]), name)
        for node, name in made.items()
        if isinstance(node, tree.Call) and node.function == "norm"
    ][:MOST_NORMS]
    found: list[tree.Node] = []
    for place, (whole, name) in enumerate(norms):
        others = norms[:place] + norms[place + 1 :]
        for count in range(2, MOST_TERMS + 1):
            for parts in combinations(others, count):
                if _is_sum(whole, [part for part, _ in parts]):
                    total = tree.Add(tuple(tree.Letter(n) for _, n in parts))
                    found.append(tree.Compare((tree.Letter(name), total), ("<=",)))
    return found + (_inner_products(made, norms) if euclidean else [])


def _inner_products(made: Mapping[tree.Node, str], norms: list[tuple[Combination, str]]) -> list[tree.Node]:
    found: list[tree.Node] = []
    for node, name in made.items():
        if not isinstance(node, tree.Call) or node.function != "dot":
            continue
        sides = [linear(a) for a in node.arguments]
        letters = [next((n for form, n in norms if form in (side, _negative(side))), "") for side in sides]
        if all(letters):
            bound = tree.Multiply((tree.Letter(letters[0]), tree.Letter(letters[1])))
            found.append(tree.Compare((tree.Letter(name), bound), ("<=",)))
            found.append(tree.Compare((tree.Letter(name), tree.Negate(bound)), (">=",)))
    return found


def _is_sum(whole: Combination, parts: list[Combination]) -> bool:
    """Whether a vector is the sum of others, each with a sign."""
    for signs in product((1, -1), repeat=len(parts)):
        total: Combination = {}
        for sign, part in zip(signs, parts):
            total = _plus(total, part, Fraction(sign))
        if total == whole:
            return True
    return False


def _negative(one: Combination) -> Combination:
    return {node: -value for node, value in one.items()}


def _plus(one: Combination, other: Combination, factor: Fraction) -> Combination:
    total = dict(one)
    for node, value in other.items():
        total[node] = total.get(node, Fraction(0)) + factor * value
    return {node: value for node, value in total.items() if value}


def linear(node: tree.Node) -> Combination:
    """A vector as a combination with numbers of parts that are taken as they stand."""
    match node:
        case tree.Add(terms=terms):
            total: Combination = {}
            for term in terms:
                total = _plus(total, linear(term), Fraction(1))
            return total
        case tree.Negate(operand=inner):
            return _negative(linear(inner))
        case tree.Multiply(factors=(tree.Number(value=number), rest)):
            return _plus({}, linear(rest), number)
        case tree.Divide(numerator=top, denominator=tree.Number(value=number)) if number:
            return _plus({}, linear(top), 1 / number)
    return {node: Fraction(1)}
