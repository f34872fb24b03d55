"""A whole solver as a black box, ``(oracles, x0, eps) -> x`` or ``(x, y)``: what can be asked without its paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing.assertions.metamorphic import RELATIONS, SPELLING
from bilevel_verify.testing.instances import decoding
from bilevel_verify.testing.instances.counting import CountedOracles
from bilevel_verify.testing.instances.families import Instance
from bilevel_verify.testing.instances.formulas import ROWS
from bilevel_verify.testing.instances.rewriting import NotRewritten, Rewriting, RewrittenOracles
from bilevel_verify.testing.trials.common import KINDS, Function, name_of, split, text, two_level
from bilevel_verify.testing.trials.contracts import BrokenContract, Profile, call, hidden, profile, vector
from bilevel_verify.testing.trials.trying import try_out

__tracebackhide__ = hidden

FloatArray = NDArray[np.float64]
SHARE = 10
"""One example of a whole run for so many of the profile: they are slow."""
MORE = 3.0
"""Factor by which a run on the same problem, written differently, may ask more often."""
SPARE = 200
SAME_PROBLEM = ("shift of f and g", "rotation", "permuted coordinates")
"""Relations after which nothing is harder."""
HALVINGS = 3


@dataclass(frozen=True)
class Ran:
    """One run: the output, and how often the oracles were asked."""

    x: FloatArray
    calls: int


def _run(function: Function, asked: Any, x0: FloatArray, eps: float, where: str, chosen: Profile) -> Ran:
    raw = call(function, asked, x0.copy(), eps, where=where, limit=chosen)
    first = raw[0] if isinstance(raw, tuple) and len(raw) == 2 else raw
    return Ran(vector(first, asked.dx, f"{where}, output"), sum(asked.counts.values()))


def _few(chosen: Profile) -> Profile:
    return replace(chosen, examples=max(4, chosen.examples // SHARE))


def _case(data: bytes, kinds: Sequence[str]) -> tuple[Instance, FloatArray]:
    read, rest = split(data)
    found = two_level(rest, kinds, most=2, bounded=True)
    return found, read.point(found.dx) + 1.0


def _try(
    name: str,
    function: Function,
    kinds: Sequence[str],
    judge: Callable[[Instance, FloatArray, bytes, Profile], None],
    given: Profile | str | None,
    seed: int | None,
    more: Callable[[bytes], str] = lambda data: "",
) -> None:
    chosen = _few(profile(given))

    def asked(data: bytes) -> None:
        judge(*_case(data, kinds), data, chosen)

    def describe(data: bytes) -> str:
        instance, start = _case(data, kinds)
        return text(f"x0 = {start.tolist()}{more(data)}", instance)

    try_out(name, name_of(function), asked, describe, chosen, seed)


def assert_invariant(
    function: Function,
    relation: str,
    eps: float = 5e-2,
    profile_: Profile | str | None = None,
    budget: int = 200_000,
    seed: int | None = None,
    kinds: Sequence[str] = KINDS,
) -> None:
    """``function(oracles, x0, eps) -> x`` solves a problem however it is written: units, shift, rotation, copies.

    Contracts: the output is stationary for the rewritten problem, ``|grad phi'(x')| <= eps``; where nothing is harder
    (a shift, a rotation, another order) it asks at most three times as often. ``"duplicated data"``: every sample
    twice, the same means, the same output. A solver that reads ``oracles.instance`` is asked the last one only.

    Raises
    ------
    BrokenContract : the output is not stationary, or costs more, on the rewritten problem.
    """

    def drawn(data: bytes, instance: Instance) -> Rewriting:
        return RELATIONS[relation](decoding.Reader(data[12:]), instance.dx, instance.dy)

    def judge(instance: Instance, start: FloatArray, data: bytes, chosen: Profile) -> None:
        if relation == DUPLICATED:
            _same_output(function, data, eps, budget, chosen)
            return
        how = drawn(data, instance)
        there: FloatArray = np.asarray(np.linalg.lstsq(how.T, start, rcond=None)[0], dtype=np.float64)
        other = RewrittenOracles(CountedOracles(instance, budget), how)
        try:
            ran = _run(function, other, there, eps, "the rewritten problem", chosen)
        except BrokenContract as failure:
            if isinstance(failure.__cause__, NotRewritten):
                return
            raise
        size = float(np.linalg.norm(how.a * (how.T.T @ instance.grad_phi(how.T @ ran.x))))
        if not size <= eps:
            detail = f"|grad phi'| = {size:.3g} > eps = {eps:g}"
            raise BrokenContract(f"not stationary after {relation}", f"x' = {ran.x.tolist()}", detail)
        if relation in SAME_PROBLEM:
            plain = _run(function, CountedOracles(instance, budget), start, eps, "the run", chosen)
            _not_dearer(relation, ran, plain)

    def more(data: bytes) -> str:
        if relation == DUPLICATED:
            return ""
        how = drawn(data, _case(data, kinds)[0])
        return f", x = T x', T = {how.T.tolist()}, y = S y', S = {how.S.tolist()}, f' = {how.a} f + {how.c}"

    _try(f"assert_invariant[{relation}]", function, kinds, judge, profile_, seed, more)


DUPLICATED = "duplicated data"
INVARIANCES = (*(relation for relation in RELATIONS if relation != SPELLING), DUPLICATED)
"""What :func:`assert_invariant` can be asked."""


def _not_dearer(relation: str, ran: Ran, plain: Ran) -> None:
    if not ran.calls <= MORE * plain.calls + SPARE:
        detail = f"{ran.calls} calls, {plain.calls} without it: more than {MORE:g} times and {SPARE}"
        raise BrokenContract(f"dearer after {relation}", "the run", detail)


def _same_output(function: Function, data: bytes, eps: float, budget: int, chosen: Profile) -> None:
    """Means over every sample once, and twice."""
    read, rest = split(data)
    once = decoding.data_sum(rest, most=2, samples=ROWS // 2)  # twice as many have one formula, too
    h: Any = once.lower
    twice = replace(once, h=replace(h, rows=h.rows + h.rows))
    start = read.point(once.dx) + 1.0
    first, second = (
        _run(function, CountedOracles(i, budget), start, eps, where, chosen)
        for i, where in ((once, "the run"), (twice, "every sample twice"))
    )
    apart = float(np.linalg.norm(once.grad_phi(first.x) - once.grad_phi(second.x)))
    if not apart <= 2 * eps:
        detail = f"{second.x.tolist()}, not {first.x.tolist()}: gradients of phi differ by {apart:.3g} > {2 * eps:g}"
        raise BrokenContract("another output when every sample stands twice", "the output", detail)


def assert_stopping(
    function: Function,
    eps: float = 5e-2,
    profile_: Profile | str | None = None,
    budget: int = 200_000,
    seed: int | None = None,
    kinds: Sequence[str] = KINDS,
) -> None:
    """``function(oracles, x0, eps) -> x`` stops where it should: the same again, never later for a larger eps.

    Contracts: two runs give the same output; a start whose gradient is below ``eps/4`` costs no more than the run that
    found it, and phi does not rise there by more than rounding and ``eps`` explain; ten times the tolerance costs no
    more calls.

    Raises
    ------
    BrokenContract : as above.
    """

    def judge(instance: Instance, start: FloatArray, data: bytes, chosen: Profile) -> None:
        def run(x0: FloatArray, tolerance: float, where: str) -> Ran:
            return _run(function, CountedOracles(instance, budget), x0, tolerance, where, chosen)

        first, again = run(start, eps / 4, "the run"), run(start, eps / 4, "the run again")
        if not np.allclose(first.x, again.x, rtol=1e-9, atol=1e-9):
            raise BrokenContract("another output the second time", "the output", f"{again.x}, then {first.x}")
        wide = run(start, 10 * eps, "ten times the tolerance")
        if wide.calls > first.calls:
            detail = f"{wide.calls} calls for eps = {10 * eps:g}, {first.calls} for {eps / 4:g}"
            raise BrokenContract("asks more often for a larger tolerance", "the run", detail)
        warm = run(first.x, eps, "a start that is stationary")
        if warm.calls > first.calls:
            detail = f"{warm.calls} calls from its own output, {first.calls} from far away"
            raise BrokenContract("does not see that its start is stationary", f"x0 = {first.x.tolist()}", detail)
        rise = instance.phi(warm.x) - instance.phi(first.x)
        if not rise <= eps * (1 + float(np.linalg.norm(warm.x - first.x))):
            detail = f"phi rises by {rise:.3g}, from {first.x.tolist()} to {warm.x.tolist()}"
            raise BrokenContract("leaves a stationary start uphill", "the output", detail)

    _try("assert_stopping", function, kinds, judge, profile_, seed)


def assert_rate(
    function: Function,
    exponent: float = 2.0,
    profile_: Profile | str | None = None,
    budget: int = 1_000_000,
    seed: int | None = None,
    slack: float = 0.3,
    kinds: Sequence[str] = KINDS,
) -> None:
    """``function(oracles, x0, eps) -> x`` asks ``O(eps^-exponent)`` times on a family that shows the rate of descent.

    The family is a ramp of slope 2 eps over an amplifying or displaced lower level: gradient descent needs about
    ``1/eps^2`` steps there (exponent 2), restarted accelerated methods ``eps^-1.75``. The slope of the calls over the
    last halving of eps may exceed the exponent by ``slack``.

    Raises
    ------
    BrokenContract : calls grow faster; the output is not stationary.
    """
    chosen = profile(profile_)
    family = _ramps(kinds)

    def judge(data: bytes) -> None:
        lift = family[data[0] % len(family)]
        calls = []
        tolerances = [0.1 / 2**i for i in range(HALVINGS)]
        for eps in tolerances:
            instance, start = _ramp(lift, eps)
            ran = _run(function, CountedOracles(instance, budget), start, eps, f"eps = {eps:g}", chosen)
            size = float(np.linalg.norm(instance.grad_phi(ran.x)))
            if not size <= eps:
                raise BrokenContract("output is not stationary", f"eps = {eps:g}", f"|grad phi| = {size:.3g} > {eps:g}")
            calls.append(max(ran.calls, 1))
        slope = math.log2(calls[-1] / calls[-2])
        if not slope <= exponent + slack and calls[-1] > SPARE:
            detail = f"calls {calls} for eps {tolerances}: slope {slope:.2f} > {exponent:g} + {slack:g}"
            raise BrokenContract("calls grow faster than promised", f"{lift}", detail)

    def describe(data: bytes) -> str:
        instance, start = _ramp(family[data[0] % len(family)], 0.1 / 2 ** (HALVINGS - 1))
        return text(f"x0 = {start.tolist()}, eps = {0.1 / 2 ** (HALVINGS - 1):g}", instance)

    few = replace(chosen, examples=len(family), simplify=0)  # the family is all there is
    try_out("assert_rate", name_of(function), judge, describe, few, seed)


def _ramps(kinds: Sequence[str]) -> tuple[str, ...]:
    lifts = {"amplifier": "bilevel", "minimax": "minimax"}
    return tuple(lift for lift, kind in lifts.items() if kind in kinds)


def _ramp(lift: str, eps: float) -> tuple[Instance, FloatArray]:
    """The ramp of slope 2 eps from the drop 1/2, lifted."""
    step = max(1, round(1 / (10 * eps)))
    data = bytes([step - 1, 0])  # which is forced by the first byte of the function's own draw
    found = decoding.hard(bytes([0, *data]), kind=lift)
    assert found.start is not None
    return found, np.array(found.start)


def assert_black_box(
    function: Function,
    profile_: Profile | str | None = None,
    seed: int | None = None,
    kinds: Sequence[str] = KINDS,
    exponent: float | None = None,
) -> None:
    """All of this module, one after the other; the rate only if an exponent is promised.

    Raises
    ------
    BrokenContract : the first contract that is broken.
    """
    for relation in INVARIANCES:
        if relation != DUPLICATED or "bilevel" in kinds:
            assert_invariant(function, relation, profile_=profile_, seed=seed, kinds=kinds)
    assert_stopping(function, profile_=profile_, seed=seed, kinds=kinds)
    if exponent is not None:
        assert_rate(function, exponent, profile_=profile_, seed=seed, kinds=kinds)
