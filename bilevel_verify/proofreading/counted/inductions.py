"""Inductions without a beginning, and steps of them that hold in one of two cases only.

A right text cannot be told: an induction that is written out says where it begins, by a number of its letter, an entry
with a number as its index or in words. "For all t >= 0" is not shown by a proof of the claim for t + 1 alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.names.occurrences import whole
from bilevel_verify.proofreading.promises.conclusions import own_proofs
from bilevel_verify.proofreading.source import Paper, Passage, Sentence
from bilevel_verify.theorems.rewrite import substitute

STEP = re.compile(r"\b(?:[Ii]f|suppos\w+(?: that)?|assum\w+(?: that)?) \((?P<number>\d+)\) (?:holds|is true) for \x01")
BEGINS = re.compile(
    r"\b(?:base|trivial\w*|start\w*|begin\w*|initial\w*|first|clear\w*|obvious\w*|assumed|smallest)\b", re.I
)
POSITIVE = re.compile(r"\bIf (?:the |an )?\w+ (?:\x01 )?is (?!not\b)(?P<what>\w+)\b")
NEGATIVE = re.compile(r"\bIf (?:it|the \w+|\w+ \x01) is not (?P<what>\w+)\b")


def induction_joints(paper: Paper) -> Iterator[Judged]:
    """Every proof that goes from one number to the next."""
    for name, home in paper.stated.items():
        for proof in own_proofs(paper, name):
            words = " ".join(proof.words.split())
            step = STEP.search(words)
            if step is not None and not _begins(words, proof):
                title = f"the induction from ({step['number']}) has no beginning: only the step is proved"
                yield _told(proof, home, title)
            elif step is None and "induct" not in words and not _begins(words, proof):
                yield from _next_alone(home, proof)
            yield from _half(home, proof, words)


def _begins(words: str, proof: Passage) -> bool:
    """Whether a proof speaks of a first number, or has an entry with a number as its index."""
    if BEGINS.search(words):
        return True
    for sentence in proof.formulas:
        for chain in sentence.chains():
            if (
                chain.equation is not None
                and isinstance(chain.equation[0], tree.Letter)
                and whole(chain.equation[1]) is not None
            ):
                return True
        parts = [p for node in sentence.nodes() for p in node.walk()]
        if any(isinstance(p, tree.Index) and any(whole(i) is not None for i in p.indices) for p in parts):
            return True
    return False


def _next_alone(home: Passage, proof: Passage) -> Iterator[Judged]:
    """A claim for all ``t >= 0`` whose proof ends with it for ``t + 1``, and puts it in for ``t`` on the way."""
    for letter in _from_zero(home):
        after = {letter: tree.Add((tree.Letter(letter), tree.signed(1)))}
        for claim in (c for s in home.formulas for c in s.chains() if len(c.members) > 1):
            left, rights = claim.members[0], claim.members[1:]
            for sentence in proof.formulas:
                for chain in sentence.chains():
                    ends = [to_text(m) for m in chain.members[1:]]
                    moved = [to_text(substitute(r, after)) for r in rights]
                    used = any(to_text(left) in to_text(m) for m in chain.members[1:])
                    same = to_text(substitute(left, after)) == to_text(chain.members[0]) != to_text(left)
                    if same and used and set(ends) & set(moved):
                        yield _told(
                            proof, home, f"{home.name} is said from {letter} = 0 on, and proved for {letter} + 1 alone"
                        )
                        return


def _from_zero(home: Passage) -> Iterator[str]:
    for sentence in home.formulas:
        for chain in sentence.chains():
            for left, relation, right in chain.links():
                if isinstance(left, tree.Letter) and relation.word == ">=" and tree.is_zero(right):
                    yield left.name


def _half(home: Passage, proof: Passage, words: str) -> Iterator[Judged]:
    """``If it is not successful`` in an induction without the other case, or the other way round."""
    if "induction" not in words:
        return
    yes, no = ({m["what"] for m in pattern.finditer(words)} for pattern in (POSITIVE, NEGATIVE))
    if re.search(r"\b[Oo]therwise\b|\bun\w+ful\b|\bother case\b|\belse\b", words):
        return
    for what in sorted(yes ^ no):
        if what not in home.words and len(yes | no) == 1:
            other = f"not {what}" if what in yes else what
            yield _told(
                proof, home, f"the induction is proved in one of two cases: nothing is said where it is {other}"
            )


def _told(proof: Passage, home: Passage, title: str) -> Judged:
    place = proof.formulas[0].place if proof.formulas else f"proof of {home.name}"
    shown: tuple[Sentence, ...] = proof.formulas[:1]
    evidence = tuple(s.latex for s in shown)
    defect = Defect("total", place, title, "local slip", "", evidence, unit=shown[0].unit if shown else proof.id)
    return Judged("total", place, f"the induction in the proof of {home.name}", "refuted", title, defect)
