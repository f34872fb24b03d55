"""Citations of an item: what follows ``By Lemma 1(i)`` speaks of functions of this item, and not of those of (ii)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bilevel_verify.language import tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.clauses import HOLE, Clause, clauses
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.source import PROMISED, Paper, Passage, Sentence

ITEM = re.compile(r"\((?P<item>[ivx]{1,4}|[a-h])\)")
BY_ITEM = re.compile(rf"\bBy (?P<name>{PROMISED}) ?\((?P<item>[ivx]{{1,4}}|[a-h])\) ?, ?\x01")
PLAIN = frozenset(("norm", "norm_2", "inner", "abs", "sqrt", "sum", "min", "max", "expectation", "log", "exp", "E"))
"""Functions that say nothing of what a relation is about."""


def item_joints(paper: Paper) -> Iterator[Judged]:
    """Every sentence that begins with a citation of an item."""
    for clause in clauses(paper):
        found = BY_ITEM.search(clause.words)
        home = paper.stated.get(found["name"]) if found is not None else None
        items = _items_of(home) if home is not None else {}
        if found is not None and found["item"] in items:
            sentence = clause.formulas[clause.words[: found.end()].count(HOLE) - 1]
            yield from _judged(clause, f"{found['name']}({found['item']})", items, items[found["item"]], sentence)


def _judged(
    clause: Clause, name: str, items: Mapping[str, list[Sentence]], item: list[Sentence], sentence: Sentence
) -> Iterator[Judged]:
    about, cited = _about([sentence]), _about(item)
    fits = [one for one, formulas in items.items() if about <= _about(formulas)]
    if about and cited and not about & cited and len(fits) == 1:
        title = (
            f"{name} is cited for {to_text_of(sentence)}, and is about {', '.join(sorted(cited))}; "
            f"({fits[0]}) has {', '.join(sorted(about))}"
        )
        evidence = tuple(f"({fits[0]}): {to_text_of(s)}" for s in items[fits[0]])
        at = clause.formulas[0]
        defect = Defect("citation", at.place, title, "wording", at.latex, evidence, unit=clause.passage.id)
        yield Judged("citation", at.place, "a citation and its place", "refuted", title, defect)


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
