"""The print of a paper: its formulas with numbers and places, in the paper's own LaTeX, and no prose.

``theory/print/KEY.toml`` belongs to a shipped card; a file of one's own has the same form::

    paper = "my-draft"

    [[formula]]
    n = 1                       # running number, in the order of the paper
    number = "3"                # printed beside it; left out if there is none
    kind = "display"            # display, inline, algorithm-line, table-cell
    section = "4.2"
    within = "theorem-1"        # id of a statement, an algorithm, a table, or "proof of ID"; "" for plain text
    latex = '\\|x\\| \\le 1'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from bilevel_verify.errors import InputError
from bilevel_verify.files import is_file, read_toml
from bilevel_verify.installation import theory_directory

KINDS = ("display", "inline", "algorithm-line", "table-cell")
MOST_FORMULAS = 20_000
LONGEST = 40_000
"""Bytes of a file, formulas in it, characters of one formula."""
PROOF = "proof of "


@dataclass(frozen=True, slots=True)
class Formula:
    """One printed formula.

    Attributes
    ----------
    n : running number in the print.
    latex : the paper's LaTeX, right or wrong.
    kind : a word of :data:`KINDS`.
    section : heading under which it stands.
    within : id of the statement, algorithm or table that holds it, ``proof of ID``, or empty.
    number : equation number; empty if none is printed.
    line : printed line of an algorithm.
    """

    n: int
    latex: str
    kind: str = "display"
    section: str = ""
    within: str = ""
    number: str = ""
    line: str = ""

    @property
    def statement(self) -> str:
        """Id of the statement that it belongs to, whether it stands in it or in its proof."""
        return self.within.removeprefix(PROOF)

    @property
    def in_proof(self) -> bool:
        """Whether it stands in a proof."""
        return self.within.startswith(PROOF)

    @property
    def place(self) -> str:
        """Where a reader finds it: ``(12), proof of theorem-1``, ``section 2, formula 7``."""
        number = f"({self.number})" if self.number else f"formula {self.n}"
        return f"{number}, {self.within or f'section {self.section}' if self.within or self.section else 'the paper'}"


@dataclass(frozen=True, slots=True)
class Said:
    """Something in force that the paper says in words, a step of its algorithms, or a result that it cites.

    Attributes
    ----------
    source : where and how the paper says it.
    latex : as a formula in the paper's notation; empty with ``use``.
    use : number of the formula of the print that says it; 0 with ``latex``.
    any : letters that stand for anything of their kind.
    within : ids of the statements in which (and in whose proofs) it is in force; empty: everywhere.
    least : smallest value of running letters in ``any`` (``from`` in the file).
    cites : number of the formula that it is a result of, as good as the verdict of that; 0: it is in force.
    """

    source: str
    latex: str = ""
    use: int = 0
    any: str = ""
    within: tuple[str, ...] = ()
    least: int = 0
    cites: int = 0


@dataclass(frozen=True, slots=True)
class Print:
    """All formulas of a paper, in its order, and what it says in words; ``euclidean``: its plain norms are."""

    paper: str
    formulas: tuple[Formula, ...]
    said: tuple[Said, ...] = ()
    euclidean: bool = True

    def __iter__(self) -> Iterator[Formula]:
        return iter(self.formulas)

    def __len__(self) -> int:
        return len(self.formulas)

    def displays(self) -> tuple[Formula, ...]:
        """The displayed formulas."""
        return tuple(f for f in self.formulas if f.kind == "display")


def load_print(key_or_path: str | Path) -> Print:
    """The print of a shipped paper by its key, or a file of the same form.

    Raises
    ------
    InputError : no such file, not TOML, an unknown or ill-formed field, numbers that do not rise, or beyond the limits;
        names the file, the formula and the field.
    """
    text = str(key_or_path)
    path = Path(text).expanduser() if text.endswith(".toml") else theory_directory() / "print" / f"{text}.toml"
    if not is_file(path):
        raise InputError(f"{text}: no print of it; give a file with --print")
    return _loaded(str(path), path.stat().st_mtime_ns)


def has_print(key: str) -> bool:
    """Whether the print of a paper is shipped."""
    return is_file(theory_directory() / "print" / f"{key}.toml")


@lru_cache(maxsize=16)
def _loaded(path: str, stamp: int) -> Print:
    source = Path(path)
    return read_print(read_toml(source, label=source.name), source.name)


def read_print(data: Mapping[str, Any], label: str = "print") -> Print:
    """A print from its table.

    Raises
    ------
    InputError : as for :func:`load_print`.
    """
    for key in data:
        if key not in ("paper", "formula", "said", "euclidean"):
            raise InputError(f"{label}: unknown field {key!r}; known are paper, euclidean, formula, said")
    paper, items, said = data.get("paper", ""), data.get("formula", []), data.get("said", [])
    if not isinstance(paper, str) or not isinstance(items, list) or not isinstance(said, list):
        raise InputError(f"{label}: 'paper' is a string, 'formula' and 'said' are arrays of tables")
    if not isinstance(data.get("euclidean", True), bool):
        raise InputError(f"{label}, euclidean: expected true or false")
    if len(items) > MOST_FORMULAS:
        raise InputError(f"{label}: more than {MOST_FORMULAS} formulas")
    found: list[Formula] = []
    for number, item in enumerate(items, 1):
        formula = _formula(item, f"{label}, formula {number}")
        if found and formula.n <= found[-1].n:
            raise InputError(f"{label}, formula {number}: n = {formula.n} after {found[-1].n}; the numbers must rise")
        found.append(formula)
    numbers = {formula.n for formula in found}
    every = tuple(_said(one, f"{label}, said {number}", numbers) for number, one in enumerate(said, 1))
    return Print(paper, tuple(found), every, data.get("euclidean", True))


SAID = {"source": str, "latex": str, "use": int, "any": str, "within": list, "from": int, "cites": int}


def _said(item: object, label: str, numbers: set[int]) -> Said:
    if not isinstance(item, dict):
        raise InputError(f"{label}: expected a table")
    for key, value in item.items():
        if key not in SAID:
            raise InputError(f"{label}: unknown field {key!r}; known are {', '.join(SAID)}")
        if not isinstance(value, SAID[key]) or (SAID[key] is int and isinstance(value, bool)):
            raise InputError(f"{label}, {key}: expected {SAID[key].__name__}")
    if not item.get("source"):
        raise InputError(f"{label}: the field 'source' is missing: where does the paper say it?")
    if bool(item.get("latex")) == bool(item.get("use")):
        raise InputError(f"{label}: give either 'latex' or 'use', the number of a formula")
    for key in ("use", "cites"):
        if item.get(key, 0) and item[key] not in numbers:
            raise InputError(f"{label}, {key}: there is no formula {item[key]}")
    named = {**item, "within": tuple(str(one) for one in item.get("within", ())), "least": item.get("from", 0)}
    named.pop("from", None)
    return Said(**named)


def _formula(item: object, label: str) -> Formula:
    if not isinstance(item, dict):
        raise InputError(f"{label}: expected a table")
    known = {field.name: field.type for field in fields(Formula)}
    for key, value in item.items():
        if key not in known:
            raise InputError(f"{label}: unknown field {key!r}; known are {', '.join(known)}")
        kind = int if key == "n" else str
        if not isinstance(value, kind) or isinstance(value, bool):
            raise InputError(f"{label}, {key}: expected {'a whole number' if kind is int else 'a string'}")
    for key in ("n", "latex"):
        if key not in item:
            raise InputError(f"{label}: the field {key!r} is missing")
    if item.get("kind", "display") not in KINDS:
        raise InputError(f"{label}, kind: {item['kind']!r} is not one of {', '.join(KINDS)}")
    if len(item["latex"]) > LONGEST:
        raise InputError(f"{label}, latex: more than {LONGEST} characters")
    return Formula(**item)
