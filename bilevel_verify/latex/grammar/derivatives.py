"""Names of derivatives: ``\\nabla_{xy}^2 g`` is ``hess_xy_g``, and back."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bilevel_verify.latex.source.atoms import Atom
from bilevel_verify.latex.source.items import Item
from bilevel_verify.latex.source.structure import flat
from bilevel_verify.latex.values import Kind

if TYPE_CHECKING:
    from bilevel_verify.latex.grammar.cursor import Cursor
    from bilevel_verify.latex.notation import Entry

WORDS = {1: "grad", 2: "hess", 3: "third"}
STEMS = {"L_lam": "L"}
"""Functions whose blocks of derivatives go by a shorter name in cards (``hess_xy_L``)."""
PATTERN = re.compile(r"(?:(hat|tilde|bar)_)?(grad|hess|third)_(?:([a-z]{1,3})_)?(\w+)\Z")


@dataclass(frozen=True, slots=True)
class Nabla:
    """Order, blocks of variables, accent, and the component that a script picks."""

    order: int
    blocks: str = ""
    accent: str = ""
    component: tuple[Item, ...] | None = None


def nabla_of(cursor: Cursor, atom: Atom) -> Nabla:
    """What the scripts of a nabla say.

    Raises
    ------
    LatexError : a power other than 1 to 3, blocks that do not fit it.
    """
    accent = atom.symbol.removeprefix("\\").partition("{")[0] if atom.symbol != "\\nabla" else ""
    source = cursor.context.source
    components = cursor.context.notation.components
    blocks, component, order = "", None, 0
    if atom.primes or atom.star:
        raise source.error("script", "a prime or star at \\nabla", atom.at)
    if atom.sup is not None:
        text = flat(atom.sup)
        if text in components:
            component = atom.sup
        elif text in ("1", "2", "3"):
            order = int(text)
        else:
            raise source.error("script", f"\\nabla to the power {text[:20]!r}", atom.at)
    if atom.sub is not None:
        text = re.sub(r"\\mathbf\{(.)\}", r"\1", flat(atom.sub)).replace(",", "")
        if text in components and component is None:
            component = atom.sub
        elif re.fullmatch(r"[a-z]{1,3}", text):
            blocks = text
        else:
            raise source.error("script", f"\\nabla with the index {text[:20]!r}", atom.at)
    order = order or len(blocks) or 1
    if len(blocks) == 1:
        blocks *= order
    if blocks and len(blocks) != order:
        raise source.error("script", f"\\nabla^{order} with the blocks {blocks}", atom.at)
    return Nabla(order, blocks, accent, component)


def derivative_name(function: str, nabla: Nabla) -> str:
    """Name of a derivative in cards."""
    accent = f"{nabla.accent}_" if nabla.accent else ""
    if nabla.blocks:
        return f"{accent}{WORDS[nabla.order]}_{nabla.blocks}_{STEMS.get(function, function)}"
    return f"{accent}{WORDS[nabla.order]}_{function}"


def split_name(name: str, functions: Collection[str]) -> tuple[Nabla, str] | None:
    """The derivative that a name of a card says, and its function; None if it is none of a known function."""
    found = PATTERN.match(name)
    if found is None:
        return None
    orders = {word: order for order, word in WORDS.items()}
    order = orders[found[2]]
    accent, blocks, rest = found[1] or "", found[3] or "", found[4]
    longer = {stem: full for full, stem in STEMS.items()}
    if blocks and len(blocks) == order:
        for candidate in (longer.get(rest, rest), rest):
            if candidate in functions:
                return Nabla(order, blocks, accent), candidate
    whole = f"{blocks}_{rest}" if blocks else rest
    return (Nabla(order, "", accent), whole) if whole in functions else None


def value_kind(entry: Entry, nabla: Nabla) -> Kind:
    """Kind of a derivative of a function."""
    if "of-scalar" in entry.flags:
        return entry.kind
    ladder: list[Kind] = ["scalar", "vector", "matrix", "tensor"]
    start = ladder.index(entry.kind) if entry.kind in ladder else 3
    return ladder[min(start + nabla.order, 3)]
