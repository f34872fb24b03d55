"""Runs of an instance: made once, kept for the other statements about the same method, and repeated in many digits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.checks.claims.recorded import RecordedRun
from bilevel_verify.checks.instances.case import Case
from bilevel_verify.checks.solvers.running import LITERAL, letters_of_method, make_run, method_name, restarts_of
from bilevel_verify.methods.run import Run
from bilevel_verify.methods.streams import RunStream

ROWS_KEPT = 200_000
"""Rows of all runs that are kept, together."""
_RUNS: dict[str, Run] = {}


def stream_of(case: Case) -> RunStream | None:
    """The run of a case block by block; None where the method does not deliver blocks (literal steps, callables)."""
    from bilevel_verify.methods import stream

    name = None if callable(case.request.method) else method_name(case.request.method, case.request.statement)
    if name is None or name == LITERAL or case.digits is not None:
        return None
    given = {key: value for key, value in {**case.request.options, "eps": case.eps}.items() if value is not None}
    return stream(case.problem, name, dict(case.resolved.parameters), case.instance.start, **given)


def run_of(case: Case, **more: object) -> Run:
    """The run of a case; runs are kept for the other statements about the same method on the same instance.

    Parameters
    ----------
    more : options that win over those of the request (``seed``, ``digits``, ``budget`` ...).
    """
    if callable(case.request.method):
        return run_from(case, case.instance.start, **more)
    key = key_of(case, **more)
    if key in _RUNS:
        _RUNS[key] = _RUNS.pop(key)  # the run that was not asked for longest goes first
        return _RUNS[key]
    run = _RUNS[key] = run_from(case, case.instance.start, **more)
    while len(_RUNS) > 1 and sum(len(one.trace) + 1 for one in _RUNS.values()) > ROWS_KEPT:
        _RUNS.pop(next(iter(_RUNS)))
    return run


def run_from(case: Case, start: NDArray[np.float64], **more: object) -> Run:
    """The run of a case from a start, made anew."""
    request = case.request
    parameters, options = _asked(case, more)
    return make_run(case.problem, request.card, request.statement, request.method, parameters, start, **options)


def key_of(case: Case, **more: object) -> str:
    """What tells the run of a case by a method of the package, or by printed steps, from others."""
    request = case.request
    parameters, options = _asked(case, more)
    name = method_name(request.method, request.statement)
    what = request.statement.algorithm if name == "literal" else name
    letters = letters_of_method(name) or set(parameters)
    numbers = sorted((n, str(p)) for n, p in parameters.items() if n in letters)
    said = sorted((n, str(o)) for n, o in options.items() if n != "seed" or _is_random(name))
    ingredients = (request.card.key, request.card.digest, what, numbers, said)
    return f"{case.problem.content_hash()} {ingredients} {case.instance.start.tolist()}"


def _asked(case: Case, more: dict[str, object]) -> tuple[dict[str, float | Fraction], dict[str, object]]:
    """The parameters of a run, in many digits where it is one in many digits, and its options."""
    parameters: dict[str, float | Fraction] = dict(case.resolved.parameters)
    if "digits" in more:
        parameters |= case.resolved.precise_parameters()
    return parameters, {**case.request.options, "eps": case.eps, **more}


def _is_random(name: str | None) -> bool:
    """Whether a seed changes the run of a method: not where it is known that nothing is drawn."""
    from bilevel_verify.methods import METHODS

    found = METHODS.get((name or "").partition(":")[0])
    return found is None or found.noisy


def rerun(case: Case, digits: int, calls: int, iterations: int | None = None) -> RecordedRun:
    """The same run in so many digits, or its first iterations; at most ``calls`` oracle calls.

    Raises
    ------
    BilevelVerifyError, NotImplementedError, TypeError : the method has no multi-precision form.
    """
    more: dict[str, Any] = {"digits": digits, "record": "all"}
    if case.method != "literal":
        more["budget"] = {"calls": calls, **({} if iterations is None else {"iterations": iterations})}
    return recorded(case, run_of(case, **more))


def recorded(case: Case, run: Run) -> RecordedRun:
    """A run of the method of a case, as its claims see it."""
    found = RecordedRun(run, callable(case.request.method), restarts_of(case.request.statement))
    if run.method.startswith(f"{LITERAL}:"):
        found.start = case.instance.start
    return found
