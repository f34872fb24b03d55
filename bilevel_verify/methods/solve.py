"""The front of the room: a method by name, with checked parameters, starts and budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bilevel_verify.errors import ParameterError
from bilevel_verify.methods.engine import (
    KernelStepper,
    Setup,
    needed_oracles,
    oracles_of,
    working_precision,
)
from bilevel_verify.methods.interpreted import InterpretedFirst, may_be_short
from bilevel_verify.methods.letters import resolve_budget, resolve_letters, resolve_noise, resolve_start
from bilevel_verify.methods.memory import Arithmetic
from bilevel_verify.methods.named import variant_of
from bilevel_verify.methods.registry import METHODS, Method, method_named
from bilevel_verify.methods.repeated import keep, known, request
from bilevel_verify.methods.run import Run
from bilevel_verify.methods.streams import RunStream
from bilevel_verify.oracles.compiling import is_wanted
from bilevel_verify.problems.problem import Problem

BUDGET = 10**6
"""Most oracle calls where nobody says."""


def find_method(method: str | Method, parameters: Mapping[str, object] | None = None) -> Method:
    """A method by name (``name`` or ``name:variant``).

    ``gradient-descent`` with the letters B and K means the restart frame.

    Raises
    ------
    InputError : no such method or variant.
    """
    if isinstance(method, Method):
        return method
    name, _, variant = method.partition(":")
    found = method_named(name)
    if name == "gradient-descent" and parameters is not None and {"B", "K"} <= set(parameters):
        found = METHODS["gradient-descent-restarted"]
    return variant_of(found, variant) if variant else found


def stream(
    problem: Problem,
    method: str | Method,
    parameters: Mapping[str, Any],
    x0: Any = None,
    y0: Any = None,
    v0: Any = None,
    noise: Any = None,
    budget: Any = BUDGET,
    seed: int = 0,
    record: str = "all",
    compiled: bool | None = None,
    eps: Any = None,
    digits: int | None = None,
) -> RunStream:
    """Start a run and deliver its trace block by block; the parameters are those of :func:`run_method`."""
    found = find_method(method, parameters)
    _check_request(problem, found, seed, record)
    arithmetic = _arithmetic(compiled, digits)
    with working_precision(arithmetic):
        number = arithmetic.number
        letters = resolve_letters(found, parameters, eps, number)
        given = {"x0": x0, "y0": y0, "v0": v0}
        starts = {name: resolve_start(problem, name, value, number) for name, value in given.items()}
        noisy = resolve_noise(problem, noise, number)
    if found.noisy and noisy is None and not {"r", "sigma"} & set(letters):
        raise ParameterError(f"{found.name} needs the radius 'r' of its perturbations, or explicit ones in noise=")
    setup = Setup(
        problem=problem,
        method=found,
        letters=letters,
        starts={**starts, "v_given": [1] if v0 is not None else []},
        noise=noisy,
        budget=resolve_budget(budget),
        seed=seed,
        record=record,
        arithmetic=arithmetic,
        eps=None if eps is None else float(eps),
        reported_name=method if isinstance(method, str) else found.name,
        insisted=compiled is True,
    )
    make = found.runner or _kernel_stepper
    if compiled is None and arithmetic.form == "compiled" and may_be_short(setup):
        return RunStream(setup, lambda begun: InterpretedFirst(begun, make))
    return RunStream(setup, make)


def check_kind(problem: Problem, method: Method) -> None:
    """Refuse a problem of another kind.

    Raises
    ------
    ParameterError : names the kinds that the method is for.
    """
    if problem.kind not in method.kinds:
        wanted = " or ".join(method.kinds)
        raise ParameterError(f"{method.name} is for {wanted} problems, and this one is {problem.kind}")


def _check_request(problem: Problem, method: Method, seed: object, record: str) -> None:
    """Refuse what no run can start from.

    Raises
    ------
    ParameterError : a problem of another kind, an unknown way to record, a seed that is not a whole number >= 0.
    """
    check_kind(problem, method)
    if record not in ("all", "thin", "last"):
        raise ParameterError(f"record is 'all', 'thin' or 'last', not {record!r}")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ParameterError(f"seed must be an integer >= 0, not {seed!r}")


def run_method(
    problem: Problem,
    method: str | Method,
    parameters: Mapping[str, object],
    x0: object = None,
    y0: object = None,
    v0: object = None,
    noise: object = None,
    budget: object = BUDGET,
    seed: int = 0,
    record: str = "all",
    compiled: bool | None = None,
    eps: object = None,
    digits: int | None = None,
) -> Run:
    """Run a method.

    Parameters
    ----------
    problem : of a kind that the method is for.
    method : a name of ``METHODS`` (``rahgd``, or ``rahgd:literal`` for a variant), or a :class:`Method` (``compose``).
    parameters : letter -> number; further letters are ignored, missing ones named in the error.
    x0, y0, v0 : starts, shapes (dx,), (dy,), (dy,); y0 and v0 default to 0, x0 to the start the problem suggests.
    noise : explicit perturbations, shape (n, dx), used in order and again from the beginning.
    budget : most oracle calls of all kinds together, or ``{"calls": ..., "iterations": ...}``.
    seed : of the perturbations.
    record : ``all`` keeps every row up to 10^5, then a thinned tail; ``thin`` thins from 10^3 rows on, ``last`` keeps
        the end alone.
    compiled : True: machine code (plain Python where there is no compiler); False: plain Python; None: a run that turns
        out to be short is plain Python, any other machine code. The result is the same, bit for bit.
    eps : tolerance; used for the letter ``eps`` of methods that have it, unless ``parameters`` gives one.
    digits : run in this many decimal digits (plain Python on mpmath numbers; the trace then holds such numbers).

    Raises
    ------
    ParameterError : one line that names what to change.
    """
    usual = y0 is None and v0 is None and noise is None and digits is None
    key = request(problem, method, parameters, budget, seed, record, compiled, eps) if usual else None
    again = known(key)
    run = None if again is None else again.run(x0)
    if run is not None:
        return run
    begun = stream(problem, method, parameters, x0, y0, v0, noise, budget, seed, record, compiled, eps, digits)
    run = begun.to_the_end()
    keep(key, begun)
    return run


def _arithmetic(compiled: bool | None, digits: object) -> Arithmetic:
    if digits is not None:
        if isinstance(digits, bool) or not isinstance(digits, int) or not 15 <= digits <= 100_000:
            raise ParameterError(f"digits must be an integer from 15 to 100000, not {digits!r}")
        return Arithmetic("multiprecision", digits)
    return Arithmetic("compiled" if compiled is not False and is_wanted() else "plain")


def _kernel_stepper(setup: Setup) -> KernelStepper:
    """In plain Python where the oracles of a run do not exist as machine code (they may be too large)."""
    needed = sorted(needed_oracles(setup.method, setup.letters))
    if setup.arithmetic.form == "compiled" and not oracles_of(setup.problem).can_compile(needed):
        setup = replace(setup, arithmetic=Arithmetic("plain"))
    return KernelStepper(setup)
