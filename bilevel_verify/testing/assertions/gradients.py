"""Assertions on hypergradients and hyper-Hessians: the exact one is known, and what a wrong one looks like."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing.assertions.diagnosis import looks_like
from bilevel_verify.testing.instances.counting import CountedOracles, forget
from bilevel_verify.testing.instances.families import Instance
from bilevel_verify.testing.trials.common import KINDS, Function, gap, name_of, split, text, two_level
from bilevel_verify.testing.trials.contracts import BrokenContract, Profile, call, hidden, numbers, profile, vector
from bilevel_verify.testing.trials.trying import try_out

__tracebackhide__ = hidden

FloatArray = NDArray[np.float64]


def assert_hypergradient(
    function: Function,
    tolerance: float = 1e-6,
    profile_: Profile | str | None = None,
    budget: int = 20_000,
    seed: int | None = None,
    kinds: Sequence[str] = KINDS,
    most: int = 3,
) -> None:
    """``function(oracles, x) -> gradient`` of phi(x) = f(x, y*(x)), for bilevel and minimax problems.

    Contracts: shape (dx,), finite, input unchanged, within the budget, ``|got - exact| <= tolerance (1 + |exact|)``,
    and the same answer when the same point is asked again after another one.

    Parameters
    ----------
    function : asks ``oracles`` for gradients and products; ``oracles.mu``, ``oracles.L`` are the lower level's.
    kinds : which kinds of problem it is for. ``most`` : largest dimension (each pair of dimensions compiles once).

    Raises
    ------
    BrokenContract : with a diagnosis where the wrong answer is a known one (sign, factor, missing part ...).
    """
    chosen = profile(profile_)

    def places(data: bytes) -> tuple[Instance, list[FloatArray]]:
        read, rest = split(data)
        instance = two_level(rest, kinds, most=most)
        return instance, [read.point(instance.dx), read.point(instance.dx)]

    def judge(data: bytes) -> None:
        instance, (first, second) = places(data)
        asked = CountedOracles(instance, budget)
        for number, x in enumerate((first, second, first), 1):
            where = f"call {number}, x = {x.tolist()}"
            forget(asked)
            got = vector(call(function, asked, x.copy(), where=where, limit=chosen), instance.dx, where)
            exact = instance.grad_phi(x)
            if not gap(got, exact) <= tolerance:
                before = None if number == 1 else first if number == 2 else second
                hint = looks_like(instance, x, got, before, asked.log)
                detail = f"got {got.tolist()}, exact {exact.tolist()}, error / (1 + |exact|) = {gap(got, exact):.2g}"
                raise BrokenContract("wrong hypergradient", where, f"{detail} > {tolerance:g}{hint}")

    def describe(data: bytes) -> str:
        instance, points = places(data)
        return text(f"x = {[p.tolist() for p in points]}", instance)

    try_out("assert_hypergradient", name_of(function), judge, describe, chosen, seed, shapes=True)


def hyper_hessian(instance: Instance, x: FloatArray, h: float = 1e-3) -> FloatArray:
    """The hyper-Hessian from the exact hypergradient: differences of sixth order, relative error about 1e-11."""
    weights = ((1, 45.0), (2, -9.0), (3, 1.0))
    columns = []
    for unit in np.eye(instance.dx):
        total = sum(w * (instance.grad_phi(x + k * h * unit) - instance.grad_phi(x - k * h * unit)) for k, w in weights)
        columns.append(total / (60 * h))
    found: FloatArray = np.array(columns)
    return (found + found.T) / 2


def assert_hyper_hessian(
    function: Function,
    tolerance: float = 1e-5,
    profile_: Profile | str | None = None,
    budget: int = 20_000,
    seed: int | None = None,
    kinds: Sequence[str] = KINDS,
) -> None:
    """``function(oracles, x) -> matrix`` of shape (dx, dx): the Hessian of phi, by whatever derivatives of the solver.

    ``oracles.instance.grad_phi(x)`` is the exact hypergradient, for functions that differentiate one.

    Raises
    ------
    BrokenContract : as above; an identically zero or unsymmetric answer is named.
    """
    chosen = profile(profile_)

    def case(data: bytes) -> tuple[Instance, FloatArray]:
        read, rest = split(data)
        instance = two_level(rest, kinds)
        return instance, read.point(instance.dx)

    def judge(data: bytes) -> None:
        instance, x = case(data)
        where, asked = f"x = {x.tolist()}", CountedOracles(instance, budget)
        got = numbers(call(function, asked, x.copy(), where=where, limit=chosen), (instance.dx, instance.dx), where)
        exact = hyper_hessian(instance, x)
        if not gap(got, exact) <= tolerance:
            known = {
                "nothing at all (identically zero)": 0 * exact,
                "the Hessian of f in x alone": _direct(instance, x),
            }
            like = [name for name, value in known.items() if gap(got, value) <= 1e-6]
            shown = np.round(exact, 9).tolist()
            detail = f"got {got.tolist()}, exact {shown}, error / (1 + |exact|) = {gap(got, exact):.2g}"
            hint = f"; looks like {' or '.join(like)}" if like else ""
            raise BrokenContract("wrong hyper-Hessian", where, detail + hint)

    def describe(data: bytes) -> str:
        instance, x = case(data)
        return text(f"x = {x.tolist()}", instance)

    try_out("assert_hyper_hessian", name_of(function), judge, describe, chosen, seed)


def _direct(instance: Instance, x: FloatArray) -> FloatArray:
    return instance.hess_f(x, instance.y_star(x))[0]
