"""Oracles that somebody else computes, in one pass over data say, in the form that every method of this package takes.

A solver loop in machine code calls addresses of C functions on raw pointers (``convention``): here these are callbacks
into Python, a few microseconds each, so that loops stay compiled while NumPy and SciPy work on the data.
"""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.errors import ParameterError
from bilevel_verify.oracles import forms
from bilevel_verify.oracles.convention import FIELDS, PRODUCTS, OracleSet, new_counts
from bilevel_verify.oracles.oracles import Oracles

FloatArray = NDArray[np.float64]
Parts = Literal["x", "y", "xy"]
Watch = Callable[[str, FloatArray, FloatArray, float], None]
LARGEST_HESSIAN = 4_000_000
"""Entries of a full Hessian beyond which it is refused: what is this large is worked with by products."""
_POINTER = ctypes.POINTER(ctypes.c_double)


class Model(Protocol):
    """A function h = f or g of x, shape (dx,), and y, shape (dy,), with its derivatives along directions.

    ``want`` says which parts of a derivative are asked for; the other part may be None.
    """

    kind: str
    dx: int
    dy: int

    def value(self, h: str, x: FloatArray, y: FloatArray) -> float:
        """h(x, y)."""

    def gradient(
        self, h: str, x: FloatArray, y: FloatArray, want: Parts
    ) -> tuple[FloatArray | None, FloatArray | None]:
        """Both parts of the gradient, shapes (dx,) and (dy,)."""

    def second(
        self, h: str, x: FloatArray, y: FloatArray, u: FloatArray | None, v: FloatArray | None, want: Parts
    ) -> tuple[FloatArray | None, FloatArray | None]:
        """Hessian times (u, v), by one pass over the data; a direction that is None is zero."""


class ExternalProblem:
    """What a method needs to know of a problem that has no formula: kind, dimensions, and where to ask.

    Parameters
    ----------
    model : computes values and derivatives.
    around : a problem whose other attributes (``feasible``, say) methods may ask for; None for none.
    watch : called after every oracle call with its name, x, y and the seconds of processor it took.
    """

    def __init__(self, model: Model, name: str, around: Any = None, watch: Watch | None = None) -> None:
        self.kind, self.dx, self.dy, self.name = model.kind, model.dx, model.dy, name
        self.x, self.y, self.start = getattr(around, "x", range(model.dx)), range(model.dy), None
        self.around = around
        self.ready_oracles = ExternalOracles(self, model, watch)

    def range_of(self, symbol: object) -> tuple[float, float]:
        """Everything is allowed."""
        return -math.inf, math.inf

    def __getattr__(self, name: str) -> object:
        if name == "around" or self.around is None:
            raise AttributeError(f"a problem without a formula has no {name}")
        return getattr(self.around, name)


