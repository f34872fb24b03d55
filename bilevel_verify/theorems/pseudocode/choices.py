"""Numbers for the letters of a pseudo-code that decide which of its paths is taken, inside their declared ranges."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import floor, prod

from bilevel_verify.errors import MathematicalError
from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.numbers.exact import Formula, compare
from bilevel_verify.theorems import algorithm as script
from bilevel_verify.theorems.card_parts import Domain, Expression
from bilevel_verify.theorems.rewrite import free_letters
from bilevel_verify.theorems.vocabulary import SCALAR_CALLS

MOST_CHOICES = 60
"""Choices of numbers that are tried; of more, as many are drawn, always the same."""
MOST_OF_ONE = 9
FARTHEST = 40
"""Largest number of the text that letters come near to: loops are followed for no more passes."""
PARTS = (Fraction(1, 2), Fraction(1, 10), Fraction(9, 10))


def numbers_to_try(
    program: script.Program, inputs: frozenset[str], ranges: Mapping[str, Domain] | None
) -> Iterator[dict[str, Fraction]]:
    """Choices of numbers for the inputs that tests, ranges and indices depend on.

    Parameters
    ----------
    ranges : where the letters live; without them they are not small: 4 and more.
    """
    whole, other = _deciding(program)
    constants = {c for c in _constants(program) if abs(c) <= FARTHEST}
    names = sorted((whole | other) & inputs)
    lists = [_candidates(name in whole, constants, name, ranges) for name in names]
    if not all(lists):
        return
    for chosen in _some(lists):
        numbers = dict(zip(names, chosen))
        if ranges is None or all(_inside(ranges[n], v, numbers) for n, v in numbers.items() if n in ranges):
            yield numbers


def _constants(program: script.Program) -> set[Fraction]:
    nodes = (part for s in program.walk() for node in script.expressions_of(s) for part in node.walk())
    return {part.value for part in nodes if isinstance(part, tree.Number)}


def far_constants(program: script.Program) -> list[Fraction]:
    """Whole numbers in tests, ranges and indices beyond which no loop is followed: what happens there is not seen."""
    deciding: list[tree.Node] = []
    for statement in program.walk():
        match statement:
            case script.For(start=start, stop=stop):
                deciding += [start, stop]
            case script.If(test=test) | script.While(test=test):
                deciding.append(test)
        targets = statement.targets if isinstance(statement, script.Assign) else ()
        for node in (*script.expressions_of(statement), *targets):
            deciding += [index for part in node.walk() if isinstance(part, tree.Index) for index in part.indices]
    numbers = {part.value for node in deciding for part in node.walk() if isinstance(part, tree.Number)}
    return sorted(n for n in numbers if n.denominator == 1 and n > FARTHEST - 3)


def _some(lists: list[list[Fraction]]) -> Iterator[tuple[Fraction, ...]]:
    if prod(map(len, lists)) <= MOST_CHOICES:
        yield from product(*lists)
        return
    first, dice = tuple(one[0] for one in lists), random.Random(0)
    single = [(*first[:i], value, *first[i + 1 :]) for i, one in enumerate(lists) for value in one]
    drawn = [tuple(dice.choice(one) for one in lists) for _ in range(MOST_CHOICES)]
    yield from list(dict.fromkeys([first, *single, *drawn]))[:MOST_CHOICES]


def _deciding(program: script.Program) -> tuple[set[str], set[str]]:
    """Letters that ranges and indices depend on, and letters that tests depend on, through assignments too."""
    whole: set[str] = set()
    other: set[str] = set()
    values: dict[str, set[str]] = {}
    for statement in program.walk():
        match statement:
            case script.For(start=start, stop=stop):
                whole |= _scalars(start) | _scalars(stop)
            case script.If(test=test) | script.While(test=test):
                other |= _scalars(test)
            case script.Assign(targets=targets, value=value):
                for target in targets:
                    if isinstance(target, tree.Letter):
                        values.setdefault(target.name, set()).update(_scalars(value))
        for node in script.expressions_of(statement):
            whole |= _indices(node)
        if isinstance(statement, script.Assign):
            whole |= {n for t in statement.targets for n in _indices(t)}
    for found in (whole, other):
        while more := {n for name in found for n in values.get(name, ())} - found:
            found |= more
    return whole, other


def _scalars(node: tree.Node) -> set[str]:
    """Letters that a number is computed from, those inside of other functions left out."""
    if isinstance(node, tree.Letter):
        return {node.name}
    if isinstance(node, tree.Index) or (isinstance(node, tree.Call) and node.function not in SCALAR_CALLS):
        return set()
    return set().union(*map(_scalars, node.children()))


def _indices(node: tree.Node) -> set[str]:
    """Letters of indices and of the ends of sums."""
    found: set[str] = set()
    for part in node.walk():
        if isinstance(part, tree.Index):
            found |= {n for index in part.indices for n in free_letters(index)}
        elif isinstance(part, tree.Call) and (span := binder(part)) is not None:
            found |= {n for end in span[1:] for n in free_letters(end)}
    return found


def _candidates(
    whole: bool, constants: set[Fraction], name: str, ranges: Mapping[str, Domain] | None
) -> list[Fraction]:
    """Numbers of one letter: the least ones of its range, and those around the numbers of the text."""
    near = {c + shift for c in constants for shift in (-1, 0, 1, 2)}
    if ranges is None:
        return sorted({Fraction(n) for n in (4, 5, 6)} | {n for n in near if n > 1 and n.denominator == 1})[
            :MOST_OF_ONE
        ]
    domain = ranges.get(name)
    low = None if domain is None else _number(domain.lower)
    high = None if domain is None else _number(domain.upper)
    whole = whole or (domain is not None and domain.kind == "integers")
    unbounded = Fraction(-1 if domain is not None or not whole else 1)  # nobody has said that there are no passes
    base = unbounded if low is None else Fraction(floor(low))
    found = {base + n for n in range(5)} | {n for n in near if domain is not None or not whole or n >= base}
    if not whole and low is not None and high is not None:
        found |= {low, high} | {low + part * (high - low) for part in PARTS}
    elif not whole:
        found |= {n + Fraction(1, 2) for n in (base, base + 1)}
    kept = [n for n in sorted(found, key=lambda n: (abs(n - base), n)) if not whole or n.denominator == 1]
    kept = [n for n in kept if domain is None or _inside(domain, n, {})]
    return kept if len(kept) <= MOST_OF_ONE else [*kept[: MOST_OF_ONE - 4], *kept[-4:]]


def _number(end: Expression | None) -> Fraction | None:
    """An end of a range that is a rational number."""
    try:
        found = None if end is None else Formula({}).value(end.tree)
    except (MathematicalError, KeyError):
        return None
    return found if isinstance(found, Fraction) else None


def _inside(domain: Domain, value: Fraction, numbers: Mapping[str, Fraction]) -> bool:
    """Whether a number is in a range, as far as the ends have a value."""
    for end, closed, signs in (
        (domain.lower, domain.lower_closed, (">=", ">")),
        (domain.upper, domain.upper_closed, ("<=", "<")),
    ):
        try:
            bound = None if end is None else Formula(numbers).value(end.tree)
        except (MathematicalError, KeyError):
            continue
        if bound is not None and compare(value, signs[0] if closed else signs[1], bound) is False:
            return False
    return True
