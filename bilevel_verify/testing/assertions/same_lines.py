"""A solver against the pseudo-code of a named method: the first line that differs, and the slip that explains it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing.printed.cases import Example, example
from bilevel_verify.testing.printed.comparing import Difference, Handed, excess, first_difference, handed, reproduces
from bilevel_verify.testing.printed.library import Printed, printed
from bilevel_verify.testing.printed.running import Place, Transcript, transcribe
from bilevel_verify.testing.printed.slips import Slip, slips_of
from bilevel_verify.testing.trials.common import Function, name_of, text
from bilevel_verify.testing.trials.contracts import BrokenContract, Profile, call, hidden, profile
from bilevel_verify.testing.trials.trying import try_out

__tracebackhide__ = hidden

FloatArray = NDArray[np.float64]
EXPLAINED = 1e-7
"""How close a slip must come to what the solver did."""


def assert_named(
    function: Function,
    method: str,
    tolerance: float = 1e-8,
    profile_: Profile | str | None = None,
    seed: int | None = None,
    counts: bool = True,
) -> None:
    """``function(oracles, x0, parameters)`` does what the pseudo-code of a named method does, line for line.

    It may hand back what ``verify`` takes: iterates, epochs, ``(iterates, output)``, a ``bv.Trajectory`` (whose further
    sequences are compared, too), or a ``bv.Run``. ``parameters`` are the letters of the method (``bv.methods()``), its
    starts ``y0``, ``v0``, and ``noise``, the perturbations, used in order. What the paper does not count is asked for
    free: ``oracles.grad_L_star(x, lam)``, ``grad_phi(x)``, ``cubic_step(g, H, M)``, ``project(z)``,
    ``halfspace(z, c, b)``.

    Contracts: every iterate, the number of steps and epochs, the output; no kind of oracle is asked more often than by
    the pseudo-code (``counts=False``: not looked at).

    Raises
    ------
    BrokenContract : the first line that differs, both values, and the slip that would explain it. InputError : no such
        method.
    """
    chosen, source = profile(profile_), printed(method)
    example(method, bytes(0))  # wrong use is said before anything is tried
    assert source is not None
    shown: list[bytes] = []

    def judge(data: bytes) -> None:
        case = example(method, data)
        if case is not None:
            compare(function, source, *case, tolerance, counts, chosen)

    def describe(data: bytes) -> str:
        shown[:] = [data]
        case = example(method, data)
        return "" if case is None else _file(method, case[0])

    try:
        try_out(f"assert_same_iterates[{method}]", name_of(function), judge, describe, chosen, seed)
    except BrokenContract as failure:
        detail = failure.detail + (_explanation(function, method, shown[0], tolerance, chosen) if shown else "")
        found = BrokenContract(failure.contract, failure.where, detail, failure.problem_file, failure.who)
        raise found from failure.__cause__


def compare(
    function: Function,
    source: Printed,
    case: Example,
    whole: Transcript,
    tolerance: float,
    counts: bool,
    chosen: Profile,
) -> None:
    """One example.

    Raises
    ------
    BrokenContract : a difference, or any misbehaviour.
    """
    mine = _handed(function, case, whole, chosen)
    found = first_difference(whole, mine, tolerance)
    if found is None and counts:
        found = excess(whole, mine, tolerance)
    if found is not None:
        raise _broken(source, found)


def _handed(function: Function, case: Example, whole: Transcript, chosen: Profile) -> Handed:
    asked = case.oracles(max(4 * len(whole.log), 200))
    letters = {name: _copied(value) for name, value in case.parameters.items()}
    raw = call(function, asked, case.x0.copy(), letters, where="the run", limit=chosen)
    return handed(raw, case.x0, asked.log, case.instance.kind == "minimax")


def _copied(value: object) -> object:
    return value.copy() if isinstance(value, np.ndarray) else list(value) if isinstance(value, list) else value


def _broken(source: Printed, found: Difference) -> BrokenContract:
    line = source.text(found.place.number, found.place.inside)
    size = f", by {found.size:.2g}" if math.isfinite(found.size) else ""
    contract = f"{found.kind} at {found.place} of {source.method}"
    detail = f"got {found.got}, the line gives {found.wanted}{size}; {source.source} has: {line}"
    return BrokenContract(contract, found.what, detail)


def _file(method: str, case: Example) -> str:
    parts = [f"x0 = {case.x0.tolist()}"]
    parts += [f"{k} = {v.tolist() if isinstance(v, np.ndarray) else v}" for k, v in case.parameters.items()]
    return text(f"{method}: {', '.join(parts)}", case.instance)


MOST = 160
"""Slips that are tried to explain a difference, those of the nearest lines first."""
WITNESSES = 3
"""Examples on which a slip must do what the solver does before it is named."""


def _explanation(function: Function, method: str, data: bytes, tolerance: float, chosen: Profile) -> str:
    """``; what it does is what this slip does: ...``, or an empty text."""
    more = (bytes((31 * i + 7 * n) % 251 for i in range(len(data))) for n in range(1, 2 * WITNESSES))
    seen: list[tuple[Example, Handed]] = []
    found: Difference | None = None
    calls = False
    for place, candidate in enumerate((data, *more)):
        case = example(method, candidate)
        if case is None or len(seen) >= WITNESSES:
            continue
        try:
            mine = _handed(function, *case, chosen)
        except BrokenContract:
            return ""
        seen.append((case[0], mine))
        if place == 0:
            found = first_difference(case[1], mine, tolerance)
            calls = found is None
            found = excess(case[1], mine, tolerance) if found is None else found
    slip = None if found is None else explaining(method, found.place, seen, calls)
    return "" if slip is None else f"; what it does is what this slip does: {slip}"


def explaining(method: str, place: Place, seen: Sequence[tuple[Example, Handed]], calls: bool = False) -> Slip | None:
    """The slip of the catalogue that gives the solver's iterates and outputs; those of the line named come first."""

    def same(slip: Slip, case: Example, mine: Handed) -> bool:
        other = transcribe(slip.printed, case.oracles(), case.x0, case.parameters, statements=2000)
        return reproduces(other, mine, EXPLAINED, calls)

    def far(slip: Slip) -> tuple[bool, int]:
        return slip.place.inside != place.inside, abs(slip.place.number - place.number)

    near = sorted(slips_of(method), key=far)[:MOST]
    return next((slip for slip in near if all(same(slip, *one) for one in seen)), None)
