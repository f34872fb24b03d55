"""``We sum (5) over k``: the relation that is summed has the index."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bilevel_verify.language import tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.clauses import HOLE, clauses
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.source import Paper
from bilevel_verify.theorems.rewrite import free_letters

SUMS = re.compile(
    r"\bsum(?:s|med|ming)?\s+(?:up\s+)?(?:the\s+)?(?:inequality\s+|equation\s+)?\(?(?P<number>\d+[a-z]?)\)?"
    r"[^.\x01]{0,60}?\b(?:over|from|for)\s*\Z",
    re.I,
)


def summed_joints(paper: Paper) -> Iterator[Judged]:
    """``Summing (5) over k = 0, ..., K - 1``: the relation has an index that can run."""
    for clause in clauses(paper):
        for place, sentence in enumerate(clause.formulas):
            said = SUMS.search(clause.before(place))
            source = paper.numbered.get(said["number"]) if said is not None else None
            letters = sorted(
                {c.members[0].name for c in sentence.chains() if c.members and isinstance(c.members[0], tree.Letter)}
            )
            if source is None or not source.read.statements or len(letters) != 1:
                continue
            name, number = letters[0], source.read.formula.number
            joint = f"({number}) summed over {name}"
            if any(name in free_letters(n) for n in source.nodes()):
                yield Judged("citation", sentence.place, joint, "holds")
                continue
            title = f"({number}) is summed over {name}, and no {name} stands free in it"
            evidence = (
                f"({number}): {to_text_of(source)}",
                f"here: {clause.before(place).split(HOLE)[-1].strip()} {to_text_of(sentence)}",
            )
            defect = Defect("citation", sentence.place, title, "local slip", source.latex, evidence, unit=sentence.unit)
            yield Judged("citation", sentence.place, joint, "refuted", f"no {name} stands free in it", defect)
