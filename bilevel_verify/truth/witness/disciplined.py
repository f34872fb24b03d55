"""SymPy to CVXPY, term by term, for the disciplined convex fragment.

Convex quadratics and sums of squares are recognised by an exact LDL'; other terms are translated rule by rule. A term
outside the fragment is named together with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.truth.functions.quadratics import Quadratic, affine_form, ldl, quadratic_of
from bilevel_verify.truth.functions.structure import spread_constants

if TYPE_CHECKING:
    from cvxpy.expressions.expression import Expression

FloatArray = NDArray[np.float64]


class NotRepresentable(BilevelVerifyError, ValueError):
    """A term outside the disciplined convex fragment; the message names it and says why."""


class Translator:
    """Translate expressions over fixed symbols into CVXPY, with DCP rules checked by CVXPY itself.

    Parameters
    ----------
    symbols : the variables, in order.

    Attributes
    ----------
    nonnegative : (expression, base, term): CVXPY restricts the term to where the expression (of the base, in its own
        objects) is >= 0 (an odd or a negative power, say), although the term itself goes on; the feasible set has to
        lie there.
    """

    def __init__(self, symbols: Sequence[sympy.Symbol]) -> None:
        import cvxpy

        self.cp: Any = cvxpy
        self.symbols = list(symbols)
        self.variable = cvxpy.Variable(len(self.symbols))
        self.nonnegative: list[tuple[Any, sympy.Expr, str]] = []

    def convex(self, expression: sympy.Expr) -> Any:
        """The expression as a convex CVXPY expression.

        Raises
        ------
        NotRepresentable : some term is not in the fragment, or not recognised as convex.
        """
        whole = self._quadratic(expression)
        if whole is not None:
            return whole
        expression, maxima = self._maxima(spread_constants(expression))
        flat: list[sympy.Expr] = []
        others: list[sympy.Expr] = []
        for term in sympy.Add.make_args(expression):
            (flat if quadratic_of(term, self.symbols) is not None else others).append(term)
        parts: list[Any] = [*maxima] if not flat else [*maxima, self._quadratic(sympy.Add(*flat))]
        for term in others:
            part = self.term(term)
            if not isinstance(part, int | float) and not part.is_convex():  # a number is an irrational constant
                raise NotRepresentable(
                    f"the term {_short(term)} is {part.curvature.lower()} by the rules of disciplined programming"
                )
            parts.append(part)
        return sum(parts[1:], parts[0])

    def _maxima(self, expression: sympy.Expr) -> tuple[sympy.Expr, list[Expression]]:
        """``r + max(t, 0) = max(r, r + t)`` where t has concave terms that terms of the sum cancel; and what is left.

        The parser writes ``max(a, b)`` with positive parts, which alone are not convex where a is not affine.
        """
        terms, found = list(sympy.Add.make_args(expression)), []
        for term in sorted(terms, key=lambda t: -int(t.count_ops())):
            inner = _positive_part(term)
            if inner is None or affine_form(inner, self.symbols) is not None or term not in terms:
                continue
            cancelling = [-t for t in sympy.Add.make_args(inner) if -t in terms and t.free_symbols]
            if not cancelling:
                continue
            rest = sympy.Add(*cancelling)
            try:
                ends = [self.convex(rest), self.convex(rest + inner)]
            except NotRepresentable:
                continue
            found.append(self.cp.maximum(*ends))
            for used in (term, *cancelling):
                terms.remove(used)
        return sympy.Add(*terms), found

    def _quadratic(self, expression: sympy.Expr) -> object | None:
        """A quadratic as a sum of squares (exact LDL'); None if it is not quadratic.

        Raises
        ------
        NotRepresentable : it is not convex.
        """
        found = quadratic_of(expression, self.symbols)
        if found is None:
            return None
        factor = ldl(found.Q)
        if factor.sign != 1:
            raise NotRepresentable(
                f"the quadratic part of {_short(expression)} is not convex: its LDL' has a negative pivot"
            )
        _, q, c = found.floats()
        total = q @ self.variable + c
        if factor.squares:
            rows = np.array([[float(np.sqrt(float(w))) * float(v) for v in normal] for w, normal in factor.squares])
            total = total + 0.5 * self.cp.sum_squares(rows @ self.variable)
        return total

    def term(self, expression: sympy.Expr) -> Any:
        """One term of any curvature."""
        affine = affine_form(expression, self.symbols)
        if affine is not None:
            return np.array([float(v) for v in affine[0]]) @ self.variable + float(affine[1])
        if expression.is_number:
            return float(expression)
        match expression:
            case sympy.Add():
                return sum((self.term(a) for a in expression.args[1:]), self.term(expression.args[0]))
            case sympy.Mul():
                return self._product(expression)
            case sympy.Pow():
                return self._power(expression)
            case sympy.Abs():
                return self.cp.abs(self.term(expression.args[0]))
            case sympy.Max():
                return self.cp.maximum(*(self.term(a) for a in expression.args))
            case sympy.Min():
                return self.cp.minimum(*(self.term(a) for a in expression.args))
        return self._function(expression)

    def _product(self, expression: sympy.Mul) -> Any:
        factor, core = expression.as_independent(*self.symbols, as_Add=False)
        if factor != 1 and factor.is_number:
            if factor != 0 and float(factor) == 0:
                raise NotRepresentable(f"the factor of {_short(expression)} is no float")
            return float(factor) * self.term(core)
        if all(isinstance(a, sympy.exp) for a in expression.args):
            return self.term(sympy.exp(sympy.Add(*(a.args[0] for a in expression.args))))
        found = self._entropy(expression)
        if found is None:
            found = self._over(expression)
        if found is None:
            raise NotRepresentable(
                f"the product {_short(expression)} of two non-constant factors is not in the disciplined fragment"
            )
        return found

    def _entropy(self, expression: sympy.Mul) -> Any | None:
        """``u log(k u)`` as entropy, ``u log(k u / v)`` as relative entropy, for affine u and v and k > 0."""
        logs = [a for a in expression.args if isinstance(a, sympy.log)]
        if len(logs) != 1:
            return None
        other = sympy.Mul(*(a for a in expression.args if a is not logs[0]))
        above, below = sympy.fraction(sympy.together(logs[0].args[0]))
        ratio = sympy.cancel(above / other)
        if affine_form(other, self.symbols) is None or not (ratio.is_number and ratio.is_positive):
            return None
        u, v = self.term(other), self.term(below / ratio)
        if below.is_number:
            return -self.cp.entr(u) - float(sympy.log(below / ratio)) * u
        self.nonnegative.append((v, below / ratio, _short(expression)))  # the quotient is positive where both are not
        return self.cp.rel_entr(u, v)

    def _over(self, expression: sympy.Mul) -> Any | None:
        """A square (or a convex quadratic without linear part) over a positive affine form."""
        above, below = sympy.fraction(expression)
        square = quadratic_of(above, self.symbols)
        if square is None or affine_form(below, self.symbols) is None or not below.free_symbols:
            return None
        root = _pure_squares(square)
        if root is None:
            return None
        rows, centre = root
        denominator = self.term(below)
        self.nonnegative.append((denominator, below, _short(expression)))
        return self.cp.quad_over_lin(rows @ (self.variable - centre), denominator)

    def _power(self, expression: sympy.Pow) -> Any:
        base, exponent = expression.base, expression.exp
        if base == sympy.E:
            return self.cp.exp(self.term(exponent))
        if not exponent.is_Rational:
            raise NotRepresentable(f"the exponent of {_short(expression)} is not rational")
        norm = self._norm(base) if exponent == sympy.Rational(1, 2) else None
        if norm is not None:
            return norm
        if isinstance(base, sympy.Mul) and exponent.is_Rational and exponent == sympy.Rational(1, len(base.args)):
            return self._geometric_mean(base)
        inner = self.term(base)
        if exponent.is_Integer and exponent > 0 and int(exponent) % 2 == 0:
            return self.cp.power(self.cp.abs(inner) if inner.is_affine() else inner, int(exponent))
        if exponent.is_Integer and not inner.is_nonneg():
            self.nonnegative.append((inner, base, _short(expression)))
        return self.cp.inv_pos(inner) if exponent == -1 else self.cp.power(inner, float(exponent))

    def _geometric_mean(self, base: sympy.Mul) -> Any:
        """``(u_1 ... u_k)^(1/k)`` of affine forms (concave, where all are >= 0)."""
        parts = [self.term(a) for a in base.args]
        if not all(p.is_affine() for p in parts):
            raise NotRepresentable(f"the root of the product {_short(base)} is no geometric mean of affine forms")
        self.nonnegative += [(p, a, _short(base)) for p, a in zip(parts, base.args)]
        return self.cp.geo_mean(self.cp.hstack(parts))

    def _norm(self, base: sympy.Expr) -> Any | None:
        """``sqrt`` of a convex quadratic as a norm, if the quadratic is a sum of squares plus a constant >= 0."""
        found = quadratic_of(base, self.symbols)
        root = None if found is None else _pure_squares(found, with_rest=True)
        if root is None:
            return None
        rows, centre = root
        return self.cp.norm(rows @ self.cp.hstack([self.variable - centre, 1.0]), 2)

    def _function(self, expression: sympy.Expr) -> Any:
        cp, name = self.cp, type(expression).__name__
        args = expression.args
        match name:
            case "exp":
                return cp.exp(self.term(args[0]))
            case "log":
                return self._logarithm(args[0])
            case "softplus":
                return cp.logistic(self.term(args[0]))
            case "logsumexp":
                return cp.log_sum_exp(cp.hstack([self.term(a) for a in args]))
            case "logcosh":
                inner = self.term(args[0])
                return cp.log_sum_exp(cp.hstack([inner, -inner])) - float(np.log(2))
            case "cosh":
                inner = self.term(args[0])
                return 0.5 * (cp.exp(inner) + cp.exp(-inner))
            case "plus":
                return cp.pos(self.term(args[0]))
            case "pluspow":
                return cp.power(cp.pos(self.term(args[1])), float(args[0]))
            case "abspow":
                return cp.power(cp.abs(self.term(args[1])), float(args[0]))
            case "huber":
                return 0.5 * cp.huber(self.term(args[1]), float(args[0]))
        raise NotRepresentable(
            f"the function {name} in {_short(expression)} has no counterpart in the disciplined fragment"
        )

    def _logarithm(self, inside: sympy.Expr) -> object:
        """``log`` of an affine form (concave), or of ``c + sum exp(affine)`` (log-sum-exp, convex)."""
        exponents = []
        for part in sympy.Add.make_args(inside):
            factor, core = part.as_independent(*self.symbols, as_Add=False)
            if part.is_number and part.is_positive:
                exponents.append(sympy.log(part))
            elif factor.is_positive and isinstance(core, sympy.exp):
                exponents.append(core.args[0] + sympy.log(factor))
            elif isinstance(inside, sympy.Mul) and all(affine_form(a, self.symbols) for a in inside.args):
                factors = [self.term(a) for a in inside.args]
                self.nonnegative += [(f, a, f"log({_short(inside)})") for f, a in zip(factors, inside.args)]
                return sum((self.cp.log(f) for f in factors[1:]), self.cp.log(factors[0]))
            else:
                return self.cp.log(self.term(inside))
        return self.cp.log_sum_exp(self.cp.hstack([self.term(e) if e.free_symbols else float(e) for e in exponents]))


def convex_by_rules(expression: sympy.Expr, symbols: Sequence[sympy.Symbol]) -> bool:
    """Whether the rules of disciplined programming show that a function is convex, wherever it has a value."""
    translator = Translator(symbols)
    try:
        translator.convex(expression)
    except NotRepresentable:
        return False
    return not translator.nonnegative


def _positive_part(term: sympy.Expr) -> sympy.Expr | None:
    """t of ``max(t, 0)`` in either spelling."""
    name = type(term).__name__
    if name == "pluspow" and term.args[0] == 1:
        return term.args[1]
    return term.args[0] if name == "plus" else None


def _pure_squares(quadratic: Quadratic, with_rest: bool = False) -> tuple[FloatArray, FloatArray] | None:
    """Rows R and centre c with ``z'Qz/2 + q.z + const = |R (z - c)|^2`` (Q exactly convex), else None.

    With ``with_rest`` a constant >= 0 may be left over: R then has one more column, for the vector ``(z - c, 1)``.
    """
    factor = ldl(quadratic.Q)
    if factor.sign != 1 or not factor.squares:
        return None
    Q, q, constant = quadratic.floats()
    centre: FloatArray = np.asarray(np.linalg.lstsq(Q, -q, rcond=None)[0], dtype=np.float64)
    rest = constant + 0.5 * float(q @ centre)
    size = 1 + float(np.linalg.norm(q)) + abs(constant)
    if float(np.linalg.norm(Q @ centre + q)) > 1e-12 * size or rest < -1e-12 * size:
        return None
    entries = [[float(np.sqrt(float(w) / 2)) * float(v) for v in normal] for w, normal in factor.squares]
    rows: FloatArray = np.array(entries, dtype=np.float64)
    if not with_rest:
        return (rows, centre) if rest <= 1e-12 * size else None
    n = len(centre)
    last = np.append(np.zeros(n), np.sqrt(max(rest, 0.0)))
    wide: FloatArray = np.vstack([np.hstack([rows, np.zeros((len(rows), 1))]), last])
    return wide, centre


def _short(expression: sympy.Expr) -> str:
    return str(expression)[:80]
