"""Sums over data that stay sums: ``scale * sum_i phi(u_i, b_i, ...)`` with affine ``u_i = A[i] @ y``.

A :class:`DataSum` is a SymPy expression like any other (it can be added, scaled, differentiated, printed), but it never
writes its terms out: data arrays are referred to by content, and the closed form of one sample is all that SymPy sees.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from numpy.typing import ArrayLike
from sympy.core.symbol import Str

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sympy.printing.latex import LatexPrinter

_ARRAYS: dict[str, Any] = {}
"""Content hash -> read-only array. Expressions hold hashes, so that they stay immutable and comparable."""

MOST_WRITTEN_OUT = 200_000
"""Most numbers that :meth:`DataSum.doit` writes into an expression."""


class DataArray(sympy.Basic):  # type: ignore[misc]
    """A float64 array, known by its name (for reading) and its content (for everything else)."""

    @classmethod
    def of(cls, name: str, values: ArrayLike) -> DataArray:
        """The node of an array; the values are copied and frozen, unless they are a frozen array already."""
        array = np.asarray(values, dtype=np.float64, order="C")
        if not _frozen(array):
            array = array.copy()
            array.setflags(write=False)
        seen = hashlib.sha256(repr(array.shape).encode())
        seen.update(array.data)  # no copy
        digest = seen.hexdigest()
        _ARRAYS.setdefault(digest, array)
        return cls(Str(name), Str(digest))

    @property
    def values(self) -> NDArray[np.float64]:
        """The array (read-only)."""
        found: NDArray[np.float64] = _ARRAYS[str(self.args[1])]
        return found

    @property
    def name(self) -> str:
        """What the user called it."""
        return str(self.args[0])


def _frozen(array: object) -> bool:
    """Whether nobody can write to an array: neither through it nor through what it is a view of."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return array is None


def chunks(count: int, step: int) -> list[slice]:
    """So many samples in pieces of one length, the last one shorter."""
    return [slice(k, min(k + step, count)) for k in range(0, count, step)]


