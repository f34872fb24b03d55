"""Tables for papers: no empty column, the tolerance in every row, columns of the reader's choice."""

from __future__ import annotations

import pytest
from reporting_samples import many, verifications

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
    ("latex", "fits"), [(r"\frac{a}{b}", True), (r"a\}", True), ("a}", False), ("{a", False), ("a$b", False)]
)
def test_a_quotation_that_would_break_the_table_is_left_out(latex, fits) -> None:
    assert balanced(latex) is fits
