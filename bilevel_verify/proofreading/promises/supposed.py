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

from bilevel_verify.drafting.letters import plain
from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.clauses import HOLE, Clause, clauses, named_in, numbered_in
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.parameters import INHERITS, NEW, STANDING, frame_of, leans_on, numbers_used
from bilevel_verify.proofreading.promises.conclusions import own_proofs
from bilevel_verify.proofreading.promises.said import ENTRY, Said, failing, relations_of, said_of, supposed_in
from bilevel_verify.proofreading.source import Paper, Passage, Sentence
from bilevel_verify.theorems.rewrite import free_letters
from bilevel_verify.theorems.vocabulary import NUMBERS

if TYPE_CHECKING:
    from bilevel_verify.drafting.draft import Draft

VALUE = re.compile(r"\b(?:since|as|because|substituting|plugging|putting|inserting)\s*\Z", re.I)
BY_ONE = re.compile(r"\s*By \(\d+\),? (?:the|this|it|there)\b[^\x01,;()]*\b(?:is|are) at most\s*", re.I)
CASES = re.compile(r"\b(?:if|when(?:ever)?|case|otherwise|unless|suppose|assume|contradiction|contrary)\b", re.I)


def supposed_joints(paper: Paper, draft: Draft) -> Iterator[Judged]:
    """Every relation between numbers of every proof, and the hypotheses of what it cites."""
    homes = [(home, proof) for name, home in paper.stated.items() for proof in own_proofs(paper, name)]
    parts: dict[int, list[Clause]] = {}
    for clause in clauses(paper):
        parts.setdefault(id(clause.passage), []).append(clause)
    for home, proof in homes:
        inherits = INHERITS.search(STANDING.sub("", home.words)) and not set(named_in(home.words)) & paper.stated.keys()
        if not inherits and all(s.read.statements for s in home.formulas):
            said = said_of(draft, paper, home, proof)
            yield from _of_proof(paper, said, home, parts.get(id(proof), []))
            yield from _of_cited(draft, paper, home, proof)
            yield from _of_start(said_of(draft, paper, home, proof, alone=True), home)


def _of_cited(draft: Draft, paper: Paper, home: Passage, proof: Passage) -> Iterator[Judged]:
    """Hypotheses of the statements on which a proof leans, under what is said without them."""
    names = {p.id: p.name for p in paper.stated.values()}
    letters = {n for p in (home, proof) for s in p.formulas for node in s.nodes() for n in tree.letters(node)}
    numbers = [n for n in numbers_used(proof.words) if n in paper.numbered]
    used = [n for n in named_in(proof.words) if leans_on(proof.words, n)]
    used += [names[h] for n in numbers if (h := paper.numbered[n].home) in names]
    said = said_of(draft, paper, home, proof, alone=True)
    for name in dict.fromkeys(used):
        if name in paper.stated and name != home.name and name not in named_in(home.words):
            reached = proof.words[: proof.words.find(name)].count(HOLE) if name in proof.words else 0
            here = said.with_more(r for s in proof.formulas[:reached] for r in relations_of(s, False))
            for relation in _hypotheses(draft, paper, paper.stated[name], letters):
                yield from _judged(here, home, None, relation, name)


def _hypotheses(draft: Draft, paper: Paper, stated: Passage, letters: set[str]) -> Iterator[tree.Compare]:
    """What a statement supposes of parameters: bounds, first entries of sequences, values.

    The value of a letter counts where it is a number, a special case, or the letter stands where the statement is used.
    """
    frame = frame_of(draft, next(n for n, p in enumerate(paper.passages) if p is stated))
    listed = [r for p in paper.passages if p.kind == "algorithm" for s in p.formulas for r in relations_of(s, True)]
    inputs = {r.operands[0].name for r in listed if isinstance(r.operands[0], tree.Letter)}
    for node in frame.own:
        single = isinstance(node, tree.Compare) and len(node.operators) == 1
        if single and not any(map(tree.is_zero, node.operands)) and not free_letters(node) & frame.running - inputs:
            yield node
    for relation in (r for s in supposed_in(stated) for r in relations_of(s, False)):
        first, value = relation.operands
        if not isinstance(first, tree.Letter) or relation in frame.own:
            continue
        bounded = relation.operators != ("==",) and first.name in inputs and not isinstance(value, tree.Number)
        special = frame.define.get(first.name) == value and (isinstance(value, tree.Number) or first.name in letters)
        if "[0]" in first.name or bounded or special:
            yield relation


