"""Algorithm 2 (P-AGM-BiO) for l1 norms, and the conceptual method (3)-(6) that projects on the solutions themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bilevel_verify.errors import CertificationError, InfeasibleError, MathematicalError, ParameterError
from bilevel_verify.methods.engine import Outcome, Setup
from bilevel_verify.methods.plain import FloatArray
from bilevel_verify.methods.simple.loops import BLURRED, EPS
from bilevel_verify.methods.simple.steppers import AgmBio, SimpleStepper
from bilevel_verify.problems.composite import Weights, split
from bilevel_verify.truth import truth
from bilevel_verify.truth.simple_bilevel.composite import ends_of

ROUNDING = 64 * EPS


class CompositeAgmBio(AgmBio):
    """P-AGM-BiO: line 6 is a proximal step of ``f_2 + delta_{X_k}``, exact for weighted l1 norms on a box."""

    def __init__(self, setup: Setup) -> None:
        from bilevel_verify.methods.simple.agm import check_step

        check_step(setup)
        composite = split(setup.problem)
        smooth = setup.problem if composite is None else composite.smooth
        super().__init__(replace(setup, problem=smooth))
        none: Weights = (0,) * self.problem.dx
        self.f_weights = np.array(none if composite is None else composite.f_weights, dtype=float)
        self.g_weights = np.array(none if composite is None else composite.g_weights, dtype=float)
        try:
            self.low, self.high = ends_of(setup.problem.feasible, self.problem.dx)
        except MathematicalError as error:
            raise ParameterError(f"p-agm-bio: {error}") from None

    def prox(self, v: FloatArray, weights: FloatArray) -> FloatArray:
        """``argmin |z - v|^2/2 + sum weights |z|`` over the box."""
        soft = np.sign(v) * np.maximum(np.abs(v) - weights, 0.0)
        return np.asarray(np.clip(soft, self.low, self.high))

    def lower_value(self, u: FloatArray) -> float:
        """g = g_1 + g_2."""
        return self.oracles.value_g(u) + float(self.g_weights @ np.abs(u))

    def lower_step(self, w: FloatArray, step: float) -> FloatArray:
        """A proximal gradient step on g."""
        return self.prox(w - step * self.grad_g(w), step * self.g_weights)

    def next_z(self, a: float, y: FloatArray, at: FloatArray, level: float) -> FloatArray:
        """Line 6."""
        c, value = self.grad_g(at), self.oracles.value_g(at)
        v = self.z - a * self.grad_f(y)
        size = float(np.linalg.norm(np.abs(c) + self.g_weights))
        free = self.prox(v, a * self.f_weights)
        rounding = 4.0 * EPS * (abs(value) + abs(level))
        if not size > 0:
            if value - level <= 0:
                return free
            if value - level <= 16.0 * rounding:
                raise CertificationError("the normal of the cut vanishes, and g_k meets g* to rounding")
            raise InfeasibleError(f"pass {self.k}: the cut has no point in Z, so g_k = {level!r} lies below g*")
        b = (level - value) / size + float(c @ at) / size
        reach = float(np.linalg.norm(at))
        blur = rounding / size + 4.0 * EPS * reach
        cut = Cut(v, a * self.f_weights, c / size, self.g_weights / size, b, self.low, self.high)
        if blur > BLURRED * (1.0 + reach) and cut.excess(free) > -blur:
            raise CertificationError(f"the normal of the cut vanishes; its place is known to {blur:.2g} only")
        return cut.solve(self.k, level)


class Cut:
    """``min |z - v|^2/2 + sum p |z|`` over a box and ``<c, z> + sum q |z| <= b``: a root in the multiplier m.

    For a given m the minimiser is a soft threshold clipped to the box; the constraint is piecewise linear and
    non-increasing along it.
    """

    def __init__(
        self,
        v: FloatArray,
        p: FloatArray,
        c: FloatArray,
        q: FloatArray,
        b: float,
        low: FloatArray,
        high: FloatArray,
    ) -> None:
        self.v, self.p, self.c, self.q, self.b, self.low, self.high = v, p, c, q, b, low, high
        self.scale = 1.0 + abs(b) + float(np.linalg.norm(v))

    def point(self, m: float) -> FloatArray:
        """The minimiser for the multiplier m."""
        w = self.v - m * self.c
        return np.asarray(np.clip(np.sign(w) * np.maximum(np.abs(w) - self.p - m * self.q, 0.0), self.low, self.high))

    def excess(self, z: FloatArray) -> float:
        """How far the constraint is violated."""
        return float(self.c @ z + self.q @ np.abs(z)) - self.b

    def least(self) -> float:
        """Minimum of the left side over the box."""
        up, down = self.c + self.q, self.q - self.c  # slopes to the right and to the left of zero
        nearest = np.clip(0.0, self.low, self.high)
        values = up * np.maximum(nearest, 0.0) + down * np.maximum(-nearest, 0.0)
        right = np.where(up < 0, np.where(np.isinf(self.high), -np.inf, 0.0), 0.0)
        left = np.where(down < 0, np.where(np.isinf(self.low), -np.inf, 0.0), 0.0)
        for end, slope, sign in ((self.high, up, 1.0), (self.low, down, -1.0)):
            inside = np.isfinite(end) & (sign * end > 0)
            values = np.where(inside, np.minimum(values, slope * np.abs(end)), values)
        return float(np.sum(values + right + left))

    def solve(self, k: int, level: float) -> FloatArray:
        """The minimiser.

        Raises
        ------
        InfeasibleError : the constraint has no point in the box.
        CertificationError : it has none by a rounding error, or the root was not found to rounding accuracy.
        """
        low, high, m = 0.0, np.inf, 0.0
        best = (np.inf, self.point(0.0))
        if self.excess(best[1]) <= 0:
            return best[1]
        for _ in range(400):
            z = self.point(m)
            value = self.excess(z)
            best = min(best, (abs(value), z), key=lambda pair: pair[0])
            if abs(value) <= 2e-16 * self.scale:
                return z
            low, high = (m, high) if value > 0 else (low, m)
            moving = (z != 0) & (self.low < z) & (z < self.high)
            slope = float(np.sum((self.c + self.q * np.sign(z))[moving] ** 2))
            step = m + value / slope if slope > 0 else low
            if not low < step < high:
                step = 2.0 * m + self.scale if np.isinf(high) else 0.5 * (low + high)
            if step in (low, high) or m > 1e18 * self.scale:
                break
            m = step
        missing = self.least() - self.b
        if missing > 1e-9 * self.scale:
            raise InfeasibleError(f"pass {k}: the cut has no point in Z, so g_k = {level!r} lies below g*")
        if missing > ROUNDING * self.scale or best[0] > 1e-9 * self.scale:
            raise CertificationError(f"the cut misses Z by a rounding error ({missing:.2g})")
        return best[1]


class ConceptualAgm(SimpleStepper):
    """The conceptual method (3)-(6): Tseng's accelerated method over the solutions of the lower level themselves.

    A reference, not a method: the projection on X_g* comes from the exact description that the truth room has.
    """

    blocks = {"y": "x", "z": "x"}  # noqa: RUF012

    def begin(self) -> None:
        """A_0 = 0, z_0 = x_0.

        Raises
        ------
        MathematicalError : the solution set has no exact description.
        """
        from bilevel_verify.truth.sets.convex import project_reduced

        self.start_inside()
        solutions = truth(self.problem).simple.solutions
        if solutions.reduced is None:
            raise MathematicalError(f"the projection on the solution set is not known: {solutions.missing}")
        described = solutions.reduced
        self.onto: Callable[[FloatArray], FloatArray] = lambda v: project_reduced(described, v)
        self.z, self.A = self.x, 0.0

    def iterate(self) -> Outcome | None:
        """(3)-(6)."""
        a = float(self.letters["gamma"]) * (self.k + 1) / (4.0 * float(self.letters["L_f"]))
        share = a / (self.A + a)
        y = (1.0 - share) * self.x + share * self.z
        self.row(x=self.x, y=y, z=self.z)
        self.z = np.asarray(self.onto(self.z - a * self.grad_f(y)))
        self.x = (1.0 - share) * self.x + share * self.z
        self.A += a
        self.k += 1
        return None

    def last_row(self) -> dict[str, FloatArray]:
        """x_K and z_K."""
        return {"x": self.x, "z": self.z}