class DataForm(sympy.Basic):  # type: ignore[misc]
    """One affine quantity per sample: ``rows`` (``A[i] @ v``), ``entries`` (``v[i]``) or ``same`` (``v`` for all i).

    ``args``: kind, the tuple v, and for ``rows`` the matrix.
    """

    @classmethod
    def rows(cls, matrix: DataArray, variables: Sequence[sympy.Symbol]) -> DataForm:
        """``u_i = sum_j matrix[i, j] variables[j]``."""
        return cls(Str("rows"), sympy.Tuple(*variables), matrix)

    @classmethod
    def entries(cls, variables: Sequence[sympy.Symbol]) -> DataForm:
        """``u_i = variables[i]``."""
        return cls(Str("entries"), sympy.Tuple(*variables))

    @classmethod
    def same(cls, variable: sympy.Symbol) -> DataForm:
        """``u_i = variable``."""
        return cls(Str("same"), sympy.Tuple(variable))

    @property
    def kind(self) -> str:
        """``rows``, ``entries`` or ``same``."""
        return str(self.args[0])

    @property
    def variables(self) -> sympy.Tuple:
        """The tuple v."""
        return self.args[1]

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The matrix of ``rows``."""
        found: NDArray[np.float64] = self.args[2].values
        return found

    def at(self, i: int) -> sympy.Expr:
        """``u_i`` as an expression with exact numbers."""
        if self.kind == "rows":
            return sympy.Add(*(sympy.Rational(float(a)) * v for a, v in zip(self.matrix[i], self.variables) if a))
        return self.variables[i if self.kind == "entries" else 0]


class DataSum(sympy.Expr):  # type: ignore[misc]
    """``scale * sum_i body(u_i, p_i)``.

    ``args``: body, names of the u, their :class:`DataForm`, names of the p, their :class:`DataArray` columns, scale,
    number of samples.
    """

    is_commutative = True
    is_real = True

    @classmethod
    def of(
        cls,
        body: sympy.Expr,
        forms: dict[sympy.Symbol, DataForm],
        columns: dict[sympy.Symbol, DataArray],
        count: int,
        scale: int | sympy.Expr = 1,
    ) -> sympy.Expr:
        """The sum; zero for an empty one."""
        if count == 0 or body == 0:
            return sympy.S.Zero
        used = body.free_symbols
        u = [s for s in forms if s in used]
        p = [s for s in columns if s in used]
        sums = sympy.Tuple(*u), sympy.Tuple(*(forms[s] for s in u))
        numbers = sympy.Tuple(*p), sympy.Tuple(*(columns[s] for s in p))
        return cls(body, *sums, *numbers, sympy.sympify(scale), sympy.Integer(count))

    body = property(lambda self: self.args[0])
    scale = property(lambda self: self.args[5])
    count = property(lambda self: int(self.args[6]))

    @property
    def forms(self) -> dict[sympy.Symbol, DataForm]:
        """Name of a quantity -> how it comes from the variables."""
        return dict(zip(self.args[1], self.args[2]))

    @property
    def columns(self) -> dict[sympy.Symbol, DataArray]:
        """Name of a per-sample number -> its values."""
        return dict(zip(self.args[3], self.args[4]))

    @property
    def free_symbols(self) -> set[sympy.Symbol]:
        """The variables; the names inside the body are bound."""
        found: set[Any] = set(self.scale.free_symbols)
        return found.union(*(form.variables.free_symbols for form in self.forms.values()))

    @property
    def bound_symbols(self) -> list[sympy.Symbol]:
        """Names of the body."""
        return [*self.args[1], *self.args[3]]

    def term(self, i: int) -> sympy.Expr:
        """Term i, without the scale, written out."""
        numbers = {p: sympy.Rational(float(column.values[i])) for p, column in self.columns.items()}
        return self.body.xreplace({**{u: form.at(i) for u, form in self.forms.items()}, **numbers})

    @property
    def width(self) -> int:
        """Numbers that one term holds."""
        return 1 + len(self.columns) + sum(len(f.variables) if f.kind == "rows" else 1 for f in self.forms.values())

    def doit(self, **hints: object) -> sympy.Expr:
        """The sum written out, if it is small; else itself."""
        if self.count * self.width > MOST_WRITTEN_OUT:
            return self
        return self.scale * sympy.Add(*(self.term(i) for i in range(self.count)))

    def _eval_derivative(self, s: sympy.Symbol) -> sympy.Expr:
        total = []
        for u, form in self.forms.items():
            slope = self.body.diff(u)
            for j, variable in enumerate(form.variables):
                inner = variable.diff(s)
                if inner != 0 and slope != 0:
                    total.append(inner * self._slope(slope, form, j))
        return sympy.Add(*total)

    def _slope(self, slope: sympy.Expr, form: DataForm, j: int) -> sympy.Expr:
        """``scale * sum_i slope_i * (d u_i / d variables[j])``."""
        forms, columns = self.forms, self.columns
        if form.kind == "same":
            return DataSum.of(slope, forms, columns, self.count, self.scale)
        if form.kind == "entries":
            return self.scale * DataSum.of(slope, forms, columns, self.count).term(j)
        name = sympy.Symbol(f"_a{len(columns)}", real=True)
        column = DataArray.of(f"{form.args[2].name}[:, {j}]", form.matrix[:, j])
        return DataSum.of(slope * name, forms, {**columns, name: column}, self.count, self.scale)

    def _eval_evalf(self, prec: int) -> sympy.Expr | None:
        if self.free_symbols:
            return self
        written = self.doit()
        return None if written is self else written._evalf(prec)

    def _eval_subs(self, old: sympy.Symbol, new: sympy.Expr) -> sympy.Expr:
        """Only variables are substituted; names of the body are bound."""
        if old in self.bound_symbols:
            return self
        forms = sympy.Tuple(
            *(form.func(form.args[0], form.variables.subs(old, new), *form.args[2:]) for form in self.args[2])
        )
        return self.func(*self.args[:2], forms, *self.args[3:5], self.scale.subs(old, new), self.args[6])

    def _latex(self, printer: LatexPrinter) -> str:
        names: dict[Any, Any] = {}
        for u, form in self.forms.items():
            text = (
                rf"{form.args[2].name}_i^\top v" if form.kind == "rows" else r"v_i" if form.kind == "entries" else None
            )
            names[u] = form.variables[0] if text is None else sympy.Symbol(text)
        names |= {p: sympy.Symbol(f"{column.name}_i") for p, column in self.columns.items()}
        scale = "" if self.scale == 1 else printer._print(self.scale)
        return rf"{scale}\sum_{{i=1}}^{{{self.count}}} \left({printer._print(self.body.xreplace(names))}\right)"

    def _sympystr(self, printer: LatexPrinter) -> str:
        return f"DataSum({printer._print(self.body)}, {self.count} samples)"


def split_data_sums(expression: sympy.Expr) -> tuple[sympy.Expr, list[tuple[sympy.Expr, DataSum]]]:
    """``expression = rest + sum of factor * DataSum``: (rest, [(factor, sum), ...]); factors are numbers."""
    rest, sums = [], []
    for term in sympy.Add.make_args(expression):
        found = [f for f in sympy.Mul.make_args(term) if isinstance(f, DataSum)]
        factor = sympy.Mul(*(f for f in sympy.Mul.make_args(term) if not isinstance(f, DataSum)))
        if len(found) == 1 and factor.is_number:
            sums.append((factor, found[0]))
        else:
            rest.append(term)
    return sympy.Add(*rest), sums
