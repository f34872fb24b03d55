"""Names of problems and cards: how they are written, what text is behind them, and how they are opened.

A problem is named ``zoo:NAME``, ``zoo:NAME:knob=value,knob=value`` or by the path of a TOML file (knobs may follow the
path in the same way). Looking up the text needs no heavy import, so a campaign of many cells is planned in a moment.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bilevel_verify.campaign.cell import Scalar, digest
from bilevel_verify.campaign.solvers import load_solver
from bilevel_verify.errors import CardError, InputError, ProblemError
from bilevel_verify.files import is_file, read_toml
from bilevel_verify.language import nearest

if TYPE_CHECKING:
    from bilevel_verify.campaign.cell import Cell
    from bilevel_verify.problems.family import ProblemFamily
    from bilevel_verify.problems.problem import Problem

ZOO = Path(__file__).parents[1] / "problems" / "zoo"
EXPERIMENTS = Path(__file__).parents[1] / "experiments" / "sheets"
UNDECISIVE = {
    "": {"paper", "section", "title", "open", "claims"},
    "methods": {"open", "least", "note", "grid"},
    "size": {"seeds", "passes", "points", "target", "lists"},
}
"""Parts of an experiment's sheet that decide no run: words, what is judged, and which runs there are."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def split_reference(reference: str) -> tuple[str, dict[str, Scalar]]:
    """``zoo:ramp:s=2*eps,drop=1`` -> (``zoo:ramp``, ``{"s": "2*eps", "drop": 1}``); the same for a path.

    Raises
    ------
    InputError
        A knob is not written ``name=value``.
    """
    prefix = "zoo:" if reference.startswith("zoo:") else ""
    rest = reference[len(prefix) :]
    name, separator, knobs = rest.rpartition(":") if "=" in rest.rpartition(":")[2] else (rest, "", "")
    if not name:
        raise InputError(f"problem {reference!r}: write zoo:NAME, zoo:NAME:knob=value or the path of a problem file")
    return prefix + name, _knobs(knobs, reference) if separator else {}


def _knobs(text: str, reference: str) -> dict[str, Scalar]:
    found: dict[str, Scalar] = {}
    for part in _split_outside_brackets(text):
        name, equals, value = part.partition("=")
        if not equals or not _NAME.fullmatch(name.strip()) or not value.strip():
            raise InputError(f"problem {reference!r}: knob {part!r} must be written name=value")
        found[name.strip()] = _scalar(value.strip())
    return found


def _split_outside_brackets(text: str) -> list[str]:
    """Split at commas that are not inside parentheses (``s=max(a,b),drop=1``)."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return parts + [text[start:]]


def _scalar(text: str) -> Scalar:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return text
    if number != number or number in (float("inf"), float("-inf")):
        raise InputError(f"a knob must be finite, not {text!r}")
    return number


def join_reference(reference: str, knobs: Mapping[str, Scalar]) -> str:
    """Inverse of :func:`split_reference`."""
    return reference + (":" + ",".join(f"{k}={v}" for k, v in sorted(knobs.items())) if knobs else "")


def open_problem(
    reference: str, knobs: Mapping[str, Scalar] | None = None, allow_outside: bool = False
) -> Problem | ProblemFamily:
    """The problem (or family) behind a name; ``allow_outside`` permits data files outside its folder.

    Raises
    ------
    ProblemError
        There is no such zoo problem or file, or it cannot be read.
    """
    name, own = split_reference(reference)
    values = own | dict(knobs or {})
    return _opened(name, problem_fingerprint(name), tuple(sorted(values.items())), allow_outside)


@lru_cache(maxsize=8)
def _opened(
    name: str, fingerprint: str, knobs: tuple[tuple[str, Scalar], ...], allow_outside: bool
) -> Problem | ProblemFamily:
    """The problem of a name while its text stays the same: the cells of one problem share what it derives."""
    from bilevel_verify import problems

    values: dict[str, Any] = dict(knobs)
    if name.startswith("zoo:"):
        found: Problem | ProblemFamily = problems.zoo(name[4:], **values)
        return found
    return problems.load(name, allow_outside=allow_outside, **values)


def problem_fingerprint(reference: str) -> str:
    """SHA-256 of the text behind a problem's name (knobs are part of the cell)."""
    if reference.startswith("experiment:"):
        path = EXPERIMENTS / f"{reference.partition(':')[2]}.toml"
        return _sheet_digest(path, _file_digest(path, ProblemError, "experiment"))
    name, _ = split_reference(reference)
    if not name.startswith("zoo:"):
        return _with_data_files(Path(name), _file_digest(Path(name), ProblemError, "problem file"))
    path = ZOO / f"{name[4:]}.toml"
    if is_file(path):
        return _file_digest(path, ProblemError, "zoo problem")
    known = zoo_names()
    if name[4:] not in known:
        raise ProblemError(f"no zoo problem {name[4:]!r}{nearest(name[4:], known)}; list problems shows them")
    return _folder_digest(ZOO)


