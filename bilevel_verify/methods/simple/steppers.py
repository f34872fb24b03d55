"""Simple bilevel methods whose steps are NumPy: what they share, and AGM-BiO on intersections."""

from __future__ import annotations

from typing import Any

import numpy as np

from bilevel_verify.errors import CertificationError, InfeasibleError, ParameterError
from bilevel_verify.methods.engine import Outcome, Setup
from bilevel_verify.methods.plain import FloatArray, PlainStepper
from bilevel_verify.methods.simple.convexity import require_convex
from bilevel_verify.methods.simple.looped import require_inside
from bilevel_verify.methods.simple.loops import BLURRED, EPS
from bilevel_verify.problems.feasible import FeasibleSet
from bilevel_verify.truth.sets.projections import project, project_with_cut


class SimpleStepper(PlainStepper):
    """What all of them share: the feasible set, and gradients of the two objectives."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        feasible = setup.problem.feasible
        assert feasible is not None
        self.feasible: FeasibleSet = feasible
        require_convex(setup.problem)

    def grad_f(self, x: FloatArray) -> FloatArray:
        """Gradient of the upper objective, counted."""
        return self.oracles.grad_f(x)[0]

    def grad_g(self, x: FloatArray) -> FloatArray:
        """Gradient of the lower objective, counted."""
        return self.oracles.grad_g(x)[0]

    def project(self, x: FloatArray) -> FloatArray:
        """Euclidean projection onto Z."""
        return project(self.feasible, x)

    def start_inside(self) -> None:
        """Refuse a start outside Z.

        Raises
        ------
        ParameterError : x0 is not in Z.
        """
        require_inside(self.feasible, self.x)


class AgmBio(SimpleStepper):
    """Algorithm 1 with projections of the truth room: for intersections, which the loops do not know.

    The cut is built at y_k; the methods ``agm-bio-cut-x`` and ``-z`` are the ablations of Remark 3.1.
    """

    blocks = {"y": "x", "z": "x", "g_k": "number"}  # noqa: RUF012

    def begin(self) -> None:
        """A_0 = 0, z_0 = x_0; the values g_k from the user, or from FISTA run beside."""
        self.start_inside()
        self.z, self.A = self.x, 0.0
        self.cut = {"agm-bio-cut-x": "x", "agm-bio-cut-z": "z"}.get(self.setup.method.name, "y")
        given = self.letters.get("g_k")
        made = given is None or isinstance(given, str)
        flag = ("minimum", "values", "constant")[self.setup.method.flags.get("levels", 0)]
        how = given if isinstance(given, str) else flag
        self.values = LowerValues(self, self.x, plain=how == "values") if made else None
        self.given: Any = given
        if self.values is not None and how == "constant":
            first = self.lower_value(self.x)
            self.given = min(first, *(self.values.next() for _ in range(int(self.letters["K"]))))
            self.values = None

    def level(self) -> float:
        """g_k of this pass."""
        return float(self.values.next()) if self.values is not None else self._entry("g_k", self.given)

    def _entry(self, name: str, given: Any) -> float:
        if not isinstance(given, tuple):
            return float(given)
        if self.k >= len(given):
            raise ParameterError(f"{name} has {len(given)} entries, pass {self.k} needs another one")
        return float(given[self.k])

    def iterate(self) -> Outcome | None:
        """Lines 4-8."""
        weights = self.letters.get("a_k")
        a = float(self.letters["gamma"]) * (self.k + 1) / (4.0 * float(self.letters["L_f"]))
        a = a if weights is None else self._entry("a_k", weights)
        share = a / (self.A + a)
        y = (1.0 - share) * self.x + share * self.z
        level, at = self.level(), {"y": y, "x": self.x, "z": self.z}[self.cut]
        next_z = self.next_z(a, y, at, level)  # before the row: a pass that the budget cuts short is none
        self.row(x=self.x, y=y, z=self.z, g_k=np.array([level]))
        self.z = next_z
        self.x = (1.0 - share) * self.x + share * self.z
        self.A += a
        self.k += 1
        return None

    def lower_value(self, u: FloatArray) -> float:
        """g, counted."""
        return self.oracles.value_g(u)

    def lower_step(self, w: FloatArray, step: float) -> FloatArray:
        """A projected gradient step on g."""
        return self.project(w - step * self.grad_g(w))

    def next_z(self, a: float, y: FloatArray, at: FloatArray, level: float) -> FloatArray:
        """Line 6: the step from z_k, projected on the cut built at the point ``at``."""
        c, value = self.grad_g(at), self.oracles.value_g(at)
        return self._onto_the_cut(self.z - a * self.grad_f(y), c, at, value, level)

    def _onto_the_cut(self, v: FloatArray, c: FloatArray, at: FloatArray, value: float, level: float) -> FloatArray:
        """Projection on X_k; a cut that is lost in rounding ends the run with the status ``precision``."""
        size, rounding = float(np.linalg.norm(c)), 4.0 * EPS * (abs(value) + abs(level))
        if not size > 0:
            if value - level <= 0:
                return self.project(v)
            if value - level <= 16.0 * rounding:
                raise CertificationError("the normal of the cut vanishes, and g_k meets g* to rounding")
            raise InfeasibleError(f"pass {self.k}: the cut has no point in Z, so g_k = {level!r} lies below g*")
        reach = float(np.linalg.norm(at))
        blur = rounding / size + 4.0 * EPS * reach
        c = c / size
        b = (level - value) / size + float(c @ at)
        if blur > BLURRED * (1.0 + reach) and float(c @ self.project(v)) - b > -blur:
            raise CertificationError(f"the normal of the cut vanishes; its place is known to {blur:.2g} only")
        try:
            return project_with_cut(self.feasible, v, c, b).point
        except InfeasibleError as empty:
            slack = 1e-9 * (1.0 + abs(b) + (abs(value) + abs(level)) / size)
            try:
                project_with_cut(self.feasible, v, c, b + slack)
            except InfeasibleError:
                raise InfeasibleError(
                    f"pass {self.k}: the cut has no point in Z, so g_k = {level!r} lies below g*"
                ) from None
            raise CertificationError(f"the cut misses Z by a rounding error ({empty})") from None

    def last_row(self) -> dict[str, FloatArray]:
        """x_K and z_K."""
        return {"x": self.x, "z": self.z}


class LowerValues:
    """Values of g along FISTA on the lower level (sheet 3.2): g(u_0), g(u_1), ... if plain, else the least of
    g(u_1) .. g(u_{k+1}), which satisfies (8) at k = 0 as well."""

    def __init__(self, owner: AgmBio, start: FloatArray, plain: bool = False) -> None:
        self.owner, self.u, self.w, self.t, self.plain = owner, start, start, 1.0, plain
        self.best = np.inf

    def next(self) -> float:
        """g_k."""
        if self.plain:
            value = self.owner.lower_value(self.u)
            self.step()
            return value
        self.step()
        self.best = min(self.best, self.owner.lower_value(self.u))
        return self.best

    def step(self) -> None:
        """One accelerated step."""
        u = self.owner.lower_step(self.w, 1.0 / float(self.owner.letters["L_g"]))
        t = (1.0 + np.sqrt(1.0 + 4.0 * self.t * self.t)) / 2.0
        self.w, self.u, self.t = u + (self.t - 1.0) / t * (u - self.u), u, t
