"""Contracts of stochastic solvers: unbiasedness and variance by exact enumeration of the batches of small data.

Both levels are means over samples, ``f(x, y) = p(x) + mean_i q_i(y)`` and ``g(x, y) = mean_j h_j(y) - y.B x``; a batch
is a tuple of places in the samples. Nothing is drawn: every batch of a size is handed over once, so that the mean and
the variance of an estimator are computed, not estimated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.testing.instances import decoding
from bilevel_verify.testing.instances.data_sums import DataBlock
from bilevel_verify.testing.instances.families import Instance
from bilevel_verify.testing.trials.common import Function, gap, name_of, split, text
from bilevel_verify.testing.trials.contracts import BrokenContract, Profile, call, hidden, profile, vector
from bilevel_verify.testing.trials.trying import try_out

__tracebackhide__ = hidden

FloatArray = NDArray[np.float64]
Batch = Sequence[int]
MOST_SAMPLES = 5


class SampledOracles:
    """Means over a batch of the samples of both levels; ``batch=None`` is all of them.

    Attributes
    ----------
    dx, dy : dimensions. ``upper``, ``lower`` : numbers of samples of f and of g. ``mu``, ``L`` : constants of g.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.dx, self.dy, self.mu, self.L = instance.dx, instance.dy, instance.mu, instance.L
        self._f, self._g = _data(instance.q), _data(instance.h)
        self.upper, self.lower = len(self._f.rows), len(self._g.rows)
        self.coupling = instance.coupling

    def grad_x_f(self, x: ArrayLike, y: ArrayLike, batch: Batch | None = None) -> FloatArray:
        """Gradient of f in x: the same for every batch."""
        return self.instance.grad_x_f(np.asarray(x, dtype=float), np.asarray(y, dtype=float))

    def grad_y_f(self, x: ArrayLike, y: ArrayLike, batch: Batch | None = None) -> FloatArray:
        """Gradient of f in y over a batch of its samples."""
        return _over(self._f, batch).gradient(np.asarray(y, dtype=float))

    def grad_y_g(self, x: ArrayLike, y: ArrayLike, batch: Batch | None = None) -> FloatArray:
        """Gradient of g in y over a batch of its samples."""
        found: FloatArray = _over(self._g, batch).gradient(np.asarray(y, dtype=float)) - self.coupling @ np.asarray(x)
        return found

    def hvp_yy_g(self, x: ArrayLike, y: ArrayLike, v: ArrayLike, batch: Batch | None = None) -> FloatArray:
        """Hessian-vector product of g in y over a batch of its samples."""
        found: FloatArray = _over(self._g, batch).hessian(np.asarray(y, dtype=float)) @ np.asarray(v, dtype=float)
        return found

    def jvp_xy_g(self, x: ArrayLike, y: ArrayLike, v: ArrayLike, batch: Batch | None = None) -> FloatArray:
        """``(nabla^2_xy g) v``: the same for every batch."""
        found: FloatArray = -self.coupling.T @ np.asarray(v, dtype=float)
        return found


def _data(part: object) -> DataBlock:
    assert isinstance(part, DataBlock)
    return part


def _over(part: DataBlock, batch: Batch | None) -> DataBlock:
    """The mean over some of the samples (a place may come twice); residuals stay those of their samples."""
    return part if batch is None else replace(part, rows=tuple(part.rows[i] for i in batch))


def batches(samples: int, size: int, replacement: bool) -> list[tuple[int, ...]]:
    """Every batch: with replacement all tuples, without it all subsets; each as likely as any other."""
    if replacement:
        return list(itertools.product(range(samples), repeat=size))
    return list(itertools.combinations(range(samples), size))


def _case(data: bytes) -> tuple[SampledOracles, FloatArray, FloatArray]:
    read, rest = split(data)
    inner = decoding.Reader(rest)
    n, m = inner.between(1, 2), inner.between(1, 2)
    h = decoding.data_block(inner, m, inner.between(2, MOST_SAMPLES), "")
    q = decoding.data_block(inner, m, inner.between(2, MOST_SAMPLES), "v")
    instance = Instance("bilevel", inner.block(n, 1, 4, decoding.ATOMS), h, q, inner.matrix(m, n), ((0,) * m,) * n)
    x = read.point(n)
    return SampledOracles(instance), x, instance.y_star(x) + read.point(m) / 4


TARGETS: dict[str, Callable[[SampledOracles, FloatArray, FloatArray], FloatArray]] = {
    "hypergradient": lambda o, x, y: o.instance.grad_phi(x),
    "grad_y_g": lambda o, x, y: o.grad_y_g(x, y),
    "grad_y_f": lambda o, x, y: o.grad_y_f(x, y),
    "surrogate": lambda o, x, y: _surrogate(o, x, y),
}
"""What an estimator may be unbiased for; ``surrogate`` is ``grad_x f - hess_xy g (hess_yy g)^-1 grad_y f`` at the y
given (the hypergradient there, if y solves the lower level)."""


def _surrogate(asked: SampledOracles, x: FloatArray, y: FloatArray) -> FloatArray:
    v = np.linalg.solve(asked.instance.hess_yy_g(x, y), asked.grad_y_f(x, y))
    return asked.grad_x_f(x, y) - asked.jvp_xy_g(x, y, v)


