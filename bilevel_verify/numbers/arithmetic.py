"""The protocol of a number system: what it must offer to evaluate programs, and what trees ask for beyond that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol


class Arithmetic(Protocol):
    """What a number system must offer to run a program. Operands are whatever the system works on."""

    def constant(self, value: Any) -> Any:
        """A number: Fraction, or an exact SymPy number that is not rational."""

    def add(self, a: Any, b: Any) -> Any: ...
    def mul(self, a: Any, b: Any) -> Any: ...
    def neg(self, a: Any) -> Any: ...
    def div(self, a: Any, b: Any) -> Any: ...
    def power(self, a: Any, exponent: Any) -> Any:
        """``a ** exponent``; the exponent is a positive Fraction, never 1."""

    def atom(self, name: str, order: int, a: Any, parameters: tuple[Any, ...]) -> Any:
        """Derivative of the given order of a one-argument atom, parameters as in the atom's own definition."""

    def logsumexp(self, args: Sequence[Any]) -> Any: ...
    def absolute(self, a: Any) -> Any: ...
    def sign(self, a: Any) -> Any: ...
    def floor(self, a: Any) -> Any: ...
    def ceil(self, a: Any) -> Any: ...
    def maximum(self, a: Any, b: Any) -> Any: ...
    def minimum(self, a: Any, b: Any) -> Any: ...
    def compare(self, op: str, a: Any, b: Any) -> Any:
        """Truth value of ``lt``, ``le`` or ``eq``."""

    def logical(self, op: str, args: Iterable[Any]) -> Any:
        """``and``, ``or``, ``not`` of truth values, or the constants ``true`` and ``false`` (no arguments)."""

    def select(self, test: Any, yes: Any, no: Any) -> Any: ...


class TreeArithmetic(Arithmetic, Protocol):
    """What trees of the language ask for beyond programs."""

    def raised(self, a: Any, exponent: Any) -> Any:
        """``a ** exponent`` for an exponent that is itself a value."""

    def named(self, name: str) -> Any:
        """``pi``, ``E`` or ``oo``; KeyError for what the system has not."""

    def integer(self, value: Any, what: str) -> int:
        """The integer that a value is; ``what`` names it in the error.

        Raises
        ------
        MathematicalError : it is none, or cannot be told from its neighbours.
        """
