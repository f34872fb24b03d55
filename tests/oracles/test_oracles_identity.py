"""Compiled oracles against plain ones, atom by atom: bit for bit, but for the exceptions that are listed here."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
import sympy

from bilevel_verify.atoms.table import TABLE
from bilevel_verify.oracles import oracles
from bilevel_verify.problems.problem import Problem

needs_numba = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="numba is not installed")

PARAMETERS = {"psi": ("1/2",), "abspow": ("5/2",), "sgnpow": ("5/2",), "pluspow": ("7/2",), "huber": ("1",)}
POSITIVE = {"log", "sqrt", "log1p"}
EXCEPTIONS = {"asinh": 1e-15}
"""Atom -> largest relative difference that is allowed: Python has an inverse hyperbolic sine of its own, the compiler
takes that of the C library, and the two differ in the last digit."""


def everything() -> tuple[Problem, list[str]]:
    """``sum of z_i atom_i(x_i)``: its gradient holds every atom and its derivative, each in an entry of its own."""
    names: list[str] = []
    terms = []
    for name, atom in TABLE.items():
        parameters = tuple(sympy.Rational(value) for value in PARAMETERS.get(name, ()))
        if atom.arity != 1 or len(parameters) != len(atom.parameters) or atom.smoothness(parameters) < 1:
            continue
        x, z = sympy.symbols(f"x{len(names)} z{len(names)}", real=True)
        names.append(name)
        terms.append(z * atom.function(*parameters, x))
    n = len(names)
    xs = tuple(sympy.symbols(f"x:{n}", real=True)) + tuple(sympy.symbols(f"z:{n}", real=True))
    return Problem("single_level", sympy.Add(*terms), xs), names


@needs_numba
def test_every_atom_is_the_same_in_both_forms_but_for_the_exceptions() -> None:
    problem, names = everything()
    assert len(names) >= 15
    fast = oracles(problem, compiled=True).function_set(["grad_f"]).grad_f
    slow = oracles(problem, compiled=False).function_set(["grad_f"], "plain").grad_f
    rng, n = np.random.default_rng(11), len(names)
    worst = dict.fromkeys(names, 0.0)
    for _ in range(400):
        point = np.concatenate([rng.uniform(-3, 3, n), rng.uniform(0.5, 1.5, n)])
        for place, name in enumerate(names):
            if name in POSITIVE:
                point[place] = abs(point[place]) + 1e-3
        one, two = np.empty(2 * n), np.empty(2 * n)
        fast(point, np.empty(0), one)
        slow(point, np.empty(0), two)
        for place, name in enumerate(names):
            for a, b in ((one[place], two[place]), (one[n + place], two[n + place])):
                if a != b and not (np.isnan(a) and np.isnan(b)):
                    worst[name] = max(worst[name], abs(a - b) / max(abs(a), abs(b)))
    different = {name: size for name, size in worst.items() if size > EXCEPTIONS.get(name, 0.0)}
    assert not different, different
