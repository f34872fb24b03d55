"""The units of a card: what every name in it carries, and whether a relation of an entry is homogeneous."""

from __future__ import annotations

from collections.abc import Mapping

import sympy

from bilevel_verify.language import parse, tree
from bilevel_verify.theorems.card import Card, Claim, Entry, Statement
from bilevel_verify.theorems.card_parts import Link
from bilevel_verify.theorems.prescribed import included
from bilevel_verify.theorems.rewrite import has_order, substitute, written_out
from bilevel_verify.theorems.units.units import Mismatch, Unit, UnitCheck, read_unit

BUILT_IN = {
    "f": "F", "grad_f": "F/X", "grad_x_f": "F/X", "hess_f": "F/X**2", "hess_xx_f": "F/X**2",
    "phi": "F", "phi_star": "F", "f_star": "F", "x_star": "X",
    "grad_phi": "F/X", "hess_phi": "F/X**2", "L_star": "F", "grad_L_star": "F/X", "hess_L_star": "F/X**2",
    "y_star": "Y", "y_star_lam": "Y", "grad_y_star": "Y/X", "grad_y_star_lam": "Y/X", "h": "F", "grad_h": "F/X",
    "hess_h": "F/X**2", "g": "G", "grad_g": "G/X", "grad_x_g": "G/X", "grad_y_g": "G/Y", "grad_y_f": "F/Y",
    "hess_yy_g": "G/Y**2", "hess_xy_g": "G/(X*Y)", "hess_xx_g": "G/X**2", "hess_yy_f": "F/Y**2",
    "hess_xy_f": "F/(X*Y)", "hess_yx_g": "G/(X*Y)", "hess_yx_f": "F/(X*Y)", "hess_g": "G/X**2",
}  # fmt: skip
SEQUENCE_UNITS = {"x": "X", "w": "X", "wbar": "X", "xi": "X", "x_int": "X", "output": "X"}
SEQUENCE_UNITS |= {"y": "Y", "z": "Y", "g_k": "G"}


def mismatches(
    card: Card, entry: Entry, sides: tuple[tree.Node, ...], local: Mapping[str, tree.Node]
) -> tuple[list[Mismatch], tuple[tree.Node, ...]]:
    """Where the units of a relation do not fit (nothing where the card declares none), and the sides as judged.

    The relation is judged as it is printed, each letter with its declared unit. A formula that the card puts for a
    letter (``local``, from ``define``) counts only for letters without a declared unit, and for those to which a proof
    gives a new meaning: a relation is homogeneous if it is so in one of the two ways.
    """
    if not card.units:
        return [], sides
    table = unit_table(card)
    table.fixed = fixed_letters(card, entry)
    undeclared = undeclared_letters(card, local)
    plain = tuple(written_out(side, undeclared) for side in sides)
    found = table.relation(*plain)
    if hard(found) and len(undeclared) < len(local):
        other = table.relation(*(written_out(side, local) for side in sides))
        found = found if hard(other) else other
    if any(has_order(side) for side in sides):
        found = [
            Mismatch("weak", f"{m.message} (an order symbol may hide constants with units)", m.column) for m in found
        ]
    return found, plain


def claim_fault(card: Card, statement: Statement, claim: Claim, link: Link) -> str:
    """What keeps the two sides of a link of a claim from having one unit; '' where they have one.

    Where no order symbol hides a constant, what may or may not fit keeps them from it, too.
    """
    local = {name: value.tree for name, value in {**statement.define, **claim.define}.items()}
    sides = link.left.tree, link.right.tree
    found, _ = mismatches(card, statement, sides, local)
    return "; ".join(m.message for m in found if m.kind == "hard" or not any(map(has_order, sides)))


def hard(found: list[Mismatch]) -> bool:
    """Whether one of them is certain."""
    return any(m.kind == "hard" for m in found)


def undeclared_letters(card: Card, local: Mapping[str, tree.Node]) -> dict[str, tree.Node]:
    """Local definitions of letters that the card gives no unit."""
    return {n: v for n, v in local.items() if n not in card.letters or card.letters[n].unit is None}


def fixed_letters(card: Card, entry: Entry) -> dict[str, sympy.Expr]:
    """Letters that the hypotheses of an entry (its settings included) set equal to a number."""
    found: dict[str, sympy.Expr] = {}
    for condition in (*entry.where, *(w for name in included(card, entry.settings) for w in card.settings[name].where)):
        match condition.tree:
            case tree.Compare(operands=(tree.Letter(name=name), tree.Number(value=value)), operators=("==",)):
                found[name] = sympy.Rational(value.numerator, value.denominator)
    return found


_TABLES: dict[str, UnitCheck] = {}
"""Tables of units by the digest of the card: they do not change, and every entry asks for one."""


def unit_table(card: Card) -> UnitCheck:
    """Units of everything a card names. x and y share a unit where the card has no ``Y``."""
    known = _TABLES.get(card.digest) if card.digest else None
    if known is None:
        known = _TABLES[card.digest] = _unit_table(card)
    known.fixed = {}
    return known


def _unit_table(card: Card) -> UnitCheck:
    bases = frozenset(card.units)
    swap = {"Y": "X"} if "Y" not in bases else {}

    def unit(text: str) -> Unit | None:
        node = parse(text)
        for old, new in swap.items():
            node = substitute(node, {old: tree.Letter(new)})
        names = {p.name for p in node.walk() if isinstance(p, tree.Letter)}
        return read_unit(node, bases) if names <= bases else None

    letters = {n: u for n, t in SEQUENCE_UNITS.items() if (u := unit(t)) is not None}
    letters |= {n: read_unit(s.unit.tree, bases) for n, s in card.letters.items() if s.unit is not None}
    functions = {n: ((), u) for n, t in BUILT_IN.items() if (u := unit(t)) is not None}
    for name, spec in card.functions.items():
        if spec.value is not None:
            arguments = tuple(read_unit(a.tree, bases) for a in spec.arguments)
            functions[name] = (arguments, read_unit(spec.value.tree, bases))  # type: ignore[assignment]
    related = {n: tuple(read_unit(r.tree, bases) for r in s.relation) for n, s in card.letters.items() if s.relation}
    return UnitCheck(letters, functions, related)
