"""Leaf letters of a card for one problem: constants, truth, dimensions, what the user gave. Asked for when needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bilevel_verify.errors import BilevelVerifyError, ParameterError
from bilevel_verify.problems.problem import Problem
from bilevel_verify.theorems.card_parts import LetterSpec
from bilevel_verify.truth.arithmetic.enclosure import Enclosure, weakest

if TYPE_CHECKING:
    from bilevel_verify.truth.truth import Truth

OF_THE_PROBLEM = ("dx", "d", "d_x", "dy", "is_minimax")
"""What ``from = "problem"`` may name."""
TRUTHS = ("delta", "Delta", "delta_lam", "alpha", "r", "norm_y_star")
"""What ``from = "truth"`` may name."""


class Leaves:
    """Provider of leaf letters for :func:`bilevel_verify.theorems.letters.resolve.resolve`.

    Parameters
    ----------
    problem : the problem. ``paper`` : key of the card, which decides what a letter such as ``rho`` means.
    x0 : start, shape (dx,); needed for ``Delta`` and the norm of ``y*(x0)``.
    values : letters that the user gave (``eps``, ``zeta``, ``nu_f`` ...); they win.
    """

    def __init__(self, problem: Problem, paper: str, x0: np.ndarray | None, values: Mapping[str, Any]) -> None:
        self.problem, self.paper, self.x0, self.values = problem, paper, x0, dict(values)

    @property
    def truth(self) -> Truth:
        """The truth of the problem, shared by all who ask about it."""
        from bilevel_verify.truth import shared_truth

        return shared_truth(self.problem)

    def __call__(self, spec: LetterSpec, known: Mapping[str, object]) -> Any:
        """Value of a leaf letter.

        Raises
        ------
        KeyError : nobody has a value.
        ParameterError : the room that should have it could not give it; says why.
        """
        return self.values[spec.name] if spec.name in self.values else self.of_the_problem(spec, known)

    def of_the_problem(self, spec: LetterSpec, known: Mapping[str, object]) -> Any:
        """Value of a leaf letter on this problem, whatever the user gave; errors as of a call."""
        name = spec.called or spec.name
        try:
            if spec.source == "constants":
                return self._constant(spec)
            if spec.source == "problem":
                return self._of_problem()[name]
            if spec.source == "truth":
                return self._truth(name, known)
        except KeyError:
            raise
        except BilevelVerifyError as error:
            raise ParameterError(str(error)) from None
        raise KeyError(spec.name)

    def _of_problem(self) -> dict[str, int]:
        """What the statement of the problem itself says: dimensions, and 1 where it is a minimax problem."""
        p = self.problem
        return {"dx": p.dx, "d": p.dx, "d_x": p.dx, "dy": p.dy, "is_minimax": int(p.kind == "minimax")}

    def _constant(self, spec: LetterSpec) -> Any:
        from bilevel_verify.constants import constants
        from bilevel_verify.constants.papers import set_for

        name = spec.name if spec.definition is not None else spec.called or spec.name
        known = set_for(self.paper, self.problem.kind) if spec.definition is None else spec.definition
        options = {"nu": self.values["nu_f"]} if "nu_f" in self.values and name in ("H_f",) else {}
        return constants(self._part_of(name), paper=known, only=(name,), **options)[name]

    def _part_of(self, name: str) -> Problem:
        """The problem whose constant a letter is: L_f and L_g of a composite problem belong to its smooth parts."""
        if name in ("L_f", "L_g") and self.problem.kind == "simple_bilevel":
            from bilevel_verify.problems.composite import split

            composite = split(self.problem)
            return self.problem if composite is None else composite.smooth
        return self.problem

    def _truth(self, name: str, known: Mapping[str, Any]) -> Enclosure:
        if self.x0 is None:
            raise ParameterError("x0 is needed (--x0, or start = [...] in the problem file)")
        if name in ("delta", "Delta"):
            found: Enclosure = self.truth.delta(self.x0)
            return found
        if name == "delta_lam":
            lam = float(known["lam"].value)
            above, below = self.truth.L_star(self.x0, lam), self.truth.L_star_min(lam)
            size = abs(float(above.value)) + abs(float(below.value))
            error = (above.error + below.error) * (1 + 1e-15) + 4e-16 * size
            certainty = weakest(above.certainty, below.certainty)
            return Enclosure(
                float(above.value) - float(below.value), error, certainty, f"{above.method}; {below.method}"
            )
        if name in ("alpha", "r"):
            bound = self.truth.error_bound()
            if bound.alpha is None or bound.r is None:
                raise ParameterError(f"no error bound of g was derived ({bound.why}); give alpha and r")
            return Enclosure(float(bound.alpha if name == "alpha" else bound.r), 0.0, bound.certainty, bound.why)
        if name == "norm_y_star":
            at = self.truth.y_star(self.x0)
            size = float(np.linalg.norm(at.value))
            error = at.error + (np.size(at.value) + 4) * 2.3e-16 * size
            return Enclosure(size, error, at.certainty, f"norm of {at.method}")
        raise KeyError(name)
