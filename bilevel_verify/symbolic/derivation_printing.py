"""LaTeX, MathML and plain text of expressions and derivations."""

from __future__ import annotations

import html
import re
from typing import Any

import sympy
from sympy.printing.latex import LatexPrinter
from sympy.printing.mathml import MathMLPresentationPrinter
from sympy.printing.str import StrPrinter

from bilevel_verify.atoms.functions import AtomFunction, logsumexp
from bilevel_verify.symbolic.derivatives import Derivatives

MAXIMUM_PRINTED = 800
"""Operations above which a quantity is printed by its defining formula instead of its entries."""

HEADS: dict[str, tuple[str, str]] = {
    "grad_y_star": (r"\nabla y^*(x)", r"-\nabla^2_{xy}g\,\big(\nabla^2_{yy}g\big)^{-1}"),
    "v_star": (r"v^*(x)", r"\big(\nabla^2_{yy}g\big)^{-1}\nabla_yf"),
    "hypergradient": (r"\nabla\varphi(x)", r"\nabla_xf-\nabla^2_{xy}g\,\big(\nabla^2_{yy}g\big)^{-1}\nabla_yf"),
    "hyper_hessian": (
        r"\nabla^2\varphi(x)",
        r"\begin{bmatrix}I&\nabla y^*\end{bmatrix}\nabla^2\big(f-v\cdot\nabla_yg\big)"
        r"\begin{bmatrix}I&\nabla y^*\end{bmatrix}^\top",
    ),
    "penalty_gradient": (
        r"\mathbf g(x;y,w)",
        r"\nabla_xf(x,y)+\lambda\big(\nabla_xg(x,y)-\nabla_xg(x,w)\big)",
    ),
    "penalty_hessian": (
        r"\mathbf H(x;y,w)",
        r"\nabla^2_{xx}f(x,y)+\lambda\big(\nabla^2_{xx}g(x,y)-\nabla^2_{xx}g(x,w)\big)"
        r"-\nabla^2_{xy}\mathcal L_\lambda\big(\nabla^2_{yy}\mathcal L_\lambda\big)^{-1}\nabla^2_{yx}\mathcal L_\lambda"
        r"+\lambda\nabla^2_{xy}g(x,w)\big(\nabla^2_{yy}g(x,w)\big)^{-1}\nabla^2_{yx}g(x,w)",
    ),
    "y_star": (r"y^*(x)", r"\arg\min_y g(x,y)"),
    "phi": (r"\varphi(x)", r"f(x,y^*(x))"),
    "penalty": (r"\mathcal L_\lambda(x;y,w)", r"f(x,y)+\lambda\big(g(x,y)-g(x,w)\big)"),
}
"""Quantity -> (left side, defining formula)."""


class _Latex(LatexPrinter):  # type: ignore[misc]
    """LaTeX with ``lam`` as lambda and decimals kept exact."""

    def _print_Symbol(self, expr: sympy.Symbol, **settings: object) -> str:
        return r"\lambda" if expr.name == "lam" else str(super()._print_Symbol(expr, **settings))


class _Text(StrPrinter):  # type: ignore[misc]
    """SymPy's text of sums and products of matrices without its look for a sign, which computes inverses."""

    def _print_MatAdd(self, expr: sympy.MatrixExpr) -> str:
        return " + ".join(self._print(term) for term in expr.args).replace(" + -", " - ")

    def _print_MatMul(self, expr: sympy.MatrixExpr) -> str:
        sign = "-" if expr.args[0] == -1 else ""
        return sign + "*".join(self._factor(factor) for factor in expr.args[1 if sign else 0 :])

    def _print_Inverse(self, expr: sympy.MatrixExpr) -> str:
        return f"{self._factor(expr.arg)}**(-1)"

    def _print_Transpose(self, expr: sympy.MatrixExpr) -> str:
        return f"{self._factor(expr.arg)}.T"

    def _factor(self, expr: sympy.Expr) -> str:
        return f"({self._print(expr)})" if expr.is_Add or expr.is_MatAdd or expr.is_MatMul else str(self._print(expr))


