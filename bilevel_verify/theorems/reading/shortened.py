"""An entry of a card in its short form: the inverse of ``short.written_out``, for whoever writes cards by machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bilevel_verify.errors import CardError
from bilevel_verify.theorems.reading.fields import Place
from bilevel_verify.theorems.reading.from_print import DISPLAYS
from bilevel_verify.theorems.reading.short import entry_written_out, source_of
from bilevel_verify.theorems.reading.toml_text import key, table

Fields = dict[str, object]
FIRST = ("id", "source", "title", *DISPLAYS)
NOWHERE = Place("")


def entry_text(kind: str, fields: Mapping[str, object], every: Mapping[str, object]) -> str:
    """An entry as a table under its id. ``every`` : what all entries of its kind have (``[every.KIND]``)."""
    short = {name: found for name, found in shortened(fields).items() if name not in every or every[name] != found}
    return table(f"[{kind}.{key(str(short.pop('id')))}]", short)


def shortened(fields: Mapping[str, object]) -> Fields:
    """The fields of an entry, in full, as its short form has them, in the order in which a card has them.

    A piece that would be read as something else (a hypothesis that looks like a range) stays in full.
    """
    short = dict(fields)
    for step in (_given, _regime, _place, _source):
        found = step(short)
        if _full(found) == _full(short):
            short = found
    first = [name for name in FIRST if name in short]
    return {name: short[name] for name in (*first, *(n for n in short if n not in first))}


def _full(fields: Fields) -> object:
    """The entry written out, with each hypothesis beside its place; None where it is none."""
    try:
        full = entry_written_out(fields, NOWHERE)
    except CardError:
        return None
    for name in ("where", "for", "define", "regime"):
        if name in full:
            full |= {name: list(_pairs(full, name)), f"{name}_from": None}
    return full


def _pairs(fields: Mapping[str, Any], name: str) -> list[tuple[str, Any, str]]:
    """(letter or nothing, text, place) of the hypotheses, ranges or definitions of an entry."""
    found, origins = fields.get(name, ()), fields.get(f"{name}_from", "")
    if isinstance(found, Mapping):
        return [(n, t, origins.get(n, "") if isinstance(origins, Mapping) else origins) for n, t in found.items()]
    texts = [found] if isinstance(found, str) else list(found)
    places = [origins] * len(texts) if isinstance(origins, str) else list(origins)
    return [("", text, place) for text, place in zip(texts, places, strict=True)]


def _placed(pairs: list[tuple[str, str]]) -> Fields | None:
    """Place -> its text or texts; None where a place is missing."""
    if not pairs or not all(place and isinstance(text, str) for place, text in pairs):
        return None
    found: dict[str, list[str]] = {}
    for place, text in pairs:
        found.setdefault(place, []).append(text)
    return {place: texts[0] if len(texts) == 1 else texts for place, texts in found.items()}


def _given(fields: Fields) -> Fields:
    """``define``, ``where`` and ``for`` as ``given``; one that has no place stays as it is."""
    written = {"define": "{0} = {1}", "for": "{0} in {1}", "where": "{1}"}
    parts = {
        n: [(place, form.format(name, text)) for name, text, place in _pairs(fields, n)] for n, form in written.items()
    }
    kept = {n for n, pairs in parts.items() if _placed(pairs) is None}
    given = _placed([pair for n, pairs in parts.items() if n not in kept for pair in pairs])
    if given is None or "given" in fields:
        return fields
    gone = {field for n in written if n not in kept for field in (n, f"{n}_from")}
    rest = {name: found for name, found in fields.items() if name not in gone}
    return {**{n: rest.pop(n) for n in FIRST if n in rest}, "given": given, **rest}


def _regime(fields: Fields) -> Fields:
    found = _placed([(place, text) for _, text, place in _pairs(fields, "regime")]) if "regime" in fields else None
    if found is None:
        return fields
    return {name: found if name == "regime" else item for name, item in fields.items() if name != "regime_from"}


def _place(fields: Fields) -> Fields:
    """The display under its source."""
    name = next((name for name in DISPLAYS if fields.get(name)), "")
    if not name or not fields.get("source") or source_of(str(fields.get("id", ""))) == fields["source"]:
        return fields
    rest = {other: found for other, found in fields.items() if other != "source"}
    return rest | {name: {fields["source"]: fields[name]}}


def _source(fields: Fields) -> Fields:
    """The entry without a source that its id tells."""
    told = source_of(str(fields.get("id", "")))
    return {name: found for name, found in fields.items() if name != "source" or found != told}
