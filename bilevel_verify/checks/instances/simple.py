"""The functions of a simple bilevel problem as a claim sees them: f and g of one variable, and their solutions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from flint import arb

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.values import EvaluationError, Matrix, Value, Vector
from bilevel_verify.checks.instances.functions import ProblemFunctions, where_defined
from bilevel_verify.numbers.rounding import enclose
from bilevel_verify.problems.composite import split
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.arithmetic.algebra import Balls
from bilevel_verify.truth.arithmetic.enclosure import Certainty, Enclosure
from bilevel_verify.truth.functions.model import Function
from bilevel_verify.truth.truth import Truth

SOLUTIONS = ("x_star", "f_star", "g_star")
PARTS = {"f_1": "f", "g_1": "g", "grad_f_1": "grad_f", "grad_g_1": "grad_g"}
"""Functions of the smooth parts of a composite problem (of the whole of a smooth one)."""


class SimpleFunctions:
    """Function symbols of a card on a simple bilevel problem.

    ``f g grad_f grad_g hess_f hess_g`` of one point, ``x_star()``, ``f_star()``, ``g_star()`` and ``dist(x)``, the
    distance to the solutions of the lower level. The latter carry the certainty of the truth room. With l1 norms in f
    or g, ``f_1 g_1 grad_f_1 grad_g_1`` are those of the smooth parts and ``f_2 g_2`` the weighted norms.
    """

    def __init__(self, problem: Problem, truth: Truth) -> None:
        assert problem.g is not None
        self.problem, self.truth = problem, truth
        self._algebra = Balls()
        self._functions = {
            "f": Function(problem.f, problem.x, problem.dx),
            "g": Function(problem.g, problem.x, problem.dx),
        }
        self._composite = split(problem)
        if self._composite is not None:
            smooth = self._composite.smooth
            assert smooth.g is not None
            self._smooth = {
                "f": Function(smooth.f, problem.x, problem.dx),
                "g": Function(smooth.g, problem.x, problem.dx),
            }
        self._solutions: dict[str, tuple[Value, Certainty]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Functions that a claim may name on this problem, sorted."""
        smooth = ("f", "g", "grad_f", "grad_g", "hess_f", "hess_g")
        composite = () if self._composite is None else (*PARTS, "f_2", "g_2")
        return tuple(sorted((*smooth, *SOLUTIONS, "dist", *composite)))

    def forget(self) -> None:
        """Nothing is remembered between epochs; there is only one."""

    def call(self, name: str, arguments: list[Value]) -> tuple[Value, Certainty]:
        """Value and certainty of a function symbol.

        Raises
        ------
        KeyError : a symbol that a simple bilevel problem does not have.
        """
        if len(arguments) != (name not in SOLUTIONS):
            raise EvaluationError(f"{name} has no meaning with {len(arguments)} arguments")
        if name in SOLUTIONS:
            return self._solution(name)
        if name == "dist":
            return self._distance(arguments[0])
        z = self._point(arguments[0])
        if name in ("f_2", "g_2"):
            return self._norm(name, z), "certified"
        plain = PARTS.get(name, name)
        kind, _, letter = plain.rpartition("_")
        function = (self._functions if name == plain or self._composite is None else self._smooth)[letter]
        if kind == "":
            return function.program.run(self._algebra.arithmetic, z)[0], "certified"
        if kind == "grad":
            out = where_defined(function.value_and_gradient.run(self._algebra.arithmetic, z))
            return Vector(tuple(out)), "certified"
        if kind == "hess":
            n = len(z)
            out = where_defined(function.second_order.run(self._algebra.arithmetic, z))[n:]
            return Matrix(tuple(tuple(out[i * n : (i + 1) * n]) for i in range(n))), "certified"
        raise KeyError(name)

    def _norm(self, name: str, z: list[arb]) -> arb:
        """The weighted l1 norm of a composite problem; zero for a smooth one."""
        total = arb(0)
        if self._composite is not None:
            weights = self._composite.f_weights if name == "f_2" else self._composite.g_weights
            for weight, entry in zip(weights, z):
                low, high = enclose(weight)
                total += arb(low).union(arb(high)) * abs(entry)
        return total

    def _point(self, argument: Value) -> list[arb]:
        if not isinstance(argument, Vector) or len(argument) != self.problem.dx:
            raise EvaluationError("a point was expected")
        return list(argument.entries)

    def _solution(self, name: str) -> tuple[Value, Certainty]:
        if name not in self._solutions:
            found: Enclosure = getattr(self.truth, name)
            self._solutions[name] = (_value(found), found.certainty)
        return self._solutions[name]

    def _distance(self, argument: Value) -> tuple[Value, Certainty]:
        """The distance from the nearest floats; a distance moves no more than its point."""
        entries = self._point(argument)
        point = np.array([float(entry.mid()) for entry in entries])
        found = self.truth.distance_to_solutions(point)
        moved = sum((abs(entry - float(near)) for entry, near in zip(entries, point)), arb(0))
        return v.add(_value(found), arb(0, moved.upper())), found.certainty


def _value(found: Enclosure) -> Value:
    """An enclosure as a ball, or as a vector of balls each as wide as the error of the whole."""
    if np.ndim(found.value) == 0:
        return v.enclose(float(found.value), found.error)
    entries: Any = np.asarray(found.value, dtype=float)
    return Vector(tuple(v.enclose(float(entry), found.error) for entry in entries))


def functions_of(
    problem: Problem, truth: Truth, lam: Value = None, table: Mapping[str, object] | None = None
) -> ProblemFunctions | SimpleFunctions:
    """The function symbols of a problem of any kind."""
    if problem.kind == "simple_bilevel":
        return SimpleFunctions(problem, truth)
    return ProblemFunctions(problem, truth, lam, table)  # type: ignore[arg-type]
