"""The rows of a table that are the paper's own, cell by cell against its theorems."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bilevel_verify.errors import LatexError
from bilevel_verify.language import to_text, tree
from bilevel_verify.latex import read_latex
from bilevel_verify.manuscript.formulas import Formula
from bilevel_verify.manuscript.relations import ReadFormula
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import Ties, exponents_differ, to_text_of
from bilevel_verify.proofreading.joints.clauses import clauses
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.orders import Order, agrees, orders_in, special_values
from bilevel_verify.proofreading.joints.shown import form_script
from bilevel_verify.proofreading.joints.ties import rewritten, ties_of
from bilevel_verify.proofreading.source import PROMISES, Paper, Passage, Sentence

OWN = re.compile(
    r"\b(?:ours|this (?:work|paper|article)|proposed|our \w+)\b|\(Alg(?:orithm|\.)?[~\s]*(?:\\ref\{[^}]*\}|\d+)\)", re.I
)
ALGORITHM = re.compile(r"\(Alg(?:orithm|\.)?[~\s]*(?P<number>\d+)\)", re.I)
MARKDOWN = re.compile(r"(?:^\|.*\|[ \t]*\n){3,}", re.MULTILINE)
TABULAR = re.compile(r"\\begin\{tabular\*?\}.*?\\end\{tabular\*?\}", re.DOTALL)
MATH = re.compile(r"\$([^$]+)\$")
METHOD = re.compile(r"[A-Za-z][\w-]*[A-Z][\w-]*|[A-Z]{2,}[\w-]*")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a row of the paper's own: the table, the words of its row and of its column."""

    table: int
    row: str
    column: str
    text: str


def table_joints(paper: Paper) -> Iterator[Judged]:
    """Every cell of a row that is the paper's own and holds an order."""
    ties = ties_of(paper)
    for cell in cells(paper.text):
        for math in MATH.findall(cell.text):
            sentence = _read(paper, math)
            for order in orders_in(sentence) if sentence is not None else ():
                yield _judged(paper, cell, order, ties)


def cells(text: str) -> Iterator[Cell]:
    """Cells of rows that are called the paper's own."""
    tables = sorted([*MARKDOWN.finditer(text), *TABULAR.finditer(text)], key=lambda m: m.start())
    for number, found in enumerate(tables, start=1):
        rows = _rows(found[0])
        for row in rows[1:]:
            label = next((c for c in row[:2] if OWN.search(c)), "")
            for head, cell in zip(rows[0], row, strict=False):
                if label and cell != label:
                    yield Cell(number, " ".join(label.split()), head.strip(), cell)


def rows_of(paper: Paper) -> Iterator[tuple[str, Sentence]]:
    """Every formula of every table with the label of its row."""
    for found in (*MARKDOWN.finditer(paper.text), *TABULAR.finditer(paper.text)):
        for row in _rows(found[0])[1:]:
            for math in (m for cell in row for m in MATH.findall(cell)):
                sentence = _read(paper, math)
                if sentence is not None:
                    yield " ".join(row[:2]), sentence


def _rows(table: str) -> list[list[str]]:
    if table.startswith("|"):
        lines = [line.strip().strip("|").split("|") for line in table.strip().splitlines()]
        return [[c.strip() for c in line] for line in lines if not all(set(c.strip()) <= set("-: ") for c in line)]
    body = re.sub(
        r"\\(?:hline|toprule|midrule|bottomrule|cline\{[^}]*\})|\\begin\{tabular\*?\}(?:\{[^}]*\})*", "", table
    )
    lines = [line.split("&") for line in re.split(r"\\\\", body) if "&" in line]
    return [[c.strip() for c in line] for line in lines]


def _read(paper: Paper, math: str) -> Sentence | None:
    try:
        statements = read_latex(math, paper.notation).statements
    except LatexError:
        return None
    return Sentence(ReadFormula(Formula(0, math, "table-cell"), statements), "")


def _judged(paper: Paper, cell: Cell, order: Order, ties: Ties) -> Judged:
    place = f"Table {cell.table}, row {cell.row}, column {cell.column}"
    joint = f"the cell {to_text_of(order.sentence)} and what the paper proves"
    found = _candidates(paper, cell)
    if any(agrees(order, o) for o in found):
        return Judged("table", place, joint, "holds")
    near = [o for o in found if order.letters <= o.letters]
    if not near:
        return Judged("table", place, joint, "undecided", "no statement has an order in these letters")
    if any(rewritten(ties, o.monomial, order.monomial, hidden=True) for o in near):
        return Judged("table", place, joint, "undecided", "the paper ties the letters to each other")
    best = min(near, key=lambda o: sum(e != dict(o.monomial)[n] for n, e in order.monomial))
    how = exponents_differ(best.monomial, order.monomial, hidden=True) or ""
    title = f"the cell is none of the orders that the paper states: {how}"
    evidence = (f"cell: {to_text_of(order.sentence)}", f"stated, {best.sentence.place}: {to_text_of(best.sentence)}")
    defect = Defect("table", place, title, "changes a constant or a rate", order.sentence.latex, evidence)
    script = form_script(title, place, best.form, order.form, "stated", "in the table")
    return Judged("table", place, joint, "refuted", how, defect, script)


def _candidates(paper: Paper, cell: Cell) -> list[Order]:
    """Orders of the column's own quantity; where the paper states none, of all statements of the row's method."""
    head = MATH.search(cell.column)
    sentence = _read(paper, head[1]) if head is not None else None
    wanted = {to_text(n) for n in sentence.nodes()} if sentence is not None else set()
    stated = [p for p in paper.passages if p.kind in PROMISES]
    mine = [p for p in stated if _of_method(p, cell.row)] or stated
    of_column = [o for p in mine for s in p.formulas if wanted & _lefts(s) for o in orders_in(s)]
    if of_column:
        return of_column
    found = [o for p in mine for s in p.formulas for o in orders_in(s)]
    for clause in clauses(paper):
        values = special_values(clause)
        if clause.named or values:
            found += [o for s in clause.formulas for o in orders_in(s)]
            sources = [p for p in stated if p.name in clause.named]
            found += [o for p in sources for s in p.formulas for o in orders_in(s, values)] if values else []
    return found


def _lefts(sentence: Sentence) -> set[str]:
    return {
        to_text(c.members[0])
        for c in sentence.chains()
        if len(c.members) > 1 and not isinstance(c.members[0], tree.Number)
    }


def _of_method(passage: Passage, row: str) -> bool:
    """Whether a statement names the method of a row, or its algorithm."""
    method, algorithm = METHOD.match(row), ALGORITHM.search(row)
    if algorithm and re.search(rf"\bAlgorithm {algorithm['number']}\b", passage.words):
        return True
    return method is not None and re.search(rf"(?<![\w-]){re.escape(method[0])}(?![\w-])", passage.words) is not None
