"""Feasible sets of simple bilevel problems, as data; projections live with the methods that need them.

All sets are closed and convex. Numbers are kept as floats exactly as given. A set knows its dimension only where its
data fix it (``Box``, ``HalfSpace``); :func:`check_dimension` compares it with the problem.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, TypeVar, cast

from bilevel_verify.errors import ProblemError
from bilevel_verify.problems.numbers import float_array


@dataclass(frozen=True)
class FeasibleSet:
    """A closed convex set in R^n. ``dimension`` is taken from the problem; sets do not store it."""

    def contains(self, x: Sequence[float], tolerance: float = 0.0) -> bool:
        """Whether x is in the set, every defining inequality relaxed by ``tolerance`` (absolute). False for NaN."""
        raise NotImplementedError

    def describe(self) -> str:
        """One line for a reader."""
        raise NotImplementedError

    @property
    def dimension(self) -> int | None:
        """Dimension that the data of the set fix, or None."""
        return None

    @property
    def bounded(self) -> bool:
        """Whether the set is bounded."""
        return True

    def to_dict(self) -> dict[str, str | float | list[float]]:
        """Plain data, the inverse of :func:`from_dict`; ``{"set": "Ball", "radius": 1.0}``."""
        result: dict[str, Any] = {"set": type(self).__name__}
        for item in fields(self):
            value = getattr(self, item.name)
            if value is not None:
                result[item.name] = list(value) if isinstance(value, tuple) else value
        return result


def _finite(value: float, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ProblemError(f"{what} must be a number, not {str(value)[:40]!r}") from None
    if not math.isfinite(number):
        raise ProblemError(f"{what} must be finite, not {number}")
    return number


def _positive(value: float, what: str) -> float:
    number = _finite(value, what)
    if number <= 0:
        raise ProblemError(f"{what} must be positive, not {number}")
    return number


def _vector(value: tuple[float, ...] | list[float], what: str, infinite: bool = False) -> tuple[float, ...]:
    listed = isinstance(value, Iterable) and getattr(value, "shape", (1,)) != ()  # an array may be a single number
    if isinstance(value, str | bytes) or not listed:
        raise ProblemError(f"{what} must be a list of numbers")
    result = []
    for entry in value:
        if infinite and isinstance(entry, float) and math.isinf(entry):
            result.append(float(entry))
        else:
            result.append(_finite(entry, what))
    if not result:
        raise ProblemError(f"{what} must not be empty")
    return tuple(result)


def _length(x: Sequence[float], expected: int | None) -> None:
    if expected is not None and len(x) != expected:
        raise ProblemError(f"a point of dimension {len(x)} where {expected} was expected")


Contains = TypeVar("Contains", bound=Callable[..., bool])


def _of_points(contains: Contains) -> Contains:
    """``contains`` of a set, asked about one point (a list of numbers) with a tolerance (a number) only."""

    @functools.wraps(contains)
    def asked(self: object, x: Sequence[float], tolerance: float = 0.0) -> bool:
        point = float_array(x, "x", ProblemError)
        if point.ndim != 1:
            raise ProblemError(f"a point is one list of numbers, not an array of shape {point.shape}")
        return contains(self, point.tolist(), float(float_array(tolerance, "tolerance", ProblemError).sum()))

    return cast(Contains, asked)


@dataclass(frozen=True)
class WholeSpace(FeasibleSet):
    """R^n."""

    @_of_points
    def contains(self, x: Sequence[float], tolerance: float = 0.0) -> bool:
        """Every point without NaN."""
        return not any(math.isnan(v) for v in x)

    def describe(self) -> str:
        """One line for a reader."""
        return "the whole space"

    @property
    def bounded(self) -> bool:
        """False."""
        return False


@dataclass(frozen=True)
class Ball(FeasibleSet):
    """Euclidean ball ``|x - center| <= radius``; the centre is the origin if None."""

    radius: float
    center: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _positive(self.radius, "radius of a Ball"))
        if self.center is not None:
            object.__setattr__(self, "center", _vector(self.center, "center of a Ball"))

    @property
    def dimension(self) -> int | None:
        """Dimension of the centre, if one was given."""
        return None if self.center is None else len(self.center)

    @_of_points
    def contains(self, x: Sequence[float], tolerance: float = 0.0) -> bool:
        """``|x - center| <= radius + tolerance``."""
        _length(x, self.dimension)
        center = self.center or (0.0,) * len(x)
        return math.hypot(*(a - b for a, b in zip(x, center))) <= self.radius + tolerance

    def describe(self) -> str:
        """One line for a reader."""
        return f"ball of radius {self.radius:g} around {'the origin' if self.center is None else list(self.center)}"


@dataclass(frozen=True)
class Box(FeasibleSet):
    """``lo <= x <= hi``, entries may be infinite."""

    lo: tuple[float, ...]
    hi: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("lo", "hi"):
            object.__setattr__(self, name, _vector(getattr(self, name), f"{name} of a Box", infinite=True))
        if len(self.lo) != len(self.hi):
            raise ProblemError(f"lo and hi of a Box have {len(self.lo)} and {len(self.hi)} entries")
        for place, (a, b) in enumerate(zip(self.lo, self.hi)):
            if not a <= b or a == math.inf or b == -math.inf:
                raise ProblemError(f"Box: entry {place} has the empty range [{a}, {b}]")

    @property
    def dimension(self) -> int | None:
        """Number of entries."""
        return len(self.lo)

    @property
    def bounded(self) -> bool:
        """True if every entry is finite."""
        return all(math.isfinite(v) for v in self.lo + self.hi)

    @_of_points
    def contains(self, x: Sequence[float], tolerance: float = 0.0) -> bool:
        """``lo - tolerance <= x <= hi + tolerance`` entry by entry."""
        _length(x, self.dimension)
        return all(a - tolerance <= v <= b + tolerance for a, v, b in zip(self.lo, x, self.hi))

    def describe(self) -> str:
        """One line for a reader."""
        pairs = [f"[{a:g}, {b:g}]" for a, b in zip(self.lo, self.hi)]
        return "box " + (f"{pairs[0]}^{len(pairs)}" if len(set(pairs)) == 1 else " x ".join(pairs))


@dataclass(frozen=True)
class Orthant(FeasibleSet):
    """``x >= 0``."""

    @_of_points
    def contains(self, x: Sequence[float], tolerance: float = 0.0) -> bool:
        """Every entry at least ``-tolerance``."""
        return all(v >= -tolerance for v in x)

    def describe(self) -> str:
        """One line for a reader."""
        return "non-negative orthant"

    @property
    def bounded(self) -> bool:
        """False."""
        return False


@dataclass(frozen=True)
class Simplex(FeasibleSet):
    """``x >= 0, sum x = total``."""

    total: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", _positive(self.total, "total of a Simplex"))

    @_of_points
    def contains(self, x: Sequence[float], tolerance: float = 0.0) -> bool:
        """Entries at least ``-tolerance``, sum within ``tolerance`` (plus rounding of the sum) of the total."""
        rounding = 4e-16 * len(x) * self.total
        return all(v >= -tolerance for v in x) and abs(math.fsum(x) - self.total) <= tolerance + rounding

    def describe(self) -> str:
        """One line for a reader."""
        return f"simplex of total {self.total:g}"


@dataclass(frozen=True)
class L1Ball(FeasibleSet):
    """``|x_1| + ... + |x_n| <= radius``."""

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _positive(self.radius, "radius of an L1Ball"))

    @_of_points
    def contains(self, x: Sequence[float], tolerance: float = 0.0) -> bool:
        """``|x|_1 <= radius + tolerance``."""
        return math.fsum(abs(v) for v in x) <= self.radius + tolerance

    def describe(self) -> str:
        """One line for a reader."""
        return f"l1 ball of radius {self.radius:g}"


@dataclass(frozen=True)
class HalfSpace(FeasibleSet):
    """``normal . x <= offset``."""

    normal: tuple[float, ...]
    offset: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "normal", _vector(self.normal, "normal of a HalfSpace"))
        object.__setattr__(self, "offset", _finite(self.offset, "offset of a HalfSpace"))
        if not any(self.normal):
            raise ProblemError("normal of a HalfSpace must not be zero")

    @property
    def dimension(self) -> int | None:
        """Number of entries of the normal."""
        return len(self.normal)

    @property
    def bounded(self) -> bool:
        """False."""
        return False

    @_of_points
    def contains(self, x: Sequence[float], tolerance: float = 0.0) -> bool:
        """``normal . x <= offset + tolerance |normal|`` (a tolerance in the units of x)."""
        _length(x, self.dimension)
        return math.fsum(a * v for a, v in zip(self.normal, x)) <= self.offset + tolerance * math.hypot(*self.normal)

    def describe(self) -> str:
        """One line for a reader."""
        return f"half-space {list(self.normal)} . x <= {self.offset:g}"


@dataclass(frozen=True)
class Isotonic(FeasibleSet):
    """``x_1 <= x_2 <= ... <= x_n``."""

    @_of_points
    def contains(self, x: Sequence[float], tolerance: float = 0.0) -> bool:
        """Every step down is at most ``tolerance``."""
        return not any(math.isnan(v) for v in x) and all(a <= b + tolerance for a, b in pairwise(x))

    def describe(self) -> str:
        """One line for a reader."""
        return "isotonic cone x1 <= x2 <= ... <= xn"

    @property
    def bounded(self) -> bool:
        """False."""
        return False


@dataclass(frozen=True)
class Intersection(FeasibleSet):
    """Points of every one of the sets. Emptiness is not decided here."""

    sets: tuple[FeasibleSet, ...]

    def __post_init__(self) -> None:
        given = self.sets if isinstance(self.sets, list | tuple) else (self.sets,)
        sets = tuple(from_dict(s) if isinstance(s, Mapping) else s for s in given)
        if not sets or not all(isinstance(s, FeasibleSet) for s in sets):
            raise ProblemError("Intersection needs a non-empty list of feasible sets")
        object.__setattr__(self, "sets", sets)
        if len({s.dimension for s in sets} - {None}) > 1:
            raise ProblemError("Intersection: the sets have different dimensions")

    @property
    def dimension(self) -> int | None:
        """The common dimension, if one set fixes it."""
        return next((s.dimension for s in self.sets if s.dimension is not None), None)

    @property
    def bounded(self) -> bool:
        """True if one of the sets is bounded (sufficient)."""
        return any(s.bounded for s in self.sets)

    @_of_points
    def contains(self, x: Sequence[float], tolerance: float = 0.0) -> bool:
        """In every set."""
        return all(s.contains(x, tolerance) for s in self.sets)

    def describe(self) -> str:
        """One line for a reader."""
        return "intersection of " + ", ".join(s.describe() for s in self.sets)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"set": "Intersection", "sets": [s.to_dict() for s in self.sets]}


SETS: dict[str, type[FeasibleSet]] = {
    s.__name__: s for s in (WholeSpace, Ball, Box, Orthant, Simplex, L1Ball, HalfSpace, Isotonic, Intersection)
}
"""Name in a problem file -> class."""


def from_dict(spec: object) -> FeasibleSet:
    """Feasible set from plain data ``{"set": "Ball", "radius": 1.0}``.

    Raises
    ------
    ProblemError : unknown set, missing or unknown field, impossible value.
    """
    if not isinstance(spec, Mapping) or not isinstance(spec.get("set"), str):
        raise ProblemError(f"a feasible set is a table with a field 'set', one of {', '.join(SETS)}")
    values = {k: v for k, v in spec.items() if k != "set"}
    kind = SETS.get(spec["set"])
    if kind is None:
        raise ProblemError(f"unknown feasible set {spec['set'][:40]!r}; known are {', '.join(SETS)}")
    known = [item.name for item in fields(kind)]
    for name in values:
        if name not in known:
            raise ProblemError(
                f"feasible set {spec['set']}: unknown field {str(name)[:40]!r}; it has {', '.join(known) or 'none'}"
            )
    try:
        return kind(**values)
    except TypeError:
        missing = [n for n in known if n not in values]
        raise ProblemError(f"feasible set {spec['set']}: missing field {', '.join(missing)}") from None


def check_dimension(feasible: FeasibleSet, dimension: int) -> None:
    """Refuse a set whose data have another dimension than the problem."""
    if feasible.dimension is not None and feasible.dimension != dimension:
        raise ProblemError(
            f"feasible: {feasible.describe()} has dimension {feasible.dimension}, the problem {dimension}"
        )
