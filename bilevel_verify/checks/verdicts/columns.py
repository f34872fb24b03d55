"""The columns of a verdict row: one table, from which every view of rows takes its own.

A field of :class:`~bilevel_verify.checks.verdicts.verdict.Row` is a column at once: its annotation says its kind, and
with it the JSON schema, the type in Parquet, the alignment in LaTeX and where the page lists it. ``DERIVED`` adds the
columns that are put together from several fields. ``VIEWS`` says which of them a view shows, in which order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import NoneType
from typing import Literal, TypedDict, get_args, get_origin, get_type_hints

from bilevel_verify.checks.verdicts.counting import word_of
from bilevel_verify.checks.verdicts.deciding import what_decides
from bilevel_verify.checks.verdicts.verdict import Row, RowRecord

Kind = Literal["text", "word", "number", "count", "flag", "texts", "record"]
"""``word`` is a text from a closed list, ``count`` an integer, ``texts`` several texts, ``record`` anything else."""


class Rule(TypedDict, total=False):
    """That part of JSON Schema, draft 2020-12, which the schema of a report uses."""

    type: str | list[str]
    description: str
    required: list[str]
    properties: dict[str, Rule]
    additionalProperties: bool | Rule
    items: Rule
    enum: list[str | None]


_KINDS: dict[object, Kind] = {str: "text", float: "number", int: "count", bool: "flag"}
_SCHEMAS: dict[Kind, Rule] = {
    "text": {"type": ["string", "null"]},
    "number": {
        "type": ["number", "string", "null"],
        "description": "a number; 'inf' and '-inf' as text; null where it does not apply",
    },
    "count": {"type": ["integer", "null"]},
    "flag": {"type": "boolean"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "record": {"type": "object"},
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its ``name``, its ``label`` at the head of a table, its kind, and how a row (as a dict) has it.

    ``words`` are the values of a ``word`` (None among them where the field may be None); ``latex`` is the head of the
    column in LaTeX where that is not the label; a value of an ``optional`` column may be None.
    """

    name: str
    kind: Kind
    value: Callable[[RowRecord], object]
    label: str = ""
    words: tuple[str | None, ...] = ()
    latex: str | None = None
    optional: bool = True

    @property
    def head(self) -> str:
        """What stands over it."""
        return self.label or self.name

    @property
    def numeric(self) -> bool:
        """Whether it is set flush right."""
        return self.kind in ("number", "count")

    @property
    def schema(self) -> Rule:
        """Its rule in the JSON schema of a report."""
        if self.kind == "word":
            return {"enum": list(self.words)}
        return {"type": "string"} if self.kind == "text" and not self.optional else _SCHEMAS[self.kind]


def _field(name: str, annotation: object) -> Column:
    """The column of a field of Row."""
    parts = get_args(annotation)
    optional = NoneType in parts and get_origin(annotation) is not Literal
    inner = next(p for p in parts if p is not NoneType) if optional else annotation
    words: tuple[str | None, ...] = ()
    if get_origin(inner) is Literal:
        kind: Kind = "word"
        words = (*get_args(inner), *((None,) if optional else ()))
    elif get_origin(inner) is tuple:
        kind = "texts"
    else:
        kind = _KINDS.get(inner, "record")
    return Column(name, kind, lambda row: row.get(name), words=words, optional=optional)


def _eps(row: RowRecord) -> float | None:
    eps = (row["details"] or {}).get("eps")
    return eps if isinstance(eps, int | float) else None


def _joined(separator: str, *names: str) -> Callable[[Mapping[str, object]], str]:
    return lambda row: separator.join(str(row[name]) for name in names if row[name])


_HINTS = get_type_hints(Row)
FIELDS: dict[str, Column] = {f.name: _field(f.name, _HINTS[f.name]) for f in fields(Row)}
"""The columns that are fields of a row, in their order."""
DERIVED: dict[str, Column] = {
    column.name: column
    for column in (
        Column("word", "text", word_of, "verdict"),
        Column("name", "text", _joined("/", "paper", "statement"), "statement"),
        Column("what", "text", lambda row: row["claim"] or row["kind"], "claim"),
        Column("eps", "number", _eps, latex=r"$\varepsilon$"),
        Column("formula", "text", lambda row: row["printed"]),
        Column("decides", "text", what_decides, "what would decide it"),
        Column("place and reason", "text", _joined("; ", "where", "reason"), "where, why"),
        Column("certainty and reason", "text", _joined("; ", "certainty", "reason"), "why"),
    )
}
COLUMNS: dict[str, Column] = FIELDS | DERIVED
_NUMBERS = ("measured", "bound", "margin")
VIEWS: dict[str, tuple[str, ...]] = {
    "page": ("verdict", "name", "claim", "problem", "reason", *_NUMBERS),
    "terminal": ("word", "name", "what", "problem", *_NUMBERS, "place and reason"),
    "notebook": ("verdict", "what", *_NUMBERS, "where", "certainty and reason"),
    "markdown": ("word", "name", "claim", "problem", *_NUMBERS, "reason", "decides"),
    "latex": ("name", "claim", "problem", "eps", *_NUMBERS, "word", "certainty"),
}
"""The columns that each view shows, in its order; LaTeX and exported tables take any others that are asked for."""
ELSEWHERE = frozenset({"source", "printed", "stated", "details", "as_printed", "known_refuted"})
"""Fields that the page's table of all rows leaves to the page of the statement."""


def view(name: str) -> list[Column]:
    """The columns of a view, in its order."""
    return [COLUMNS[one] for one in VIEWS[name]]


def row_schema() -> Rule:
    """The JSON schema of a row in a report: every field, none absent."""
    return {
        "type": "object",
        "description": "one verdict on one claim; a field that does not apply is null, never absent",
        "additionalProperties": False,
        "required": list(FIELDS),
        "properties": {name: column.schema for name, column in FIELDS.items()},
    }
