"""The literal run of a card's algorithm on a problem, as a :class:`~bilevel_verify.methods.run.Run`.

This is the slow transcription with which the fast solvers are compared step by step, and the method of a card that
brings its own steps.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from bilevel_verify.errors import ParameterError
from bilevel_verify.language import tree
from bilevel_verify.methods.run import Run, Status, Trace
from bilevel_verify.problems.problem import Problem
from bilevel_verify.theorems.card import Algorithm, Card
from bilevel_verify.theorems.pseudocode.functions import LiteralFunctions
from bilevel_verify.theorems.pseudocode.interpreter import Execution, interpret
from bilevel_verify.theorems.pseudocode.numbers import Field, Floats, Multiprecision
from bilevel_verify.theorems.rewrite import free_letters, substitute
from bilevel_verify.theorems.vocabulary import SEQUENCES

STARTS = {"x_int": "x0", "x0": "x0", "x_00": "x0", "y0": "y0", "z_0": "y0", "v0": "v0"}
"""Inputs of algorithms that are starts."""
STATUS: dict[str, Status] = {"budget": "budget", "unreachable exit": "budget", "not a number": "not finite"}


@dataclass(frozen=True, slots=True)
class Options:
    """What a literal run may be given: starts, the noise to add, a tolerance, a budget of statements, a precision."""

    y0: Sequence[float] | None = None
    v0: Sequence[float] | None = None
    noise: Sequence[Sequence[float]] | None = None
    eps: float | None = None
    budget: int | None = None
    seed: int = 0
    digits: int | None = None


DEFAULT = Options()


def execute(
    card: Card,
    algorithm: Algorithm | str,
    problem: Problem,
    parameters: Mapping[str, Any],
    x0: Sequence[float] | np.ndarray,
    options: Options = DEFAULT,
) -> tuple[Execution, LiteralFunctions]:
    """Interpret the printed steps; returns what they left behind and the functions with their counts.

    Raises
    ------
    ParameterError : an input of the algorithm has no value.
    """
    printed = _algorithm(card, algorithm)
    given = dict(parameters) | ({} if options.eps is None else {"eps": options.eps})
    with _precision(options.digits) as numbers:
        functions = LiteralFunctions(problem, numbers, options.noise, options.seed, given.get("lam"), options.digits)
        zero = [0.0] * problem.dy
        starts = {"x0": list(np.atleast_1d(x0))}
        for name, start in (("y0", options.y0), ("v0", options.v0)):
            starts[name] = zero if start is None else list(np.atleast_1d(start))
        inputs = {name: input_of(printed, name, given, starts) for name in printed.needs}
        library = {other.called: other for other in card.algorithms if other.called}
        run = interpret(
            printed,
            inputs,
            {**functions.table(), "zeros_y": lambda: numbers.vector([0] * problem.dy)},
            numbers=numbers,
            budget=200_000 if options.budget is None else options.budget,
            library=library,
        )
    return run, functions


def run(
    card: Card,
    algorithm: Algorithm | str,
    problem: Problem,
    parameters: Mapping[str, object],
    x0: Sequence[float] | np.ndarray,
    *,
    record: str = "all",
    **options: Any,
) -> Run:
    """The literal run as a :class:`Run`: its trace, its counts, its output; ``note`` carries a finding that ended it.

    Parameters
    ----------
    options : ``y0 v0 noise eps budget seed digits`` (``budget`` counts statements of the pseudo-code).
    """
    printed = _algorithm(card, algorithm)
    done, functions = execute(card, printed, problem, parameters, x0, Options(**options))
    trace = trace_of(done, problem)
    epochs = int(trace.epoch.max(initial=0)) + 1
    lengths = [max(0, int(np.count_nonzero(trace.epoch == t)) - 1) for t in range(epochs)]
    finding = done.findings[0] if done.findings else None
    status: Status = "finished" if finding is None else STATUS.get(finding.kind, "interrupted")
    last = trace.sequences["x"][-1] if "x" in trace.sequences and len(trace) else np.atleast_1d(np.asarray(x0, float))
    output = last if done.output is None else np.array([float(v) for v in np.atleast_1d(done.output)])
    return Run(
        method=f"literal:{card.key}/{printed.id}",
        problem=problem.name,
        x=output,
        status=status,
        counts=MappingProxyType(dict(functions.counts)),
        iterations=sum(lengths),
        epochs=epochs,
        trace=trace,
        parameters=MappingProxyType(dict(parameters)),
        restarted=tuple(t + 1 < epochs for t in range(epochs)),
        seed=options.get("seed"),
        eps=options.get("eps"),
        note="" if finding is None else str(finding),
    )


def trace_of(done: Execution, problem: Problem) -> Trace:
    """Rows (t, k) of everything that the algorithm indexes by (t, k), or by k alone (one epoch)."""
    points = {name: _by_pair(entries) for name, entries in done.sequences.items() if name in SEQUENCES}
    outer = points.get("x", {})
    keys = sorted({key for key in outer if min(key) >= 0})
    rows = {key: place for place, key in enumerate(keys)}
    epochs = 1 + max((t for t, _ in keys), default=0)
    sequences: dict[str, np.ndarray] = {}
    starts: dict[str, np.ndarray] = {}
    for name, entries in points.items():
        width = len(np.atleast_1d(next(iter(entries.values()))))
        kind = next((v.dtype for v in entries.values() if hasattr(v, "dtype")), np.dtype(float))
        table = np.full((len(keys), width), np.nan, dtype=kind)
        first = np.full((epochs, width), np.nan, dtype=kind)
        for (t, k), value in entries.items():
            if (t, k) in rows:
                table[rows[t, k]] = value
            elif k == -1 and 0 <= t < epochs:
                first[t] = value
        sequences[name] = table
        if any(k == -1 for _, k in entries):
            starts[name] = first
    return Trace(
        np.array([t for t, _ in keys], dtype=np.int64),
        np.array([k for _, k in keys], dtype=np.int64),
        MappingProxyType(sequences),
        MappingProxyType(starts),
    )


def _by_pair(entries: Mapping[tuple[int, ...], object]) -> dict[tuple[int, int], Any]:
    return {(key if len(key) == 2 else (0, key[0])): value for key, value in entries.items() if len(key) in (1, 2)}


def _algorithm(card: Card, algorithm: Algorithm | str) -> Algorithm:
    found = card.entries.get(algorithm) if isinstance(algorithm, str) else algorithm
    if not isinstance(found, Algorithm):
        raise ParameterError(f"{card.key} has no algorithm {algorithm!r}")
    return found


@contextlib.contextmanager
def _precision(digits: int | None) -> Iterator[Field]:
    if digits is None:
        yield Floats()
        return
    import mpmath

    with mpmath.workdps(digits):
        yield Multiprecision()


def input_of(printed: Algorithm, name: str, given: Mapping[str, object], starts: Mapping[str, object]) -> Any:
    """The value of an input: a family of parameters as a function of its indices, a letter, or a start.

    Raises
    ------
    ParameterError : it has none.
    """
    if name in printed.families:
        return _family(printed, name, given)
    if name in given:
        return given[name]
    if name in STARTS:
        return starts[STARTS[name]]
    letters = ", ".join(sorted(set(given))) or "none"
    raise ParameterError(
        f"{printed.id}: no value for the input '{name}': starts are called {', '.join(STARTS)}, "
        f"letters with a value are {letters}; an input may also be given in parameters="
    )


def _family(printed: Algorithm, name: str, given: Mapping[str, object]) -> Callable[..., Any]:
    """A sequence of parameters as a function of its indices."""
    indices, formula = printed.families[name]
    known = [part for n in sorted(free_letters(formula.tree) - {*indices}) if n in given for part in (n, given[n])]

    def entry(*values: int) -> Any:
        return _entry(formula.tree, tuple(zip(indices, values, strict=True)), *known)

    return entry


@lru_cache(maxsize=4096, typed=True)
def _entry(formula: tree.Node, at: tuple[tuple[str, int], ...], *known: Any) -> Any:
    """Exact arithmetic on the parameters of the run, names and numbers in turn; many runs ask for the same entry."""
    from bilevel_verify.numbers import exact
    from bilevel_verify.numbers.rounding import precision
    from bilevel_verify.theorems.letters.resolve import scalar_of

    given = dict(zip(known[::2], known[1::2]))
    node = substitute(formula, {index: tree.Number(Fraction(value)) for index, value in at})
    missing = [name for name in sorted(free_letters(node)) if name not in given]
    if missing:
        raise ParameterError(f"no value for {', '.join(missing)}")
    with precision(exact.BITS):
        found = exact.Formula({n: scalar_of(given[n])[0] for n in free_letters(node)}).value(node)
        whole = isinstance(found, Fraction) and found.denominator == 1
        return int(exact.rational(found)) if whole else exact.middle(found)
