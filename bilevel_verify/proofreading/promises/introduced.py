"""A letter in what a statement promises that nothing introduces: no text, no hypothesis, no statement before it.

A right text cannot be told: what it speaks of stands somewhere by itself, in a relation, in an algorithm or in the
text. Letters of formulas that were not read, indices and bound letters are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from bilevel_verify.language import tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.names.occurrences import ends_of_sums, uses
from bilevel_verify.proofreading.promises.conclusions import own_proofs
from bilevel_verify.proofreading.promises.said import names_of, supposed_in
from bilevel_verify.proofreading.source import PROMISES, Paper, Passage, Sentence
from bilevel_verify.theorems.rewrite import free_letters
from bilevel_verify.theorems.vocabulary import NUMBERS


def introduction_defects(paper: Paper) -> Iterator[Defect]:
    """Letters of the relations that statements with a proof promise."""
    if not paper.guessed:
        return
    around = {n for p in paper.passages if p.kind not in (*PROMISES, "proof") for s in p.formulas
              for node in s.nodes() for n in names_of(node)}  # fmt: skip
    running = {u.name for s in paper.sentences for n in s.nodes() for u in uses(n) if u.base or u.binder is not None}
    silent = around | running | paper.notation.indices | NUMBERS | paper.notation.functions
    for place, home in enumerate(paper.passages):
        if home.kind in PROMISES and own_proofs(paper, home.name):
            yield from _of(paper, home, place, frozenset(silent), frozenset(running))


def _of(paper: Paper, home: Passage, place: int, silent: frozenset[str], running: frozenset[str]) -> Iterator[Defect]:
    supposed = supposed_in(home)
    for sentence in (s for s in home.formulas if s not in supposed and s.read.formula.kind == "display"):
        related = [m for c in sentence.chains() for m in c.members if c.relations]
        names = {p.name for m in related for p in m.walk() if isinstance(p, tree.Letter)} - silent
        names &= {n for m in related for n in free_letters(m)}
        for name in sorted(n for n in names if not _is_entry(n, silent, paper.notation.indices)):
            if ends_of_sums(related, name) > 1:  # a statement about sums, of any length
                continue
            if any(_introduces(s, name) for p in paper.passages[: place + 1] for s in p.formulas):
                continue
            if any(_defines(s, name) for p in paper.passages for s in p.formulas if p.of == home.name):
                continue
            if any(_supposes(s, name) for s in supposed) or any(_mentions(s, name) for s in paper.unread):
                continue
            title = f"{home.name} speaks of {name}, and nothing introduces it"
            yield Defect("letter", sentence.place, title, "wording", sentence.latex, (to_text_of(sentence),),
                         f"introduced {name}", sentence.unit)  # fmt: skip


def _is_entry(name: str, silent: frozenset[str], indices: frozenset[str]) -> bool:
    """Whether it is an entry of a sequence that was read as a letter, ``x_K``."""
    base, *parts = name.split("_")
    return base in silent and bool(parts) and all(p in indices or p.isdigit() or p.isupper() for p in parts)


def _defines(sentence: Sentence, name: str) -> bool:
    """Whether a formula gives the letter its value."""
    return any(c.equation is not None and c.equation[0] == tree.Letter(name) for c in sentence.chains())


def _introduces(sentence: Sentence, name: str) -> bool:
    """Whether the letter stands alone, as a side of a relation or among others."""
    for chain in sentence.chains():
        for member in (*chain.members, *(m for c in chain.conditions for m in c.members)):
            items = member.items if isinstance(member, tree.Tuple) else (member,)
            if any(item == tree.Letter(name) for item in items):
                return True
    return False


def _supposes(sentence: Sentence, name: str) -> bool:
    """Whether a hypothesis is about the letter, and does not only give the value of another one."""
    for chain in sentence.chains():
        sides = chain.members[:1] if chain.equation is not None else chain.members
        if any(name in tree.letters(m) for m in sides):
            return True
        if any(isinstance(m, tree.Add) and tree.Letter(name) in m.terms for m in chain.members):  # b + e: a change of b
            return True
    return False


def _mentions(sentence: Sentence, name: str) -> bool:
    return name.split("_")[0] in to_text_of(sentence)
