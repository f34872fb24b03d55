"""From a problem to the programs and sources of its oracles, each derived when it is first asked for.

``f`` and ``g`` may have two parts: a closed form, which becomes a program and generated source, and sums over data,
which are evaluated on arrays and never written out. Everything about programs and sources is about the closed form.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from bilevel_verify.atoms.datasum import DataSum, split_data_sums
from bilevel_verify.errors import ParameterError
from bilevel_verify.oracles.convention import EVALUATIONS, FIELDS, PRODUCTS
from bilevel_verify.problems.digest import content_digest
from bilevel_verify.problems.problem import Problem
from bilevel_verify.symbolic import differentiate
from bilevel_verify.symbolic.data_structure import numbers_of, with_data
from bilevel_verify.symbolic.exact_sums import ExactGroup, ExactSums
from bilevel_verify.symbolic.generate import Source, generate
from bilevel_verify.symbolic.numeric import NumericStructure, data_group, exact_scale, numeric
from bilevel_verify.symbolic.program import Program, program_of
from bilevel_verify.symbolic.structure import Structure, decompose
from bilevel_verify.symbolic.structured import WORTHWHILE, generate_structured

if TYPE_CHECKING:
    import sympy

MOST_COMPILED = 120_000
"""Numbers of data that machine code holds as constants: beyond, one pass of NumPy costs less than twice as much."""
MOST_EXACT = 2_000_000
"""Numbers of data that a multi-precision oracle reads (some seconds for every call)."""


class Programs:
    """Derives the oracles of one problem; everything is kept."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        dx, dy = problem.dx, problem.dy
        self.ranges = {"x": range(dx), "y": range(dx, dx + dy), "z": range(dx + dy)}
        self._programs: dict[str, Program] = {}
        self._digest = ""
        self._parts: dict[str, tuple[Any, list[tuple[Any, DataSum]]]] = {}
        self._structures: dict[str, Structure] = {}
        self._numeric: dict[str, NumericStructure] = {}
        self._data: dict[str, NumericStructure] = {}
        self._exact: dict[str, ExactSums] = {}
        self._sources: dict[str, Source] = {}

    def expression(self, which: str) -> sympy.Expr:
        """``f``, or the lower-level function ``g`` (``-f`` for minimax).

        Raises
        ------
        ParameterError : the problem has no lower level.
        """
        expression = self.problem.f if which == "f" else self.problem.lower
        if expression is None:
            raise ParameterError(f"a {self.problem.kind} problem has no g; ask for the oracles of f")
        return expression

    @property
    def digest(self) -> str:
        """SHA-256 of what decides the oracles: kind, variables in order, f and g (data by content)."""
        if not self._digest:
            problem = self.problem
            parts = [problem.kind, *(s.name for s in problem.x), "|", *(s.name for s in problem.y)]
            parts += [content_digest(e) for e in (problem.f, problem.g) if e is not None]
            self._digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        return self._digest

    def parts(self, which: str) -> tuple[sympy.Expr, list[tuple[sympy.Expr, DataSum]]]:
        """``f`` or ``g`` without its data sums, and those with their factors."""
        if which not in self._parts:
            expression = self.expression(which)
            self._parts[which] = split_data_sums(expression) if expression.has(DataSum) else (expression, [])
        return self._parts[which]

    def has_data_sums(self, which: str) -> bool:
        """Whether ``f`` or ``g`` has a sum over data besides its closed form."""
        return bool(self.parts(which)[1])

    def data_numbers(self, which: str) -> int:
        """How many numbers of data one evaluation of ``f`` or ``g`` reads."""
        return sum(map(numbers_of, self.data(which).groups)) if self.has_data_sums(which) else 0

    def data_can_be_compiled(self, which: str) -> bool:
        """Whether the sums over data of ``f`` or ``g`` are small enough to be loops over constant arrays."""
        return all(group.forms for group in self.data(which).groups) and self.data_numbers(which) <= MOST_COMPILED

    def base(self, which: str) -> Program:
        """Program of the closed form of ``f`` or ``g`` over (x, y)."""
        if which not in self._programs:
            self._programs[which] = program_of(self.parts(which)[0], self.problem.variables)
        return self._programs[which]

    def program(self, field: str) -> Program:
        """Program of an oracle of the closed form; inputs are x, y and, for products, v."""
        if field not in FIELDS:
            raise ParameterError(f"there is no oracle {field!r}; there are {', '.join(FIELDS)}")
        if field not in self._programs:
            self._programs[field] = self._derive(field)
        return self._programs[field]

    def _derive(self, field: str) -> Program:
        kind, which = field.rsplit("_", 1)
        base, x, y, z = self.base(which), *(self.ranges[b] for b in "xyz")
        match kind:
            case "value":
                return base
            case "grad":
                return differentiate.gradient(base, z)
            case "grad_x":
                return differentiate.gradient(base, x)
            case "grad_y":
                return differentiate.gradient(base, y)
            case "hess":
                return differentiate.hessian(base, z)
            case "third":
                return differentiate.third_derivative(base, z)
            case "hvp":
                return differentiate.hessian_product(base, z, z)
            case "hvp_yy":
                return differentiate.hessian_product(base, y, y)
            case "jvp_xy":
                return differentiate.hessian_product(base, x, y)
        return differentiate.hessian_product(base, y, x)

    def source(self, field: str) -> Source:
        """Generated source of an oracle of the closed form."""
        if field not in self._sources:
            kind, which = field.rsplit("_", 1)
            if self.is_structured(which) and kind != "third":
                self._sources[field] = generate_structured(field, kind, self.structure(which), self.problem.dx)
            else:
                self._sources[field] = generate(field, self.program(field), self.blocks(field))
        return self._sources[field]

    def source_with_data(self, field: str) -> Source:
        """Generated source of an oracle with its sums over data as loops (see :meth:`data_can_be_compiled`)."""
        kind, which = field.rsplit("_", 1)
        scales = [exact_scale(factor, data) for factor, data in self.parts(which)[1]]
        structure = with_data(self.structure(which), list(zip(self.data(which).groups, scales, strict=True)))
        return generate_structured(field, kind, structure, self.problem.dx)

    def structure(self, which: str) -> Structure:
        """Quadratic part, affine forms and core of ``f`` or ``g``."""
        if which not in self._structures:
            self._structures[which] = decompose(self.base(which))
        return self._structures[which]

    def numeric(self, which: str) -> NumericStructure:
        """The closed form of ``f`` or ``g`` on arrays."""
        if which not in self._numeric:
            self._numeric[which] = numeric(self.structure(which))
        return self._numeric[which]

    def data(self, which: str) -> NumericStructure:
        """The sums over data of ``f`` or ``g``."""
        if which not in self._data:
            places = {symbol: place for place, symbol in enumerate(self.problem.variables)}
            groups = [data_group(factor, data, places) for factor, data in self.parts(which)[1]]
            self._data[which] = NumericStructure(len(places), 0.0, np.zeros(len(places)), None, groups)
        return self._data[which]

    def exact_data(self, which: str) -> ExactSums:
        """The sums over data of ``f`` or ``g`` for multi-precision numbers.

        Raises
        ------
        ParameterError : more data than that is meant for.
        """
        if which not in self._exact:
            pairs = zip(self.data(which).groups, self.parts(which)[1], strict=True)
            groups = [ExactGroup(group, exact_scale(factor, data)) for group, (factor, data) in pairs]
            sums = ExactSums(len(self.problem.variables), groups)
            if sums.numbers > MOST_EXACT:
                raise ParameterError(
                    f"{which} sums over {sums.numbers} numbers of data: in multi-precision at most {MOST_EXACT}"
                )
            self._exact[which] = sums
        return self._exact[which]

    def is_structured(self, which: str) -> bool:
        """Whether the arrays of ``f`` or ``g`` are large enough to be kept as arrays."""
        return self.base(which).size >= WORTHWHILE and self.structure(which).dense_entries >= WORTHWHILE

    def blocks(self, field: str) -> list[tuple[str, int]]:
        """Array arguments of an oracle with their lengths."""
        blocks = [("x", self.problem.dx), ("y", self.problem.dy)]
        if field in PRODUCTS:
            blocks.append(("v", len(self.ranges[direction_block(field)])))
        return blocks

    def length(self, field: str) -> int:
        """Length of ``out``."""
        n = len(self.ranges["z"])
        kind = field.rsplit("_", 1)[0]
        special = {"value": 1, "hess": n * n, "third": n * (n + 1) * (n + 2) // 6}
        return special[kind] if kind in special else len(self.ranges[result_block(field)])


def direction_block(field: str) -> str:
    """Block that the direction of a product lives in: ``x``, ``y`` or ``z`` (both)."""
    return {"hvp": "z", "hvp_yy": "y", "jvp_xy": "y", "jvp_yx": "x"}[field.rsplit("_", 1)[0]]


def result_block(field: str) -> str:
    """Block of a vector-valued oracle's result."""
    kind = field.rsplit("_", 1)[0]
    return {"grad": "z", "grad_x": "x", "grad_y": "y", "hvp": "z", "hvp_yy": "y", "jvp_xy": "x", "jvp_yx": "y"}[kind]


__all__ = ["EVALUATIONS", "Programs", "direction_block", "result_block"]
