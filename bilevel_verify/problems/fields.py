"""The fields of a problem beside its formulas: data arrays, what is known, domain, feasible set, start."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify import language
from bilevel_verify.errors import ProblemError
from bilevel_verify.problems import feasible as sets
from bilevel_verify.problems.expression_arrays import exact_number
from bilevel_verify.problems.formulas import FormulaReader
from bilevel_verify.problems.names import check_name
from bilevel_verify.problems.numbers import INFINITY, end_of_range, float_array, mapping_of, number
from bilevel_verify.problems.problem import Interval

WORDS = frozenset({"on", "note", "why", "source", "attained", "verdict"})
"""Fields of ``known`` that stay as they are; every other text is a formula of the variables and knobs."""


def read_known(known: object, scope: FormulaReader) -> dict[str, object]:
    """What the author states about a problem: texts become exact numbers or expressions, tables stay tables."""

    def read(value: object, field: str) -> Any:
        if isinstance(value, Mapping):
            return {k: v if k in WORDS else read(v, f"{field}.{k}") for k, v in value.items()}
        if isinstance(value, list | tuple):
            return tuple(read(v, field) for v in value)
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and INFINITY.fullmatch(value):
            return number(value, field, infinite=True)
        return scope.formula(field, value) if isinstance(value, str) else number(value, field, infinite=True)

    result: dict[str, Any] = read(mapping_of(known, "known"), "known")
    return result


def read_data(data: Mapping[str, object] | None) -> dict[str, NDArray[np.float64]]:
    """Data arrays: finite float64, one to three dimensions, read-only copies."""
    arrays: dict[str, NDArray[np.float64]] = {}
    for name, value in mapping_of(data, "data").items():
        check_name(name, "data array")
        what = f"data array {name!r} must be a rectangular array of numbers; its entries"
        array = np.array(float_array(value, what, ProblemError), order="C")
        if array.ndim not in (1, 2, 3) or array.size == 0:
            raise ProblemError(f"data array {name!r} has shape {array.shape}; one to three non-empty axes are allowed")
        if not bool(np.all(np.isfinite(array))):
            raise ProblemError(f"data array {name!r} contains NaN or infinity")
        array.flags.writeable = False
        arrays[name] = array
    return arrays


def read_domain(
    domain: Mapping[str, object] | None, xs: Sequence[str], ys: Sequence[str], knobs: Mapping[str, sympy.Expr]
) -> dict[str, Interval]:
    """Ranges of the variables: a block gives the range of all of its variables, a variable its own; both ends exact.

    Raises
    ------
    ProblemError : unknown variable, not a pair, empty.
    """
    ranges: dict[str, Interval] = {}
    given = mapping_of(domain, "domain")
    for key in sorted(given, key=lambda k: k in xs or k in ys):  # blocks first, so that single variables win
        names = (key,) if key in xs or key in ys else {"x": tuple(xs), "y": tuple(ys)}.get(key, ())
        if not names:
            raise ProblemError(f"domain: unknown variable {key!r}{language.nearest(key, [*xs, *ys])}")
        for name in names:
            ranges[name] = _interval(given[key], key, knobs)
    return {n: ranges[n] for n in (*xs, *ys) if n in ranges and ranges[n] != (-sympy.oo, sympy.oo)}


def _interval(value: object, key: str, knobs: Mapping[str, sympy.Expr]) -> Interval:
    what = f"domain of {key!r}"
    if isinstance(value, str) or not isinstance(value, Iterable) or isinstance(value, Mapping):
        raise ProblemError(f"{what} must be a pair (low, high)")
    ends = list(value)
    if len(ends) != 2:
        raise ProblemError(f"{what} must be a pair (low, high), not {len(ends)} values")
    low, high = (end_of_range(end, infinity, what, knobs) for end, infinity in zip(ends, (-sympy.oo, sympy.oo)))
    if (low < high) != sympy.true:
        raise ProblemError(f"{what}: [{low}, {high}] is empty or a point; the low end must be below the high end")
    return low, high


def read_feasible(
    feasible: sets.FeasibleSet | Mapping[str, object] | None, dimension: int, knobs: Mapping[str, sympy.Expr]
) -> sets.FeasibleSet | None:
    """A feasible set of this dimension, also from its table in a file.

    Raises
    ------
    ProblemError : not a set, or of another dimension.
    """
    if isinstance(feasible, Mapping):
        feasible = sets.from_dict(_numbers_of_set(feasible, dimension, knobs))
    if not isinstance(feasible, sets.FeasibleSet | None):
        raise ProblemError("feasible must be a feasible set such as Ball(radius=1)")
    if feasible is not None:
        sets.check_dimension(feasible, dimension)
    return feasible


def within(ranges: Mapping[str, Interval], ys: Sequence[str], feasible: sets.FeasibleSet | None) -> dict[str, Interval]:
    """The declared ranges, those of y cut to the smallest box that contains its set.

    Raises
    ------
    ProblemError : a set that is no Box, Orthant or Simplex; a range that does not meet it.
    """
    match feasible:
        case sets.Box():
            ends = [(_end(a), _end(b)) for a, b in zip(_spread(feasible.lo, len(ys)), _spread(feasible.hi, len(ys)))]
        case sets.Orthant():
            ends = [(sympy.S.Zero, sympy.oo)] * len(ys)
        case sets.Simplex():
            ends = [(sympy.S.Zero, _end(feasible.total))] * len(ys)
        case _:
            kind = type(feasible).__name__
            raise ProblemError(
                f"feasible: a lower level may be constrained to a Box, an Orthant or a Simplex, not {kind}"
            )
    cut = dict(ranges)
    for name, (low, high) in zip(ys, ends):
        declared = ranges.get(name, (-sympy.oo, sympy.oo))
        cut[name] = sympy.Max(low, declared[0]), sympy.Min(high, declared[1])
        if not isinstance(feasible, sets.Box) and cut[name] != (low, high):
            raise ProblemError(f"domain of {name!r} cuts the {type(feasible).__name__} of y; leave it out or use a Box")
        if (cut[name][0] < cut[name][1]) != sympy.true:
            raise ProblemError(f"domain of {name!r} and the set of y meet in no interval; put a constant in its place")
    return {n: r for n, r in cut.items() if r != (-sympy.oo, sympy.oo)}


def _end(value: float) -> sympy.Expr:
    return sympy.sign(value) * sympy.oo if math.isinf(value) else exact_number(value)


def _spread(value: float | Sequence[float], count: int) -> Sequence[float]:
    return value if isinstance(value, Sequence) else [value] * count


def _numbers_of_set(spec: Mapping[str, object], dimension: int, knobs: Mapping[str, object]) -> dict[str, Any]:
    """Texts of a feasible set as numbers; one number for ``lo`` or ``hi`` of a Box means all entries."""

    def read(value: object) -> Any:
        if isinstance(value, str):
            return float(end_of_range(value, None, "feasible", knobs))
        return [read(v) for v in value] if isinstance(value, list | tuple) else value

    result: dict[str, Any] = {}
    if not isinstance(spec.get("set"), str):
        return dict(spec)  # no set: from_dict says so, whatever the other fields are
    for field, value in spec.items():
        if field == "set":
            result[field] = value
        elif field == "sets" and isinstance(value, list | tuple):
            result[field] = [_numbers_of_set(s, dimension, knobs) if isinstance(s, Mapping) else s for s in value]
        else:
            number_or_list = read(value)
            broadcast = field in ("lo", "hi") and isinstance(number_or_list, int | float)
            result[field] = [float(number_or_list)] * dimension if broadcast else number_or_list
    return result


def read_start(value: object, dimension: int, knobs: Mapping[str, sympy.Expr]) -> tuple[float, ...] | None:
    """The start that a problem suggests: numbers or texts, one text for all coordinates; None without one."""
    if value is None:
        return None
    if isinstance(value, str):
        value = [value] * dimension
    if not isinstance(value, Iterable):
        raise ProblemError("start must be a list of numbers, or one text for all coordinates")
    point = tuple(float(end_of_range(v, sympy.nan, "start", knobs)) for v in value)
    if any(math.isnan(v) or math.isinf(v) for v in point):
        raise ProblemError("start must be finite")
    if len(point) != dimension:
        raise ProblemError(f"start has {len(point)} entries, the problem {dimension}")
    return point