def _moments(
    function: Function, data: bytes, size: int, replacement: bool, chosen: Profile
) -> tuple[SampledOracles, FloatArray, FloatArray, FloatArray]:
    """Oracles, x, y and the estimates of all batches, shape (batches, dx or dy)."""
    asked, x, y = _case(data)
    most = size if replacement else min(size, asked.upper, asked.lower)
    pairs = list(itertools.product(*(batches(n, most, replacement) for n in (asked.upper, asked.lower))))
    found = []
    for upper, lower in pairs:
        where = f"batches {list(upper)} of f, {list(lower)} of g"
        raw = call(function, asked, x.copy(), y.copy(), upper, lower, where=where, limit=chosen)
        found.append(np.atleast_1d(np.asarray(raw, dtype=float)))
        vector(found[-1], len(found[0]), where)
    return asked, x, y, np.array(found)


def assert_unbiased(
    function: Function,
    target: str = "surrogate",
    size: int | Sequence[int] = (1, 2),
    replacement: bool = True,
    bias: float = 1e-9,
    profile_: Profile | str | None = None,
    seed: int | None = None,
) -> None:
    """``function(samples, x, y, upper_batch, lower_batch) -> estimate``: the mean over all batches is the target.

    Parameters
    ----------
    target : an entry of :data:`TARGETS`. ``size`` : of a batch, or several: what is right for single
        samples need not be a mean. ``replacement`` : whether a sample may come twice.
    bias : the largest relative bias that is claimed (truncated Neumann series have one).

    Raises
    ------
    BrokenContract : the mean over all batches, the target, and how far they are apart.
    """
    chosen = profile(profile_)
    chosen = replace(chosen, examples=max(6, chosen.examples // 2))

    sizes = (size,) if isinstance(size, int) else tuple(size)

    def judge(data: bytes) -> None:
        for one in sizes:
            _judge_mean(data, one)

    def _judge_mean(data: bytes, one: int) -> None:
        asked, x, y, estimates = _moments(function, data, one, replacement, chosen)
        mean, exact = estimates.mean(axis=0), TARGETS[target](asked, x, y)
        if mean.shape != exact.shape:
            raise BrokenContract("returns the wrong shape", "the estimate", f"{mean.shape}, not {exact.shape}")
        if not gap(mean, exact) <= bias:
            ratio = float(mean @ exact / (exact @ exact)) if exact @ exact else math.nan
            detail = (
                f"mean over {len(estimates)} pairs of batches of {one} {mean.tolist()}, {target} {exact.tolist()}: "
                f"relative bias {gap(mean, exact):.3g} > {bias:g}; {ratio:.4g} times the target along it"
            )
            raise BrokenContract("biased", f"x = {x.tolist()}, y = {y.tolist()}", detail)

    try_out("assert_unbiased", name_of(function), judge, _describe, chosen, seed)


def assert_variance(
    function: Function,
    bound: Callable[[SampledOracles, FloatArray, FloatArray, int], float],
    size: int = 1,
    replacement: bool = True,
    profile_: Profile | str | None = None,
    seed: int | None = None,
) -> None:
    """The variance over all batches, ``E |estimate - E estimate|^2``, is at most ``bound(samples, x, y, size)``.

    Raises
    ------
    BrokenContract : the variance and the bound.
    """
    chosen = profile(profile_)
    chosen = replace(chosen, examples=max(6, chosen.examples // 2))

    def judge(data: bytes) -> None:
        asked, x, y, estimates = _moments(function, data, size, replacement, chosen)
        variance = float(np.mean(np.sum((estimates - estimates.mean(axis=0)) ** 2, axis=1)))
        allowed = float(bound(asked, x, y, size))
        if not variance <= allowed * (1 + 1e-9) + 1e-15:
            detail = f"variance {variance:.6g} > {allowed:.6g} over {len(estimates)} pairs of batches of {size}"
            raise BrokenContract("variance too large", f"x = {x.tolist()}, y = {y.tolist()}", detail)

    try_out("assert_variance", name_of(function), judge, _describe, chosen, seed)


def assert_seeded(
    function: Function, profile_: Profile | str | None = None, seed: int | None = None, seeds: int = 3
) -> None:
    """``function(samples, x0, seed) -> iterates``: one seed gives one run, bit for bit.

    Raises
    ------
    BrokenContract : a seed that does not repeat.
    """
    chosen = profile(profile_)
    chosen = replace(chosen, examples=max(4, chosen.examples // 8))

    def judge(data: bytes) -> None:
        asked, x, _ = _case(data)
        for number in range(seeds):
            where = f"seed {number}"
            first, second = (
                np.asarray(call(function, asked, x.copy(), number, where=where, limit=chosen)) for _ in range(2)
            )
            if not np.array_equal(first, second):
                raise BrokenContract("a seed does not repeat", where, f"{first.tolist()}, then {second.tolist()}")

    try_out("assert_seeded", name_of(function), judge, _describe, chosen, seed)


def _describe(data: bytes) -> str:
    asked, x, y = _case(data)
    return text(f"x = {x.tolist()}, y = {y.tolist()}", asked.instance)
