"""Constants for a reader: one line, a tree, a table for a notebook."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bilevel_verify.constants.bound.constant import Constant

DIGITS = 9
COLUMNS = ("letter", "bound", "known on the other side", "proof", "norm", "domain")


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
    import sympy

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
