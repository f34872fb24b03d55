"""The summary for papers and for text: LaTeX tables with booktabs rules, and Markdown. Everything is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bilevel_verify.checks.verdicts.columns import DERIVED, FIELDS, Column, view
from bilevel_verify.checks.verdicts.counting import text_of
from bilevel_verify.checks.verdicts.verdict import RowRecord
from bilevel_verify.errors import InputError
from bilevel_verify.language import nearest
from bilevel_verify.reporting.document import ReportDocument
from bilevel_verify.reporting.rates import lines as rate_lines
from bilevel_verify.reporting.words import LOOKS, number, statement_name, worst

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "`": r"\textasciigrave{}",
    "−": "$-$",
    "∞": r"$\infty$",
    "—": "---",
    "\u202f": r"\,",
    "≈": r"$\approx$",
    "≠": r"$\neq$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "…": r"\dots{}",
}
NEEDS = "% needs \\usepackage{booktabs,graphicx,amsmath,amssymb,bm}"
"""What a document has to load before such a table: the formulas are those of the papers."""
FIT = (
    r"\noindent\resizebox*{!}{\ifdim\totalheight>\textheight\textheight\else\totalheight\fi}{%" + "\n"
    r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
)
"""Opens a box that shrinks a table which is wider or higher than the text, and leaves the others as they are."""
FITTED = "}}"
_WORDS = {"not applicable": "n/a"}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+!|$~&])")


def latex_escape(text: str) -> str:
    """Any text as text in LaTeX; a character that pdfLaTeX may not know becomes ``?``."""
    plain = "".join(_LATEX.get(c, c if c.isascii() and c.isprintable() else " " if c.isspace() else "?") for c in text)
    return plain


def markdown_escape(text: str) -> str:
    """Any text as text in Markdown, fit for a table cell."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def latex_matrix(document: ReportDocument) -> str:
    """The summary matrix as booktabs tables, one a paper, each with those problems that one of its statements met."""
    problems, statements, cells = _matrix(document)
    lines = [NEEDS]
    for paper in dict.fromkeys(name.partition("/")[0] for name in statements):
        own = [name for name in statements if name.partition("/")[0] == paper]
        shown = [p for p in problems if any((name, p) in cells for name in own)]
        head = " & ".join([latex_escape(paper), *(rf"\rotatebox{{90}}{{{latex_escape(p)}}}" for p in shown)])
        lines += [FIT, rf"\begin{{tabular}}{{l{'c' * len(shown)}}}", r"\toprule", head + r" \\", r"\midrule"]
        for name in own:
            entries = [_latex_verdict(cells.get((name, p))) for p in shown]
            lines.append(" & ".join([latex_escape(name.partition("/")[2] or name), *entries]) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}" + FITTED, ""]
    return "\n".join(lines).rstrip() + "\n"


_ASKED = {c.head: c for c in (*FIELDS.values(), *DERIVED.values())}


def latex_rows(document: ReportDocument, count: int = 60, columns: Sequence[str] | None = None) -> str:
    """The tightest and worst verdicts as a booktabs table.

    ``columns`` are heads of columns (``statement``, ``claim``, ``margin``, ``formula`` as printed, any field of a
    row); by default those of the view "latex".

    Raises
    ------
    InputError : a column that there is not.
    """
    from bilevel_verify.reporting.build import worst_rows

    for name in columns or ():
        if name not in _ASKED:
            raise InputError(f"columns: no column {name!r}{nearest(name, _ASKED)}; there are {', '.join(_ASKED)}")
    shown = view("latex") if columns is None else [_ASKED[name] for name in columns]
    lines = [
        NEEDS,
        FIT,
        rf"\begin{{tabular}}{{{''.join('r' if c.numeric else 'l' for c in shown)}}}",
        r"\toprule",
        " & ".join(c.latex or latex_escape(c.head) for c in shown) + r" \\",
        r"\midrule",
    ]
    for row in worst_rows(document["rows"], count):
        lines.append(" & ".join(_latex_cell(row, c) for c in shown) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}" + FITTED]
    return "\n".join(lines) + "\n"


