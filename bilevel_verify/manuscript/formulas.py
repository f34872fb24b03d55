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

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from bilevel_verify.errors import InputError
from bilevel_verify.installation import theory_directory

KINDS = ("display", "inline", "algorithm-line", "table-cell")
LARGEST_FILE = 4_000_000
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
class Print:
    """All formulas of a paper, in its order."""

    paper: str
    formulas: tuple[Formula, ...]

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
    if not path.is_file():
        raise InputError(f"{text}: no print of it; give a file with --print")
    return _loaded(str(path), path.stat().st_mtime_ns)


def has_print(key: str) -> bool:
    """Whether the print of a paper is shipped."""
    return (theory_directory() / "print" / f"{key}.toml").is_file()


@lru_cache(maxsize=16)
def _loaded(path: str, stamp: int) -> Print:
    source = Path(path)
    if source.stat().st_size > LARGEST_FILE:
        raise InputError(f"{source.name}: more than {LARGEST_FILE} bytes")
    try:
        data = tomllib.loads(source.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{source.name}: not TOML: {error}") from None
    return read_print(data, source.name)


def read_print(data: Mapping[str, Any], label: str = "print") -> Print:
    """A print from its table.

    Raises
    ------
    InputError : as for :func:`load_print`.
    """
    for key in data:
        if key not in ("paper", "formula"):
            raise InputError(f"{label}: unknown field {key!r}; known are paper, formula")
    paper, items = data.get("paper", ""), data.get("formula", [])
    if not isinstance(paper, str) or not isinstance(items, list):
        raise InputError(f"{label}: 'paper' is a string and 'formula' an array of tables")
    if len(items) > MOST_FORMULAS:
        raise InputError(f"{label}: more than {MOST_FORMULAS} formulas")
    found: list[Formula] = []
    for number, item in enumerate(items, 1):
        formula = _formula(item, f"{label}, formula {number}")
        if found and formula.n <= found[-1].n:
            raise InputError(f"{label}, formula {number}: n = {formula.n} after {found[-1].n}; the numbers must rise")
        found.append(formula)
    return Print(paper, tuple(found))


def _formula(item: Any, label: str) -> Formula:
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
