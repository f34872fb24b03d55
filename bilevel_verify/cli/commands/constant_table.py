"""How the constants of a problem are shown: a table, remarks on what is infinite or not convex, LaTeX, derivations."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from bilevel_verify.cli import output

DIGITS = 6


def constants_latex(found: dict[str, Any]) -> str:
    """The constants as a booktabs table, not wider than the text."""
    from bilevel_verify.language import letter_latex
    from bilevel_verify.reporting.tables import FIT, FITTED, NEEDS, latex_escape

    lines = [
        NEEDS,
        FIT,
        r"\begin{tabular}{lrlll}",
        r"\toprule",
        r"letter & value & status & norm & domain \\",
        r"\midrule",
    ]
    for name, c in found.items():
        value = f"${c['exact']}$" if c.get("exact") else latex_escape(safe_number(c))
        status = c.get("status", "not certified")
        texts = [status, c.get("norm", ""), c.get("domain", c.get("reason", ""))]
        lines.append(" & ".join([f"${letter_latex(name)}$", value, *(latex_escape(t) for t in texts)]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}" + FITTED])


def show(found: dict[str, Any], closed: dict[str, str], why: bool) -> None:
    """The table on stdout; below it whatever is infinite, and where strong convexity fails.

    Parameters
    ----------
    found : letter -> record of the constant (or its reason for failing).
    closed : letter -> closed form as text, where there is one.
    """
    from bilevel_verify.reporting.words import number

    lines = []
    for name, c in found.items():
        status = c.get("status", "not certified")
        reached = c.get("upper") if c.get("side") == "lower" else c.get("lower")
        place = f"{c.get('norm', '')}; {c.get('domain', '')}" if "norm" in c else c.get("reason", "")
        value = safe_number(c) + (f" = {closed[name]}" if name in closed else "")
        mark = "tight" if c.get("attained") else number(reached, 6)
        lines.append([name, value, mark, status, c.get("route", ""), place, c.get("meaning", "")])
    columns = ["letter", "value", "reached", "status", "route", "norm; domain", "meaning"]
    output.table("", columns, lines, numeric=("value", "reached"))
    for line in remarks(found):
        output.line(line)
    if why:
        for name, c in found.items():
            if "why" in c:
                output.line(f"{name}:")
                output.line("\n".join(tree(c["why"], 1)))


def safe_number(c: dict[str, Any]) -> str:
    """Six digits of the certified end, rounded to its safe side (an upper bound up, a lower bound down)."""
    from bilevel_verify.constants.bound.constant import safe_decimal
    from bilevel_verify.reporting.words import number

    value = c["value"]
    if not isinstance(value, float) or value == 0 or c.get("exact"):
        return number(value, DIGITS)
    exact = Decimal(value)
    nearest = exact.quantize(Decimal((0, (1,), exact.adjusted() - DIGITS + 1)))
    if abs(nearest - exact) > abs(exact) * Decimal("1e-12"):
        nearest = safe_decimal(value, DIGITS, c.get("side") == "lower")
    return number(float(nearest), DIGITS)


def remarks(found: dict[str, Any]) -> list[str]:
    """One line for every infinite constant (term and remedy) and for a lower level that is not strongly convex."""
    lines = []
    for name, c in found.items():
        if c.get("value") == "inf":
            proved = c.get("status") == "certified"
            said = f"{name} is infinite" if proved else f"no finite bound of {name} was found"
            lines.append(f"{said}: {c['cause']}")
        elif name == "mu" and c.get("side") == "lower" and not (isinstance(c["value"], float) and c["value"] > 0):
            lines.append(_not_convex(c))
    return lines


def _not_convex(c: dict[str, Any]) -> str:
    if c["value"] == "-inf":
        return f"mu: no curvature bound: {c['cause']}"
    point = ", ".join(f"{variable} = {value}" for variable, value in c.get("witness", {}).items())
    advice = "".join(f"; {text}" for text in c.get("remedies", ()))
    if isinstance(c["upper"], float) and c["upper"] <= 0:
        where = point or "every point"
        return f"not strongly convex in y: the smallest curvature is {c['upper']:.6g} at {where}{advice}"
    return f"strong convexity in y is not shown: the smallest curvature seen is {c['upper']} at {point}{advice}"


def tree(reason: dict[str, Any], depth: int) -> list[str]:
    """A derivation as indented lines."""
    own = ["  " * depth + f"{reason['statement']}  [{reason['rule']}]"]
    return own + [line for part in reason["parts"] for line in tree(part, depth + 1)]
