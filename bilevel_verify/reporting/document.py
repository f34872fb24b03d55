"""The shape of a report document: the TypedDicts of ``schema.json`` (``tests/reporting`` compares their keys)."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict, final

from bilevel_verify.campaign.answers import Plain, ProblemRecord, RunRecord, Scalar
from bilevel_verify.checks.verdicts.counting import Counts
from bilevel_verify.checks.verdicts.verdict import RowRecord, Verdict
from bilevel_verify.manuscript.fidelity import RowRecord as QuotedRecord


class Summary(Counts):
    """The counts at the top of a report, of cells and of rows."""

    cells: int
    rows: int
    newly_refuted: int
    known_refuted: int
    problems: int
    statements: int
    papers: int
    methods: int
    seconds: float


class MatrixCell(TypedDict):
    """One statement on one problem (None: the statement as a whole)."""

    paper: str
    statement: str
    problem: str | None
    verdicts: dict[str, int]
    as_printed: dict[str, int]
    marked: dict[str, dict[str, int]]
    apart: dict[str, dict[str, int]]


class RunEntry(RunRecord):
    """A run with what its cell varied."""

    statement: str | None
    x0: list[float] | None
    knobs: dict[str, Scalar]
    given: dict[str, float]
    replicate: int


class ProblemEntry(ProblemRecord):
    """A problem with its constants, its true values, and the letters that statements got on it."""

    constants: dict[str, Plain]
    truth: dict[str, Plain]
    parameters: list[dict[str, Plain]]


class PlotLine(TypedDict):
    """One line of a plot."""

    name: str
    x: list[float]
    y: list[float]
    style: Literal["points", "bound", "steps"]


class Drawing(TypedDict):
    """What every plot has."""

    x_label: str
    y_label: str
    lines: list[PlotLine]


class Curve(Drawing):
    """A plot of one series."""

    statement: str
    problem: str | None


@final
class Plot(Curve):
    """Counts against a driver with the bound, and what was judged from them."""

    method: str | None
    claim: str | None
    slope: float | str | None
    interval: list[float] | None
    exponent: float | str | None
    verdict: str | None
    id: NotRequired[str]


@final
class ProfilePlot(Drawing):
    """A performance or data profile."""

    name: str
    note: str


class RefutedRecord(TypedDict):
    """What a card records about a refutation."""

    since: str
    why: str
    at: str


class Shown(TypedDict):
    """What claims and statements quote and say about their quotations."""

    source: str
    note: str
    printed: list[str]
    stated: list[str]
    marks: list[str]
    added: list[str]
    origins: list[str]
    parsed: list[str]
    where: list[str]
    refuted: RefutedRecord | None


_For = TypedDict("_For", {"for": list[str]})


class ClaimRecord(Shown, _For):
    """A claim of a statement, as its card has it."""

    id: str | None
    over: str
    text: list[str]
    reading: str
    change: str
    why: str
    as_printed: bool


class ParameterRecord(TypedDict):
    """A letter that a statement prescribes."""

    letter: str
    latex: str
    value: str
    printed: str
    stated: str
    settings: str
    where: list[str]


class StatementRecord(Shown):
    """A numbered item of a paper."""

    name: str
    id: str
    kind: str
    title: str
    text: str
    assumes: list[str]
    method: str
    algorithm: str
    parameters: list[ParameterRecord]
    claims: list[ClaimRecord]


class AlgorithmRecord(TypedDict):
    """A printed algorithm."""

    id: str
    source: str
    title: str
    method: str
    inputs: list[str]
    steps: str
    note: str
    reading: str
    variant_of: str
    paper: NotRequired[str]


class CoverageRecord(TypedDict):
    """What was decided about one numbered item."""

    id: str
    kind: str
    source: str
    checks: list[str]
    verdicts: dict[str, int]
    by_check: dict[str, Counts]
    nothing_to_decide: str


class PaperRecord(TypedDict):
    """A paper with its items."""

    key: str
    title: str
    authors: str
    venue: str
    statements: list[StatementRecord]
    algorithms: list[AlgorithmRecord]
    coverage: list[CoverageRecord]


class Series(TypedDict):
    """A long sweep: what was promised, what was fitted."""

    name: str
    paper: str
    source: str
    letter: str
    range: list[float]
    exponent: float | None
    log: bool
    slope: float
    last: float
    interval: list[float]
    points: int
    curve: NotRequired[Curve]
    largest: float
    verdict: str
    within: float | None
    note: str


class Rates(TypedDict):
    """The sweeps of a report and where they come from."""

    origin: str
    series: list[Series]


class TightnessLine(TypedDict):
    """The largest share of one bound that a search found."""

    statement: str
    claim: str
    relation: str
    share: str
    place: float | None
    finding: str
    certainty: str
    verdict: Verdict | None
    family: str
    tried: int


class ControlRecord(TypedDict):
    """One broken solver and the mark of every assertion on it."""

    name: str
    protocol: str
    catalogue: str
    marks: list[str]


class Detection(TypedDict):
    """Which assertion catches which broken solver."""

    headline: str
    assertions: list[str]
    controls: list[ControlRecord]


class Quotations(TypedDict):
    """Quotations of a card beside the print."""

    paper: str
    counts: dict[str, int]
    wrong: list[QuotedRecord]


class ReportDocument(TypedDict):
    """The whole report."""

    schema: str
    title: str
    command: str
    created: str
    versions: dict[str, str]
    summary: Summary
    matrix: list[MatrixCell]
    rows: list[RowRecord]
    hypotheses: list[RowRecord]
    runs: list[RunEntry]
    problems: list[ProblemEntry]
    papers: list[PaperRecord]
    plots: list[Plot]
    profiles: list[ProfilePlot]
    detection: Detection | None
    rates: NotRequired[Rates | None]
    tightness: NotRequired[list[TightnessLine] | None]
    quotations: NotRequired[list[Quotations]]
