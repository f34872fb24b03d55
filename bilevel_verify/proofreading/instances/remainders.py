"""Bounds of remainders of Taylor's formula: one direction throughout, the power and the factor of their order.

``f(a) <= f(b) + <grad f(b), a - b> + (L/2)|a - b|**2`` and its kin; a larger factor, and powers with letters (Hoelder),
are no slip. A relation that has any other term is another statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.forms import Formless, form_of
from bilevel_verify.proofreading.source import Paper

NORMS = ("norm", "norm_2", "abs")
HALF = Fraction(1, 2)
LEAST = {(0, 1): (Fraction(2), HALF), (0, 2): (Fraction(3), Fraction(1, 6)), (1, 2): (Fraction(2), HALF)}
"""What is expanded (0 the function, 1 its gradient) and up to which order -> power and factor of the remainder."""


@dataclass(frozen=True, slots=True)
class _Term:
    """A number times factors that are none."""

    number: Fraction
    factors: tuple[tree.Node, ...]


def remainder_defects(paper: Paper) -> Iterator[Defect]:
    """Every relation that is a bound of a remainder and of nothing else."""
    for sentence in paper.sentences:
        for chain in sentence.chains():
            for left, relation, right in chain.links():
                if relation.word in ("<=", "<", ">=", ">"):
                    low, high = (left, right) if relation.word in ("<=", "<") else (right, left)
                    for what in dict.fromkeys(_wrong(low, high)):
                        title = f"a bound of a remainder: {what}"
                        yield Defect("index", sentence.place, title, "local slip", sentence.latex,
                                     (f"{to_text(low)} <= {to_text(high)}",), f"remainder {title} {sentence.unit}",
                                     sentence.unit)  # fmt: skip


def _wrong(low: tree.Node, high: tree.Node) -> Iterator[str]:
    if isinstance(low, tree.Call) and low.function in NORMS and len(low.arguments) == 1:
        yield from _judged(list(_terms(low.arguments[0], Fraction(1))), list(_terms(high, Fraction(1))), False)
        return
    every = [*_terms(high, Fraction(1)), *_terms(low, Fraction(-1))]
    sizes = [t for t in every if _size(t) is not None]
    yield from _judged([t for t in every if t not in sizes], sizes, True)


def _judged(terms: list[_Term], sizes: list[_Term], free: bool) -> Iterator[str]:
    """The expansion and the bound of what is left of it."""
    if len(sizes) != 1 or (bound := _size(sizes[0])) is None or sizes[0].number <= 0:
        return
    kinds = [_kind(term) for term in terms]
    for level in (0, 1):
        values = [t for t, k in zip(terms, kinds, strict=True) if k and k[0] == level and k[2] is None]
        slopes = [(t, k) for t, k in zip(terms, kinds, strict=True) if k and k[0] >= level and k[2] is not None]
        if len(values) != 2 or len(values) + len(slopes) != len(terms) or values[0].number != -values[1].number:
            continue
        yield from _expanded(level, values, slopes, sizes[0], bound)


Bound = tuple[tree.Node, Fraction | None]
Kind = tuple[int, str, tree.Node | None, tree.Node]
"""Order of the derivative, function, direction (None of a value) and point."""


def _kind(term: _Term) -> Kind | None:
    """``f(a)``, ``<grad f(b), v>``, ``v^T hess f(b) v``; of gradients ``grad f(a)`` and ``hess f(b) v``."""
    if len(term.factors) == 2:
        return _applied(tree.Multiply(term.factors))
    match term.factors:
        case (tree.Call(function="dot", arguments=(one, other)),):
            return _paired(one, other) or _paired(other, one)
        case (tree.Call(arguments=(*part, point)) as value,) if _is_part(part):
            order, base = _derivative(value)
            return (order, base, None, point) if order < 2 else None
        case (tree.MatrixMultiply(left=tree.MatrixMultiply(left=one, right=hessian), right=second),):
            found = _applied(tree.MatrixMultiply(hessian, second))
            return found if one == tree.Call("T", (second,)) else None
        case (tree.MatrixMultiply() as product,):
            return _applied(product)
    return None


def _paired(one: tree.Node, other: tree.Node) -> Kind | None:
    """An inner product of a gradient with a vector, or of a Hessian times a vector with that vector."""
    if isinstance(one, tree.Call) and _is_part(one.arguments[:-1]) and _derivative(one)[0] == 1:
        return 1, _derivative(one)[1], other, one.arguments[-1]
    found = _applied(one)
    return found if found is not None and found[2] == other else None


def _applied(node: tree.Node) -> Kind | None:
    """A Hessian times a vector; a draft may read it as a product of two letters."""
    match node:
        case tree.MatrixMultiply(left=tree.Call(arguments=(*_, point)) as hessian, right=vector) if _second(hessian):
            return 2, _derivative(hessian)[1], vector, point
        case tree.Multiply(factors=(vector, tree.Call(arguments=(*_, point)) as hessian)) if _second(hessian):
            return 2, _derivative(hessian)[1], vector, point
        case tree.Multiply(factors=(tree.Call(arguments=(*_, point)) as hessian, vector)) if _second(hessian):
            return 2, _derivative(hessian)[1], vector, point
    return None


def _is_part(numbers: Sequence[tree.Node]) -> bool:
    """Whether these arguments before the point only say which function of a family is meant: ``g_1``, ``f_i``."""
    return all(isinstance(one, tree.Number | tree.Letter) for one in numbers)


def _second(value: tree.Call) -> bool:
    return _is_part(value.arguments[:-1]) and _derivative(value)[0] == 2


def _derivative(value: tree.Call) -> tuple[int, str]:
    """The order of a derivative and its function, with its number in a family."""
    order, name = 0, value.function
    for one, word in ((1, "grad_"), (2, "hess_")):
        if name.startswith(word):
            order, name = one, name.removeprefix(word)
            break
    return order, " ".join((name, *map(to_text, value.arguments[:-1])))


def _expanded(
    level: int, values: list[_Term], slopes: list[tuple[_Term, Kind]], size: _Term, bound: Bound
) -> Iterator[str]:
    """One expansion: its slopes go from the second point to the first, its bound has the power of its order."""
    around = {k[3] for _, k in slopes}
    orders = sorted(k[0] for _, k in slopes)
    if len(around) != 1 or orders not in ([1], [1, 2], [2]) or (orders == [2]) != (level == 1):
        return
    base = around.pop()
    points = [(t, k) for t in values if (k := _kind(t)) is not None]
    names = {k[1] for _, k in points} | {k[1] for _, k in slopes}
    here = [t for t, k in points if k[3] == base]
    there = [(t, k) for t, k in points if k[3] != base]
    if len(here) != 1 or len(there) != 1 or len(names) != 1:
        return
    scale = -there[0][0].number
    step = tree.Add((there[0][1][3], tree.Negate(base)))
    between = f"the points are {to_text(there[0][1][3])} and {to_text(base)}"
    for term, kind in slopes:
        if kind[2] is not None and not _parallel(kind[2], step):
            yield f"the direction is {to_text(kind[2])}, and {between}"
        want = scale * (HALF if kind[0] == 2 and level == 0 else 1)
        if kind[2] is not None and _parallel(kind[2], step) == 1 and abs(term.number) != abs(want):
            yield f"the term of order {kind[0] - level} has the factor {abs(term.number / scale)}"
    vector, power = bound
    if _parallel(vector, step) == 0:
        yield f"its size is that of {to_text(vector)}, and {between}"
    least = LEAST[level, max(orders)]
    if power is not None and power != least[0] and power.denominator == 1:
        yield f"the power is {power}, and it is {least[0]} by its order"
    elif power == least[0] and size.number < least[1] * abs(scale) and len(size.factors) == 2:
        yield f"the factor is {size.number / abs(scale)}, and it is {least[1]} by its order"


def _parallel(one: tree.Node, step: tree.Node) -> int:
    """1 or -1 where a vector is the step or its negative, 0 where it is another one."""
    try:
        first, second = form_of(one).terms, form_of(step).terms
    except Formless:
        return 1
    return 1 if first == second else -1 if first == {m: -c for m, c in second.items()} else 0


def _size(term: _Term) -> tuple[tree.Node, Fraction | None] | None:
    """The vector of a norm and its power (None for a power with letters), beside positive letters."""
    norms = [f for f in term.factors if _norm(f) is not None]
    others = [f for f in term.factors if f not in norms]
    if len(norms) != 1 or len(others) > 1 or not all(isinstance(f, tree.Letter) for f in others):
        return None
    return _norm(norms[0])


def _norm(node: tree.Node) -> tuple[tree.Node, Fraction | None] | None:
    match node:
        case tree.Call(function=name, arguments=(inner,)) if name in NORMS:
            return inner, Fraction(1)
        case tree.Power(base=tree.Call(function=name, arguments=(inner,)), exponent=exponent) if name in NORMS:
            return inner, tree.rational(exponent)
    return None


def _terms(node: tree.Node, number: Fraction) -> Iterator[_Term]:
    match node:
        case tree.Add(terms=terms):
            for term in terms:
                yield from _terms(term, number)
        case tree.Negate(operand=inner):
            yield from _terms(inner, -number)
        case tree.Number(value=value):
            yield _Term(number * value, ())
        case _:
            factor, parts = _factors(node)
            if len(parts) == 1 and isinstance(parts[0], tree.Add | tree.Negate):
                yield from _terms(parts[0], number * factor)
            else:
                yield _Term(number * factor, parts)


def _factors(node: tree.Node) -> tuple[Fraction, tuple[tree.Node, ...]]:
    """A product as a number and the factors that are none."""
    match node:
        case tree.Number(value=value):
            return value, ()
        case tree.Multiply(factors=factors):
            found = [_factors(f) for f in factors]
            number = Fraction(1)
            for value, _ in found:
                number *= value
            return number, tuple(p for _, parts in found for p in parts)
        case tree.Divide(numerator=top, denominator=tree.Number(value=value)) if value:
            number, parts = _factors(top)
            return number / value, parts
    return Fraction(1), (node,)
