"""A campaign as data: which cells there are.

A campaign file is TOML::

    [campaign]
    name = "ramp"
    title = "The ramp under two theorems"
    time_limit = 60          # seconds a cell
    memory_limit = 2000      # megabytes a cell
    total_time = 3600        # seconds for everything; what is left is done by the next run

    [[grid]]
    problems = ["zoo:ramp:s=2*eps,drop=1", "mine.toml"]
    statements = ["restarted-agd-hb/theorem-1", "ragd-gs"]   # a paper's key alone: all its statements
    cards = ["my-theorem.toml"]                              # cards of your own
    methods = ["restarted-agd", "own:mine"]                  # default: the statement's own method; own: see below
    eps = [1e-1, 3e-2, 1e-2]
    sweep = true                                             # all eps in one cell (order claims); false: one each
    x0 = [[1.0]]                                             # list of starts; default: the problem's own
    knobs = { kappa = [16, 32] }                             # every combination
    parameters = { B = [0.1, 0.2] }                          # explicit letters, every combination
    seeds = 3                                                # repetitions with different seeds
    budget = 1000000                                         # oracle calls of one run

With ``methods`` and neither ``statements`` nor ``cards`` the cells are plain runs. Paths are relative to the file.
``own:NAME`` is a solver of the user, ``literal`` the steps that a card prints; whose code ``own:NAME`` is, only the
reader says (``--solver FILE.py:NAME``, ``solvers=`` in Python), so that a campaign file brings no code.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bilevel_verify.campaign.cell import Cell, Limits, Scalar
from bilevel_verify.campaign.solvers import OWN, Solver, given, name_of, named, reference_of
from bilevel_verify.errors import InputError
from bilevel_verify.files import read_toml

HEAD_FIELDS = {"name", "title", "time_limit", "memory_limit", "total_time"}
GRID_FIELDS = {
    *("problems", "statements", "cards", "methods", "eps", "sweep", "x0", "y0"),
    *("knobs", "parameters", "seeds", "budget", "audits"),
}
MOST_CELLS = 1_000_000


@dataclass(frozen=True, slots=True)
class Campaign:
    """Cells with their limits. ``cells`` has no duplicates and keeps the order of the file."""

    cells: tuple[Cell, ...]
    name: str = "campaign"
    title: str = ""
    limits: Limits = field(default_factory=Limits)
    total_seconds: float | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        each, total = self.limits.seconds, self.total_seconds
        if total is not None and not 0 < total < math.inf:
            raise InputError(f"campaign {self.name!r}: total_time must be a positive number of seconds, not {total!r}")
        if each is not None and total is not None and each > total:
            raise InputError(
                f"campaign {self.name!r}: contradictory limits: time_limit of a cell ({each:g} s) "
                f"exceeds total_time ({total:g} s)"
            )


def load_campaign(path: str | Path, solvers: Sequence[str | Solver] = ()) -> Campaign:
    """Read a campaign file.

    Parameters
    ----------
    solvers : the code behind the ``own:NAME`` of the file: ``FILE.py:NAME``, ``module:NAME``, or functions.

    Raises
    ------
    InputError
        The file is missing, no TOML, or has an unknown field, an empty grid, a wrong type or contradictory limits;
        or an own solver of the file has no code, or code was named that no grid uses.
    """
    own = named(solvers)
    place = Path(path)
    data = read_toml(place)
    unknown = set(data) - {"campaign", "grid"}
    if unknown:
        raise InputError(f"{place}: unknown table {sorted(unknown)[0]!r}; a campaign has [campaign] and [[grid]]")
    head = data.get("campaign", {})
    grids = data.get("grid", [])
    if not isinstance(head, dict) or not isinstance(grids, list) or not grids:
        raise InputError(f"{place}: a campaign needs at least one [[grid]] table")
    _known(head, HEAD_FIELDS, f"{place}: [campaign]")
    cells: dict[str, Cell] = {}
    for number, table in enumerate(grids, 1):
        where = f"{place}: grid {number}"
        _known(table, GRID_FIELDS, where)
        for cell in _expand(table, where, place.parent, own):
            cells.setdefault(cell.content, cell)
            if len(cells) > MOST_CELLS:
                raise InputError(f"{place}: more than {MOST_CELLS} cells; split the campaign")
    limits = Limits(
        _number(head.get("time_limit"), f"{place}: time_limit"),
        _number(head.get("memory_limit"), f"{place}: memory_limit"),
    )
    total = _number(head.get("total_time"), f"{place}: total_time")
    for unused in sorted(set(own) - {str(cell.method) for cell in cells.values()}):
        raise InputError(f'{place}: no grid names the solver: write "{unused}" in its methods')
    name, title = str(head.get("name", place.stem)), str(head.get("title", ""))
    return Campaign(tuple(cells.values()), name, title, limits, total, str(place))


def grid(**fields: Any) -> Campaign:
    """A campaign of one grid from Python: the fields of a ``[[grid]]`` table, plus ``name``, ``title`` and the limits.

    A function ``solver(oracles, x0, parameters)`` may stand among the ``methods``: one defined at the top of a file, so
    that the workers find it.

    Examples
    --------
    >>> from bilevel_verify.campaign import grid
    >>> len(grid(problems=["zoo:ramp"], methods=["gradient-descent"], eps=[0.1, 0.01], sweep=False).cells)
    2
    """
    head = {name: fields.pop(name) for name in list(fields) if name in HEAD_FIELDS}
    _known(fields, GRID_FIELDS, "grid")
    methods = fields.get("methods", [])
    own = [m for m in methods if callable(m)] if isinstance(methods, list | tuple) else []
    if own:
        fields["methods"] = [OWN + name_of(reference_of(m)) if callable(m) else m for m in methods]
    cells = {cell.content: cell for cell in _expand(fields, "grid", None, named(own))}
    limits = Limits(_number(head.get("time_limit"), "time_limit"), _number(head.get("memory_limit"), "memory_limit"))
    total = _number(head.get("total_time"), "total_time")
    return Campaign(tuple(cells.values()), str(head.get("name", "campaign")), str(head.get("title", "")), limits, total)


def _expand(table: Mapping[str, Any], where: str, folder: Path | None, solvers: Mapping[str, str]) -> Iterator[Cell]:
    """The cells of one grid table, in the order problem, statement, method, knobs, parameters, start, eps, seed."""
    problems = [_reference(str(p), folder) for p in _list(table, "problems", where, str)]
    questions = _questions(table, where, folder)
    methods: list[str | None] = [*_list(table, "methods", where, str)] or [None]
    codes = {name: given(name, solvers, where) for name in methods if name is not None}
    tolerances = _tolerances(table, where)
    starts: list[tuple[float, ...] | None] = [_point(p, where, "x0") for p in _list(table, "x0", where, list)]
    lower: list[tuple[float, ...] | None] = [_point(p, where, "y0") for p in _list(table, "y0", where, list)]
    knobs, parameters = _combinations(table, "knobs", where), _combinations(table, "parameters", where)
    budget, replicates = _counts(table, where)
    for paper in _list(table, "audits", where, str):
        yield Cell(kind="audit", statement=str(paper))
    _check_asked(problems, questions, methods != [None], where)
    space = itertools.product(
        problems,
        questions or [(None, None)],
        methods,
        knobs,
        parameters,
        starts or [None],
        lower or [None],
        tolerances,
        range(replicates),
    )
    for problem, (statement, card), method, knob, letters, x0, y0, eps, replicate in space:
        name, own = _split_knobs(problem)
        yield Cell(
            kind="verify" if questions else "solve",
            problem=name,
            knobs=own | knob,
            statement=statement,
            card=card,
            method=method,
            solver=codes.get(method or ""),
            eps=eps,
            x0=x0,
            y0=y0,
            parameters=letters,
            budget=budget,
            replicate=replicate,
        )


def _counts(table: Mapping[str, object], where: str) -> tuple[int | None, int]:
    """Budget of a cell, and how many seeds it is repeated with."""
    budget, replicates = table.get("budget"), table.get("seeds", 1)
    if budget is not None and (not isinstance(budget, int) or budget <= 0):
        raise InputError(f"{where}: budget must be a positive whole number, not {budget!r}")
    if not isinstance(replicates, int) or isinstance(replicates, bool) or replicates <= 0:
        raise InputError(f"{where}: seeds must be a positive whole number, not {replicates!r}")
    return budget, replicates


def _check_asked(problems: list[str], questions: Sequence[object], methods: bool, where: str) -> None:
    if problems and not questions and not methods:
        raise InputError(f"{where}: name statements, cards or methods")
    if questions and not problems:
        raise InputError(f"{where}: name problems")


def _questions(table: Mapping[str, object], where: str, folder: Path | None) -> list[tuple[str | None, str | None]]:
    """(statement, card path) of everything asked; a paper's key alone stands for its whole card."""
    asked: list[tuple[str | None, str | None]] = [(str(s), None) for s in _list(table, "statements", where, str)]
    return asked + [(None, _reference(str(c), folder)) for c in _list(table, "cards", where, str)]


