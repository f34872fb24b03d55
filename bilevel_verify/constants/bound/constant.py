"""The result of the constants room: a bound with its provenance."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import sympy

Status = Literal["certified", "not certified", "no bound found"]
Route = Literal["exact", "calculus", "branch and bound", "sampling", "user"]
Side = Literal["upper", "lower"]


@dataclass(frozen=True, slots=True)
class Reason:
    """One step of a derivation: a rule, what it gave, and the steps it rests on. Prints as an indented tree."""

    rule: str
    statement: str
    parts: tuple[Reason, ...] = ()

    def lines(self, depth: int = 0) -> list[str]:
        """The derivation as indented text."""
        own = ["  " * depth + f"{self.statement}  [{self.rule}]"]
        return own + [line for part in self.parts for line in part.lines(depth + 1)]

    def __str__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True, slots=True)
class Constant:
    """A smoothness constant of one problem.

    Attributes
    ----------
    name : letter, as in the paper that was asked for.
    value : the safe end: an upper bound (``side == "upper"``), a lower bound for ``mu`` (``side == "lower"``).
    lower, upper : what is known on both sides (the unsafe side from sampling or an attained point; it may be -inf/inf).
    certified : True only if the safe end is exact or was rounded outward all the way.
    route : which of the three routes won.
    norm : Euclidean / spectral, and which variables move ("spectral, joint in (x, y)").
    domain : the set on which it holds, as text; ``whole_space`` says whether it is the theorem's own domain.
    why : readable derivation.
    exact : closed form, if there is one.
    attained : the true constant equals ``value`` (tight).
    witness : a point that shows the unsafe side, or where a term blows up; variable name -> value.
    """

    name: str
    value: float
    lower: float
    upper: float
    side: Side
    certified: bool
    route: Route
    norm: str
    domain: str
    why: Reason
    exact: sympy.Expr | None = None
    whole_space: bool = True
    attained: bool = False
    witness: dict[str, float] = field(default_factory=dict)
    meaning: str = ""

    @property
    def status(self) -> Status:
        """What may be said of ``value``; an infinite end that was not proved to be infinite is no bound at all."""
        if math.isinf(self.value) and not self.lower == self.upper == self.value:
            return "no bound found"
        return "certified" if self.certified else "not certified"

    def __str__(self) -> str:
        from bilevel_verify.constants.bound.display import text

        return text(self)

    def _repr_latex_(self) -> str:
        from bilevel_verify.constants.bound.display import latex

        return latex(self)

    def _repr_html_(self) -> str:
        from bilevel_verify.constants.bound.display import html_table

        return html_table([self])