class _MathML(MathMLPresentationPrinter):  # type: ignore[misc]
    """Presentation MathML with the atoms of our own."""

    def _print_Symbol(self, sym: sympy.Symbol, style: str = "plain") -> object:
        return super()._print_Symbol(sympy.Symbol("lambda") if sym.name == "lam" else sym, style)

    def _named(self, name: str, arguments: tuple[object, ...], order: int, lower: tuple[object, ...]) -> Any:
        row = self.dom.createElement("mrow")
        head = self.dom.createElement("mi")
        head.appendChild(self.dom.createTextNode(name + "′" * order))
        if lower:
            outer = self.dom.createElement("msub")
            outer.appendChild(head)
            outer.appendChild(self._print(lower[0]))
            head = outer
        row.appendChild(head)
        fence = self.dom.createElement("mrow")
        for place, argument in enumerate(arguments):
            fence.appendChild(self._operator("," if place else "("))
            fence.appendChild(self._print(argument))
        fence.appendChild(self._operator(")"))
        row.appendChild(fence)
        return row

    def _operator(self, text: str) -> Any:
        element = self.dom.createElement("mo")
        element.appendChild(self.dom.createTextNode(text))
        return element

    def _print_AtomFunction(self, expr: AtomFunction) -> object:
        name = {"sigmoid": "σ", "psi": "ψ", "sgnpow": "sgn"}.get(expr.atom, expr.atom)
        if expr.atom in ("abspow", "pluspow", "sgnpow"):
            return self._print_power(expr)
        return self._named(name, (expr.argument,), expr.order, expr.parameters)

    def _print_power(self, expr: AtomFunction) -> object:
        p, t = expr.parameters[0], expr.argument
        row = self.dom.createElement("mrow")
        if expr.atom == "sgnpow":
            row.appendChild(self._named("sgn", (t,), 0, ()))
            if p == 0:
                return row
        body = self.dom.createElement("mrow")
        body.appendChild(self._operator("(" if expr.atom == "pluspow" else "|"))
        body.appendChild(self._print(t))
        body.appendChild(self._operator(")" if expr.atom == "pluspow" else "|"))
        if expr.atom == "pluspow":
            plus = self.dom.createElement("msub")
            plus.appendChild(body)
            plus.appendChild(self._operator("+"))
            body = plus
        if p != 1:
            power = self.dom.createElement("msup")
            power.appendChild(body)
            power.appendChild(self._print(p))
            body = power
        row.appendChild(body)
        return row

    def _print_logsumexp(self, expr: AtomFunction) -> object:
        return self._named("lse", expr.args, 0, ())


assert issubclass(logsumexp, sympy.Function)
assert issubclass(AtomFunction, sympy.Function)


def text(expression: sympy.MatrixBase) -> str:
    """Plain text of an expression or matrix; an inverse that is not computed stays one."""
    implicit = isinstance(expression, sympy.MatrixExpr) and not isinstance(expression, sympy.MatrixBase)
    return str(_Text().doprint(expression) if implicit else expression)


def latex(expression: sympy.MatrixBase) -> str:
    """LaTeX of an expression or matrix."""
    return str(_Latex().doprint(expression))


def mathml(expression: sympy.MatrixBase) -> str:
    """One ``<math>`` element in presentation MathML."""
    body = re.sub(r"&(?!(?:lt|gt|amp|quot);)[A-Za-z]+;", lambda m: html.unescape(m[0]), _MathML().doprint(expression))
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{body}</math>'


def _size(value: sympy.MatrixBase) -> int:
    if value is None:
        return 0
    entries = (
        sympy.flatten(value) if isinstance(value, sympy.MatrixBase) else value if isinstance(value, tuple) else [value]
    )
    return sum(1 + e.count_ops() for e in entries)


def _head(name: str) -> tuple[str, str | None]:
    if name in HEADS:
        return HEADS[name]
    function, _, letters = name.partition("_")
    order = "" if len(letters) == 1 else f"^{{{len(letters)}}}"
    return rf"\nabla{order}_{{{letters}}}{function}", None


def _value(derivation: Derivatives, name: str) -> sympy.MatrixBase | None:
    value = derivation.quantity(name)
    value = sympy.Matrix(value) if isinstance(value, tuple) else value
    implicit = isinstance(value, sympy.MatrixExpr) and not isinstance(value, sympy.MatrixBase)
    return None if value is None or implicit or _size(value) > MAXIMUM_PRINTED else value


def derivation_latex(derivation: Derivatives, name: str | None) -> str:
    """See :meth:`Derivation.latex`."""
    if name is None:
        rows = [derivation_latex(derivation, n).replace(" = ", " &= ", 1) for n in derivation.names]
        return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}"
    left, formula = _head(name)
    if derivation.problem.kind == "single_level":
        left, formula = left.replace(r"\varphi", "f"), None
    value = _value(derivation, name)
    right = [] if formula is None or derivation.problem.kind == "minimax" else [formula]
    right += [] if value is None else [latex(value)]
    return " = ".join([left, *(right or [r"\text{(too long to print)}"])])


def derivation_mathml(derivation: Derivatives, name: str | None) -> str:
    """See :meth:`Derivation.mathml`; the left side is plain text before the ``<math>`` element."""
    if name is None:
        return "\n".join(f"<p>{html.escape(n)}</p>\n{derivation_mathml(derivation, n)}" for n in derivation.names)
    value = _value(derivation, name)
    return "<p>(too long to print)</p>" if value is None else mathml(value)


def derivation_text(derivation: Derivatives) -> str:
    """Plain text for a terminal: each quantity and its entries."""
    lines = [str(derivation.problem)]
    for name in derivation.names:
        value = _value(derivation, name)
        lines.append(f"{name}:")
        lines += ["  (too long to print)"] if value is None else [f"  {line}" for line in _entries(value)]
    return "\n".join(lines)


def _entries(value: sympy.MatrixBase) -> list[str]:
    if not isinstance(value, sympy.MatrixBase):
        return [text(value)]
    if value.cols == 1:
        return [f"[{i}] {e}" for i, e in enumerate(value)]
    return [f"[{i}, {j}] {value[i, j]}" for i in range(value.rows) for j in range(value.cols)]