def _tolerances(table: Mapping[str, object], where: str) -> list[tuple[float, ...]]:
    values = []
    for value in _list(table, "eps", where, float | int):
        if not 0 < value < math.inf:
            raise InputError(f"{where}: eps must be positive and finite, not {value!r}")
        values.append(float(value))
    if not values:
        return [()]
    return [tuple(values)] if table.get("sweep", True) else [(v,) for v in values]


def _combinations(table: Mapping[str, object], name: str, where: str) -> list[dict[str, Scalar]]:
    """Every combination of the listed values: ``{a = [1, 2], b = 3}`` -> two dictionaries."""
    ranges = table.get(name, {})
    if not isinstance(ranges, Mapping):
        raise InputError(f"{where}: {name} must be a table such as {{ kappa = [16, 32] }}")
    names = sorted(ranges)
    lists = [ranges[n] if isinstance(ranges[n], list) else [ranges[n]] for n in names]
    for letter, values in zip(names, lists, strict=True):
        for value in values:
            if isinstance(value, bool) or not isinstance(value, float | int | str) or value != value:
                raise InputError(f"{where}: {name}.{letter} must be a number or an expression, not {value!r}")
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*lists)]


def _point(value: Any, where: str, name: str) -> tuple[float, ...]:
    if not all(isinstance(v, float | int) and not isinstance(v, bool) and math.isfinite(v) for v in value):
        raise InputError(f"{where}: {name} must be a list of starts, each a list of finite numbers")
    return tuple(float(v) for v in value)


