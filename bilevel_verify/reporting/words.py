"""How verdicts, numbers and names are shown: one place, so that page, tables and terminal agree."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from bilevel_verify.checks.verdicts.verdict import RowRecord, Verdict
from bilevel_verify.reporting.document import MatrixCell


@dataclass(frozen=True, slots=True)
class Look:
    """Symbol and name of the style class of a verdict, what it means, and how bad it is (for sorting and summaries)."""

    symbol: str
    style: str
    rank: int
    meaning: str


LOOKS: dict[Verdict, Look] = {
    "refuted": Look("✗", "refuted", 0, "the promise is broken here: every hypothesis holds and the bound does not"),
    "inconsistent": Look("≠", "inconsistent", 1, "the count grows faster than the promised order"),
    "undecided": Look("?", "undecided", 2, "neither side could be decided; the reason says what was missing"),
    "uninformative": Look("∘", "uninformative", 3, "this family of instances cannot show the rate"),
    "not applicable": Look("–", "na", 4, "a hypothesis is false here, with a witness, or there was no place to check"),
    "consistent": Look("≈", "consistent", 5, "the count grows no faster than the promised order on this family"),
    "holds": Look("✓", "holds", 6, "kept on this instance, every hypothesis verified"),
}
SUMMARY_ORDER = ("refuted", "inconsistent", "undecided", "holds", "consistent", "uninformative", "not applicable")
CERTAINTIES: dict[str, str] = {
    "proved": "exact or symbolic",
    "certified": "outward rounded all the way",
    "computed": "floating point with an error estimate",
    "sampled": "from sampling only",
}


def method_title(name: str) -> str:
    """A method as a reader knows it; a callable of the user keeps its name."""
    from bilevel_verify.methods import METHODS

    if name.partition(":")[0] == "literal":
        return f"The algorithm {name[8:] or 'of the card'}, step by step"
    return METHODS[name].title if name in METHODS else name


def statement_name(row: RowRecord | MatrixCell) -> str:
    """Paper and statement of a row, as far as it has them."""
    return "/".join(p for p in (row["paper"], row["statement"]) if p)


def number(value: str | float | None, digits: int = 4) -> str:
    """A number as a person would write it: ``0.01234``, ``1.2e−7``, ``∞``; a dash for None."""
    if value is None:
        return "—"
    if isinstance(value, str):
        return {"inf": "∞", "-inf": "−∞", "nan": "not a number"}.get(value, value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and abs(value) < 10**9:
        return f"{value:,}".replace(",", "\u202f").replace("-", "−")
    value = float(value)
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e6:
        text = f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:.0f}"
        return text.replace("-", "−")
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}e{int(exponent)}".replace("-", "−")


def percent(value: float) -> str:
    """A share as a percentage with at most one decimal."""
    if value is None or isinstance(value, str):
        return number(value)
    share = 100 * float(value)
    return f"{share:.0f}\u202f%" if abs(share) >= 10 or share == 0 else f"{share:.2g}\u202f%"


def nested(value: object) -> str:
    """Lists and mappings as a person would write them: ``x = (0, 0), value = 2; x = (0, pi)``."""
    if isinstance(value, dict):
        return ", ".join(f"{k} = {nested(v)}" for k, v in value.items())
    if isinstance(value, list):
        inner = [nested(v) for v in value]
        return "; ".join(inner) if any(isinstance(v, dict | list) for v in value) else f"({', '.join(inner)})"
    return number(value, 10) if isinstance(value, int | float) or value is None else str(value)


def worst(verdicts: list[str]) -> str:
    """The verdict that a summary shows: a broken or open promise first, then what was kept, then what says nothing."""
    return next((v for v in SUMMARY_ORDER if v in verdicts), "undecided")


def numbered(steps: str) -> list[tuple[str, str]]:
    """Lines of an algorithm, each with the number that its comment gives it, or none."""
    lines = steps.strip("\n").splitlines()
    found = [re.fullmatch(r"(.*?)\s*#\s*(\d+)\s*", line) for line in lines]
    return [(one[2], one[1]) if one else ("", line) for one, line in zip(found, lines)]
