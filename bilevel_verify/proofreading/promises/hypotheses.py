"""Hypotheses together: a point that meets all of a statement's scalar hypotheses, or a proof that there is none."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from bilevel_verify.audit.entries.reading import Written, written
from bilevel_verify.audit.scalar.claim import Decision
from bilevel_verify.audit.scalar.deciding import decide
from bilevel_verify.language import tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.source import PROMISES
from bilevel_verify.theorems.card import Card, Statement
from bilevel_verify.theorems.card_parts import Expression, Link
from bilevel_verify.theorems.rewrite import free_letters
from bilevel_verify.theorems.vocabulary import NUMBERS

EFFORT = 0.5
CONTRADICTION = "the hypotheses contradict each other: no point meets all of them, so that nothing is said"


def consistency(card: Card, seed: int = 0) -> tuple[list[Defect], dict[str, str]]:
    """Statements whose scalar hypotheses no point meets (a proof), and for the others a point that meets them.

    Where neither is found nothing is said.
    """
    defects: list[Defect] = []
    points: dict[str, str] = {}
    known: dict[tuple[tree.Node, ...], Decision] = {}
    for entry in card.entries.values():
        if not isinstance(entry, Statement) or entry.kind not in PROMISES:
            continue
        table = written(card, entry)
        decision = known.setdefault(table.where, Decision("undecided", ""))
        if not decision.engine:
            decision = known[table.where] = witness(table, seed)
        if decision.outcome == "refuted":
            points[entry.id] = ", ".join(f"{name} = {value}" for name, value in decision.point.items())
        elif decision.outcome in ("vacuous", "proved"):
            shown = tuple(condition.text for condition in entry.where)
            place = entry.source or entry.id
            defects.append(Defect("hypothesis", place, CONTRADICTION, "breaks the statement", "", shown, unit=entry.id))
    return defects, points


def witness(table: Written, seed: int = 0) -> Decision:
    """A decision whose counterexample is a point that meets every hypothesis: of a relation that fails at each point.

    The relation is a sum of squares and 1 that is not positive; it has every letter of the hypotheses.
    """
    names = sorted(set().union(*(free_letters(w) for w in table.where)) - NUMBERS) if table.where else []
    if not names:
        return Decision("undecided", "hypotheses", "no scalar hypothesis")
    try:
        claim = table.claim(Link(Expression(positive(names), ""), "<=", Expression(tree.Number(Fraction(0)), "")))
    except ValueError as reason:
        return Decision("undecided", "hypotheses", str(reason))
    return decide(claim, seed=seed, effort=EFFORT)


def positive(names: Iterable[str]) -> tree.Node:
    """A sum of squares and 1, in which every letter stands."""
    squares = (tree.Power(tree.Letter(name), tree.Number(Fraction(2))) for name in names)
    return tree.Add((tree.Number(Fraction(1)), *squares))
