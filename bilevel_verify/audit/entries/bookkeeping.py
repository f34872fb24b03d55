"""Bookkeeping: what a paper prints twice must agree, and the hypotheses of a lemma must follow where it is used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bilevel_verify.audit.entries.reading import Written, written
from bilevel_verify.audit.findings.finding import Finding, Place, exact_text, row_of
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.deciding import decide
from bilevel_verify.language import to_text, tree
from bilevel_verify.theorems.card import Card, Claim, Derivation, Entry, Inequality, Statement, Step
from bilevel_verify.theorems.card_parts import Condition, Expression, Link
from bilevel_verify.theorems.origins import not_given
from bilevel_verify.theorems.rewrite import free_letters, has_order
from bilevel_verify.theorems.vocabulary import NUMBERS, RANGE_FUNCTIONS, SCALAR_FUNCTIONS

SCALARS = SCALAR_FUNCTIONS | RANGE_FUNCTIONS
EFFORT = 4.0


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One printed place: its relations, or the formula of a parameter, with the letters that are in force there."""

    name: str
    links: tuple[Link, ...]
    table: Written


def bookkeeping_findings(card: Card, entry: Entry, seed: int = 0) -> Iterator[Finding]:
    """Findings about ``same_as`` and about the hypotheses of the statements that an entry uses."""
    for other in entry.same_as:
        yield _same(card, entry, None, other, seed)
    if isinstance(entry, Statement):
        for claim in entry.claims:
            for other in claim.same_as:
                yield _same(card, entry, claim, other, seed)
        for name in dict.fromkeys((*entry.uses, *entry.assumes)):
            used = card.entries[name]
            for number, condition in enumerate(used.where):
                yield _implied(card, entry, used, condition, number, seed)


def occurrence(card: Card, path: str) -> Occurrence | None:
    """The relations at ``id``, ``id/claim``, ``id/parameters/letter``, ``settings/letter``; or None."""
    parts = path.split("/")
    entry = card.entries.get(parts[0])
    if entry is None:
        return _of_settings(card, path, parts)
    table = written(card, entry)
    if len(parts) == 3 and parts[1] == "parameters":
        return _of_parameter(card, entry, parts[2], table)
    if isinstance(entry, Inequality | Step):
        return Occurrence(path, entry.chain, table)
    if isinstance(entry, Derivation):
        return Occurrence(path, (Link(entry.result, "==", entry.gives),), table)
    if isinstance(entry, Statement) and len(parts) == 2:
        found = [c for c in entry.claims if c.id == parts[1]]
        return _of_claim(path, found[0], table) if found else None
    if isinstance(entry, Statement) and entry.claims:
        return _of_claim(path, entry.claims[0], table) if len(entry.claims) == 1 else None
    return None


def _of_claim(path: str, claim: Claim, table: Written) -> Occurrence:
    local = {name: value.tree for name, value in claim.define.items()}
    return Occurrence(path, claim.chain, replace(table, formulas={**table.formulas, **local}))


def _of_parameter(card: Card, entry: Entry, letter: str, table: Written) -> Occurrence | None:
    for parameters in (entry.parameters, *(card.settings[s].parameters for s in entry.settings)):
        if letter in parameters:
            formula = parameters[letter].expression
            return Occurrence(f"{entry.id}/{letter}", (Link(_letter(letter), "==", formula),), table)
    return None


def _of_settings(card: Card, path: str, parts: list[str]) -> Occurrence | None:
    settings = card.settings.get(parts[0])
    if settings is None or parts[-1] not in settings.parameters:
        return None
    formula = settings.parameters[parts[-1]].expression
    return Occurrence(path, (Link(_letter(parts[-1]), "==", formula),), Written({}, {}, ()))


def _letter(name: str) -> Expression:
    return Expression(tree.Letter(name), name)


def _same(card: Card, entry: Entry, claim: Claim | None, other: str, seed: int) -> Finding:
    here = entry.id if claim is None else f"{entry.id}/{claim.id}"
    decision = _agree(occurrence(card, here), occurrence(card, other), seed)
    name = f"same-as {other}" if claim is None else f"{claim.id}: same-as {other}"
    known = entry.refuted is not None or (claim is not None and claim.refuted is not None)
    place = Place(card.key, entry.id, name, entry.source or None, entry.reading or None, True, known)
    return _finding(place, decision, here, "==", other)


