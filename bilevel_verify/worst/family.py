"""Families: a problem file whose table ``[free]`` gives ranges of knobs, of the start and of the tolerance.

A point of the unit cube is a candidate: first the knobs in the order of the table, then the tolerance, then the start.
Numbers are rounded to six digits before the problem is built, so that the text of a candidate is the candidate.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bilevel_verify.errors import BilevelVerifyError, ProblemError
from bilevel_verify.language import nearest
from bilevel_verify.problems import catalogue
from bilevel_verify.problems.files import from_spec, read_toml
from bilevel_verify.problems.problem import Kind, Problem

FOLDER = Path(__file__).parent / "families"
DIGITS = 6
"""Significant digits of a candidate's numbers."""
Scale = Literal["linear", "log", "integer"]
SCALES: tuple[Scale, ...] = ("linear", "log", "integer")
EPS, START = "eps", "start"
"""Names in ``[free]`` that are no knobs: the tolerance and, for all coordinates alike, the start."""
DEFAULT_START = (-2.0, 2.0)
DEFAULT_EPS = (1e-4, 1.0)
KEPT = 4
"""Problems of a family that are kept: candidates with the same knobs share one, and what is known of it."""


@dataclass(frozen=True, slots=True)
class Range:
    """Where one number of a candidate lies, both ends included."""

    name: str
    low: float
    high: float
    scale: Scale = "linear"

    def at(self, u: float) -> float | int:
        """The number at ``u`` in [0, 1]."""
        u = min(1.0, max(0.0, float(u)))
        if self.scale == "integer":
            return min(int(self.high), int(self.low) + int(u * (self.high - self.low + 1)))
        if self.scale == "log":
            found = self.low * (self.high / self.low) ** u
        else:
            found = self.low + u * (self.high - self.low)
        return min(self.high, max(self.low, float(f"{found:.{DIGITS}g}")))


@dataclass(frozen=True, slots=True)
class Candidate:
    """One instance of a family.

    Attributes
    ----------
    problem : with its knobs put in. ``x0`` : start, shape (dx,). ``eps`` : tolerance, None where none is asked for.
    free : names of the free knobs. ``u`` : the point of the unit cube.
    """

    family: str
    problem: Problem
    x0: tuple[float, ...]
    eps: float | None
    u: tuple[float, ...] = ()
    free: tuple[str, ...] = ()

    @property
    def knobs(self) -> dict[str, str]:
        """Values of the free knobs, as text."""
        return {name: f"{float(self.problem.knobs[name]):.{DIGITS}g}" for name in self.free}

    def __str__(self) -> str:
        parts = [f"{name} = {value}" for name, value in self.knobs.items()]
        parts += [] if self.eps is None else [f"eps = {self.eps:g}"]
        return f"{self.family}: {', '.join([*parts, 'x0 = ' + str(list(self.x0))])}"


@dataclass(frozen=True)
class Family:
    """A problem file with free knobs.

    Attributes
    ----------
    spec : the table of the file without ``[free]``. ``ranges`` : of the free knobs. ``folder`` : of its data files.
    zoo : the zoo entry whose knobs are free; "" for a family of a file.
    """

    name: str
    kind: Kind
    spec: Mapping[str, Any] = field(repr=False)
    ranges: tuple[Range, ...]
    start: Range
    eps: Range
    folder: Path | None = None
    title: str = ""
    zoo: str = ""

    @cached_property
    def dimension(self) -> int:
        """The largest dimension of x over the family (knobs at their upper ends)."""
        return self._problem({r.name: r.at(1.0) for r in self.ranges}).dx

    @property
    def digest(self) -> str:
        """A number of everything that decides the candidates: the state of a search belongs to it."""
        text = repr((dict(self.spec), self.ranges, self.start, self.eps))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def size(self, with_eps: bool) -> int:
        """How many numbers make a candidate."""
        return len(self.ranges) + int(with_eps) + self.dimension

    def candidate(self, u: Sequence[float], eps: float | None = None, with_eps: bool = False) -> Candidate:
        """The candidate at a point of the unit cube.

        Parameters
        ----------
        u : at least ``size(with_eps)`` numbers. ``eps`` : a tolerance that is the same for all; ``with_eps`` : it is
            one of the numbers instead.

        Raises
        ------
        ProblemError : the formulas make no problem for these knobs.
        """
        n = len(self.ranges)
        problem = self._problem({r.name: r.at(value) for r, value in zip(self.ranges, u)})
        if with_eps:
            eps = float(self.eps.at(u[n]))
        first = n + int(with_eps)
        x0 = tuple(float(self.start.at(value)) for value in u[first : first + problem.dx])
        names = tuple(one.name for one in self.ranges)
        return Candidate(self.name, problem, inside(problem, x0), eps, tuple(float(value) for value in u), names)

    @cached_property
    def _built(self) -> dict[tuple[tuple[str, object], ...], Problem]:
        return {}

    def _problem(self, knobs: Mapping[str, object]) -> Problem:
        key = tuple(knobs.items())
        known = self._built.get(key)
        if known is not None:
            return known
        found = from_spec(self.spec, folder=self.folder, knobs=knobs, name=self.name)
        if not isinstance(found, Problem):
            raise ProblemError(f"family {self.name}: every letter of its knobs needs a number or a range in [free]")
        if len(self._built) >= KEPT:
            del self._built[next(iter(self._built))]
        self._built[key] = found
        return found

    def __str__(self) -> str:
        ranges = ", ".join(f"{r.name} in [{r.low:g}, {r.high:g}]" for r in self.ranges)
        return f"{self.name} ({self.kind}): {ranges}"


