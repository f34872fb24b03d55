"""Formulas of problems in the words of certificates: atoms of our own by elementary functions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy

from bilevel_verify import language
from bilevel_verify.atoms.functions import abspow, logcosh, pluspow, sgnpow, sigmoid, sigmoid_d, softplus
from bilevel_verify.certificates.statement import NotStated, data_of
from bilevel_verify.errors import ExpressionError
from bilevel_verify.problems.text import to_text

ATOMS = (
    (sigmoid_d, lambda k, t: sigmoid_d(k, t).rewrite(sigmoid)),
    (sigmoid, lambda t: 1 / (1 + sympy.exp(-t))),
    (sympy.asinh, lambda t: sympy.log(t + sympy.sqrt(1 + t**2))),
    (softplus, lambda t: sympy.log(1 + sympy.exp(t))),
    (logcosh, lambda t: sympy.log(sympy.cosh(t))),
    (abspow, lambda p, t: sympy.Abs(t) ** p),
    (sgnpow, lambda p, t: sympy.sign(t) * sympy.Abs(t) ** p),
    (pluspow, lambda p, t: sympy.Max(t, 0) ** p if p != 0 else sympy.Max(sympy.sign(t), 0)),
)
"""Atom -> what it is; those that others are made of come after them."""
LIMITS = replace(language.PROBLEM, digits=400)
"""The checker's own limit on numbers."""
WORDS = {"Abs": "abs", "Max": "max", "Min": "min"}
"""SymPy's names -> the words of certificates."""


def elementary(expression: sympy.Expr, but: tuple[type[sympy.Function], ...] = ()) -> sympy.Expr:
    """The formula with our own atoms written out, except some."""
    for atom, meaning in ATOMS:
        if atom not in but:
            expression = expression.replace(atom, meaning)
    return expression


def data_of_formula(expression: sympy.Expr) -> Any:
    """The formula as data of a certificate.

    Raises
    ------
    NotStated : a function that certificates have no word for.
    """
    if expression.has(sympy.Piecewise):
        raise NotStated("a formula with branches has no word")
    try:
        return _in_words(data_of(language.parse(to_text(elementary(expression)), limits=LIMITS)))
    except ExpressionError as error:
        raise NotStated(str(error)) from None


def _in_words(data: object) -> Any:
    if not isinstance(data, list):
        return data
    return [WORDS.get(data[0], data[0]), *map(_in_words, data[1:])]
