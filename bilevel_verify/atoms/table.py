"""The one table of atoms: for every function of the language, all that the rooms below need to know about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import sympy
from sympy import oo

from bilevel_verify.atoms import functions as own
from bilevel_verify.atoms import pieces
from bilevel_verify.atoms.formulas import FORMULAS
from bilevel_verify.atoms.kernels import array, multiprecision, scalar, scalar_source
from bilevel_verify.errors import MathematicalError
from bilevel_verify.language.elementary import TRANSCENDENTAL

if TYPE_CHECKING:
    import mpmath
    import numpy as np


@dataclass(frozen=True, slots=True)
class Atom:
    """One atom, a function of one argument ``t`` and possibly of fixed parameters.

    Attributes
    ----------
    name : key of the table, and the first half of an instruction's ``(name, order)``.
    function : SymPy class or constructor, called ``function(*parameters, t)``.
    parameters : names of the parameters (``nu``, ``p``, ``delta``).
    domain : largest open interval on which the atom is defined and smooth where it is smooth at all.
    breaks : where smoothness can be lost: "none", "zero" (t = 0), "odd integers" or "delta" (|t| = delta), "integers".
    arity : 1, or -1 for any number of arguments (``logsumexp``).
    """

    name: str
    function: Callable[..., Any]
    parameters: tuple[str, ...] = ()
    domain: tuple[Any, Any] = (-oo, oo)
    breaks: str = "none"
    arity: int = 1

    def derivative(self, order: int, argument: sympy.Expr, parameters: tuple[sympy.Expr, ...] = ()) -> sympy.Expr:
        """Derivative of the given order as a SymPy expression; MathematicalError where it is not a function."""
        if order == 0:
            return self.function(*parameters, argument)
        if self.smoothness(parameters) == -1 and not self.parameters:
            raise MathematicalError(f"{self.name} has jumps; its derivative is not a function")
        t = sympy.Dummy("t", real=True)
        return self.function(*parameters, t).diff(t, order).subs(t, argument)

    def scalar(self, order: int = 0) -> Callable[..., float]:
        """``kernel(t, *parameters)`` on floats: plain Python, stable."""
        return scalar(self.name, order)

    def scalar_source(self, order: int = 0) -> str:
        """Source text of :meth:`scalar`; needs :data:`bilevel_verify.atoms.kernels.PRELUDE`."""
        return scalar_source(self.name, order)

    def array(self, order: int = 0) -> Callable[..., np.ndarray]:
        """``kernel(t, *parameters)`` on float64 arrays."""
        return array(self.name, order)

    def multiprecision(self, order: int = 0) -> Callable[..., mpmath.mpf]:
        """``kernel(t, *parameters)`` on mpmath numbers, at the working precision."""
        return multiprecision(self.name, order)

    def smoothness(self, parameters: tuple[sympy.Expr | int, ...] = ()) -> int | sympy.Expr:
        """Number of continuous derivatives on the domain (``oo`` for smooth atoms, 0: only continuous, -1: jumps)."""
        if self.name in ("floor", "ceil"):
            return -1
        if self.name in ("abspow", "sgnpow", "pluspow"):
            return power_smoothness(self.name, sympy.sympify(parameters[0]))
        return {"psi": 3 if parameters and parameters[0] != 0 else 2, "huber": 1}.get(self.name, oo)


def power_smoothness(name: str, p: sympy.Expr) -> sympy.Expr:
    """Continuous derivatives of the powers: the largest integer below p, infinitely many for polynomials."""
    if p.is_integer and (name, bool(p.is_even)) in (("abspow", True), ("sgnpow", False)) and p >= 0:
        return oo
    return sympy.ceiling(p) - 1


def _table() -> dict[str, Atom]:
    smooth = {n: getattr(sympy, n) for n in TRANSCENDENTAL if n not in ("log", "tan")}
    smooth |= {"softplus": own.softplus, "sigmoid": own.sigmoid, "logcosh": own.logcosh}
    table = {name: Atom(name, function) for name, function in smooth.items()}
    table["log"] = Atom("log", sympy.log, domain=(sympy.S.Zero, oo))
    table["tan"] = Atom("tan", sympy.tan, domain=(-sympy.pi / 2, sympy.pi / 2))
    table["psi"] = Atom("psi", pieces.psi, ("nu",), breaks="integers")
    table["huber"] = Atom("huber", pieces.huber, ("delta",), breaks="delta")
    for name in ("abspow", "sgnpow", "pluspow"):
        table[name] = Atom(name, getattr(own, name), ("p",), breaks="zero")
    table["floor"] = Atom("floor", sympy.floor, breaks="integers")
    table["ceil"] = Atom("ceil", sympy.ceiling, breaks="integers")
    assert set(table) == set(FORMULAS)
    table["logsumexp"] = Atom("logsumexp", own.logsumexp, arity=-1)
    return table


TABLE: Mapping[str, Atom] = MappingProxyType(_table())
"""Name -> :class:`Atom`: kernels, smoothness and derivatives; shape and spelling of the elementary ones stand in
:mod:`bilevel_verify.language.elementary`."""

_BY_CLASS = {atom.function: name for name, atom in TABLE.items() if atom.arity == 1}


def recognise(node: sympy.Basic) -> tuple[str, int, tuple[sympy.Expr, ...], sympy.Expr] | None:
    """``(name, order, parameters, argument)`` of a SymPy node that is an atom of one argument, else None."""
    if isinstance(node, own.AtomFunction):
        return node.atom, node.order, node.parameters, node.argument
    if isinstance(node, sympy.Abs):
        return "abspow", 0, (sympy.S.One,), node.args[0]
    if isinstance(node, sympy.sign):
        return "sgnpow", 0, (sympy.S.Zero,), node.args[0]
    name = _BY_CLASS.get(node.func) if isinstance(node, sympy.Function) else None
    return None if name is None else (name, 0, (), node.args[0])
