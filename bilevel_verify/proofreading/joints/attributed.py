"""What single steps of a chain rest on by the words behind it: ``(11) in <=``, ``the last step uses Lemma 3``.

Every step has a mark that the words repeat, or its place: the first inequality, the second one, the last step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bilevel_verify.language import tree
from bilevel_verify.latex.statements import EQUATES
from bilevel_verify.proofreading.joints.clauses import HOLE, Clause
from bilevel_verify.proofreading.source import Sentence

MARKED = re.compile(r"(?:stackrel|overset)\s*\{(?P<over>.*)\}\s*\{|\A\s*\^\{?(?P<up>[^{}]*)\}?\s*\Z", re.S)
MARK = re.compile(r"(?<![a-z\\])[a-h](?![a-z])")
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
NTH = rf"(?P<nth>{'|'.join(ORDINALS)}|last)\s+(?P<what>inequality|equality|step|one|equation)\b"
RESTS = r"uses?|is (?:due to|based on|by|from)|holds (?:due to|by|because of)|follows from|comes from|applies"
BEHIND = re.compile(rf"\bthe {NTH}\s+(?:{RESTS}|using|is that of|holds from|relies on|by)\b", re.I)
"""``the second one uses ...``"""
IN_NTH = re.compile(rf"\bin the {NTH}", re.I)
"""``... in the second inequality``"""
USES = re.compile(rf"\A\s*(?:{RESTS})\b")
FURTHEST = 8
"""Displays back in a passage in which a mark is looked for."""


@dataclass(frozen=True, slots=True)
class Attributed:
    """One step of a chain with the words that say what it rests on, and the formulas that stand in them."""

    printed: Sentence
    left: tree.Node
    word: str
    right: tree.Node
    words: str
    formulas: tuple[Sentence, ...]


def attributed(clause: Clause) -> Iterator[Attributed]:
    """Every step of the displays of a sentence, and of the ones before it, for which its words say something."""
    yield from _by_marks(clause)
    yield from _by_places(clause)


def _mark(label: str) -> str:
    """The letter of a label; empty where there is none, or more than one."""
    letters = MARK.findall(re.sub(r"\\[a-z]+", " ", label))
    return letters[0] if len(letters) == 1 else ""


def _mark_of(latex: str) -> str:
    """The letter over a sign of relation that stands by itself in a sentence."""
    found = MARKED.search(latex)
    return _mark(found["over"] or found["up"] or "") if found is not None else ""


def _by_marks(clause: Clause) -> Iterator[Attributed]:
    """Words between two marks belong to the mark behind them, or to the one before them (``(a) uses``)."""
    shown = [i for i, f in enumerate(clause.formulas) if f.read.formula.kind == "display"]
    every = [(i, m) for i, f in enumerate(clause.formulas) if i not in shown and (m := _mark_of(f.latex))]
    marks = [(i, m) for i, m in every if not clause.formulas[i].read.statements] or every
    for order, (place, mark) in enumerate(marks):
        ahead = USES.match(clause.after(place)) is not None
        last = marks[order - 1][0] if order else max((i for i in shown if i < place), default=-1)
        after = marks[order + 1][0] if order + 1 < len(marks) else len(clause.formulas)
        first, end = (place, after) if ahead else (last, place)
        words = _between(clause, first, end)
        for printed, left, word, right in _marked(clause, place, mark):
            yield Attributed(printed, left, word, right, words, clause.formulas[first + 1 : end])


def _between(clause: Clause, first: int, end: int) -> str:
    """The words behind one formula and before another one."""
    start = len(clause.before(first)) + 1 if first >= 0 else 0
    return clause.words[start : len(clause.before(end)) if end < len(clause.formulas) else len(clause.words)]


def _marked(clause: Clause, place: int, mark: str) -> Iterator[tuple[Sentence, tree.Node, str, tree.Node]]:
    """The steps that carry a mark in the nearest display before it that has one."""
    n = clause.formulas[place].read.formula.n
    ahead = [s for s in clause.passage.formulas if s.read.formula.n < n and s.read.formula.kind == "display"]
    for printed in ahead[: -FURTHEST - 1 : -1]:
        links = [link for chain in printed.chains() for link in chain.links()]
        found = [(a, r.word, b) for a, r, b in links if _mark(r.label) == mark]
        if found:
            yield from ((printed, *one) for one in found)
            return


def _by_places(clause: Clause) -> Iterator[Attributed]:
    """``the last step uses ...`` and ``... in the last step``."""
    spans = [(m.end(), m, True) for m in BEHIND.finditer(clause.words)]
    spans += [(m.start(), m, False) for m in IN_NTH.finditer(clause.words)]
    cuts = sorted({0, len(clause.words), *(m.start() for _, m, _ in spans), *(m.end() for _, m, _ in spans)})
    for at, said, behind in spans:
        if behind:
            first, end = at, next(c for c in cuts if c > at or c == len(clause.words))
        else:
            first, end = max(c for c in cuts if c < at or c == 0), at
        held = clause.words[:first].count(HOLE), clause.words[:end].count(HOLE)
        inside = clause.formulas[held[0] : held[1]]
        shown = [f for f in clause.formulas[: held[0]] if f.read.formula.kind == "display"] or _last_shown(clause)
        if not shown or any(f.read.formula.kind == "display" for f in inside):
            first = clause.words.rfind(HOLE, first, end) + 1  # behind the display
            shown = [f for f in inside if f.read.formula.kind == "display"] or shown
            inside = ()
        for left, word, right in _nth(shown[-1], said) if shown else ():
            yield Attributed(shown[-1], left, word, right, clause.words[first:end], inside)


def _last_shown(clause: Clause) -> list[Sentence]:
    """The display right before a sentence without one: ``The last inequality uses ...``."""
    if not clause.formulas or any(f.read.formula.kind == "display" for f in clause.formulas):
        return []
    n = clause.formulas[0].read.formula.n
    ahead = [s for s in clause.passage.formulas if s.read.formula.n < n]
    return [s for s in ahead if s.read.formula.kind == "display"][-1:]


def _nth(shown: Sentence, said: re.Match[str]) -> Iterator[tuple[tree.Node, str, tree.Node]]:
    """The step that is meant; none where the chain is shorter, or inequalities and steps would be other ones."""
    chains = [list(c.links()) for c in shown.chains() if not c.continues]
    links = [(a, r.word, b) for a, r, b in (chains[0] if len(chains) == 1 else [])]
    equal = said["what"].lower() in ("equality", "equation")
    kind = [x for x in links if (x[1] in EQUATES) == equal] if said["what"].lower() not in ("step", "one") else links
    if said["what"].lower() == "one" and len({x[1] in EQUATES for x in links}) != 1:
        return
    nth = said["nth"].lower()
    place = len(kind) - 1 if nth == "last" else ORDINALS.index(nth)
    if 0 <= place < len(kind):
        yield kind[place]
