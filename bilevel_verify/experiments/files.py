"""An experiment as data: TOML files in ``sheets/``, checked when they are read.

A file says what the paper prints and what it leaves open: the problem, its data at both sizes, the methods with their
letters (numbers, or formulas in the knobs of tuning and the measured constants), the grids of tuning, seeds, budget,
the target, and the sentences of the text that claim something.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from bilevel_verify.errors import InputError
from bilevel_verify.language import nearest, parse

FOLDER = Path(__file__).parent / "sheets"
SIZES = ("tiny", "small", "paper")
"""``tiny`` is for tests; not every experiment has it."""
PROBLEMS = ("cleaning", "tuning", "representation", "completion", "minimax", "regression", "inverse")
KINDS = ("faster", "comparable", "lower", "seldom")
_HEAD = {"name", "paper", "section", "title", "problem", "measure", "open", "variants", "size", "methods", "claims"}
_SIZE = {
    "data",
    "seeds",
    "calls",
    "iterations",
    "points",
    "seconds",
    "target",
    "retrain",
    "passes",
    "options",
    "real",
    "lists",
    "growth",
}
_METHOD = {"method", "letters", "grid", "open", "least", "note", "sizes"}
_CLAIM = {"sentence", "kind", "better", "than", "variants", "missing", "measure"}


@dataclass(frozen=True)
class Size:
    """How large an experiment is run.

    Attributes
    ----------
    data : fields of the data set. ``seeds`` : repetitions after the tuning. ``calls``, ``iterations`` : of a run.
    passes : how often the search goes through the letters of a grid. ``points`` : most values tried of one letter.
    seconds : time limit of a run. ``target`` : ``fraction`` of the best decrease, or a ``value``,
    or a list of them, the hardest last.
    retrain : whether the lower level is solved anew, uncounted, where the measure is taken.
    real : fields of the set that the paper takes, for users who have its files.
    lists : letter -> the values of its list that are tried at this size, instead of an even thinning.
    growth : a curve is measured where the calls have grown by this factor, or by that of ``work`` if it is larger.
    """

    data: Mapping[str, Any]
    seeds: int
    calls: int
    iterations: int
    passes: int
    points: int
    seconds: float
    target: Mapping[str, Any]
    retrain: bool
    options: Mapping[str, Any]
    real: Mapping[str, Any] = field(default_factory=dict)
    lists: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    growth: float = 1.0

    def data_at(self, folder: str | None) -> Mapping[str, Any]:
        """The fields of the data set: those of the real one where a folder of data is given."""
        return self.data if folder is None else {**self.data, **self.real}


@dataclass(frozen=True)
class Entry:
    """A method of an experiment: letter -> number or formula, knob -> printed values in their order.

    ``open`` : letters and knobs whose values the paper does not print for these data, and that matter for how fast the
    method is. ``least`` : those of them whose first value is the least that there is.
    """

    name: str
    method: str
    letters: Mapping[str, Any]
    grid: Mapping[str, tuple[float, ...]]
    note: str
    sizes: tuple[str, ...]
    open: tuple[str, ...] = ()
    least: tuple[str, ...] = ()

    @property
    def points(self) -> int:
        """Points of the printed grid."""
        return math.prod(len(values) for values in self.grid.values())


@dataclass(frozen=True)
class Claim:
    """A sentence of the experimental section. ``missing`` : rivals that it names and nobody runs here;
    ``measure`` : what ``lower`` is about, if it is not the measure of the experiment."""

    sentence: str
    kind: str
    better: tuple[str, ...]
    than: tuple[str, ...]
    variants: tuple[str, ...]
    missing: tuple[str, ...]
    measure: str


@dataclass(frozen=True)
class Experiment:
    """One file. ``variants`` : name -> its fields; ``open`` : what the print leaves open and what was chosen."""

    name: str
    paper: str
    section: str
    title: str
    problem: str
    measure: str
    open: tuple[str, ...]
    variants: Mapping[str, Mapping[str, Any]]
    size: Mapping[str, Size]
    entries: Mapping[str, Entry]
    claims: tuple[Claim, ...]

    def entries_at(self, size: str) -> list[Entry]:
        """The methods that run at a size."""
        return [entry for entry in self.entries.values() if size in entry.sizes]


def names() -> list[str]:
    """Names of the experiments."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


@lru_cache(maxsize=64)
def experiment(name: str) -> Experiment:
    """The experiment of a name.

    Raises
    ------
    InputError : there is none, or its file is wrong.
    """
    if name not in names():
        raise InputError(f"no experiment {name!r}{nearest(name, names())}; there are {', '.join(names())}")
    return read(FOLDER / f"{name}.toml")


