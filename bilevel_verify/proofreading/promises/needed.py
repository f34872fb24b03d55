"""``with eta <= 1/L`` in a proof: a condition on a parameter that the proof uses, and its statement nowhere assumes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from typing import TYPE_CHECKING

from bilevel_verify.drafting.letters import plain
from bilevel_verify.language import to_text, tree
from bilevel_verify.latex.statements import ORDERED
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.clauses import clauses
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.parameters import (
    INHERITS,
    Frame,
    compares,
    frame_of,
    is_weaker,
    ratio,
)
from bilevel_verify.proofreading.promises.conclusions import proved_in
from bilevel_verify.proofreading.source import PROMISES, Paper, Passage, Sentence
from bilevel_verify.theorems.rewrite import free_letters
from bilevel_verify.theorems.vocabulary import NUMBERS

if TYPE_CHECKING:
    from bilevel_verify.drafting.draft import Draft

PUT_IN = re.compile(r"\b(?:with|since|as|and|substituting|plugging|because)\s*\Z", re.I)
USED = re.compile(r"\b(?:with|since|as|using|use|because|by)\s*\Z", re.I)


def needed_joints(paper: Paper, draft: Draft) -> Iterator[Judged]:
    """Conditions that a proof uses, one relation between letters each, against what is said outside of all proofs."""
    own = proved_in(paper)
    frames = {id(p): frame_of(draft, n) for n, p in enumerate(paper.passages) if p in own.values()}
    for clause in clauses(paper):
        home = own.get(id(clause.passage))
        if home is None or INHERITS.search(home.words):
            continue
        for place, sentence in enumerate(clause.formulas):
            if PUT_IN.search(clause.before(place)):
                yield from _of_others(paper, draft, sentence, home, frames[id(home)])
            letter = _bounded(sentence, paper.notation.functions) if USED.search(clause.before(place)) else ""
            if letter:
                yield _narrower(paper, sentence, letter, home, frames[id(home)]) or _judged(
                    sentence, letter, home, _said(paper, clause.passage, home, letter, sentence)
                )


def _of_others(paper: Paper, draft: Draft, sentence: Sentence, home: Passage, frame: Frame) -> Iterator[Judged]:
    """``with eta = 1/L`` in the proof of a statement that says nothing of eta, where other statements assume it."""
    chains = list(sentence.chains())
    if sentence.read.formula.kind == "display" or len(chains) != 1 or [r.word for r in chains[0].relations] != ["=="]:
        return
    letter, value = chains[0].members
    if not isinstance(letter, tree.Letter) or not plain(value) or letter.name in frame.define or not frame.complete:
        return
    tied = any(letter.name in free_letters(w) and not any(map(tree.is_zero, w.operands))
               for w in frame.where if isinstance(w, tree.Compare))  # fmt: skip
    numbers = {p.name: n for n, p in enumerate(paper.passages) if paper.stated.get(p.name) is p and p is not home}
    others = [name for name, n in numbers.items() if frame_of(draft, n).define.get(letter.name) == value]
    if tied or not others:
        return
    joint = f"{to_text_of(sentence)}, used in the proof of {home.name}"
    title = f"the proof of {home.name} uses {letter.name} = {to_text(value)}, which {others[0]} assumes and it does not"
    evidence = (f"used: {to_text_of(sentence)}", f"{home.name}: " + "; ".join(to_text_of(s) for s in home.formulas))
    defect = Defect("premise", sentence.place, title, "breaks the statement", sentence.latex, evidence,
                    f"needed {letter.name} {home.id}", sentence.unit)  # fmt: skip
    yield Judged("premise", sentence.place, joint, "refuted", "its statement does not assume it", defect)


def _narrower(paper: Paper, sentence: Sentence, letter: str, home: Passage, frame: Frame) -> Judged | None:
    """A proof that uses ``eta <= 1/L`` where its statement assumes ``eta <= 4/L``, or sets ``eta = 4/L``."""
    (chain,) = sentence.chains()
    condition = chain.tree
    if not isinstance(condition, tree.Compare) or _compared_in_text(paper, letter):
        return None
    times = ratio(condition, frame)
    given = next((w for w in frame.own if is_weaker(w, condition)), None)
    if given is None and (times is None or compares(times, condition.operators[0])):
        return None
    assumed = to_text(given) if given is not None else f"{letter} = {to_text(frame.define.get(letter, condition))}"
    title = f"the proof of {home.name} uses {to_text(condition)}, and {home.name} assumes {assumed}"
    evidence = (f"used: {to_text_of(sentence)}", f"{home.name}: " + "; ".join(to_text_of(s) for s in home.formulas))
    defect = Defect("premise", sentence.place, title, "breaks the statement", sentence.latex, evidence,
                    f"needed {letter} {home.id}", sentence.unit)  # fmt: skip
    joint = f"{to_text_of(sentence)}, used in the proof of {home.name}"
    return Judged("premise", sentence.place, joint, "refuted", "its statement assumes less", defect)


def _compared_in_text(paper: Paper, letter: str) -> bool:
    """Whether an assumption or the text around bounds the letter by more than its sign."""
    for sentence in (s for p in paper.passages if p.kind not in (*PROMISES, "proof") for s in p.formulas):
        for chain in sentence.chains():
            compared = any(r.word in ORDERED for r in chain.relations) and not any(map(tree.is_zero, chain.members))
            if compared and any(isinstance(m, tree.Letter) and m.name == letter for m in chain.members):
                return True
    return False


def _bounded(sentence: Sentence, functions: Set[str]) -> str:
    """The letter that a relation between numbers bounds; a function has a bound of its values."""
    chains = list(sentence.chains())
    if sentence.read.formula.kind == "display" or len(chains) != 1 or len(chains[0].relations) != 1:
        return ""
    left, right = chains[0].members if len(chains[0].members) == 2 else (None, None)
    if (
        not isinstance(left, tree.Letter)
        or left.name in functions
        or right is None
        or chains[0].relations[0].word not in ORDERED
    ):
        return ""
    others = free_letters(right) - NUMBERS
    meant = isinstance(right, tree.Letter)  # an order between constants may be: mu <= L
    return left.name if plain(right) and others and left.name not in others and not meant else ""


def _said(paper: Paper, proof: Passage, home: Passage, letter: str, used: Sentence) -> bool:
    """Whether anything but other statements and their proofs says more of the letter than its sign."""
    for passage in paper.passages:
        if passage is not home and passage is not proof and (passage.kind in PROMISES or passage.kind == "proof"):
            continue
        for sentence in passage.formulas:
            if passage is proof and sentence.read.formula.n >= used.read.formula.n:
                break
            for chain in sentence.chains():
                sides = [*chain.members, *(m for c in chain.conditions for m in c.members)]
                signed = any(tree.is_zero(m) for m in sides) and len(sides) == 2
                related = bool(chain.relations or chain.conditions) and not signed
                if related and any(letter in tree.letters(m) for m in sides if plain(m) or isinstance(m, tree.Letter)):
                    return True
    return False


def _judged(sentence: Sentence, letter: str, home: Passage, said: bool) -> Judged:
    joint = f"{to_text_of(sentence)}, used in the proof of {home.name}"
    if said:
        return Judged("premise", sentence.place, joint, "undecided", "more than its sign is said of the letter")
    title = f"the proof of {home.name} uses a bound of {letter}, and {home.name} says nothing about {letter}"
    evidence = (f"used: {to_text_of(sentence)}", f"{home.name}: " + "; ".join(to_text_of(s) for s in home.formulas))
    defect = Defect("premise", sentence.place, title, "breaks the statement", sentence.latex, evidence,
                    f"needed {letter} {home.id}", sentence.unit)  # fmt: skip
    return Judged("premise", sentence.place, joint, "refuted", "no hypothesis is about it", defect)