def _latex_cell(row: RowRecord, column: Column) -> str:
    value = column.value(row)
    if column.name == "formula":
        return f"${value}$" if isinstance(value, str) and value and balanced(value) else ""
    return latex_escape(_text(column, value, "" if column.name == "eps" else "—"))


def _text(column: Column, value: object, none: str = "—") -> str:
    """A value of a column as plain text; ``none`` is shown for a number that there is not."""
    if column.numeric:
        return number(value) if isinstance(value, int | float | str) else none
    return "; ".join(value) if isinstance(value, list) else str(value or "")


def balanced(latex: str) -> bool:
    """Whether a quotation can stand between dollar signs in a cell: what it opens it closes, it ends no cell.

    Text is ASCII alone; a column or row of its own stands in an environment; nothing reads or writes files.
    """
    depth = 0
    for place, letter in enumerate(latex):
        if letter in "{}" and latex[place - 1 : place] != "\\":
            depth += 1 if letter == "{" else -1
            if depth < 0:
                return False
    pairs = ((r"\\left(?![a-zA-Z])", r"\\right(?![a-zA-Z])"), (r"\\begin\{", r"\\end\{"))
    closed = all(len(re.findall(a, latex)) == len(re.findall(b, latex)) for a, b in pairs)
    loose = re.search(r"(?<!\\)&|\\\\", latex) is not None and "\\begin{" not in latex
    unsafe = any(word in latex for word in ("$", "\\input", "\\include", "\\write", "\\open"))
    comment = re.search(r"(?<!\\)[%#]", latex) is not None
    return depth == 0 and closed and not loose and not unsafe and not comment and latex.isascii()


def markdown(document: ReportDocument, count: int = 100) -> str:
    """Title, counts, matrix and worst rows as Markdown."""
    from bilevel_verify.reporting.build import worst_rows

    summary = document["summary"]
    problems, statements, cells = _matrix(document)
    out = [
        f"# {markdown_escape(document['title'])}",
        "",
        f"{text_of(summary)}.",
    ]
    for one in document.get("quotations") or []:
        found = ", ".join(f"{n} {word}" for word, n in one["counts"].items())
        wrong = [f"{row['outcome']}: {row['statement']} {row['part']}" for row in one["wrong"]]
        out += ["", f"Quotations of {one['paper']} beside its print: {'; '.join([found, *wrong])}."]
    if document["command"]:
        out += ["", "Repeat with `" + document["command"].replace("`", "'") + "`."]
    if statements:
        out += ["", _line(["statement", *(p or "as a whole" for p in problems)]), _line(["---"] * (len(problems) + 1))]
        for name in statements:
            verdicts = [cells.get((name, p)) for p in problems]
            out.append(_line([name, *(f"{LOOKS[v].symbol} {v}" if v else "" for v in verdicts)]))  # type: ignore[index]
    rates = rate_lines(document)
    if rates:
        heads = ["series", "in", "promised", "fitted", "last local slope", "interval", "judged"]
        out += ["", "## Observed exponents beside the promised ones", "", _line(heads)]
        out += [_line(["---", "---", "---:", "---:", "---:", "---", "---"]), *(_line(cells) for cells in rates)]
    shown = view("markdown")
    out += ["", _line([c.head for c in shown]), _line(["---:" if c.numeric else "---" for c in shown])]
    out += [_line([_text(c, c.value(row)) for c in shown]) for row in worst_rows(document["rows"], count)]
    return "\n".join(out) + "\n"


def _line(cells: Sequence[str]) -> str:
    rule = all(set(c) <= {"-", ":"} and c for c in cells)
    return "| " + " | ".join(cells if rule else [markdown_escape(c) for c in cells]) + " |"


def _matrix(document: ReportDocument) -> tuple[list[str], list[str], dict[tuple[str, str], str]]:
    judged = [m for m in document["matrix"] if m["verdicts"]]
    found = {(statement_name(m), m["problem"] or "as a whole"): worst(list(m["verdicts"])) for m in judged}
    return sorted({p for _, p in found}), list(dict.fromkeys(s for s, _ in found)), found


def _latex_verdict(verdict: str | None) -> str:
    return "" if verdict is None else latex_escape(_WORDS.get(verdict, verdict))
