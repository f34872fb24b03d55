"""``draw x uniformly from {x_0, ..., x_{m-1}}``: the list of an algorithm against the one of which the text speaks.

The text that says again of what list a point is drawn says the same list. Two lists of one sequence for one point, with
other ends, are no quotation of each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.counted.numerals import span_of
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.clauses import HOLE
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.source import Paper, Passage, Sentence

DRAWN = re.compile(
    r"\x01 (?:is |be |are )?(?:drawn |chosen |picked |sampled |distributed )?(?:uniformly|uniform)(?: at random)?"
    r"(?: (?:drawn|chosen|picked|sampled|distributed))? (?:from|on|over|among) (?:the set )?\x01", re.I
)  # fmt: skip
Draw = tuple[tree.Node, str, tree.Node, tree.Node]
"""What is drawn, and the sequence with its first and last index."""


def sampled_joints(paper: Paper) -> Iterator[Judged]:
    """Every point that an algorithm draws from a list and the text speaks of again."""
    listed = [d for p in paper.passages if p.kind == "algorithm" for d in _draws(p)]
    for passage in (p for p in paper.passages if p.kind != "algorithm"):
        for sentence, (point, base, low, high) in _draws(passage):
            same = [(s, d) for s, d in listed if d[0] == point and d[1] == base]
            if len(same) != 1:
                continue
            joint = f"the list {to_text_of(sentence)} of {to_text(point)} and that of the algorithm"
            if same[0][1][2:] == (low, high):
                yield Judged("total", sentence.place, joint, "holds")
                continue
            here, there = to_text_of(sentence), to_text_of(same[0][0])
            title = f"{to_text(point)} is said to be drawn from {here}, and the algorithm draws from {there}"
            defect = Defect("total", sentence.place, title, "local slip", sentence.latex, (), unit=sentence.unit)
            yield Judged("total", sentence.place, joint, "refuted", title, defect)


def _draws(passage: Passage) -> Iterator[tuple[Sentence, Draw]]:
    words = re.sub(r"\s+", " ", passage.words)
    if words.count(HOLE) != len(passage.formulas):
        return
    for found in DRAWN.finditer(words):
        first = words[: found.start()].count(HOLE)
        point, listed = list(passage.formulas[first].nodes()), passage.formulas[first + 1]
        span = span_of(listed)
        if len(point) == 1 and span is not None and span[0]:
            yield listed, (point[0], *span)
