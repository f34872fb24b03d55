"""The result of the constants room: a bound with its provenance, and how it reads: a line, a tree, a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from html import escape
from typing import Literal

import sympy

Status = Literal["certified", "not certified", "no bound found"]
Route = Literal["exact", "calculus", "branch and bound", "sampling", "user"]
Side = Literal["upper", "lower"]
DIGITS = 9
COLUMNS = ("letter", "bound", "known on the other side", "proof", "norm", "domain")


BLAMING = ("unbounded ray", "blows up", "lost smoothness", "Hoelder rules", "Hoelder exponent")
"""Rules whose statement says why there is no finite constant."""
MOST_NAMED = 4
Ranges = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Reason:
    """One step of a derivation: a rule, what it gave, and the steps it rests on. Prints as an indented tree.

    ``remedy`` : ranges of variables on which a constant that is infinite here would be finite.
    """

    rule: str
    statement: str
    parts: tuple[Reason, ...] = ()
    remedy: Ranges = field(default_factory=dict)

    def lines(self, depth: int = 0) -> list[str]:
        """The derivation as indented text."""
        own = ["  " * depth + f"{self.said()}  [{self.rule}]"]
        return own + [line for part in self.parts for line in part.lines(depth + 1)]

    def said(self) -> str:
        """The statement, and how to mend what it complains of."""
        return "; ".join([self.statement, *advice(self.remedy)])

    def cause(self) -> str:
        """Why a constant is infinite: the first statement below that names a term, and what mends all of them."""
        blamed = next((step for step in self._steps() if step.rule in BLAMING), self)
        return "; ".join([blamed.statement, *self.remedies()])

    def remedies(self) -> list[str]:
        """What to add to the problem, so that all steps below are mended: one text or none."""
        ranges: dict[str, tuple[float, float]] = {}
        for step in self._steps():
            for name, (low, high) in step.remedy.items():
                before = ranges.get(name, (-math.inf, math.inf))
                ranges[name] = (max(low, before[0]), min(high, before[1]))
        return advice(ranges)

    def _steps(self) -> Iterator[Reason]:
        """Breadth first, along the parts without a finite bound where there are some."""
        queue = [self]
        while queue:
            step = queue.pop(0)
            yield step
            queue += [p for p in step.parts if " <= inf" in p.statement or "oo" in p.statement] or step.parts

    def __str__(self) -> str:
        return "\n".join(self.lines())


def advice(ranges: Ranges) -> list[str]:
    """What to add to a problem: one text, none where no range would help."""
    if not ranges:
        return []
    shown = [f"{name} = [{low:g}, {high:g}]" for name, (low, high) in list(ranges.items())[:MOST_NAMED]]
    more = f" and so on ({len(ranges)} variables)" if len(ranges) > MOST_NAMED else ""
    return [f"add {', '.join(shown)}{more} under [domain]"]


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
        return text(self)

    def _repr_latex_(self) -> str:
        return latex(self)

    def _repr_html_(self) -> str:
        return html_table([self])


def line(constant: Constant) -> str:
    """``L_g <= 3/2 (at most 1.5) (attained): certified by calculus on -3 <= x1 <= 3``."""
    sign = "<=" if constant.side == "upper" else ">="
    shown = _shown(constant)
    proven = constant.status == "certified"
    proof = f"certified by {constant.route}" if proven else f"{constant.status} ({constant.route})"
    return f"{constant.name} {sign} {shown}{' (attained)' if constant.attained else ''}: {proof} on {constant.domain}"


def text(constant: Constant) -> str:
    """The line and the derivation under it."""
    return "\n".join([line(constant), *constant.why.lines(1)])


def latex(constant: Constant) -> str:
    """``$L_g \\le ...$`` with the closed form where there is one."""
    from bilevel_verify.language import letter_latex

    relation = r"\le" if constant.side == "upper" else r"\ge"
    value = sympy.latex(constant.exact) if constant.exact is not None else _safe(constant, r"\infty")
    return f"${letter_latex(constant.name)} {relation} {value}$"


def html_table(constants: Iterable[Constant]) -> str:
    """A table for a notebook; the derivation opens under each letter."""
    head = "".join(f"<th>{name}</th>" for name in COLUMNS)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(map(_row, constants))}</tbody></table>"


def _row(constant: Constant) -> str:
    other = constant.lower if constant.side == "upper" else constant.upper
    shown = _shown(constant)
    proof = f"{constant.status}, {constant.route}"
    why = escape("\n".join(constant.why.lines()))
    cells = [escape(constant.name), escape(shown), escape(_number(other, constant.side == "upper"))]
    cells += [f"<details><summary>{escape(proof)}</summary><pre>{why}</pre></details>"]
    cells += [escape(constant.norm), escape(constant.domain)]
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _shown(constant: Constant) -> str:
    if constant.exact is None:
        return _safe(constant)
    return f"{constant.exact} ({'at most' if constant.side == 'upper' else 'at least'} {_safe(constant)})"


def _safe(constant: Constant, infinity: str = "oo") -> str:
    return _number(constant.value, constant.side == "lower", infinity)


def safe_decimal(value: float, digits: int, down: bool) -> Decimal:
    """A finite number to so many digits, rounded to the safe side: what is printed is still a bound."""
    return Context(prec=digits, rounding=ROUND_FLOOR if down else ROUND_CEILING).create_decimal(Decimal(value))


def _number(value: float, down: bool, infinity: str = "oo") -> str:
    if math.isinf(value):
        return infinity if value > 0 else f"-{infinity}"
    return f"{safe_decimal(value, DIGITS, down).normalize():.{DIGITS}g}"
