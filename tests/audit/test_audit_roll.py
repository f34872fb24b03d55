"""The roll of the five papers: every numbered item has its entry, every printed equation number its place."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

import pytest

from bilevel_verify.theorems.card import Algorithm, Card, Derivation, Identity, Inequality, Statement, Step
from bilevel_verify.theorems.library import load_card
from bilevel_verify.theorems.reading.fields import Place
from bilevel_verify.theorems.reading.reader import KINDS
from bilevel_verify.theorems.reading.short import written_out


def _ids(text: str) -> tuple[str, ...]:
    """``"lemma-1..9 lemma-c-1..5"`` written out."""
    found = []
    for word in text.split():
        span = re.fullmatch(r"(.*-)(\d+)\.\.(\d+)", word)
        found += [f"{span[1]}{n}" for n in range(int(span[2]), int(span[3]) + 1)] if span else [word]
    return tuple(found)


ROLL: dict[str, dict[str, str]] = {
    "ragd-gs": {
        "assumptions": "assumption-1 condition-1",
        "definitions": "definition-1..2",
        "algorithms": "algorithm-1..2",
        "statements": "lemma-1..9 lemma-c-1..5 lemma-d-1 lemma-e-1..2 proposition-1 theorem-1..2 remark-1..2",
        "tables": "table-1",
        "equations": "1..47",
    },
    "restarted-agd-hb": {
        "assumptions": "assumption-1",
        "algorithms": "algorithm-1..7",
        "statements": "theorem-1..6 lemma-1..9 remark-1..4",
        "proofs": "proof-1..11",
        "equations": "1..4 5a 5b 5c 6a 6b 7..9 10a 10b 11..27 28a 29a 29b 30",
    },
    "rahgd": {
        "assumptions": "assumption-2-3 condition-3-1",
        "definitions": "definition-2-4 definition-2-8 definition-2-9",
        "algorithms": "algorithm-1..4",
        "statements": "lemma-2-1..2 lemma-2-5..7 remark-3-2 lemma-3-3 theorem-3-4 proposition-3-5 corollary-3-6 "
        "theorem-4-1 proposition-4-2 corollary-4-3 lemma-5-1 theorem-5-2 lemma-a-1..5 lemma-b-1..6 lemma-c-1..3",
        "tables": "table-1..2",
        "equations": "1..42 1a 1b",
    },
    "fsba": {
        "assumptions": "assumption-2-1 assumption-4-1 assumption-4-6",
        "definitions": "definition-2-2 definition-2-6..7",
        "algorithms": "algorithm-1..7",
        "statements": "proposition-2-3..5 lemma-3-1..3 theorem-3-4 lemma-4-2 theorem-4-3 remark-4-4..5 theorem-4-7 "
        "remark-4-8 lemma-b-1..6 lemma-e-1..4 theorem-e-5",
        "tables": "table-1",
        "equations": "1..48",
    },
    "agm-bio": {
        "assumptions": "assumption-2-1 assumption-4-1 assumption-b-1",
        "definitions": "definition-2-1..2 definition-b-1",
        "algorithms": "algorithm-1..2",
        "statements": "lemma-a-1 theorem-4-1 remark-3-1..2 remark-4-1..2 proposition-4-2 lemma-4-3 "
        "theorem-4-4..5 lemma-b-1",
        "tables": "table-1",
        "equations": "1..79",
    },
}
SECTIONS = ("assumptions", "definitions", "algorithms", "statements", "tables", "proofs")


def _equations(text: str) -> list[str]:
    found = []
    for word in text.split():
        low, dots, high = word.partition("..")
        found += [str(n) for n in range(int(low), int(high) + 1)] if dots else [word]
    return found


def _placed(card: Card) -> set[str]:
    """Equation numbers that some entry, claim, parameter or setting names as its source."""
    data = written_out(tomllib.loads(card.path.read_text(encoding="utf-8")), KINDS, Place(card.path.name))
    text = " ".join(_named(data))
    found = set(re.findall(r"\((\d+[a-z]?)\)", text)) | set(re.findall(r"equation-(\d+[a-z]?)", text))
    for low, high in re.findall(r"\((\d+)\)\s*(?:-|\u2013|to|\.\.)\s*\((\d+)\)", text):
        found |= {str(n) for n in range(int(low), int(high) + 1)}
    return found


def _named(data: object) -> Iterator[str]:
    """Every source and id of a table."""
    if isinstance(data, list):
        for item in data:
            yield from _named(item)
    if isinstance(data, dict):
        for key, value in data.items():
            if key in ("source", "id") and isinstance(value, str):
                yield value
            yield from _named(value)


def _has_check(entry: object) -> bool:
    match entry:
        case Inequality() | Step() | Derivation() | Identity() | Algorithm():
            return True
        case Statement():
            return bool(entry.claims or entry.items or entry.parameters or entry.settings)
    return True


@pytest.mark.parametrize("paper", ROLL)
def test_every_item_has_its_entry(paper: str) -> None:
    card = load_card(paper)
    missing = [name for section in SECTIONS for name in _ids(ROLL[paper].get(section, "")) if name not in card.entries]
    assert not missing


@pytest.mark.parametrize("paper", ROLL)
def test_every_equation_has_its_place(paper: str) -> None:
    placed = _placed(load_card(paper))
    assert not [number for number in _equations(ROLL[paper]["equations"]) if number not in placed]


@pytest.mark.parametrize("paper", ROLL)
def test_nearly_every_statement_is_put_to_a_test(paper: str) -> None:
    """At most one statement in ten has nothing to decide; all the others carry a check."""
    card = load_card(paper)
    names = _ids(ROLL[paper]["statements"])
    excused = [name for name in names if card.entries[name].nothing_to_decide]
    assert len(excused) <= 0.1 * len(names), excused
    assert not [n for n in names if n not in excused and not _has_check(card.entries[n])]


@pytest.mark.parametrize("paper", ROLL)
def test_every_formula_has_its_display(paper: str) -> None:
    """LaTeX beside the formulas: the paper's own or, marked as such, the card's; one in ten may have neither.

    What is quoted is counted apart: displays of the card's own making cannot stand for the whole paper.
    """
    shown: dict[str, tuple[bool, bool]] = {}
    for entry in load_card(paper).entries.values():
        if isinstance(entry, Inequality | Step | Derivation | Identity):
            shown[entry.id] = (any(entry.printed), any(entry.stated))
        if isinstance(entry, Statement):
            shown |= {f"{entry.id}/{c.id}": (any(c.printed), any(c.stated)) for c in entry.claims}
    bare = [name for name, (printed, stated) in shown.items() if not printed and not stated]
    assert len(bare) <= 0.1 * len(shown), bare
    assert sum(printed for printed, _ in shown.values()) >= 0.3 * len(shown)
