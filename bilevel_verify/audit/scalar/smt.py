"""Nonlinear real arithmetic: a relation is proved by the unsatisfiability of its negation (z3, tactic nlsat).

Roots become fresh variables (``w >= 0, w**q == b``); logarithms, exponentials and powers with a letter in the exponent
become fresh variables with facts that are true of them, so that ``unsat`` stays a proof. Integer letters are relaxed to
reals. Division in SMT is total, therefore every denominator is declared non-zero: whether a link is *defined* on its
whole range is a separate check. A model (``sat``) proves nothing: it is handed on as a candidate, and refutes only
if the relation fails there in ball arithmetic.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from bilevel_verify.audit.patience import ended_after
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.signs import impossible
from bilevel_verify.audit.scalar.smt_translation import Translation, Unsupported
from bilevel_verify.audit.scalar.work import ended, spend
from bilevel_verify.language import tree

if TYPE_CHECKING:
    import z3

RESOURCES = 600
"""Resource units of the solver for one millisecond: a limit that does not depend on the load of the machine."""
LATEST = 8
"""Milliseconds of processor time for one millisecond of work: some steps of the solver do not count their work."""


def prove(claim: ScalarClaim, milliseconds: int = 4000) -> Decision:
    """``proved`` if the negation is unsatisfiable wherever both sides are defined, else ``undecided``.

    The ``point`` of an undecided answer is the model of the solver: a candidate for a counterexample.
    """
    import z3

    try:
        problem = Translation(z3, claim)
        assumptions = list(problem.assumptions(claim))
        left, right = problem.term(claim.left), problem.term(claim.right)
        negation = z3.Not(problem.relation(claim.op, left, right))
    except Unsupported as reason:
        return Decision("undecided", "smt", str(reason))
    for tactic in ("qfnra-nlsat", "smt"):
        solver = z3.Tactic(tactic).solver() if tactic != "smt" else z3.Solver()
        solver.set("rlimit", milliseconds * RESOURCES)
        solver.add(*assumptions, *problem.facts, negation)
        try:
            with ended_after(z3, LATEST * milliseconds / 1000) as watch:
                answer = solver.check()
        except z3.Z3Exception as reason:
            return Decision("undecided", "smt", f"z3 gave up: {str(reason)[:80]}")
        spend(_account.used(solver) / RESOURCES)
        if watch.late:
            ended(f"smt was ended after {LATEST * milliseconds / 1000:g} seconds")
        if answer == z3.unsat:
            return Decision("proved", "smt", f"negation unsatisfiable ({tactic}; {problem.size()})")
        if answer == z3.sat:
            point = problem.point(solver.model())
            return Decision("undecided", "smt", f"a model that is no counterexample ({problem.size()})", point)
    return Decision("undecided", "smt", f"no proof by nlsat ({problem.size()})")


class _Account:
    """Resource units of the solvers of this process: they share one counter that only grows."""

    def __init__(self) -> None:
        self.total = 0.0

    def used(self, solver: z3.Solver) -> float:
        """Units since the last call, as far as the solver says."""
        counts = solver.statistics()
        before = self.total
        if "rlimit count" in counts.keys():  # noqa: SIM118 (not a mapping)
            self.total = max(before, float(counts.get_key_value("rlimit count")))
        return self.total - before


_account = _Account()


def contradictory(claim: ScalarClaim, milliseconds: int = 2000) -> bool:
    """Whether the ranges and hypotheses of a claim contradict each other: nothing is claimed then."""
    if any(impossible(c, claim.domains) for c in claim.where):
        return True
    zero = tree.Number(Fraction(0))
    empty = replace(claim, left=zero, op="<", right=zero, where=claim.conditions())
    return prove(empty, milliseconds).outcome == "proved"
