"""Formulas that stand in another program: JAX functions and CVXPY expressions, read symbolically into SymPy."""

from __future__ import annotations

from collections.abc import Mapping

import sympy

from bilevel_verify.errors import ProblemError
from bilevel_verify.problems.definedness import Reading

__all__ = ["is_foreign", "read_foreign"]


def is_foreign(value: object) -> bool:
    """Whether a formula is a Python function (read by JAX) or an expression of CVXPY; neither library is imported."""
    if isinstance(value, sympy.Basic | str | type):
        return False
    return _of_cvxpy(value) or callable(value)


def read_foreign(field: str, value: object, blocks: Mapping[str, tuple[sympy.Symbol, ...]]) -> Reading:
    """The formula ``field`` as a SymPy expression of the variables of the blocks, and where the original has values.

    Parameters
    ----------
    value : a function of one array a block, in the order of ``blocks``, each of shape ``(d,)``, that JAX can trace; or
        a scalar expression of CVXPY over variables named like a block (shape ``(d,)``) or like one of its letters.
    blocks : ``x`` (and ``y``) -> its symbols.

    Raises
    ------
    ProblemError : one line that names the primitive, atom or variable that cannot be read.
    MissingExtraError : JAX is not installed.
    """
    if _of_cvxpy(value):
        from bilevel_verify.problems.foreign.cvxpy_expressions import read_expression

        return read_expression(field, value, blocks)
    from bilevel_verify.problems.foreign.jax_functions import read_function

    if not callable(value):
        raise ProblemError(f"{field} is neither a Python function nor an expression of CVXPY")
    return read_function(field, value, blocks)


def _of_cvxpy(value: object) -> bool:
    return any(
        kind.__module__.partition(".")[0] == "cvxpy" and kind.__name__ == "Expression" for kind in type(value).__mro__
    )
