"""The oracles of a run that is compared line by line, and the functions that pseudo-code calls, made from them.

What a paper does not count (an exact gradient in a stopping test, the minimiser of a cubic model, a projection) is
offered as it is, so that a solver can do what the pseudo-code does and its counts can be compared.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.testing.instances.counting import Call, CountedOracles
from bilevel_verify.testing.instances.families import Instance
from bilevel_verify.testing.instances.simple import SimpleInstance, nearest
from bilevel_verify.testing.printed.products import danskin_operator, model_value, penalty_operator
from bilevel_verify.theorems.pseudocode.numbers import LinearOperator

FloatArray = NDArray[np.float64]
NEWTON = 60


class NamedOracles(CountedOracles):
    """Counting oracles of one example of a named method, with what its paper does not count.

    ``grad_phi(x)``, ``grad_L_star(x, lam)``: exact gradients of the hyper-objective and of ``L*_lambda``.
    ``cubic_step(g, H, M)``: the minimiser of the cubic model. ``project(z)``, ``halfspace(z, c, b)``: the nearest
    feasible point, with ``c.z <= b`` besides; ``solutions(z)``: the nearest minimiser of g; ``vertex(p)``,
    ``vertex_below(p, c, b)``: the feasible point (with ``c.z <= b``) where ``p.z`` is least; ``least_f(c, b, p, d)``:
    where f is least among ``c.z <= b``, ``p.z >= d``; ``level_set(z, c)``: the nearest feasible point with ``f <= c``
    (simple bilevel).
    """

    def __init__(self, instance: Instance | SimpleInstance, budget: int) -> None:
        self.watch: Callable[[Call], None] | None = None
        self.simple = instance if isinstance(instance, SimpleInstance) else None
        one_level = Instance("single_level", instance.f) if isinstance(instance, SimpleInstance) else instance
        super().__init__(one_level, budget)
        if self.simple is not None:
            self.kind = self.simple.kind

    def _ask(
        self, kind: str, x: ArrayLike, y: ArrayLike, along: FloatArray | None = None, part: str = ""
    ) -> tuple[FloatArray, FloatArray]:
        point = super()._ask(kind, x, y, along, part)
        if self.watch is not None:
            self.watch(self._made[-1])
        return point

    def value_g(self, x: ArrayLike, y: ArrayLike = ()) -> float:
        """g; of a simple bilevel problem a function of x alone."""
        if self.simple is None:
            return super().value_g(x, y)
        return self.simple.g.value(self._ask("value_g", x, ())[0])

    def grad_g(self, x: ArrayLike, y: ArrayLike = ()) -> Any:
        """Both gradients of g; the gradient of a simple bilevel problem's g."""
        if self.simple is None:
            return super().grad_g(x, y)
        return self.simple.g.gradient(self._ask("grad_g", x, ())[0])

    def grad_phi(self, x: ArrayLike) -> FloatArray:
        """The exact hypergradient, not counted."""
        return self.instance.grad_phi(np.asarray(x, dtype=float))

    def grad_L_star(self, x: ArrayLike, lam: float) -> FloatArray:
        """The exact gradient of ``min_y f + lam (g - g*)``, not counted: Newton steps from y*(x)."""
        at, i = np.asarray(x, dtype=float), self.instance
        z = i.y_star(at)
        y = z
        for _ in range(NEWTON):
            step = np.linalg.solve(
                i.hess_f(at, y)[2] + lam * i.hess_yy_g(at, y), i.grad_y_f(at, y) + lam * i.grad_y_g(at, y)
            )
            y = y - step
            if float(np.linalg.norm(step)) <= 1e-14 * (1 + float(np.linalg.norm(y))):
                break
        found: FloatArray = i.grad_x_f(at, y) + lam * (i.grad_x_g(at, y) - i.grad_x_g(at, z))
        return found

    def cubic_step(self, gradient: ArrayLike, hessian: ArrayLike, M: float) -> FloatArray:
        """The minimiser of ``g.s + s.Hs/2 + M |s|^3/6``."""
        from bilevel_verify.methods.cubic.subproblem import minimise

        return np.asarray(minimise(np.asarray(gradient, float), np.asarray(hessian, float), float(M)).s, dtype=float)

    def project(self, z: ArrayLike) -> FloatArray:
        """The nearest feasible point of a simple bilevel problem."""
        assert self.simple is not None
        return nearest(self.simple, np.asarray(z, dtype=float))

    def halfspace(self, z: ArrayLike, c: ArrayLike, b: float) -> FloatArray:
        """The nearest feasible point with ``c.z <= b``; the nearest feasible one if c = 0."""
        from bilevel_verify.truth.sets.projections import project_with_cut

        assert self.simple is not None
        normal = np.asarray(c, dtype=float)
        size = float(np.linalg.norm(normal))
        if not size > 0:
            return self.project(z)
        feasible = self.simple.problem().feasible
        assert feasible is not None
        found = project_with_cut(feasible, np.asarray(z, dtype=float), normal / size, float(b) / size)
        return np.asarray(found.point, dtype=float)

    def solutions(self, z: ArrayLike) -> FloatArray:
        """The nearest minimiser of g in the ball: an affine set cut by the ball, so that two projections do."""
        assert self.simple is not None
        kernel, centre = self.simple.kernel, np.array(self.simple.g.centre, dtype=float)
        middle = centre - kernel @ (kernel.T @ centre)
        along = kernel @ (kernel.T @ np.asarray(z, dtype=float))
        room, length = float(np.sqrt(self.simple.radius**2 - middle @ middle)), float(np.linalg.norm(along))
        found: FloatArray = middle + along * min(1.0, room / max(length, room))
        return found

    def vertex(self, p: ArrayLike) -> FloatArray:
        """The feasible point where ``p.z`` is least."""
        from bilevel_verify.methods.simple.geometry import linear_minimum

        return np.asarray(linear_minimum(self._feasible(), np.asarray(p, dtype=float)), dtype=float)

    def vertex_below(self, p: ArrayLike, c: ArrayLike, b: float) -> FloatArray:
        """The feasible point with ``c.z <= b`` where ``p.z`` is least."""
        from bilevel_verify.methods.simple.geometry import linear_minimum_with_cut

        slopes = (np.asarray(p, dtype=float), np.asarray(c, dtype=float))
        return np.asarray(linear_minimum_with_cut(self._feasible(), *slopes, float(b)), dtype=float)

    def least_f(self, c: ArrayLike, b: float, p: ArrayLike, d: float) -> FloatArray:
        """Where the quadratic f is least among ``c.z <= b``, ``p.z >= d``: every choice of binding ones in turn."""
        from bilevel_verify.methods.simple.geometry import is_rounding_error

        assert self.simple is not None
        hessian = self.simple.f.hessian(np.zeros(self.dx))
        free: FloatArray = np.linalg.solve(hessian, -self.simple.f.gradient(np.zeros(self.dx))).astype(np.float64)
        rows = [(np.asarray(c, float), float(b)), (-np.asarray(p, float), -float(d))]
        if is_rounding_error(rows[1][0], hessian, free):  # p is the gradient where f is least: no half-space
            rows.pop()
        rows = [(row, bound) for row, bound in rows if np.any(row)]
        z: FloatArray = np.asarray(free, dtype=np.float64)
        for binding in (held for size in range(len(rows) + 1) for held in itertools.combinations(rows, size)):
            z = np.asarray(free, dtype=np.float64)
            if binding:
                A, bounds = np.array([row for row, _ in binding]), np.array([bound for _, bound in binding])
                inverse = np.linalg.solve(hessian, A.T)
                weights = np.linalg.lstsq(A @ inverse, A @ free - bounds, rcond=None)[0]
                if np.any(weights < -1e-9):
                    continue
                z = np.asarray(free - inverse @ weights, dtype=np.float64)
            if all(row @ z - bound <= 1e-9 * (1 + abs(bound)) for row, bound in rows):
                break
        return z

    def level_set(self, z: ArrayLike, c: float) -> FloatArray:
        """The nearest feasible point with ``f <= c``."""
        from bilevel_verify.methods.simple.geometry import project_on_level_set

        assert self.simple is not None
        f = self.simple.f
        found = project_on_level_set(self._feasible(), np.asarray(z, float), f.value, f.gradient, float(c), f.L)
        return np.asarray(found, dtype=float)

    def _feasible(self) -> Any:
        assert self.simple is not None
        return self.simple.problem().feasible