def _list(table: Mapping[str, object], name: str, where: str, kind: Any) -> Sequence[Any]:
    value = table.get(name, [])
    if not isinstance(value, list | tuple) or any(isinstance(v, bool) or not isinstance(v, kind) for v in value):
        word = {str: "names", list: "lists of numbers"}.get(kind, "numbers")
        raise InputError(f"{where}: {name} must be a list of {word}")
    return value


def _split_knobs(reference: str) -> tuple[str, dict[str, Scalar]]:
    from bilevel_verify.campaign.sources import split_reference

    return split_reference(reference)


def _reference(text: str, folder: Path | None) -> str:
    """A path of a campaign file is relative to that file; zoo names stay as they are."""
    if folder is None or text.startswith("zoo:") or not text.endswith(".toml"):
        return text
    return str(folder / text)


def _known(table: Mapping[str, object], names: set[str], where: str) -> None:
    if not isinstance(table, Mapping):
        raise InputError(f"{where}: must be a table")
    unknown = sorted(set(table) - names)
    if unknown:
        from bilevel_verify.language import nearest

        raise InputError(f"{where}: unknown field {unknown[0]!r}{nearest(unknown[0], sorted(names))}")


def _number(value: object, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, float | int):
        raise InputError(f"{where} must be a number, not {value!r}")
    return float(value)
