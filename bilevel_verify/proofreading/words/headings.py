"""The heading of a proof against the statement behind which it stands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.clauses import named_in
from bilevel_verify.proofreading.source import PROMISES, Paper, Passage

MORE = re.compile(r"\b(?:sketch|idea|outline|second|another|alternative|continued|continuation|part|parts)\b", re.I)
"""A statement with such a proof may have one more."""
OTHERS = re.compile(r"\[|\bsee\b|\d{4}")
"""What a name has whose statement is proved elsewhere."""


def heading_defects(paper: Paper) -> Iterator[Defect]:
    """A proof behind one statement that is headed as the proof of another, which has one: the first then has none.

    A proof that cites the statement before it uses it, and is of another one.
    """
    proofs = [p for p in paper.passages if p.kind == "proof"]
    count = Counter(p.of for p in proofs)
    told = [p for p in paper.passages if p.kind != "text" or p.words.strip()]
    for before, proof in pairwise(told):
        if before.kind not in PROMISES or proof.kind != "proof" or not proof.says_of:
            continue
        loose = before.name in paper.stated and not count[before.name] and not OTHERS.search(before.words[:80])
        if not loose or proof.of == before.name or count[proof.of] < 2 or before.name in named_in(_body(proof)):
            continue
        if not any(MORE.search(p.name or p.words[:80]) for p in proofs if p.of == proof.of):
            title = f"a proof of {proof.of} stands behind {before.name}, which has none; {proof.of} has two"
            yield Defect("citation", f"{before.name}, proof", title, "local slip", "",
                         (proof.words[:120],), f"heading {title}", before.id)  # fmt: skip


def _body(proof: Passage) -> str:
    """The words of a proof without its heading."""
    return proof.words.partition(proof.of)[2] if proof.of in proof.words[:80] else proof.words
