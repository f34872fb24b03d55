"""Counting oracles over a family member, with the names of ``bilevel_verify.oracles`` and a log of where was asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.errors import ParameterError
from bilevel_verify.testing.instances.families import Instance

FloatArray = NDArray[np.float64]


class Call(NamedTuple):
    """One question: its kind, where, along which vector (products only), which part of a gradient ("": both)."""

    kind: str
    x: FloatArray
    y: FloatArray
    v: FloatArray | None = None
    part: str = ""


class CountedOracles:
    """Oracles of one instance; every method counts once per call and raises when the budget ends.

    Attributes
    ----------
    dx, dy : dimensions. ``mu``, ``L`` : exact constants of the lower level (of f for a single level).
    budget : most calls of all kinds together. A solver cannot reset anything.
    """

    def __init__(self, instance: Instance, budget: int = 100_000) -> None:
        self.instance = instance
        self.dx, self.dy = instance.dx, instance.dy
        self.mu, self.L = instance.mu, instance.L
        self.kind = instance.kind
        self.budget = budget
        self._made: list[Call] = []

    @property
    def log(self) -> tuple[Call, ...]:
        """Every call so far, in order."""
        return tuple(self._made)

    @property
    def counts(self) -> Mapping[str, int]:
        """Kind -> calls so far."""
        return MappingProxyType(dict(Counter(call.kind for call in self._made)))

    @property
    def calls(self) -> int:
        """All calls so far."""
        return len(self._made)

    def __copy__(self) -> CountedOracles:
        """Itself: what a copy is asked counts, too."""
        return self

    def __deepcopy__(self, memory: object) -> CountedOracles:
        """Itself."""
        return self

    def _ask(
        self, kind: str, x: ArrayLike, y: ArrayLike, along: FloatArray | None = None, part: str = ""
    ) -> tuple[FloatArray, FloatArray]:
        if len(self._made) >= self.budget:
            from bilevel_verify.oracles import BudgetExhausted

            raise BudgetExhausted(f"more than {self.budget} oracle calls")
        point = _vector(x, self.dx, "x"), _vector(y, self.dy, "y")
        self._made.append(Call(kind, *point, along, part))
        return point

    def value_f(self, x: ArrayLike, y: ArrayLike = ()) -> float:
        """f(x, y)."""
        return self.instance.value_f(*self._ask("value_f", x, y))

    def grad_f(self, x: ArrayLike, y: ArrayLike = ()) -> tuple[FloatArray, FloatArray]:
        """Both gradients of f in one call; the second is empty for a single level."""
        a, b = self._ask("grad_f", x, y)
        return self.instance.grad_x_f(a, b), self.instance.grad_y_f(a, b) if self.dy else np.zeros(0)

    def grad_x_f(self, x: ArrayLike, y: ArrayLike = ()) -> FloatArray:
        """Gradient of f in x."""
        return self.instance.grad_x_f(*self._ask("grad_f", x, y, part="x"))

    def grad_y_f(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Gradient of f in y."""
        return self.instance.grad_y_f(*self._ask("grad_f", x, y, part="y"))

    def value_g(self, x: ArrayLike, y: ArrayLike) -> float:
        """The lower objective."""
        return self.instance.value_g(*self._ask("value_g", x, y))

    def grad_g(self, x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Both gradients of the lower objective in one call."""
        point = self._ask("grad_g", x, y)
        return self.instance.grad_x_g(*point), self.instance.grad_y_g(*point)

    def grad_x_g(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Gradient of the lower objective in x."""
        return self.instance.grad_x_g(*self._ask("grad_g", x, y, part="x"))

    def grad_y_g(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Gradient of the lower objective in y."""
        return self.instance.grad_y_g(*self._ask("grad_g", x, y, part="y"))

    def hvp_yy_g(self, x: ArrayLike, y: ArrayLike, v: ArrayLike) -> FloatArray:
        """Hessian-vector product of the lower objective in y."""
        along = _vector(v, self.dy, "v")
        found: FloatArray = self.instance.hess_yy_g(*self._ask("hvp_yy_g", x, y, along)) @ along
        return found

    def jvp_xy_g(self, x: ArrayLike, y: ArrayLike, v: ArrayLike) -> FloatArray:
        """``(nabla^2_xy g) v`` in R^dx for v in R^dy."""
        along = _vector(v, self.dy, "v")
        found: FloatArray = self.instance.hess_xy_g(*self._ask("jvp_xy_g", x, y, along)) @ along
        return found

    def jvp_yx_g(self, x: ArrayLike, y: ArrayLike, u: ArrayLike) -> FloatArray:
        """``(nabla^2_yx g) u`` in R^dy for u in R^dx."""
        along = _vector(u, self.dx, "u")
        found: FloatArray = self.instance.hess_xy_g(*self._ask("jvp_xy_g", x, y, along)).T @ along
        return found

    def hvp_yy_f(self, x: ArrayLike, y: ArrayLike, v: ArrayLike) -> FloatArray:
        """Hessian-vector product of f in y."""
        along = _vector(v, self.dy, "v")
        found: FloatArray = self.instance.hess_f(*self._ask("hvp_yy_f", x, y, along))[2] @ along
        return found

    def jvp_xy_f(self, x: ArrayLike, y: ArrayLike, v: ArrayLike) -> FloatArray:
        """``(nabla^2_xy f) v`` in R^dx for v in R^dy."""
        along = _vector(v, self.dy, "v")
        found: FloatArray = self.instance.hess_f(*self._ask("jvp_xy_f", x, y, along))[1] @ along
        return found

    def hvp_f(self, x: ArrayLike, y: ArrayLike, v: ArrayLike) -> FloatArray:
        """The whole Hessian of f times v in R^(dx + dy)."""
        along = _vector(v, self.dx + self.dy, "v")
        return _times(self.instance.hess_f(*self._ask("hvp_f", x, y, along)), along)

    def hvp_g(self, x: ArrayLike, y: ArrayLike, v: ArrayLike) -> FloatArray:
        """The whole Hessian of the lower objective times v in R^(dx + dy)."""
        along = _vector(v, self.dx + self.dy, "v")
        point = self._ask("hvp_g", x, y, along)
        return _times(tuple(getattr(self.instance, f"hess_{block}_g")(*point) for block in ("xx", "xy", "yy")), along)

    def hess_f(self, x: ArrayLike, y: ArrayLike = ()) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Blocks (xx, xy, yy) of the Hessian of f, one call."""
        return self.instance.hess_f(*self._ask("hess_f", x, y))

    def hess_g(self, x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Blocks (xx, xy, yy) of the Hessian of the lower objective, one call."""
        point = self._ask("hess_g", x, y)
        return tuple(getattr(self.instance, f"hess_{block}_g")(*point) for block in ("xx", "xy", "yy"))


def forget(asked: CountedOracles) -> None:
    """Begin to count anew; not a method, so that no solver finds it on what it is handed."""
    asked._made.clear()


def _times(blocks: tuple[FloatArray, FloatArray, FloatArray], v: FloatArray) -> FloatArray:
    """``[[xx, xy], [xy^T, yy]] v``."""
    xx, xy, yy = blocks
    a, b = v[: len(xx)], v[len(xx) :]
    found: FloatArray = np.concatenate([xx @ a + xy @ b, xy.T @ a + yy @ b])
    return found


def _vector(value: ArrayLike, length: int, name: str) -> FloatArray:
    found: FloatArray = np.array(value, dtype=float)
    if found.shape != (length,):
        raise ParameterError(f"{name} has shape {found.shape}, not ({length},)")
    return found
