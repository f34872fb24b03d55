"""What follows from f and g: gradients, Hessians, the hypergradient, the hyper-Hessian and the penalty function.

Conventions: ``grad y*`` has shape (dx, dy), ``g_xy`` has shape (dx, dy), gradients are columns. Where a quantity is
taken at the lower-level solution, ``y`` stands for ``y*(x)`` and, in the penalty function, ``y`` for ``y*_lam(x)`` and
``w`` for ``y*(x)`` (fsba, equations (5) and (6)). Everything is computed when it is first asked for.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import sympy
from sympy import ImmutableDenseMatrix as Matrix

from bilevel_verify.errors import InputError
from bilevel_verify.problems import Problem
from bilevel_verify.symbolic.derivation_calculus import gradient
from bilevel_verify.symbolic.derivation_closed_form import solve_lower_level

Function = Literal["f", "g"]
MAXIMUM_INVERSE = 4
"""Largest block of ``g_yy`` that is inverted symbolically; larger ones stay ``Inverse(...)``."""

MAXIMUM_OPERATIONS = 150
"""Operations in such a block, if it has more than two rows."""


class Derivatives:
    """Derivatives of one problem as SymPy objects.

    Attributes
    ----------
    problem : what was derived.
    x, y : symbols of the problem; ``w`` : fresh symbols for the lower-level solution inside the penalty function;
    lam : symbol of the penalty parameter;
    v : symbols that stand for :attr:`v_star` where ``g_yy`` is too large to be inverted symbolically.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.x, self.y = problem.x, problem.y
        taken = {s.name for s in problem.variables}
        self.lam = sympy.Symbol(_fresh("lam", taken), positive=True)
        self.w = tuple(sympy.Symbol(_fresh(f"w{i + 1}", taken), real=True) for i in range(len(self.y)))
        self.v = tuple(sympy.Symbol(_fresh(f"v{i + 1}", taken), real=True) for i in range(len(self.y)))
        self._blocks: dict[str, Any] = {}

    # -- derivatives of f and g -----------------------------------------------------------------------------------

    def function(self, name: Function) -> sympy.Expr:
        """f or g; for minimax ``g = -f``, the function that y minimises."""
        value = self.problem.f if name == "f" else self.problem.lower
        if value is None:
            raise InputError(f"a {self.problem.kind} problem has no {name}")
        return value

    def block(self, name: str) -> sympy.ImmutableDenseNDimArray | sympy.MatrixBase:
        """Partial derivatives by name: ``f_x``, ``g_y`` (columns), ``g_xy`` (dx, dy), ``f_xxy`` (array of rank 3)."""
        found = self._blocks.get(name)
        if found is None:
            function, _, letters = name.partition("_")
            if function not in ("f", "g") or not letters or set(letters) - {"x", "y"} or len(letters) > 4:
                raise InputError(f"no derivative {name!r}; write for example 'f_x', 'g_xy', 'g_yyy'")
            found = self._blocks[name] = self._derive_block(function, letters)
        return found

    def _derive_block(self, function: Any, letters: str) -> sympy.ImmutableDenseNDimArray | sympy.MatrixBase:
        order = "".join(sorted(letters))
        if order != letters:
            axes = sorted(range(len(letters)), key=lambda i: letters[i])
            back = [axes.index(i) for i in range(len(letters))]
            array = sympy.permutedims(sympy.Array(self.block(f"{function}_{order}")), back)
            return _shaped(list(sympy.flatten(array)), array.shape)
        if len(letters) == 1:
            return _shaped(gradient(self.function(function), self._symbols(letters)), (len(self._symbols(letters)),))
        lower = self.block(f"{function}_{letters[:-1]}")
        last = self._symbols(letters[-1])
        entries = [d for e in sympy.flatten(lower) for d in gradient(e, last)]
        return _shaped(entries, tuple(len(self._symbols(b)) for b in letters))

    def _symbols(self, block: str) -> tuple[sympy.Symbol, ...]:
        return self.x if block == "x" else self.y

    def gradient(self, function: Function = "f") -> sympy.MatrixBase:
        """Joint gradient, x first."""
        parts = [self.block(f"{function}_x")] + ([self.block(f"{function}_y")] if self.y else [])
        return Matrix.vstack(*parts)

    def hessian(self, function: Function = "f") -> sympy.MatrixBase:
        """Joint Hessian, x first."""
        xx = self.block(f"{function}_xx")
        if not self.y:
            return xx
        xy, yy = self.block(f"{function}_xy"), self.block(f"{function}_yy")
        return Matrix.vstack(Matrix.hstack(xx, xy), Matrix.hstack(xy.T, yy))

    # -- the lower-level solution ---------------------------------------------------------------------------------

    @cached_property
    def y_star(self) -> tuple[sympy.Expr, ...] | None:
        """``y*(x)`` in closed form, or None where no easy one exists."""
        if not self.y:
            return ()
        if self.problem.kind == "constrained_bilevel":  # a formula for each face
            return None
        return solve_lower_level(list(self.block("g_y")), self.y, self.x)

    @cached_property
    def phi(self) -> sympy.Expr | None:
        """Hyper-objective ``f(x, y*(x))`` in closed form, or None."""
        self._needs_hyper_objective()
        return None if self.y_star is None else self.at_y_star(self.problem.f)

    def at_y_star(self, value: sympy.Expr | sympy.MatrixBase) -> sympy.Expr | sympy.MatrixBase:
        """Any expression or matrix in (x, y) at ``y = y*(x)``; unchanged where ``y*`` has no closed form."""
        if not self.y or self.y_star is None:
            return value
        return value.subs(dict(zip(self.y, self.y_star)), simultaneous=True)

    @cached_property
    def grad_y_star(self) -> sympy.Expr | sympy.MatrixBase:
        """``grad y*(x) = -g_xy g_yy^-1``, shape (dx, dy), at ``y = y*(x)``."""
        self._needs_two_levels("grad_y_star")
        return _product(-self.block("g_xy"), inverse(self.block("g_yy")))

    @cached_property
    def v_star(self) -> sympy.Expr | sympy.MatrixBase:
        """``v = g_yy^-1 f_y``, the solution of the linear system of implicit differentiation, shape (dy, 1)."""
        self._needs_two_levels("v_star")
        return _product(inverse(self.block("g_yy")), self.block("f_y"))

    # -- hyper-objective ------------------------------------------------------------------------------------------

    @cached_property
    def hypergradient(self) -> sympy.Expr | sympy.MatrixBase:
        """``grad phi = f_x - g_xy g_yy^-1 f_y`` at ``y = y*(x)``; minimax: ``f_x`` (Danskin); one level: ``grad f``."""
        self._needs_hyper_objective()
        if self.problem.kind != "bilevel":
            return self.block("f_x")
        return _sum(self.block("f_x"), _product(-self.block("g_xy"), self.v_star))

    @cached_property
    def hyper_hessian(self) -> sympy.Expr | sympy.MatrixBase:
        """``grad^2 phi`` at ``y = y*(x)``.

        With ``S = grad y*`` and ``v = g_yy^-1 f_y`` held fixed it is ``[I S] H [I S]^T``, ``H`` the joint Hessian of
        ``f - v . g_y``: third derivatives of g enter once. Where ``g_yy`` is too large to be inverted symbolically,
        the symbols :attr:`v` and the matrix symbol ``S`` stay. Minimax: the Schur complement, fsba equation (15).
        """
        self._needs_hyper_objective()
        if self.problem.kind == "single_level":
            return self.block("f_xx")
        if self.problem.kind == "minimax":
            f_xy = self.block("f_xy")
            return _sum(self.block("f_xx"), _product(-f_xy, inverse(self.block("f_yy")), f_xy.T))
        step: Any = self.grad_y_star
        if not _explicit(step):
            step = sympy.MatrixSymbol("S", len(self.x), len(self.y))
        xx, xy, yy = (self._curvature(b) for b in ("xx", "xy", "yy"))
        turned = step.T
        return _sum(xx, _product(xy, turned), _product(step, xy.T), _product(step, yy, turned))

    def _curvature(self, block: str) -> sympy.MatrixBase:
        """``f_block - sum_k v_k g_(block, y_k)``; v by its own symbols where it is implicit."""
        v = list(self.v_star) if _explicit(self.v_star) else list(self.v)
        third = sympy.Array(self.block(f"g_{block}y"))
        rows, columns, depth = third.shape
        result = self.block(f"f_{block}")
        for k in range(depth):
            result = result - v[k] * Matrix(rows, columns, lambda i, j, k=k: third[i, j, k])
        return result

    # -- penalty function -----------------------------------------------------------------------------------------

    @cached_property
    def penalty(self) -> sympy.Expr:
        """``L_lam(x; y, w) = f(x, y) + lam (g(x, y) - g(x, w))``."""
        self._needs_penalty("penalty")
        g = self.function("g")
        return self.problem.f + self.lam * (g - self._at_w(g))

    @cached_property
    def penalty_gradient(self) -> sympy.MatrixBase:
        """Equation (5) of fsba: ``f_x(x, y) + lam (g_x(x, y) - g_x(x, w))``."""
        self._needs_penalty("penalty_gradient")
        g_x = self.block("g_x")
        return self.block("f_x") + self.lam * (g_x - self._at_w(g_x))

    @cached_property
    def penalty_hessian(self) -> sympy.Expr | sympy.MatrixBase:
        """Equation (6) of fsba."""
        self._needs_penalty("penalty_hessian")
        g_xx, g_xy, g_yy = (self.block(f"g_{b}") for b in ("xx", "xy", "yy"))
        mixed = self.block("f_xy") + self.lam * g_xy
        inner = self.block("f_yy") + self.lam * g_yy
        mixed_w, inner_w = self._at_w(g_xy), self._at_w(g_yy)
        return _sum(
            self.block("f_xx") + self.lam * (g_xx - self._at_w(g_xx)),
            _product(-mixed, inverse(inner), mixed.T),
            _product(self.lam * mixed_w, inverse(inner_w), mixed_w.T),
        )

    def _at_w(self, value: sympy.MatrixBase) -> sympy.MatrixBase:
        return value.subs(dict(zip(self.y, self.w)), simultaneous=True)

    # -- what exists for which kind -------------------------------------------------------------------------------

    def _needs_two_levels(self, what: str) -> None:
        self._needs_free_lower_level(what)
        if self.problem.kind not in ("bilevel", "minimax"):
            raise InputError(f"a {self.problem.kind} problem has no {what}; it has one block of variables")

    def _needs_penalty(self, what: str) -> None:
        if self.problem.kind != "bilevel":
            raise InputError(f"{what} is defined for bilevel problems, not for {self.problem.kind}")

    def _needs_free_lower_level(self, what: str) -> None:
        if self.problem.kind == "constrained_bilevel":
            raise InputError(
                f"{what} has no one formula where the lower level is constrained: it changes with the face of y*; "
                "truth(p).grad_phi(x) has its value where the face is certain"
            )

    def _needs_hyper_objective(self) -> None:
        self._needs_free_lower_level("the hyper-objective's derivative")
        if self.problem.kind == "simple_bilevel":
            raise InputError("a simple_bilevel problem has no hyper-objective; ask for block('f_x') and block('g_x')")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the quantities that exist for this kind of problem, in reading order."""
        return {
            "bilevel": ("grad_y_star", "hypergradient", "hyper_hessian", "penalty_gradient", "penalty_hessian"),
            "minimax": ("grad_y_star", "hypergradient", "hyper_hessian"),
            "single_level": ("hypergradient", "hyper_hessian"),
            "simple_bilevel": ("f_x", "g_x", "f_xx", "g_xx"),
            "constrained_bilevel": ("f_x", "f_y", "g_y", "g_xy", "g_yy"),
        }[self.problem.kind]

    def quantity(self, name: str) -> sympy.Expr | sympy.MatrixBase:
        """A quantity by name: one of :attr:`names`, or a block such as ``g_xy``."""
        if name in ("y_star", "phi", "penalty", "v_star", *self.names) and not name.startswith(("f_", "g_")):
            return getattr(self, name)
        return self.block(name)


def inverse(matrix: sympy.MatrixBase) -> sympy.Expr | sympy.MatrixBase:
    """Inverse by independent blocks; ``Inverse(matrix)`` unevaluated if a block is too large."""
    components = _components(matrix)
    if any(not _invertible_by_hand(matrix, part) for part in components):
        return sympy.Inverse(matrix)
    result = sympy.zeros(matrix.rows, matrix.cols)
    for part in components:
        entries = [[matrix[i, j] for j in part] for i in part]
        determinant = _determinant(entries)
        for i, row in enumerate(part):
            for j, column in enumerate(part):
                result[row, column] = (-1) ** (i + j) * _determinant(_minor(entries, j, i)) / determinant
    return Matrix(result)


def _invertible_by_hand(matrix: sympy.MatrixBase, part: list[int]) -> bool:
    if len(part) <= 2:
        return True
    size = sum(matrix[i, j].count_ops() for i in part for j in part)
    return bool(len(part) <= MAXIMUM_INVERSE and size <= MAXIMUM_OPERATIONS)


def _minor(entries: list[list[object]], row: int, column: int) -> list[list[object]]:
    return [[e for j, e in enumerate(r) if j != column] for i, r in enumerate(entries) if i != row]


def _determinant(entries: list[list[object]]) -> sympy.Expr:
    """Laplace expansion, products left unexpanded (SymPy's own routines expand and can take minutes)."""
    if not entries:
        return sympy.S.One
    terms = [(-1) ** j * e * _determinant(_minor(entries, 0, j)) for j, e in enumerate(entries[0]) if e != 0]
    return sympy.Add(*terms)


def _components(matrix: sympy.MatrixBase) -> list[list[int]]:
    """Index sets of the finest simultaneous block-diagonal form."""
    todo, result = set(range(matrix.rows)), []
    while todo:
        stack, part = [min(todo)], set()
        while stack:
            i = stack.pop()
            part.add(i)
            stack.extend(j for j in todo - part if matrix[i, j] != 0 or matrix[j, i] != 0)
        todo -= part
        result.append(sorted(part))
    return result


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _shaped(entries: list[sympy.Expr], shape: tuple[int, ...]) -> sympy.ImmutableDenseNDimArray | sympy.MatrixBase:
    if len(shape) <= 2:
        return Matrix(shape[0], shape[1] if len(shape) == 2 else 1, entries)
    return sympy.ImmutableDenseNDimArray(entries, shape)


def _explicit(value: sympy.Expr | sympy.MatrixBase) -> bool:
    return isinstance(value, sympy.MatrixBase)


def _product(*factors: sympy.Expr | sympy.MatrixBase) -> sympy.Expr | sympy.MatrixBase:
    if all(_explicit(f) for f in factors):
        result = factors[0]
        for factor in factors[1:]:
            result = result * factor
        return result
    return sympy.MatMul(*factors)


def _sum(*terms: sympy.Expr | sympy.MatrixBase) -> sympy.Expr | sympy.MatrixBase:
    if all(_explicit(t) for t in terms):
        result = terms[0]
        for term in terms[1:]:
            result = result + term
        return result
    return sympy.MatAdd(*(t for t in terms if not _explicit(t) or any(e != 0 for e in t)))
