"""Closed forms, evaluated exactly: a sum against what it is said to be, a sequence against its recurrence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import isfinite

import numpy as np

from bilevel_verify.audit.scalar.numeric import evaluate
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.latex.statements import EQUATES
from bilevel_verify.numbers.exact import Formula
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.names.occurrences import shift_of, whole
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems.rewrite import free_letters, rebuild, substitute

ENDS = (2, 3, 5)
CLOSE = 1e-9
"""Sides with roots differ by more than this part of them."""
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)
MOST_LETTERS = len(PRIMES)
Closed = Mapping[str, tuple[str, tree.Node]]
"""Sequence -> the letter of its index and its entry there."""


def closed_form_defects(paper: Paper) -> Iterator[Defect]:
    """Equations between a sum and a formula, and recurrences with closed forms put in."""
    equations = [(s, a, b) for s in paper.sentences for a, b in _equations(s)]
    for sentence, left, right in equations:
        yield from _summed(left, right, sentence)
    for home in paper.homes.values():
        closed = _closed(home)
        for sentence, left, right in equations if closed else ():
            yield from _recurred(left, right, sentence, closed)


def _equations(sentence: Sentence) -> Iterator[tuple[tree.Node, tree.Node]]:
    for chain in sentence.chains():
        for left, relation, right in chain.links():
            if relation.word in EQUATES:
                yield left, right


def _summed(left: tree.Node, right: tree.Node, at: Sentence) -> Iterator[Defect]:
    """A sum with a letter in its end, of letters alone, against a formula of the same letters."""
    sums = [p for p in left.walk() if isinstance(p, tree.Call) and p.function == "sum"]
    spans = [span for p in sums if (span := binder(p)) is not None]
    ends = {n for span in spans for n in free_letters(span[2])}
    letters = free_letters(left)
    if not sums or len(spans) != len(sums) or not ends or letters != free_letters(right) or len(letters) > MOST_LETTERS:
        return
    values = [_values(letters, ends, size) for size in ENDS]
    found = [(v, _number_at(left, v), _number_at(right, v)) for v in values]
    if all(a is not None and b is not None and _far(a, b) for _, a, b in found):
        point, a, b = found[0]
        shown = ", ".join(f"{n} = {x}" for n, x in sorted(point.items()))
        title = f"the sum is not what it is said to be: at {shown} it is {a}, and {b} is printed"
        yield Defect("total", at.place, title, "local slip", at.latex, (to_text(left), to_text(right)), unit=at.unit)


def _values(letters: frozenset[str] | set[str], ends: set[str], size: int) -> dict[str, Fraction]:
    others = sorted(set(letters) - ends)
    return {**{n: Fraction(size) for n in ends}, **dict(zip(others, map(Fraction, PRIMES), strict=False))}


def value_at(node: tree.Node, values: Mapping[str, Fraction]) -> Fraction | None:
    """An exact value; sums are added up."""
    try:
        written = _added_up(node, values)
        found = Formula(dict(values)).value(written)
    except (BilevelVerifyError, ArithmeticError, ValueError, KeyError):
        return None
    return found if isinstance(found, Fraction) else None


def _far(one: Fraction | float, other: Fraction | float) -> bool:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return one != other
    return abs(float(one) - float(other)) > CLOSE * (abs(float(one)) + abs(float(other)))


def _number_at(node: tree.Node, values: Mapping[str, Fraction]) -> Fraction | float | None:
    """A value: exact, or a float where roots are in it."""
    exact = value_at(node, values)
    if exact is not None:
        return exact
    try:
        found = float(evaluate(_added_up(node, values), {n: np.asarray(float(v)) for n, v in values.items()}))
    except (BilevelVerifyError, ArithmeticError, ValueError, KeyError, TypeError):
        return None
    return found if isfinite(found) else None


def _added_up(node: tree.Node, values: Mapping[str, Fraction]) -> tree.Node:
    if isinstance(node, tree.Call) and node.function == "sum" and (span := binder(node)) is not None:
        low, high = (value_at(end, values) for end in span[1:])
        if low is None or high is None or low.denominator != 1 or high.denominator != 1:
            raise ValueError("ends")
        numbers = range(int(low), int(high) + 1)
        terms = [_added_up(substitute(node.arguments[0], {span[0]: tree.signed(n)}), values) for n in numbers]
        return tree.Add(tuple(terms)) if len(terms) > 1 else terms[0] if terms else tree.Number(Fraction(0))
    return rebuild(node, lambda part: _added_up(part, values))


def _closed(home: list[Sentence]) -> dict[str, tuple[str, tree.Node]]:
    """Sequences of which a statement or proof prints one closed form: ``A_k = k (k + 1)/(4 L)``."""
    table: dict[str, list[tuple[str, tree.Node]]] = {}
    for sentence in home:
        for left, right in _equations(sentence):
            if isinstance(left, tree.Index) and len(left.indices) == 1:
                names = sorted(tree.letters(left.indices[0]))
                entries = any(isinstance(p, tree.Index | tree.Call) for p in right.walk())
                shift = shift_of(left.indices[0], names[0]) if len(names) == 1 else None
                if shift is not None and not entries and names[0] in free_letters(right):
                    back = tree.Add((tree.Letter(names[0]), tree.signed(-shift)))
                    table.setdefault(left.base, []).append((names[0], substitute(right, {names[0]: back})))
    return {base: forms[0] for base, forms in table.items() if len({to_text(f) for _, f in forms}) == 1}


def _recurred(left: tree.Node, right: tree.Node, at: Sentence, closed: Closed) -> Iterator[Defect]:
    """``A_{k+1} = A_k + a_k`` with the closed forms of a statement put in, where it holds at no index tried."""
    entries = {p for side in (left, right) for p in side.walk() if isinstance(p, tree.Index)}
    bases = {p.base for p in entries}
    if not isinstance(left, tree.Index) or len(entries) < 3 or len(bases) < 2 or not bases <= closed.keys():
        return
    sides = [_put_in(side, closed) for side in (left, right)]
    letters = free_letters(sides[0]) | free_letters(sides[1])
    indices = {n for p in entries for n in tree.letters(p.indices[0])}
    if len(indices) != 1 or any(whole(p.indices[0]) is not None for p in entries) or len(letters) > MOST_LETTERS:
        return
    found = [
        (v, value_at(sides[0], v), value_at(sides[1], v)) for v in (_values(letters, indices, size) for size in ENDS)
    ]
    if all(a is not None and b is not None and a != b for _, a, b in found):
        point, a, b = found[0]
        shown = ", ".join(f"{n} = {x}" for n, x in sorted(point.items()))
        forms = tuple(f"{base}[{name}] = {to_text(form)}" for base, (name, form) in closed.items() if base in bases)
        title = f"the closed forms {', '.join(sorted(bases))} do not fit {to_text(left)} = {to_text(right)}: at {shown}"
        title += f" the left side is {a} and the right side {b}"
        yield Defect("total", at.place, title, "local slip", at.latex, forms, f"recurrence {forms}", at.unit)


def _put_in(node: tree.Node, closed: Closed) -> tree.Node:
    if isinstance(node, tree.Index):
        name, form = closed[node.base]
        return substitute(form, {name: node.indices[0]})
    return rebuild(node, lambda part: _put_in(part, closed))
