"""The shapes of answers as JSON: what the store keeps of a cell, and what a report is put together from.

Their keys are those of ``reporting/schema.json`` where a report shows them (``tests/reporting`` compares the two).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from bilevel_verify.checks.verdicts.verdict import RowRecord

Plain: TypeAlias = (
    "bool | int | float | str | Sequence[Plain] | Mapping[str, Plain] | ConstantRecord | EnclosureRecord | None"
)
"""Anything that JSON can say."""
Scalar = float | int | str


class CellRecord(TypedDict, total=False):
    """A :class:`~bilevel_verify.campaign.cell.Cell` as JSON: only the fields that say something."""

    kind: str
    problem: str
    knobs: dict[str, Scalar]
    statement: str
    card: str
    method: str
    solver: str
    eps: list[float]
    x0: list[float]
    y0: list[float]
    parameters: dict[str, Scalar]
    values: dict[str, Scalar]
    budget: int
    replicate: int
    control: str


class TreeRecord(TypedDict):
    """A reason of a constant: the rule, what it says, and the reasons below it."""

    rule: str
    statement: str
    parts: list[TreeRecord]


class ConstantRecord(TypedDict):
    """A certified constant with its provenance."""

    name: str
    value: Plain
    lower: Plain
    upper: Plain
    side: str
    certified: bool
    status: str
    route: str
    norm: str
    domain: str
    exact: str | None
    attained: bool | None
    whole_space: bool
    meaning: str
    witness: Plain
    why: TreeRecord
    cause: str
    remedies: Sequence[str]


class EnclosureRecord(TypedDict):
    """A true value with its error bar."""

    value: Plain
    error: Plain
    certainty: str
    method: str
    attained: bool | None


class RunRecord(TypedDict):
    """What a run did: how it ended, what it cost."""

    method: str
    problem: str
    eps: float | str | None
    status: str
    iterations: int
    epochs: int
    counts: dict[str, int]
    x: Plain
    seed: int | None
    note: str
    parameters: Mapping[str, Plain]


class ProblemRecord(TypedDict):
    """A problem for a reader."""

    name: str
    title: str
    kind: str
    source: str
    note: str
    f: str | None
    g: str | None
    text: dict[str, str]
    x: list[str]
    y: list[str]
    dx: int | None
    dy: int | None
    domain: dict[str, list[str]]
    feasible: str | None
    knobs: Plain
    known: Plain
    data: dict[str, list[int]]
    hash: str


class Document(TypedDict):
    """What several answers share, kept once."""

    kind: Literal["constants", "truth", "problem"]
    body: Any  # what its kind says: constants or true values by name, a problem record


class Judged(TypedDict, total=False):
    """What an answer says, whichever way it refers to its documents; an audit leaves out what it has nothing of."""

    statement: str | None
    problem: str | None
    verdict: str | None
    rows: Sequence[RowRecord]
    hypotheses: Sequence[RowRecord]
    runs: list[RunRecord]
    parameters: list[dict[str, Plain]]


class AnswerRecord(Judged, total=False):
    """An answer as it is stored: constants, truth and problem by the hashes of their documents."""

    constants: str | None
    truth: str | None
    problem_record: str | None


class RestoredAnswer(Judged, total=False):
    """An answer with its documents put back in, and the cell that it answers where there is one."""

    constants: dict[str, Plain] | None
    truth: dict[str, Plain] | None
    problem_record: ProblemRecord | None
    cell: CellRecord
