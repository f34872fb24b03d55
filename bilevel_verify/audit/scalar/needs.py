"""What must hold so that a formula is defined: denominators, logarithms, roots, real powers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.integers import index_domain, whole
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.audit.scalar.signs import nonnegative, positive
from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.theorems.card_parts import Domain, Expression
from bilevel_verify.theorems.rewrite import free_letters, substitute

ZERO = tree.Number(Fraction(0))


@dataclass(frozen=True, slots=True)
class Need:
    """Something that must hold so that a part of a formula is defined: ``left op right`` under the open branches."""

    left: tree.Node
    op: str
    right: tree.Node
    what: str
    where: tuple[tree.Node, ...] = ()
    ranges: tuple[tuple[str, tree.Node, tree.Node], ...] = ()

    def of(self, left: tree.Node, op: str, what: str, *where: tree.Node) -> Need:
        """Another need at the same place: ``left op 0``, where further conditions hold."""
        return replace(self, left=left, op=op, right=ZERO, what=what, where=(*self.where, *where))


def needs(node: tree.Node, domains: Mapping[str, Domain], inside: Need | None = None) -> Iterator[Need]:
    """Everything that must hold so that a tree is defined; ``domains`` say which exponents are integers."""
    here = inside or Need(ZERO, "<=", ZERO, "")
    match node:
        case tree.Divide(denominator=bottom):
            yield here.of(_size(bottom), ">", "a division by")
        case tree.Modulo(right=bottom):
            yield here.of(_size(bottom), ">", "a remainder modulo")
        case tree.Power(base=base, exponent=exponent):
            yield from _of_power(base, exponent, domains, here)
        case tree.Call(function="sqrt", arguments=(inner,)):
            yield here.of(inner, ">=", "the square root of")
        case tree.Call(function="log", arguments=(inner,)):
            yield here.of(inner, ">", "the logarithm of")
        case tree.Call(function="tan", arguments=(inner,)):
            yield here.of(_size(tree.Call("cos", (inner,))), ">", "a tangent where it has a pole, the cosine being")
        case tree.Call(function="binomial" | "factorial" as name, arguments=arguments):
            yield from _of_integers(name, arguments, domains, here)
    if isinstance(node, tree.Conditional):
        yield from needs(node.test, domains, here)
        yield from needs(node.yes, domains, replace(here, where=(*here.where, node.test)))
        yield from needs(node.no, domains, replace(here, where=(*here.where, tree.Not(node.test))))
        return
    if isinstance(node, tree.Call) and (span := binder(node)) is not None:
        yield from _of_range(node, span, domains, here)
        return
    for child in node.children():
        yield from needs(child, domains, here)


def _size(node: tree.Node) -> tree.Node:
    return tree.Call("abs", (node,))


def _of_power(base: tree.Node, exponent: tree.Node, domains: Mapping[str, Domain], here: Need) -> Iterator[Need]:
    """Integer powers need a base other than 0 where the exponent is negative (0**0 is 1); real powers a sign."""
    form = linear_form(exponent)
    number = form[0] if form is not None and not form[1] else None
    if number is not None and number.denominator > 1:
        yield here.of(base, *((">=", "a root of") if number > 0 else (">", "a negative power of")))
        return
    if number is None and not whole(exponent, domains):
        broken = tree.Compare((tree.Call("floor", (exponent,)), exponent), ("<",))
        yield here.of(base, ">=", "a real power of", broken)
    if number is None and not nonnegative(exponent, domains):
        yield here.of(_size(base), ">", "a negative power of", tree.Compare((exponent, ZERO), ("<",)))
    elif number is not None and number < 0:
        yield here.of(_size(base), ">", "a negative power of")


def _of_integers(
    name: str, arguments: tuple[tree.Node, ...], domains: Mapping[str, Domain], here: Need
) -> Iterator[Need]:
    for inner in arguments:
        yield here.of(inner, ">=", f"a {name} of")
        if not whole(inner, domains):
            yield replace(here.of(tree.Call("floor", (inner,)), ">=", f"a {name} of what is no integer,"), right=inner)


def _of_range(
    node: tree.Call, span: tuple[str, tree.Node, tree.Node], domains: Mapping[str, Domain], here: Need
) -> Iterator[Need]:
    """What the ends need, that a range is not empty where its function needs a term, and what every term needs."""
    index, low, high = span
    yield from needs(low, domains, here)
    yield from needs(high, domains, here)
    if node.function not in ("sum", "prod"):
        first, last = _ends(low, high, domains)
        length = tree.Add((last, tree.Negate(first)))
        yield here.of(length, ">=", f"the {node.function} over an empty range, its length less 1 being")
    inner = {**domains, index: index_domain(low, high)}
    for part in node.arguments[:-1]:
        yield from needs(part, inner, replace(here, ranges=(*here.ranges, span)))


def claim_of(need: Need, claim: ScalarClaim) -> ScalarClaim:
    """A need as a claim; indices are letters of it (renamed where a letter of the claim has their name).

    An empty sum needs nothing of its terms: that a range has a term is a condition where nothing else names its index.
    """
    domains, names = dict(claim.domains), dict[str, tree.Node]()
    for index, low, high in need.ranges:
        first, last = (Expression(substitute(end, names), "") for end in (low, high))
        fresh = index
        while fresh in domains:
            fresh += "_"
        domains[fresh] = Domain(fresh, "integers", first, last)
        names = {**names, index: tree.Letter(fresh)}
    left, right = substitute(need.left, names), substitute(need.right, names)
    where = tuple(substitute(condition, names) for condition in need.where)
    terms = tuple(substitute(condition, names) for condition in _with_terms(need, claim.domains))
    return ScalarClaim(left, need.op, right, domains, (*claim.where, *where, *terms))


def _with_terms(need: Need, domains: Mapping[str, Domain]) -> list[tree.Node]:
    """``low <= high`` for each range whose index occurs neither in the need nor in the range of one that does."""
    named = set[str]().union(*map(free_letters, (need.left, need.right, *need.where)))
    inside = list[Mapping[str, Domain]]()
    for index, low, high in need.ranges:
        inside.append(domains)
        domains = {**domains, index: index_domain(low, high)}
    found = list[tree.Node]()
    for (index, low, high), known in zip(reversed(need.ranges), reversed(inside), strict=True):
        if index not in named:
            found.append(tree.Compare(_ends(low, high, known), ("<=",)))
        named = named - {index} | free_letters(low) | free_letters(high)
    return found


def _ends(low: tree.Node, high: tree.Node, domains: Mapping[str, Domain]) -> tuple[tree.Node, tree.Node]:
    """The first and the last index of a range."""
    first = low if whole(low, domains) else tree.Call("ceil", (low,))
    return first, high if whole(high, domains) else tree.Call("floor", (high,))


def needs_of(claim: ScalarClaim) -> list[tuple[Need, ScalarClaim]]:
    """What must hold so that both sides are defined, as claims; what is plain for all to see is left out."""
    found = []
    for need in dict.fromkeys((*needs(claim.left, claim.domains), *needs(claim.right, claim.domains))):
        part = claim_of(need, claim)
        plain = positive if need.op == ">" else nonnegative
        if need.right != ZERO or not plain(part.left, part.domains):
            found.append((need, part))
    return found


def defined_everywhere(claim: ScalarClaim, decide: Callable[[ScalarClaim], Decision]) -> bool:
    """Whether both sides are proved to be defined on the whole range."""
    return all(decide(part).outcome in ("proved", "vacuous") for _, part in needs_of(claim))
