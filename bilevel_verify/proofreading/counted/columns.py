"""Tables against themselves: ``N`` calls in each of K iterations are ``KN`` in total, in every row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from bilevel_verify.proofreading.algorithms.polynomials import NoCount, Polynomial, polynomial, shown, times
from bilevel_verify.proofreading.counted.tables import MATH, Table, read_cell, tables_of
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.source import Paper

PER = re.compile(r"\b(?:per|each|every|one) (?:\w+ )?(?:iteration|step|epoch|pass|round|stage)\b", re.I)
TOTAL = re.compile(r"\b(?:total|in all|altogether|overall)\b", re.I)


def column_joints(paper: Paper) -> Iterator[Judged]:
    """Every table of a paper."""
    for table in tables_of(paper.text):
        yield from _totals(paper, table)


def _count(paper: Paper, text: str) -> Polynomial | None:
    """The number that a cell is."""
    found = MATH.fullmatch(text.strip())
    sentence = read_cell(paper, found[1]) if found is not None else None
    nodes = list(sentence.nodes()) if sentence is not None else []
    try:
        return polynomial(nodes[0]) if len(nodes) == 1 else None
    except NoCount:
        return None


def _totals(paper: Paper, table: Table) -> Iterator[Judged]:
    """Of three rows or more: the number of passes is the same in all of them but one."""
    heads = table.rows[0]
    per = [n for n, head in enumerate(heads) if PER.search(head)]
    total = [n for n, head in enumerate(heads) if TOTAL.search(head) and not PER.search(head)]
    if len(per) != 1 or len(total) != 1:
        return
    rows = [(row, _count(paper, row[per[0]]), _count(paper, row[total[0]])) for row in table.rows[1:]
            if len(row) == len(heads)]  # fmt: skip
    known = [(row, one, all_) for row, one, all_ in rows if one and all_ and len(one) == len(all_) == 1]
    passes = Counter(p for _, one, all_ in known if (p := _quotient(all_, one)) is not None)
    best = passes.most_common(1)
    if len(known) < 3 or not best or best[0][1] < len(known) - 1:
        return
    letters = {best[0][0]: Fraction(1)}
    for row, one, all_ in known:
        counted = Counter(best[0][0])
        if all_ != times(one, letters) and not counted - Counter(next(iter(all_))):
            place = f"Table {table.number}, row {' '.join(row[0].split())}, column {heads[total[0]]}"
            title = f"{shown(one)} in each pass are {shown(times(one, letters))} in total, and not {shown(all_)}"
            defect = Defect("table", place, title, "changes a constant or a rate", row[total[0]].strip("$ "))
            joint = "the row and the number of passes of the other rows"
            yield Judged("table", place, joint, "refuted", title, defect)


def _quotient(whole: Polynomial, part: Polynomial) -> tuple[str, ...] | None:
    """The letters of a product that a smaller one is multiplied by."""
    ((all_, number),), ((one, other),) = whole.items(), part.items()
    left = Counter(all_) - Counter(one)
    return tuple(sorted(left.elements())) if number == other and not Counter(one) - Counter(all_) else None
