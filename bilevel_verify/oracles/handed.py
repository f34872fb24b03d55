"""The oracles as a user's solver gets them: every call counts, every row of a batch is a call, nothing can be reset."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.errors import InputError, ParameterError, SolverError
from bilevel_verify.oracles.convention import FIELDS
from bilevel_verify.oracles.oracles import Oracles
from bilevel_verify.oracles.precise import PreciseOracles

if TYPE_CHECKING:
    import mpmath

    from bilevel_verify.constants import Constant
    from bilevel_verify.problems.problem import Problem

    class _Asked(Oracles):
        """What the window shows."""

        kind: str
        dx: int
        dy: int
        precise: bool

        def constant(self, name: str) -> Constant: ...


FloatArray = NDArray[np.float64]
Found = TypeVar("Found")
Notice = Callable[[tuple[object, ...]], None]
CURVATURE = {
    "bilevel": "L_g",
    "minimax": "ell",
    "single_level": "L",
    "simple_bilevel": "L_g",
    "constrained_bilevel": "L_g",
}
"""Kind of problem -> the constant that is ``L``."""


class _Window:
    """What may be asked of oracles, and nothing else: the one who holds it holds neither them nor their counters.

    They live in a closure. Who takes that apart (or frames, or memory) has left what Python keeps private.
    """

    __slots__ = ("__look",)

    def __init__(self, asked: Oracles, notice: Notice | None) -> None:
        self.__look = _looking(asked, notice)

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):  # a copy in the making has no slots yet
            raise AttributeError(name)
        return self.__look(name)


def _looking(asked: Oracles, notice: Notice | None) -> Callable[[str], Any]:
    """Questions and facts by name, in the process that counts; ``notice`` sees the points of every question."""
    home, turn = os.getpid(), threading.RLock()
    precise = isinstance(asked, PreciseOracles)

    def here() -> None:
        if os.getpid() != home:
            raise SolverError("a child process of the solver asks its oracles: they count where the solver was called")

    def look(name: str) -> Any:
        here()
        if name == "precise":
            return precise
        if name in ("kind", "dx", "dy"):
            return getattr(asked.problem, name)
        if name in ("counts", "budget"):
            return getattr(asked, name)
        if name not in FIELDS and name != "constant":
            raise AttributeError(name)

        def question(*points: Any) -> Any:
            here()
            if name == "constant":
                return _constant(asked.problem, *points)
            with turn:
                answer = getattr(asked, name)(*points)
            if notice is not None:
                notice(points)
            return answer

        return question

    return look


def _constant(problem: Problem, name: str) -> Constant:
    from bilevel_verify.constants import constants

    try:
        return constants(problem, only=(name,))[name]
    except (KeyError, InputError):
        raise ParameterError(f"a {problem.kind} problem has no constant {name}") from None


class HandedOracles:
    """A counting view of the oracles of a problem, with the names of :class:`Oracles`.

    On a run in many digits (``precise``) points are arrays of mpmath numbers, and so are the answers; a point that was
    rounded to floats on the way is refused, since that run would not be one in many digits. Threads ask one after
    another; in a child process, whose calls nobody here could count, every question is refused.

    Attributes
    ----------
    kind : kind of the problem. ``dx``, ``dy`` : dimensions. ``counts`` : kind -> calls so far, batches row by row.
    calls : all of them together. ``budget`` : most of them, None for no limit.
    mu, L : certified constants of the lower level: strong convexity in y, and a Lipschitz constant of its gradient (of
        the gradient of f where there is one level).
    """

    __slots__ = ("__asked",)

    def __init__(self, asked: Oracles, notice: Notice | None = None) -> None:
        self.__asked = cast("_Asked", _Window(asked, notice))

    def __repr__(self) -> str:
        return f"<oracles handed to a solver: {dict(self.counts) or 'nothing asked yet'}>"

    @property
    def kind(self) -> str:
        """Kind of the problem."""
        return self.__asked.kind

    @property
    def dx(self) -> int:
        """Dimension of x."""
        return self.__asked.dx

    @property
    def dy(self) -> int:
        """Dimension of y, 0 on one level."""
        return self.__asked.dy

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
    def mu(self) -> mpmath.mpf | float:
        """Strong convexity of the lower level in y, from below."""
        return self.__constant("mu")

    @property
    def L(self) -> mpmath.mpf | float:
        """Lipschitz constant of the gradient of the lower level (of f where there is one level), from above."""
        return self.__constant(CURVATURE[self.kind])

    def value_f(self, x: ArrayLike, y: ArrayLike = ()) -> float:
        """f(x, y)."""
        return self.__asked.value_f(*self.__seen(x, y))

    def value_g(self, x: ArrayLike, y: ArrayLike = ()) -> float:
        """g(x, y)."""
        return self.__asked.value_g(*self.__seen(x, y))

    def grad_f(self, x: ArrayLike, y: ArrayLike = ()) -> tuple[FloatArray, FloatArray]:
        """Both parts of the gradient of f, one call: shapes (dx,) and (dy,)."""
        return self.__asked.grad_f(*self.__seen(x, y))

    def grad_g(self, x: ArrayLike, y: ArrayLike = ()) -> tuple[FloatArray, FloatArray]:
        """Both parts of the gradient of g, one call: shapes (dx,) and (dy,)."""
        return self.__asked.grad_g(*self.__seen(x, y))

    def grad_x_f(self, x: ArrayLike, y: ArrayLike = ()) -> FloatArray:
        """The x-part of the gradient of f; counts as one gradient."""
        return self.__asked.grad_x_f(*self.__seen(x, y))

    def grad_y_f(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """The y-part of the gradient of f; counts as one gradient."""
        return self.__asked.grad_y_f(*self.__seen(x, y))

    def grad_x_g(self, x: ArrayLike, y: ArrayLike = ()) -> FloatArray:
        """The x-part of the gradient of g; counts as one gradient."""
        return self.__asked.grad_x_g(*self.__seen(x, y))

    def grad_y_g(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """The y-part of the gradient of g; counts as one gradient."""
        return self.__asked.grad_y_g(*self.__seen(x, y))

    def hvp_f(self, x: ArrayLike, y: ArrayLike, v: ArrayLike) -> FloatArray:
        """The full Hessian of f over (x, y) times v of shape (dx + dy,)."""
        return self.__asked.hvp_f(*self.__seen(x, y, v))

    def hvp_g(self, x: ArrayLike, y: ArrayLike, v: ArrayLike) -> FloatArray:
        """The full Hessian of g over (x, y) times v of shape (dx + dy,)."""
        return self.__asked.hvp_g(*self.__seen(x, y, v))

    def hvp_yy_f(self, x: ArrayLike, y: ArrayLike, v: ArrayLike) -> FloatArray:
        """(nabla^2_yy f) v, shape (dy,)."""
        return self.__asked.hvp_yy_f(*self.__seen(x, y, v))

    def hvp_yy_g(self, x: ArrayLike, y: ArrayLike, v: ArrayLike) -> FloatArray:
        """(nabla^2_yy g) v, shape (dy,)."""
        return self.__asked.hvp_yy_g(*self.__seen(x, y, v))

    def jvp_xy_f(self, x: ArrayLike, y: ArrayLike, v: ArrayLike) -> FloatArray:
        """(nabla^2_xy f) v with v of shape (dy,); shape (dx,)."""
        return self.__asked.jvp_xy_f(*self.__seen(x, y, v))

    def jvp_xy_g(self, x: ArrayLike, y: ArrayLike, v: ArrayLike) -> FloatArray:
        """(nabla^2_xy g) v with v of shape (dy,); shape (dx,)."""
        return self.__asked.jvp_xy_g(*self.__seen(x, y, v))

    def jvp_yx_f(self, x: ArrayLike, y: ArrayLike, u: ArrayLike) -> FloatArray:
        """(nabla^2_xy f)^T u with u of shape (dx,); shape (dy,)."""
        return self.__asked.jvp_yx_f(*self.__seen(x, y, u))

    def jvp_yx_g(self, x: ArrayLike, y: ArrayLike, u: ArrayLike) -> FloatArray:
        """(nabla^2_xy g)^T u with u of shape (dx,); shape (dy,)."""
        return self.__asked.jvp_yx_g(*self.__seen(x, y, u))

    def hess_f(self, x: ArrayLike, y: ArrayLike = ()) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Blocks (xx, xy, yy) of the Hessian of f, one call."""
        return self.__asked.hess_f(*self.__seen(x, y))

    def hess_g(self, x: ArrayLike, y: ArrayLike = ()) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Blocks (xx, xy, yy) of the Hessian of g, one call."""
        return self.__asked.hess_g(*self.__seen(x, y))

    def third_f(self, x: ArrayLike, y: ArrayLike = ()) -> FloatArray:
        """Third derivatives of f in symmetric storage."""
        return self.__asked.third_f(*self.__seen(x, y))

    def third_g(self, x: ArrayLike, y: ArrayLike = ()) -> FloatArray:
        """Third derivatives of g in symmetric storage."""
        return self.__asked.third_g(*self.__seen(x, y))

    # many points at once: as many calls as rows

    def value_f_batch(self, X: ArrayLike, Y: ArrayLike | None = None) -> FloatArray:
        """f at the rows: (n,)."""
        return np.array(self.__rows(self.value_f, X, Y))

    def value_g_batch(self, X: ArrayLike, Y: ArrayLike | None = None) -> FloatArray:
        """g at the rows: (n,)."""
        return np.array(self.__rows(self.value_g, X, Y))

    def grad_f_batch(self, X: ArrayLike, Y: ArrayLike | None = None) -> tuple[FloatArray, FloatArray]:
        """Gradients of f at the rows: (n, dx) and (n, dy)."""
        found = self.__rows(self.grad_f, X, Y)
        return np.array([x for x, _ in found]), np.array([y for _, y in found])

    def grad_g_batch(self, X: ArrayLike, Y: ArrayLike | None = None) -> tuple[FloatArray, FloatArray]:
        """Gradients of g at the rows: (n, dx) and (n, dy)."""
        found = self.__rows(self.grad_g, X, Y)
        return np.array([x for x, _ in found]), np.array([y for _, y in found])

    def hess_f_batch(self, X: ArrayLike, Y: ArrayLike | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Blocks (xx, xy, yy) of the Hessians of f at the rows, each (n, rows, columns)."""
        return _blocks(self.__rows(self.hess_f, X, Y))

    def hess_g_batch(self, X: ArrayLike, Y: ArrayLike | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Blocks (xx, xy, yy) of the Hessians of g at the rows, each (n, rows, columns)."""
        return _blocks(self.__rows(self.hess_g, X, Y))

    # inside

    def __seen(self, *points: ArrayLike) -> tuple[ArrayLike, ...]:
        """The points as they are; on a run in many digits none may have been rounded."""
        if self.__asked.precise:
            for point in points:
                all_precise(point)
        return points

    def __rows(self, ask: Callable[[ArrayLike, ArrayLike], Found], X: ArrayLike, Y: ArrayLike | None) -> list[Found]:
        first = np.atleast_2d(np.asarray(X))
        second = np.atleast_2d(np.asarray(Y)) if Y is not None else np.zeros((len(first), 0))
        if len(first) != len(second):
            name = getattr(ask, "__name__", "")
            raise ParameterError(f"{name}_batch takes as many rows of y ({len(second)}) as of x ({len(first)})")
        return [ask(x, y) for x, y in zip(first, second)]

    def __constant(self, name: str) -> mpmath.mpf | float:
        found = self.__asked.constant(name)
        if not np.isfinite(found.value):
            raise ParameterError(f"no finite bound of {name} is known on {found.domain}")
        if self.__asked.precise:
            import mpmath

            return mpmath.mpf(found.value)
        return found.value


def _blocks(
    found: Sequence[tuple[FloatArray, FloatArray, FloatArray]],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Blocks of many rows, one array for each."""
    return np.array([xx for xx, _, _ in found]), np.array([xy for _, xy, _ in found]), np.array([b[2] for b in found])


def all_precise(point: object) -> None:
    """Refuse numbers that were rounded to floats (whole numbers are exact).

    Raises
    ------
    TypeError : there is one.
    """
    for number in np.asarray(point).ravel():
        rounded = float(number) if isinstance(number, float | np.floating) else 0.0
        if not (abs(rounded) < 2.0**53 and rounded.is_integer()):
            raise TypeError("a number of this run was rounded to a float")
