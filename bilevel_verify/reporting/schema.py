"""The published schema of ``report.json`` and a small validator for the part of JSON Schema that it uses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

from bilevel_verify.checks.verdicts.columns import row_schema

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


@cache
def schema() -> dict[str, Any]:
    """The schema, JSON Schema draft 2020-12; that of a row is written from the table of columns."""
    text = resources.files("bilevel_verify.reporting").joinpath("schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    found["$defs"]["row"] = row_schema()
    return found


def problems_with(document: object) -> list[str]:
    """Where a document departs from the schema, as short texts; empty if it fits."""
    return list(_faults(document, schema(), "report"))[:20]


def _faults(value: object, rule: dict[str, Any], place: str) -> Iterator[str]:
    if "$ref" in rule:
        rule = schema()["$defs"][rule["$ref"].rpartition("/")[2]]
    kinds = rule.get("type")
    if kinds is not None and not _is(value, [kinds] if isinstance(kinds, str) else kinds):
        yield f"{place} must be {kinds if isinstance(kinds, str) else ' or '.join(kinds)}"
        return
    if "enum" in rule and value not in rule["enum"]:
        yield f"{place} must be one of {rule['enum']}, not {str(value)[:40]!r}"
    if "const" in rule and value != rule["const"]:
        yield f"{place} must be {rule['const']!r}"
    if isinstance(value, dict):
        yield from _object_faults(value, rule, place)
    elif isinstance(value, list) and "items" in rule:
        for number, item in enumerate(value):
            yield from _faults(item, rule["items"], f"{place}[{number}]")


def _object_faults(value: Mapping[str, object], rule: dict[str, Any], place: str) -> Iterator[str]:
    for name in rule.get("required", ()):
        if name not in value:
            yield f"{place} lacks {name!r}"
    properties = rule.get("properties", {})
    for name, item in value.items():
        if name in properties:
            yield from _faults(item, properties[name], f"{place}.{name}")
        elif rule.get("additionalProperties") is False:
            yield f"{place} has an unknown field {name!r}"
        elif isinstance(rule.get("additionalProperties"), dict):
            yield from _faults(item, rule["additionalProperties"], f"{place}.{name}")


def _is(value: object, kinds: list[str]) -> bool:
    if isinstance(value, bool):
        return "boolean" in kinds
    return any(isinstance(value, TYPES[kind]) for kind in kinds)
