"""The rows of a table that are the paper's own, cell by cell against its theorems."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bilevel_verify.errors import LatexError
from bilevel_verify.language import to_text, tree
from bilevel_verify.latex import Statement, read_latex
from bilevel_verify.manuscript.formulas import Formula
from bilevel_verify.manuscript.relations import ReadFormula
from bilevel_verify.proofreading.counted.nouns import (
    THINGS,
    bounds_stated,
    counted_as,
    noun_of,
    parameter_of,
    values_of,
)
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import Ties, exponents_differ, to_text_of
from bilevel_verify.proofreading.joints.clauses import clauses
from bilevel_verify.proofreading.joints.forms import Formless, form_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.orders import Order, agrees, orders_in, special_values
from bilevel_verify.proofreading.joints.shown import form_script
from bilevel_verify.proofreading.joints.ties import letters_of, over, rewritten, ties_of
from bilevel_verify.proofreading.source import PROMISES, Paper, Passage, Sentence

OWN = re.compile(
    r"\b(?:ours|this (?:work|paper|article)|proposed|our \w+)\b"
    r"|\((?:Alg(?:orithm|\.)?|Corollary|Theorem|Proposition)[~\s]*(?:\\ref\{[^}]*\}|\d+)\)",
    re.I,
)
ALGORITHM = re.compile(r"\(Alg(?:orithm|\.)?[~\s]*(?P<number>\d+)\)", re.I)
MARKDOWN = re.compile(r"(?:^\|.*\|[ \t]*\n){3,}", re.MULTILINE)
TABULAR = re.compile(r"\\begin\{tabular\*?\}.*?\\end\{tabular\*?\}", re.DOTALL)
MATH = re.compile(r"\$([^$]+)\$")
ORDER = re.compile(r"\\mathcal\{O\}\s*\((?P<inner>.*)\)", re.DOTALL)
METHOD = re.compile(r"[A-Za-z][\w-]*[A-Z][\w-]*|[A-Z]{2,}[\w-]*")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a row of the paper's own: the table, the words of its row and of its column.

    ``others`` are the cells of the other rows and columns, ``above`` those of its column in rows of others.
    """

    table: int
    row: str
    column: str
    text: str
    others: tuple[str, ...] = ()
    above: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the source: which one of all it is, and its rows; the first has the heads of the columns."""

    number: int
    rows: tuple[tuple[str, ...], ...]


def tables_of(text: str) -> Iterator[Table]:
    """Every table of a source that has rows."""
    found = sorted([*MARKDOWN.finditer(text), *TABULAR.finditer(text)], key=lambda m: m.start())
    for number, one in enumerate(found, start=1):
        rows = tuple(tuple(row) for row in _rows(one[0]))
        if rows:
            yield Table(number, rows)


def table_joints(paper: Paper) -> Iterator[Judged]:
    """Every cell of a row that is the paper's own and holds an order, or the value of a parameter."""
    ties, every = ties_of(paper), list(cells(paper.text))
    for cell in every:
        for math in MATH.findall(cell.text):
            sentence = read_cell(paper, math)
            orders = list(orders_in(sentence)) if sentence is not None else []
            for order in orders:
                yield _judged(paper, cell, order, ties)
            if sentence is not None and not orders:
                yield from _of_parameter(paper, cell, sentence)


def cells(text: str) -> Iterator[Cell]:
    """Cells of rows that are called the paper's own."""
    for table in tables_of(text):
        rows = table.rows
        for row in rows[1:]:
            label = next((c for c in row[:2] if OWN.search(c)), "")
            for place, (head, cell) in enumerate(zip(rows[0], row, strict=False)):
                if label and cell != label:
                    others = tuple(c for r in rows[1:] for n, c in enumerate(r) if (r, n) != (row, place))
                    strange = [r for r in rows[1:] if not any(OWN.search(c) for c in r[:2])]
                    above = tuple(r[place] for r in strange if len(r) > place)
                    yield Cell(table.number, " ".join(label.split()), head.strip(), cell, others, above)


def rows_of(paper: Paper) -> Iterator[tuple[str, Sentence]]:
    """Every formula of every table with the label of its row."""
    for table in tables_of(paper.text):
        for row in table.rows[1:]:
            for math in (m for cell in row for m in MATH.findall(cell)):
                sentence = read_cell(paper, math)
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


def read_cell(paper: Paper, math: str) -> Sentence | None:
    """The formula of a cell; an order symbol that stands in tables alone is read as one."""
    order = ORDER.fullmatch(math.strip())
    try:
        statements = read_latex(math, paper.notation).statements
    except LatexError:
        if order is None:
            return None
        try:
            inner = read_latex(order["inner"], paper.notation).statements[0].members[0]
        except LatexError:
            return None
        statements = (Statement((tree.Call("O", (inner,)),)),)
    return Sentence(ReadFormula(Formula(0, math, "table-cell"), statements), "")


