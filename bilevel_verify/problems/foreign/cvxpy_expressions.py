"""Scalar expressions of CVXPY, read as formulas: its tree of atoms is folded over SymPy expressions.

Atoms that CVXPY extends by infinity (odd powers, ``inv_pos``, ``quad_over_lin``) are read only where the argument is
known to lie in their domain: as a plain power they would be another function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from bilevel_verify import atoms
from bilevel_verify.errors import MathematicalError, ProblemError
from bilevel_verify.problems.definedness import Reading, unshown
from bilevel_verify.problems.expression_arrays import exact_number, objects
from bilevel_verify.problems.foreign.entries import (
    Budget,
    Entries,
    elementwise,
    entries,
    largest,
    moved,
    product,
    reduced,
    scalar,
    scalar_function,
    smallest,
)
from bilevel_verify.problems.foreign.needs import Needs

if TYPE_CHECKING:
    from cvxpy.expressions.expression import Expression

Blocks = Mapping[str, tuple[sympy.Symbol, ...]]
MOST_DENOMINATOR = 10_000
RESTRICTIONS = ("nonneg", "nonpos", "pos", "neg", "boolean", "integer", "symmetric", "diag", "PSD", "NSD", "sparsity")


def read_expression(field: str, expression: Any, blocks: Blocks) -> Reading:
    """The expression over the symbols of ``blocks``.

    Raises
    ------
    ProblemError : an atom without a formula here, a variable that is no block and no letter of one, a parameter
        without a value.
    """
    fold = _Fold(field, blocks)
    found = scalar(fold.visit(expression), field)

    def has_value(point: Mapping[sympy.Symbol, sympy.Expr]) -> bool:
        kept = {variable: variable.value for variable in expression.variables()}
        try:
            for variable in kept:
                numbers = [float(point[letter]) for letter in fold.variable(variable).reshape(-1, order="F")]
                variable.value = np.reshape(numbers, variable.shape, order="F")
            with np.errstate(all="ignore"):
                return expression.value is not None and bool(np.all(np.isfinite(expression.value)))
        finally:  # the user's own values stay
            for variable, value in kept.items():
                variable.value = value

    return Reading(found, unshown(fold.needs, found), has_value)


class _Fold:
    def __init__(self, field: str, blocks: Blocks) -> None:
        self.field, self.blocks, self.budget, self.needs = field, blocks, Budget(field), Needs()
        self.letters = {symbol.name: symbol for block in blocks.values() for symbol in block}

    def visit(self, node: Expression) -> Entries:
        """The array of expressions of one node, of the node's shape."""
        kind = type(node).__name__
        self.budget.spend(int(np.prod(node.shape, dtype=int)))
        if kind == "Variable":
            return self.variable(node)
        if not node.args:
            return self.constant(node)
        operands = [self.visit(a) for a in node.args]
        if kind.lower() in MOVING:
            return moved(lambda *places: node.numeric(list(places)), operands, self.field, kind)
        atom = ATOMS.get(kind.lower())
        if atom is None:
            raise ProblemError(f"{self.field}: the atom {kind!r} of CVXPY has no closed formula here")
        exponent = _exponent(node) if kind.lower() in POWERS else None
        self.needs.note(OPERATIONS.get(kind.lower(), kind.lower()), operands, exponent)
        try:
            return np.asarray(atom(node, *operands), dtype=object).reshape(node.shape)
        except MathematicalError as reason:
            raise ProblemError(f"{self.field}: {kind}: {reason}") from None

    def variable(self, node: Expression) -> Entries:
        """A whole block, or one of its letters."""
        name = node.name()
        restricted = [word for word in RESTRICTIONS if _is_set(node.attributes.get(word))]
        if restricted:
            raise ProblemError(f"{self.field}: variable {name!r} is {restricted[0]}; use a plain one and give domain=")
        block = self.blocks.get(name)
        if block is not None and int(np.prod(node.shape, dtype=int)) == len(block):
            return _shaped(block, node.shape)
        if name in self.letters and int(np.prod(node.shape, dtype=int)) == 1:
            return _shaped((self.letters[name],), node.shape)
        known = ", ".join(f"{b!r} ({len(s)} entries)" for b, s in self.blocks.items())
        raise ProblemError(
            f"{self.field}: variable {name!r} of shape {node.shape}; name it like a block, {known}, or like one letter"
        )

    def constant(self, node: Expression) -> Entries:
        """A constant, or a parameter with its value."""
        value = node.value
        if value is None:
            raise ProblemError(f"{self.field}: parameter {node.name()!r} has no value")
        dense = value.toarray() if hasattr(value, "toarray") else np.asarray(value)
        if np.iscomplexobj(dense):
            raise ProblemError(f"{self.field}: a complex constant")
        return entries(dense.astype(float)).reshape(node.shape)


def _is_set(value: object) -> bool:
    return value is not None and value is not False and not (isinstance(value, list | tuple) and not value)


def _shaped(block: tuple[sympy.Symbol, ...], shape: tuple[int, ...]) -> Entries:
    """A block in the shape of the variable; CVXPY fills matrices column by column."""
    return objects(block).reshape(shape, order="F")


MOVING = frozenset(
    "index special_index reshape transpose permute_dims hstack vstack concatenate promote broadcast_to diag_mat "
    "upper_tri swapaxes".split()
)
"""Atoms that copy entries; names in small letters, for releases differ in them."""
OPERATIONS = MappingProxyType({"divexpression": "div"})
"""Atoms that need of their operands what an operation of another name needs."""
POWERS = ("power", "powerapprox")


