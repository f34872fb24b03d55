"""Tables against themselves and the text: columns of numbers per pass and in total, bounds of a section, cells quoted.

``N`` calls in each of K iterations are ``KN`` in total, in every row. A row that is named as a section is about the
bounds of this section: a cell with the letters and the number of one of them has its powers. ``The number 2k + 1
contains ...`` below a table is about a cell of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.algorithms.counting import NoCount, Polynomial, plus, polynomial, shown, times
from bilevel_verify.proofreading.counted.tables import MATH, ORDER, Table, read_cell, tables_of
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import bounds_of, exponents_differ, to_text_of
from bilevel_verify.proofreading.joints.clauses import clauses
from bilevel_verify.proofreading.joints.forms import Form, Formless, form_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.ties import letters_of
from bilevel_verify.proofreading.promises.said import last_side
from bilevel_verify.proofreading.source import PROMISES, Paper, Sentence

PER = re.compile(r"\b(?:per|each|every|one) (?:\w+ )?(?:iteration|step|epoch|pass|round|stage)\b", re.I)
TOTAL = re.compile(r"\b(?:total|in all|altogether|overall)\b", re.I)
HEADING = re.compile(r"\\section\*?\{(?P<tex>[^{}]*)\}|^#+ +(?P<md>[^\n]*)$", re.M)
WORD = re.compile(r"[A-Za-z]{5,}")
QUOTED = re.compile(r"\b(?:[Hh]ere|[Tt]here|[Ww]here),? the (?:number|entry|value) \x01 (?:contains|includes|counts)\b")
COMMON = frozenset(
    "method methods gradient descent algorithm algorithms stochastic steps setting iteration problem".split()
)


def column_joints(paper: Paper) -> Iterator[Judged]:
    """Every table of a paper."""
    every = list(tables_of(paper.text))
    for table in every:
        yield from _totals(paper, table)
        yield from _bounds(paper, table)
    yield from _quoted(paper, every)


def _cell(paper: Paper, text: str) -> Sentence | None:
    """The only formula of a cell."""
    found = MATH.fullmatch(text.strip())
    return read_cell(paper, found[1]) if found is not None else None


def _count(paper: Paper, text: str) -> Polynomial | None:
    sentence = _cell(paper, text)
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
            yield _told(place, "the row and the number of passes of the other rows", title, row[total[0]], ())


def _quotient(whole: Polynomial, part: Polynomial) -> tuple[str, ...] | None:
    """The letters of a product that a smaller one is multiplied by."""
    ((all_, number),), ((one, other),) = whole.items(), part.items()
    left = Counter(all_) - Counter(one)
    return tuple(sorted(left.elements())) if number == other and not Counter(one) - Counter(all_) else None


def _bounds(paper: Paper, table: Table) -> Iterator[Judged]:
    """Cells of a row whose words stand in the heading of one section, against the bounds of its statements."""
    stated = [(s, f) for p in paper.passages if p.kind in PROMISES for s in p.formulas for f in _stated(paper, s)]
    for row in table.rows[1:]:
        section = _section(paper, row[0])
        mine = [(s, f) for s, f in stated if section is not None and section[0] <= _at(paper, s) < section[1]]
        for text in row[1:] if mine else ():
            sentence = _cell(paper, text)
            forms = list(_forms(sentence)) if sentence is not None and ORDER.fullmatch(text.strip("$ ")) is None else []
            if len(forms) == 1 and forms[0] not in [f for _, f in stated] and len(letters_of(*forms[0].terms)) > 1:
                near = [(s, f) for s, f in mine if _alike(f, forms[0])]
                how = (
                    exponents_differ(next(iter(near[0][1].terms)), next(iter(forms[0].terms)), hidden=False)
                    if near
                    else None
                )
                if near and how:
                    place = f"Table {table.number}, row {' '.join(row[0].split())}"
                    title = f"the cell is not what the section of its row has: {how}"
                    evidence = (f"stated, {near[0][0].place}: {to_text_of(near[0][0])}",)
                    yield _told(place, f"the cell {text} and the bounds of its section", title, text, evidence)


def _stated(paper: Paper, sentence: Sentence) -> Iterator[Form]:
    """The products of a formula; of one that was not read those of its last side."""
    last = last_side(paper, sentence)
    yield from _forms(sentence, [] if last is None else [last])


def _forms(sentence: Sentence, more: Sequence[tree.Node] = ()) -> Iterator[Form]:
    """Products: bounds, and formulas that stand alone."""
    chains = list(sentence.chains())
    alone = [c.members[0] for c in chains if not c.relations and len(chains) == 1]
    for node in [b.right for b in bounds_of(sentence)] + alone + [*more]:
        try:
            form = form_of(node)
        except (Formless, ZeroDivisionError):
            continue
        if form.single is not None and not form.order:
            yield form


def _alike(stated: Form, cell: Form) -> bool:
    """Whether two products have the same letters and number, and another power of one letter."""
    one, other = stated.single, cell.single
    assert one is not None
    assert other is not None
    apart = {n for n, _ in one[0] ^ other[0]}
    return one[1] == other[1] and letters_of(one[0]) == letters_of(other[0]) and len(apart) == 1


def _section(paper: Paper, label: str) -> tuple[int, int] | None:
    """Where the only section begins and ends whose heading has a word of the label of a row."""
    words = {w.lower() for w in WORD.findall(label)} - COMMON
    heads = list(HEADING.finditer(paper.text))
    found = [n for n, h in enumerate(heads) if words & {w.lower() for w in WORD.findall(h["tex"] or h["md"] or "")}]
    if len(found) != 1:
        return None
    end = heads[found[0] + 1].start() if found[0] + 1 < len(heads) else len(paper.text)
    return heads[found[0]].start(), end


def _at(paper: Paper, sentence: Sentence) -> int:
    """Where a formula stands in the text, from its line."""
    line = re.search(r":(\d+):", sentence.place)
    if line is None:
        return -1
    return sum(len(row) + 1 for row in paper.text.split("\n")[: int(line[1]) - 1])


def _quoted(paper: Paper, every: Sequence[Table]) -> Iterator[Judged]:
    """``Here the number 2k + 1 contains ...``: no cell has it, and one has it with another number."""
    numbers = [n for t in every for row in t.rows[1:] for c in row if (n := _count(paper, c)) is not None]
    for clause in clauses(paper):
        found = QUOTED.search(clause.words) if numbers else None
        if found is None:
            continue
        sentence = clause.formulas[clause.words[: found.start()].count("\x01")]
        nodes = list(sentence.nodes())
        try:
            said = polynomial(nodes[0]) if len(nodes) == 1 else {}
        except NoCount:
            continue
        near = [n for n in numbers if set(plus(n, said, -1)) == {()}]
        if said and said not in numbers and near:
            title = f"no cell is {shown(said)}, of which the text speaks; one is {shown(near[0])}"
            yield _told(sentence.place, f"the number {to_text(nodes[0])} and the table", title, sentence.latex, ())


def _told(place: str, joint: str, title: str, latex: str, evidence: tuple[str, ...]) -> Judged:
    defect = Defect("table", place, title, "changes a constant or a rate", latex.strip("$ "), evidence)
    return Judged("table", place, joint, "refuted", title, defect)
