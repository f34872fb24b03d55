"""Verdicts of a paper's relations as data to keep: from which its page is made again without judging anything."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from bilevel_verify.errors import InputError
from bilevel_verify.manuscript.coverage import Line, Walk
from bilevel_verify.manuscript.formulas import Print
from bilevel_verify.theorems.card import Card

FIELDS = ("by", "verdict", "entry", "claim", "reason", "marks", "uses", "text")
LONGEST = 600
"""Characters of a reason that are kept, as many as a page shows."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What was read: the walk, the version that judged, and whether the card is still the one that was judged."""

    walk: Walk
    version: str
    current: bool


def kept_text(card: Card, source: Print, walk: Walk, version: str) -> str:
    """A walk as JSON, one line for each relation; its formulas are those of the print and are not repeated."""
    head = {"paper": card.key, "version": version, "card": card.digest, "print": print_digest(source)}
    lines = ",\n".join(json.dumps(_short(line), ensure_ascii=False) for line in walk.lines)
    return json.dumps(head, ensure_ascii=False)[:-1] + f', "lines": [\n{lines}\n]}}\n'


def print_digest(source: Print) -> str:
    """Of the formulas of a print, their numbers and their places."""
    text = "\n".join(repr((f.n, f.kind, f.section, f.within, f.number, f.latex)) for f in source.formulas)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_kept(path: Path, card: Card, source: Print) -> Kept:
    """A walk that was kept.

    Raises
    ------
    InputError : no such data, or the print has changed since: no verdict is shown beside another formula.
    """
    fix = f"write it anew: bilevel-verify coverage {card.key} --out {path.parent}"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        known, lines, version = data["print"], data["lines"], data["version"]
        by_formula: dict[str, list[Line]] = {}
        places = {str(f.n): f.place for f in source.formulas}
        for one in lines:
            number = one["name"].partition(".")[0]
            by_formula.setdefault(number, []).append(_line(card.key, one, places.get(number, "")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: these are no kept verdicts ({error}); {fix}") from None
    if known != print_digest(source) or data["paper"] != card.key:
        raise InputError(f"{path}: print: the formulas of {card.key} have changed since; {fix}")
    displays = [f for f in source.formulas if str(f.n) in by_formula]
    walk = Walk(card.key, tuple((f, tuple(by_formula[str(f.n)])) for f in displays))
    return Kept(walk, str(version), data.get("card") == card.digest)


def _short(line: Line) -> dict[str, object]:
    found = {name: getattr(line, name) for name in FIELDS if getattr(line, name)}
    if line.reason:
        found["reason"] = line.reason[:LONGEST]
    return {"name": line.name, **found}


def _line(paper: str, data: dict[str, object], place: str) -> Line:
    texts = {name: str(data.get(name, "")) for name in FIELDS if name not in ("marks", "uses")}
    marks, uses = (tuple(str(v) for v in data.get(name, ())) for name in ("marks", "uses"))  # type: ignore[attr-defined]
    return Line(paper, str(data["name"]), place, marks=marks, uses=uses, **texts)
