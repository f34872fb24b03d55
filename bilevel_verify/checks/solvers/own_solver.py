"""A solver of the user: what it is handed, and its answer as a run. Only the counts of its oracles are believed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.checks.claims.recorded import EPOCHS_UNKNOWN, HOW
from bilevel_verify.checks.solvers.coarseness import FINE, coarsest
from bilevel_verify.errors import BilevelVerifyError, ParameterError, SolverError
from bilevel_verify.language import nearest_of
from bilevel_verify.methods.run import Run, Trace
from bilevel_verify.methods.trajectory import AUXILIARY, Trajectory
from bilevel_verify.oracles.convention import CALLS
from bilevel_verify.oracles.handed import HandedOracles, all_precise
from bilevel_verify.problems.problem import Problem

if TYPE_CHECKING:
    import mpmath

    from bilevel_verify.oracles import Oracles


def run_own(
    problem: Problem,
    solver: Callable[..., object],
    parameters: Mapping[str, object],
    x0: np.ndarray,
    options: Mapping[str, Any],
    restarts: bool | None,
) -> Run:
    """Run ``solver(oracles, x0, parameters)``, in floats or in ``options["digits"]`` digits.

    Parameters
    ----------
    restarts : whether the method of the statement restarts (None: not known); a flat list of one that never does is
        one epoch.

    Raises
    ------
    ParameterError : what the solver handed back is no run. BudgetExhausted : its budget.
    SolverError : the solver raised an exception of its own, in floats.
    NotImplementedError : the solver does not compute in many digits.
    """
    digits = options.get("digits")
    calls = _calls(options.get("budget"))
    of_digits = partial(_in_digits, disturbed=options.get("disturbed"))
    precision: AbstractContextManager[Any] = nullcontext()
    if digits is not None:
        import mpmath

        precision = mpmath.workdps(digits)
    with precision:
        ask = _in_floats if digits is None else of_digits
        result, start, asked, unit = ask(problem, solver, parameters, x0, calls)
        run = _run_of(problem, result, start, parameters, options, restarts, _name(solver))
        return replace(_counted(run, asked), rounding=max(unit, coarsest(result)))


def _counted(run: Run, asked: Oracles) -> Run:
    """The run with the calls of its oracles, read last: to look at what was handed back may ask more.

    A solver that ends because its budget does has not finished, whatever it makes of that.
    """
    used_up = asked.budget is not None and int(asked.counts_array[CALLS]) >= asked.budget
    status = "budget" if used_up and run.status != "not finite" else run.status
    return replace(run, counts=MappingProxyType(dict(asked.counts)), status=status)


def _in_floats(
    problem: Problem, solver: Callable[..., object], parameters: Mapping[str, object], x0: np.ndarray, calls: int | None
) -> tuple[Any, np.ndarray, Oracles, float]:
    """What the solver handed back, where it started, the oracles that it asked, the unit of its narrowest floats."""
    from bilevel_verify.oracles import oracles

    asked, unit = oracles(problem, budget=calls), FINE

    def notice(points: object) -> None:
        nonlocal unit
        unit = max(unit, coarsest(points))

    try:
        result = solver(HandedOracles(asked, notice), x0.copy(), dict(parameters))
    except BilevelVerifyError:
        raise
    except Exception as error:  # the user's code: whatever it raises is no word of ours about precision
        said = f"{type(error).__name__}: {error}{_remedy(error, parameters)}"
        raise SolverError(f"the solver {_name(solver)!r} raised {said}") from error
    return result, x0, asked, unit


def _remedy(error: Exception, parameters: Mapping[str, object]) -> str:
    """What there is in the place of a parameter or an oracle that there is not; empty for any other exception."""
    if isinstance(error, KeyError) and error.args and error.args[0] not in parameters:
        return f"; parameters has {', '.join(sorted(parameters)) or 'nothing'} (others: --set NAME=VALUE)"
    if isinstance(error, TypeError) and str(error).startswith("Trajectory.__init__()"):
        return "; bv.Trajectory(epochs=[points], output=point, w=[points], ...): for each epoch a list of its points"
    if not isinstance(error, AttributeError) or not isinstance(error.obj, HandedOracles):
        return ""
    wanted = re.fullmatch(r"hess_(xx|xy|yx|yy)_([fg])", str(error.name))
    if wanted is None:
        return nearest_of(str(error.name), [name for name in dir(HandedOracles) if not name.startswith("_")])
    block, of = wanted.groups()
    product = {"yy": "hvp", "xy": "jvp", "yx": "jvp"}.get(block)
    times = f"{product}_{block}_{of}(x, y, v) is its product with v, " if product else ""
    return f"; {times}hess_{of}(x, y) the blocks xx, xy, yy"


def _in_digits(
    problem: Problem,
    solver: Callable[..., object],
    parameters: Mapping[str, object],
    x0: np.ndarray,
    calls: int | None,
    disturbed: str | None = None,
) -> tuple[Any, np.ndarray, Oracles, float]:
    """The same on arrays of mpmath numbers; a solver that cannot do with them says so by raising.

    ``disturbed`` : its ``answers``, or its ``start``, are off by what no float resolves.
    """
    from bilevel_verify.oracles.precise import DisturbedOracles, PreciseOracles, off

    asked = (DisturbedOracles if disturbed == "answers" else PreciseOracles)(problem, budget=calls)
    start = np.array([_precise(float(a)) for a in x0], dtype=object)
    if disturbed == "start":
        start = off(start, 0)
    numbers = {name: _precise(value) for name, value in parameters.items()}
    try:
        result = solver(HandedOracles(asked), start.copy(), numbers)
    except BilevelVerifyError:
        raise
    except Exception as error:  # the user's code, which may do anything with numbers that are no floats
        raise NotImplementedError(f"{type(error).__name__}: {error}") from error
    return result, start, asked, FINE


def _name(solver: Callable[..., object]) -> str:
    return getattr(solver, "__name__", "callable")


def _calls(budget: float | dict[str, int] | None) -> int | None:
    """The budget of calls, of a plain number or of a mapping."""
    found = budget.get("calls") if isinstance(budget, Mapping) else budget
    return None if found is None else int(found)


def _precise(value: object) -> Any:
    """A number of the run as an mpmath number; whole numbers (lengths of loops) stay what they are."""
    import mpmath

    if isinstance(value, Fraction):
        return mpmath.mpf(value.numerator) / value.denominator
    return mpmath.mpf(float(value)) if isinstance(value, float | np.floating) else value


def _run_of(
    problem: Problem,
    result: Any,
    x0: np.ndarray,
    parameters: Mapping[str, object],
    options: Mapping[str, Any],
    restarts: bool | None,
    name: str,
) -> Run:
    """The answer of a solver as a run; its own word about counts, iterations and epochs is not asked for."""
    exact = x0.dtype == object
    if isinstance(result, Run):
        trace, output, restarted = result.trace, _point(result.x, problem.dx, "the x of the run"), result.restarted
        status, known = result.status, True
        _begins_at(np.asarray(trace.x)[0], x0)
    else:
        answer, known = trajectory_of(result, x0, problem.dx)
        trace = trace_of(answer, problem.dx, exact)
        output = np.asarray(trace.x)[-1] if answer.output is None else _point(answer.output, problem.dx, "the output")
        if known:
            _begins_at(np.asarray(trace.x)[0], x0)
        status, restarted = "finished", _restarted(answer)
    if exact:
        for table in (*trace.sequences.values(), output):
            _refuse_floats(table)
    epochs = len(np.unique(np.asarray(trace.epoch)))
    rows = np.asarray(trace.x, dtype=float)
    if not np.all(np.isfinite(rows)) or not np.all(np.isfinite(np.asarray(output, dtype=float))):
        status = "not finite"
    base = Run(
        method=name,
        problem=problem.name,
        x=output,
        status=status,
        counts=MappingProxyType({}),
        iterations=result.iterations if trace.thinned_from is not None else len(trace) - epochs,
        epochs=epochs if known or restarts is False else EPOCHS_UNKNOWN,
        trace=trace,
        parameters=MappingProxyType(dict(parameters)),
        restarted=tuple(restarted),
        seed=options.get("seed"),
        eps=options.get("eps"),
    )
    return base if not isinstance(result, Run) else replace(base, note=result.note)


def _refuse_floats(table: NDArray[np.object_] | mpmath.mpf | float) -> None:
    """A run in many digits has no entry that was rounded to a float.

    Raises
    ------
    NotImplementedError : there is one.
    """
    try:
        all_precise(table)
    except TypeError as error:
        raise NotImplementedError(str(error)) from None


def _begins_at(first: np.ndarray, x0: np.ndarray) -> None:
    if not np.array_equal(first, x0):
        raise ParameterError("the first point of the first epoch must be the start x0 that the solver was handed")


# --- what a solver may hand back --------------------------------------------------------------------------------------


def trajectory_of(result: Any, x0: np.ndarray, dx: int) -> tuple[Trajectory, bool]:
    """An answer as a trajectory, and whether it says where epochs begin.

    A :class:`Trajectory`; a list of epochs (three levels, every epoch but the last of two points or more); a flat list
    of iterates, which need not begin with the start; or ``(iterates, output)`` with one of the latter two.

    Raises
    ------
    ParameterError : anything else, or a shape that can be read in two ways.
    """
    if isinstance(result, Trajectory):
        return result, True
    output = None
    if isinstance(result, tuple) and len(result) == 2:
        result, output = _pair(result[0], result[1], dx)
    levels = _levels(result)
    if levels == 3:
        lengths = [len(epoch) for epoch in result]
        if not lengths or min(lengths[:-1], default=2) < 2 or _point_lengths(result) != {dx}:
            raise ParameterError(f"the solver handed back three levels of lists that are no epochs of points; {HOW}")
        return Trajectory(list(result), output), True
    flat = list(result) if levels in (1, 2) else []
    if not flat or (levels == 1 and dx != 1):
        raise ParameterError(f"the solver handed back no iterates: a list of points of shape ({dx},); {HOW}")
    points = [_point(point, dx, f"iterate {k}") for k, point in enumerate(flat)]
    if not np.array_equal(points[0], x0):
        points = [x0, *points]
    return Trajectory([points], output), False


def _pair(first: object, second: object, dx: int) -> tuple[Any, Any]:
    """``(iterates, output)``, in that order or, where the shapes tell them apart, in the other."""
    sizes = [np.size(np.asarray(part, dtype=object)) if _levels(part) < 2 else dx + 1 for part in (first, second)]
    deep = [_levels(part) >= 2 or (dx == 1 and size > 1) for part, size in zip((first, second), sizes)]
    if deep == [True, False] and sizes[1] == dx:
        return first, second
    if deep == [False, True] and sizes[0] == dx:
        return second, first
    raise ParameterError(f"the solver handed back a pair that is not (iterates, output); {HOW}, output=...)")


def _levels(part: object) -> int:
    """How deep lists are nested: 0 a number, 1 a point, 2 a list of points, 3 a list of epochs."""
    if isinstance(part, list | tuple):
        return 1 + (_levels(part[0]) if part else 0)
    if hasattr(part, "__array__"):
        table = np.asarray(part)
        return table.ndim + (_levels(table[0]) if table.dtype == object and table.ndim == 1 and len(table) else 0)
    if isinstance(part, bool) or not hasattr(part, "__float__"):
        raise ParameterError(f"the solver handed back {type(part).__name__}, no iterates; {HOW}")
    return 0


def _point_lengths(epochs: Any) -> set[int]:
    return {len(point) for epoch in epochs for point in epoch}


def _point(value: object, dx: int, what: str) -> np.ndarray:
    """A point of shape (dx,); a number stands for one of shape (1,).

    Raises
    ------
    ParameterError : another shape, or no numbers.
    """
    try:
        found = np.asarray(value)
        if np.iscomplexobj(found):
            raise TypeError("complex")
        if found.dtype == object:
            [float(number) for number in found.ravel()]
        else:
            found = found.astype(float)
    except (TypeError, ValueError):
        raise ParameterError(f"{what} that the solver handed back is not a point of numbers") from None
    if found.ndim == 0:
        found = found.reshape(1)
    if found.shape != (dx,):
        raise ParameterError(f"{what} that the solver handed back has shape {found.shape}, not ({dx},)")
    return found


def _restarted(answer: Trajectory) -> tuple[bool, ...]:
    if answer.restarts is not None:
        if len(answer.restarts) != len(answer.epochs):
            raise ParameterError(f"restarts of the trajectory: {len(answer.restarts)} for {len(answer.epochs)} epochs")
        return tuple(bool(one) for one in answer.restarts)
    return tuple(t + 1 < len(answer.epochs) for t in range(len(answer.epochs)))


def trace_of(answer: Trajectory, dx: int, exact: bool = False) -> Trace:
    """The rows of a trajectory; NaN where a sequence has no entry.

    Raises
    ------
    ParameterError : an empty epoch, or a sequence that does not fit the epochs.
    """
    lengths = [len(epoch) for epoch in answer.epochs]
    if not lengths or min(lengths) < 1:
        raise ParameterError("an epoch of the trajectory has no point: each begins with its start")
    epoch = np.repeat(np.arange(len(lengths)), lengths)
    k = np.concatenate([np.arange(length) for length in lengths])
    places = [(t, i) for t, length in enumerate(lengths) for i in range(length)]
    x = [_point(answer.epochs[t][i], dx, f"x[{t}, {i}]") for t, i in places]
    sequences = {"x": _table(x, dx, exact)}
    for name in AUXILIARY:
        given: Sequence[Sequence[Any]] | None = getattr(answer, name)
        if given is None:
            continue
        if len(given) != len(lengths) or any(len(a) > n for a, n in zip(given, lengths)):
            raise ParameterError(f"{name} of the trajectory must be nested as its epochs are, with as many entries")
        entries = [given[t][i] if i < len(given[t]) else None for t, i in places]
        sequences[name] = _sequence(name, entries, exact)
    before = {
        name: _sequence(name, list(points), exact)
        for name, points in (answer.before or {}).items()
        if _fits(name, points, len(lengths))
    }
    if before:
        before["epoch"] = np.arange(len(lengths), dtype=float).reshape(-1, 1)
    return Trace(epoch, k, MappingProxyType(sequences), MappingProxyType(before))


def _fits(name: str, points: Sequence[NDArray[np.float64] | list[float] | None], epochs: int) -> bool:
    if len(points) != epochs:
        raise ParameterError(f"before[{name!r}] of the trajectory has {len(points)} points for {epochs} epochs")
    return True


def _sequence(name: str, entries: list[Any], exact: bool) -> np.ndarray:
    """Points of one width, None where there is none."""
    width = next((np.size(entry) for entry in entries if entry is not None), 1)
    points = [None if entry is None else _point(entry, width, f"an entry of {name}") for entry in entries]
    return _table([np.full(width, np.nan) if point is None else point for point in points], width, exact)


def _table(rows: list[np.ndarray], width: int, exact: bool) -> np.ndarray:
    if not exact:
        return np.array([[float(number) for number in row] for row in rows]).reshape(len(rows), width)
    import mpmath

    table = np.empty((len(rows), width), dtype=object)
    for place, row in enumerate(rows):
        for j, number in enumerate(row):
            if number == number:
                _refuse_floats(number)
            table[place, j] = number if isinstance(number, mpmath.mpf) else mpmath.mpf(number)
    return table
