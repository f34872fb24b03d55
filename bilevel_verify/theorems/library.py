"""Where the cards stand: found the same way from a wheel, an editable install and a checkout."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from bilevel_verify.errors import CardError
from bilevel_verify.files import is_file
from bilevel_verify.installation import theory_directory
from bilevel_verify.language import nearest, some_of
from bilevel_verify.theorems.card import Algorithm, Card, Entry, Statement, Step
from bilevel_verify.theorems.card_parts import PASSIVE_KINDS, STATEMENT_KINDS
from bilevel_verify.theorems.reading.reader import read_card


@dataclass(frozen=True, slots=True)
class CardRecord:
    """A shipped card: its key, its file, and the error if it cannot be read."""

    name: str
    path: Path
    title: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class StatementRecord:
    """One numbered item: ``name`` is "paper/id"; ``checks`` says what can be decided about it."""

    name: str
    paper: str
    id: str
    kind: str
    source: str
    title: str
    checks: tuple[str, ...]


def shipped() -> dict[str, Path]:
    """Paper key -> file of every shipped card, in alphabetical order."""
    return {path.stem: path for path in sorted(theory_directory().glob("*.toml"))}


def load_card(name_or_path: str | Path) -> Card:
    """A card by the key of its paper (``"ragd-gs"``) or by the path of a file (``"mine.toml"``).

    Raises
    ------
    CardError : no such card, or one that cannot be read (names statement, field, column and fix).
    """
    text = str(name_or_path)
    if not text.endswith(".toml"):
        known = shipped()
        if text not in known:
            raise CardError(f"no card {text!r}{nearest(text, known)}; shipped are {', '.join(known)}")
        path = known[text]
        return _cached(str(path), path.stat().st_mtime_ns, f"theory/{path.name}")
    path = Path(name_or_path).expanduser()
    if not is_file(path):
        raise CardError(f"{text}: no such file")
    return _cached(str(path.resolve()), path.stat().st_mtime_ns, text)


@lru_cache(maxsize=64)
def _cached(path: str, stamp: int, label: str) -> Card:
    return read_card(Path(path), label)


card = load_card


def cards() -> tuple[CardRecord, ...]:
    """The shipped cards; one that cannot be read is listed with its error, the others still load."""
    found = []
    keys: dict[str, Path] = {}
    for key, path in shipped().items():
        try:
            one = load_card(key)
            first = keys.setdefault(one.key, path)
            if first != path:
                label = f"theory/{path.name}: [paper], key"
                fix = "give one of them another key"
                raise CardError(f"{label}: {one.key!r} is the key of theory/{first.name} too; {fix}")
            found.append(CardRecord(key, path, one.title))
        except CardError as error:
            found.append(CardRecord(key, path, error=str(error)))
    return tuple(found)


def statements(paper: str | None = None) -> tuple[StatementRecord, ...]:
    """Every numbered item of the shipped cards (or of one of them), with what can be checked about it.

    Raises
    ------
    CardError : no shipped card has this key.
    """
    if paper is not None and paper not in shipped():
        raise CardError(f"no card {paper!r}{nearest(paper, shipped())}; shipped are {', '.join(shipped())}")
    found: list[StatementRecord] = []
    for record in cards():
        if record.error or paper not in (None, record.name):
            continue
        for entry in load_card(record.name).entries.values():
            name = f"{record.name}/{entry.id}"
            found.append(
                StatementRecord(name, record.name, entry.id, entry.kind, entry.source, entry.title, checks_of(entry))
            )
    return tuple(found)


def checks_of(entry: Entry) -> tuple[str, ...]:
    """Kinds of check that an entry gives rise to (empty: nothing is decided about it)."""
    if isinstance(entry, Statement):
        kinds = [claim.over for claim in entry.claims]
        if entry.items:
            kinds.append("items")  # type: ignore[arg-type]
        if entry.parameters or entry.settings:
            kinds.append("parameters")
        return tuple(dict.fromkeys(kinds))
    if isinstance(entry, Algorithm):
        return ("executability",)
    if isinstance(entry, Step):  # vector algebra; "step" is a claim along a run
        return ("step-algebra",)
    return (entry.kind.replace("_", " "),)


def split_name(name: str) -> tuple[str, str]:
    """``"ragd-gs/theorem-1"`` -> ``("ragd-gs", "theorem-1")``.

    Raises
    ------
    CardError : not of the form paper/id.
    """
    paper, slash, identity = name.rpartition("/")
    if not slash or not paper or not identity:
        raise CardError(f"{name!r} is not the name of a statement; write 'paper/id', as in 'ragd-gs/theorem-1'")
    return paper, identity


def find_statement(name: str) -> tuple[Card, Entry]:
    """The entry "paper/id" (the paper may be the path of a card file).

    Raises
    ------
    CardError : no such card or entry, with the nearest name.
    """
    paper, identity = split_name(name)
    found = load_card(paper)
    entry = found.entries.get(identity)
    if entry is None:
        close, listed = nearest(identity, found.entries), some_of(found.entries)
        raise CardError(f"{paper} has no statement {identity!r}{close}{';' * (not close)} it has {listed}")
    return found, entry


KINDS = (*STATEMENT_KINDS, *PASSIVE_KINDS)