def inside(problem: Problem, x0: Sequence[float]) -> tuple[float, ...]:
    """The start moved into the domain and, where there is one, near the feasible set."""
    point = np.array(x0, dtype=float)
    for place, symbol in enumerate(problem.x):
        low, high = (float(end) for end in problem.range_of(symbol))
        point[place] = min(high, max(low, point[place]))
    within = problem.set_of_x
    if within is not None and not within.contains(point.tolist()):
        from bilevel_verify.truth.sets.projections import project

        point = np.round(project(within, point), DIGITS)
    return tuple(point.tolist())


def families(kind: str | None = None) -> list[Family]:
    """The families that are shipped, those of one kind only if it is given."""
    found = [family(path.stem) for path in sorted(FOLDER.glob("*.toml"))]
    return [one for one in found if kind in (None, one.kind)]


@cache
def family(name: str) -> Family:
    """A shipped family by its name.

    Raises
    ------
    ProblemError : there is none; names the nearest.
    """
    known = [path.stem for path in sorted(FOLDER.glob("*.toml"))]
    if name not in known:
        raise ProblemError(f"no family {name[:40]!r}{nearest(name, known)}; there are {', '.join(known)}")
    spec = read_toml(FOLDER / f"{name}.toml")
    of = str(spec.pop("zoo"))
    own = read_toml(catalogue.FOLDER / f"{of}.toml")
    merged = {**own, **spec, "knobs": {**own.get("knobs", {}), **spec.get("knobs", {})}}
    return replace(from_table(name, {**merged, "name": name}, FOLDER), zoo=of)


def from_file(path: str | Path) -> Family:
    """The family of a problem file with a table ``[free]``.

    Raises
    ------
    ProblemError : no such table, or a range that is none; one line that names the field.
    """
    path = Path(path)
    try:
        return from_table(path.stem, read_toml(path), path.parent)
    except BilevelVerifyError as error:
        raise ProblemError(f"{path.name}: {str(error).removeprefix(f'{path.name}: ')}") from None


def from_table(name: str, table: Mapping[str, Any], folder: Path | None) -> Family:
    """A family from the plain table of a problem file.

    Raises
    ------
    ProblemError : see :func:`from_file`.
    """
    spec = dict(table)
    free = spec.pop("free", None)
    if not isinstance(free, Mapping) or not free:
        raise ProblemError("a family needs a table [free] with ranges of its knobs, such as a = [0.1, 1]")
    knobs = spec.get("knobs") or {}
    for knob in free:
        if knob not in (*knobs, EPS, START):
            raise ProblemError(f"[free] names no knob {knob!r}{nearest(knob, [*knobs, EPS, START])}")
    ranges = tuple(_range(knob, value) for knob, value in free.items() if knob not in (EPS, START))
    start = _range(START, free.get(START, DEFAULT_START))
    eps = _range(EPS, free.get(EPS, {"low": DEFAULT_EPS[0], "high": DEFAULT_EPS[1], "scale": "log"}))
    if eps.low <= 0:
        raise ProblemError("[free] eps: a tolerance is positive")
    kind: Any = spec.get("kind")
    found = Family(str(spec.get("name") or name), kind, spec, ranges, start, eps, folder, str(spec.get("title", "")))
    _ = found.dimension  # the formulas are read now, so that a mistake is said before a search begins
    return found


def _range(name: str, value: object) -> Range:
    """``[low, high]`` or ``{low = ..., high = ..., scale = "log"}``."""
    table = value if isinstance(value, Mapping) else None
    ends: Any = [table.get("low"), table.get("high")] if table is not None else value
    scale = "linear" if table is None else table.get("scale", "linear")
    numbers = not isinstance(ends, str | int | float) and len(list(ends)) == 2
    if not numbers or not all(_is_number(e) for e in ends) or ends[0] > ends[1]:
        raise ProblemError(f"[free] {name}: write [low, high] with low <= high, or {{low =, high =, scale =}}")
    if scale not in SCALES or (table is not None and set(table) - {"low", "high", "scale"}):
        raise ProblemError(f"[free] {name}: low, high and scale, one of {', '.join(SCALES)}; not {dict(table or {})}")
    low, high = (float(end) for end in ends)
    if scale == "log" and low <= 0:
        raise ProblemError(f"[free] {name}: a range on a log scale is positive, not from {low:g}")
    return Range(name, low, high, scale)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
