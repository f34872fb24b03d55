"""Premises of a proof that are printed only later, inside the proof of another statement.

A statement may be used before it is proved; a step of its proof has no meaning before that proof has begun.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.clauses import HOLE, Clause, clauses, numbered_in
from bilevel_verify.proofreading.source import Paper

LEANS = re.compile(
    r"\b(?:by|from|using|uses|combin\w+|connecting|plug\w*|substitut\w+|insert\w*|into|with|add(?:ing)?|summing"
    r"|due to)\b",
    re.I,
)
AHEAD = re.compile(
    r"\b(?:below|later|see|similar\w*|analog\w*|like|as in|section|appendix|sec\.|next|prove|show|shown|defer\w*"
    r"|follow\w*|compare|instead of|recall)\b",
    re.I,
)
"""Words that speak of what is still to come, or of another place."""


def behind_defects(paper: Paper) -> Iterator[Defect]:
    """Every sentence of a proof with a result behind what it cites."""
    for clause in clauses(paper):
        if clause.passage.kind == "proof" and clause.passage.of and HOLE in clause.words:
            yield from _behind(paper, clause)


def _behind(paper: Paper, clause: Clause) -> Iterator[Defect]:
    said = clause.before(len(clause.formulas) - 1)
    if not LEANS.search(said) or AHEAD.search(clause.words):
        return
    own, here = clause.formulas[0], clause.formulas[-1]
    for number in numbered_in(said):
        cited = paper.numbered.get(number)
        if cited is None or cited.read.formula.n <= here.read.formula.n or cited.home == own.home:
            continue
        if cited.unit.startswith("proof of"):
            title = f"({number}) is used here, and is printed only later, in the {cited.unit.replace('-', ' ')}"
            yield Defect("citation", own.place, title, "wording", own.latex,
                         (f"({number}): {to_text_of(cited)}", f"the words: {said.replace(HOLE, '...')[-160:]}"),
                         f"{title} {own.place}", clause.passage.id)  # fmt: skip
