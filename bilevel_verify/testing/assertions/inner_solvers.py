"""Assertions on what works inside a bilevel method: linear solvers and solvers of the lower level."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing.instances import decoding
from bilevel_verify.testing.instances.blocks import Block, ChainBlock, Smooth, block
from bilevel_verify.testing.instances.families import Instance
from bilevel_verify.testing.trials.common import ROUNDING, Function, name_of, split, text
from bilevel_verify.testing.trials.contracts import BrokenContract, Profile, call, hidden, profile, rows, vector
from bilevel_verify.testing.trials.trying import try_out

__tracebackhide__ = hidden

FloatArray = NDArray[np.float64]


SCALES = (1.0, 1e2, 1e-2, 1e5, 1e-5, 1e10, 1e-10)
"""Of right-hand sides: an absolute tolerance ends a solver at once on the smallest."""


def _spd(data: bytes) -> tuple[Smooth, FloatArray, FloatArray]:
    """A quadratic of up to five variables, or a hard chain of up to eight, and two right-hand sides of any size."""
    read, rest = split(data)
    inner = decoding.Reader(rest)
    if inner.upto(7) == 5:
        found: Smooth = ChainBlock(inner.between(2, 100), inner.between(2, 8))
    else:
        found = inner.block(inner.between(1, 5), 1, 20, ("none",))
    first, second = read.point(found.dimension), read.point(found.dimension)
    return found, first * SCALES[read.upto(len(SCALES) - 1)], second


COARSE = 1e-2
"""A tolerance that conjugate gradients meet before their last step, at which the residual falls to rounding."""


def assert_linear_solver(
    function: Function,
    tolerance: float = 1e-8,
    products: Callable[[int, float], int] | None = None,
    profile_: Profile | str | None = None,
    seed: int | None = None,
) -> None:
    """``function(apply, b, tolerance) -> v`` with A v = b for a symmetric positive definite A given by ``apply``.

    Contracts: ``|A v - b| <= tolerance |b|`` (also for b = 0, and for the tolerance ``COARSE``, which the
    last of n steps does not meet by chance), and at most ``products(n, kappa)`` calls of ``apply``; by default n + 3,
    what conjugate gradients need. An answer must not change when the next system is solved.

    Raises
    ------
    BrokenContract : as above.
    """
    chosen = profile(profile_)

    def solve(system: Smooth, b: FloatArray, where: str, tolerance: float = tolerance) -> FloatArray:
        most = (system.dimension + 3) if products is None else products(system.dimension, system.L / system.mu)
        return _solution(function, system, b, tolerance, most, where, chosen)

    def judge(data: bytes) -> None:
        system, first, second = _spd(data)
        answer = solve(system, first, f"system 1, b = {first.tolist()}")
        kept = answer.copy()
        solve(system, second, f"system 2, b = {second.tolist()}")
        solve(system, first, f"system 1, tolerance {COARSE:g}, b = {first.tolist()}", COARSE)
        if not np.array_equal(answer, kept):
            raise BrokenContract("overwrites its earlier answer", "system 2", "the returned array is a shared buffer")

    def describe(data: bytes) -> str:
        system, first, second = _spd(data)
        n = system.dimension
        quadratic = replace(system, linear=(0,) * n) if isinstance(system, Block) else system
        instance = Instance("bilevel", block((0,)), quadratic, None, ((0,),) * n, ((0,) * n,))
        return text(f"A = hess_yy g, b = {first.tolist()}, then {second.tolist()}", instance)

    try_out("assert_linear_solver", name_of(function), judge, describe, chosen, seed)


def _solution(
    function: Function, system: Smooth, b: FloatArray, tolerance: float, most: int, where: str, chosen: Profile
) -> FloatArray:
    """The answer for one system, after at most so many products.

    Raises
    ------
    BrokenContract : more products, or a residual above the tolerance.
    """
    matrix, calls = system.hessian(b), [0]

    def apply(v: object) -> FloatArray:
        calls[0] += 1
        if calls[0] > most:
            raise BrokenContract("too many products", where, f"more than {most} for n = {system.dimension}")
        return matrix @ vector(v, system.dimension, f"{where}, product {calls[0]}")

    raw = call(function, apply, b.copy(), tolerance, where=where, limit=chosen, asked=lambda: calls[0])
    v = vector(raw, system.dimension, where)
    residual, bound = float(np.linalg.norm(matrix @ v - b)), tolerance * float(np.linalg.norm(b))
    if not residual <= bound * (1 + 1e-6) + 1e-13 * float(np.linalg.norm(b)):
        raise BrokenContract("residual too large", where, f"|A v - b| = {residual:.3g} > {bound:.3g}, v = {v.tolist()}")
    return raw if isinstance(raw, np.ndarray) else v


def inner_case(data: bytes) -> tuple[Smooth, FloatArray, int]:
    """A strongly convex function, a start and a number of steps.

    A block, a hard chain, a mean over data; or, for three draws of eight, a quadratic that is as slow as the theory
    says: eigenvalues at the Chebyshev points of [1, kappa] (or Nesterov's chain), kappa up to 10^4, a start in which
    every mode is excited, and one to six times sqrt(kappa) steps.
    """
    read, rest = split(data)
    inner = decoding.Reader(rest)
    n, which = inner.between(1, 4), inner.upto(15)
    if which >= 10:
        return _slow_case(inner, read, which == 15)
    if which == 8:
        found: Smooth = ChainBlock(inner.between(2, 50), n + 1)
    elif which == 9:
        found = decoding.data_block(inner, n, inner.between(1, 5), "")
    else:
        found = inner.block(n, 1, 20, decoding.CONVEX_ATOMS)
    return found, read.point(found.dimension), 3 + read.upto(40)


KAPPAS = (10, 100, 1000, 10_000)


def _slow_case(inner: decoding.Reader, read: decoding.Reader, chain: bool) -> tuple[Smooth, FloatArray, int]:
    """A quadratic on which accelerated methods need what their bound says."""
    kappa, n = KAPPAS[inner.upto(3)], inner.between(2, 9)
    steps = math.ceil((1 + read.upto(5)) * math.sqrt(kappa))
    if chain:
        hard = ChainBlock(kappa, 4 * n)
        return hard, np.ones(4 * n), steps
    nodes = (np.cos(np.pi * np.arange(n)[::-1] / (n - 1)) + 1) / 2
    spectrum = tuple(Fraction(round(1000 + 1000 * (kappa - 1) * float(node)), 1000) for node in nodes)
    found = block(spectrum, mirror=inner.mirror(n), linear=inner.vector(n, 3))
    least = (1.0, 0.1, 0.01)[read.upto(2)]
    modes = np.array([(1.0 if i == 0 else least) * (-1.0) ** read.upto(1) for i in range(n)])
    return found, found.inverse_gradient(np.zeros(n)) + found.basis @ modes, steps


def inner_text(data: bytes) -> str:
    """The problem file of an inner case: minimise over one level."""
    found, start, steps = inner_case(data)
    return text(
        f"start = {start.tolist()}, steps = {steps}, mu = {found.mu:g}, L = {found.L:g}",
        Instance("single_level", found),
    )


RATES: dict[str, Callable[[float, int], float]] = {
    "agd": lambda kappa, k: (1 + kappa) * (1 - 1 / np.sqrt(kappa)) ** k,
    "gd": lambda kappa, k: (1 - 1 / kappa) ** k,
}
"""Bounds of ``|y_k - y*|^2 / |y_0 - y*|^2`` for steps 1/L: accelerated (Nesterov 2004, 2.2.11) and plain descent."""
FORMULAS = {
    "agd": "(1 + kappa) (1 - 1/sqrt(kappa))^k |y_0 - y*|^2 (Nesterov 2004, 2.2.11; rahgd, Lemma 2.1)",
    "gd": "(1 - 1/kappa)^k |y_0 - y*|^2",
}
ON_QUADRATICS = "((1 - s)^k (1 + k s))^2 |y_0 - y*|^2, s = 1/sqrt(kappa)"


def on_quadratics(kappa: float, k: int) -> float:
    """What AGD with constant momentum attains on quadratics: ``((1 - s)^k (1 + k s))^2`` with ``s = 1/sqrt(kappa)``.

    At the eigenvalue mu both roots of its recurrence are 1 - s, so that its polynomial is ``(1 - s)^k (1 + k s)``
    there; at all others it is smaller.
    """
    s = 1 / math.sqrt(kappa)
    return ((1 - s) ** k * (1 + k * s)) ** 2


def assert_inner_solver_rate(
    function: Function,
    rate: str | Callable[[float, int], float] = "agd",
    profile_: Profile | str | None = None,
    seed: int | None = None,
) -> None:
    """``function(gradient, y0, mu, L, steps) -> iterates`` of shape (steps + 1, n) on strongly convex functions.

    Contracts: row 0 is y0, the squared distance obeys the rate at every k, at most ``steps + 1`` gradients. ``"agd"``
    is asked where it is sharp, too: on quadratics the rate of AGD is ``((1 - s)^k (1 + k s))^2``, ``s =
    1/sqrt(kappa)``, attained at the smallest eigenvalue; and the points handed back must be those that the rate is
    claimed for, not the extrapolated ones.

    Raises
    ------
    BrokenContract : as above; ``where`` is the first iterate that is too far away.
    """
    chosen = profile(profile_)
    bound = RATES[rate] if isinstance(rate, str) else rate

    def judge(data: bytes) -> None:
        found, start, steps = inner_case(data)
        iterates, asked = run_inner(function, found, start, steps, chosen)
        sharp = rate == "agd" and (isinstance(found, ChainBlock) or (isinstance(found, Block) and found.quadratic))
        if rate == "agd":
            _must_not_be_extrapolated(iterates, asked, found)
        solution = found.inverse_gradient(np.zeros(found.dimension))
        initial = float(np.sum((start - solution) ** 2))
        for k, y in enumerate(iterates):
            kappa = found.L / found.mu
            share = min(bound(kappa, k), on_quadratics(kappa, k)) if sharp else bound(kappa, k)
            distance, allowed = float(np.sum((y - solution) ** 2)), share * initial
            if not distance <= allowed * (1 + ROUNDING) + 1e-20 * (1 + initial):
                formula = f", the bound {FORMULAS[rate]}" if isinstance(rate, str) else ""
                formula = (
                    f", the rate of AGD on quadratics {ON_QUADRATICS}" if sharp and share < bound(kappa, k) else formula
                )
                times = f"{distance / max(allowed, 1e-300):.3g} times"
                detail = f"|y_k - y*|^2 = {distance:.3g} > {allowed:.3g}, {times}{formula}, kappa = {kappa:.6g}"
                raise BrokenContract("slower than the rate", f"k = {k} of {steps}", detail)

    try_out("assert_inner_solver_rate", name_of(function), judge, inner_text, chosen, seed)


def _must_not_be_extrapolated(iterates: FloatArray, asked: Sequence[FloatArray], found: Smooth) -> None:
    """The bound of AGD is one for ``x_k = w_{k-1} - grad(w_{k-1})/L``, not for ``w_k = x_k + beta (x_k - x_{k-1})``.

    Raises
    ------
    BrokenContract : every iterate is the point where the next gradient is asked, beyond x_k by a constant share.
    """
    most = min(len(iterates), len(asked))
    if most < 4:
        return
    claimed = [iterates[0], *(w - found.gradient(w) / found.L for w in asked[: most - 1])]
    shares = []
    for k in range(2, most):
        step, beyond = claimed[k] - claimed[k - 1], iterates[k] - claimed[k]
        size = float(np.linalg.norm(step))
        if not np.allclose(iterates[k], asked[k], rtol=0, atol=1e-12 * (1 + size)) or not size > 1e-6:
            return
        shares.append(float(beyond @ step) / size**2)
        if not np.linalg.norm(beyond - shares[-1] * step) <= 1e-6 * size or abs(shares[-1] - shares[0]) > 1e-6:
            return
    if shares and shares[0] > 1e-3:
        beyond = f"beyond x_k by {shares[0]:.4g} (x_k - x_(k-1))"
        claim = f"the bound (rahgd, Lemma 2.1) is claimed for x_k = {claimed[2].tolist()}"
        detail = f"{iterates[2].tolist()} is {beyond}; {claim}"
        raise BrokenContract("returns the extrapolated point", "k = 2", detail)


def run_inner(
    function: Function, found: Smooth, start: FloatArray, steps: int, chosen: Profile
) -> tuple[FloatArray, list[FloatArray]]:
    """Iterates of an inner solver, and where it asked for gradients.

    Raises
    ------
    BrokenContract : wrong shape, wrong start, too many gradients, any misbehaviour.
    """
    where, asked = f"{steps} steps", list[FloatArray]()

    def gradient(y: object) -> FloatArray:
        asked.append(vector(y, found.dimension, f"gradient {len(asked)}").copy())
        if len(asked) > steps + 1:
            raise BrokenContract("too many gradients", where, f"more than {steps + 1}")
        return found.gradient(asked[-1])

    arguments = (gradient, start.copy(), found.mu, found.L, steps)
    raw = call(function, *arguments, where=where, limit=chosen, asked=lambda: len(asked))
    iterates = rows(raw, steps + 1, found.dimension, where)
    if not np.array_equal(iterates[0], start):
        raise BrokenContract("does not begin at its start", "k = 0", f"{iterates[0].tolist()}, not {start.tolist()}")
    return iterates, asked