class ExternalOracles(Oracles):
    """Counted oracles of a model; the public methods are those of :class:`Oracles`, batches apart.

    An exception inside a callback cannot pass through machine code: the answer becomes NaN, which ends the run, and
    ``trouble`` keeps the exception.
    """

    def __init__(
        self, problem: Any, model: Model, watch: Watch | None = None, budget: int | None = None, kept: Any = None
    ) -> None:
        self.problem, self.model, self.watch = problem, model, watch
        self._counts = new_counts(budget)
        self._kept: list[Any] = [] if kept is None else kept
        self.trouble: list[Exception] = []

    def fresh(self, plain: bool = False) -> ExternalOracles:
        """Oracles that count from zero."""
        return ExternalOracles(self.problem, self.model, self.watch, kept=self._kept)

    def unwatched(self) -> ExternalOracles:
        """Oracles that nobody watches."""
        return ExternalOracles(self.problem, self.model, kept=self._kept)

    def can_compile(self, names: Sequence[str]) -> bool:
        """Every oracle has an address; whether loops are compiled is the caller's to say."""
        return True

    def worth_compiling(self, names: Sequence[str], heavy: bool = False) -> bool:
        """Methods whose steps are NumPy ask in Python."""
        return False

    def function_set(self, names: Sequence[str], form: str = "compiled") -> OracleSet:
        """The named oracles as addresses (``compiled``) or as functions on lists or arrays (``plain``).

        Raises
        ------
        ParameterError : many digits are asked for.
        """
        if form not in ("compiled", "plain"):
            raise ParameterError("oracles without a formula have no multi-precision form")
        stub = forms.compiled_stub if form == "compiled" else forms.plain_stub
        make = self._address if form == "compiled" else self._function
        return OracleSet(*(make(field) if field in names else stub(field) for field in FIELDS))

    def answer(self, field: str, x: FloatArray, y: FloatArray, v: FloatArray | None = None) -> FloatArray:
        """One oracle at a point, flat; not counted."""
        begin = time.process_time()
        found = answer(self.model, field, x, y, v)
        if self.watch is not None:
            self.watch(field, x, y, time.process_time() - begin)
        return found

    def _ask(self, field: str, x: ArrayLike, y: ArrayLike, v: ArrayLike | None = None) -> FloatArray:
        self._count(field)
        first, second = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        return self.answer(field, first, second, None if v is None else np.asarray(v, dtype=float))

    def _function(self, field: str) -> Callable[..., None]:
        def evaluate(*arguments: Any) -> None:
            *inputs, out = arguments
            out[:] = self.answer(field, *(np.asarray(a, dtype=float) for a in inputs)).tolist()

        return evaluate

    def _address(self, field: str) -> int:
        lengths = [self.problem.dx, self.problem.dy]
        if field in PRODUCTS:
            direction = {"hvp": sum(lengths), "jvp_yx": lengths[0]}
            lengths.append(direction.get(field.rpartition("_")[0], lengths[1]))

        def evaluate(*pointers: Any) -> None:
            views = [np.ctypeslib.as_array(p, (n,)) if n else np.zeros(0) for p, n in zip(pointers, lengths)]
            try:
                found = self.answer(field, *views)
                np.ctypeslib.as_array(pointers[-1], (len(found),))[:] = found
            except Exception as error:
                self.trouble.append(error)
                pointers[-1][0] = math.nan

        made = ctypes.CFUNCTYPE(None, *[_POINTER] * (len(lengths) + 1))(evaluate)
        self._kept.append(made)
        return int(ctypes.cast(made, ctypes.c_void_p).value or 0)


def answer(model: Model, field: str, x: FloatArray, y: FloatArray, v: FloatArray | None = None) -> FloatArray:
    """The oracle of a name (see ``convention``) from a model: shape as in the table there.

    Raises
    ------
    ParameterError : third derivatives, or a Hessian of more than ``LARGEST_HESSIAN`` entries.
    """
    name, _, h = field.rpartition("_")
    if name == "value":
        return np.array([model.value(h, x, y)])
    if name.startswith("grad"):
        want: Parts = {"grad": "xy", "grad_x": "x", "grad_y": "y"}[name]  # type: ignore[assignment]
        return _joined(model.gradient(h, x, y, want), want)
    if name == "hess":
        return _hessian(model, h, x, y)
    if v is None:
        raise ParameterError(f"oracles without a formula have no {field}")
    if name == "hvp":
        return _joined(model.second(h, x, y, v[: model.dx], v[model.dx :], "xy"), "xy")
    along_x = name == "jvp_yx"
    wanted: Parts = "x" if name == "jvp_xy" else "y"
    return _joined(model.second(h, x, y, v if along_x else None, None if along_x else v, wanted), wanted)


def _joined(parts: tuple[FloatArray | None, FloatArray | None], want: Parts) -> FloatArray:
    chosen = [part for part, name in zip(parts, "xy") if name in want and part is not None]
    return np.concatenate(chosen) if len(chosen) > 1 else chosen[0]


def _hessian(model: Model, h: str, x: FloatArray, y: FloatArray) -> FloatArray:
    """The full Hessian by one product a column, made symmetric; counts as one Hessian."""
    n = model.dx + model.dy
    if n * n > LARGEST_HESSIAN:
        raise ParameterError(f"a full Hessian in {n} variables is too large; take a method that asks for products")
    columns = np.array([_joined(model.second(h, x, y, e[: model.dx], e[model.dx :], "xy"), "xy") for e in np.eye(n)])
    return np.asarray(((columns + columns.T) / 2).ravel())
