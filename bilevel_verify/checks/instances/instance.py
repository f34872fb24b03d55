"""One instance of a statement: a problem with its constants and its truth, and a record of what was asked of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from bilevel_verify.constants.bound.constant import Constant
from bilevel_verify.errors import BilevelVerifyError, MathematicalError, ParameterError
from bilevel_verify.problems.problem import Problem
from bilevel_verify.theorems.card_parts import LetterSpec
from bilevel_verify.theorems.letters.given import VISIBLE
from bilevel_verify.theorems.letters.instance import Leaves
from bilevel_verify.theorems.vocabulary import TRUTH_FUNCTIONS
from bilevel_verify.truth.arithmetic.enclosure import Enclosure

if TYPE_CHECKING:
    from bilevel_verify.theorems.letters.resolved import ResolvedLetter

INFIMA = frozenset({"phi_star", "f_star", "x_star"})
OF_LOWER_LEVEL = TRUTH_FUNCTIONS - INFIMA


class Instance(Leaves):
    """A problem under a card: provider of leaf letters that remembers its answers, since they are hypotheses.

    Attributes
    ----------
    used : constants that the card asked for. ``asked`` : truths. ``failures`` : letters that no room could give.
    without_truth : why no truth is asked for (the lower level has no unique minimiser); empty if there is hope.
    mentioned : the function symbols of the statement's claims.
    """

    def __init__(self, problem: Problem, paper: str, x0: np.ndarray, values: Mapping[str, object]) -> None:
        super().__init__(problem, paper, x0, values)
        self.start = x0
        self._constants: dict[tuple[str, bool], Constant] = {}
        self.asked: dict[str, Enclosure] = {}
        self.failures: dict[str, str] = {}
        self.without_truth = ""
        self.mentioned: frozenset[str] = frozenset()

    def of_the_problem(self, spec: LetterSpec, known: Mapping[str, object]) -> Any:
        """Value of a leaf letter; see :class:`Leaves`."""
        try:
            return super().of_the_problem(spec, known)
        except BilevelVerifyError as error:
            self.failures.setdefault(spec.name, str(error))
            raise

    def between(self, spec: LetterSpec, known: Mapping[str, ResolvedLetter]) -> object:
        """Value of a leaf letter; of a constant that is not attained all that it may be: from what was seen, a float
        with its rounding, to what is certified.

        Raises
        ------
        ParameterError : nothing certifies the constant.
        """
        found = self(spec, known)
        if not isinstance(found, Constant) or found.attained or found.name.startswith("nu_"):
            return found
        if not found.certified:
            raise ParameterError(f"{found.name} is not certified")
        seen = found.upper if found.side == "lower" else found.lower
        ends = sorted((found.value, seen + math.copysign(VISIBLE * abs(seen), seen - found.value)))
        return tuple(Fraction(end) if math.isfinite(end) else end for end in ends)

    @property
    def used(self) -> dict[str, Constant]:
        """The constants that were asked for, by name; the card's own definition of a name comes first."""
        found = {name: constant for (name, own), constant in self._constants.items() if own}
        usual = {name: constant for (name, own), constant in self._constants.items() if not own}
        return found | {f"{name} (usual)" if name in found else name: constant for name, constant in usual.items()}

    def _constant(self, spec: LetterSpec) -> Constant:
        own = spec.definition is not None
        key = (spec.name if own else spec.called or spec.name, own)
        if key not in self._constants:
            self._constants[key] = super()._constant(spec)
        return self._constants[key]

    def _truth(self, name: str, known: Mapping[str, ResolvedLetter]) -> Enclosure:
        if self.without_truth:
            raise MathematicalError(self.without_truth)
        if name not in self.asked:
            self.asked[name] = super()._truth(name, known)
        found = self.asked[name]
        if not isfinite(found.error) or not bool(np.all(np.isfinite(np.asarray(found.value)))):
            raise MathematicalError(f"{name} is infinite or not known ({found.method})")
        return found

    def strong_convexity(self) -> Constant | None:
        """``mu`` of the lower level without counting it as a letter of the card; None where there is none."""
        if not self.problem.y:
            return None
        if ("mu", False) in self._constants:
            return self._constants["mu", False]
        try:
            found: Constant = super()._constant(LetterSpec("mu", source="constants"))
            return found
        except (KeyError, BilevelVerifyError):
            return None

    @property
    def local(self) -> tuple[str, ...]:
        """What is in use and known on a box only (nothing for simple bilevel problems, whose theorems ask for Z).

        Constants; where a variable is restricted also infima and what rests on y*: values beyond may be smaller.
        """
        if self.problem.kind == "simple_bilevel":
            return ()
        found = [name for name, constant in self.used.items() if not constant.whole_space]
        if not self.problem.whole_space:
            found += self.asked
            found += sorted(self.mentioned & (INFIMA | OF_LOWER_LEVEL if self.problem.y else INFIMA))
        return tuple(found)
