"""Values of derived quantities in many digits: blocks are evaluated, linear systems solved, nothing is expanded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import sympy

from bilevel_verify.errors import InputError, MathematicalError
from bilevel_verify.symbolic.derivatives import Derivatives

if TYPE_CHECKING:
    import mpmath


def evaluate(derivation: Derivatives, name: str, point: Mapping[str, object], digits: int) -> mpmath.matrix:
    """Value of one quantity at ``{"x": ..., "y": ..., "w": ..., "lam": ...}`` as an mpmath matrix."""
    from mpmath import workdps

    with workdps(digits):
        return _Numbers(derivation, point).quantity(name)


class _Numbers:
    def __init__(self, derivation: Derivatives, point: Mapping[str, object]) -> None:
        self.derivation = derivation
        self.values = {k: _numbers(point[k], k) for k in ("x", "y", "w")}
        self.lam = None if point["lam"] is None else _numbers([point["lam"]], "lam")[0]

    def block(self, name: str, second: str = "y") -> mpmath.matrix:
        """Matrix of a block, its y taken from ``second`` ("y" or "w")."""
        from mpmath import matrix

        entries = self.derivation.block(name)
        values = [self.number(e, second) for e in entries]
        return matrix(entries.rows, entries.cols) + matrix(_rows(values, entries.cols))

    def number(self, expression: sympy.Expr, second: str = "y") -> mpmath.mpf:
        from mpmath import mp

        d = self.derivation
        table: dict[Any, Any] = {}
        for symbols, key in ((d.x, "x"), (d.y, second)):
            if expression.free_symbols & set(symbols):
                if len(symbols) != len(self.values[key]):
                    raise InputError(f"{key} needs {len(symbols)} values, not {len(self.values[key])}")
                table |= dict(zip(symbols, self.values[key]))
        value = expression.evalf(mp.dps + 10, subs={s: _sympy(v) for s, v in table.items()})
        if not value.is_Number or not value.is_finite:
            raise MathematicalError(f"a derivative is undefined at this point: {str(expression)[:60]}")
        return mp.mpf(value._to_mpmath(mp.prec))

    def quantity(self, name: str) -> mpmath.matrix:
        from mpmath import mp

        kind = self.derivation.problem.kind
        if name == "hypergradient":
            self.derivation._needs_hyper_objective()
            return self.block("f_x") if kind != "bilevel" else self.block("f_x") - self.block("g_xy") * self.v_star()
        if name == "grad_y_star":
            self.derivation._needs_two_levels(name)
            return -_solve(self.block("g_yy"), self.block("g_xy").T).T
        if name == "v_star":
            self.derivation._needs_two_levels(name)
            return self.v_star()
        if name == "hyper_hessian":
            return self.hyper_hessian()
        if name in ("penalty_gradient", "penalty_hessian"):
            self.derivation._needs_penalty(name)
            if self.lam is None:
                raise InputError(f"{name} needs lam")
            return self.penalty_gradient() if name == "penalty_gradient" else self.penalty_hessian()
        if name == "phi":
            return mp.matrix([self.number(self.derivation.problem.f)])
        return self.block(name)

    def v_star(self) -> mpmath.matrix:
        return _solve(self.block("g_yy"), self.block("f_y"))

    def hyper_hessian(self) -> mpmath.matrix:
        kind = self.derivation.problem.kind
        self.derivation._needs_hyper_objective()
        if kind == "single_level":
            return self.block("f_xx")
        if kind == "minimax":
            return self.block("f_xx") - self.block("f_xy") * _solve(self.block("f_yy"), self.block("f_xy").T)
        step, v = self.quantity("grad_y_star"), self.v_star()
        xx, xy, yy = (self.curvature(b, v) for b in ("xx", "xy", "yy"))
        return xx + xy * step.T + step * xy.T + step * yy * step.T

    def curvature(self, name: str, v: mpmath.matrix) -> mpmath.matrix:
        third = sympy.Array(self.derivation.block(f"g_{name}y"))
        result = self.block(f"f_{name}")
        for i in range(third.shape[0]):
            for j in range(third.shape[1]):
                for k in range(third.shape[2]):
                    if third[i, j, k] != 0:
                        result[i, j] -= v[k] * self.number(third[i, j, k])
        return result

    def penalty_gradient(self) -> mpmath.matrix:
        return self.block("f_x") + self.lam * (self.block("g_x") - self.block("g_x", "w"))

    def penalty_hessian(self) -> mpmath.matrix:
        mixed = self.block("f_xy") + self.lam * self.block("g_xy")
        inner = self.block("f_yy") + self.lam * self.block("g_yy")
        mixed_w = self.block("g_xy", "w")
        first = self.block("f_xx") + self.lam * (self.block("g_xx") - self.block("g_xx", "w"))
        return first - mixed * _solve(inner, mixed.T) + self.lam * mixed_w * _solve(self.block("g_yy", "w"), mixed_w.T)


def _numbers(values: Any, what: str) -> list[mpmath.mpf]:
    from mpmath import mp

    result = []
    for value in values if values is not None else ():
        number = mp.mpf(sympy.sympify(value)._to_mpmath(mp.prec)) if isinstance(value, sympy.Basic) else mp.mpf(value)
        if not mp.isfinite(number):
            raise InputError(f"{what} must be finite, not {number}")
        result.append(number)
    return result


def _sympy(value: mpmath.mpf) -> sympy.Expr:
    from mpmath import mp

    return sympy.Float._new(value._mpf_, mp.prec + 40)


def _rows(values: list[mpmath.mpf], columns: int) -> list[list[object]]:
    return [values[i : i + columns] for i in range(0, len(values), columns)]


def _solve(matrix: mpmath.matrix, right: mpmath.matrix) -> mpmath.matrix:
    """``matrix^-1 right`` column by column, by LU with partial pivoting at the working precision."""
    from mpmath import lu_solve, mp

    result = mp.matrix(matrix.rows, right.cols)
    try:
        for j in range(right.cols):
            column = lu_solve(matrix, right[:, j])
            for i in range(matrix.rows):
                result[i, j] = column[i]
    except ZeroDivisionError:
        raise MathematicalError(
            "the lower-level Hessian is singular at this point; the hypergradient is undefined"
        ) from None
    return result