def read(path: Path) -> Experiment:
    """An experiment from a file.

    Raises
    ------
    InputError : not TOML, or a field that is missing, unknown or wrong.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {error}") from None
    _known(data, _HEAD, path.name)
    for name in ("paper", "section", "title", "problem", "measure", "size", "methods"):
        if name not in data:
            raise InputError(f"{path.name}: {name} is missing")
    if data["problem"] not in PROBLEMS:
        raise InputError(f"{path.name}: problem must be one of {', '.join(PROBLEMS)}, not {data['problem']!r}")
    for size, table in data["size"].items():
        if data["measure"] == "validation" and not table.get("retrain"):
            raise InputError(f"{path.name}: size.{size}: the measure 'validation' needs retrain = true")
    variants = data.get("variants", {"": {}})
    entries = {name: _entry(name, table, path.name) for name, table in data["methods"].items()}
    sizes = {size: _size(table, f"{path.name}: size.{size}") for size, table in data["size"].items()}
    for size, made in sizes.items():
        _parts_of_lists(made, entries, f"{path.name}: size.{size}")
    return Experiment(
        name=path.stem,
        paper=data["paper"],
        section=str(data["section"]),
        title=data["title"],
        problem=data["problem"],
        measure=data["measure"],
        open=tuple(data.get("open", ())),
        variants=variants,
        size=sizes,
        entries=entries,
        claims=tuple(_claim(table, entries, variants, path.name) for table in data.get("claims", ())),
    )


def _size(table: Mapping[str, Any], where: str) -> Size:
    _known(table, _SIZE, where)
    for name in ("data", "calls", "target"):
        if name not in table:
            raise InputError(f"{where}: {name} is missing")
    return Size(
        table["data"], int(table.get("seeds", 5)), int(table["calls"]), int(table.get("iterations", 2**40)),
        int(table.get("passes", 1)), int(table.get("points", 99)), float(table.get("seconds", 60.0)), table["target"],
        bool(table.get("retrain", False)), table.get("options", {}), table.get("real", {}),
        {knob: tuple(float(v) for v in values) for knob, values in table.get("lists", {}).items()},
        float(table.get("growth", 1.0)),
    )  # fmt: skip


def _parts_of_lists(size: Size, entries: Mapping[str, Entry], where: str) -> None:
    """Refuse values of a size that are in no method's list."""
    for knob, values in size.lists.items():
        having = [entry for entry in entries.values() if knob in entry.grid]
        if not having or not values:
            raise InputError(f"{where}: lists names {knob!r}, which no method tunes, or no values")
        for entry in having:
            if alien := [value for value in values if value not in entry.grid[knob]]:
                raise InputError(f"{where}: lists: {knob} = {alien[0]:g} is not in the list of methods.{entry.name}")


def _entry(name: str, table: Mapping[str, Any], where: str) -> Entry:
    _known(table, _METHOD, f"{where}: methods.{name}")
    grid = {knob: tuple(float(v) for v in values) for knob, values in table.get("grid", {}).items()}
    if not all(grid.values()):
        raise InputError(f"{where}: methods.{name}: a grid without values")
    letters, sizes, chosen = table.get("letters", {}), tuple(table.get("sizes", SIZES)), tuple(table.get("open", ()))
    for letter in chosen:
        if letter not in (known := [*letters, *grid]):
            raise InputError(f"{where}: methods.{name}: open names {letter!r}{nearest(letter, known)}, no letter here")
    least = tuple(table.get("least", ()))
    for knob in least:
        if knob not in grid or knob not in chosen:
            raise InputError(f"{where}: methods.{name}: least names {knob!r}, no open letter with a list")
    return Entry(name, table.get("method", name), letters, grid, table.get("note", ""), sizes, chosen, least)


def _claim(table: Mapping[str, Any], entries: Mapping[str, Entry], variants: Mapping[str, object], where: str) -> Claim:
    _known(table, _CLAIM, f"{where}: claims")
    if table.get("kind") not in KINDS:
        raise InputError(f"{where}: kind of a claim must be one of {', '.join(KINDS)}, not {table.get('kind')!r}")
    for name in (*table["better"], *table["than"]):
        if name not in entries:
            raise InputError(f"{where}: a claim names {name!r}{nearest(name, list(entries))}, which is no method here")
    chosen = tuple(table.get("variants", variants))
    return Claim(
        table["sentence"], table["kind"], tuple(table["better"]), tuple(table["than"]), chosen,
        tuple(table.get("missing", ())), str(table.get("measure", "")),
    )  # fmt: skip


def _known(table: Mapping[str, object], fields: set[str], where: str) -> None:
    unknown = sorted(set(table) - fields)
    if unknown:
        raise InputError(f"{where}: unknown field {unknown[0]!r}{nearest(unknown[0], sorted(fields))}")


def letters_of(entry: Entry, knobs: Mapping[str, float], constants: Mapping[str, float]) -> dict[str, object]:
    """The letters of a run: formulas are evaluated at the knobs of tuning and the constants of the instance.

    A knob is a letter of its own name too, where the method has one.

    Raises
    ------
    InputError : a formula names something else.
    """
    from bilevel_verify.problems import to_sympy

    known = {**constants, **knobs}
    found: dict[str, Any] = {name: int(v) if float(v).is_integer() else v for name, v in knobs.items()}
    for letter, value in entry.letters.items():
        if not isinstance(value, str):
            found[letter] = value
            continue
        try:
            number = float(to_sympy(parse(value), {name: _exact(v) for name, v in known.items()}))
        except (TypeError, InputError) as error:
            raise InputError(f"methods.{entry.name}: letter {letter}: {error}") from None
        found[letter] = int(number) if number.is_integer() and abs(number) < 2**53 else number
    return found


def _exact(value: float) -> Any:
    import sympy

    return sympy.Integer(int(value)) if float(value).is_integer() and abs(value) < 2**53 else sympy.Float(value)