def _judged(paper: Paper, cell: Cell, order: Order, ties: Ties) -> Judged:
    place = _place(cell)
    joint = f"the cell {to_text_of(order.sentence)} and what the paper proves"
    noun = noun_of(cell.column)
    counted = counted_as(paper, noun) if noun else []
    found = _candidates(paper, cell)
    same = [o for o in counted or found if agrees(order, o)] or [o for o in found if agrees(order, o)]
    if same and not (counted and same[0] not in counted and _of_another(paper, order, counted, noun)):
        missing = min((o.letters - order.letters for o in same), key=len)
        printed = sorted(n for n in missing if n.isidentifier() and _printed(paper, cell, n))
        if not printed:
            return Judged("table", place, joint, "holds")
        return _refuted(cell, joint, order, same[0], f"{printed[0]} is left out, which other cells of the table print")
    if same:
        return _refuted(cell, joint, order, counted[0], "it is the number of something else")
    near = [o for o in (*counted, *found) if order.letters <= o.letters]
    copied = bool(counted) and cell.text in cell.above
    if not near and not copied and not (counted or found):
        near = [o for o in bounds_stated(paper) if _apart(o, order)]
    if not near and not copied:
        return Judged("table", place, joint, "undecided", "no statement has an order in these letters")
    if any(rewritten(ties, o.monomial, order.monomial, hidden=True) for o in near):
        return Judged("table", place, joint, "undecided", "the paper ties the letters to each other")
    best = min(near or counted, key=lambda o: sum(e != dict(o.monomial).get(n) for n, e in order.monomial))
    return _refuted(cell, joint, order, best, exponents_differ(best.monomial, order.monomial, hidden=True) or "")


def _place(cell: Cell) -> str:
    return f"Table {cell.table}, row {cell.row}, column {cell.column}"


def _refuted(cell: Cell, joint: str, order: Order, best: Order, how: str) -> Judged:
    title = f"the cell is none of the orders that the paper states: {how}"
    evidence = (f"cell: {to_text_of(order.sentence)}", f"stated, {best.sentence.place}: {to_text_of(best.sentence)}")
    place = _place(cell)
    defect = Defect("table", place, title, "changes a constant or a rate", order.sentence.latex, evidence)
    script = form_script(title, place, best.form, order.form, "stated", "in the table")
    return Judged("table", place, joint, "refuted", how, defect, script)


def _of_another(paper: Paper, order: Order, counted: list[Order], noun: str) -> bool:
    """Whether the paper gives this order of something else only, and another one of what the column counts."""
    others = [o for n in THINGS if n != noun for o in counted_as(paper, n)]
    return any(agrees(order, o) and agrees(o, order) for o in others) and not any(agrees(order, o) for o in counted)


def _printed(paper: Paper, cell: Cell, name: str) -> bool:
    """Whether another cell of the table has the letter."""
    read = (read_cell(paper, math) for text in cell.others for math in MATH.findall(text))
    return any(name in tree.letters(node) for s in read if s is not None for node in s.nodes())


def _apart(bound: Order, order: Order) -> bool:
    """Whether two products have the same letters, and are not one of them divided by a whole power of one letter."""
    off = over(bound.monomial, order.monomial)
    powers = {e for _, e in off}
    whole = len(off) == 1 and all(x.denominator == 1 for e in powers for x in e)
    return bool(off) and not whole and order.letters <= bound.letters and len(order.letters) > 1


def _of_parameter(paper: Paper, cell: Cell, sentence: Sentence) -> Iterator[Judged]:
    """A cell with the value of a parameter against the values and bounds that the statements give it."""
    name, nodes = parameter_of(paper, cell.column), list(sentence.nodes())
    values = values_of(paper, name) if name and len(nodes) == 1 else []
    try:
        here = form_of(nodes[0]) if values else None
    except (Formless, ZeroDivisionError):
        return
    if here is None or here.single is None:
        return
    joint = f"the cell {to_text_of(sentence)} and the values of {name}"
    alike = [(f, s) for f, s in values if f.single and letters_of(f.single[0]) == letters_of(here.single[0])]
    if any(f.terms == here.terms for f, _ in values):
        yield Judged("table", _place(cell), joint, "holds")
    elif alike:
        form, other = alike[0]
        title = f"the cell is none of the values that the statements give {name}"
        evidence = (f"cell: {to_text_of(sentence)}", f"stated, {other.place}: {to_text_of(other)}")
        defect = Defect("table", _place(cell), title, "changes a constant or a rate", sentence.latex, evidence)
        script = form_script(title, _place(cell), form, here, "stated", "in the table")
        yield Judged("table", _place(cell), joint, "refuted", title, defect, script)


def _candidates(paper: Paper, cell: Cell) -> list[Order]:
    """Orders of the column's own quantity; where the paper states none, of all statements of the row's method."""
    head = MATH.search(cell.column)
    sentence = read_cell(paper, head[1]) if head is not None else None
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
            found += [o for s in clause.formulas if "|" not in s.after[:2] for o in orders_in(s)]
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
