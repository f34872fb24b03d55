"""The table of columns: every field of a row with its kind, every view with columns that exist."""

from __future__ import annotations

from dataclasses import asdict, fields, make_dataclass
from typing import Any

import pytest

from bilevel_verify.checks.verdicts import columns
from bilevel_verify.checks.verdicts.verdict import Row

pytestmark = pytest.mark.fast

TEXTS = "paper statement claim source problem method kind left right where reason reproduce reading printed stated"
KINDS = {
    **dict.fromkeys(TEXTS.split(), "text"),
    **dict.fromkeys(("measured", "bound", "margin"), "number"),
    **dict.fromkeys(("verdict", "certainty", "judges"), "word"),
    **dict.fromkeys(("as_printed", "known_refuted"), "flag"),
    "places": "count",
    "marks": "texts",
    "details": "record",
}


def row(**own: Any) -> dict[str, Any]:
    given = dict.fromkeys(("paper", "statement", "claim", "source", "problem", "method"))
    return asdict(Row(**(given | {"kind": "run", "verdict": "holds"} | own)))


def test_every_field_of_a_row_is_a_column_of_its_kind() -> None:
    assert {name: column.kind for name, column in columns.FIELDS.items()} == KINDS
    assert list(columns.FIELDS) == [f.name for f in fields(Row)]


def test_a_new_field_is_a_column_at_once() -> None:
    wider = make_dataclass("Wider", [("seed", "int | None", None)], bases=(), frozen=True)
    column = columns._field("seed", int | None)
    assert (column.kind, column.numeric, column.schema["type"]) == ("count", True, ["integer", "null"])
    assert column.value(asdict(wider(seed=3))) == 3


def test_views_show_columns_that_exist_once() -> None:
    for name, shown in columns.VIEWS.items():
        assert set(shown) <= set(columns.COLUMNS), name
        heads = [column.head for column in columns.view(name)]
        assert len(heads) == len(set(heads)), name
    assert not set(columns.DERIVED) & set(columns.FIELDS)
    assert set(columns.FIELDS) >= columns.ELSEWHERE


def test_columns_that_are_put_together() -> None:
    one = row(paper="p", statement="s", where="k = 3", reason="tie", certainty="computed", details={"eps": 0.1})
    values = {name: column.value(one) for name, column in columns.DERIVED.items()}
    assert values == {
        "word": "holds",
        "name": "p/s",
        "what": "run",
        "eps": 0.1,
        "formula": None,
        "decides": "",
        "place and reason": "k = 3; tie",
        "certainty and reason": "computed; tie",
    }
    assert columns.DERIVED["word"].value(row(kind="units")) == "units: agree"
    assert columns.DERIVED["name"].value(row(paper="p")) == "p"
    assert columns.DERIVED["eps"].value(row(details={"eps": "small"})) is None


def test_the_schema_of_a_row() -> None:
    rule = columns.row_schema()
    assert set(rule["required"]) == set(KINDS)
    assert rule["properties"]["kind"] == {"type": "string"}, "a row always has a kind"
    assert rule["properties"]["claim"] == {"type": ["string", "null"]}
    assert None in rule["properties"]["certainty"]["enum"]
    assert None not in rule["properties"]["verdict"]["enum"]
    assert rule["additionalProperties"] is False
