"""Atoms given piece by piece, whose derivatives are nodes of their own: ``psi(nu, t)`` and ``huber(delta, t)``.

They are differentiated as long as the weak derivative is a locally integrable function; the next derivative is refused
with :class:`~bilevel_verify.errors.MathematicalError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilevel_verify.atoms.functions import AtomFunction
from bilevel_verify.errors import MathematicalError

if TYPE_CHECKING:
    import sympy
    from sympy.printing.latex import LatexPrinter


class PieceDerivative(AtomFunction):
    """A derivative written ``name_d(k, parameter, t)``."""

    @property
    def order(self) -> int:
        return int(self.args[0])

    @property
    def parameters(self) -> tuple[sympy.Expr, ...]:
        return (self.args[1],)


class psi(AtomFunction):
    """``psi(nu, t)``: the period-4 function whose third derivative ``sgn(s)|s|^nu`` is (nu, 2^(1-nu))-Hoelder."""

    atom = "psi"
    nargs = 2

    @classmethod
    def eval(cls, nu: sympy.Expr, t: sympy.Expr) -> sympy.Expr | None:
        if nu.is_number and not (0 <= nu <= 1):
            raise MathematicalError(f"psi(nu, t) needs 0 <= nu <= 1, not {nu}")
        return None

    def fdiff(self, argindex: int = 2) -> sympy.Expr:
        return psi_d(1, *self.args)

    def _latex_head(self, printer: LatexPrinter) -> str:
        return rf"\psi_{{{printer._print(self.args[0])}}}"


class psi_d(PieceDerivative):
    """``psi_d(k, nu, t)``: derivative of order k = 1..4 of psi (k = 4 in the weak sense, nu > 0)."""

    atom = "psi"
    nargs = 3

    @classmethod
    def eval(cls, k: sympy.Expr, nu: sympy.Expr, t: sympy.Expr) -> sympy.Expr | None:
        return psi(nu, t) if k == 0 else None

    def fdiff(self, argindex: int = 3) -> sympy.Expr:
        k, nu, t = self.args
        if k >= 4 or (k == 3 and nu == 0):
            raise MathematicalError(f"the derivative of order {k + 1} of psi({nu}, .) is not a function")
        return psi_d(k + 1, nu, t)

    def _latex_head(self, printer: LatexPrinter) -> str:
        mark = "'" * self.order if self.order < 4 else f"{{({self.order})}}"
        return rf"\psi_{{{printer._print(self.args[1])}}}^{{{mark}}}".replace("'", r"\prime ")


class huber(AtomFunction):
    """``huber(delta, t)``: ``t^2/2`` for ``|t| <= delta``, else ``delta(|t| - delta/2)``; C^1."""

    atom = "huber"
    nargs = 2
    is_nonnegative = True

    @classmethod
    def eval(cls, delta: sympy.Expr, t: sympy.Expr) -> sympy.Expr | None:
        if delta.is_number and not delta.is_positive:
            raise MathematicalError(f"huber(delta, t) needs delta > 0, not {delta}")
        return cls(delta, -t) if t.could_extract_minus_sign() else None

    def fdiff(self, argindex: int = 2) -> sympy.Expr:
        return huber_d(1, *self.args)

    def _latex_head(self, printer: LatexPrinter) -> str:
        return rf"\operatorname{{huber}}_{{{printer._print(self.args[0])}}}"


class huber_d(PieceDerivative):
    """First (clipped identity) and second (indicator, weak) derivative of Huber's function."""

    atom = "huber"
    nargs = 3

    def fdiff(self, argindex: int = 3) -> sympy.Expr:
        k, delta, t = self.args
        if k >= 2:
            raise MathematicalError(f"the third derivative of huber({delta}, .) is not a function")
        return huber_d(k + 1, delta, t)

    def _latex_head(self, printer: LatexPrinter) -> str:
        return rf"\operatorname{{huber}}_{{{printer._print(self.args[1])}}}^{{{chr(39) * self.order}}}".replace(
            "'", r"\prime "
        )
