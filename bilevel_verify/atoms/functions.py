"""SymPy functions of our own: atoms that SymPy lacks, or whose kinks and tails it loses.

``softplus sigmoid logcosh logsumexp`` never overflow; ``abspow(p, t) = |t|^p``, ``sgnpow(p, t) = sgn(t)|t|^p``,
``pluspow(p, t) = max(t, 0)^p`` keep their limited smoothness visible, as do the atoms of
:mod:`bilevel_verify.atoms.pieces`. They are differentiated as long as the weak derivative is a locally integrable
function; the next derivative is refused with :class:`~bilevel_verify.errors.MathematicalError` (SymPy would return
zero, or a Dirac delta).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy
from sympy import Function, Integer, Rational, S

from bilevel_verify.atoms.kernels import multiprecision
from bilevel_verify.errors import MathematicalError

if TYPE_CHECKING:
    from sympy.printing.latex import LatexPrinter


class AtomFunction(Function):  # type: ignore[misc]
    """Base of the atoms of our own. ``atom`` is the name in the table; parameters come before the argument."""

    atom: str = ""
    is_real = True

    @property
    def order(self) -> int:
        """Order of the derivative that this node stands for."""
        return 0

    @property
    def parameters(self) -> tuple[sympy.Expr, ...]:
        """Parameters of the atom (``nu``, ``p``, ``delta``)."""
        return tuple(self.args[:-1])

    @property
    def argument(self) -> sympy.Expr:
        """The argument that is differentiated."""
        return self.args[-1]

    def _eval_evalf(self, prec: int) -> sympy.Expr:
        from mpmath import mp, workprec

        if self.free_symbols:
            return None
        with workprec(prec + 20):
            values = [mp.mpf(a.evalf(mp.dps + 5)._to_mpmath(prec + 20)) for a in (self.argument, *self.parameters)]
            result = multiprecision(self.atom, self.order)(*values)
            return sympy.Expr._from_mpmath(result, prec)

    def _latex_argument(self, printer: LatexPrinter) -> str:
        return r"\left(" + str(printer._print(self.argument)) + r"\right)"

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        head = self._latex_head(printer) + self._latex_argument(printer)
        return head if exp is None else rf"{{{head}}}^{{{exp}}}"

    def _latex_head(self, printer: LatexPrinter) -> str:
        return rf"\operatorname{{{self.atom}}}"


class softplus(AtomFunction):
    """``log(1 + e^t)``."""

    atom = "softplus"
    nargs = 1
    is_positive = True

    @classmethod
    def eval(cls, t: sympy.Expr) -> sympy.Expr | None:
        return {S.Zero: sympy.log(2), S.NegativeInfinity: S.Zero, S.Infinity: S.Infinity}.get(t)

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return sigmoid(self.args[0])

    def _eval_rewrite_as_exp(self, t: sympy.Symbol, **hints: object) -> sympy.Expr:
        return sympy.log(1 + sympy.exp(t), evaluate=False)


class sigmoid(AtomFunction):
    """``1/(1 + e^-t)``."""

    atom = "sigmoid"
    nargs = 1
    is_positive = True

    @classmethod
    def eval(cls, t: sympy.Expr) -> sympy.Expr | None:
        return {S.Zero: S.Half, S.NegativeInfinity: S.Zero, S.Infinity: S.One}.get(t)

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return sigmoid_d(1, self.args[0])

    def _eval_rewrite_as_exp(self, t: sympy.Symbol, **hints: object) -> sympy.Expr:
        return 1 / (1 + sympy.exp(-t))

    def _latex_head(self, printer: LatexPrinter) -> str:
        return r"\sigma"


class sigmoid_d(AtomFunction):
    """``sigmoid_d(k, t)``: derivative of order k >= 1 of the sigmoid."""

    atom = "sigmoid"
    nargs = 2

    @property
    def order(self) -> int:
        return int(self.args[0])

    @property
    def parameters(self) -> tuple[sympy.Expr, ...]:
        return ()

    @classmethod
    def eval(cls, k: sympy.Expr, t: sympy.Expr) -> sympy.Expr | None:
        if k == 0:
            return sigmoid(t)
        if t == 0:
            return sigmoid_polynomial(int(k)).eval(Rational(1, 2))
        return None

    def fdiff(self, argindex: int = 2) -> sympy.Expr:
        return sigmoid_d(self.args[0] + 1, self.args[1])

    def _eval_rewrite_as_sigmoid(self, k: sympy.Expr, t: sympy.Symbol, **hints: object) -> sympy.Expr:
        return sigmoid_polynomial(int(k)).as_expr().subs(_S, sigmoid(t))

    def _latex_head(self, printer: LatexPrinter) -> str:
        return r"\sigma" + ("'" * self.order if self.order < 4 else f"^{{({self.order})}}")


_S = sympy.Dummy("s", real=True)


def sigmoid_polynomial(order: int) -> sympy.Poly:
    """``P`` with ``sigmoid^(order) = P(sigmoid)`` (``P -> s(1-s)P'``), as a SymPy polynomial."""
    p = sympy.Poly(_S, _S)
    for _ in range(order):
        p = sympy.Poly(_S - _S**2, _S) * p.diff(_S)
    return p


class logcosh(AtomFunction):
    """``log(cosh(t))``."""

    atom = "logcosh"
    nargs = 1
    is_nonnegative = True

    @classmethod
    def eval(cls, t: sympy.Expr) -> sympy.Expr | None:
        if t == 0:
            return S.Zero
        return cls(-t) if t.could_extract_minus_sign() else None

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return sympy.tanh(self.args[0])

    def _eval_rewrite_as_cosh(self, t: sympy.Symbol, **hints: object) -> sympy.Expr:
        return sympy.log(sympy.cosh(t), evaluate=False)

    def _latex_head(self, printer: LatexPrinter) -> str:
        return r"\log\cosh"


class logsumexp(Function):  # type: ignore[misc]
    """``log(e^a1 + ... + e^an)``; its partial derivatives are the softmax ``e^(ai - logsumexp)``, never above 1."""

    is_real = True

    @classmethod
    def eval(cls, *arguments: sympy.Expr) -> sympy.Expr | None:
        if len(arguments) == 1:
            return arguments[0]
        ordered = tuple(sorted(arguments, key=sympy.default_sort_key))
        if len(arguments) == 2:
            return ordered[0] + softplus(ordered[1] - ordered[0])
        return None if ordered == arguments else cls(*ordered)

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        return sympy.exp(self.args[argindex - 1] - self)

    def _eval_evalf(self, prec: int) -> sympy.Expr:
        from mpmath import mp, workprec

        if self.free_symbols:
            return None
        with workprec(prec + 20):
            values = [mp.mpf(a.evalf(mp.dps + 5)._to_mpmath(prec + 20)) for a in self.args]
            top = max(values)
            return sympy.Expr._from_mpmath(top + mp.log(mp.fsum(mp.exp(v - top) for v in values)), prec)

    def _eval_rewrite_as_exp(self, *arguments: object, **hints: object) -> sympy.Expr:
        return sympy.log(sympy.Add(*(sympy.exp(a) for a in arguments)), evaluate=False)

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        inner = ", ".join(printer._print(a) for a in self.args)
        head = rf"\operatorname{{lse}}\left({inner}\right)"
        return head if exp is None else rf"{{{head}}}^{{{exp}}}"


def _needs_integrable(p: sympy.Expr, what: str) -> None:
    if p.is_number and (p <= -1) is S.true:
        raise MathematicalError(f"{what} has no further derivative that is a locally integrable function")


class abspow(AtomFunction):
    """``|t|^p``, p > -1."""

    atom = "abspow"
    nargs = 2
    is_nonnegative = True

    @classmethod
    def eval(cls, p: sympy.Expr, t: sympy.Expr) -> sympy.Expr | None:
        if p.is_even and p.is_nonnegative:
            return t**p
        if t.is_nonnegative:
            return t**p
        if t.is_nonpositive:
            return (-t) ** p
        return cls(p, -t) if t.could_extract_minus_sign() else None

    def fdiff(self, argindex: int = 2) -> sympy.Expr:
        p, t = self.args
        _needs_integrable(p - 1, f"{self}")
        return p * sgnpow(p - 1, t)

    def _eval_power(self, exponent: sympy.Expr) -> sympy.Expr | None:
        return abspow(self.args[0] * exponent, self.args[1]) if exponent.is_number and exponent.is_positive else None

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        p, t = self.args
        power = "" if p == 1 and exp is None else f"^{{{printer._print(p)}{'' if exp is None else ' ' + exp}}}"
        return rf"\left|{{{printer._print(t)}}}\right|{power}"


class sgnpow(AtomFunction):
    """``sgn(t)|t|^p``, p > -1; ``p = 0`` is the sign, 0 at 0."""

    atom = "sgnpow"
    nargs = 2

    @classmethod
    def eval(cls, p: sympy.Expr, t: sympy.Expr) -> sympy.Expr | None:
        if p.is_odd and p.is_positive:
            return t**p
        if t.is_zero:
            return S.Zero
        if t.is_positive:
            return t**p
        if t.is_negative:
            return -((-t) ** p)
        return -cls(p, -t) if t.could_extract_minus_sign() else None

    def fdiff(self, argindex: int = 2) -> sympy.Expr:
        p, t = self.args
        if p == 0:
            raise MathematicalError(f"the derivative of sign({t}) is not a function; {t} = 0 is a kink")
        _needs_integrable(p - 1, f"{self}")
        return p * abspow(p - 1, t)

    def _eval_power(self, exponent: sympy.Expr) -> sympy.Expr | None:
        p, t = self.args
        if exponent.is_integer and exponent.is_positive:
            return (abspow if exponent.is_even else sgnpow)(p * exponent, t) if p != 0 or exponent.is_odd else None
        return None

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        p, t = self.args
        inner = printer._print(t)
        head = rf"\operatorname{{sgn}}\left({inner}\right)"
        if p != 0:
            power = "" if p == 1 else f"^{{{printer._print(p)}}}"
            head += rf"\left|{{{inner}}}\right|{power}"
        return head if exp is None else rf"\left({head}\right)^{{{exp}}}"


class pluspow(AtomFunction):
    """``max(t, 0)^p``, p > -1; ``p = 0`` is the unit step, 0 at 0."""

    atom = "pluspow"
    nargs = 2
    is_nonnegative = True

    @classmethod
    def eval(cls, p: sympy.Expr, t: sympy.Expr) -> sympy.Expr | None:
        if t.is_positive or (t.is_nonnegative and p.is_positive):
            return t**p
        return S.Zero if t.is_nonpositive else None

    def fdiff(self, argindex: int = 2) -> sympy.Expr:
        p, t = self.args
        if p == 0:
            raise MathematicalError(f"the derivative of the unit step of {t} is not a function; {t} = 0 is a kink")
        _needs_integrable(p - 1, f"{self}")
        return p * pluspow(p - 1, t)

    def _eval_power(self, exponent: sympy.Expr) -> sympy.Expr | None:
        return pluspow(self.args[0] * exponent, self.args[1]) if exponent.is_number and exponent.is_positive else None

    def _latex(self, printer: LatexPrinter, exp: str | None = None) -> str:
        p, t = self.args
        power = "" if p == 1 else f"^{{{printer._print(p)}}}"
        head = rf"\left({printer._print(t)}\right)_{{+}}{power}"
        return head if exp is None else rf"\left({head}\right)^{{{exp}}}"


def plus(t: sympy.Expr) -> sympy.Expr:
    """``max(t, 0)``."""
    return pluspow(Integer(1), sympy.sympify(t) if not isinstance(t, str) else S.NaN)
