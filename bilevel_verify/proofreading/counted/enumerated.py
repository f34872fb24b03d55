"""Cases that are numbered or named: ``Case 1, Case 2`` and ``in the three cases``; ``in case (U)`` and ``in case (S)``.

A right text has as many cases as it says, and a proof that names one of the cases of its statement speaks of the
others, by name or as ``the other case``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bilevel_verify.proofreading.counted.numerals import CARDINALS
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.promises.conclusions import own_proofs
from bilevel_verify.proofreading.source import Paper, Passage

HEADING = re.compile(r"\bCase (?P<number>\d+)\s*(?:[:.(]|\x01|--)")
SAID = re.compile(
    rf"\b(?:in|all|of|these|the)\s+(?:all\s+)?(?:the\s+)?(?P<number>{'|'.join(CARDINALS[2:])})\s+cases\b", re.I
)
NAMED = re.compile(r"\bcases? \((?P<name>[A-Za-z]{1,4})\)(?P<more>(?:(?:, | and |, and )\([A-Za-z]{1,4}\))*)", re.I)
ONE = re.compile(r"\(([A-Za-z]{1,4})\)")
OTHERS = re.compile(
    r"\b(?:other|otherwise|both|same|similar\w*|analog\w*|likewise|symmetr\w*|either|all|each|every|remain\w*|now|assume"
    r"|suppose|let|if|next|finally|further)\b",
    re.I,
)


def enumerated_joints(paper: Paper) -> Iterator[Judged]:
    """The cases of every proof."""
    for home in paper.stated.values():
        for proof in own_proofs(paper, home.name):
            yield from _numbered(home, proof)
            yield from _named(home, proof)


def _numbered(home: Passage, proof: Passage) -> Iterator[Judged]:
    numbers = {int(found["number"]) for found in HEADING.finditer(proof.words)}
    said = [CARDINALS.index(found["number"].lower()) for found in SAID.finditer(proof.words)]
    if not numbers or numbers != {*range(1, len(numbers) + 1)} or not said:
        return
    joint = f"the numbered cases of the proof of {home.name} and the number of cases that it says"
    if max(said) <= len(numbers):
        yield Judged("total", _place(proof), joint, "holds")
        return
    title = f"the proof of {home.name} says {max(said)} cases, and has {len(numbers)}"
    yield _told(proof, joint, title)


def _named(home: Passage, proof: Passage) -> Iterator[Judged]:
    """``Let C = 2 in case (U) and C = 3 in case (S)`` of which the proof has one."""
    stated, shown = _names(home.words), _names(proof.words)
    missing = sorted(stated - {*ONE.findall(proof.words)})
    if len(stated) < 2 or not shown & stated:
        return
    joint = f"the cases of {home.name} and those of its proof"
    if not missing:
        yield Judged("total", _place(proof), joint, "holds")
    elif not OTHERS.search(proof.words):
        title = f"the proof of {home.name} has no case ({missing[0]}), of which {home.name} speaks"
        yield _told(proof, joint, title)


def _names(words: str) -> set[str]:
    return {name for found in NAMED.finditer(words) for name in ONE.findall(found[0])}


def _place(proof: Passage) -> str:
    return proof.formulas[0].place if proof.formulas else f"proof of {proof.of}"


def _told(proof: Passage, joint: str, title: str) -> Judged:
    defect = Defect("total", _place(proof), title, "breaks the statement", "", (), unit=proof.id)
    return Judged("total", _place(proof), joint, "refuted", title, defect)