def functions(
    asked: NamedOracles, lam: float | None, noise: FloatArray | None, sigma: float | None = None
) -> Mapping[str, Callable[..., Any]]:
    """Name -> function, as the steps of a card call them. ``lam`` : of ``grad_y_L`` and ``grad_L_star``.

    ``noise`` : the perturbations themselves, used in order; where a paper writes sigma times a unit vector, rows of
    length ``sigma``.
    """
    drawn = [0]

    def uniform_ball(radius: object) -> FloatArray:
        assert noise is not None
        row: FloatArray = noise[drawn[0] % len(noise)]
        drawn[0] += 1
        return row

    def unit_sphere() -> FloatArray:
        assert sigma is not None
        return uniform_ball(sigma) / sigma

    shared: dict[str, Callable[..., Any]] = {
        "f": asked.value_f,
        "cubic_step": asked.cubic_step,
        "uniform_ball": uniform_ball,
        "unit_sphere": unit_sphere,
        "model_value": model_value,
        "solve": lambda A, b: np.linalg.solve(np.array([A @ unit for unit in np.eye(len(b))]).T, b),
    }
    if asked.simple is not None:
        return {**shared, "grad_f": asked.grad_x_f, **_of_two_objectives(asked)}
    if asked.kind == "single_level":
        return {**shared, "grad_f": asked.grad_x_f, "hess_f": lambda x: asked.hess_f(x)[0]}
    return {**shared, **_of_two_levels(asked, lam)}


