"""``Multiplying (24) by A and adding it to (23)``: the combination is carried out and compared with what is printed.

Told is a relation with which the combination is not what is printed, where with one other relation of the same proof
or of the text in its place it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice, product

from bilevel_verify.language import tree
from bilevel_verify.proofreading.joints.carrying import bounds_of, misnamed, to_text_of
from bilevel_verify.proofreading.joints.clauses import HOLE, Clause, clauses
from bilevel_verify.proofreading.joints.forms import Formless, Monomial, added, form_of
from bilevel_verify.proofreading.joints.forms import product as times
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.summing import slack
from bilevel_verify.proofreading.source import Paper, Sentence

N = r"(?:equation |inequality )?\(?(\d+[a-z]?)\)?(?![\w.]*\d)"
MULTIPLY = r"\bmultipl(?:y|ying|ied)\s+(?:both\s+)?(?:sides\s+of\s+)?"
RESULT = r"(?:it|this|the result\w*(?:\s+inequality)?)"
ADDED = rf"\s*,?\s*(?:and\s+)?(?:then\s+)?(?:combin\w+|add\w*)\s+{RESULT}?\s*(?:with|to)\s+"
ONE = re.compile(rf"{MULTIPLY}{N}\s+by\s+{HOLE}(?:{ADDED}{N})?", re.I)
TWO = re.compile(rf"{MULTIPLY}{N}\s+and\s+{N}\s+by\s+{HOLE}\s+and\s+{HOLE}\s*,?\s*respectively\s*,?\s*and\s+add", re.I)
MOST = 40
"""Choices of members of the chains that are tried."""
Combination = tuple[tuple[str, tree.Node | None], ...]
"""Numbers of relations with the factors by which they are multiplied."""


def combined_joints(paper: Paper) -> Iterator[Judged]:
    """Every display that is said to be a combination of relations with factors."""
    for clause in clauses(paper):
        for parts, end in _said(clause):
            shown = [f for f in clause.formulas[clause.words[:end].count(HOLE) :] if f.read.formula.kind == "display"]
            known = all(n in paper.numbered for n, _ in parts)
            if shown and known and all(paper.numbered[n] is not shown[0] for n, _ in parts):
                yield from _judged(paper, shown[0], parts)


def _said(clause: Clause) -> Iterator[tuple[Combination, int]]:
    for said in TWO.finditer(clause.words):
        first, second = (clause.formulas[clause.words[: said.end()].count(HOLE) - i] for i in (2, 1))
        factors = _factor(first), _factor(second)
        if None not in factors:
            yield ((said[1], factors[0]), (said[2], factors[1])), said.end()
    for said in ONE.finditer(clause.words):
        factor = _factor(clause.formulas[clause.words[: said.end()].count(HOLE) - 1])
        if factor is not None:
            yield ((said[1], factor), *(((said[2], None),) if said[2] else ())), said.end()


def _factor(formula: Sentence) -> tree.Node | None:
    """A factor, with its value where it is an equation."""
    members = [m for chain in formula.chains() for m in chain.members]
    return members[-1] if members else None


def _judged(paper: Paper, shown: Sentence, parts: Combination) -> Iterator[Judged]:
    names = " and ".join(f"({n})" for n, _ in parts)
    joint = f"a combination of {names} and {to_text_of(shown)}"[:160]
    goals = list(_slacks(shown))
    if _comes_out([paper.numbered[n] for n, _ in parts], parts, goals):
        yield Judged("citation", shown.place, joint, "holds")
        return
    near = [s for s in paper.before(shown).values() if shown.may_rest_on(s)]
    own = [paper.numbered[n] for n, _ in parts]
    for place, (number, _) in enumerate(parts):
        for other in near:
            tried = [*own[:place], other, *own[place + 1 :]]
            if other not in own and _comes_out(tried, parts, goals):
                meant = other.read.formula.number
                title = f"({number}) does not give this with the factors that are named; ({meant}) in its place does"
                relations = [(f"({number})", own[place]), (f"({meant})", other), ("printed", shown)]
                yield misnamed(shown, joint, title, relations)
                return
    yield Judged("citation", shown.place, joint, "undecided", "the combination has other terms")


def _comes_out(sources: Sequence[Sentence], parts: Combination, goals: Sequence[Mapping[Monomial, Fraction]]) -> bool:
    """Whether the relations with their factors add up to one of the goals."""
    held = [list(_slacks(s, factor)) for s, (_, factor) in zip(sources, parts, strict=True)]
    return any(added(chosen) in goals for chosen in islice(product(*held), MOST))


def _slacks(sentence: Sentence, factor: tree.Node | None = None) -> Iterator[Mapping[Monomial, Fraction]]:
    """What each bound of a relation says: the larger side less the smaller one, times a factor."""
    for bound in bounds_of(sentence):
        try:
            terms = slack(bound)
            yield terms if factor is None else times(terms, form_of(factor).terms)
        except Formless:
            continue
