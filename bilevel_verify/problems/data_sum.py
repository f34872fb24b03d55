"""``mean(phi(b[i], dot(A[i], y)), (i, 0, rows(A) - 1))`` over many samples: one closed form instead of many terms.

The body is rewritten before it is interpreted: what depends on the index becomes a name (``dot(A[i], y)`` an affine
quantity, ``y[i]`` an entry, ``b[i]`` a number of the sample), so the body is read once, whatever the number of samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.atoms.datasum import DataArray, DataForm, DataSum
from bilevel_verify.errors import ExpressionError
from bilevel_verify.language import tree

WRITE_OUT = 1_000
"""Numbers up to which a sum is written out term by term; a longer one stays a sum over its data everywhere."""


class NotOneForm(Exception):
    """The body is not one closed form of per-sample quantities."""


def is_large(body: tree.Node, count: int, data: Mapping[str, NDArray[np.float64]]) -> bool:
    """Whether a sum would write out more than :data:`WRITE_OUT` numbers."""
    width = 1
    for part in body.walk():
        if isinstance(part, tree.Index) and part.base in data:
            shape = np.shape(data[part.base])
            width += shape[1] if len(shape) == 2 and len(part.indices) == 1 else 1
    return count * width > WRITE_OUT


def implied_range(body: tree.Node, data: Mapping[str, NDArray[np.float64]], known: set[str]) -> tree.Tuple | None:
    """``(i, 0, n - 1)`` for a body that indexes data arrays of n rows by one unknown letter i; None for any other.

    ``mean(logistic(b[i]*dot(A[i], y)))`` runs over all samples without saying so.
    """
    found = {
        (part.indices[0].name, len(np.asarray(data[part.base])))
        for part in body.walk()
        if isinstance(part, tree.Index) and part.base in data and isinstance(part.indices[0], tree.Letter)
        if part.indices[0].name not in known
    }
    if len({name for name, _ in found}) != 1:
        return None
    if len(found) > 1:
        raise ExpressionError(f"arrays of {' and '.join(str(n) for _, n in sorted(found))} rows under one index")
    ((name, count),) = found
    ends = (tree.Number(Fraction(0)), tree.Number(Fraction(count - 1)))
    return tree.Tuple((tree.Letter(name), *ends), column=body.column)


class SampleReader:
    """Rewrites the body of one sum.

    Parameters
    ----------
    index : name of the running index, over ``low .. high`` (both included).
    vectors, data : blocks of variables and data arrays, by name.
    """

    def __init__(
        self,
        index: str,
        low: int,
        high: int,
        vectors: Mapping[str, tuple[sympy.Symbol, ...]],
        data: Mapping[str, NDArray[np.float64]],
    ) -> None:
        self.index, self.low, self.high = index, low, high
        self.vectors, self.data = vectors, data
        self.forms: dict[str, DataForm] = {}
        self.columns: dict[str, DataArray] = {}
        self.known: dict[Any, str] = {}

    def rewrite(self, node: tree.Node) -> tree.Node:
        """The same tree with names for everything that depends on the index."""
        match node:
            case tree.Call(function="dot", arguments=(left, right)):
                for row, block in ((left, right), (right, left)):
                    if self._is_row(row) and isinstance(block, tree.Letter) and block.name in self.vectors:
                        assert isinstance(row, tree.Index)
                        return self._form(("dot", row.base, block.name), partial(self._rows, row.base, block.name))
                raise NotOneForm
            case tree.Index(base=base, indices=(tree.Letter(name=name),)) if name == self.index:
                if base in self.vectors:
                    return self._form(("entry", base), lambda: self._entries(base))
                return self._column((base,), lambda: self._values(base))
            case tree.Index(base=base, indices=(tree.Letter(name=name), tree.Number(value=value))) if (
                name == self.index
            ):
                return self._column((base, value), lambda: self._values(base, int(value)))
            case tree.Index() if any(self.index in letters_of(i) for i in node.indices):
                raise NotOneForm
            case tree.Letter(name=name) if name == self.index:
                return self._column(("i",), lambda: DataArray.of("i", np.arange(self.low, self.high + 1)))
        return self._below(node)

    def finish(self, body: sympy.Expr, names: Mapping[str, sympy.Symbol], mean: bool) -> sympy.Expr:
        """The sum of an interpreted body; variables that all samples share become quantities of their own."""
        forms = {names[name]: form for name, form in self.forms.items()}
        columns = {names[name]: column for name, column in self.columns.items()}
        shared = sorted(body.free_symbols - set(forms) - set(columns), key=lambda s: s.name)
        renamed = {s: sympy.Symbol(f"_s{k}", real=True) for k, s in enumerate(shared)}
        forms |= {new: DataForm.same(old) for old, new in renamed.items()}
        count = self.high - self.low + 1
        return DataSum.of(body.xreplace(renamed), forms, columns, count, sympy.Rational(1, count) if mean else 1)

    def _is_row(self, node: tree.Node) -> bool:
        match node:
            case tree.Index(base=base, indices=(tree.Letter(name=name),)):
                return name == self.index and np.ndim(self.data.get(base, 0)) == 2
        return False

    def _rows(self, base: str, block: str) -> DataForm:
        matrix = self._slice(np.asarray(self.data[base], dtype=float))
        if matrix.shape[1] != len(self.vectors[block]):
            raise NotOneForm
        return DataForm.rows(DataArray.of(base, matrix), self.vectors[block])

    def _entries(self, block: str) -> DataForm:
        if self.low < 0 or self.high >= len(self.vectors[block]):
            raise NotOneForm
        return DataForm.entries(self.vectors[block][self.low : self.high + 1])

    def _values(self, base: str, column: int | None = None) -> DataArray:
        array = np.asarray(self.data.get(base, 0.0), dtype=float)
        if array.ndim != (1 if column is None else 2) or (column is not None and not 0 <= column < array.shape[1]):
            raise NotOneForm
        return DataArray.of(base, self._slice(array if column is None else array[:, column]))

    def _slice(self, array: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.low < 0 or self.high >= len(array):
            raise NotOneForm
        return array[self.low : self.high + 1]

    def _form(self, key: tuple[str, ...], make: Callable[[], DataForm]) -> tree.Node:
        if key not in self.known:
            self.known[key] = f"_u{len(self.forms)}"
            self.forms[self.known[key]] = make()
        return tree.Letter(self.known[key])

    def _column(self, key: tuple[str | Fraction, ...], make: Callable[[], DataArray]) -> tree.Node:
        if key not in self.known:
            self.known[key] = f"_p{len(self.columns)}"
            self.columns[self.known[key]] = make()
        return tree.Letter(self.known[key])

    def _below(self, node: tree.Node) -> tree.Node:
        changes: dict[str, Any] = {}
        for item in fields(node):
            value = getattr(node, item.name)
            if isinstance(value, tree.Node):
                changes[item.name] = self.rewrite(value)
            elif isinstance(value, tuple) and any(isinstance(v, tree.Node) for v in value):
                changes[item.name] = tuple(self.rewrite(v) if isinstance(v, tree.Node) else v for v in value)
        return replace(node, **changes) if changes else node


def letters_of(node: tree.Node) -> set[str]:
    """Letters below a node."""
    return {part.name for part in node.walk() if isinstance(part, tree.Letter)}
