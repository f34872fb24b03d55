"""``since eta <= 1/L``: a relation between parameters that a proof uses and that nothing said before gives.

Refuted is a relation that fails at a point which meets all that is said: the hypotheses of the statement, the text, the
assumptions, the inputs of algorithms, the statements and relations that the proof cites, what the proof itself has
reached. A right text cannot be told: what it uses follows from what it says, and that fails at no such point. Where it
says something in words, an order between constants (``mu <= L``) may be meant: a relation that some such order gives is
left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.clauses import Clause, clauses
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.parameters import INHERITS, NEW
from bilevel_verify.proofreading.promises.conclusions import own_proofs
from bilevel_verify.proofreading.promises.said import Said, failing, relations_of, said_of
from bilevel_verify.proofreading.source import Paper, Passage, Sentence
from bilevel_verify.theorems.rewrite import free_letters
from bilevel_verify.theorems.vocabulary import NUMBERS

if TYPE_CHECKING:
    from bilevel_verify.drafting.draft import Draft

STANDING = re.compile(
    r"\b(?:assumptions?|hypothes[ei]s|conditions?)(?:\s+(?:assumption|hypothesis|condition|and|,|[A-Z]?\.?\d[\d.]*|[A-Z]\b))+",
    re.I,
)
"""Assumptions of the paper that are named: they are among what is said."""
VALUE = re.compile(r"\b(?:since|as|because|substituting|plugging|putting|inserting)\s*\Z", re.I)
CASES = re.compile(r"\b(?:if|when(?:ever)?|case|otherwise|unless|suppose|assume|contradiction|contrary)\b", re.I)


def supposed_joints(paper: Paper, draft: Draft) -> Iterator[Judged]:
    """Every relation between numbers of every proof with its own statement."""
    homes = [(home, proof) for name, home in paper.stated.items() for proof in own_proofs(paper, name)]
    parts: dict[int, list[Clause]] = {}
    for clause in clauses(paper):
        parts.setdefault(id(clause.passage), []).append(clause)
    for home, proof in homes:
        if INHERITS.search(STANDING.sub("", home.words)) or any(not s.read.statements for s in home.formulas):
            continue
        if any(r for s in proof.formulas for r in relations_of(s, False)):
            yield from _of_proof(said_of(draft, paper, home, proof), home, parts.get(id(proof), []))


def _of_proof(said: Said, home: Passage, parts: list[Clause]) -> Iterator[Judged]:
    open_case = False
    for clause in parts:
        open_case = open_case or CASES.search(clause.words) is not None
        for place, sentence in enumerate(clause.formulas):
            before = clause.before(place)
            used = not open_case and NEW.search(before) is None
            for relation in relations_of(sentence, False):
                if used and not _names(relation, before):
                    yield from _judged(said, home, sentence, relation)
            said = said.with_more(relations_of(sentence, False))


def _names(relation: tree.Compare, before: str) -> bool:
    """Whether an equation gives a letter its value here, and does not quote it."""
    letter = isinstance(relation.operands[0], tree.Letter)
    return relation.operators == ("==",) and letter and VALUE.search(before) is None


def _judged(said: Said, home: Passage, sentence: Sentence, relation: tree.Compare) -> Iterator[Judged]:
    joint = f"{to_text_of(sentence)}, used in the proof of {home.name}"
    point = failing(said, relation)
    if point is None:
        return
    shown = ", ".join(f"{n} = {v:.3g}" for n, v in point.items())
    title = f"the proof of {home.name} uses {to_text(relation)}, which nothing that is said gives: not so at {shown}"
    letters = free_letters(relation) - NUMBERS
    given = tuple(f"said: {to_text(r)}" for r in said.where if free_letters(r) & letters)
    evidence = (f"used: {to_text_of(sentence)}", *dict.fromkeys(given[:6]))
    defect = Defect("premise", sentence.place, title, "breaks the statement", sentence.latex, evidence,
                    f"supposed {to_text(relation)} {home.id}", sentence.unit)  # fmt: skip
    yield Judged("premise", sentence.place, joint, "refuted", "a point meets all that is said and breaks it", defect)
