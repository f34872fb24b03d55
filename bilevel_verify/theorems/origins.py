"""Whose hypotheses these are: of the print, of our own, or unread; the judgements that follow from that.

A relation is judged as printed under the hypotheses and ranges that the paper prints. What a card adds (``added``,
``narrowed``) makes a second judgement, which is marked. A hypothesis or range without an origin may be either: until
somebody has read the paper, the relation as printed is not judged. A definition without one is added: the relation as
printed is judged without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from bilevel_verify.language import to_text, tree
from bilevel_verify.theorems.card import Card, Claim, Derivation, Entry, Statement
from bilevel_verify.theorems.card_parts import Condition, Domain, Mark
from bilevel_verify.theorems.prescribed import formulas_of, included

Kind = TypeVar("Kind", Entry, Claim)


def not_given(unread: Iterable[str]) -> str:
    """The reason of a row as printed that is not judged."""
    return f"origin of the hypothesis not given: {'; '.join(unread)}"


def added_mark(texts: Iterable[str]) -> Mark:
    """The mark of a judgement under hypotheses that the print does not give."""
    return Mark("added", "; ".join(texts))


def range_text(name: str, domain: Domain) -> str:
    """A range as a hypothesis: ``k in integers 1..``."""
    return f"{name} in {domain.text}"


def unread_of(where: Iterable[Condition], ranges: Mapping[str, Domain]) -> tuple[str, ...]:
    """Texts of the hypotheses and ranges of which nobody has said where they come from."""
    conditions = [c.text for c in where if c.unread]
    return (*conditions, *(range_text(name, domain) for name, domain in ranges.items() if domain.unread))


def ours_of(entry: Entry | Claim) -> tuple[str, ...]:
    """Texts of the hypotheses and ranges that are the card's own."""
    return (*(c.text for c in entry.added), *(range_text(n, d) for n, d in entry.narrowed.items()))


def with_ours(entry: Kind) -> Kind:
    """The same under the hypotheses and ranges of the card's own too."""
    ranges = {**entry.for_, **entry.narrowed}
    if isinstance(entry, Derivation):
        return replace(entry, regime=(*entry.regime, *entry.added), for_=ranges, added=(), narrowed={})
    return replace(entry, where=(*entry.where, *entry.added), for_=ranges, added=(), narrowed={})


def as_printed(card: Card, one: Kind, statement: Statement | None = None) -> Kind | None:
    """The same without the definitions of which nobody has said where the paper makes them: what the print says.

    None where there are none, where something else keeps it from being as printed, and where a defined name has no
    meaning but its definition, so that nothing could be judged without it. ``statement`` is that of a claim.
    """
    unread = {name: value for name, value in one.define.items() if value.unread}
    ours = {Mark("added", f"{name} = {value.text}") for name, value in unread.items()}
    if not ours & set(one.marks) or set(one.marks) - ours:
        return None
    known = formulas_of(card, statement).keys() if statement is not None else card.letters.keys()
    for name in unread.keys() - one.for_.keys() - known:
        if name not in card.letters or card.letters[name].source == "settings":
            return None
    define = {name: value for name, value in one.define.items() if name not in unread}
    printed = replace(one, define=define, marks=())
    return replace(printed, as_printed=True) if isinstance(printed, Claim) else printed


def as_judged(card: Card, statement: Statement) -> Statement:
    """A statement whose claims are those that a check along runs judges.

    A claim under hypotheses of the card's own stands twice: as printed, and under them. One with an unread hypothesis
    is judged under all of them only, marked; :func:`unread_claims` names it. So does one with an unread definition.
    """
    unread = unread_claims(card, statement)
    claims: list[Claim] = []
    plain = {c.id: p for c in statement.claims if (p := as_printed(card, c, statement)) is not None}
    for claim in (form for c in statement.claims for form in (plain.get(c.id), c) if form is not None):
        whole = _pushed(card, statement, claim)
        ours = (*ours_of(whole), *unread.get(claim.id, ()))
        if not ours:
            claims.append(claim)
            continue
        variant = with_conditions(whole, ours)
        if claim.id in unread:
            claims.append(replace(variant, readings=claim.readings, repaired=claim.repaired))
        else:
            claims += [claim, replace(variant, readings=(), repaired=None)] if claim.as_printed else [variant]
    return replace(statement, claims=tuple(claims))


def unread_claims(card: Card, statement: Statement) -> dict[str, tuple[str, ...]]:
    """Claim -> its unread hypotheses, those of its statement and of the settings included."""
    shared = list(unread_of(statement.where, {}))
    for name in included(card, statement.settings):
        shared += unread_of(card.settings[name].where, {})
    found = {c.id: (*shared, *unread_of(c.where, c.for_)) for c in statement.claims}
    return {name: texts for name, texts in found.items() if texts}


def _pushed(card: Card, statement: Statement, claim: Claim) -> Claim:
    """The claim with what its statement and the settings add."""
    added = [*statement.added]
    for name in included(card, statement.settings):
        added += card.settings[name].added
    narrowed = {**statement.narrowed, **claim.narrowed}
    return replace(claim, added=(*added, *claim.added), narrowed=narrowed)


def with_conditions(claim: Claim, ours: Iterable[str]) -> Claim:
    """A claim under what is added to it; the narrowed range of a letter that it does not quantify is a condition."""
    quantified = {n: d for n, d in claim.narrowed.items() if n in claim.for_}
    ends = [c for n, d in claim.narrowed.items() if n not in claim.for_ for c in conditions_of(n, d)]
    changed = with_ours(replace(claim, added=(*claim.added, *ends), narrowed=quantified))
    return replace(changed, marks=(*claim.marks, added_mark(ours)), as_printed=False)


def conditions_of(name: str, domain: Domain) -> list[Condition]:
    """The ends of a range as conditions of our own."""
    found = []
    letter = tree.Letter(name)
    for end, closed, signs in (
        (domain.lower, domain.lower_closed, (">=", ">")),
        (domain.upper, domain.upper_closed, ("<=", "<")),
    ):
        if end is not None and not _infinite(end.tree):
            node = tree.Compare((letter, end.tree), (signs[0] if closed else signs[1],))
            found.append(Condition(node, to_text(node), "", True))
    return found


def _infinite(node: tree.Node) -> bool:
    return any(isinstance(part, tree.Letter) and part.name == "oo" for part in node.walk())
