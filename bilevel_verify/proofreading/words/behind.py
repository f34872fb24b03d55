"""Premises that are not there yet: printed only behind the step, or what is being proved.

A statement may be used before it is proved; a step of a proof has no meaning before it is there, and a display that a
statement claims is no premise of its proof before that has come to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import bounds_of
from bilevel_verify.proofreading.joints.clauses import EQUATION, HOLE, Clause, clauses, clauses_of
from bilevel_verify.proofreading.promises.conclusions import proved_in
from bilevel_verify.proofreading.source import PROMISES, Paper, Passage, Sentence
from bilevel_verify.proofreading.words.sources import supposes, told

LEANS = re.compile(
    r"\b(?:by|from|using|uses?|combin\w+|connect\w+|plug\w*|substitut\w+|insert\w*|into|with|add(?:ing)?|sum(?:ming)?"
    r"|due to|multipl\w+|squar\w+|divid\w+|sides of|(?:bounds?|inequality|equation) in)\b",
    re.I,
)
AHEAD = re.compile(
    r"\b(?:below|later|see|similar\w*|analog\w*|like|as in|section|appendix|sec\.|prove|show|shown|defer\w*"
    r"|follow\w*|compare|instead of|recall|induction(?! on)|suppose|assume|claim|until|whether|provided|remains)\b",
    re.I,
)
"""Words that speak of what is still to come, or of another place."""
CONCLUDES = re.compile(
    r"\b(?:get|obtain|gives?|yields?|is|are|establish\w*|impl(?:y|ies)|satisf\w*|than|becomes?|reads?|have|to)\s+"
    r"(?:that\s+)?(?:the\s+)?(?:\w+\s+){0,2}\(?\Z",
    re.I,
)
"""Words right before the number of what comes out."""
GIVES = re.compile(
    r"\s*(?:can be (?:simplified|written|rewritten)|simplifies|reduces|becomes|reads|leads|yields|gives|implies)\b",
    re.I,
)
"""Words right behind the number of what goes in."""
CLAIMS = re.compile(r"\b(?:then|we have|we obtain|it holds|satisf\w+)\b", re.I)
PARTS = re.compile(
    r"\b(?:first|second|third|last|other|latter|former)\s+(?:bound|claim|part|statement|inequality)\b", re.I
)
"""Words of a proof that speak of one of several claims."""


def behind_defects(paper: Paper) -> Iterator[Defect]:
    """Every display of a proof with what the words before it cite."""
    goals = {proof: dict(_goals(home)) for proof, home in proved_in(paper).items()}
    for clause in clauses(paper):
        if clause.passage.kind == "proof" and clause.passage.of:
            for number, printed in _leaned(clause):
                cited = paper.numbered.get(number)
                if cited is None:
                    continue
                if cited.read.formula.n > printed.read.formula.n or cited is printed:
                    yield from _later(paper, clause, number, cited, printed)
                elif number in goals.get(id(clause.passage), {}) and not _reached(clause.passage, cited, printed):
                    title = f"({number}) is a premise in the proof of {clause.passage.of}, which claims it"
                    yield told(paper, clause, title, [number])


def _leaned(clause: Clause) -> Iterator[tuple[str, Sentence]]:
    """Numbers of relations on which a display rests by the words before it."""
    before = ""
    for printed, said in clause.displays():
        before += said + HOLE
        if AHEAD.search(before):
            return
        for found in EQUATION.finditer(said):
            head = said[: found.start()]
            if (LEANS.search(head) or GIVES.match(said, found.end())) and not CONCLUDES.search(head):
                yield found["named"] or found["bare"], printed


def _later(paper: Paper, clause: Clause, number: str, cited: Sentence, printed: Sentence) -> Iterator[Defect]:
    """What stands behind a step: in the same proof, or as a step of another one."""
    if cited.unit == printed.unit:
        where = "is what the step gives" if cited is printed else "stands behind the step in the same proof"
        yield told(paper, clause, f"({number}) is used for a step, and it {where}", [number])
    elif cited.unit.startswith("proof of") and cited.home != printed.home:
        where = cited.unit.replace("-", " ")
        title = f"({number}) is used here, and is printed only later, in the {where}"
        yield told(paper, clause, title, [number])


def _goals(home: Passage) -> Iterator[tuple[str, Sentence]]:
    """The numbered displays that a statement claims; none of one that supposes or names what it displays."""
    if home.kind in PROMISES:
        for clause in clauses_of(home):
            for place, formula in enumerate(clause.formulas):
                number = formula.read.formula.number
                shown = number and formula.read.formula.kind == "display"
                if shown and CLAIMS.search(clause.before(place)) and not supposes(clause, place):
                    yield number, formula


def _reached(passage: Passage, goal: Sentence, printed: Sentence) -> bool:
    """Whether a proof speaks of a claim before a step of it, or has its left side before."""
    words = passage.words.split(HOLE)
    ahead = [s for s in passage.formulas if s.read.formula.n < printed.read.formula.n]
    before = HOLE.join(words[: len(ahead) + 1])
    mine = {b.left for b in bounds_of(goal)}
    number = f"({goal.read.formula.number})"
    spoken = before.count(number) > 1 or PARTS.search(before) is not None
    return spoken or any(b.left in mine for s in ahead for b in bounds_of(s))
