"""Tables for papers: no empty column, the tolerance in every row, columns of the reader's choice."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from reporting_samples import many, verifications

from bilevel_verify.cli.commands.constant_table import constants_latex
from bilevel_verify.errors import InputError
from bilevel_verify.reporting import document_of
from bilevel_verify.reporting.tables import balanced, latex_matrix, latex_rows


def tabulars(text: str) -> list[list[list[str]]]:
    """Cells of every tabular: rows after its head rule."""
    found = []
    for part in text.split(r"\begin{tabular}")[1:]:
        body = part.split(r"\midrule")[1].split(r"\bottomrule")[0]
        found.append([line.removesuffix(r" \\").split(" & ") for line in body.strip().splitlines()])
    return found


def test_a_matrix_has_no_empty_column() -> None:
    for rows in tabulars(latex_matrix(document_of([*verifications(), *many(20, 3)]))):
        assert len({len(row) for row in rows}) == 1
        for place in range(1, len(rows[0])):
            assert any(row[place] for row in rows)


def test_columns_of_the_rows_are_chosen() -> None:
    document = document_of(verifications())
    (rows,) = tabulars(latex_rows(document, columns=("claim", "eps", "verdict", "certainty")))
    assert {len(row) for row in rows} == {4}
    assert {row[2] for row in rows} >= {"holds"}
    with pytest.raises(InputError, match="did you mean 'margin'"):
        latex_rows(document, columns=("margn",))


@pytest.mark.parametrize(
    ("latex", "fits"),
    [
        (r"\frac{a}{b}", True),
        (r"a\}", True),
        ("a}", False),
        ("{a", False),
        ("a$b", False),
        (r"\left(a\right)", True),
        (r"\left(a", False),
        (r"\leftarrow a", True),
        ("a & b", False),
        (r"a \& b", True),
        (r"a \\ b", False),
        (r"\begin{cases} a & b \\ c & d \end{cases}", True),
        (r"\begin{cases} a", False),
        ("a % b", False),
        (r"5\%", True),
        ("#1", False),
        ("a ≤ b", False),
        (r"\include{x}", False),
    ],
)
def test_a_quotation_that_would_break_the_table_is_left_out(latex, fits) -> None:
    assert balanced(latex) is fits


def typeset(text: str, folder: Path) -> str:
    """What pdfLaTeX says of a table in an article with the packages that the table asks for; no line is too wide."""
    needed = re.match(r"% needs (\\usepackage\{[\w,]+\})", text)
    assert needed is not None
    source = rf"\documentclass{{article}}{needed[1]}\begin{{document}}" + f"\n{text}\\end{{document}}\n"
    (folder / "table.tex").write_text(source, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"],
        cwd=folder, capture_output=True, text=True, check=False, errors="replace",
    )  # fmt: skip
    assert done.returncode == 0, [line for line in done.stdout.splitlines() if line.startswith(("!", "l."))]
    return done.stdout


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="extra: pdflatex is not here")
@pytest.mark.parametrize("table", ["matrix", "rows", "chosen", "constants"])
def test_tables_are_typeset_and_fit_a_page(table: str, tmp_path: Path) -> None:
    """Every printed formula of the awkward kinds, texts with every character, more rows than a page has lines."""
    document = document_of([*verifications(), *many(20, 3)])
    formulas = [
        r"\tfrac L2\|\bm{x}\|^2",
        r"x\in\mathbb R^d\triangleq y",
        r"\overset{(a)}\le\left\lceil x\right\rceil",
        "a & b",
    ]
    texts = [bytes(range(32, 127)).decode(), "− ∞ — ≈ ≠ ≤ ≥ … é"]
    rows = [
        {**document["rows"][0], "claim": texts[k % 2] + str(k), "printed": formulas[k % 4], "eps": 0.01, "id": str(k)}
        for k in range(80)
    ]
    document = {**document, "rows": rows}
    known = {
        "mu": {"exact": r"\frac{1}{2}", "norm": texts[1], "domain": 4 * texts[0]},
        "L_g": {"value": 2.0, "upper": 2.0},
    }
    text = {
        "constants": lambda one: constants_latex(known) + "\n",
        "matrix": latex_matrix,
        "rows": lambda one: latex_rows(one, count=80),
        "chosen": lambda one: latex_rows(one, count=80, columns=("claim", "eps", "formula", "certainty")),
    }[table](document)
    said = typeset(text, tmp_path)
    assert "Overfull" not in said
    assert "(1 page" in said
