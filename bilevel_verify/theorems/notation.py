"""How a card's LaTeX is read: from its ``[notation]`` table, the file beside it, and the displays of its letters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bilevel_verify.errors import CardError
from bilevel_verify.files import is_file, read_toml
from bilevel_verify.installation import theory_directory
from bilevel_verify.language import letter_latex
from bilevel_verify.latex import Notation
from bilevel_verify.theorems.card_parts import FunctionSpec, LetterSpec

if TYPE_CHECKING:
    from bilevel_verify.theorems.card import Card

FIELD = {
    "f": ("f", "functions"),
    "g": ("g", "functions"),
    "h": ("h", "functions"),
    "phi": (r"\varphi", "functions"),
    "y_star": ("y^*", "vector_functions"),
    "y_star_lam": (r"y_\lambda^*", "vector_functions"),
    "L_star": (r"L_\lambda^*", "functions"),
    "L_lam": (r"L_\lambda", "functions"),
    "O": (r"\mathcal{O}", "functions"),
    "softO": (r"\tilde{\mathcal{O}}", "functions"),
}
"""Usual displays of the functions of the field; a card that prints others says so in its ``[notation]``."""
ITERATES = {name: name for name in "x y z w v u".split()}


def notation_table(data: Mapping[str, object], path: Path) -> dict[str, object]:
    """The ``[notation]`` table of a card, else the file ``notation/NAME.toml`` beside it, else that of its paper's key.

    Raises
    ------
    CardError : the file is not TOML.
    """
    table = data.get("notation")
    if isinstance(table, dict):
        return table
    beside = path.parent / "notation" / path.name
    paper = data.get("paper")
    key = paper.get("key") if isinstance(paper, dict) else None
    of_key = [one for one in (theory_directory() / "notation").glob("*.toml") if one.stem == key]  # a copy elsewhere
    found = next((one for one in (beside, *of_key) if is_file(one)), None)
    return {} if found is None else read_toml(found, error=CardError)


def notation_of(
    table: Mapping[str, object], letters: Mapping[str, LetterSpec], functions: Mapping[str, FunctionSpec], title: str
) -> Notation:
    """The notation of a card: its table first, then the displays of its letters and functions, then usual iterates.

    Raises
    ------
    InputError : an entry of the table that cannot be read; names it.
    """
    notation = Notation.from_table(table, title)
    displays = {name: spec.display or letter_latex(name) for name, spec in letters.items()}
    declared = {entry.name for entry in notation.entries if entry.role != "function"}
    notation = notation.extended({n: d for n, d in displays.items() if n not in declared})
    if table:
        return notation
    for group in ("functions", "vector_functions"):
        usual = {n: d for n, (d, kind) in FIELD.items() if kind == group and (n in functions or n in ("O", "softO"))}
        notation = notation.extended(usual, group)
    return notation.extended({n: d for n, d in ITERATES.items() if n not in letters}, "vector_sequences")


def symbols_of(card: Card) -> dict[str, str]:
    """Letter or function -> the paper's own symbol: that of the notation, and over it the display that the card gives.

    Of several symbols of one name the first stands.
    """
    shown = {entry.name: entry.display for entry in reversed(card.notation.entries)}
    shown |= {name: spec.display for name, spec in card.letters.items() if spec.display}
    return shown | {name: spec.display for name, spec in card.functions.items() if spec.display}
