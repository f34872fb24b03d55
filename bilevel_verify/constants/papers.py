"""What each paper's letters mean: functions, derivative forms, metric. One letter has several meanings.

The meanings are data: ``theory/constants/KEY.toml`` for the shipped papers, and in a card of the user's own every
letter ``from = "constants"`` that says ``of = [...]``. What a card does not define has the meaning of the default set.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from bilevel_verify.errors import InputError
from bilevel_verify.files import read_toml
from bilevel_verify.installation import theory_directory
from bilevel_verify.language import nearest

Measure = Literal[
    "norm",
    "strong convexity",
    "Polyak-Lojasiewicz",
    "exponent",
    "hoelder",
    "ratio",
    "diameter",
    "error bound",
    "gradient",
]
NORMS = {
    "joint": "Euclidean / spectral, joint in (x, y)",
    "sum": "Euclidean / spectral, sum metric |x - x'| + |y - y'|: the larger of the two partial constants",
    "in x": "Euclidean / spectral, all of x moves",
    "on Z": "Euclidean / spectral, all of x moves within Z",
    "in y": "Euclidean / spectral, y moves, every fixed x",
    "Euclidean": "Euclidean",
    "none": "none",
}
"""Word of the data -> metric, and which variables move."""
FORM = re.compile(r"([fg]):([xyz]{1,4})\Z")
FIELDS = ("measure", "of", "norm", "partner", "meaning")
KINDS = ("bilevel", "minimax", "single_level", "simple_bilevel", "constrained_bilevel")


@dataclass(frozen=True, slots=True)
class Letter:
    """One constant of one paper.

    Attributes
    ----------
    name : as in the paper, ASCII.
    measure : how it is computed.
    parts : pairs (function, form); the constant is the largest over them (smallest for ``mu``). Forms are words over
        ``x y z`` with one letter per slot, see :mod:`bilevel_verify.constants.calculus.forms`.
    norm : metric and which variables move.
    meaning : definition, with its formula.
    partner : for an exponent the letter of its constant and the other way round; numerator and denominator for a ratio.
    """

    name: str
    measure: Measure
    parts: tuple[tuple[str, str], ...]
    norm: str
    meaning: str
    partner: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LetterSet:
    """The letters of one paper, in the order in which they are printed.

    Attributes
    ----------
    kinds : kinds of problems for which they are defined. ``default_for`` : those that get them when none is asked for.
    minimax : key of the set that the paper's statements about minimax problems use; empty: this one.
    """

    key: str
    letters: tuple[Letter, ...]
    kinds: tuple[str, ...] = KINDS
    default_for: tuple[str, ...] = ()
    minimax: str = ""
    names: Mapping[str, Letter] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", MappingProxyType({letter.name: letter for letter in self.letters}))


def read_letter(name: str, data: Mapping[str, Any], where: str) -> Letter:
    """The definition of a constant from its table.

    Raises
    ------
    InputError : a field that is missing, unknown or out of its list; names it.
    """
    for word in data:
        if word not in FIELDS:
            raise InputError(f"{where}, {name}: unknown field {word!r}{nearest(word, FIELDS)}")
    measure = _word(data.get("measure", "norm"), get_args(Measure), f"{where}, {name}, measure")
    norm = _word(data.get("norm", "joint"), NORMS, f"{where}, {name}, norm")
    parts = tuple(_part(part, f"{where}, {name}, of") for part in _words(data, "of", f"{where}, {name}"))
    partner = _words(data, "partner", f"{where}, {name}")
    least = {"norm": 1, "exponent": 1, "hoelder": 1, "gradient": 1}.get(measure, 0)
    if measure == "strong convexity" and (len(parts) != 1 or parts[0][1] not in ("xx", "yy", "zz")):
        fix = 'write of = ["g:yy"], on one level of = ["f:xx"]'
        raise InputError(f"{where}, {name}: a curvature is of one block of one function; {fix}")
    if measure == "Polyak-Lojasiewicz" and (len(parts) != 1 or len(parts[0][1]) != 1):
        fix = 'write of = ["g:y"], on one level of = ["f:x"]'
        raise InputError(f"{where}, {name}: the inequality is about one gradient; {fix}")
    if len(parts) < least:
        raise InputError(f'{where}, {name}: of is missing; write of = ["f:zz"], a function and its derivative')
    if len(partner) != (2 if measure == "ratio" else 1 if measure in ("exponent", "hoelder", "error bound") else 0):
        fix = "a ratio names two letters, exponents and their constants name each other, others none"
        raise InputError(f"{where}, {name}: partner = {list(partner)} does not fit {measure!r}; {fix}")
    return Letter(name, measure, parts, NORMS[norm], str(data.get("meaning", "")), partner)  # type: ignore[arg-type]


def _word(value: str, known: dict[str, str] | tuple[str], where: str) -> str:
    if not isinstance(value, str) or value not in known:
        raise InputError(f"{where}: {value!r} is none of {', '.join(known)}")
    return value


def _words(data: Mapping[str, object], name: str, where: str) -> tuple[str, ...]:
    value = data.get(name, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise InputError(f"{where}: {name} must be a list of texts")
    return tuple(value)


def _part(text: str, where: str) -> tuple[str, str]:
    found = FORM.match(text)
    if found is None:
        fix = "write f or g, a colon and one of x, y, z for each derivative: 'f:zz' is the Hessian of f in (x, y)"
        raise InputError(f"{where}: {text!r} is no derivative; {fix}")
    return found[1], found[2]


def read_letters(key: str, data: Mapping[str, Any], where: str) -> LetterSet:
    """A set of definitions from its tables.

    Raises
    ------
    InputError : as of :func:`read_letter`; a partner that is not defined.
    """
    letters = {name: read_letter(name, table, where) for name, table in data["letters"].items()}
    check_partners(letters, where)
    kinds, default_for = _words(data, "kinds", where) or KINDS, _words(data, "default_for", where)
    return LetterSet(key, tuple(letters.values()), kinds, default_for, str(data.get("minimax", "")))


def letters_of_card(path: str) -> LetterSet:
    """The constants that the letters of a card file define (``from = "constants"`` with ``of = [...]``).

    Raises
    ------
    InputError : no such file, or no letter of it defines a constant; as of :func:`read_letters`.
    """
    tables = read_toml(Path(path)).get("letters", {})
    own = {
        name: {field: table[field] for field in FIELDS if field in table}
        for name, table in (tables.items() if isinstance(tables, dict) else ())
        if isinstance(table, dict) and any(field in table for field in FIELDS if field != "meaning")
    }
    if not own:
        raise InputError(f'{path}: no letter of this card says of = ["f:zz"], so it defines no constants')
    return read_letters(path, {"letters": own}, f"{path}: [letters]")


def check_partners(letters: Mapping[str, Letter], where: str) -> None:
    """A ratio, an exponent and its constant need the letters that they name.

    Raises
    ------
    InputError : one is not defined.
    """
    for letter in letters.values():
        for name in letter.partner:
            if name not in letters:
                raise InputError(f"{where}, {letter.name}, partner: no constant {name!r}{nearest(name, letters)}")


@cache
def letter_sets() -> Mapping[str, LetterSet]:
    """Key -> letters, of every shipped paper."""
    files = sorted((theory_directory() / "constants").glob("*.toml"))
    found = {path.stem: read_letters(path.stem, _data(path), path.name) for path in files}
    return MappingProxyType(found)


def _data(path: Path) -> dict[str, object]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def _default(kind: str) -> LetterSet:
    return next(one for one in letter_sets().values() if kind in one.default_for)


def set_for(paper: str, kind: str) -> LetterSet:
    """The letters that the statements of a paper use on a kind of problem; the default ones where it defines none."""
    known = letter_sets()
    if paper not in known:
        return _default(kind)
    other = known[paper].minimax if kind == "minimax" else ""
    return known[other or paper]


def letters_of(paper: str | LetterSet | None, kind: str) -> LetterSet:
    """The letters of the paper that was asked for, or of a card file (``.toml``), or of the default for the kind.

    Raises
    ------
    InputError : unknown paper, or one that defines no constants or does not speak of this kind of problem.
    """
    known = letter_sets()
    if isinstance(paper, str) and paper.endswith(".toml"):
        paper = letters_of_card(paper)
    if isinstance(paper, str) and paper not in known:
        raise InputError(f"no constants are defined for the paper {paper!r}; known are {', '.join(known)}")
    found = _default(kind) if paper is None else known[paper] if isinstance(paper, str) else paper
    if kind not in found.kinds:
        raise InputError(
            f"the letters of {found.key} are defined for {' and '.join(found.kinds)} problems, this one is {kind}"
        )
    return found
