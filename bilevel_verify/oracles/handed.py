"""The oracles as a user's solver gets them: every call counts, every row of a batch is a call, nothing can be reset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bilevel_verify.errors import InputError, ParameterError
from bilevel_verify.oracles.oracles import Oracles
from bilevel_verify.oracles.precise import PreciseOracles

CURVATURE = {
    "bilevel": "L_g",
    "minimax": "ell",
    "single_level": "L",
    "simple_bilevel": "L_g",
    "constrained_bilevel": "L_g",
}
"""Kind of problem -> the constant that is ``L``."""


class HandedOracles:
    """A counting view of the oracles of a problem, with the names of :class:`Oracles`.

    On a run in many digits (``precise``) points are arrays of mpmath numbers, and so are the answers; a point that was
    rounded to floats on the way is refused, since that run would not be one in many digits.

    Attributes
    ----------
    kind : kind of the problem. ``dx``, ``dy`` : dimensions. ``counts`` : kind -> calls so far, batches row by row.
    calls : all of them together. ``budget`` : most of them, None for no limit.
    mu, L : certified constants of the lower level: strong convexity in y, and a Lipschitz constant of its gradient (of
        the gradient of f where there is one level).
    """

    __slots__ = ("__asked",)

    def __init__(self, asked: Oracles) -> None:
        self.__asked = asked

    def __repr__(self) -> str:
        return f"<oracles handed to a solver: {dict(self.counts) or 'nothing asked yet'}>"

    @property
    def kind(self) -> str:
        """Kind of the problem."""
        return self.__asked.problem.kind

    @property
    def dx(self) -> int:
        """Dimension of x."""
        return self.__asked.problem.dx

    @property
    def dy(self) -> int:
        """Dimension of y, 0 on one level."""
        return self.__asked.problem.dy

    @property
    def counts(self) -> Mapping[str, int]:
        """Kind -> calls so far."""
        return self.__asked.counts

    @property
    def calls(self) -> int:
        """All calls so far."""
        return sum(self.counts.values())

    @property
    def budget(self) -> int | None:
        """Most calls of all kinds together."""
        return self.__asked.budget

    @property
    def mu(self) -> Any:
        """Strong convexity of the lower level in y, from below."""
        return self.__constant("mu")

    @property
    def L(self) -> Any:
        """Lipschitz constant of the gradient of the lower level (of f where there is one level), from above."""
        return self.__constant(CURVATURE[self.kind])

    def value_f(self, x: Any, y: Any = ()) -> Any:
        """f(x, y)."""
        return self.__ask("value_f", x, y)

    def value_g(self, x: Any, y: Any = ()) -> Any:
        """g(x, y)."""
        return self.__ask("value_g", x, y)

    def grad_f(self, x: Any, y: Any = ()) -> Any:
        """Both parts of the gradient of f, one call: shapes (dx,) and (dy,)."""
        return self.__ask("grad_f", x, y)

    def grad_g(self, x: Any, y: Any = ()) -> Any:
        """Both parts of the gradient of g, one call: shapes (dx,) and (dy,)."""
        return self.__ask("grad_g", x, y)

    def grad_x_f(self, x: Any, y: Any = ()) -> Any:
        """The x-part of the gradient of f; counts as one gradient."""
        return self.__ask("grad_x_f", x, y)

    def grad_y_f(self, x: Any, y: Any) -> Any:
        """The y-part of the gradient of f; counts as one gradient."""
        return self.__ask("grad_y_f", x, y)

    def grad_x_g(self, x: Any, y: Any = ()) -> Any:
        """The x-part of the gradient of g; counts as one gradient."""
        return self.__ask("grad_x_g", x, y)

    def grad_y_g(self, x: Any, y: Any) -> Any:
        """The y-part of the gradient of g; counts as one gradient."""
        return self.__ask("grad_y_g", x, y)

    def hvp_f(self, x: Any, y: Any, v: Any) -> Any:
        """The full Hessian of f over (x, y) times v of shape (dx + dy,)."""
        return self.__ask("hvp_f", x, y, v)

    def hvp_g(self, x: Any, y: Any, v: Any) -> Any:
        """The full Hessian of g over (x, y) times v of shape (dx + dy,)."""
        return self.__ask("hvp_g", x, y, v)

    def hvp_yy_f(self, x: Any, y: Any, v: Any) -> Any:
        """(nabla^2_yy f) v, shape (dy,)."""
        return self.__ask("hvp_yy_f", x, y, v)

    def hvp_yy_g(self, x: Any, y: Any, v: Any) -> Any:
        """(nabla^2_yy g) v, shape (dy,)."""
        return self.__ask("hvp_yy_g", x, y, v)

    def jvp_xy_f(self, x: Any, y: Any, v: Any) -> Any:
        """(nabla^2_xy f) v with v of shape (dy,); shape (dx,)."""
        return self.__ask("jvp_xy_f", x, y, v)

    def jvp_xy_g(self, x: Any, y: Any, v: Any) -> Any:
        """(nabla^2_xy g) v with v of shape (dy,); shape (dx,)."""
        return self.__ask("jvp_xy_g", x, y, v)

    def jvp_yx_f(self, x: Any, y: Any, u: Any) -> Any:
        """(nabla^2_xy f)^T u with u of shape (dx,); shape (dy,)."""
        return self.__ask("jvp_yx_f", x, y, u)

    def jvp_yx_g(self, x: Any, y: Any, u: Any) -> Any:
        """(nabla^2_xy g)^T u with u of shape (dx,); shape (dy,)."""
        return self.__ask("jvp_yx_g", x, y, u)

    def hess_f(self, x: Any, y: Any = ()) -> Any:
        """Blocks (xx, xy, yy) of the Hessian of f, one call."""
        return self.__ask("hess_f", x, y)

    def hess_g(self, x: Any, y: Any = ()) -> Any:
        """Blocks (xx, xy, yy) of the Hessian of g, one call."""
        return self.__ask("hess_g", x, y)

    def third_f(self, x: Any, y: Any = ()) -> Any:
        """Third derivatives of f in symmetric storage."""
        return self.__ask("third_f", x, y)

    def third_g(self, x: Any, y: Any = ()) -> Any:
        """Third derivatives of g in symmetric storage."""
        return self.__ask("third_g", x, y)

    # many points at once: as many calls as rows

    def value_f_batch(self, X: Any, Y: Any = None) -> Any:
        """f at the rows: (n,)."""
        return self.__rows("value_f", X, Y)

    def value_g_batch(self, X: Any, Y: Any = None) -> Any:
        """g at the rows: (n,)."""
        return self.__rows("value_g", X, Y)

    def grad_f_batch(self, X: Any, Y: Any = None) -> Any:
        """Gradients of f at the rows: (n, dx) and (n, dy)."""
        return self.__rows("grad_f", X, Y)

    def grad_g_batch(self, X: Any, Y: Any = None) -> Any:
        """Gradients of g at the rows: (n, dx) and (n, dy)."""
        return self.__rows("grad_g", X, Y)

    def hess_f_batch(self, X: Any, Y: Any = None) -> Any:
        """Blocks (xx, xy, yy) of the Hessians of f at the rows, each (n, rows, columns)."""
        return self.__rows("hess_f", X, Y)

    def hess_g_batch(self, X: Any, Y: Any = None) -> Any:
        """Blocks (xx, xy, yy) of the Hessians of g at the rows, each (n, rows, columns)."""
        return self.__rows("hess_g", X, Y)

    # inside

    def __ask(self, name: str, *points: Any) -> Any:
        if isinstance(self.__asked, PreciseOracles):
            for point in points:
                all_precise(point)
        return getattr(self.__asked, name)(*points)

    def __rows(self, name: str, X: Any, Y: Any) -> Any:
        first = np.atleast_2d(np.asarray(X))
        second = np.atleast_2d(np.asarray(Y)) if Y is not None else np.zeros((len(first), 0))
        if len(first) != len(second):
            raise ParameterError(f"{name}_batch takes as many rows of y ({len(second)}) as of x ({len(first)})")
        found = [self.__ask(name, x, y) for x, y in zip(first, second)]
        if found and isinstance(found[0], tuple):
            return tuple(np.array(part) for part in zip(*found))
        return np.array(found)

    def __constant(self, name: str) -> Any:
        from bilevel_verify.constants import constants

        try:
            found = constants(self.__asked.problem, only=(name,))[name]
        except (KeyError, InputError):
            raise ParameterError(f"a {self.kind} problem has no constant {name}") from None
        if not np.isfinite(found.value):
            raise ParameterError(f"no finite bound of {name} is known on {found.domain}")
        if isinstance(self.__asked, PreciseOracles):
            import mpmath

            return mpmath.mpf(found.value)
        return found.value


def all_precise(point: Any) -> None:
    """Refuse numbers that were rounded to floats (whole numbers are exact).

    Raises
    ------
    TypeError : there is one.
    """
    for number in np.asarray(point).ravel():
        rounded = float(number) if isinstance(number, float | np.floating) else 0.0
        if not (abs(rounded) < 2.0**53 and rounded.is_integer()):
            raise TypeError("a number of this run was rounded to a float")
