"""Metamorphic relations: the same problem written differently must give the same answer, rewritten.

Each relation is a change of variables ``x = T x'``, ``y = S y'`` and of units, put around oracles that are given; no
exact solution is needed, so that they work on any problem.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import InputError
from bilevel_verify.testing.instances import decoding
from bilevel_verify.testing.instances.counting import CountedOracles
from bilevel_verify.testing.instances.families import Instance
from bilevel_verify.testing.instances.rewriting import NotRewritten, Rewriting, RewrittenOracles
from bilevel_verify.testing.trials.common import KINDS, name_of, split, text, two_level
from bilevel_verify.testing.trials.contracts import BrokenContract, Profile, call, hidden, profile, rows, vector
from bilevel_verify.testing.trials.trying import try_out

__tracebackhide__ = hidden

FloatArray = NDArray[np.float64]
Draw = Callable[[decoding.Reader, int, int], Rewriting]
SPELLING = "min and max spelling"
STEPS = 12
"""Steps of a solver that is compared with itself."""


def _reflection(read: decoding.Reader, n: int) -> FloatArray:
    m = np.array(read.vector(n, 2), dtype=float) if n > 1 else np.ones(n)
    length = float(m @ m)
    found: FloatArray = np.eye(n) - 2 * np.outer(m, m) / length if length else np.eye(n)[::-1].copy()
    return found


def _units(read: decoding.Reader, n: int, m: int) -> Rewriting:
    scale = 2.0 ** read.between(1, 3)
    return Rewriting(np.eye(n) * scale, np.eye(m) / scale, a=2.0 ** read.signed(2), b=2.0 ** read.signed(2))


def _permuted(read: decoding.Reader, n: int, m: int) -> Rewriting:
    return Rewriting(np.roll(np.eye(n), 1 + read.upto(2), axis=0), np.roll(np.eye(m), 1 + read.upto(2), axis=0))


def _duplicated(read: decoding.Reader, n: int, m: int) -> Rewriting:
    return Rewriting(np.hstack([np.eye(n), np.eye(n)]), np.eye(m))


RELATIONS: Mapping[str, Draw] = {
    "unit rescaling": _units,
    "rotation": lambda read, n, m: Rewriting(_reflection(read, n), _reflection(read, m)),
    "shift of f and g": lambda read, n, m: Rewriting(
        np.eye(n), np.eye(m), c=5.0 + read.upto(90), d=-3.0 - read.upto(9)
    ),
    "duplicated variables": _duplicated,
    "permuted coordinates": _permuted,
    SPELLING: lambda read, n, m: Rewriting(np.eye(n), np.eye(m), bilevel=True),
}


def relations_for(kinds: Sequence[str]) -> tuple[str, ...]:
    """The relations that make sense for these kinds of problem: two spellings need both of them."""
    return tuple(name for name in RELATIONS if name != SPELLING or set(kinds) == set(KINDS))


def assert_metamorphic(
    function: Callable[..., object],
    relation: str,
    tolerance: float = 1e-5,
    profile_: Profile | str | None = None,
    budget: int = 20_000,
    seed: int | None = None,
    protocol: str = "hypergradient",
    kinds: Sequence[str] = KINDS,
) -> None:
    """The answer on the rewritten problem is the rewritten answer.

    Parameters
    ----------
    function : ``hypergradient``: ``(oracles, x) -> gradient`` answers ``a T^T grad(T x')``; ``solver``:
        ``(oracles, x0, steps) -> iterates`` on one level satisfies ``T x'_k = x_k`` for every k (steps that scale
        with 1/L and tests that are no absolute numbers do).

    Raises
    ------
    BrokenContract : the two answers differ; InputError : no such relation or protocol.
    """
    if relation not in RELATIONS:
        raise InputError(f"no relation {relation!r}; there are {', '.join(RELATIONS)}")
    if protocol not in ("hypergradient", "solver") or (protocol, relation) == ("solver", SPELLING):
        raise InputError(f"no {relation} for protocol {protocol!r}; there are 'hypergradient' and 'solver'")
    chosen = profile(profile_)

    def case(data: bytes) -> tuple[Instance, Rewriting, FloatArray]:
        read, rest = split(data)
        if protocol == "solver":
            instance = decoding.single_level(rest)
        else:
            instance = two_level(rest, ("minimax",) if relation == SPELLING else kinds)
        how = RELATIONS[relation](read, instance.dx, instance.dy)
        return instance, how, read.point(how.T.shape[1])

    def judge(data: bytes) -> None:
        instance, how, x = case(data)
        compare = _compare_iterates if protocol == "solver" else _compare_gradients
        plain = CountedOracles(instance, budget)
        pair = (plain, RewrittenOracles(CountedOracles(instance, budget), how))
        try:
            compare(function, relation, pair, x, tolerance, chosen)
        except BrokenContract as failure:
            if not isinstance(failure.__cause__, NotRewritten):  # it reads the instance itself: it cannot be asked
                raise

    def describe(data: bytes) -> str:
        instance, how, x = case(data)
        changes = f"x = T x', T = {how.T.tolist()}, y = S y', S = {how.S.tolist()}, f' = {how.a} f + {how.c}"
        spelled = f"{changes}, g' = {how.b} g + {how.d}" if instance.kind == "bilevel" else changes
        return text(f"x' = {x.tolist()}, {spelled}", instance)

    try_out(f"assert_metamorphic[{relation}]", name_of(function), judge, describe, chosen, seed)


Pair = tuple[CountedOracles, RewrittenOracles]


def _compare_gradients(
    function: Callable[..., object], relation: str, pair: Pair, x: FloatArray, tolerance: float, chosen: Profile
) -> None:
    plain, rewritten = pair
    how, where = rewritten.how, f"x' = {x.tolist()}"
    there = how.T @ x
    raw = call(function, plain, there.copy(), where=f"x = {there.tolist()}", limit=chosen)
    expected = how.a * (how.T.T @ vector(raw, plain.dx, where))
    got = vector(call(function, rewritten, x.copy(), where=where, limit=chosen), len(x), where)
    difference = float(np.linalg.norm(got - expected) / (1 + np.linalg.norm(expected)))
    if not difference <= tolerance:
        detail = f"rewritten {got.tolist()}, original {expected.tolist()}, relative difference {difference:.2g}"
        raise BrokenContract(f"changes under {relation}", where, detail)


def _compare_iterates(
    function: Callable[..., object], relation: str, pair: Pair, x: FloatArray, tolerance: float, chosen: Profile
) -> None:
    plain, rewritten = pair
    T = rewritten.how.T
    first, second = (
        _iterates(call(function, asked, start.copy(), STEPS, where=f"x0 = {start.tolist()}", limit=chosen), asked.dx)
        for asked, start in ((plain, T @ x), (rewritten, x))
    )
    for k, (mine, theirs) in enumerate(zip(second @ T.T, first)):
        difference = float(np.linalg.norm(mine - theirs) / (1 + np.linalg.norm(theirs)))
        if not difference <= tolerance:
            detail = f"rewritten {mine.tolist()}, original {theirs.tolist()}, relative difference {difference:.2g}"
            raise BrokenContract(f"changes under {relation}", f"k = {k}, x'0 = {x.tolist()}", detail)


def _iterates(raw: object, length: int) -> FloatArray:
    return rows(raw[0] if isinstance(raw, tuple) and len(raw) == 2 else raw, STEPS + 1, length, f"{STEPS} steps")
