"""Simple bilevel instances: minimise f over the minimisers of a convex g in a feasible set, the solution known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing.instances.blocks import Block
from bilevel_verify.testing.instances.families import names
from bilevel_verify.testing.instances.stated import Stated
from bilevel_verify.testing.instances.writing import shifted

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class SimpleInstance(Stated):
    """Simple bilevel: minimise a strongly convex quadratic f over the minimisers of a convex g around the origin.

    ``g`` is a centred block whose eigenvalues and ridges may vanish, so the solution set is ``centre + kernel`` and, f
    being quadratic, ``x*`` is closed-form; the set (``Ball`` or ``Box``) is large enough to be inactive at ``x*``. If
    its ``size`` is given, ``x*`` and ``g*`` are those of the whole space, and projections move a run.
    """

    f: Block
    g: Block
    feasible: str = "Ball"
    size: int = 0

    kind = "simple_bilevel"
    dy = 0

    @property
    def dx(self) -> int:
        """Dimension of x."""
        return self.f.dimension

    @cached_property
    def kernel(self) -> FloatArray:
        """An orthonormal basis of the directions in which g is constant, shape (dx, k)."""
        flat = [i for i, (l, w) in enumerate(zip(self.g.spectrum, self.g.weights)) if l == 0 and w == 0]
        return self.g.basis[flat].T

    @cached_property
    def x_star(self) -> FloatArray:
        """The solution, to rounding."""
        centre = np.array(self.g.centre, dtype=float)
        if not self.kernel.size:
            return centre
        hessian = self.f.hessian(centre)
        step = np.linalg.solve(self.kernel.T @ hessian @ self.kernel, -(self.kernel.T @ self.f.gradient(centre)))
        found: FloatArray = centre + self.kernel @ step
        return found

    @property
    def f_star(self) -> float:
        """Optimal upper value."""
        return self.f.value(self.x_star)

    @property
    def g_star(self) -> float:
        """Minimum of g."""
        return self.g.value(np.array(self.g.centre, dtype=float))

    @property
    def L_f(self) -> float:
        """Smoothness of f: exact."""
        return self.f.L

    @property
    def L_g(self) -> float:
        """Smoothness of g: exact."""
        return self.g.L

    @cached_property
    def radius(self) -> int:
        """Radius (half the side of a box): that given, else one with the solution in the interior."""
        if self.size:
            return self.size
        centre = np.array(self.g.centre, dtype=float)
        return math.ceil(float(np.linalg.norm(self.x_star)) + float(np.linalg.norm(centre))) + 1

    def text(self) -> dict[str, str]:
        """``{"f": ..., "g": ...}`` in the expression language, exact."""
        x = names("x", self.dx)
        centre = self.g.centre or (0,) * self.dx
        return {"f": self.f.text(x), "g": self.g.text(shifted(x, centre))}

    def toml(self) -> str:
        """The text of a problem file."""
        formulas = "".join(f'{key} = "{formula}"\n' for key, formula in self.text().items())
        size = f"radius = {self.radius}"
        if self.feasible == "Box":
            size = f"lo = {[-self.radius] * self.dx}\nhi = {[self.radius] * self.dx}"
        head = f'kind = "{self.kind}"\n{formulas}x = "{" ".join(names("x", self.dx))}"\n'
        return f'{head}\n[feasible]\nset = "{self.feasible}"\n{size}\n'

    def __str__(self) -> str:
        return f"{self.kind}: {self._formulas()}, {self.feasible} of size {self.radius}"

    def __repr__(self) -> str:
        formulas = ", ".join(f"{key} = {formula}" for key, formula in self.text().items())
        return f"<{self.kind}: {formulas}, {self.feasible} of size {self.radius}>"


def nearest(instance: SimpleInstance, x: FloatArray) -> FloatArray:
    """Projection onto the ball or the box."""
    if instance.feasible == "Box":
        return np.clip(x, -instance.radius, instance.radius)
    length = float(np.linalg.norm(x))
    return x if length <= instance.radius else np.asarray(x * (instance.radius / length), dtype=np.float64)
