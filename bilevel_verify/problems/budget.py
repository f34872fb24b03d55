"""One budget for turning a text into an expression: operations, and bits of exact numbers, refused before expansion."""

from __future__ import annotations

import sympy

from bilevel_verify.errors import ExpressionError
from bilevel_verify.language import Node

MAXIMUM_BITS = 4096
"""Bits of any exact number that a text may produce."""

MAXIMUM_RANGE = 10**6
"""Terms of one index range."""

MAXIMUM_EXPONENT = 1024
"""Largest absolute exponent of a computed power."""

UNDEFINED = (sympy.nan, sympy.zoo, sympy.oo, -sympy.oo, sympy.I)
_UNDEFINED = frozenset(UNDEFINED)


def bits(number: sympy.Expr) -> int:
    """Bits of the integers inside a number (cheap upper measure of the size of exact results)."""
    if number.is_Rational:
        return max(int(number.p).bit_length(), int(number.q).bit_length())
    return sum(bits(a) for a in number.atoms(sympy.Rational)) + 1


class Budget:
    """Counts operations of one evaluation, nested sums included, and stops it with the offending column."""

    def __init__(self, text: str, operations: int = 200_000) -> None:
        self.text, self.left, self.total = text, operations, operations

    def fail(self, message: str, node: Node) -> ExpressionError:
        """The error for one place of the text."""
        return ExpressionError(message, self.text, node.column or None)

    def spend(self, node: Node, operations: int = 1) -> None:
        """Take operations from the budget."""
        self.left -= operations
        if self.left < 0:
            raise self.fail(f"needs more than {self.total} operations", node)

    def exact(self, value: sympy.Expr, node: Node) -> sympy.Expr:
        """``value``, refused if it is plainly undefined or its exact number is too large (looks one level deep)."""
        if value.is_Rational:
            if bits(value) > MAXIMUM_BITS:
                raise self.fail(f"an exact number of more than {MAXIMUM_BITS} bits", node)
            return value
        if value in _UNDEFINED or not _UNDEFINED.isdisjoint(value.args):
            raise self.fail("is undefined here (division by zero, root or logarithm of a negative number)", node)
        return value

    def defined(self, value: sympy.Expr, node: Node) -> sympy.Expr:
        """``value``, refused if anything in it is undefined, infinite or not real."""
        if value.has(*UNDEFINED):
            raise self.fail("is undefined (division by zero, root or logarithm of a negative number)", node)
        return value

    def power(self, base: sympy.Expr, exponent: sympy.Expr, node: Node) -> None:
        """Refuse a power whose exact result would be too large, before it is taken."""
        if not exponent.is_number:
            if base.is_number and bits(base) > MAXIMUM_BITS:
                raise self.fail(f"an exact number of more than {MAXIMUM_BITS} bits", node)
            return
        if base.is_Symbol and exponent.is_Integer and abs(int(exponent)) <= MAXIMUM_EXPONENT:
            return
        size = abs(exponent)
        if bits(exponent) > MAXIMUM_BITS or (size > MAXIMUM_EXPONENT) is not sympy.false:
            raise self.fail(f"an exponent larger than {MAXIMUM_EXPONENT}", node)
        if base.is_number and bits(base) * (int(size) + 1) > MAXIMUM_BITS:
            raise self.fail(f"an exact number of more than {MAXIMUM_BITS} bits", node)
        nested = _total_exponent(base) * size
        if (nested > MAXIMUM_EXPONENT) is not sympy.false:
            raise self.fail(f"a total exponent larger than {MAXIMUM_EXPONENT}", node)


def _total_exponent(base: sympy.Expr) -> sympy.Expr:
    """Exponent that a power of ``base`` multiplies: products of nested powers merge in SymPy."""
    if isinstance(base, sympy.Pow) and base.exp.is_number:
        return abs(base.exp)
    if isinstance(base, sympy.Mul):
        return max((_total_exponent(a) for a in base.args), default=sympy.Integer(1), key=lambda v: float(v))
    return sympy.Integer(1)
