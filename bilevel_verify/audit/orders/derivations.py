"""Derivations: substituting the prescribed parameters into one bound gives the other, in every letter.

An order is refuted by a family of letters, powers of t, that satisfies every hypothesis (:mod:`.regimes`) and along
which the ratio of the sides is seen to grow in ball arithmetic. ``O`` is one-sided: where the left side is negative
there is nothing to exceed, so a logarithm of the left side counts only where its argument does not fall, and what is
taken away from a sum only makes it smaller.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sympy import sympify

from bilevel_verify.audit.orders.growth import ONE, Growth, compare, growth_of, same_monomial
from bilevel_verify.audit.orders.monomials import Clauses, Monomial, NearZero, NoOrder, Ray, Regime
from bilevel_verify.audit.orders.regimes import domain_of, finite, hidden, regime_of, satisfied, substitutions
from bilevel_verify.audit.orders.vanishing import Logarithms
from bilevel_verify.audit.scalar.claim import POSITIVE, Decision, ScalarClaim
from bilevel_verify.audit.scalar.deciding import decide
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.audit.scalar.signs import nonnegative
from bilevel_verify.errors import MathematicalError
from bilevel_verify.language import to_text, tree
from bilevel_verify.numbers.exact import Formula, divide
from bilevel_verify.numbers.exact import compare as compare_numbers
from bilevel_verify.numbers.rounding import ball, precision
from bilevel_verify.theorems.card import Card, Derivation
from bilevel_verify.theorems.rewrite import free_letters, rebuild, written_out
from bilevel_verify.theorems.vocabulary import NUMBERS, ORDER_FUNCTIONS

UPPER = ("O", "softO")
SAME = "the same monomial: every exponent agrees in every letter"
PLACES = ((64, 256), (1024, 4096))
"""Exponents of 2 at which t is taken to see a ratio grow."""


def decide_derivation(card: Card, entry: Derivation, narrower: Derivation | None = None) -> Decision:
    """Compare ``result`` after the substitutions with ``gives``: orders by linear programming, formulas exactly.

    Parameters
    ----------
    narrower : the same under more hypotheses. A family that refutes it satisfies the fewer ones of ``entry`` too, and
        decides where the shortest family of ``entry`` is one of which that is not certain.
    """
    complaint = bookkeeping(entry.result.tree, substitutions(entry))
    if complaint:
        return Decision("undecided", "order algebra", complaint)
    result, gives = sides(entry)
    if not any(_has_symbol(node) for node in (result, gives)):
        return _exactly(card, entry, result, gives)
    bounded = exponent_letters(card, entry)
    try:
        _of_sizes(card, entry, (free_letters(result) | free_letters(gives)) - bounded - NUMBERS)
        decision = _judge(result, gives, _logarithms(card, entry, (result, gives), bounded))
    except NoOrder as reason:
        inside = None if narrower is None else decide_derivation(card, narrower)
        if inside is not None and inside.outcome == "refuted":
            return inside
        wanting = reason.arguments if isinstance(reason, NearZero) else ()
        return Decision("undecided", "order algebra", str(reason), wanting=tuple(map(_above_3, wanting)))
    left_out = ", ".join(sorted(hidden(card, (result, gives))))
    return replace(decision, certificate=f"with {left_out} fixed: {decision.certificate}") if left_out else decision


def _above_3(argument: tree.Node) -> tree.Node:
    """The hypothesis under which the logarithm of an argument is at least 1."""
    return tree.Compare((argument, tree.Number(Fraction(3))), (">=",))


def sides(entry: Derivation) -> tuple[tree.Node, tree.Node]:
    """``result`` and ``gives`` with the substitutions written out."""
    values = substitutions(entry)
    result, gives = (written_out(side.tree, values) for side in (entry.result, entry.gives))
    return result, gives


def _has_symbol(node: tree.Node) -> bool:
    return any(_symbol(part) for part in node.walk())


def _exactly(card: Card, entry: Derivation, result: tree.Node, gives: tree.Node) -> Decision:
    """Formulas without order symbols must agree exactly, constants included, in every letter."""
    names = (free_letters(result) | free_letters(gives)) - NUMBERS
    domains = {n: domain_of(card, entry, n) or POSITIVE for n in sorted(names)}
    where = tuple(c.tree for c in (*entry.where, *entry.regime))
    return decide(ScalarClaim(result, "==", gives, domains, where))


def bookkeeping(node: tree.Node, values: dict[str, tree.Node]) -> str:
    """What an order symbol does not allow: ``O`` in a denominator, ``Omega`` in a numerator; '' if all is well."""
    for name, value in values.items():
        symbol = _symbol(value)
        if symbol not in ("O", "softO", "Omega"):
            continue
        signs = _signs_of(node, name, 1)
        if symbol in ("O", "softO") and -1 in signs:
            return f"{name} is known only as {symbol}(...) and occurs with a negative exponent"
        if symbol == "Omega" and 1 in signs:
            return f"{name} is known only as Omega(...) and occurs with a positive exponent"
    return ""


def exponent_letters(card: Card, entry: Derivation) -> frozenset[str]:
    """Letters that stand in exponents and stay in a finite range there."""
    names: set[str] = set()
    for expression in (entry.result, entry.gives, *entry.substitute.values()):
        for part in expression.tree.walk():
            if isinstance(part, tree.Power):
                names |= free_letters(part.exponent) - NUMBERS
    return frozenset(n for n in names if finite(domain_of(card, entry, n)) is not None)


def _of_sizes(card: Card, entry: Derivation, names: Iterable[str]) -> None:
    """Directions in log-space are those of positive letters.

    Raises
    ------
    NoOrder : a letter that may be negative.
    """
    domains = {n: domain_of(card, entry, n) or POSITIVE for n in {*card.letters, *entry.for_, *names}}
    for name in sorted(names):
        if not nonnegative(tree.Letter(name), domains):
            raise NoOrder(f"{name} may be negative")


def _logarithms(
    card: Card, entry: Derivation, between: tuple[tree.Node, tree.Node], bounded: frozenset[str]
) -> Logarithms:
    regime = regime_of(card, entry, between, bounded)
    names = set().union(*(free_letters(node) for node in (*between, *regime.conditions))) - NUMBERS
    return Logarithms(regime, {n: domain_of(card, entry, n) or POSITIVE for n in sorted(names)})


def _judge(result: tree.Node, gives: tree.Node, logarithms: Logarithms) -> Decision:
    regime, symbol = logarithms.regime, _symbol(gives)
    if symbol in UPPER:
        return _above(result, gives, logarithms)
    left, right = growth_of(result, regime.exponents), growth_of(gives, regime.exponents)
    if _may_fall(left, regime) or _may_fall(right, regime):
        raise NoOrder("a logarithm that may be negative")
    logarithms.counted_once(right)
    ray, back = None if symbol == "Omega" else compare(left, right, regime), compare(right, left, regime)
    if ray is not None:
        return _refuted(result, gives, ray, regime)
    if back is not None:
        return _refuted(gives, result, back, regime)
    if _multiples(result, gives, left, right, regime):
        return _proved(SAME)
    logarithms.nonnegative(left)
    logarithms.support(right, left, gives)
    if symbol != "Omega":
        logarithms.counted_once(left)
        logarithms.nonnegative(right)
        logarithms.support(left, right, result)
    elif not same_monomial(left, right):
        return _proved(_kind(compare(left, right, regime)))
    return _proved(SAME if same_monomial(left, right) else _kind(None))


def _above(result: tree.Node, gives: tree.Node, logarithms: Logarithms) -> Decision:
    """``result <= O(gives)``: one-sided, so that a left side may be negative or fall to minus infinity.

    Raises
    ------
    NoOrder : a bound that may be negative or come near 0, a difference whose parts are of one order.
    """
    regime = logarithms.regime
    positive, taken = _signed(result)
    left, right = growth_of(positive, regime.exponents), growth_of(gives, regime.exponents)
    less = None if taken is None else growth_of(taken, regime.exponents)
    if less is not None and _may_fall(less, regime):
        raise NoOrder("a logarithm that is taken away and may be negative")
    falls, whole = _may_fall(right, regime), (left, right)
    rising = tuple(clauses for m in right.monomials for clauses, _ in m.signs) if falls else ()
    if _symbol(gives) == "softO":  # it hides every power of logarithms
        left, right = left.without_logs(), right.without_logs()
    alike = not falls or [m.signs for m in left.monomials] == [m.signs for m in right.monomials]
    same = alike and less is None and same_monomial(left, right)
    larger = right if less is None else right.largest(less)
    ray = None if same else compare(left, larger, replace(regime, rising=rising), signed=True)
    if ray is not None:
        return _refuted(result, gives, ray, regime)
    if less is None and _multiples(result, gives, *whole, regime):
        return _proved(SAME)
    if falls:
        raise NoOrder("the logarithm of the bound may be negative")
    for bound in (right, *([] if less is None else [less])):
        logarithms.nonnegative(bound)
    logarithms.counted_once(whole[0])
    logarithms.support(*whole, positive)
    if same:
        return _proved(SAME)
    if less is None:
        return _proved(_kind(compare(right, left, regime)))
    if compare(left, right, regime, signed=True) is None:
        return _proved(_kind(None))
    raise NoOrder("a difference whose parts are of one order")


def _multiples(result: tree.Node, gives: tree.Node, left: Growth, right: Growth, regime: Regime) -> bool:
    """Whether two products of powers and logarithms differ by a positive factor alone, whatever their sign."""
    one, other = left.monomial, right.monomial
    if one is None or other is None or not all(_product(node, regime) for node in (result, gives)):
        return False
    return bool(same_monomial(left, right)) and one.taken == other.taken


def _product(node: tree.Node, regime: Regime) -> bool:
    match node:
        case tree.Number() | tree.Call(function="log"):
            return True
        case tree.Letter(name=name):
            return name not in regime.exponents
        case tree.Power(base=base):
            return _product(base, regime)
        case tree.Multiply() | tree.Divide() | tree.Call(function="O" | "Theta" | "Omega" | "sqrt"):
            return all(_product(part, regime) for part in node.children())
    return False


def _proved(certificate: str) -> Decision:
    return Decision("proved", "order algebra", certificate)


def _kind(ray: Ray | None) -> str:
    kind = "implied but weaker" if ray is not None else "the same order"
    return f"{kind}: no direction of the regime separates the two"


def _refuted(faster: tree.Node, slower: tree.Node, ray: Ray, regime: Regime) -> Decision:
    """The ray, if its family satisfies every hypothesis and its ratio is seen to grow.

    Raises
    ------
    NoOrder : one of the two is not certain.
    """
    for condition in regime.unread:
        if not satisfied(condition, ray):
            raise NoOrder(f"{ray}; whether it satisfies {to_text(condition)} is not certain")
    if not grows(faster, slower, ray):
        raise NoOrder(f"{ray}; not confirmed in numbers")
    return Decision("refuted", "order algebra", str(ray), ray=ray)


def grows(faster: tree.Node, slower: tree.Node, ray: Ray) -> bool:
    """Whether the ratio of two expressions, both positive, grows along a family as fast as its ray says, in balls."""
    nodes = _without_symbols(faster), _without_symbols(slower)
    for first, second in PLACES:
        with precision(4 * second):
            try:
                one, two = (_ratio(nodes, ray, exponent) for exponent in (first, second))
            except (MathematicalError, KeyError, OverflowError):
                continue
            if one is None or two is None:
                continue
            steps = ball(Fraction(second - first)) * ball(ray.rate) if ray.rate else ball(2 * ray.logs)
            if compare_numbers(divide(two, one), ">", ball(Fraction(2)) ** (steps / 2)) is True:
                return True
    return False


def _ratio(nodes: tuple[tree.Node, tree.Node], ray: Ray, exponent: int) -> Any:
    """The quotient at ``t = 2**exponent``; None unless both sides are certainly positive."""
    letters = {
        name: ball(Fraction(2)) ** ball(Fraction(ray.start.get(name, 0)) + exponent * ray.direction.get(name, 0))
        for name in sorted(set().union(*(free_letters(node) for node in nodes)) - NUMBERS - ray.at.keys())
    }
    formula = Formula({**letters, **ray.at})
    top, bottom = (formula.value(node) for node in nodes)
    if not all(compare_numbers(value, ">", Fraction(0)) for value in (top, bottom)):
        return None
    return divide(top, bottom)


def _without_symbols(node: tree.Node) -> tree.Node:
    return rebuild(node.arguments[0] if _symbol(node) else node, _without_symbols)  # type: ignore[attr-defined]


def _signed(node: tree.Node) -> tuple[tree.Node, tree.Node | None]:
    """The terms that are added and those that are taken away (None if there are none) of a sum."""
    terms = node.terms if isinstance(node, tree.Add) else (node,)
    added = tuple(t for t in terms if not isinstance(t, tree.Negate))
    taken = tuple(t.operand for t in terms if isinstance(t, tree.Negate))
    if not taken or not added:
        return node, None
    return (x[0] if len(x) == 1 else tree.Add(x) for x in (added, taken))  # type: ignore[return-value]


def _may_fall(growth: Growth, regime: Regime) -> bool:
    """Whether what some logarithm is taken of falls to 0 along a direction of the regime."""
    written = {clauses for m in growth.monomials for clauses, _ in m.signs}
    return any(compare(ONE, _of_clauses(clauses), regime) is not None for clauses in sorted(written))


def _of_clauses(clauses: Clauses) -> Growth:
    return Growth(tuple(tuple(Monomial({n: sympify(e) for n, e in form}) for form in clause) for clause in clauses))


def _symbol(node: tree.Node) -> str:
    return node.function if isinstance(node, tree.Call) and node.function in ORDER_FUNCTIONS else ""


def _signs_of(node: tree.Node, name: str, sign: int) -> set[int]:
    """Signs of the exponents with which a letter occurs."""
    match node:
        case tree.Letter(name=found):
            return {sign} if found == name else set()
        case tree.Divide(numerator=top, denominator=bottom):
            return _signs_of(top, name, sign) | _signs_of(bottom, name, -sign)
        case tree.Power(base=base, exponent=exponent):
            form = linear_form(exponent)
            negative = form is not None and form[0] <= 0 and all(c <= 0 for c in form[1].values())
            return _signs_of(base, name, -sign if negative else sign)
    return set().union(*(_signs_of(child, name, sign) for child in node.children()), set())
