"""Citations of an item: what follows ``By Lemma 1(i)`` speaks of functions of this item, and not of those of (ii)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bilevel_verify.language import tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.clauses import HOLE, Clause, clauses
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.source import Paper, Passage, Sentence

KINDS = r"(?:Lemma|Theorem|Proposition|Corollary)"
ITEM = re.compile(r"\((?P<item>[ivx]{1,4}|[a-h])\)")
BY_ITEM = re.compile(rf"\bBy (?P<name>{KINDS} (?:[A-Z]\.?)?\d+(?:\.\d+)*) ?\((?P<item>[ivx]{{1,4}}|[a-h])\) ?, ?\x01")
PLAIN = frozenset(("norm", "norm_2", "inner", "abs", "sqrt", "sum", "min", "max", "expectation", "log", "exp", "E"))
"""Functions that say nothing of what a relation is about."""


def placed_joints(paper: Paper) -> Iterator[Judged]:
    """The citations of every proof."""
    for clause in clauses(paper):
        yield from _items(paper, clause)


def _items(paper: Paper, clause: Clause) -> Iterator[Judged]:
    found = BY_ITEM.search(clause.words)
    home = paper.stated.get(found["name"]) if found else None
    items = _items_of(home) if home is not None else {}
    if found is None or home is None or found["item"] not in items:
        return
    sentence = clause.formulas[clause.words[: found.end()].count(HOLE) - 1]
    about, cited = _about([sentence]), _about(items[found["item"]])
    fits = [item for item, formulas in items.items() if about <= _about(formulas)]
    if about and cited and not about & cited and len(fits) == 1:
        said = ", ".join(sorted(cited))
        title = f"{home.name}({found['item']}) is cited for {to_text_of(sentence)}, and is about {said}"
        evidence = tuple(f"({fits[0]}): {to_text_of(s)}" for s in items[fits[0]])
        yield _told(clause, f"{title}; ({fits[0]}) has {', '.join(sorted(about))}", evidence)


def _items_of(home: Passage) -> dict[str, list[Sentence]]:
    """The items of a statement with their formulas."""
    marks = list(ITEM.finditer(home.words))
    ends = [*(m.start() for m in marks[1:]), len(home.words)]
    found: dict[str, list[Sentence]] = {}
    for mark, end in zip(marks, ends, strict=True):
        first, last = home.words[: mark.end()].count(HOLE), home.words[:end].count(HOLE)
        found.setdefault(mark["item"], []).extend(home.formulas[first:last])
    return found


def _about(formulas: list[Sentence]) -> set[str]:
    """The functions that formulas are about; nothing where one of them was not read."""
    if any(not s.read.statements for s in formulas):
        return set()
    return {f for s in formulas for node in s.nodes() for f in tree.functions(node)} - PLAIN


def _told(clause: Clause, title: str, evidence: tuple[str, ...]) -> Judged:
    place = clause.formulas[0].place if clause.formulas else f"proof of {clause.passage.of}"
    latex = clause.formulas[0].latex if clause.formulas else ""
    defect = Defect("citation", place, title, "wording", latex, evidence, unit=clause.passage.id)
    return Judged("citation", place, "a citation and its place", "refuted", title, defect)
