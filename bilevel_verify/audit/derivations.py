"""Derivations: substituting the prescribed parameters into one bound gives the other, in every letter."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from bilevel_verify.audit.growth import Growth, compare, growth_of, same_monomial
from bilevel_verify.audit.monomials import NoOrder, Regime
from bilevel_verify.audit.scalar.claim import POSITIVE, Decision, ScalarClaim
from bilevel_verify.audit.scalar.deciding import decide
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.language import tree
from bilevel_verify.theorems.card import Card, Derivation, Domain, Expression
from bilevel_verify.theorems.rewrite import free_letters, substitute
from bilevel_verify.theorems.vocabulary import NUMBERS, ORDER_FUNCTIONS


def decide_derivation(card: Card, entry: Derivation) -> Decision:
    """Compare ``result`` after the substitutions with ``gives``: orders by linear programming, formulas exactly."""
    values = {name: value.tree for name, value in {**entry.define, **entry.substitute}.items()}
    complaint = bookkeeping(entry.result.tree, values)
    if complaint:
        return Decision("undecided", "order algebra", complaint)
    result, gives = sides(entry)
    if not any(_has_symbol(node) for node in (result, gives)):
        return _exactly(card, entry, result, gives)
    bounded = exponent_letters(card, entry)
    try:
        left, right = growth_of(result, bounded), growth_of(gives, bounded)
        regime = regime_of(card, entry, (result, gives), bounded)
        return _judge(left, right, regime, _symbol(gives))
    except NoOrder as reason:
        return Decision("undecided", "order algebra", str(reason))


def sides(entry: Derivation) -> tuple[tree.Node, tree.Node]:
    """``result`` and ``gives`` with the substitutions written out."""
    values = {name: value.tree for name, value in {**entry.define, **entry.substitute}.items()}
    result, gives = (_written_out(side.tree, values) for side in (entry.result, entry.gives))
    return result, gives


def _has_symbol(node: tree.Node) -> bool:
    return any(_symbol(part) for part in node.walk())


def _exactly(card: Card, entry: Derivation, result: tree.Node, gives: tree.Node) -> Decision:
    """Formulas without order symbols must agree exactly, constants included, in every letter."""
    names = (free_letters(result) | free_letters(gives)) - NUMBERS
    domains = {n: _domain(card, entry, n) or POSITIVE for n in sorted(names)}
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
    return frozenset(n for n in names if _finite(_domain(card, entry, n)) is not None)


def regime_of(card: Card, entry: Derivation, sides: Iterable[tree.Node], bounded: frozenset[str]) -> Regime:
    """Directions allowed by the regime: ``kappa >= 1``, ``eps <= 1``, ``lam >= kappa`` as rows in log-space.

    The ranges of the letters belong to it: one that ends at a positive number goes no further in that direction.

    Raises
    ------
    NoOrder : a condition that is not a relation between two monomials.
    """
    letters = sorted(set().union(*(free_letters(s) for s in sides)) - NUMBERS - bounded)
    conditions = entry.regime or card.regimes.get("default", ())
    names = set(letters)
    rows = []
    for condition in conditions:
        node = condition.tree
        if not isinstance(node, tree.Compare):
            raise NoOrder(f"the regime {condition.text!r} is not a relation")
        for one, op, other in zip(node.operands, node.operators, node.operands[1:]):
            names |= (free_letters(one) | free_letters(other)) - NUMBERS - bounded
            rows.append(_row(one, op, other, bounded))
    rows += [row for n in sorted(names) for row in _ends(_domain(card, entry, n), n)]
    exponents = {n: span for n in bounded if (span := _finite(_domain(card, entry, n))) is not None}
    return Regime(tuple(sorted(names)), tuple(rows), exponents)


def _judge(left: Growth, right: Growth, regime: Regime, symbol: str) -> Decision:
    if symbol == "softO":  # it hides every power of logarithms
        left, right = left.without_logs(), right.without_logs()
    equal = same_monomial(left, right)
    if equal:
        return Decision("proved", "order algebra", "the same monomial: every exponent agrees in every letter")
    if symbol == "Omega":
        left, right = right, left
    ray = compare(left, right, regime)
    back = compare(right, left, regime) if symbol == "Theta" or not symbol else None
    if ray is not None or back is not None:
        return Decision("refuted", "order algebra", str(ray or back), ray=ray or back)
    weaker = compare(right, left, regime) if back is None and symbol not in ("Theta", "") else None
    kind = "implied but weaker" if weaker is not None else "the same order"
    return Decision("proved", "order algebra", f"{kind}: no direction of the regime separates the two")


def _written_out(node: tree.Node, values: dict[str, tree.Node]) -> tree.Node:
    """The substitutions of the entry, and nothing else: letters of the regime stay letters."""
    for _ in range(len(values) + 1):
        node = substitute(node, values)
    return node


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


def _domain(card: Card, entry: Derivation, name: str) -> Domain | None:
    if name in entry.for_:
        return entry.for_[name]
    spec = card.letters.get(name)
    return None if spec is None else spec.domain


def _finite(domain: Domain | None) -> tuple[Fraction, Fraction] | None:
    if domain is None or domain.lower is None or domain.upper is None:
        return None
    low, high = (linear_form(e.tree) for e in (domain.lower, domain.upper) if isinstance(e, Expression))
    if low is None or high is None or low[1] or high[1]:
        return None
    return low[0], high[0]


def _ends(domain: Domain | None, name: str) -> list[dict[str, Fraction]]:
    """Rows of a range with ends that are positive numbers: the letter neither falls to 0 nor grows beyond them."""
    if domain is None or domain.kind not in ("interval", "integers"):
        return []
    forms = [linear_form(e.tree) if isinstance(e, Expression) else None for e in (domain.lower, domain.upper)]
    return [
        {name: Fraction(side)} for side, form in zip((1, -1), forms) if form is not None and not form[1] and form[0] > 0
    ]


def _row(one: tree.Node, op: str, other: tree.Node, bounded: frozenset[str]) -> dict[str, Fraction]:
    a, b = growth_of(one, bounded).monomial, growth_of(other, bounded).monomial
    if a is None or b is None:
        raise NoOrder("a regime compares monomials")
    (big, _), (small, _) = (a.at({}), b.at({})) if op in (">=", ">") else (b.at({}), a.at({}))
    gap = {n: big.get(n, Fraction(0)) - small.get(n, Fraction(0)) for n in big.keys() | small.keys()}
    return {n: v for n, v in gap.items() if v}
