"""Ranges of defined letters: a formula that a card puts for a letter must stay where the letter lives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bilevel_verify.audit.entries.reading import Written, written
from bilevel_verify.audit.findings.finding import Finding, Place, row_of
from bilevel_verify.audit.scalar.claim import NONNEGATIVE, Decision, ScalarClaim, end_conditions
from bilevel_verify.audit.scalar.deciding import decide
from bilevel_verify.errors import CardError
from bilevel_verify.language import tree
from bilevel_verify.theorems.card import Card, Entry, Statement
from bilevel_verify.theorems.card_parts import Domain, Expression, Link
from bilevel_verify.theorems.origins import added_mark
from bilevel_verify.theorems.rewrite import free_letters, rebuild, substitute
from bilevel_verify.theorems.vocabulary import NUMBERS

EFFORT = 0.5


def range_findings(card: Card, entry: Entry, seed: int = 0) -> Iterator[Finding]:
    """An undecided row for every definition of an entry that is not proved to stay in the range of its letter.

    Raises
    ------
    CardError : a definition that lies outside of the range of its letter whatever the other letters are.
    """
    table = written(card, entry, within=False)
    places = [("define", entry.define)]
    if isinstance(entry, Statement):
        places += [(f"{claim.id}: define", claim.define) for claim in entry.claims if claim.define]
    for where, definitions in places:
        formulas = {name: value.tree for name, value in definitions.items()}
        inner = Written({**table.formulas, **formulas}, table.domains, table.where)
        for name, value in definitions.items():
            spec = card.letters.get(name)
            if spec is not None and spec.domain is not None and spec.domain.kind in ("interval", "integers"):
                yield from _one(card, entry, inner, f"{where}/{name}", name, value, spec.domain, seed)


def _one(
    card: Card, entry: Entry, table: Written, where: str, name: str, value: Expression, domain: Domain, seed: int
) -> Iterator[Finding]:
    decisions = [_end(table, name, value, end, seed) for end in end_conditions(name, domain)]
    if any(decision.outcome == "refuted" and outside for decision, outside in decisions):
        raise CardError(f"{card.path.name}: {entry.id}, {where}: {value.text} is not in the range {domain} of {name}")
    unproved = [decision for decision, _ in decisions if decision.outcome not in ("proved", "vacuous")]
    if unproved:
        yield _finding(card, entry, where, value, name, domain, unproved[0])


def _end(table: Written, name: str, value: Expression, end: tree.Node, seed: int) -> tuple[Decision, bool]:
    """Whether the formula keeps one end of the range; if not, whether it never does."""
    assert isinstance(end, tree.Compare)
    (one, other), (op,) = (tuple(substitute(side, {name: value.tree}) for side in end.operands), end.operators)
    sizes: dict[str, Domain] = {}
    one, other = (_sized(side, sizes) for side in (one, other))
    table = Written(table.formulas, {**table.domains, **sizes}, table.where)
    try:
        claim = table.claim(Link(Expression(one, ""), op, Expression(other, "")))
        decision = decide(claim, seed=seed, effort=EFFORT)
    except ValueError as reason:
        return Decision("undecided", "reading", str(reason)), False
    if decision.outcome != "refuted":
        return decision, False
    return decision, _closed(claim) or decide(
        replace(claim, op=tree.NEGATED[op]), seed=seed, effort=EFFORT
    ).outcome == "proved"


def _sized(node: tree.Node, sizes: dict[str, Domain]) -> tree.Node:
    """Norms as letters of their own, which are not negative."""
    if isinstance(node, tree.Call) and node.function == "norm":
        name = f"size_{len(sizes) + 1}"
        sizes[name] = NONNEGATIVE
        return tree.Letter(name)
    return rebuild(node, lambda part: _sized(part, sizes))


def _closed(claim: ScalarClaim) -> bool:
    return not (free_letters(claim.left) | free_letters(claim.right)) - NUMBERS


def _finding(
    card: Card, entry: Entry, where: str, value: Expression, name: str, domain: Domain, decision: Decision
) -> Finding:
    at = ", ".join(f"{n} = {v}" for n, v in decision.point.items())
    text = f"{value.text} may leave the range {domain} of {name}" + (f" (at {at})" if at else "")
    place = Place(card.key, entry.id, f"{where}: range", entry.source or None, as_printed=False)
    place = replace(place, marks=(added_mark((f"{name} in {domain}",)),))
    shown = Decision("undecided", "range", text)
    return Finding(row_of(place, "definedness", shown, name, "==", value.text))
