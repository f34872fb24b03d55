"""``derive(p)``: everything that follows from the formulas, with its values in many digits and its print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bilevel_verify.arguments import checked
from bilevel_verify.errors import InputError
from bilevel_verify.problems import Problem
from bilevel_verify.symbolic.derivation_numbers import evaluate
from bilevel_verify.symbolic.derivation_printing import derivation_latex, derivation_mathml, derivation_text
from bilevel_verify.symbolic.derivatives import Derivatives

if TYPE_CHECKING:
    import mpmath


def derive(problem: Problem) -> Derivation:
    """Everything that follows from the formulas of a problem, computed lazily."""
    if not isinstance(problem, Problem):
        raise InputError(f"derive needs a Problem, not {type(problem).__name__}")
    return Derivation(problem)


class Derivation(Derivatives):
    """Derivatives of one problem as SymPy objects.

    Attributes
    ----------
    problem : what was derived.
    x, y : symbols of the problem; ``w`` : fresh symbols for the lower-level solution inside the penalty function;
    lam : symbol of the penalty parameter;
    v : symbols that stand for :attr:`v_star` where ``g_yy`` is too large to be inverted symbolically.
    """

    @checked
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)

    def evaluate(
        self,
        name: str,
        x: Sequence[object],
        y: Sequence[object] = (),
        w: Sequence[object] = (),
        lam: object = None,
        digits: int = 50,
    ) -> mpmath.matrix:
        """Value of a quantity at a point as an mpmath matrix (explicit inverses are never formed)."""
        return evaluate(self, name, {"x": x, "y": y, "w": w, "lam": lam}, digits)

    # -- printing -------------------------------------------------------------------------------------------------

    def latex(self, name: str | None = None) -> str:
        """LaTeX of one quantity, or of all of :attr:`names` as an ``align*`` environment."""
        return derivation_latex(self, name)

    def mathml(self, name: str | None = None) -> str:
        """Presentation MathML of one quantity, or of all of :attr:`names`, one ``<math>`` each."""
        return derivation_mathml(self, name)

    def __str__(self) -> str:
        return derivation_text(self)

    def __repr__(self) -> str:
        return f"<Derivation of {self.problem.name or self.problem.kind}: {', '.join(self.names)}>"

    def _repr_latex_(self) -> str:
        return self.latex()

    def _repr_html_(self) -> str:
        return self.mathml()
