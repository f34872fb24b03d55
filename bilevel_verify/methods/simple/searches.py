"""Simple bilevel methods that solve a problem of their own in every iteration: CG-BiO, Bisec-BiO, MNG."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from bilevel_verify.errors import MathematicalError
from bilevel_verify.methods.engine import Outcome, uncounted
from bilevel_verify.methods.plain import FloatArray
from bilevel_verify.methods.simple.geometry import (
    is_rounding_error,
    linear_minimum,
    linear_minimum_with_cut,
    project_on_level_set,
)
from bilevel_verify.methods.simple.steppers import SimpleStepper
from bilevel_verify.problems.feasible import Isotonic, Orthant, WholeSpace
from bilevel_verify.truth.functions.quadratics import quadratic_of


class CgBio(SimpleStepper):
    """CG-BiO: conditional gradients on Z cut by the linearised lower level."""

    blocks = {"s": "x"}  # noqa: RUF012

    def begin(self) -> None:
        """Frank-Wolfe on g until its gap is at most eps_g/2; that point is x_0."""
        self.start_inside()
        target, j = float(self.letters["eps_g"]) / 2.0, 0
        while True:
            slope = self.grad_g(self.x)
            vertex = linear_minimum(self.feasible, slope)
            if float(slope @ (self.x - vertex)) <= target:
                break
            self.x = self.x + 2.0 / (j + 2.0) * (vertex - self.x)
            j += 1
        self.level = self.oracles.value_g(self.x)

    def iterate(self) -> Outcome | None:
        """Linear minimisation of f over the cut, the two gaps, a step of c/(k+2)."""
        of_f, of_g = self.grad_f(self.x), self.grad_g(self.x)
        offset = self.level - self.oracles.value_g(self.x) + float(of_g @ self.x)
        s = linear_minimum_with_cut(self.feasible, of_f, of_g, offset)
        self.row(x=self.x, s=s)
        gap_f, gap_g = float(of_f @ (self.x - s)), float(of_g @ (self.x - s))
        self.k += 1
        if gap_f <= float(self.letters["eps_f"]) and gap_g <= float(self.letters["eps_g"]) / 2.0:
            self.ended = True
            return self.finish("stationary")
        self.x = self.x + float(self.letters["c"]) / (self.k + 1.0) * (s - self.x)
        return None

    def last_row(self) -> dict[str, FloatArray] | None:
        """The iterate that passed the test is recorded already."""
        return None if getattr(self, "ended", False) else {"x": self.x}


class BisecBio(SimpleStepper):
    """Bisec-BiO: bisection on the value of f, each level by an accelerated method on g."""

    length = "steps"

    def begin(self) -> None:
        """x_hat from n_lower accelerated steps on g over Z; [l, u] brackets f*."""
        self.start_inside()
        self.free = uncounted(self.problem)
        self.x = self._lower(self.x, int(self.letters["n_lower"]), None)
        self.g_hat = self.free.value_g(self.x)
        self.low, self.high = float(self.letters["l"]), self.free.value_f(self.x)
        self.best = self.point = self.x
        self.curvature = self._radial()
        self.smoothness = 0.0 if self.curvature is not None else self._smoothness()

    def iterate(self) -> Outcome | None:
        """One level."""
        if self.high - self.low <= float(self.letters["eps_f"]):
            return self.finish("stationary")
        self.row(x=self.point)
        level = (self.low + self.high) / 2.0
        self.point = self._lower(self.point, int(self.letters["n_level"]), level)
        if self.free.value_g(self.point) - self.g_hat <= float(self.letters["eps_g"]) / 2.0:
            self.high, self.best = level, self.point
        else:
            self.low = level
        self.x = self.point
        self.k += 1
        return None

    def output(self) -> FloatArray:
        """The solution of the last level that was reached."""
        return getattr(self, "best", self.x)  # the budget may end while it prepares

    def last_row(self) -> dict[str, FloatArray]:
        """The last computed point."""
        return {"x": getattr(self, "point", self.x)}

    def _lower(self, start: FloatArray, length: int, level: float | None) -> FloatArray:
        """FISTA on g over Z, or over Z cut by the level set of f; the momentum starts afresh."""
        u = w = start
        t, step = 1.0, 1.0 / float(self.letters["L_g"])
        for _ in range(length):
            target = w - step * self.grad_g(w)
            following = self.project(target) if level is None else self._on_level(target, level)
            later = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
            w = following + (t - 1.0) / later * (following - u)
            u, t = following, later
        return u

    def _on_level(self, target: FloatArray, level: float) -> FloatArray:
        free = self.free
        if self.curvature is not None:
            # f = h |x|^2 / 2 on a cone: project on the cone, then scale
            inside, reach = self.project(target), np.sqrt(max(0.0, 2.0 * level / self.curvature))
            size = float(np.linalg.norm(inside))
            return inside if size <= reach else inside * (reach / size)
        return project_on_level_set(
            self.feasible, target, free.value_f, lambda z: free.grad_f(z)[0], level, self.smoothness
        )

    def _radial(self) -> float | None:
        """h where ``f = h |x|^2 / 2`` and Z is a cone; else None."""
        if not isinstance(self.feasible, WholeSpace | Orthant | Isotonic):
            return None
        quadratic = quadratic_of(self.problem.f, self.problem.x)
        if quadratic is None or any(quadratic.q) or quadratic.c:
            return None
        h = quadratic.Q[0][0]
        same = all(v == (h if i == j else 0) for i, row in enumerate(quadratic.Q) for j, v in enumerate(row))
        return float(h) if same and h > 0 else None

    def _smoothness(self) -> float:
        """A bound of the Hessian of f: exact for quadratics, twice the largest eigenvalue met elsewhere."""
        points = [self.x, self.point, *(self.project(self.x + d) for d in np.eye(self.problem.dx))]
        largest = max(float(np.linalg.eigvalsh(self.free.hess_f(p)[0])[-1]) for p in points)
        return 1.001 * largest if self._quadratic() else 2.0 * largest

    def _quadratic(self) -> bool:
        return quadratic_of(self.problem.f, self.problem.x) is not None


class Mng(SimpleStepper):
    """MNG (minimal norm gradient): the minimiser of f over two half-spaces, from the minimiser of f on."""

    def begin(self) -> None:
        """Oracles of the sub-problems are not counted: the method counts one gradient of f and of g an iteration."""
        self.free = uncounted(self.problem)
        constant = quadratic_of(self.problem.f, self.problem.x)
        self.hessian = None if constant is None else np.array(constant.Q, dtype=float)

    def iterate(self) -> Outcome | None:
        """Q_k from the gradient mapping of g, W_k from the gradient of f."""
        M = float(self.letters["M"])
        self.row(x=self.x)
        mapping = M * (self.x - self.project(self.x - self.grad_g(self.x) / M))
        slope = self.grad_f(self.x)
        cuts = []
        if np.any(mapping):
            cuts.append((mapping, float(mapping @ self.x) - 0.75 / M * float(mapping @ mapping)))
        if not is_rounding_error(slope, self._hessian_at(self.x), self.x):  # where f is least, W_k is the whole space
            cuts.append((-slope, -float(slope @ self.x)))
        self.x = self._minimum(cuts)
        self.k += 1
        return None

    def _hessian_at(self, z: FloatArray) -> FloatArray:
        return self.free.hess_f(z)[0] if self.hessian is None else self.hessian

    def _minimum(self, cuts: list[tuple[FloatArray, float]]) -> FloatArray:
        """``argmin f`` over the cuts ``<c, z> <= b``: every choice of binding cuts, the one with valid multipliers."""
        best: tuple[float, FloatArray] | None = None
        for size in range(len(cuts) + 1):
            for binding in combinations(range(len(cuts)), size):
                found = self._equality([cuts[i] for i in binding])
                if found is None:
                    continue
                z, multipliers = found
                slack = [float(c @ z) - b for c, b in cuts]
                scale = [1e-9 * (abs(b) + float(np.linalg.norm(c)) * (1 + float(np.linalg.norm(z)))) for c, b in cuts]
                wrong = max([0.0, *(s for s, t in zip(slack, scale) if s > t), *(-m for m in multipliers if m < -1e-9)])
                if wrong == 0.0:
                    return z
                if best is None or wrong < best[0]:
                    best = (wrong, z)
        if best is None:
            raise MathematicalError("MNG: the sub-problem has no minimiser; f must be strongly convex")
        return best[1]

    def _equality(self, cuts: list[tuple[FloatArray, float]]) -> tuple[FloatArray, FloatArray] | None:
        """Newton on the optimality conditions of ``min f`` with binding cuts; exact in one step for a quadratic."""
        n, m = self.problem.dx, len(cuts)
        A = np.array([c for c, _ in cuts]).reshape(m, n)
        b = np.array([offset for _, offset in cuts])
        z, multipliers = self.x.copy(), np.zeros(m)
        for _ in range(60):
            gradient = self.free.grad_f(z)[0]
            system = np.block([[self._hessian_at(z), A.T], [A, np.zeros((m, m))]])
            try:
                step = np.linalg.solve(system, np.concatenate([-gradient, b - A @ z]))
            except np.linalg.LinAlgError:
                return None
            z, multipliers = z + step[:n], step[n:]
            if float(np.max(np.abs(step[:n]), initial=0.0)) <= 4e-16 * (1.0 + float(np.max(np.abs(z)))):
                break
        return (z, multipliers) if np.all(np.isfinite(z)) else None
