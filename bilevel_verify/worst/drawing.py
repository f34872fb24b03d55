"""Random problems of the class of a statement: drawn from families, kept where its hypotheses are certified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from bilevel_verify.checks.engine import prepare, verify
from bilevel_verify.checks.instances import hypotheses as hyp
from bilevel_verify.checks.requests.request import Request, tolerances
from bilevel_verify.checks.verdicts.verification import Verification
from bilevel_verify.errors import BilevelVerifyError, InputError
from bilevel_verify.problems.problem import Problem
from bilevel_verify.worst.family import Candidate, Family
from bilevel_verify.worst.finding import fitting, named, needs_eps, request_for

DRAWS = 25
"""Candidates that are drawn, at most, for one instance that is wanted."""
MOST = 100_000
"""Instances that can be wanted at once."""
EASY_EPS = (0.01, 0.3)
"""Tolerances of random instances where the caller names none: runs of seconds, not of hours."""
STATIONARY = 1e-9


@dataclass(frozen=True, slots=True)
class RandomInstance:
    """A problem on which the hypotheses of a statement hold, with a start that is no stationary point."""

    problem: Problem
    x0: tuple[float, ...]
    eps: float | None
    family: str

    def __str__(self) -> str:
        eps = "" if self.eps is None else f", eps = {self.eps:g}"
        return f"{self.problem.name}{eps}, x0 = {list(self.x0)}"


def random_instances(
    statement: str,
    number: int = 10,
    seed: int = 0,
    *,
    family: str | Family | Sequence[str | Family] | None = None,
    eps: float | None = None,
    method: str | None = None,
    parameters: Mapping[str, object] | None = None,
    values: Mapping[str, object] | None = None,
) -> list[RandomInstance]:
    """Problems of the class of a statement, every hypothesis that needs no run certified on each of them.

    Parameters
    ----------
    statement : as :func:`worst_case` takes it. ``number``, ``seed`` : how many, and of what they are drawn.
    family : families to draw from, in turn; all that fit by default.
    eps : one tolerance for all; drawn too by default where the statement needs one.
    method, parameters, values : as in ``verify``.

    Raises
    ------
    InputError : fewer were found in ``25 * number`` draws; says what was wrong with the others most often.
    """
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MOST:
        raise InputError(f"the number of random instances must be a whole number from 1 to {MOST}, not {number!r}")
    request = request_for(statement, method, parameters, values, seed=seed)
    rejected: Counter[str] = Counter()
    found: list[RandomInstance] = []
    for candidate in _draws(request, fitting(request, named(family)), seed, tolerances(eps)[0], number * DRAWS):
        why = _fault(request, candidate)
        if why:
            rejected[why] += 1
            continue
        found.append(_as_instance(candidate, len(found)))
        if len(found) == number:
            return found
    often = "; ".join(f"{count} times: {why}" for why, count in rejected.most_common(3))
    raise InputError(
        f"{request.name}: {len(found)} of {number} instances in {number * DRAWS} draws ({often}); give eps= or family="
    )


def verify_random(
    statement: str, number: int = 10, seed: int = 0, *, progress: Callable[[str], None] | None = None, **options: Any
) -> list[tuple[RandomInstance, Verification]]:
    """``verify`` on random instances of a statement; ``options`` of :func:`random_instances`, and ``budget``."""
    budget = options.pop("budget", None)
    passed: dict[str, Any] = {key: options.get(key) for key in ("method", "parameters", "values")}
    passed |= {} if budget is None else {"budget": budget}
    found = []
    for one in random_instances(statement, number, seed, **options):
        if progress is not None:
            progress(str(one))
        found.append((one, verify(one.problem, statement, eps=one.eps, x0=one.x0, seed=seed, **passed)))
    return found


def _draws(request: Request, chosen: Sequence[Family], seed: int, eps: float | None, most: int) -> Iterator[Candidate]:
    """Candidates of the families in turn, all numbers of one uniform."""
    rng = np.random.default_rng([seed, 7])
    drawn_eps = eps is None and needs_eps(request)
    for number in range(ceil(most / len(chosen)) * len(chosen)):
        one = chosen[number % len(chosen)]
        tolerance = eps
        if drawn_eps:
            low, high = np.log(EASY_EPS)
            tolerance = float(f"{np.exp(rng.uniform(low, high)):.3g}")
        try:
            yield one.candidate(rng.random(one.size(False)).tolist(), tolerance)
        except BilevelVerifyError:
            continue


def _fault(request: Request, candidate: Candidate) -> str:
    """Why a candidate is not of the class; empty if it is."""
    member = {} if candidate.eps is None else {"eps": candidate.eps}
    try:
        case = prepare(request, candidate.problem, member, np.array(candidate.x0))
        blocked = hyp.combine(case.premises)
        if blocked is not None:
            return blocked.reason.partition(":")[0]
        if candidate.problem.kind != "simple_bilevel":
            slope = float(np.linalg.norm(case.instance.truth.grad_phi(np.array(candidate.x0)).value))
            return "" if slope > STATIONARY else "the start is a stationary point"
    except (BilevelVerifyError, ArithmeticError) as error:
        return str(error).partition(":")[0]
    return ""


def _as_instance(candidate: Candidate, number: int) -> RandomInstance:
    problem = replace(candidate.problem, name=f"{candidate.family}-{number + 1}", start=candidate.x0)
    return RandomInstance(problem, candidate.x0, candidate.eps, candidate.family)
