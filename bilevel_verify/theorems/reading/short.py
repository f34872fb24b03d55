"""The short form of a card, written out: what stands once in the file is put where the readers of entries expect it.

Short is only what is said twice otherwise: an ``id`` in the header (``[inequality.ID]``), what the entries of a group
share (``[[shared]]``) or all entries of a kind (``[every.step]``), the setting of a statement (``setting_of``), the
lines of an algorithm of which this is a variant (``lines``), a hypothesis, a definition, a display with the place that
prints it (``given``, ``printed``), the scope of all claims of a statement (``over``), and a source that the id tells
already. A display may go on in the next line. Nothing is computed; every field that is written out may be written in
full instead. :mod:`~bilevel_verify.theorems.reading.shortened` writes this form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from bilevel_verify.language import nearest
from bilevel_verify.theorems.reading.fields import Place
from bilevel_verify.theorems.reading.from_print import DISPLAYS
from bilevel_verify.theorems.reading.variants import with_lines
from bilevel_verify.theorems.reading.written import RELATION

RANGE = re.compile(r"([A-Za-z]\w*) in (.+)\Z", re.DOTALL)
DEFINED = re.compile(r"([A-Za-z]\w*(?:\([\w, ]+\))?) = (.+)\Z", re.DOTALL)
PRESCRIBED = re.compile(r"([A-Za-z]\w*(?:, [A-Za-z]\w*)*) of ([A-Za-z][\w-]*)\Z")
NUMBERED = re.compile(
    r"(theorem|lemma|proposition|corollary|assumption|definition|remark|condition|algorithm|table|equation)"
    r"-((?:[a-z]-)?[0-9]+(?:-[0-9]+)*)\Z"
)
WORDS = re.compile(r"(?<=[A-Za-z0-9])[ \t]*\n[ \t]*(?=[A-Za-z0-9])")
BREAK = re.compile(r"[ \t]*\n[ \t]*")
SETTING = ("method", "algorithm", "assumes", "settings", "readings")
"""What ``setting_of`` takes from another statement."""
Fields = dict[str, Any]


def written_out(data: Mapping[str, object], kinds: Iterable[str], place: Place) -> Fields:
    """The tables of a card in their full form.

    Parameters
    ----------
    data : the file as it was read; it is left as it is.
    kinds : the tables that hold entries.
    place : of the file, for errors.

    Raises
    ------
    CardError : a short form that is none (a ``given`` that is no table of texts, a group that holds no entries).
    """
    known = tuple(kinds)
    data = _prescribed(_joined(data), data.get("settings", {}), place)
    found = {key: value for key, value in data.items() if key not in ("shared", "every")}
    entries = {kind: _entries(data[kind], kind, place) for kind in known if kind in data}
    for group in _listed(data.get("shared", [])):
        for kind, members in _of_shared(group, known, place.at("shared")):
            entries.setdefault(kind, []).extend(members)
    for kind, fields in _of_every(data.get("every", {}), known, place.at("every")):
        entries[kind] = [_with(fields, one) for one in entries.get(kind, [])]
    ids = {str(one.get("id")): one for members in entries.values() for one in members if isinstance(one, dict)}
    for kind, members in entries.items():
        here = place.at(kind)
        found[kind] = [_entry(with_lines(_in_setting(one, ids, here), ids, here), here) for one in members]
    settings = data.get("settings")
    if isinstance(settings, dict):
        found["settings"] = {n: _hypotheses(one, place.at(f"[settings.{n}]")) for n, one in settings.items()}
    return found


def lines_of_ids(text: str, kinds: Iterable[str]) -> dict[str, list[int]]:
    """Line numbers of the ids of entries, in a line of their own or in the header of a table."""
    keyed = re.compile(rf"\s*\[\s*(?:shared\s*\.\s*)?(?:{'|'.join(kinds)})\s*\.\s*([\w-]+|\"[^\"]+\"|'[^']+')\s*\]")
    lines: dict[str, list[int]] = {}
    entry = False
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?", line)
        if header:
            entry = "." not in header[1].removeprefix("shared.")
            if short := keyed.match(line):
                lines.setdefault(short[1].strip("\"'"), []).append(number)
        found = re.match(r"""\s*id\s*=\s*["']([^"']+)["']""", line)
        if found and entry:
            lines.setdefault(found[1], []).append(number)
    return lines


def _joined(value: object, key: str = "") -> Any:
    """The data with each display in one line."""
    if isinstance(value, dict):
        return {name: _joined(inner, key if key in DISPLAYS else name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_joined(inner, key) for inner in value]
    return joined(value) if key in DISPLAYS and isinstance(value, str) else value


def joined(display: str) -> str:
    """A display in one line: the ends of its lines and their indentation are no part of it, two words stay apart."""
    return BREAK.sub("", WORDS.sub(" ", display.lstrip()))


def _prescribed(value: object, settings: object, place: Place) -> Any:
    """The data with ``"eta, B of theorem-3"`` under ``given`` as what these settings say: ``eta = 1/(4*L)``, ..."""
    if isinstance(value, list):
        return [_prescribed(one, settings, place) for one in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, inner in value.items():
        here = place.at(key if "id" not in value else f"{value['id']}, {key}")
        if key == "given" and isinstance(inner, dict):
            found[key] = {where: _of_settings(texts, settings, here) for where, texts in inner.items()}
        else:
            found[key] = _prescribed(inner, settings, here)
    return found


def _of_settings(texts: Any, settings: Any, place: Place) -> Any:
    found: list[Any] = []
    for text in _listed(texts):
        named = PRESCRIBED.match(text) if isinstance(text, str) else None
        if named is None:
            found.append(text)
            continue
        if not isinstance(settings, dict) or not isinstance(settings.get(named[2]), dict):
            raise place.fail(f"unknown settings '{named[2]}'{nearest(named[2], settings)}")
        known = settings[named[2]] | settings[named[2]].get("parameters", {})
        for name in named[1].split(", "):
            formula = _formula(known.get(name))
            if not formula:
                raise place.fail(f"the settings '{named[2]}' give no formula for '{name}'{nearest(name, known)}")
            found.append(f"{name} = {formula}")
    return found


def _formula(said: object) -> str:
    """What a letter is said to be equal to, as it is written or, where that is all, as it is printed."""
    if isinstance(said, dict) and "value" not in said and "root" not in said:
        sides = next((str(said[key]) for key in DISPLAYS if key in said), "").split("=")
        return sides[1].strip() if len(sides) == 2 else ""
    value = said.get("value") if isinstance(said, dict) else said
    return value if isinstance(value, str) else ""


def source_of(identity: str) -> str:
    """Where an entry stands that is called as the paper calls it: ``lemma-a-1`` is Lemma A.1, ``equation-22`` (22)."""
    named = NUMBERED.match(identity)
    if named is None:
        return ""
    number = named[2].replace("-", ".").upper()
    return f"({number})" if named[1] == "equation" else f"{named[1].capitalize()} {number}"


def _of_shared(group: object, kinds: tuple[str, ...], place: Place) -> list[tuple[str, list[Any]]]:
    """The entries of a group, each with the fields that they share and it does not have itself.

    ``step`` and ``table`` are fields as well as tables; a text is the field.
    """
    if not isinstance(group, dict):
        raise place.fail(f"expected a table, found {type(group).__name__}")
    below = [kind for kind in kinds if isinstance(group.get(kind), dict | list)]
    if not below:
        raise place.fail("it holds no entries; write [shared.inequality.ID] or another kind below it")
    shared = {key: value for key, value in group.items() if key not in below}
    found = []
    for kind in below:
        members = _entries(group[kind], kind, place)
        found.append((kind, [_with(shared, one) for one in members]))
    return found


def _with(shared: Mapping[str, object], one: object) -> Any:
    """An entry with what it has not said itself; a display under its place has said the source."""
    if not isinstance(one, dict):
        return one
    said = {"source"} if any(isinstance(one.get(key), dict) for key in DISPLAYS) else set()
    return {key: value for key, value in shared.items() if key not in said} | one


def _of_every(tables: object, kinds: tuple[str, ...], place: Place) -> list[tuple[str, Fields]]:
    """Kind -> the fields of all its entries that have none of their own."""
    if not isinstance(tables, dict):
        raise place.fail(f"expected a table, found {type(tables).__name__}")
    for kind, fields in tables.items():
        if kind not in kinds or not isinstance(fields, dict):
            raise place.at(kind).fail(f"'{kind}' is no table of a kind of entries{nearest(kind, kinds)}")
    return list(tables.items())


def _entries(value: object, kind: str, place: Place) -> list[Any]:
    """Entries of one kind as a list: an array of tables, one table, or tables under their ids."""
    return _under_ids(value, place.at(kind)) if _is_keyed(value) else _listed(value)


def _under_ids(value: Any, place: Place) -> list[Fields]:
    found = []
    for identity, one in value.items():
        if "id" in one:
            raise place.at(identity).fail("the header gives its id; take the field 'id' away")
        found.append({"id": identity, **one})
    return found


def _quoted(one: Fields, place: Place) -> Fields:
    """An entry whose display stands under its place in the paper, as ``source`` and the display."""
    for key in DISPLAYS:
        if not isinstance(one.get(key), dict):
            continue
        if "source" in one or len(one[key]) != 1:
            raise place.at(key).fail("write one place of the paper with its display there, and no 'source' beside it")
        source, display = next(iter(one[key].items()))
        one = one | {"source": source, key: display}
    return one


def _sourced(one: Fields) -> Fields:
    """An entry with the source that its id tells, unless it has one."""
    source = source_of(str(one.get("id", ""))) if "source" not in one else ""
    return one | {"source": source} if source else one


def _is_keyed(value: object) -> bool:
    return isinstance(value, dict) and bool(value) and all(isinstance(one, dict) for one in value.values())


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _in_setting(one: object, entries: Mapping[str, Fields], place: Place) -> object:
    """A statement with what it shares with the one that ``setting_of`` names: method, settings (:data:`SETTING`)."""
    if not isinstance(one, dict) or "setting_of" not in one:
        return one
    here, name = place.at(str(one.get("id", "")), "setting_of"), one["setting_of"]
    other = entries.get(name) if isinstance(name, str) else None
    if other is None:
        raise here.fail(f"unknown statement '{name}'{nearest(str(name), entries)}")
    if "setting_of" in other:
        raise here.fail(f"'{name}' takes its setting from another one itself; name that")
    rest = {key: value for key, value in one.items() if key != "setting_of"}
    return {key: other[key] for key in SETTING if key in other} | rest


def _entry(one: object, place: Place) -> Any:
    return entry_written_out(one, place) if isinstance(one, dict) else one


def entry_written_out(one: Fields, place: Place) -> Fields:
    """An entry with its claims, their scope and all hypotheses in full.

    Raises
    ------
    CardError : a short form that is none.
    """
    here = place.at(str(one.get("id", "")))
    found: Fields = _hypotheses(_sourced(_quoted(one, here)), here)
    if "claim" in found:
        claims = _entries(found["claim"], "claim", here)
        over = {"over": found.pop("over")} if "over" in found else {}
        found["claim"] = [_claim(over | c, here) if isinstance(c, dict) else c for c in claims]
    if isinstance(found.get("repaired"), dict):
        found["repaired"] = _hypotheses(found["repaired"], here.at("repaired"))
    return found


def _claim(one: Fields, place: Place) -> Fields:
    here = place.at(f'claim "{one.get("id", "")}"')
    found: Fields = _hypotheses(_sourced(_quoted(one, here)), here)
    variants: list[Fields] = []
    for key in ("repaired", "reading"):
        if key in found:
            forms = [_hypotheses(v, here.at(key)) if isinstance(v, dict) else v for v in _listed(found[key])]
            variants += [v for v in forms if isinstance(v, dict)]
            found[key] = forms if isinstance(found[key], list) else forms[0]
    if any(v.keys() & {"left", "right", "op"} and "chain" not in v for v in variants):
        found = _sides(found)
    return found


def _sides(one: Fields) -> Fields:
    """A chain of one relation as its two sides, of which a repaired form may change one alone."""
    chain = one.get("chain")
    if not (isinstance(chain, list) and len(chain) == 2 and all(isinstance(part, str) for part in chain)):
        return one
    relation = RELATION.match(chain[1])
    if relation is None:
        return one
    rest = {key: value for key, value in one.items() if key != "chain"}
    return {**rest, "left": chain[0], "op": relation[1], "right": relation[2].strip()}


def _hypotheses(one: object, place: Place) -> Any:
    """``given`` as ``where``, ``for`` and ``define``, a ``regime`` under its places as a list, with the origins."""
    if not isinstance(one, dict):
        return one
    found = {key: value for key, value in one.items() if key != "given"}
    if "given" in one:
        _given(found, one["given"], place.at("given"))
    if isinstance(one.get("regime"), dict):
        pairs = _placed(one["regime"], place.at("regime"))
        found |= {"regime": [text for _, text in pairs], "regime_from": [origin for origin, _ in pairs]}
    return found


def _given(found: Fields, value: object, place: Place) -> None:
    pairs = _placed(value, place)
    ranges = {m[1]: (m[2], origin) for origin, text in pairs if (m := RANGE.match(text))}
    defined = {m[1]: (m[2], origin) for origin, text in pairs if (m := DEFINED.match(text))}
    where = [(text, origin) for origin, text in pairs if not (RANGE.match(text) or DEFINED.match(text))]
    for key, given in (("where", where), ("for", ranges), ("define", defined)):
        if given and key in found:
            raise place.fail(f"'given' and '{key}' both say it; write all of '{key}' in one of them")
    if where:
        found |= {"where": [text for text, _ in where], "where_from": [origin for _, origin in where]}
    for key, named in (("for", ranges), ("define", defined)):
        if named:
            found[key] = {name: text for name, (text, _) in named.items()}
            found[f"{key}_from"] = {name: origin for name, (_, origin) in named.items()}


def _placed(value: object, place: Place) -> list[tuple[str, str]]:
    """Place in the paper -> one text or a list of texts, as pairs in order."""
    if not isinstance(value, Mapping):
        raise place.fail('write { "Lemma 6" = ["k >= 1", "eps in (0, 1]"] }: the place, and what it gives')
    found = []
    for origin, texts in value.items():
        for text in _listed(texts):
            if not isinstance(text, str):
                raise place.at(str(origin)).fail("expected a string or a list of strings")
            found.append((str(origin), text))
    return found