def _of_two_objectives(asked: NamedOracles) -> dict[str, Callable[..., Any]]:
    def project_on_cut(z: FloatArray, y: FloatArray, level: float) -> FloatArray:
        """X_k: the feasible points with ``g(y) + grad g(y).(z - y) <= g_k``."""
        c = asked.grad_g(y)
        return asked.halfspace(z, c, float(level - asked.value_g(y) + c @ y))

    return {
        "g": asked.value_g,
        "grad_g": asked.grad_g,
        "project": asked.project,
        "halfspace": asked.halfspace,
        "solutions": asked.solutions,
        "vertex": asked.vertex,
        "vertex_below": asked.vertex_below,
        "least_f": asked.least_f,
        "level_set": asked.level_set,
        "project_on_cut": project_on_cut,
    }


def _of_two_levels(asked: NamedOracles, lam: float | None) -> dict[str, Callable[..., object]]:
    weight = float("nan") if lam is None else float(lam)

    def H_hat(x: FloatArray, y: FloatArray, w: FloatArray) -> FloatArray:
        """(6) of the fsba paper."""
        f, g, h = asked.hess_f(x, y), asked.hess_g(x, y), asked.hess_g(x, w)
        mixed, lower = f[1] + weight * g[1], f[2] + weight * g[2]
        penalty = f[0] + weight * (g[0] - h[0]) - mixed @ np.linalg.solve(lower, mixed.T)
        found: FloatArray = penalty + weight * (h[1] @ np.linalg.solve(h[2], h[1].T))
        return found

    def S_hat(x: FloatArray, y: FloatArray) -> FloatArray:
        """(15) of the fsba paper."""
        xx, xy, yy = asked.hess_f(x, y)
        found: FloatArray = xx - xy @ np.linalg.solve(yy, xy.T)
        return found

    return {
        "g": asked.value_g,
        "grad_x_f": asked.grad_x_f,
        "grad_y_f": asked.grad_y_f,
        "grad_x_g": asked.grad_x_g,
        "grad_y_g": asked.grad_y_g,
        "grad_y_L": lambda x, y: asked.grad_y_f(x, y) + weight * asked.grad_y_g(x, y),
        "hess_yy_g": lambda x, y: LinearOperator(lambda v: asked.hvp_yy_g(x, y, v)),
        "hess_xy_g": lambda x, y: LinearOperator(lambda v: asked.jvp_xy_g(x, y, v)),
        "hess_g_yy": lambda x, y: asked.hess_g(x, y)[2],
        "hess_g_xy": lambda x, y: asked.hess_g(x, y)[1],
        "zeros_y": lambda: np.zeros(asked.dy),
        "grad_L_star": lambda x: asked.grad_L_star(x, weight),
        "H_hat": H_hat,
        "S_hat": S_hat,
        "C_hat": penalty_operator(asked, weight),
        "C_star": danskin_operator(asked),
    }
