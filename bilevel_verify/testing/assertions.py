"""Assertions on any callable, NumPy in and NumPy out: which contract broke, where, by how much, and how to repeat it.

Every callable asks counting oracles that raise when the budget ends. Examples come simplest first, a failing one is
made simpler, and the message ends with a problem file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import BilevelVerifyError, InputError
from bilevel_verify.testing import decoding
from bilevel_verify.testing.contracts import (
    POINTS,
    BrokenContract,
    Profile,
    call,
    profile,
    rows,
    try_out,
    vector,
)
from bilevel_verify.testing.counting import CountedOracles
from bilevel_verify.testing.diagnosis import looks_like
from bilevel_verify.testing.families import Block, Instance, block
from bilevel_verify.testing.ledger import Entry, note

FloatArray = NDArray[np.float64]
Function = Callable[..., Any]
ROUNDING = 1e-9


def name_of(function: Function) -> str:
    """What a message calls a callable."""
    return str(getattr(function, "__name__", type(function).__name__))


def _split(data: bytes) -> tuple[decoding.Reader, bytes]:
    """Bytes of the points, bytes of the instance."""
    return decoding.Reader(data[:POINTS]), data[POINTS:]


def _either(data: bytes) -> Instance:
    return decoding.either(_split(data)[1])


def _text(points: str, instance: Instance) -> str:
    return f"# {points}\n{instance.toml()}"


def _gap(got: FloatArray, exact: FloatArray) -> float:
    return float(np.linalg.norm(got - exact) / (1 + np.linalg.norm(exact)))


def assert_hypergradient(
    function: Function,
    tolerance: float = 1e-6,
    profile_: Profile | str | None = None,
    budget: int = 20_000,
    seed: int | None = None,
) -> None:
    """``function(oracles, x) -> gradient`` of phi(x) = f(x, y*(x)), for bilevel and minimax problems.

    Contracts: shape (dx,), finite, input unchanged, within the budget, ``|got - exact| <= tolerance (1 + |exact|)``,
    and the same answer when the same point is asked again after another one.

    Raises
    ------
    BrokenContract : with a diagnosis where the wrong answer is a known one (sign, factor, missing part ...).
    """
    chosen = profile(profile_)

    def places(data: bytes) -> tuple[Instance, list[FloatArray]]:
        read, rest = _split(data)
        instance = decoding.either(rest)
        return instance, [read.point(instance.dx), read.point(instance.dx)]

    def judge(data: bytes) -> None:
        instance, (first, second) = places(data)
        asked = CountedOracles(instance, budget)
        for number, x in enumerate((first, second, first), 1):
            where = f"call {number}, x = {x.tolist()}"
            asked.reset()
            got = vector(call(function, asked, x.copy(), where=where, seconds=chosen.seconds), instance.dx, where)
            exact = instance.grad_phi(x)
            if not _gap(got, exact) <= tolerance:
                kept = number > 1 and looks_like(instance, x, got, first if number == 2 else second)
                detail = f"got {got.tolist()}, exact {exact.tolist()}, relative error {_gap(got, exact):.2g}"
                raise BrokenContract(
                    "wrong hypergradient", where, f"{detail} > {tolerance:g}{kept or looks_like(instance, x, got)}"
                )

    def describe(data: bytes) -> str:
        instance, points = places(data)
        return _text(f"x = {[p.tolist() for p in points]}", instance)

    try_out("assert_hypergradient", name_of(function), judge, describe, chosen, seed)


def _spd(data: bytes) -> tuple[Block, FloatArray, FloatArray]:
    """A quadratic block of up to five variables and two right-hand sides."""
    read, rest = _split(data)
    inner = decoding.Reader(rest)
    n = inner.between(1, 5)
    found = inner.block(n, 1, 20, ("none",))
    return found, read.point(n), read.point(n)


def assert_linear_solver(
    function: Function,
    tolerance: float = 1e-8,
    products: Callable[[int, float], int] | None = None,
    profile_: Profile | str | None = None,
    seed: int | None = None,
) -> None:
    """``function(apply, b, tolerance) -> v`` with A v = b for a symmetric positive definite A given by ``apply``.

    Contracts: ``|A v - b| <= tolerance |b|`` (also for b = 0), and at most ``products(n, kappa)`` calls of ``apply``;
    by default n + 3, what conjugate gradients need. An answer must not change when the next system is solved.

    Raises
    ------
    BrokenContract : as above.
    """
    chosen = profile(profile_)

    def solve(system: Block, b: FloatArray, where: str) -> FloatArray:
        matrix, calls = system.hessian(b), [0]
        most = (system.dimension + 3) if products is None else products(system.dimension, system.L / system.mu)

        def apply(v: Any) -> FloatArray:
            calls[0] += 1
            if calls[0] > most:
                raise BrokenContract("too many products", where, f"more than {most} for n = {system.dimension}")
            return matrix @ vector(v, system.dimension, f"{where}, product {calls[0]}")

        raw = call(function, apply, b.copy(), tolerance, where=where, seconds=chosen.seconds)
        v = vector(raw, system.dimension, where)
        residual, bound = float(np.linalg.norm(matrix @ v - b)), tolerance * float(np.linalg.norm(b))
        if not residual <= bound * (1 + 1e-6) + 1e-13 * float(np.linalg.norm(b)):
            raise BrokenContract(
                "residual too large", where, f"|A v - b| = {residual:.3g} > {bound:.3g}, v = {v.tolist()}"
            )
        return raw if isinstance(raw, np.ndarray) else v

    def judge(data: bytes) -> None:
        system, first, second = _spd(data)
        answer = solve(system, first, f"system 1, b = {first.tolist()}")
        kept = answer.copy()
        solve(system, second, f"system 2, b = {second.tolist()}")
        if not np.array_equal(answer, kept):
            raise BrokenContract("overwrites its earlier answer", "system 2", "the returned array is a shared buffer")

    def describe(data: bytes) -> str:
        system, first, second = _spd(data)
        n = system.dimension
        instance = Instance("bilevel", block((0,)), replace(system, linear=(0,) * n), None, ((0,),) * n, ((0,) * n,))
        return _text(f"A = hess_yy g, b = {first.tolist()}, then {second.tolist()}", instance)

    try_out("assert_linear_solver", name_of(function), judge, describe, chosen, seed)


def inner_case(data: bytes) -> tuple[Block, FloatArray, int]:
    """A strongly convex block, a start and a number of steps."""
    read, rest = _split(data)
    inner = decoding.Reader(rest)
    n = inner.between(1, 4)
    return inner.block(n, 1, 20, decoding.CONVEX_ATOMS), read.point(n), 3 + read.upto(40)


def inner_text(data: bytes) -> str:
    """The problem file of an inner case: minimise over one level."""
    found, start, steps = inner_case(data)
    return _text(
        f"start = {start.tolist()}, steps = {steps}, mu = {found.mu:g}, L = {found.L:g}",
        Instance("single_level", found),
    )


RATES: dict[str, Callable[[float, int], float]] = {
    "agd": lambda kappa, k: (1 + kappa) * (1 - 1 / np.sqrt(kappa)) ** k,
    "gd": lambda kappa, k: (1 - 1 / kappa) ** k,
}
"""Bounds of ``|y_k - y*|^2 / |y_0 - y*|^2`` for steps 1/L: accelerated (Nesterov 2004, 2.2.11) and plain descent."""


def assert_inner_solver_rate(
    function: Function,
    rate: str | Callable[[float, int], float] = "agd",
    profile_: Profile | str | None = None,
    seed: int | None = None,
) -> None:
    """``function(gradient, y0, mu, L, steps) -> iterates`` of shape (steps + 1, n) on strongly convex functions.

    Contracts: row 0 is y0, the squared distance obeys the rate at every k, at most ``steps + 1`` gradients.

    Raises
    ------
    BrokenContract : as above; ``where`` is the first iterate that is too far away.
    """
    chosen = profile(profile_)
    bound = RATES[rate] if isinstance(rate, str) else rate

    def judge(data: bytes) -> None:
        found, start, steps = inner_case(data)
        iterates, _ = run_inner(function, found, start, steps, chosen)
        solution = found.inverse_gradient(np.zeros(found.dimension))
        initial = float(np.sum((start - solution) ** 2))
        for k, y in enumerate(iterates):
            distance, allowed = float(np.sum((y - solution) ** 2)), bound(found.L / found.mu, k) * initial
            if not distance <= allowed * (1 + ROUNDING) + 1e-20 * (1 + initial):
                detail = f"|y_k - y*|^2 = {distance:.3g} > {allowed:.3g}, {distance / max(allowed, 1e-300):.3g} times"
                raise BrokenContract("slower than the rate", f"k = {k} of {steps}", detail)

    try_out("assert_inner_solver_rate", name_of(function), judge, inner_text, chosen, seed)


def run_inner(
    function: Function, found: Block, start: FloatArray, steps: int, chosen: Profile
) -> tuple[FloatArray, list[FloatArray]]:
    """Iterates of an inner solver, and where it asked for gradients.

    Raises
    ------
    BrokenContract : wrong shape, wrong start, too many gradients, any misbehaviour.
    """
    where, asked = f"{steps} steps", list[FloatArray]()

    def gradient(y: Any) -> FloatArray:
        asked.append(vector(y, found.dimension, f"gradient {len(asked)}").copy())
        if len(asked) > steps + 1:
            raise BrokenContract("too many gradients", where, f"more than {steps + 1}")
        return found.gradient(asked[-1])

    raw = call(function, gradient, start.copy(), found.mu, found.L, steps, where=where, seconds=chosen.seconds)
    iterates = rows(raw, steps + 1, found.dimension, where)
    if not np.array_equal(iterates[0], start):
        raise BrokenContract("does not begin at its start", "k = 0", f"{iterates[0].tolist()}, not {start.tolist()}")
    return iterates, asked


def _single(data: bytes) -> tuple[Instance, FloatArray]:
    read, rest = _split(data)
    instance = decoding.single_level(rest)
    return instance, read.point(instance.dx)


def single_text(data: bytes) -> str:
    """The problem file of a single-level case."""
    instance, start = _single(data)
    return _text(f"x0 = {start.tolist()}, L = {instance.L:g}", instance)


def run_single(
    function: Function, data: bytes, steps: int, chosen: Profile, budget: int
) -> tuple[CountedOracles, FloatArray, FloatArray]:
    """Oracles with their log, iterates and output of ``function(oracles, x0, steps)``.

    Raises
    ------
    BrokenContract : any misbehaviour.
    """
    instance, start = _single(data)
    asked, where = CountedOracles(instance, budget), f"{steps} steps"
    raw = call(function, asked, start.copy(), steps, where=where, seconds=chosen.seconds)
    iterates, output = raw if isinstance(raw, tuple) and len(raw) == 2 else (raw, None)
    found = rows(iterates, steps + 1, instance.dx, where)
    if not np.array_equal(found[0], start):
        raise BrokenContract("does not begin at its start", "k = 0", f"{found[0].tolist()}, not {start.tolist()}")
    return asked, found, found[-1] if output is None else vector(output, instance.dx, "output")


def assert_descent(
    function: Function,
    sufficient: float = 0.5,
    steps: int = 15,
    profile_: Profile | str | None = None,
    seed: int | None = None,
) -> None:
    """``function(oracles, x0, steps) -> iterates`` of shape (steps + 1, dx) on smooth functions (``oracles.L`` known).

    Contracts: row 0 is x0; ``f(x_{k+1}) <= f(x_k) - sufficient/L |grad f(x_k)|^2`` (0.5: descent with step 1/L).

    Raises
    ------
    BrokenContract : ``where`` is the first step that does not decrease enough.
    """
    chosen = profile(profile_)

    def judge(data: bytes) -> None:
        asked, iterates, _ = run_single(function, data, steps, chosen, 50 * steps)
        p = asked.instance.p
        values = [p.value(x) for x in iterates]
        for k in range(steps):
            allowed = values[k] - sufficient / p.L * float(np.sum(p.gradient(iterates[k]) ** 2))
            if not values[k + 1] <= allowed + 1e-12 * (1 + abs(values[k])):
                detail = f"f = {values[k + 1]:.6g} > {allowed:.6g}, by {values[k + 1] - allowed:.3g}"
                raise BrokenContract("no sufficient decrease", f"step {k} -> {k + 1}", detail)

    try_out("assert_descent", name_of(function), judge, single_text, chosen, seed)


def assert_same_iterates(
    function: Function,
    reference: Function,
    protocol: str = "inner",
    tolerance: float = 1e-8,
    steps: int = 25,
    profile_: Profile | str | None = None,
    seed: int | None = None,
) -> None:
    """Step-by-step equality with a literal transcription of the algorithm, its gradients' places and its output.

    Parameters
    ----------
    protocol : ``inner``: ``(gradient, y0, mu, L, steps) -> iterates``; ``solver``: ``(oracles, x0, steps) -> iterates``
        or ``(iterates, output)`` on single-level problems.

    Raises
    ------
    BrokenContract : ``where`` is the first iterate, gradient or output that differs.
    """
    chosen = profile(profile_)

    def trail(which: Function, data: bytes) -> tuple[FloatArray, list[FloatArray], FloatArray]:
        if protocol == "inner":
            found, start, count = inner_case(data)
            iterates, places = run_inner(which, found, start, count, chosen)
            return iterates, places, iterates[-1]
        asked, iterates, output = run_single(which, data, steps, chosen, 50 * steps)
        return iterates, [x for kind, x, _ in asked.log if kind == "grad_f"], output

    def judge(data: bytes) -> None:
        (mine, asked, out), (theirs, places, expected) = trail(function, data), trail(reference, data)
        _first_difference("another iterate than the transcription", "k", mine, theirs, tolerance)
        _first_difference("gradient asked at another point", "gradient", asked, places, tolerance)
        _first_difference("another output than the transcription", "output", [out], [expected], tolerance)
        if len(asked) != len(places):
            raise BrokenContract("another number of gradients", "the end", f"{len(asked)}, not {len(places)}")

    try_out(
        "assert_same_iterates",
        name_of(function),
        judge,
        inner_text if protocol == "inner" else single_text,
        chosen,
        seed,
    )


def _first_difference(contract: str, letter: str, mine: Any, theirs: Any, tolerance: float) -> None:
    for k, (a, b) in enumerate(zip(mine, theirs)):
        if not _gap(a, b) <= tolerance:
            raise BrokenContract(contract, f"{letter} = {k}", f"{a.tolist()}, not {b.tolist()}, by {_gap(a, b):.2g}")


def assert_counts(
    function: Function, profile_: Profile | str | None = None, budget: int = 20_000, seed: int | None = None
) -> None:
    """``function(oracles, x0) -> (result, counts)``: the counts it reports are the calls it made, kind by kind.

    Raises
    ------
    BrokenContract : a kind whose reported count is not the number of calls.
    """
    chosen = profile(profile_)

    def judge(data: bytes) -> None:
        instance = _either(data)
        asked, start = CountedOracles(instance, budget), _split(data)[0].point(instance.dx)
        raw = call(function, asked, start, where="the run", seconds=chosen.seconds)
        if not isinstance(raw, tuple) or len(raw) != 2 or not isinstance(raw[1], Mapping):
            raise BrokenContract("returns no counts", "the run", f"{type(raw).__name__}, not (result, counts)")
        for kind in sorted({*asked.counts, *raw[1]}):
            told, true = raw[1].get(kind, 0), asked.counts.get(kind, 0)
            if told != true:
                raise BrokenContract("wrong count", kind, f"reported {told}, made {true}")

    def describe(data: bytes) -> str:
        instance = _either(data)
        return _text(f"x0 = {_split(data)[0].point(instance.dx).tolist()}", instance)

    try_out("assert_counts", name_of(function), judge, describe, chosen, seed)


def assert_stationary(
    function: Function,
    eps: float = 1e-3,
    profile_: Profile | str | None = None,
    budget: int = 200_000,
    seed: int | None = None,
) -> None:
    """``function(oracles, x0, eps) -> x`` with ``|grad phi(x)| <= eps``, phi bounded below (minimax problems).

    Raises
    ------
    BrokenContract : the exact hypergradient at the output is larger than eps.
    """
    chosen = profile(profile_)
    chosen = replace(chosen, examples=max(10, chosen.examples // 4))  # whole runs are slow

    def case(data: bytes) -> tuple[Instance, FloatArray]:
        read, rest = _split(data)
        found = decoding.minimax(rest, most=2)
        p = replace(found.p, spectrum=tuple(s + 1 for s in found.p.spectrum))
        return replace(found, p=p), read.point(found.dx)

    def judge(data: bytes) -> None:
        instance, start = case(data)
        asked = CountedOracles(instance, budget)
        x = vector(
            call(function, asked, start.copy(), eps, where="the run", seconds=chosen.seconds), instance.dx, "output"
        )
        size = float(np.linalg.norm(instance.grad_phi(x)))
        if not size <= eps:
            raise BrokenContract("output is not stationary", f"x = {x.tolist()}", f"|grad phi| = {size:.3g} > {eps:g}")

    def describe(data: bytes) -> str:
        instance, start = case(data)
        return _text(f"x0 = {start.tolist()}, eps = {eps:g}", instance)

    try_out("assert_stationary", name_of(function), judge, describe, chosen, seed)


def assert_keeps_promises(
    solver: Function, statement: Any, problem: Any = None, eps: float | None = 0.1, x0: Any = None, **options: Any
) -> None:
    """``solver(oracles, x0, parameters) -> iterates`` keeps the claims of a theorem ("paper/id" or a card).

    Parameters
    ----------
    problem : a problem, a zoo name, or an instance of this room (an example of a strategy); never guessed.
    options : handed on to :func:`bilevel_verify.verify`.

    A claim counts as broken if it is refuted, or if the float64 iterates violate it (a user's solver cannot be run
    again in 50 digits, so that the verdict of such a row stays ``undecided``).

    Raises
    ------
    BrokenContract : names the claim, the place, both sides, and the problem.
    InputError : no problem was given.
    """
    from bilevel_verify.checks import verify
    from bilevel_verify.problems import dump
    from bilevel_verify.problems.problem import Problem

    if problem is None:
        raise InputError("assert_keeps_promises needs problem=: a problem, a zoo name, or a strategy's example")
    stated = problem.problem() if hasattr(problem, "problem") else problem
    text = dump(stated) if isinstance(stated, Problem) else f"# {stated}\n"
    started = time.perf_counter()
    errors: list[Exception] = []
    found = verify(stated, statement, eps=eps, x0=x0, method=_watched(solver, errors), **options)
    if errors:
        raise BrokenContract("raises", "the run", f"{type(errors[0]).__name__}: {errors[0]}", text, name_of(solver))
    failure = next(filter(None, (_broken_run(run) for run in found.runs)), None)
    failure = failure or next(filter(None, (_broken_row(found.statement, row) for row in found.claims)), None)
    seconds, broken = time.perf_counter() - started, failure.contract if failure else ""
    note(Entry("assert_keeps_promises", name_of(solver), len(found.claims), seconds, broken))
    if failure is not None:
        raise BrokenContract(failure.contract, failure.where, failure.detail, text, name_of(solver))


def _watched(solver: Function, errors: list[Exception]) -> Function:
    """The solver, its own errors kept: a verification goes on without a run that failed."""

    def watched(*arguments: Any) -> Any:
        try:
            return solver(*arguments)
        except BilevelVerifyError:
            raise  # the budget, or a wrong question to an oracle: the verification says so
        except Exception as error:
            errors.append(error)
            raise

    watched.__name__ = name_of(solver)
    return watched


def _broken_run(run: Any) -> BrokenContract | None:
    if getattr(run, "status", "") == "not finite":
        return BrokenContract("returns NaN or infinity", "the iterates", "a run that is not finite keeps no promise")
    return None


def _broken_row(statement: str, row: Any) -> BrokenContract | None:
    """The failure that a row of verdicts stands for, if it is one."""
    violated = row.verdict == "undecided" and str(row.reason).startswith("precision: violated")
    if row.known_refuted or not (row.verdict == "refuted" or violated):
        return None
    sides = f"{row.left} = {row.measured}, but {row.right} = {row.bound}"
    return BrokenContract(f"{statement}, claim {row.claim}", row.where or "the run", f"{sides} ({row.reason})")