def _with_data_files(path: Path, digest: str) -> str:
    """The digest of a problem file together with those of the data files that it names.

    A data file that cannot be read changes the digest too; what is wrong with it is said by the room that reads it.
    """
    names = _data_files(path, digest)
    if not names:
        return digest
    state = hashlib.sha256(digest.encode())
    for name in names:
        try:
            state.update(_file_digest(path.parent / name, ProblemError, "data file").encode())
        except (ProblemError, OSError, ValueError):
            state.update(b"unreadable")
    return state.hexdigest()


@lru_cache(maxsize=4096)
def _data_files(path: Path, digest: str) -> tuple[str, ...]:
    """Names of data files in a problem file; a file that is no problem is refused later, by the room that reads it."""
    try:
        data = read_toml(path).get("data")
    except InputError:
        return ()
    entries = data.values() if isinstance(data, dict) else ()
    named = {str(e["file"]) for e in entries if isinstance(e, dict) and isinstance(e.get("file"), str)}
    return tuple(sorted(named))


def zoo_names() -> list[str]:
    """Names of the built-in problems."""
    from bilevel_verify import problems

    return [record.name for record in problems.zoo()]


def card_fingerprint(statement: str | None, card: str | None) -> str | None:
    """SHA-256 of the text of the card that states ``statement``, or of the user's card; None where none is involved."""
    if card is not None:
        return _file_digest(Path(card), CardError, "card")
    if statement is None:
        return None
    return _file_digest(card_path(statement), CardError, "card")


@lru_cache(maxsize=4096)
def card_path(statement: str) -> Path:
    """The file of the card of ``paper/id`` (or of a paper's key alone; the paper may be the path of a card file)."""
    from bilevel_verify.theorems.library import shipped

    paper = statement.partition(".toml/")[0] + ".toml" if ".toml" in statement else statement.partition("/")[0]
    if paper.endswith(".toml"):
        return Path(paper)
    known = shipped()
    if paper not in known:
        raise CardError(f"no card {paper!r}{nearest(paper, known)}; shipped are {', '.join(known)}")
    return known[paper]


@lru_cache(maxsize=64)
def _sheet_digest(path: Path, digest_of_file: str) -> str:
    """The digest of what decides a run; words and sentences of a sheet may change without running anything again."""
    sheet = {name: part for name, part in read_toml(path).items() if name not in UNDECISIVE[""]}
    for part in ("methods", "size"):
        tables = sheet.get(part, {})
        sheet[part] = {n: {k: v for k, v in t.items() if k not in UNDECISIVE[part]} for n, t in tables.items()}
    return digest(sheet)


def _file_digest(path: Path, error: type[InputError], what: str) -> str:
    try:
        state = path.stat()
    except (OSError, ValueError):
        raise error(f"{path}: no such {what}") from None
    if not path.is_file():
        raise error(f"{path}: not a file")
    return _digest_of(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4096)
def _digest_of(path: Path, modified: int, size: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@lru_cache(maxsize=1)
def _folder_digest(folder: Path) -> str:
    state = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
        state.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return state.hexdigest()


def check_names(cells: tuple[Cell, ...]) -> None:
    """Refuse unknown problems, cards, statements and methods before anything runs, each name looked up once.

    Raises
    ------
    InputError
        A name is not known; the message gives the nearest known one.
    """
    unique: dict[str, set[str]] = {
        "problem": set(),
        "statement": set(),
        "card": set(),
        "method": set(),
        "solver": set(),
    }
    for cell in cells:
        for name, seen in unique.items():
            value = getattr(cell, name)
            if value is not None and not (name == "method" and (cell.solver or _is_literal(cell))):
                seen.add(value)
    for reference in sorted(unique["solver"]):
        load_solver(reference)
    for reference in sorted(unique["problem"]):
        problem_fingerprint(reference)
    for path in sorted(unique["card"]):
        _file_digest(Path(path), CardError, "card")
    for statement in sorted(unique["statement"]):
        _check_statement(statement)
    if unique["method"]:
        _check_methods(unique["method"])


def _is_literal(cell: Cell) -> bool:
    """Whether a cell asks for the steps that its card prints."""
    return cell.method == "literal" and cell.kind == "verify"


def _check_statement(statement: str) -> None:
    """The card exists, and has the statement (and the claim, in ``paper/id:claim``) if one is named."""
    path = card_path(statement)
    if "/" in statement and not statement.endswith(".toml") and is_file(path):
        from bilevel_verify.checks.requests.request import statements_of

        statements_of(statement)


def _check_methods(wanted: set[str]) -> None:
    from bilevel_verify.methods import METHODS

    known = sorted(METHODS)
    for name in sorted(name for name in wanted if name.partition(":")[0] not in METHODS):
        raise InputError(f"no method {name!r}{nearest(name, known)}; `bilevel-verify list` shows all")
