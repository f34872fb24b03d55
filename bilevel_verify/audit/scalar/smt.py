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
from types import ModuleType
from typing import TYPE_CHECKING

from bilevel_verify.audit.patience import ask
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.signs import impossible
from bilevel_verify.audit.scalar.smt_translation import Translation, Unsupported
from bilevel_verify.audit.scalar.work import ended, spend
from bilevel_verify.language import tree

if TYPE_CHECKING:
    import z3

RESOURCES = 600
"""Resource units of the solver for one millisecond: a limit that does not depend on the load of the machine."""
LATEST, LATE = 4, 2
"""Milliseconds counted by what the solver allocates for one of its own (some of its steps do not count their work), and
what one costs where that was not enough: steps that allocate much may be quick."""
TACTICS = ("qfnra-nlsat", "smt")


def prove(claim: ScalarClaim, milliseconds: int = 4000) -> Decision:
    """``proved`` if the negation is unsatisfiable wherever both sides are defined, else ``undecided``.

    The ``point`` of an undecided answer is the model of the solver: a candidate for a counterexample.
    """
    import z3

    size = ""
    for tactic in TACTICS:
        try:
            question = _Question(z3, claim, tactic)
        except Unsupported as reason:
            return Decision("undecided", "smt", str(reason))
        size = question.problem.size()
        try:
            answer = question.answer(milliseconds)
        except z3.Z3Exception as reason:
            return Decision("undecided", "smt", f"z3 gave up: {str(reason)[:80]}")
        if answer == z3.unsat:
            return Decision("proved", "smt", f"negation unsatisfiable ({tactic}; {size})")
        if answer == z3.sat:
            return Decision("undecided", "smt", f"a model that is no counterexample ({size})", question.point())
    return Decision("undecided", "smt", f"no proof by nlsat ({size})")


class _Question:
    """The negation of a claim in a context of its own: the answer depends on no question asked before.

    Raises
    ------
    Unsupported : the claim is outside real arithmetic.
    """

    def __init__(self, z3: ModuleType, claim: ScalarClaim, tactic: str) -> None:
        self.z3, self.context = z3, z3.Context()
        self.problem = Translation(z3, claim, self.context)
        assumptions = list(self.problem.assumptions(claim))
        left, right = self.problem.term(claim.left), self.problem.term(claim.right)
        negation = z3.Not(self.problem.relation(claim.op, left, right))
        plain = tactic == "smt"
        self.solver = z3.Solver(ctx=self.context) if plain else z3.Tactic(tactic, ctx=self.context).solver()
        self.solver.add(*assumptions, *self.problem.facts, negation)

    def answer(self, milliseconds: int) -> z3.CheckSatResult:
        """What the solver says after so much work at most: ``unknown`` if it needed more, whatever it said then."""
        self.solver.set("rlimit", milliseconds * RESOURCES)
        answer, late = ask(self.z3, self.solver, LATEST * milliseconds, self.context)
        if late:  # where it was interrupted is an accident: its cost is not
            spend(LATE * milliseconds)
            ended(f"smt was ended after {LATE * milliseconds:g} units of work")
            return answer
        spend(self.resources() / RESOURCES)
        return answer

    def resources(self) -> float:
        """Resource units used in this context, as far as the solver says."""
        counts = self.solver.statistics()
        known = "rlimit count" in counts.keys()  # noqa: SIM118 (not a mapping)
        return float(counts.get_key_value("rlimit count")) if known else 0.0

    def point(self) -> dict[str, Fraction]:
        """The model of the last answer."""
        return self.problem.point(self.solver.model())


def contradictory(claim: ScalarClaim, milliseconds: int = 2000) -> bool:
    """Whether the ranges and hypotheses of a claim contradict each other: nothing is claimed then."""
    if any(impossible(c, claim.domains) for c in claim.where):
        return True
    zero = tree.Number(Fraction(0))
    empty = replace(claim, left=zero, op="<", right=zero, where=claim.conditions())
    return prove(empty, milliseconds).outcome == "proved"
