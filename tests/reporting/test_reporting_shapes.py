"""The TypedDicts of answers and documents name the keys of the published schema, and those of the rows themselves."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args, get_type_hints

import pytest

from bilevel_verify.checks.verdicts.verdict import Row, RowRecord
from bilevel_verify.reporting import document as shapes
from bilevel_verify.reporting.build import blank_problem
from bilevel_verify.reporting.schema import schema

ROOT = schema()
PARTS: dict[str, tuple[type, dict[str, Any]]] = {
    "document": (shapes.ReportDocument, ROOT),
    "summary": (shapes.Summary, ROOT["properties"]["summary"]),
    "matrix": (shapes.MatrixCell, ROOT["properties"]["matrix"]["items"]),
    "run": (shapes.RunEntry, ROOT["properties"]["runs"]["items"]),
    "problem": (shapes.ProblemEntry, ROOT["properties"]["problems"]["items"]),
    "paper": (shapes.PaperRecord, ROOT["properties"]["papers"]["items"]),
    "algorithm": (
        shapes.AlgorithmRecord,
        ROOT["properties"]["papers"]["items"]["properties"]["algorithms"]["items"],
    ),
    "coverage": (shapes.CoverageRecord, ROOT["properties"]["papers"]["items"]["properties"]["coverage"]["items"]),
    "plot": (shapes.Plot, ROOT["properties"]["plots"]["items"]),
    "line of a plot": (shapes.PlotLine, ROOT["properties"]["plots"]["items"]["properties"]["lines"]["items"]),
    "profile": (shapes.ProfilePlot, ROOT["properties"]["profiles"]["items"]),
    "detection": (shapes.Detection, ROOT["properties"]["detection"]),
    "control": (shapes.ControlRecord, ROOT["properties"]["detection"]["properties"]["controls"]["items"]),
    "rates": (shapes.Rates, ROOT["properties"]["rates"]),
    "series": (shapes.Series, ROOT["properties"]["rates"]["properties"]["series"]["items"]),
    "tightness": (shapes.TightnessLine, ROOT["properties"]["tightness"]["items"]),
    "quotations": (shapes.Quotations, ROOT["properties"]["quotations"]["items"]),
    "claim": (shapes.ClaimRecord, ROOT["$defs"]["claim"]),
    "statement": (shapes.StatementRecord, ROOT["$defs"]["statement"]),
    "parameter": (shapes.ParameterRecord, ROOT["$defs"]["statement"]["properties"]["parameters"]["items"]),
    "refuted": (shapes.RefutedRecord, ROOT["$defs"]["claim"]["properties"]["refuted"]),
    "row": (RowRecord, ROOT["$defs"]["row"]),
}
ONLY_ON_THE_PAGE = {"plot": {"id"}, "algorithm": {"paper"}}
"""Keys that the page puts in while it arranges a document."""
NOT_REQUIRED_YET = {"row": {"marks", "judges"}}
"""Keys that a report of today has and a row of an older store lacks."""
BESIDE_THE_SCHEMA = {"tightness": {"relation", "certainty", "verdict", "tried"}}
"""Keys that a report has and that the schema leaves free."""


def keys_of(shape: type) -> tuple[set[str], set[str]]:
    """Keys that are always there, keys that may be (``__required_keys__`` does not look into texts)."""
    texts = {name: getattr(hint, "__forward_arg__", "") for name, hint in shape.__annotations__.items()}
    optional = {name for name, text in texts.items() if text.startswith("NotRequired[")}
    return set(texts) - optional, optional


@pytest.mark.parametrize("name", PARTS)
def test_a_shape_has_the_keys_of_the_schema(name: str) -> None:
    shape, rule = PARTS[name]
    required, optional = keys_of(shape)
    beside, later = BESIDE_THE_SCHEMA.get(name, set()), NOT_REQUIRED_YET.get(name, set())
    assert required - beside == set(rule["required"]) - later
    published = set(rule.get("properties", ())) - set(rule["required"])
    assert optional - ONLY_ON_THE_PAGE.get(name, set()) == later | published - beside


def test_every_object_of_the_schema_with_keys_of_its_own_has_a_shape() -> None:
    known = [rule for _, rule in PARTS.values()]

    def missing(rule: Any, place: str) -> list[str]:
        if isinstance(rule, list):
            return [one for part in rule for one in missing(part, place)]
        if not isinstance(rule, dict):
            return []
        found = [place] if "required" in rule and "const" not in rule and rule not in known else []
        return found + [one for key, part in rule.items() for one in missing(part, f"{place}.{key}")]

    lines = ROOT["properties"]["profiles"]["items"]["properties"]["lines"]["items"]  # as those of a plot, but for style
    assert set(lines["required"]) == keys_of(shapes.PlotLine)[0]
    known.append(lines)
    assert missing(ROOT, "report") == []


def test_a_row_record_has_the_fields_of_a_row() -> None:
    required, optional = keys_of(RowRecord)
    assert required | optional == {one.name for one in fields(Row)}
    row = Row("p", "s", "c", None, None, None, "run", "holds", measured=float("inf"), marks=(), as_printed=True)
    record = row.to_dict()
    assert set(record) == required | optional
    assert Row.from_dict(record) == row
    assert (record["measured"], record["marks"]) == ("inf", [])
    old = {name: value for name, value in record.items() if name in required}
    assert Row.from_dict(old) == row


def test_verdicts_and_kinds_are_those_of_the_rows() -> None:
    record, row = get_type_hints(RowRecord), get_type_hints(Row)
    same = {"verdict", "certainty", "kind", "paper", "where", "places", "as_printed", "known_refuted"}
    assert all(record[name] == row[name] for name in same)
    assert all(set(get_args(record[name])) == {float, str, type(None)} for name in ("measured", "bound", "margin"))


def test_a_blank_problem_is_whole() -> None:
    required, optional = keys_of(shapes.ProblemEntry)
    assert set(blank_problem("p")) == required
    assert not optional