def _of_start(said: Said, home: Passage) -> Iterator[Judged]:
    """``a_k >= c`` for all k, of a sequence whose first entry is an input of which nothing like this is supposed."""
    supposed = supposed_in(home)
    if any(to_text(r).endswith(">= 1") for s in supposed for r in relations_of(s, False)):
        return
    for sentence in (s for s in home.formulas if s not in supposed):
        for relation in relations_of(sentence, False):
            entry, bound = relation.operands
            if isinstance(entry, tree.Letter) and (found := ENTRY.fullmatch(entry.name)) and found["index"] != "0":
                first = f"{found['base']}[0]"
                if first in said.known and found["index"] not in tree.letters(bound):
                    start = tree.Compare((tree.Letter(first), bound), relation.operators)
                    yield from _judged(said, home, sentence, start)


def _amounts(paper: Paper, clause: Clause, place: int) -> Iterator[tree.Compare]:
    """``By (14) the mean is at most A``: the bound of (14) is at most A."""
    sentence, before = clause.formulas[place], clause.before(place)
    chains, numbers = list(sentence.chains()), numbered_in(before)
    alone = len(chains) == 1 and not chains[0].relations and sentence.read.formula.kind == "inline"
    if alone and BY_ONE.fullmatch(before) and numbers[0] in paper.numbered and not named_in(before):
        for chain in paper.numbered[numbers[0]].chains():
            right, amount = chain.members[-1], chains[0].members[0]
            if [r.word for r in chain.relations][-1:] == ["<="] and plain(right) and plain(amount):
                yield tree.Compare((right, amount), ("<=",))


def _of_proof(paper: Paper, said: Said, home: Passage, parts: list[Clause]) -> Iterator[Judged]:
    open_case = False
    for clause in parts:
        open_case = open_case or CASES.search(clause.words) is not None
        for place, sentence in enumerate(clause.formulas):
            before = clause.before(place)
            used = not open_case and NEW.search(before) is None
            for relation in relations_of(sentence, False) if used else ():
                if not _names(relation, before):
                    yield from _judged(said, home, sentence, relation)
            for relation in _amounts(paper, clause, place):
                yield from _judged(said, home, sentence, relation, amount=True)
            said = said.with_more(relations_of(sentence, False))


def _names(relation: tree.Compare, before: str) -> bool:
    """Whether an equation gives a letter its value here, and does not quote it."""
    letter = isinstance(relation.operands[0], tree.Letter)
    return relation.operators == ("==",) and letter and VALUE.search(before) is None


def _judged(
    said: Said, home: Passage, sentence: Sentence | None, relation: tree.Compare, cited: str = "", amount: bool = False
) -> Iterator[Judged]:
    point = failing(said, relation, amount)
    if point is None:
        return
    shown = ", ".join(f"{n} = {v:.3g}" for n, v in point.items())
    used = f"{cited}, which supposes {to_text(relation)}: nothing" if cited else f"{to_text(relation)}, which nothing"
    title = f"the proof of {home.name} uses {used} that is said gives it; not so at {shown}"
    letters = free_letters(relation) - NUMBERS
    given = tuple(f"said: {to_text(r)}" for r in said.where if free_letters(r) & letters)
    place, latex, unit = (
        (sentence.place, sentence.latex, sentence.unit) if sentence else (f"proof of {home.name}", "", home.id)
    )
    evidence = (f"used: {to_text_of(sentence) if sentence else to_text(relation)}", *dict.fromkeys(given[:6]))
    cause = f"supposed {cited or to_text(relation)} {home.id}"
    defect = Defect("premise", place, title, "breaks the statement", latex, evidence, cause, unit)
    joint = f"{to_text(relation)}, used in the proof of {home.name}"
    yield Judged("premise", place, joint, "refuted", "a point meets all that is said and breaks it", defect)
