"""The functions that a pseudo-code may call, on one problem, in floats or in many digits, with their calls counted.

They are evaluated from the straight-line programs of f and g directly and share nothing with the compiled oracles that
the solvers use. Counting follows the design: every question is a call, and the x-part and the y-part of one gradient at
one point are one question. One point is one value that the steps hold, not another one that happens to equal it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from bilevel_verify.errors import MathematicalError
from bilevel_verify.numbers.floats import MPMATH, PYTHON_FLOAT
from bilevel_verify.problems.problem import Problem
from bilevel_verify.symbolic.differentiate import gradient, hessian_product
from bilevel_verify.symbolic.program import Program, program_of
from bilevel_verify.theorems.pseudocode.execution import Halt
from bilevel_verify.theorems.pseudocode.numbers import Field, Floats, LinearOperator, Value, is_number

if TYPE_CHECKING:
    from bilevel_verify.truth.high_precision import HighPrecision
    from bilevel_verify.truth.truth import Truth


class LiteralFunctions:
    """``f, g, grad_f, grad_x_f, grad_y_f, ..., hess_yy_g`` and the truth that exit tests mention.

    Parameters
    ----------
    problem : any kind but simple bilevel with projections; for minimax ``g`` is ``-f``.
    numbers : floats (default) or multi-precision.
    noise : explicit perturbations, used in order and cycled; without them ``uniform_ball`` draws from ``seed``.
    lam : penalty in force, for ``grad_L_star``.
    """

    def __init__(
        self,
        problem: Problem,
        numbers: Field | None = None,
        noise: Sequence[Sequence[float]] | None = None,
        seed: int = 0,
        lam: float | None = None,
        digits: int | None = None,
    ) -> None:
        self.problem, self.field = problem, numbers or Floats()
        self.arithmetic = PYTHON_FLOAT if isinstance(self.field, Floats) else MPMATH
        self.counts: Counter[str] = Counter()
        self.noise, self.used, self.random = noise, 0, np.random.default_rng(seed)
        self.lam, self.digits = lam, digits
        self.halves: dict[tuple[str, tuple[int, ...]], tuple[str, Sequence[Value]]] = {}
        self.programs: dict[str, Program] = {}

    @cached_property
    def xs(self) -> list[int]:
        """Places of the variables of x among the inputs of a program."""
        return list(range(self.problem.dx))

    @cached_property
    def ys(self) -> list[int]:
        """Places of the variables of y."""
        return list(range(self.problem.dx, self.problem.dx + self.problem.dy))

    @cached_property
    def answers(self) -> Truth:
        """The truth of the problem."""
        from bilevel_verify.truth import truth

        return truth(self.problem)

    def table(self) -> dict[str, Callable[..., Value]]:
        """Name -> function, for :func:`bilevel_verify.theorems.pseudocode.interpreter.interpret`."""
        found: dict[str, Callable[..., Value]] = {"uniform_ball": self.uniform_ball}
        for name in ("f", "g") if self.problem.lower is not None else ("f",):
            found[name] = partial(self.value, name)
            found[f"grad_{name}"] = partial(self.gradient, name, "both")
            found[f"grad_x_{name}"] = partial(self.gradient, name, "x")
            found[f"grad_y_{name}"] = partial(self.gradient, name, "y")
            found[f"hess_yy_{name}"] = partial(self.operator, name, "yy")
            found[f"hess_xy_{name}"] = partial(self.operator, name, "xy")
        for name in ("grad_phi", "y_star", "grad_L_star"):
            found[name] = partial(self.truth, name)
        if self.problem.lower is not None:
            found["grad_y_L"] = self.penalty_gradient
        return found

    def value(self, name: str, *point: Value) -> Value:
        """f or g at a point (x, y)."""
        self.counts[f"value_{name}"] += 1
        return self._run(name, name, point)[0]

    def gradient(self, name: str, part: str, *point: Value) -> Value:
        """Gradient, or its x- or y-part."""
        self.count_gradient(f"grad_{name}", part, point)
        if part == "both" and self.problem.dy and len(point) == 2:
            wanted = [*self.xs, *self.ys]
        else:
            wanted = self.ys if part == "y" else self.xs
        return self.field.vector(self._run(f"grad_{name}_{part}", name, point, wanted))

    def count_gradient(self, key: str, part: str, point: Sequence[Value]) -> None:
        """A call, unless it is the other part of a gradient of which one part was asked at these very values."""
        place = key, tuple(map(id, point))
        asked, _ = self.halves.pop(place, ("", ()))
        if {asked, part} == {"x", "y"}:
            return
        self.counts[key] += 1
        if part != "both":
            self.halves[place] = part, point  # the values are kept, so that their ids stay their own

    def penalty_gradient(self, x: Value, y: Value) -> Value:
        """Gradient in y of ``f + lam g`` (the term of ``L_lam`` without y does not matter); one gradient of each."""
        if self.lam is None:
            raise MathematicalError("grad_y_L needs the penalty lam")
        return self.gradient("f", "y", x, y) + self.field.number(self.lam) * self.gradient("g", "y", x, y)

    def operator(self, name: str, block: str, x: Value, y: Value) -> LinearOperator:
        """A Hessian block at a point, to be multiplied by vectors; every product counts."""
        rows = self.xs if block[0] == "x" else self.ys
        key = {"yy": f"hvp_yy_{name}", "xy": f"jvp_xy_{name}"}[block]

        def product(v: Value) -> Value:
            self.counts[key] += 1
            program = self._program(f"hess_{block}_{name}", name, lambda p: hessian_product(p, rows, self.ys))
            return self.field.vector(program.run(self.arithmetic, _numbers(key, (x, y, v), len(program.inputs))))

        return LinearOperator(product)

    def truth(self, name: str, x: Value) -> Value:
        """A true quantity at x, recomputed (exit tests that a paper does not count)."""
        _numbers(name, (x,), self.problem.dx)
        self.counts[f"stop_{name}"] += 1
        source: Truth | HighPrecision = self.answers.with_digits(self.digits) if self.digits else self.answers
        if name == "grad_L_star" and self.lam is None:
            raise MathematicalError("grad_L_star needs the penalty lam")
        found = getattr(source, name)(x, self.lam) if name == "grad_L_star" else getattr(source, name)(x)
        return self.field.vector(list(getattr(found, "value", found)))

    def uniform_ball(self, radius: Value) -> Value:
        """The next perturbation: the explicit noise in order, or a uniform draw from the ball."""
        if not is_number(radius):
            raise Halt("undefined", "uniform_ball takes a radius")
        if self.noise is not None:
            row = self.noise[self.used % len(self.noise)]
            self.used += 1
            return self.field.vector(list(np.atleast_1d(row)))
        direction = self.random.standard_normal(self.problem.dx)
        length = float(radius) * self.random.random() ** (1 / self.problem.dx)
        return self.field.vector(list(length * direction / np.linalg.norm(direction)))

    def _program(self, key: str, name: str, derive: Callable[[Program], Program]) -> Program:
        if key not in self.programs:
            expression = self.problem.f if name == "f" else self.problem.lower
            self.programs[key] = derive(program_of(expression, self.problem.variables))
        return self.programs[key]

    def _run(self, key: str, name: str, point: Sequence[Value], wanted: list[int] | None = None) -> list[float]:
        program = self._program(key, name, lambda p: p if wanted is None else gradient(p, wanted))
        return program.run(self.arithmetic, _numbers(key.removesuffix("_both"), point, len(program.inputs)))


def _numbers(name: str, point: Sequence[Value], count: int) -> list[Value]:
    """The numbers of a point, as many as a function takes."""
    if any(not is_number(part) and np.ndim(part) != 1 for part in point):
        raise Halt("undefined", f"{name} takes numbers and vectors")
    numbers = [number for part in point for number in np.atleast_1d(part)]
    if len(numbers) != count:
        raise Halt("undefined", f"{name} takes a point of {count} numbers, not of {len(numbers)}")
    return numbers
