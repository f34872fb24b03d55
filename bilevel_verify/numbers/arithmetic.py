"""The protocol of a number system: what it must offer to evaluate programs, and what trees ask for beyond that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    import sympy

Exact: TypeAlias = "Fraction | sympy.Expr"
"""A number of a program: a fraction, or an exact number of SymPy that is none."""
V = TypeVar("V")
"""What a number system works on: floats, arrays, balls ..."""
T = TypeVar("T")
"""Its truth values: of floats ``bool``, of balls True, False or None."""


class Arithmetic(Protocol[V, T]):
    """What a number system must offer to run a program."""

    def constant(self, value: Exact) -> V:
        """A number: Fraction, or an exact SymPy number that is not rational."""

    def add(self, a: V, b: V) -> V: ...
    def mul(self, a: V, b: V) -> V: ...
    def neg(self, a: V) -> V: ...
    def div(self, a: V, b: V) -> V: ...
    def power(self, a: V, exponent: Fraction) -> V:
        """``a ** exponent``; the exponent is positive, never 1."""

    def atom(self, name: str, order: int, a: V, parameters: tuple[Fraction, ...]) -> V:
        """Derivative of the given order of a one-argument atom, parameters as in the atom's own definition."""

    def logsumexp(self, args: Sequence[V]) -> V: ...
    def absolute(self, a: V) -> V: ...
    def sign(self, a: V) -> V: ...
    def floor(self, a: V) -> V: ...
    def ceil(self, a: V) -> V: ...
    def maximum(self, a: V, b: V) -> V: ...
    def minimum(self, a: V, b: V) -> V: ...
    def compare(self, op: str, a: V, b: V) -> T:
        """Truth value of ``lt``, ``le`` or ``eq``."""

    def logical(self, op: str, args: Iterable[T]) -> T:
        """``and``, ``or``, ``not`` of truth values, or the constants ``true`` and ``false`` (no arguments)."""

    def select(self, test: T, yes: V, no: V) -> V: ...


class TreeArithmetic(Arithmetic[V, T], Protocol[V, T]):
    """What trees of the language ask for beyond programs."""

    def raised(self, a: V, exponent: V) -> V:
        """``a ** exponent`` for an exponent that is itself a value."""

    def named(self, name: str) -> V:
        """``pi``, ``E`` or ``oo``; KeyError for what the system has not."""

    def integer(self, value: V, what: str) -> int:
        """The integer that a value is; ``what`` names it in the error.

        Raises
        ------
        MathematicalError : it is none, or cannot be told from its neighbours.
        """
