"""A relation between two formulas for all values of letters in their ranges: what one certificate states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy

from bilevel_verify.certificates.numbers.formulas import data_of_formula

Range = tuple[Fraction | None, Fraction | None]
"""The ends of a letter; None where it has none."""
Ranges = Mapping[str, Range]


class NoTree(Exception):
    """The intervals do not show the relation on a tree of the size asked for; or there is no word for it."""


@dataclass(frozen=True, slots=True)
class Relation:
    """``small op large`` for all values of the letters in their ranges; ``op`` is ``<=`` or ``<``."""

    small: sympy.Expr
    op: str
    large: sympy.Expr
    ranges: Ranges

    def claim(self) -> list[Any]:
        """The relation as data of a certificate.

        Raises
        ------
        NotStated : a function that certificates have no word for.
        """
        return [self.op, data_of_formula(self.small), data_of_formula(self.large)]
