"""Places as a reader of the paper names them: ``Lemma C.2`` and no id, ``after (26)`` and no number of ours."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bilevel_verify.audit.findings.causes import users_of
from bilevel_verify.manuscript.formulas import has_print, load_print
from bilevel_verify.theorems.card import Card, Statement

KINDS = "theorem|lemma|proposition|corollary|algorithm|assumption|condition|definition|remark|table"
NAMED = re.compile(rf"\b({KINDS})-((?:[a-z]-)?\d+(?:-\d+)*)\b(?:-[a-z]\w*)*")
STATEMENT = re.compile(r"\b(Theorem|Lemma|Proposition|Corollary|Algorithm)s? ((?:[A-Z]\.)?\d+(?:\.\d+)*)")
MOST = 8
LONGEST_HEADING = 60


def title_of(identifier: str) -> str:
    """``lemma-c-2`` -> ``Lemma C.2``; other words as they are."""
    return NAMED.sub(lambda m: f"{m[1].capitalize()} {m[2].upper().replace('-', '.')}", identifier)


def heading_of(place: str) -> str:
    """A place without a sentence about what is judged there: ``C.3`` of ``C.3: the logarithm, with ...``."""
    head = re.split(r"[:;] ", place, maxsplit=1)[0]
    while len(head) > LONGEST_HEADING and ", " in head:
        head = head.rpartition(", ")[0]
    return head


def words_of(card: Card, place: str) -> str:
    """A place of the proofreader in the paper's own words."""
    found = re.match(r"formula (\d+), ", place)
    if found and has_print(card.key):
        place = f"{_beside(card, int(found[1]))}{place[found.end() :]}"
    return re.sub(r"\bsection (?=[\dA-Z])", "Section ", title_of(place))


def _beside(card: Card, number: int) -> str:
    """Where a formula without a number stands: in which line of an algorithm, after which number."""
    last, home = "", ""
    formulas = load_print(card.key).formulas
    here = next((f for f in formulas if f.n == number), None)
    if here is not None and here.line:
        return f"line {here.line}, "
    for formula in formulas:
        if formula.n == number:
            break
        if formula.number:
            last, home = formula.number, formula.within
    return f"after ({last}), " if last and here is not None and here.within == home else ""


def place_of_row(card: Card, source: str, statement: str) -> str:
    """The source of a row; an equation number alone gets the statement that holds it."""
    entry = card.entries.get(statement)
    alone = re.fullmatch(r"\(\w+\)(?:, .*)?", source) is not None
    if alone and isinstance(entry, Statement) and entry.source and not entry.source.startswith("("):
        return f"{source}, {entry.source}"
    return title_of(source)


def without_ids(card: Card, sentence: str) -> str:
    """A sentence in which ids of the card's entries are the places that they stand for."""

    def named(found: re.Match[str]) -> str:
        entry = card.entries.get(found[0])
        return entry.source if entry is not None and entry.source else found[0]

    return re.sub(r"\b[a-z]+(?:-[a-z0-9]+)+\b", named, sentence)


def matters_for(card: Card, used_by: Iterable[str], places: Iterable[str]) -> tuple[str, ...]:
    """Places that build on what is wrong: those that use it, the statement whose proof it is in, and who uses that."""
    places = list(places)
    proved = dict.fromkeys(_id(kind, number) for place in places for kind, number in STATEMENT.findall(place))
    inside = [n for n in proved if n in card.entries and any("proof" in p.lower() for p in places)]
    named = [heading_of(_shown(card, name)) for name in (*inside, *used_by, *users_of(card, set(proved)))]
    return tuple(dict.fromkeys(named))[:MOST]


def _id(kind: str, number: str) -> str:
    return f"{kind.lower()}-{number.lower().replace('.', '-')}"


def _shown(card: Card, name: str) -> str:
    entry = card.entries[name]
    return entry.source or title_of(name)
