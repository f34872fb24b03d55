"""What a solver may ask: exact oracles that count their own calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.arguments import checked
from bilevel_verify.errors import BilevelVerifyError, ParameterError
from bilevel_verify.oracles import forms
from bilevel_verify.oracles.batch import batch
from bilevel_verify.oracles.compiling import can_compile
from bilevel_verify.oracles.convention import (
    BUDGET,
    CALLS,
    COUNTERS,
    EXHAUSTED,
    FIELDS,
    KIND_OF,
    NO_BUDGET,
    OracleSet,
    most_calls,
    named_counts,
    new_counts,
)
from bilevel_verify.oracles.programs import Programs, direction_block
from bilevel_verify.problems.numbers import float_array
from bilevel_verify.problems.problem import Problem

FloatArray = NDArray[np.float64]

COMPILE_AFTER = 1000
"""Calls of one oracle from Python after which it is compiled (if compiling was left to us)."""


class BudgetExhausted(BilevelVerifyError, RuntimeError):
    """More oracle calls than the budget allows."""


class Oracles:
    """The oracles of one problem; made by :func:`oracles`.

    Every method counts once per call (both parts of a gradient are one gradient). Arrays are float64: ``x`` of shape
    (dx,), ``y`` of shape (dy,), left out for problems of one block. Batch methods (``*_batch``) serve checks and truth;
    they take points in rows and do not count.
    """

    @checked
    def __init__(self, problem: Problem, compiled: bool | None = None, budget: int | None = None) -> None:
        self.problem = problem
        self.programs = Programs(problem)
        self._compile = compiled
        self._counts = new_counts(budget)
        self._plain: dict[str, Callable[..., None]] = {}
        self._fast: dict[str, Any] = {}
        self._asked: dict[str, int] = {}

    def __repr__(self) -> str:
        name = self.problem.name or self.problem.kind
        return f"<oracles of {name}: {dict(self.counts) or 'nothing asked yet'}>"

    @checked
    def fresh(self, plain: bool = False) -> Oracles:
        """Oracles of the same problem that count from zero; what was derived and compiled is shared.

        Parameters
        ----------
        plain : never ask machine code.
        """
        other = Oracles(self.problem, False if plain else self._compile)
        other.programs, other._plain, other._fast = self.programs, self._plain, self._fast
        other._asked = {} if plain else self._asked
        return other

    # counting

    @property
    def counts(self) -> Mapping[str, int]:
        """Kind -> calls so far."""
        return MappingProxyType(named_counts(self._counts, minimax=self.problem.kind == "minimax"))

    @property
    def counts_array(self) -> NDArray[np.int64]:
        """The counters themselves, for solver loops (see :mod:`bilevel_verify.oracles.convention`)."""
        counts: NDArray[np.int64] = self._counts
        return counts

    def reset(self) -> None:
        """Forget all counts; the budget stays."""
        self._counts[: len(COUNTERS)] = 0
        self._counts[CALLS] = self._counts[EXHAUSTED] = 0

    @property
    def budget(self) -> int | None:
        """Most calls of all kinds together; None for no limit."""
        return None if self._counts[BUDGET] == NO_BUDGET else int(self._counts[BUDGET])

    @budget.setter
    def budget(self, most: int | None) -> None:
        self._counts[BUDGET] = most_calls(most)

    # oracles, as a reader of the paper would ask

    def value_f(self, x: ArrayLike, y: ArrayLike = ()) -> float:
        """f(x, y)."""
        return float(self._ask("value_f", x, y)[0])

    def value_g(self, x: ArrayLike, y: ArrayLike = ()) -> float:
        """g(x, y)."""
        return float(self._ask("value_g", x, y)[0])

    def grad_f(self, x: ArrayLike, y: ArrayLike = ()) -> tuple[FloatArray, FloatArray]:
        """Both parts of the gradient of f, one call: shapes (dx,) and (dy,)."""
        return self._split(self._ask("grad_f", x, y))

    def grad_g(self, x: ArrayLike, y: ArrayLike = ()) -> tuple[FloatArray, FloatArray]:
        """Both parts of the gradient of g, one call: shapes (dx,) and (dy,)."""
        return self._split(self._ask("grad_g", x, y))

    def grad_x_f(self, x: ArrayLike, y: ArrayLike = ()) -> FloatArray:
        """The x-part of the gradient of f; counts as one gradient."""
        return self._ask("grad_x_f", x, y)

    def grad_y_f(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """The y-part of the gradient of f; counts as one gradient."""
        return self._ask("grad_y_f", x, y)

    def grad_x_g(self, x: ArrayLike, y: ArrayLike = ()) -> FloatArray:
        """The x-part of the gradient of g; counts as one gradient."""
        return self._ask("grad_x_g", x, y)

    def grad_y_g(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """The y-part of the gradient of g; counts as one gradient."""
        return self._ask("grad_y_g", x, y)

    def hvp_f(self, x: ArrayLike, y: ArrayLike, v: ArrayLike) -> FloatArray:
        """The full Hessian of f over (x, y) times v of shape (dx + dy,)."""
        return self._ask("hvp_f", x, y, v)

    def hvp_g(self, x: ArrayLike, y: ArrayLike, v: ArrayLike) -> FloatArray:
        """The full Hessian of g over (x, y) times v of shape (dx + dy,)."""
        return self._ask("hvp_g", x, y, v)

    def hvp_yy_f(self, x: ArrayLike, y: ArrayLike, v: ArrayLike) -> FloatArray:
        """(nabla^2_yy f) v, shape (dy,)."""
        return self._ask("hvp_yy_f", x, y, v)

    def hvp_yy_g(self, x: ArrayLike, y: ArrayLike, v: ArrayLike) -> FloatArray:
        """(nabla^2_yy g) v, shape (dy,)."""
        return self._ask("hvp_yy_g", x, y, v)

    def jvp_xy_f(self, x: ArrayLike, y: ArrayLike, v: ArrayLike) -> FloatArray:
        """(nabla^2_xy f) v with v of shape (dy,); shape (dx,)."""
        return self._ask("jvp_xy_f", x, y, v)

    def jvp_xy_g(self, x: ArrayLike, y: ArrayLike, v: ArrayLike) -> FloatArray:
        """(nabla^2_xy g) v with v of shape (dy,); shape (dx,)."""
        return self._ask("jvp_xy_g", x, y, v)

    def jvp_yx_f(self, x: ArrayLike, y: ArrayLike, u: ArrayLike) -> FloatArray:
        """(nabla^2_xy f)^T u with u of shape (dx,); shape (dy,)."""
        return self._ask("jvp_yx_f", x, y, u)

    def jvp_yx_g(self, x: ArrayLike, y: ArrayLike, u: ArrayLike) -> FloatArray:
        """(nabla^2_xy g)^T u with u of shape (dx,); shape (dy,)."""
        return self._ask("jvp_yx_g", x, y, u)

    def hess_f(self, x: ArrayLike, y: ArrayLike = ()) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Blocks (xx, xy, yy) of the Hessian of f, one call."""
        return self._blocks(self._ask("hess_f", x, y))

    def hess_g(self, x: ArrayLike, y: ArrayLike = ()) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Blocks (xx, xy, yy) of the Hessian of g, one call."""
        return self._blocks(self._ask("hess_g", x, y))

    def third_f(self, x: ArrayLike, y: ArrayLike = ()) -> FloatArray:
        """Third derivatives of f in symmetric storage; :func:`unpack_third` gives the full array."""
        return self._ask("third_f", x, y)

    def third_g(self, x: ArrayLike, y: ArrayLike = ()) -> FloatArray:
        """Third derivatives of g in symmetric storage; :func:`unpack_third` gives the full array."""
        return self._ask("third_g", x, y)

    # many points at once (not counted)

    def batch(self, field: str, X: ArrayLike, Y: ArrayLike | None = None, V: ArrayLike | None = None) -> FloatArray:
        """One oracle at many points: rows of ``X`` (n, dx), ``Y`` (n, dy), for products ``V``; result (n, length)."""
        if not isinstance(field, str) or field not in FIELDS:
            raise ParameterError(f"there is no oracle {str(field)[:40]!r}; there are {', '.join(FIELDS)}")
        columns = [np.atleast_2d(float_array(block, field, ParameterError)) for block in (X, Y, V) if block is not None]
        if not columns or len({len(column) for column in columns}) != 1 or any(c.ndim != 2 for c in columns):
            raise ParameterError(f"{field} takes as many rows of every block as points")
        points = np.concatenate(columns, axis=1)
        wanted = sum(length for _, length in self.programs.blocks(field))
        if points.shape[1] != wanted:
            raise ParameterError(f"{field} takes points of {wanted} coordinates, not {points.shape[1]}")
        with np.errstate(all="ignore"):
            return batch(self.programs, field, points)

    def value_f_batch(self, X: ArrayLike, Y: ArrayLike | None = None) -> FloatArray:
        """f at the rows: (n,)."""
        return self.batch("value_f", X, Y)[:, 0]

    def value_g_batch(self, X: ArrayLike, Y: ArrayLike | None = None) -> FloatArray:
        """g at the rows: (n,)."""
        return self.batch("value_g", X, Y)[:, 0]

    def grad_f_batch(self, X: ArrayLike, Y: ArrayLike | None = None) -> tuple[FloatArray, FloatArray]:
        """Gradients of f at the rows: (n, dx) and (n, dy)."""
        return self._split(self.batch("grad_f", X, Y))

    def grad_g_batch(self, X: ArrayLike, Y: ArrayLike | None = None) -> tuple[FloatArray, FloatArray]:
        """Gradients of g at the rows: (n, dx) and (n, dy)."""
        return self._split(self.batch("grad_g", X, Y))

    def hess_f_batch(self, X: ArrayLike, Y: ArrayLike | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Blocks (xx, xy, yy) of the Hessians of f at the rows, each (n, rows, columns)."""
        return self._blocks(self.batch("hess_f", X, Y))

    def hess_g_batch(self, X: ArrayLike, Y: ArrayLike | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Blocks (xx, xy, yy) of the Hessians of g at the rows, each (n, rows, columns)."""
        return self._blocks(self.batch("hess_g", X, Y))

    # for solver loops

    @checked
    def function_set(self, names: Sequence[str], form: str = "compiled") -> OracleSet:
        """The named oracles as functions ``(x, y, out)`` and ``(x, y, v, out)``; stubs for all others.

        Parameters
        ----------
        names : fields of :class:`OracleSet`; nothing else is derived or compiled.
        form : ``compiled`` (numba), ``plain`` (Python floats in lists or arrays), ``multiprecision`` (mpmath numbers),
            ``binary`` (numbers of python-flint, which are quicker).

        Raises
        ------
        ParameterError : unknown name or form, or no compiler (see :meth:`can_compile`).
        """
        unknown = sorted(set(names) - set(FIELDS))
        if unknown:
            raise ParameterError(f"there is no oracle {unknown[0]!r}; there are {', '.join(FIELDS)}")
        if form == "compiled" and not self.can_compile(names):
            raise ParameterError("these oracles cannot be compiled here; ask for form='plain'")
        made = {"compiled": self._compiled, "plain": self._plain_oracle, "multiprecision": self._multiprecision}
        make = (made | {"binary": self._binary}).get(form)
        if make is None:
            raise ParameterError(f"form is 'compiled', 'plain', 'multiprecision' or 'binary', not {form!r}")
        stub = forms.compiled_stub if form == "compiled" else forms.plain_stub
        return OracleSet(*(make(field) if field in names else stub(field) for field in FIELDS))

    @checked
    def can_compile(self, names: Sequence[str]) -> bool:
        """Whether these oracles exist in compiled form (compiles them)."""
        if unknown := sorted(set(names) - set(FIELDS)):
            raise ParameterError(f"there is no oracle {unknown[0]!r}; there are {', '.join(FIELDS)}")
        if self._compile is False or not can_compile():
            return False
        return all(self._compiled(name) is not None for name in names)

    @checked
    def ready(self, names: Iterable[str]) -> bool:
        """Whether the machine code of these oracles is in this process."""
        return all(self._fast.get(name) is not None for name in names)

    @checked
    def worth_compiling(self, names: Sequence[str], heavy: bool = False) -> bool:
        """Whether these oracles should be machine code (compiles them then): they were or will be asked often.

        Sums over data are compiled only where that was asked for: their machine code adds in another order than NumPy,
        and a number may not depend on how often somebody asked before.

        Parameters
        ----------
        heavy : the caller is about to ask them often.
        """
        often = heavy or any(self._asked.get(name, 0) > COMPILE_AFTER for name in names)
        wanted = self._compile is None and often and not any(self.programs.has_data_sums(name[-1]) for name in names)
        return (bool(self._compile) or wanted) and self.can_compile(names)

    # inside

    def _compiled(self, field: str) -> Any:
        if field not in self._fast:
            self._fast[field] = forms.compiled_oracle(self.programs, field)
        return self._fast[field]

    def _plain_oracle(self, field: str) -> Callable[..., None]:
        if field not in self._plain:
            if self.programs.has_data_sums(field[-1]):
                compile_rest = self._compile is not False and can_compile()
                self._plain[field] = forms.array_oracle(self.programs, field, compile_rest)
            else:
                self._plain[field] = forms.plain_oracle(self.programs.source(field))
        return self._plain[field]

    def _multiprecision(self, field: str) -> Callable[..., None]:
        if self.programs.has_data_sums(field[-1]):
            return forms.exact_data_oracle(self.programs, field)
        return forms.multiprecision_oracle(self.programs.source(field))

    def _binary(self, field: str) -> Callable[..., None]:
        if self.programs.has_data_sums(field[-1]):
            return forms.binary_data_oracle(self._multiprecision(field))
        return forms.binary_oracle(self.programs.source(field))

    def _ask(self, field: str, x: ArrayLike, y: ArrayLike, v: ArrayLike | None = None) -> FloatArray:
        lengths = self.programs.ranges
        arguments = [_vector(x, len(lengths["x"]), "x"), _vector(y, len(lengths["y"]), "y")]
        if len(self.programs.blocks(field)) > len(arguments):
            arguments.append(_vector(v, len(lengths[direction_block(field)]), "v"))
        self._count(field)
        asked = self._asked[field] = self._asked.get(field, 0) + 1
        summed = self.programs.has_data_sums(field[-1])
        wanted = self._compile or (self._compile is None and asked > COMPILE_AFTER and not summed)
        fast = self._compiled(field) if wanted and can_compile() else None
        if fast is not None:
            out = np.empty(self.programs.length(field))
            fast(*arguments, out)
            return out
        result = [0.0] * self.programs.length(field)
        if summed:
            out = np.empty(len(result))
            self._plain_oracle(field)(*arguments, out)
            return out
        self._plain_oracle(field)(*(a.tolist() for a in arguments), result)
        return np.array(result)

    def _count(self, field: str) -> None:
        counts = self._counts
        if counts[CALLS] >= counts[BUDGET]:
            counts[EXHAUSTED] = 1
            raise BudgetExhausted(f"the budget of {self.budget} oracle calls is used up; raise budget=")
        counts[COUNTERS.index(KIND_OF[field])] += 1
        counts[CALLS] += 1

    def _split(self, both: FloatArray) -> tuple[FloatArray, FloatArray]:
        return both[..., : self.problem.dx], both[..., self.problem.dx :]

    def _blocks(self, flat: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        dx, n = self.problem.dx, self.problem.dx + self.problem.dy
        full = flat.reshape(*flat.shape[:-1], n, n)
        return full[..., :dx, :dx], full[..., :dx, dx:], full[..., dx:, dx:]


def oracles(problem: Problem, compiled: bool | None = None, budget: int | None = None) -> Oracles:
    """Exact oracles of a problem.

    Parameters
    ----------
    problem : any of the four kinds. For minimax ``g`` stands for ``-f`` and counts as ``f``.
    compiled : True compiles at once, False never; None compiles an oracle once it was asked often (but sums over data,
        which are passes of NumPy then: machine code adds in another order).
    budget : most calls of all kinds together.
    """
    return Oracles(problem, compiled, budget)


def unpack_third(packed: ArrayLike, n: int) -> FloatArray:
    """Symmetric storage to the full (n, n, n) array (leading batch axes are kept)."""
    from itertools import permutations

    from bilevel_verify.symbolic.differentiate import packed_positions

    values = np.asarray(packed, dtype=float)
    full = np.empty((*values.shape[:-1], n, n, n))
    for place, position in enumerate(packed_positions(n)):
        for i, j, k in set(permutations(position)):
            full[..., i, j, k] = values[..., place]
    return full


def _vector(value: ArrayLike | None, length: int, name: str) -> FloatArray:
    array = np.ascontiguousarray(float_array(value, name, ParameterError)).ravel()
    if array.shape[0] != length:
        raise ParameterError(f"{name} has {array.shape[0]} entries; the problem has {length}")
    return array