def _one(function: Callable[..., sympy.Basic]) -> Callable[..., Entries]:
    return lambda node, *operands: elementwise(function, *operands)


def _along(function: Callable[..., sympy.Basic]) -> Callable[..., Entries]:
    """A reduction over ``axis`` (None: over all entries)."""

    def run(node: Expression, operand: Entries) -> Entries:
        axis = getattr(node, "axis", None)
        axes = range(operand.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
        return reduced(function, operand, [a % operand.ndim for a in axes])

    return run


def _times(node: Expression, left: Entries, right: Entries) -> Entries:
    return product(left, right) if left.ndim and right.ndim else elementwise(lambda a, b: a * b, left, right)


def _power(node: Expression, operand: Entries) -> Entries:
    exponent = _exponent(node)
    if float(exponent) != float(node.p.value):
        raise MathematicalError(f"the exponent {node.p.value} is no short fraction")
    return elementwise(lambda t: _extended_power(t, exponent), operand)


def _exponent(node: Expression) -> sympy.Rational:
    """The exponent of a power as the short fraction that it should be."""
    return exact_number(Fraction(node.p.value.item()).limit_denominator(MOST_DENOMINATOR))


def _extended_power(t: sympy.Expr, exponent: sympy.Rational) -> sympy.Expr:
    plain = exponent in (0, 1) or (exponent.is_Integer and exponent.is_even and exponent > 0) or 0 < exponent < 1
    inside = t.is_positive if exponent < 0 else t.is_nonnegative
    if not plain and not inside:
        raise MathematicalError(f"the power {exponent} is infinite outside its domain, which {str(t)[:40]} may leave")
    return t**exponent


def _over_linear(node: object, above: Entries, below: Entries) -> Entries:
    """``|x|^2 / y``."""
    y = below.reshape(-1)[0]
    if not y.is_positive:
        raise MathematicalError(f"the denominator {str(y)[:40]} may leave its domain y > 0")
    return _along(lambda *t: sympy.Add(*(s**2 for s in t)) / y)(node, above)


def _quadratic(node: object, vector: Entries, matrix: Entries) -> Entries:
    flat = vector.reshape(-1)
    return product(flat, entries(product(matrix, flat)))


def _norm(node: Expression, operand: Entries) -> Entries:
    exponent = exact_number(node.p)
    even = exponent.is_Integer and exponent.is_even

    def norm(*values: sympy.Expr) -> sympy.Expr:
        return sympy.Add(*(v**exponent if even else atoms.abspow(exponent, v) for v in values)) ** (1 / exponent)

    if exponent < 1:
        raise MathematicalError(f"the exponent {exponent} is below 1")
    return _along(norm)(node, operand)


def _huber(node: Expression, operand: Entries) -> Entries:
    """CVXPY's is twice the usual one: ``t^2`` for ``|t| <= M``."""
    width = exact_number(float(node.M.value))
    return elementwise(lambda t: 2 * atoms.huber(width, t), operand)


def _entropy_of(t: sympy.Expr, s: sympy.Expr) -> sympy.Expr:
    """Two logarithms: that of the quotient has a value where both are negative, and CVXPY's atom is infinite there."""
    return t * (sympy.log(t) - sympy.log(s))


def _cumulative_sum(node: Expression, operand: Entries) -> Entries:
    return np.asarray(np.cumsum(operand, axis=node.axis), dtype=object)


def _diagonal(node: Expression, operand: Entries) -> Entries:
    """A matrix with the entries on its diagonal."""
    result = entries(np.zeros(node.shape))
    np.fill_diagonal(result, operand)
    return result


_abs = scalar_function("abs")
ATOMS: Mapping[str, Callable[..., Entries]] = MappingProxyType(
    {
        "addexpression": _one(lambda *t: sympy.Add(*t)),
        "negexpression": _one(lambda t: -t),
        "mulexpression": _times,
        "multiply": _one(lambda a, b: a * b),
        "divexpression": _one(lambda a, b: a / b),
        "conj": _one(lambda t: t),
        "real": _one(lambda t: t),
        "sum": _along(sympy.Add),
        "prod": _along(sympy.Mul),
        "max": _along(largest),
        "min": _along(smallest),
        "log_sum_exp": _along(atoms.logsumexp),
        "norm1": _along(lambda *t: sympy.Add(*map(_abs, t))),
        "norm_inf": _along(lambda *t: largest(*map(_abs, t))),
        "trace": lambda node, operand: entries(sympy.Add(*np.diagonal(operand))),
        "diag_vec": _diagonal,
        "cumsum": _cumulative_sum,
        "quad_over_lin": _over_linear,
        "quadform": _quadratic,
        "symbolicquadform": _quadratic,
        **dict.fromkeys(("pnorm", "pnormapprox"), _norm),
        **dict.fromkeys(POWERS, _power),
        **{name: _one(scalar_function(name)) for name in ("exp", "log", "abs", "floor", "ceil", "sin", "cos", "tanh")},
        "log1p": _one(lambda t: sympy.log(1 + t)),
        "logistic": _one(atoms.softplus),
        "entr": _one(lambda t: -t * sympy.log(t)),
        "xexp": _one(lambda t: t * sympy.exp(t)),
        "rel_entr": _one(_entropy_of),
        "kl_div": _one(lambda t, s: _entropy_of(t, s) - t + s),
        "maximum": _one(largest),
        "minimum": _one(smallest),
        "huber": _huber,
    }
)
