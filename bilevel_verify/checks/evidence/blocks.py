"""Runs too long to be kept: their claims are judged block by block while the run goes on, before anything is thinned.

A block is judged as soon as it is there, at every one of its iterates; then its rows go. Rows of an epoch that is
still open stay while they are few; of a longer one the first rows and the last ones stay, and running sums are carried
on, so that claims which look at a neighbourhood of ``k``, at the start of the epoch and at sums up to ``k`` are judged
in full. What looks elsewhere is undecided ("not recorded"), never judged on thinned rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from bilevel_verify.checks.claims.claims import MOST_WORK, Judged, at_places, give_up, over_epoch, tools_of, worked
from bilevel_verify.checks.claims.facts import rests_on_the_end, rests_on_the_epoch
from bilevel_verify.checks.claims.recorded import RecordedRun
from bilevel_verify.checks.evidence.runs import stream_of
from bilevel_verify.checks.instances import hypotheses as hyp
from bilevel_verify.checks.instances.case import Case
from bilevel_verify.checks.instances.functions import ProblemFunctions
from bilevel_verify.checks.instances.premise import Premise
from bilevel_verify.checks.instances.tabulate import tabulate
from bilevel_verify.checks.solvers.running import joined, restarts_of
from bilevel_verify.methods.run import ENDED, Run, Trace
from bilevel_verify.theorems.card import Claim

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEPT = 200_000
"""Rows of an open epoch that are kept whole."""
FIRST, LAST = 3, 64
"""Rows that stay of a longer epoch: its first ones and its last ones."""
POINT_WORK = 20
"""Work of tabulating one function at one iterate."""
AHEAD = 8
"""Steps of an open epoch wait until so many later rows are there."""


class BlockJudge:
    """Judges step and epoch claims of one run block by block.

    Parameters
    ----------
    case : with premises and letters; its ``functions`` and ``trajectory`` are set anew for every block.
    claims : step and epoch claims, and conditions along the run.
    names : function symbols to tabulate at the points of a block.
    work : counted, after which the rest of the run is given up, ``undecided: budget``.
    """

    def __init__(self, case: Case, claims: list[Claim], names: Iterable[str], work: int = MOST_WORK) -> None:
        self.case, self.names = case, set(names)
        self.tools, self.found = tools_of(claims, case.evaluator, case.evaluator_again)
        self.contained: Premise | None = None
        self.work, self._tabulated = work, 0
        self.given_up = False
        self._rows: Trace | None = None
        self._next: dict[tuple[int, int], int] = {}
        self._early = {id(j): _is_early(j.claim) for j in self.found}
        self._lossy = False

    def take(self, block: Trace, run: Run | None = None) -> None:
        """Judge what a block makes known; ``run`` with the last one."""
        if self.given_up:
            return
        self._look_at(block, run)
        epochs = self._trajectory.epochs
        for epoch in epochs[:-1] if run is None else epochs:
            self._close(epoch, run if epoch == epochs[-1] else None)
        if run is None:
            self._judge_steps(epochs[-1], self._trajectory.k_end(epochs[-1]) - AHEAD)
            self._forget_rows(epochs[-1])
        self.case.forget()
        self._tabulated += len(block.k) * POINT_WORK * len(self.names)
        if worked(self.found) + self._tabulated > self.work and run is None:
            self.given_up = True
            give_up(self.found, f"budget: steps from epoch {epochs[-1]} on were not all judged")

    def judged(self, claims: list[Claim]) -> list[Judged]:
        """What was found out about some of the claims, in their order."""
        return [judged for claim in claims for judged in self.found if judged.claim is claim]

    def _look_at(self, block: Trace, run: Run | None) -> None:
        """Trajectory of the rows at hand, truths at the new ones."""
        case, x = self.case, np.asarray(block.sequences["x"][-1] if run is None else run.x)
        recent = block if self._rows is None else joined([_last_rows(self._rows), block])
        self._rows = block if self._rows is None else joined([self._rows, block])
        restarts = restarts_of(case.request.statement)
        self._trajectory = case.trajectory = RecordedRun(_run_of(self._rows, x), restarts=restarts)
        truth, lam = case.instance.truth, case.precise.lam if case.precise is not None else None
        if case.problem.kind != "simple_bilevel":
            points = RecordedRun(_run_of(recent, x)).upper_points(case.problem.dx)
            case.functions = ProblemFunctions(case.problem, truth, lam, tabulate(truth, self.names, points, lam))
        assert case.functions is not None
        for _, tool in self.tools:
            tool.functions, tool.sequences = case.functions, self._trajectory
        for judged in self.found:
            if judged.again is not None:
                judged.again().sequences = self._trajectory
        if self.contained is None or self.contained.verdict == "holds":
            self.contained = hyp.containment(case.instance, RecordedRun(_run_of(block, x)), case.functions)

    def _judge_steps(self, epoch: int, last: int) -> None:
        """Steps up to ``last`` of claims that need not know how the epoch ends."""
        for judged in self.found:
            if self._early[id(judged)]:
                start = self._next.get((id(judged), epoch), 0)
                at_places(judged, [{"t": epoch, "k": k} for k in range(start, last + 1)])
                self._next[id(judged), epoch] = max(start, last + 1)

    def _close(self, epoch: int, run: Run | None) -> None:
        """The rest of an epoch that has ended; ``run`` if it was the last one."""
        truncated = run is not None and run.status not in ENDED
        if run is not None:
            assert self._rows is not None
            self._trajectory.run = replace(run, trace=self._rows)
        self._judge_steps(epoch, self._trajectory.k_end(epoch) - 1)
        for judged in self.found:
            if self._early[id(judged)] or (truncated and rests_on_the_epoch(judged.claim)):
                continue
            if run is None and rests_on_the_end(judged.claim):
                give_up([judged], f"not recorded: epoch {epoch} was gone when the run ended")
            elif self._lossy:
                give_up([judged], f"not recorded: epoch {epoch} has more than {KEPT} rows")
            else:
                over_epoch(judged, self._trajectory, epoch)
        for _, tool in self.tools:
            tool.new_epoch()
        self._trajectory.forget()
        self._lossy = False

    def _forget_rows(self, epoch: int) -> None:
        """Rows of closed epochs go; of the open one its first and last stay, once it is long."""
        rows = self._rows
        assert rows is not None
        mine = np.flatnonzero(np.asarray(rows.epoch) == epoch)
        if len(mine) > KEPT:
            self._lossy = True
        if self._lossy:
            mine = np.concatenate([mine[:FIRST], mine[FIRST:][-LAST:]])
        self._rows = _chosen(rows, mine, epoch)


def _chosen(rows: Trace, places: Any, epoch: int) -> Trace:
    """Some rows of a trace, and the starts of its last epoch."""
    stamps = rows.epoch_start.get("epoch")
    starts: Mapping[str, Any] = rows.epoch_start
    if stamps is not None:
        last = np.asarray(stamps, dtype=float).ravel() == epoch
        starts = MappingProxyType({name: values[last] for name, values in rows.epoch_start.items()})
    sequences = MappingProxyType({name: values[places] for name, values in rows.sequences.items()})
    return Trace(rows.epoch[places], rows.k[places], sequences, starts)


def _run_of(rows: Trace, x: NDArray[np.float64]) -> Run:
    """Rows as a run in the middle; no epoch is known to have ended by a restart but those that another one follows."""
    nothing: Mapping[str, Any] = MappingProxyType({})
    epochs = int(np.asarray(rows.epoch)[-1]) + 1
    restarted = (True,) * (epochs - 1) + (False,)
    return Run("", "", x, "interrupted", nothing, 0, epochs, rows, nothing, restarted=restarted)


def _last_rows(rows: Trace) -> Trace:
    places = np.arange(max(0, len(rows) - LAST), len(rows))
    return _chosen(rows, places, int(np.asarray(rows.epoch)[-1]))


def _is_early(claim: Claim) -> bool:
    """Whether a claim can be judged at a step before its epoch has ended."""
    late = rests_on_the_epoch(claim) or rests_on_the_end(claim)
    return claim.over == "step" and "k" not in claim.for_ and not late


def judge_in_blocks(case: Case, claims: list[Claim], names: Iterable[str]) -> BlockJudge | None:
    """Run the method of a case once more and judge its step and epoch claims block by block.

    None where the method delivers no blocks.
    """
    running = stream_of(case)
    if running is None:
        return None
    whole, functions = case.trajectory, case.functions
    judge = BlockJudge(case, [claim for claim in claims if claim.over in ("step", "epoch")], names)
    waiting: Trace | None = None
    for block in running:
        if waiting is not None and len(waiting):
            judge.take(waiting)
        waiting = block
    if waiting is not None:
        judge.take(waiting, running.run)
    case.trajectory, case.functions = whole, functions
    return judge