def _agree(one: Occurrence | None, two: Occurrence | None, seed: int) -> Decision:
    if one is None or two is None:
        return Decision("undecided", "bookkeeping", "an occurrence that has no single relation")
    if len(one.links) != len(two.links):
        return Decision("undecided", "bookkeeping", "chains of different lengths")
    for a, b in zip(one.links, two.links):
        for side in ("left", "right"):
            first, second = (getattr(link, side).tree for link in (a, b))
            decision = _equal(first, second, one.table, two.table, seed)
            if decision.outcome != "proved":
                return decision
        if a.op != b.op:
            return Decision("undecided", "bookkeeping", f"one says {a.op}, the other {b.op}")
    return Decision("proved", "bookkeeping", "the occurrences agree")


def _equal(one: tree.Node, two: tree.Node, first: Written, second: Written, seed: int) -> Decision:
    """The same text, the same text with the definitions of each place written out, or provably the same number."""
    if one == two:
        return Decision("proved", "bookkeeping", "the same text")
    try:
        a, b = first.out(one), second.out(two)
    except ValueError as reason:
        return Decision("undecided", "bookkeeping", str(reason))
    if a == b:
        return Decision("proved", "bookkeeping", "the same text with the definitions written out")
    if not (_scalar(a) and _scalar(b)):
        return Decision("undecided", "bookkeeping", f"differs in the text: {to_text(a)[:80]} and {to_text(b)[:80]}")
    claim = first.claim(Link(Expression(a, ""), "==", Expression(b, "")))
    return decide(claim, seed=seed, effort=EFFORT)


def _scalar(node: tree.Node) -> bool:
    calls = {p.function for p in node.walk() if isinstance(p, tree.Call)}
    return calls <= SCALARS and not any(isinstance(p, tree.Index) for p in node.walk())


def _implied(card: Card, entry: Entry, used: Entry, condition: Condition, number: int, seed: int) -> Finding:
    """A printed hypothesis of a used statement, from the printed hypotheses in force where it is used."""
    place = Place(card.key, entry.id, f"uses {used.id}: hypothesis {number + 1}", entry.source or None)
    node, table = condition.tree, written(card, entry)
    decision = Decision("undecided", "bookkeeping", "not a relation between two scalars")
    left, op, right = to_text(node), "", ""
    if isinstance(node, tree.Compare) and len(node.operators) == 1:
        left, op, right = to_text(node.operands[0]), node.operators[0], to_text(node.operands[1])
        decision = _follows(node, table, seed)
    unread = [c.text for c in (condition, *(c for c, _ in table.conditions)) if c.unread]
    if unread:  # whose hypotheses these are is not known yet
        decision = Decision("undecided", "bookkeeping", not_given(dict.fromkeys(unread)))
    if decision.outcome == "refuted":  # the card may leave out what the paper assumes elsewhere
        at = ", ".join(f"{n} = {v}" for n, v in decision.point.items())
        decision = Decision("undecided", "bookkeeping", f"does not follow from the hypotheses in the card (at {at})")
    return _finding(place, decision, left, op, right)


def _follows(node: tree.Compare, table: Written, seed: int) -> Decision:
    if not _scalar(node) or has_order(node):
        return Decision("undecided", "bookkeeping", "not a relation between two scalars")
    link = Link(Expression(node.operands[0], ""), node.operators[0], Expression(node.operands[1], ""))
    try:
        claim: ScalarClaim = table.claim(link)
    except ValueError as reason:
        return Decision("undecided", "bookkeeping", str(reason))
    shown = table.out(node)
    if any(shown == condition for condition in table.where):
        return Decision("proved", "bookkeeping", "a hypothesis of the statement itself")
    if not free_letters(shown) - NUMBERS <= claim.domains.keys():
        return Decision("undecided", "bookkeeping", "a letter without a range")
    return decide(claim, seed=seed, effort=EFFORT)


def _finding(place: Place, decision: Decision, left: str, op: str, right: str) -> Finding:
    row = row_of(place, "bookkeeping", decision, left, op, right)
    return Finding(row, counterexample=exact_text(decision.point) if decision.outcome == "refuted" else None)
