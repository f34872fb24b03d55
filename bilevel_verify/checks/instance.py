"""One instance of a statement: a problem with its constants and its truth, asked for only what a card needs.

The provider of leaf letters stands here: which room answers for a letter, and under which name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from bilevel_verify.constants import constants as constants_of
from bilevel_verify.constants.constant import Constant
from bilevel_verify.errors import BilevelVerifyError, MathematicalError, ParameterError
from bilevel_verify.problems.problem import Problem
from bilevel_verify.theorems.card import LetterSpec
from bilevel_verify.truth import truth as truth_of
from bilevel_verify.truth.enclosure import Enclosure

PAPERS = ("ragd-gs", "rahgd", "fsba", "restarted-agd-hb", "agm-bio")
"""Papers whose letters the constants room knows by name; other cards use the general letters."""

SIZES = {"d": "dx", "d_x": "dx", "d_y": "dy"}


class Instance:
    """A problem under a card.

    Parameters
    ----------
    problem : the problem.
    paper : key of the card, which decides what a letter such as ``rho`` means.
    x0 : start, shape (dx,).
    values : letters that the user gave (``eps``, ``zeta``, ``nu_f`` ...).
    """

    def __init__(self, problem: Problem, paper: str, x0: np.ndarray, values: Mapping[str, Any]) -> None:
        self.problem, self.paper, self.x0, self.values = problem, paper, x0, dict(values)
        self.used: dict[str, Constant] = {}
        self.asked: dict[str, Enclosure] = {}
        self.failures: dict[str, str] = {}

    @cached_property
    def truth(self) -> Any:
        """The truth of the problem."""
        return truth_of(self.problem)

    def constant(self, name: str) -> Constant:
        """A constant by its letter in this paper; remembered as used.

        Raises
        ------
        KeyError : the constants room does not know it for this problem.
        """
        if name not in self.used:
            paper = self.paper if self.paper in PAPERS else None
            if paper == "rahgd" and self.problem.kind == "minimax":
                paper = "minimax"
            self.used[name] = constants_of(self.problem, paper=paper, only=(name,))[name]
        return self.used[name]

    def provide(self, spec: LetterSpec, known: Mapping[str, Any]) -> Any:
        """Value of a leaf letter, for :func:`bilevel_verify.theorems.resolve.resolve`.

        Raises
        ------
        KeyError : nobody has a value.
        """
        if spec.name in self.values:
            return self.values[spec.name]
        try:
            match spec.source:
                case "constants":
                    return self.constant(spec.called or spec.name)
                case "truth":
                    return self._truth(spec.called or spec.name, known)
                case "problem":
                    return {"dx": self.problem.dx, "dy": self.problem.dy}[spec.called or SIZES[spec.name]]
        except KeyError:
            raise
        except BilevelVerifyError as error:
            self.failures[spec.name] = str(error)
            raise ParameterError(str(error)) from None
        raise KeyError(spec.name)

    def _truth(self, name: str, known: Mapping[str, Any]) -> Enclosure:
        if name not in self.asked:
            self.asked[name] = self._ask(TRUTHS[name], known)
        found = self.asked[name]
        if not isfinite(found.error) or not bool(np.all(np.isfinite(np.asarray(found.value)))):
            raise MathematicalError(f"{name} is infinite or not known ({found.method})")
        return found

    def _ask(self, question: Callable[[Instance, Mapping[str, Any]], Enclosure], known: Mapping[str, Any]) -> Enclosure:
        return question(self, known)

    def constant_quietly(self, name: str) -> Constant:
        """A constant that is used without being a letter of the card."""
        before = dict(self.used)
        try:
            return self.constant(name)
        finally:
            self.used = before

    @property
    def local(self) -> tuple[str, ...]:
        """Constants in use that hold on a box only."""
        return tuple(name for name, constant in self.used.items() if not constant.whole_space)


def _number(known: Mapping[str, Any], name: str) -> float:
    return float(known[name].value)


def _norm(enclosure: Enclosure) -> Enclosure:
    size = float(np.linalg.norm(np.asarray(enclosure.value)))
    rounding = 4e-16 * size * (1 + np.size(enclosure.value))
    return Enclosure(size, enclosure.error + rounding, enclosure.certainty, f"norm of {enclosure.method}")


def _difference(high: Enclosure, low: Enclosure) -> Enclosure:
    from bilevel_verify.truth.enclosure import weakest

    value = float(high.value) - float(low.value)
    error = high.error + low.error + 4e-16 * (abs(float(high.value)) + abs(float(low.value)))
    return Enclosure(value, error, weakest(high.certainty, low.certainty), f"{high.method}; {low.method}")


def _delta(instance: Instance, known: Mapping[str, Any]) -> Enclosure:
    return instance.truth.delta(instance.x0)  # type: ignore[no-any-return]


def _delta_lam(instance: Instance, known: Mapping[str, Any]) -> Enclosure:
    lam = _number(known, "lam")
    return _difference(instance.truth.L_star(instance.x0, lam), instance.truth.L_star_min(lam))


def _norm_y_star(instance: Instance, known: Mapping[str, Any]) -> Enclosure:
    return _norm(instance.truth.y_star(instance.x0))


TRUTHS: dict[str, Callable[[Instance, Mapping[str, Any]], Enclosure]] = {
    "delta": _delta,
    "Delta": _delta,
    "Delta_f": _delta,
    "delta_lam": _delta_lam,
    "Delta_lam": _delta_lam,
    "norm_y_star": _norm_y_star,
    "phi_min": lambda instance, known: instance.truth.phi_min(),
    "f_star": lambda instance, known: instance.truth.f_star,
    "g_star": lambda instance, known: instance.truth.g_star,
}
"""Letters whose value is a truth of the instance; a card's ``called`` names the entry."""
