"""Sums over a few data as groups of a structure: what small data need to become loops over constant arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from bilevel_verify.symbolic.groups import Form, Group
from bilevel_verify.symbolic.numeric import Forms, NumericGroup
from bilevel_verify.symbolic.program import Program, finish
from bilevel_verify.symbolic.structure import Structure


def with_data(structure: Structure, sums: Sequence[tuple[NumericGroup, Fraction]]) -> Structure:
    """The structure with sums over data as further groups; every float is the exact number that it is.

    Parameters
    ----------
    sums : each sum with its exact factor.
    """
    return replace(structure, groups=(*structure.groups, *(_group(one, scale) for one, scale in sums)))


def numbers_of(group: NumericGroup) -> int:
    """How many numbers of data one evaluation reads."""
    matrices = sum(forms.matrix.size for forms in group.forms if forms.matrix is not None)
    return matrices + sum(len(column) for column in group.parameters)


def _group(group: NumericGroup, scale: Fraction) -> Group:
    parameters = tuple(tuple(map(Fraction, column.tolist())) for column in group.parameters)
    return Group(_scaled(group.template, scale), tuple(_forms(forms) for forms in group.forms), parameters)


def _scaled(template: Program, scale: Fraction) -> Program:
    graph = template.graph()
    return finish(graph, [graph.mul([graph.const(scale), template.outputs[0]])], ())


def _forms(forms: Forms) -> tuple[Form, ...]:
    zero = Fraction(0)
    if forms.matrix is None:
        return tuple(({int(column): Fraction(1)}, zero) for column in forms.columns)
    columns = [int(column) for column in forms.columns]
    rows: list[dict[int, Any]] = [
        {column: Fraction(value) for column, value in zip(columns, row, strict=True) if value}
        for row in np.asarray(forms.matrix).tolist()
    ]
    return tuple((row, zero) for row in rows)
