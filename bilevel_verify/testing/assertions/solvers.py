"""Assertions on whole methods: descent, step-by-step equality, counts, stationarity of what is returned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing.assertions.inner_solvers import inner_case, inner_text, run_inner
from bilevel_verify.testing.assertions.same_lines import assert_named
from bilevel_verify.testing.instances import decoding
from bilevel_verify.testing.instances.counting import CountedOracles
from bilevel_verify.testing.instances.families import Instance
from bilevel_verify.testing.trials.common import KINDS, Function, gap, name_of, split, text, two_level
from bilevel_verify.testing.trials.contracts import BrokenContract, Profile, call, hidden, profile, rows, vector
from bilevel_verify.testing.trials.trying import try_out

__tracebackhide__ = hidden

FloatArray = NDArray[np.float64]


def _single(data: bytes) -> tuple[Instance, FloatArray]:
    read, rest = split(data)
    instance = decoding.single_level(rest)
    return instance, read.point(instance.dx)


def single_text(data: bytes) -> str:
    """The problem file of a single-level case."""
    instance, start = _single(data)
    return text(f"x0 = {start.tolist()}, L = {instance.L:g}", instance)


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
    raw = call(function, asked, start.copy(), steps, where=where, limit=chosen)
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
    reference: Function | str,
    protocol: str = "inner",
    tolerance: float = 1e-8,
    steps: int = 25,
    profile_: Profile | str | None = None,
    seed: int | None = None,
    counts: bool = True,
) -> None:
    """Step-by-step equality with a named method, or with a literal transcription: iterates, questions, output.

    Parameters
    ----------
    reference : the name of a method (``"ragd-gs"``): :func:`assert_named`; or a transcription of the same protocol.
    counts : of a named method: no oracle is asked more often than by its pseudo-code.
    protocol : ``inner``: ``(gradient, y0, mu, L, steps) -> iterates``; ``solver``: ``(oracles, x0, steps) -> iterates``
        or ``(iterates, output)`` on single-level problems.

    Raises
    ------
    BrokenContract : ``where`` is the first iterate, gradient or output that differs.
    """
    if isinstance(reference, str):
        assert_named(function, reference, tolerance, profile_, seed, counts)
        return
    chosen = profile(profile_)

    def trail(which: Function, data: bytes) -> tuple[FloatArray, list[FloatArray], FloatArray]:
        if protocol == "inner":
            found, start, count = inner_case(data)
            iterates, places = run_inner(which, found, start, count, chosen)
            return iterates, places, iterates[-1]
        asked, iterates, output = run_single(which, data, steps, chosen, 50 * steps)
        return iterates, [call.x for call in asked.log if call.kind == "grad_f"], output

    def judge(data: bytes) -> None:
        (mine, asked, out), (theirs, places, expected) = trail(function, data), trail(reference, data)
        _first_difference("another iterate than the transcription", "k", mine, theirs, tolerance)
        _first_difference("gradient asked at another point", "gradient", asked, places, tolerance)
        _first_difference("another output than the transcription", "output", [out], [expected], tolerance)
        if len(asked) != len(places):
            raise BrokenContract("another number of gradients", "the end", f"{len(asked)}, not {len(places)}")

    describe = inner_text if protocol == "inner" else single_text
    try_out("assert_same_iterates", name_of(function), judge, describe, chosen, seed)


def _first_difference(contract: str, letter: str, mine: Any, theirs: Any, tolerance: float) -> None:
    for k, (a, b) in enumerate(zip(mine, theirs)):
        if not gap(a, b) <= tolerance:
            raise BrokenContract(contract, f"{letter} = {k}", f"{a.tolist()}, not {b.tolist()}, by {gap(a, b):.2g}")


def assert_counts(
    function: Function,
    profile_: Profile | str | None = None,
    budget: int = 20_000,
    seed: int | None = None,
    kinds: Sequence[str] = KINDS,
) -> None:
    """``function(oracles, x0) -> (result, counts)``: the counts it reports are the calls it made, kind by kind.

    Raises
    ------
    BrokenContract : a kind whose reported count is not the number of calls; a result of the shape of x0 that differs
        from it, without any call.
    """
    chosen = profile(profile_)

    def case(data: bytes) -> tuple[Instance, FloatArray]:
        read, rest = split(data)
        instance = two_level(rest, kinds)
        return instance, read.point(instance.dx)

    def judge(data: bytes) -> None:
        instance, start = case(data)
        asked = CountedOracles(instance, budget)
        raw = call(function, asked, start, where="the run", limit=chosen)
        if not isinstance(raw, tuple) or len(raw) != 2 or not isinstance(raw[1], Mapping):
            raise BrokenContract("returns no counts", "the run", f"{type(raw).__name__}, not (result, counts)")
        if not asked.calls and np.shape(raw[0]) == start.shape and not np.array_equal(raw[0], start):
            raise BrokenContract("asks none of its oracles", "the run", f"it moved to {raw[0]}: no counts to judge")
        for kind in sorted({*asked.counts, *raw[1]}):
            told, true = raw[1].get(kind, 0), asked.counts.get(kind, 0)
            if told != true:
                raise BrokenContract("wrong count", kind, f"reported {told}, made {true}, off by {told - true}")

    def describe(data: bytes) -> str:
        instance, start = case(data)
        return text(f"x0 = {start.tolist()}", instance)

    try_out("assert_counts", name_of(function), judge, describe, chosen, seed)


def assert_stationary(
    function: Function,
    eps: float = 1e-3,
    profile_: Profile | str | None = None,
    budget: int = 200_000,
    seed: int | None = None,
    kinds: Sequence[str] = KINDS,
    factor: float = 1.0,
) -> None:
    """``function(oracles, x0, eps) -> x`` or ``(x, y)`` with ``|grad phi(x)| <= factor eps``, phi bounded below.

    The lower level is solved again at the returned x: a y that is given must lie within ``factor eps`` of y*(x).

    Raises
    ------
    BrokenContract : the exact hypergradient at the output is too large, or y does not solve the lower level.
    """
    chosen = profile(profile_)
    chosen = replace(chosen, examples=max(10, chosen.examples // 4))  # whole runs are slow

    def case(data: bytes) -> tuple[Instance, FloatArray]:
        read, rest = split(data)
        if data[-1] % 3 == 2:
            found = decoding.wide(rest[1:], kinds[0] if rest[0] % 3 != 2 else kinds[-1])
        else:
            found = two_level(rest, kinds, most=2, bounded=True)
        return found, read.point(found.dx)

    def judge(data: bytes) -> None:
        instance, start = case(data)
        asked = CountedOracles(instance, budget)
        raw = call(function, asked, start.copy(), eps, where="the run", limit=chosen)
        pair = raw if isinstance(raw, tuple) and len(raw) == 2 else (raw, None)
        x = vector(pair[0], instance.dx, "output")
        size = float(np.linalg.norm(instance.grad_phi(x)))
        if not size <= factor * eps:
            detail = f"|grad phi| = {size:.3g} > {factor * eps:g}"
            raise BrokenContract("output is not stationary", f"x = {x.tolist()}", detail)
        if pair[1] is not None:
            _solves_the_lower_level(instance, x, vector(pair[1], instance.dy, "output y"), factor * eps)

    def describe(data: bytes) -> str:
        instance, start = case(data)
        return text(f"x0 = {start.tolist()}, eps = {eps:g}", instance)

    try_out("assert_stationary", name_of(function), judge, describe, chosen, seed)


def _solves_the_lower_level(instance: Instance, x: FloatArray, y: FloatArray, most: float) -> None:
    exact = instance.y_star(x)
    distance = float(np.linalg.norm(y - exact))
    if not distance <= most:
        detail = f"y = {y.tolist()}, y* = {exact.tolist()}, distance {distance:.3g} > {most:g}"
        raise BrokenContract("y does not solve the lower level", f"x = {x.tolist()}", detail)
