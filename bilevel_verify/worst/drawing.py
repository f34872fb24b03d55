"""Random problems of the class of a statement: drawn from families, kept where its hypotheses are certified."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from bilevel_verify.atoms import evaluator
from bilevel_verify.checks.engine import prepare, verify
from bilevel_verify.checks.instances import hypotheses as hyp
from bilevel_verify.checks.instances.case import Case
from bilevel_verify.checks.requests.request import Request, tolerances
from bilevel_verify.checks.verdicts.commands import with_commands
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.checks.verdicts.verification import Verification
from bilevel_verify.errors import BilevelVerifyError, InputError
from bilevel_verify.problems.files import save
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.arithmetic.enclosure import is_witness
from bilevel_verify.worst.family import Candidate, Family
from bilevel_verify.worst.finding import fitting, named, needs_eps, request_for

DRAWS = 25
"""Candidates that are drawn, at most, for one instance that is wanted."""
MOST = 100_000
"""Instances that can be wanted at once."""
EASY_EPS = (0.01, 0.3)
"""Tolerances of random instances where the caller names none: runs of seconds, not of hours."""
STATIONARY = 1e-9
"""A start with a smaller gradient (or, for simple bilevel problems, with smaller gaps of both levels) is none."""
FOLDER = "problems"


@dataclass(frozen=True, slots=True)
class RandomInstance:
    """A problem on which the hypotheses of a statement hold, with a start that is no stationary point.

    Attributes
    ----------
    reference : how the command line names the problem: its file, or the zoo entry with the drawn knobs; "" for the
        family of a file that was not written.
    """

    problem: Problem
    x0: tuple[float, ...]
    eps: float | None
    family: str
    reference: str = ""

    def __str__(self) -> str:
        eps = "" if self.eps is None else f", eps = {self.eps:g}"
        return f"{self.problem.name}{eps}, x0 = {list(self.x0)}"


@dataclass(frozen=True)
class RandomVerification:
    """A statement on random problems of its class.

    Attributes
    ----------
    instances, verifications : the problems that were kept, and what ``verify`` says on each, in the same order.
    drawn : candidates. ``skipped`` : reason -> candidates that were left out for it.
    """

    statement: str
    instances: tuple[RandomInstance, ...]
    verifications: tuple[Verification, ...]
    drawn: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    seed: int = 0

    @property
    def claims(self) -> tuple[Row, ...]:
        """The rows of all verifications."""
        return tuple(row for one in self.verifications for row in one.claims)

    def __str__(self) -> str:
        kept = f"{self.statement}: {len(self.instances)} of {self.drawn} drawn problems meet the hypotheses"
        return kept + (f"; left out: {_often(self.skipped)}" if self.skipped else "")

    def to_dict(self) -> dict[str, object]:
        """What was drawn and left out, as JSON."""
        return {
            "statement": self.statement, "instances": [str(one) for one in self.instances], "drawn": self.drawn,
            "skipped": dict(self.skipped), "seed": self.seed,
        }  # fmt: skip


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
    options: dict[str, Any] = {"family": family, "eps": eps, "method": method, "parameters": parameters}
    return list(_drawn(statement, number, seed, values=values, **options).instances)


def verify_random(
    statement: str,
    number: int = 10,
    seed: int = 0,
    *,
    out: str | Path | None = None,
    budget: int | None = None,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> RandomVerification:
    """``verify`` on random problems of the class of a statement.

    Parameters
    ----------
    statement, number, seed, options : as :func:`random_instances` takes them.
    out : folder for the problems, one file each in ``out/problems``; the command of a row names its file.
    budget : most oracle calls of one run.

    Raises
    ------
    InputError : see :func:`random_instances`.
    """
    drawn = _drawn(statement, number, seed, **options)
    instances = drawn.instances if out is None else _written(drawn, Path(out))
    passed: dict[str, Any] = {key: options.get(key) for key in ("method", "parameters", "values")}
    passed |= {} if budget is None else {"budget": budget}
    card = statement.partition(".toml")[0] + ".toml" if ".toml" in statement else None
    found = []
    for one in instances:
        if progress is not None:
            progress(str(one))
        verified = verify(one.problem, statement, eps=one.eps, x0=one.x0, seed=seed, **passed)
        found.append(with_commands(verified, one.reference or "PROBLEM.toml", card, seed, budget))
    return replace(drawn, instances=instances, verifications=tuple(found))


def _drawn(
    statement: str,
    number: int,
    seed: int,
    *,
    family: str | Family | Sequence[str | Family] | None = None,
    eps: float | None = None,
    method: str | None = None,
    parameters: Mapping[str, object] | None = None,
    values: Mapping[str, object] | None = None,
) -> RandomVerification:
    """The instances, nothing verified yet, and what was left out."""
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MOST:
        raise InputError(f"the number of random instances must be a whole number from 1 to {MOST}, not {number!r}")
    request = request_for(statement, method, parameters, values, seed=seed)
    skipped: Counter[str] = Counter()
    found: list[RandomInstance] = []
    chosen, tolerance = fitting(request, named(family)), tolerances(eps)[0]
    for one, candidate in _draws(request, chosen, seed, tolerance, number * DRAWS, skipped):
        why = fault_of(request, candidate)
        if why:
            skipped[why] += 1
            continue
        found.append(_as_instance(candidate, one.zoo, len(found)))
        if len(found) == number:
            return RandomVerification(request.name, tuple(found), (), len(found) + skipped.total(), skipped, seed)
    raise InputError(
        f"{request.name}: {len(found)} of {number} instances in {len(found) + skipped.total()} draws "
        f"({_often(skipped)}); "
        "give eps= or family="
    )


def _often(skipped: Mapping[str, int]) -> str:
    """The three most frequent reasons."""
    return "; ".join(f"{count} times: {why}" for why, count in Counter(skipped).most_common(3))


def _draws(
    request: Request, chosen: Sequence[Family], seed: int, eps: float | None, most: int, skipped: Counter[str]
) -> Iterator[tuple[Family, Candidate]]:
    """Candidates of the families in turn, all numbers of one uniform; those that make no problem are counted."""
    rng = np.random.default_rng([seed, 7])
    drawn_eps = eps is None and needs_eps(request)
    for number in range(ceil(most / len(chosen)) * len(chosen)):
        one = chosen[number % len(chosen)]
        tolerance = eps
        if drawn_eps:
            low, high = np.log(EASY_EPS)
            tolerance = float(f"{np.exp(rng.uniform(low, high)):.3g}")
        try:
            yield one, one.candidate(rng.random(one.size(False)).tolist(), tolerance)
        except BilevelVerifyError as error:
            skipped[str(error).partition(":")[0]] += 1


def fault_of(request: Request, candidate: Candidate) -> str:
    """Why a candidate is not of the class of a statement; empty if it is.

    Every hypothesis that needs no run has to hold with a proof or outward rounding: what is true in floats alone, or
    was sampled, is a fault too. So is a start that is a stationary point.
    """
    member = {} if candidate.eps is None else {"eps": candidate.eps}
    try:
        case = prepare(request, candidate.problem, member, np.array(candidate.x0))
        blocked = hyp.combine(case.premises)
        if blocked is not None:
            return blocked.reason.partition(":")[0]
        weak = next((premise for premise in case.premises if not is_witness(premise.certainty)), None)
        if weak is not None:
            return f"{weak.text} is {weak.certainty}, not certified"
        return "the start is a stationary point" if stationary(case) else ""
    except (BilevelVerifyError, ArithmeticError) as error:
        return str(error).partition(":")[0]


def stationary(case: Case) -> bool:
    """Whether a run has nothing to do from the start of a case, to within ``STATIONARY``."""
    start, truth = case.instance.start, case.instance.truth
    if case.problem.kind != "simple_bilevel":
        slope = truth.grad_phi(start)
        return not float(np.linalg.norm(slope.value)) - slope.error > STATIONARY
    f, g = (float(evaluator(level, case.problem.x)(*start)) for level in (case.problem.f, case.problem.g))
    gaps = ((f, truth.simple.f_star), (g, truth.simple.g_star))
    return all(abs(value - float(best.value)) - best.error <= STATIONARY for value, best in gaps)


def _as_instance(candidate: Candidate, zoo: str, number: int) -> RandomInstance:
    problem = replace(candidate.problem, name=f"{candidate.family}-{number + 1}", start=candidate.x0)
    knobs = ",".join(f"{name}={value}" for name, value in candidate.knobs.items())
    reference = f"zoo:{zoo}:{knobs}" if zoo else ""
    return RandomInstance(problem, candidate.x0, candidate.eps, candidate.family, reference)


def _written(drawn: RandomVerification, folder: Path) -> tuple[RandomInstance, ...]:
    """The instances, each with a file of its own: those of several statements may share a folder."""
    target = folder / FOLDER / re.sub(r"[^A-Za-z0-9]+", "-", drawn.statement).strip("-")
    try:
        target.mkdir(parents=True, exist_ok=True)
        files = [save(one.problem, target / f"{one.problem.name}.toml") for one in drawn.instances]
    except OSError as error:
        raise InputError(f"{target}: {error.strerror or error}; give another folder in out= (--out)") from None
    return tuple(replace(one, reference=str(path)) for one, path in zip(drawn.instances, files, strict=True))
