"""The shapes of what the page shows: a report document arranged in lines, tables and pages."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from bilevel_verify.checks.verdicts.verdict import RowRecord
from bilevel_verify.reporting.document import AlgorithmRecord, ClaimRecord, Plot, RunEntry, StatementRecord


class Line(TypedDict):
    """A line of the page: the rows of one claim on one problem by one method, by the worst of them."""

    id: str
    name: str
    row: RowRecord
    verdict: str
    word: str
    relation: bool
    marks: list[str]
    stated: str | None
    count: int
    counts: dict[str, int]
    places: int | None
    anchor: NotRequired[str | None]


class RefutedLine(TypedDict):
    """A refuted claim and the line that shows it worst."""

    name: str
    claim: str | None
    marks: list[str]
    line: Line
    known: bool
    where: list[str]
    verdict: str
    title: str
    sentence: str


class OpenReason(TypedDict):
    """Why lines are undecided: how many, and the first few."""

    why: str
    count: int
    lines: list[Line]
    more: bool


class Wrong(TypedDict):
    """The sentence on top of a theorem's page."""

    verdict: str | None
    text: str
    line: Line | None
    more: int


class RowTable(TypedDict):
    """Rows for the page's own table, column by column."""

    formulas: dict[int, str]
    columns: dict[str, list[str | float | None]]
    heads: list[dict[str, str | bool]]
    details: list[str]
    textual: list[str]
    texts: list[str]
    total: int
    shown: int


class MatrixView(TypedDict):
    """A cell of the summary matrix as the page shows it."""

    verdict: str | None
    count: int
    title: str
    anchor: str
    marks: str


class MatrixRow(TypedDict):
    """The cells of one statement."""

    name: str
    statement: str
    cells: list[MatrixView]


class MatrixTable(TypedDict):
    """The matrix of one paper."""

    paper: str
    columns: list[str | None]
    rows: list[MatrixRow]


class MethodPage(TypedDict):
    """A method: what is printed of it, what its runs used."""

    name: str
    title: str
    algorithms: list[AlgorithmRecord]
    runs: list[RunEntry]
    letters: list[str]
    lines: list[Line]
    plots: list[Plot]


class ErrataItem(TypedDict):
    """A claim that is refuted, here or on record, with its repaired form."""

    name: str
    record: StatementRecord | None
    claim: ClaimRecord
    broken: list[Line]
    repaired: list[ClaimRecord]
    mended: list[Line]
    anchor: str
    paper: str


class StatementLine(TypedDict):
    """A statement on the page of a problem."""

    name: str
    verdict: str
    counts: dict[str, int]
    row: RowRecord
    margin: float | None
    source: str
    anchor: str


class HypothesisLine(RowRecord):
    """A checked hypothesis, and how many rows have its outcome."""

    count: int
