"""The regime of a derivation: in which directions its letters may go, and from where, under every hypothesis.

Everything that the card says of the letters counts: the regime of the entry, its ``where``, the ``where`` of its
settings and of its premises, and the ranges of the letters, each with the substitutions written out. A relation
between products of powers (against a sum or a maximum of them) becomes a row in log-space, exactly; what cannot be
written so is kept as a tree, since a family that is to refute has to satisfy it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import ceil

from bilevel_verify.audit.orders.growth import Growth, Spans, growth_of
from bilevel_verify.audit.orders.monomials import Bound, NoOrder, Ray, Regime
from bilevel_verify.audit.scalar.claim import end_conditions
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.errors import MathematicalError
from bilevel_verify.language import tree
from bilevel_verify.numbers.exact import Formula
from bilevel_verify.theorems.card import Card, Derivation, Statement
from bilevel_verify.theorems.card_parts import Domain, Expression
from bilevel_verify.theorems.prescribed import included
from bilevel_verify.theorems.rewrite import free_letters, rebuild, written_out
from bilevel_verify.theorems.vocabulary import NUMBERS, ORDER_FUNCTIONS

Values = Mapping[str, tree.Node]
Size = tuple[Fraction, dict[str, Fraction]]
"""A product of powers: logarithm to base 2 of its factor (bounded from one side), exponents of its letters."""
STEPS = (Fraction(1), Fraction(0), Fraction(1, 2), Fraction(1, 4), Fraction(3, 4))


def regime_of(card: Card, entry: Derivation, sides: Iterable[tree.Node], bounded: frozenset[str]) -> Regime:
    """Directions and starting points that the hypotheses allow.

    Parameters
    ----------
    sides : result and gives, written out.
    bounded : letters that stay in a finite range because they stand in exponents.
    """
    sides = tuple(sides)
    conditions = _conditions(card, entry, sides)
    names = set().union(*(free_letters(node) for node in (*sides, *conditions))) - NUMBERS - bounded
    bounds: list[Bound] = []
    unread: list[tree.Node] = []
    tied: list[tree.Node] = []
    for condition in conditions:
        if free_letters(condition) - NUMBERS <= bounded:
            tied.append(condition)
            continue
        try:
            bounds += _bounds(condition, bounded)
        except NoOrder:
            unread.append(condition)
    spans = {n: span for n in sorted(bounded) if (span := finite(domain_of(card, entry, n))) is not None}
    whole = frozenset(n for n in bounded if getattr(domain_of(card, entry, n), "kind", "") == "integers")
    return Regime(
        tuple(sorted(names)),
        tuple(bound.row for bound in bounds if bound.row),
        spans,
        bounds=tuple(bounds),
        unread=tuple(unread),
        grid=_grid(spans, tied, whole),
        fixed=hidden(card, sides),
        conditions=conditions,
    )


def hidden(card: Card, sides: tuple[tree.Node, ...]) -> frozenset[str]:
    """Letters that the orders of the paper hide (``[hides]``) and that a sentence leaves out: they stay fixed there."""
    if card.hides is None:
        return frozenset()
    return frozenset(card.hides.letters) & free_letters(sides[0]) - free_letters(sides[-1])


def domain_of(card: Card, entry: Derivation, name: str) -> Domain | None:
    """The range of a letter in an entry; None where none is declared."""
    if name in entry.for_:
        return entry.for_[name]
    spec = card.letters.get(name)
    return None if spec is None else spec.domain


def finite(domain: Domain | None) -> tuple[Fraction, Fraction] | None:
    """The ends of a range between two numbers; None for every other range."""
    if domain is None or domain.lower is None or domain.upper is None:
        return None
    low, high = (linear_form(e.tree) for e in (domain.lower, domain.upper) if isinstance(e, Expression))
    if low is None or high is None or low[1] or high[1]:
        return None
    return low[0], high[0]


def substitutions(entry: Derivation) -> dict[str, tree.Node]:
    """Local definitions and substitutions of an entry."""
    return {name: value.tree for name, value in {**entry.define, **entry.substitute}.items()}


def _conditions(card: Card, entry: Derivation, sides: tuple[tree.Node, ...]) -> tuple[tree.Node, ...]:
    """Every hypothesis about the letters, written out, without repetitions."""
    values = substitutions(entry)
    stated = [_plain(part) for e in _stated(card, entry) for part in _parts(written_out(e.tree, values))]
    ours = card.letters.keys() | entry.for_.keys()
    found = [c for c in dict.fromkeys(stated) if free_letters(c) - NUMBERS <= ours]
    asked: set[str] = set()
    waiting = set().union(*(free_letters(node) for node in (*sides, *found)), values) - NUMBERS
    while waiting:
        name = min(waiting)
        waiting.discard(name)
        asked.add(name)
        domain = domain_of(card, entry, name)
        if domain is None or domain.kind not in ("interval", "integers"):
            continue
        for end in end_conditions(name, domain):
            out = _plain(written_out(end, values))
            if out not in found:
                found.append(out)
            waiting |= free_letters(out) - NUMBERS - asked
    return tuple(found)


def _stated(card: Card, entry: Derivation) -> Iterator[Expression]:
    """Regime, ``where`` and settings of the entry, then those of its premises."""
    yield from entry.regime or card.regimes.get("default", ())
    for source in (entry, *(card.entries[path.split("/")[0]] for path in entry.premise)):
        yield from source.where
        for name in included(card, source.settings):
            yield from card.settings[name].where
    for path in entry.premise:
        name, _, claim = path.partition("/")
        source = card.entries[name]
        if claim and isinstance(source, Statement):
            yield from source.claim(claim).where


def _parts(node: tree.Node) -> Iterator[tree.Node]:
    """Relations with two sides, taken out of chains and conjunctions."""
    if isinstance(node, tree.Logical) and node.operator == "and":
        for part in node.operands:
            yield from _parts(part)
    elif isinstance(node, tree.Compare):
        yield from node.pairs()
    else:
        yield node


def _plain(node: tree.Node) -> tree.Node:
    """Order symbols left out: a family may take the letter of an order as large as the order."""
    if isinstance(node, tree.Call) and node.function in ORDER_FUNCTIONS:
        return _plain(node.arguments[0])
    return rebuild(node, _plain)


def _bounds(condition: tree.Node, bounded: frozenset[str]) -> list[Bound]:
    """Rows of one relation.

    Raises
    ------
    NoOrder : it is not between a product of powers and a maximum or a sum of such.
    """
    if not isinstance(condition, tree.Compare):
        raise NoOrder("not a relation")
    (one, other), (op,) = condition.operands, condition.operators
    if op == "==":
        return [*_at_least(one, other, False, bounded), *_at_least(other, one, False, bounded)]
    big, small = (one, other) if op in (">=", ">") else (other, one)
    return _at_least(big, small, op in ("<", ">"), bounded)


def _at_least(big: tree.Node, small: tree.Node, strict: bool, bounded: frozenset[str]) -> list[Bound]:
    if _zero(small):
        _sizes(big, bounded, False)  # a positive expression, or no order at all
        return []
    if isinstance(big, tree.Call) and big.function == "log" and isinstance(small, tree.Number):
        doublings = max(0, ceil(small.value * Fraction(3, 2)))  # exp(c) <= 2**(3c/2)
        return _at_least(big.arguments[0], tree.Number(Fraction(2) ** doublings), strict, bounded)
    above, below = _sizes(big, bounded, False), _sizes(small, bounded, True)
    choices = [[_bound(one, other, strict) for other in below] for one in above]
    if any(all(not b.row and (b.size > 0 or (b.size == 0 and not strict)) for b in choice) for choice in choices):
        return []  # it holds everywhere
    if len(choices) != 1:
        raise NoOrder("one of several terms may be the large one")
    return choices[0]


def _bound(big: Size, small: Size, strict: bool) -> Bound:
    row = {n: big[1].get(n, Fraction(0)) - small[1].get(n, Fraction(0)) for n in big[1].keys() | small[1].keys()}
    return Bound({n: v for n, v in row.items() if v}, big[0] - small[0], strict)


def _zero(node: tree.Node) -> bool:
    form = linear_form(node)
    return form is not None and not form[1] and not form[0]


def _sizes(node: tree.Node, bounded: frozenset[str], upper: bool) -> list[Size]:
    """Products of powers whose maximum is above (``upper``) or below a positive expression, and of its order.

    Raises
    ------
    NoOrder : the order is not that of a maximum of products of powers.
    """
    match node:
        case tree.Number(value=value) if value > 0:
            return [(_log2(value, upper), {})]
        case tree.Letter(name=name) if name not in bounded and name != "oo":
            return [(Fraction(2 if upper else 1), {})] if name in NUMBERS else [(Fraction(0), {name: Fraction(1)})]
        case tree.Add(terms=terms):
            room = _log2(Fraction(len(terms)), True) if upper else Fraction(0)
            return [(size + room, powers) for term in terms for size, powers in _sizes(term, bounded, upper)]
        case tree.Call(function="max", arguments=arguments):
            return [found for argument in arguments for found in _sizes(argument, bounded, upper)]
        case tree.Multiply(factors=factors):
            parts = [_sizes(f, bounded, upper) for f in factors]
            return [_multiplied(choice) for choice in product(*parts)]
        case tree.Divide(numerator=top, denominator=bottom):
            below = _raised(_single(_sizes(bottom, bounded, not upper)), Fraction(-1))
            return [_multiplied((found, below)) for found in _sizes(top, bounded, upper)]
        case tree.Call(function="sqrt", arguments=(inside,)):
            return [_raised(found, Fraction(1, 2)) for found in _sizes(inside, bounded, upper)]
        case tree.Power(base=base, exponent=exponent):
            form = linear_form(exponent)
            if form is not None and not form[1] and form[0] >= 0:
                return [_raised(found, form[0]) for found in _sizes(base, bounded, upper)]
            if form is not None and not form[1]:
                return [_raised(_single(_sizes(base, bounded, not upper)), form[0])]
    raise NoOrder("not a maximum of products of powers")


def _single(found: list[Size]) -> Size:
    if len(found) != 1:
        raise NoOrder("a sum in a denominator")
    return found[0]


def _multiplied(parts: Iterable[Size]) -> Size:
    size, powers = Fraction(0), dict[str, Fraction]()
    for factor, exponents in parts:
        size += factor
        for name, exponent in exponents.items():
            powers[name] = powers.get(name, Fraction(0)) + exponent
    return size, powers


def _raised(found: Size, exponent: Fraction) -> Size:
    return found[0] * exponent, {name: e * exponent for name, e in found[1].items()}


def _log2(value: Fraction, up: bool) -> Fraction:
    """A whole number above or below the logarithm to base 2, exact for powers of 2."""
    low = value.numerator.bit_length() - value.denominator.bit_length()  # 2**(low - 1) < value < 2**(low + 1)
    if Fraction(2) ** low > value:
        low -= 1
    return Fraction(low + (up and Fraction(2) ** low != value))


def _grid(
    spans: Mapping[str, tuple[Fraction, Fraction]], tied: list[tree.Node], whole: frozenset[str]
) -> tuple[Mapping[str, Fraction], ...]:
    """Values of the exponent letters to look at: those of a grid that every hypothesis about them admits."""
    axes = []
    for name, (low, high) in spans.items():
        points = [low + (high - low) * step for step in STEPS]
        axes.append([p for p in dict.fromkeys(points) if name not in whole or p.denominator == 1])
    found = []
    for choice in product(*axes):
        values = dict(zip(spans, choice))
        if all(_admits(condition, values) for condition in tied):
            found.append(values)
    return tuple(found)


def _admits(condition: tree.Node, values: Mapping[str, Fraction]) -> bool:
    try:
        return Formula(values).answer(condition) is True
    except (MathematicalError, KeyError):
        return False


def satisfied(condition: tree.Node, ray: Ray) -> bool:
    """Whether a relation certainly holds along a family for all large t.

    Either nothing in it moves and it holds where the family sets out, or its large side outgrows the other by a power.
    """
    if not any(ray.direction.get(name) for name in free_letters(condition)):
        start = {name: Fraction(2) ** ray.start.get(name, 0) for name in free_letters(condition) - NUMBERS}
        return _admits(condition, {**start, **ray.at})
    if not isinstance(condition, tree.Compare) or len(condition.operators) > 1 or condition.operators == ("==",):
        return False
    (one, other), (op,) = condition.operands, condition.operators
    big, small = (one, other) if op in (">=", ">") else (other, one)
    try:
        if _zero(small):
            return not _has_logarithm(growth_of(big, _spans(ray.at)))  # every other thing of an order is positive
        return _speed(big, ray.direction, ray.at) > _speed(small, ray.direction, ray.at)
    except NoOrder:
        return False


def _speed(node: tree.Node, direction: Mapping[str, Fraction], at: Mapping[str, Fraction]) -> Fraction:
    """The exponent of t in a positive expression along a direction."""
    growth = growth_of(node, _spans(at))
    if _has_logarithm(growth):
        raise NoOrder("a logarithm")
    speeds = [
        min(sum((e * direction.get(n, Fraction(0)) for n, e in m.at(at)[0].items()), Fraction(0)) for m in clause)
        for clause in growth.clauses
    ]
    return max(speeds)


def _has_logarithm(growth: Growth) -> bool:
    return any(m.logs or m.taken for m in growth.monomials)


def _spans(at: Mapping[str, Fraction]) -> Spans:
    return {name: (value, value) for name, value in at.items()}
