"""One instance of a sweep with everything that was found out about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from bilevel_verify.checks.claims.claims import Judged, Seen
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.claims.recorded import RecordedRun
from bilevel_verify.checks.instances.functions import ProblemFunctions
from bilevel_verify.checks.instances.instance import Instance
from bilevel_verify.checks.instances.premise import Premise
from bilevel_verify.checks.requests.request import Member, Request
from bilevel_verify.checks.solvers.running import method_name
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.language import tree
from bilevel_verify.methods.run import Run
from bilevel_verify.problems.problem import Problem
from bilevel_verify.theorems.card import Claim
from bilevel_verify.theorems.letters.resolve import Resolved


class JudgedInBlocks(Protocol):
    """What was found out while a run went on: whether its points stayed inside, and claims with their tallies."""

    contained: Premise | None

    def judged(self, claims: list[Claim]) -> list[Judged]: ...


@dataclass
class Case:
    """One instance of a sweep with everything that was found out about it."""

    request: Request
    instance: Instance
    resolved: Resolved
    premises: list[Premise]
    member: Member
    run: Run | None = None
    trajectory: RecordedRun | None = None
    functions: ProblemFunctions | None = None
    precise: ProblemFunctions | None = None
    contained: Premise | None = None
    in_blocks: JudgedInBlocks | None = None
    """What was found out while a run went on that is too long to be kept."""
    trouble: str = ""
    below_precision: str = ""
    """Why float64 does not show this run, where it was made in ``digits`` digits instead."""
    digits: int | None = None
    whole: bool = False
    """Whether the run in many digits was made to its end."""
    rows: list[Row] = field(default_factory=list)
    seen: Seen | None = None
    """Who looks on while the places are judged."""

    @property
    def eps(self) -> float | None:
        """The tolerance, if there is one."""
        return self.member.get("eps")

    @property
    def problem(self) -> Problem:
        """The problem of this instance."""
        return self.instance.problem

    def letters(self) -> dict[str, tuple[Any, Any]]:
        """Letters for the interpreter: enclosure and certainty."""
        return {name: (letter.for_check, letter.certainty) for name, letter in self.resolved.letters.items()}

    def evaluator(self, claim: Claim) -> Evaluator:
        """The interpreter for one claim."""
        definitions: dict[str, tree.Node] = {name: e.tree for name, e in claim.define.items()}
        letters = {name: value for name, value in self.letters().items() if name not in definitions}
        for name in claim.for_:
            letters.pop(name, None)
        return Evaluator(letters, definitions, self.functions, self.trajectory)

    def evaluator_again(self, claim: Claim) -> Evaluator:
        """The interpreter for one claim without tabulated values: every enclosure in balls of full precision."""
        found = self.evaluator(claim)
        found.functions = self.precise
        return found

    def forget(self) -> None:
        """Drop values of the epoch that was judged."""
        for functions in (self.functions, self.precise):
            if functions is not None:
                functions.forget()

    @property
    def method(self) -> str | None:
        """Name of the method in force."""
        return method_name(self.request.method, self.request.statement)
