"""SymPy expressions back to texts of the problem language, so that every problem can be written to a file."""

from __future__ import annotations

import sympy
from sympy.printing.str import StrPrinter


class _Text(StrPrinter):  # type: ignore[misc]
    """SymPy's own text with the words of our language for logic and rounding."""

    def _print_And(self, expr: sympy.logic.boolalg.Boolean) -> str:
        return "(" + " and ".join(self._print(a) for a in sorted(expr.args, key=sympy.default_sort_key)) + ")"

    def _print_Or(self, expr: sympy.Basic) -> str:
        return "(" + " or ".join(self._print(a) for a in sorted(expr.args, key=sympy.default_sort_key)) + ")"

    def _print_Not(self, expr: sympy.Basic) -> str:
        return f"(not {self._print(expr.args[0])})"

    def _print_Relational(self, expr: sympy.logic.boolalg.Boolean) -> str:
        return f"({self._print(expr.lhs)} {expr.rel_op} {self._print(expr.rhs)})"

    def _print_ceiling(self, expr: sympy.Basic) -> str:
        return f"ceil({self._print(expr.args[0])})"

    def _print_Float(self, expr: sympy.Expr) -> str:
        return str(expr)


def to_text(value: sympy.Expr) -> str:
    """Text that parses back to the same expression."""
    return str(_Text().doprint(sympy.sympify(value)))
