"""The unit check applied to a card: letters, functions, definitions, settings, claims, links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import sympy

from bilevel_verify.audit.finding import Finding
from bilevel_verify.audit.unit_script import unit_script
from bilevel_verify.audit.units import Mismatch, Unit, UnitCheck, read_unit, show
from bilevel_verify.checks.verdict import Row
from bilevel_verify.language import parse, to_latex, to_text, tree
from bilevel_verify.theorems.card import Card, Claim, Derivation, Entry, Identity, Inequality, Statement, Step, TableRow
from bilevel_verify.theorems.resolve import included
from bilevel_verify.theorems.rewrite import substitute
from bilevel_verify.theorems.vocabulary import ORDER_FUNCTIONS

BUILT_IN = {
    "f": "F", "grad_f": "F/X", "grad_x_f": "F/X", "hess_f": "F/X**2", "hess_xx_f": "F/X**2",
    "phi": "F", "grad_phi": "F/X", "hess_phi": "F/X**2", "L_star": "F", "grad_L_star": "F/X", "hess_L_star": "F/X**2",
    "y_star": "Y", "y_star_lam": "Y", "grad_y_star": "Y/X", "grad_y_star_lam": "Y/X", "h": "F", "grad_h": "F/X",
    "hess_h": "F/X**2", "g": "G", "grad_g": "G/X", "grad_x_g": "G/X", "grad_y_g": "G/Y", "grad_y_f": "F/Y",
    "hess_yy_g": "G/Y**2", "hess_xy_g": "G/(X*Y)", "hess_xx_g": "G/X**2", "hess_yy_f": "F/Y**2",
    "hess_xy_f": "F/(X*Y)", "hess_yx_g": "G/(X*Y)", "hess_yx_f": "F/(X*Y)", "hess_g": "G/X**2",
}  # fmt: skip
SEQUENCE_UNITS = {"x": "X", "w": "X", "wbar": "X", "xi": "X", "x_int": "X", "output": "X"}
SEQUENCE_UNITS |= {"y": "Y", "z": "Y", "g_k": "G"}


def unit_findings(card: Card, entry: Entry) -> Iterator[Finding]:
    """Findings of the unit check about one entry; nothing where the card declares no units."""
    if not card.units:
        return
    table = unit_table(card)
    table.fixed = _fixed(card, entry)
    for claim_id, sides, printed, local in relations(entry):
        out = tuple(_written_out(side, local) for side in sides)
        found = table.relation(*out)
        if any(_is_order(side) for side in sides):
            found = [
                Mismatch("weak", f"{m.message} (an order symbol may hide constants with units)", m.column)
                for m in found
            ]
        finding = _finding(card, entry, claim_id, sides, printed, found, _known(entry, claim_id))
        yield replace(finding, script=unit_script(table, *out)) if finding.verdict == "refuted" else finding


def _fixed(card: Card, entry: Entry) -> dict[str, sympy.Expr]:
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


Relation = tuple[str, tuple[tree.Node, ...], str, Mapping[str, tree.Node]]


def relations(entry: Entry) -> Iterator[Relation]:
    """Everything of an entry whose sides must have one unit: (claim id, sides, printed LaTeX, local definitions)."""
    local = {name: value.tree for name, value in entry.define.items()}
    for name, definition in entry.parameters.items():
        yield f"parameters/{name}", (tree.Letter(name), definition.expression.tree), definition.printed, local
    match entry:
        case Inequality() | Step():
            for number, link in enumerate(entry.chain):
                yield f"link-{number + 1}", (link.left.tree, link.right.tree), link.printed, local
        case Derivation():
            yield "derivation", (entry.result.tree, entry.gives.tree), "", local
            for name, value in entry.substitute.items():
                yield f"substitute/{name}", (tree.Letter(name), value.tree), "", local
        case Identity():
            yield "identity", (entry.left.tree, entry.right.tree), "", local
        case TableRow():
            for column, value in entry.entries.items():
                yield f"column/{column}", (value.tree, tree.Letter("_one")), "", local
        case Statement():
            for claim in entry.claims:
                inner = local | {name: value.tree for name, value in claim.define.items()}
                for number, link in enumerate(claim.chain):
                    suffix = f"/{number + 1}" if len(claim.chain) > 1 else ""
                    yield claim.id + suffix, (link.left.tree, link.right.tree), link.printed, inner


def _written_out(node: tree.Node, local: Mapping[str, tree.Node]) -> tree.Node:
    """Local definitions written out, so that a letter has the unit of its formula."""
    for _ in range(len(local) + 1):
        node = substitute(node, local)
    return node


def _is_order(node: tree.Node) -> bool:
    return any(isinstance(part, tree.Call) and part.function in ORDER_FUNCTIONS for part in node.walk())


def _finding(
    card: Card,
    entry: Entry,
    claim: str,
    sides: tuple[tree.Node, ...],
    printed: str,
    found: list[Mismatch],
    known: bool,
) -> Finding:
    hard = [m for m in found if m.kind == "hard"]
    weak = [m for m in found if m.kind == "weak"]
    texts = [to_text(side) for side in sides]
    display = {n: s.display for n, s in card.letters.items() if s.display}
    row = Row(
        paper=card.key,
        statement=entry.id,
        claim=claim,
        source=entry.source or None,
        problem=None,
        method=None,
        kind="units",
        verdict="refuted" if hard else ("undecided" if weak else "holds"),
        certainty="proved" if hard or not weak else None,
        left=texts[0],
        right=texts[-1],
        where=f"column {(hard or weak)[0].column}" if found else None,
        reason="; ".join(m.message for m in hard or weak) or "homogeneous in every base unit",
        reproduce=f"bilevel-verify audit {card.key} --statement {entry.id}",
        reading=entry.reading or None,
        stated=None if printed else " = ".join(to_latex(side, display) for side in sides),
        as_printed=not entry.marks,
        marks=tuple(str(mark) for mark in entry.marks),
        known_refuted=known,
    )
    witness = {"unit": hard[0].message} if hard else None
    return Finding(row, printed=printed or None, counterexample=witness)


def _known(entry: Entry, claim_id: str) -> bool:
    """Whether the card already records a refutation of the entry or of this claim."""
    if entry.refuted is not None:
        return True
    claims = entry.claims if isinstance(entry, Statement) else ()
    return any(claim.refuted is not None and claim_id in (claim.id, *_parts(claim)) for claim in claims)


def _parts(claim: Claim) -> list[str]:
    return [f"{claim.id}/{number + 1}" for number in range(len(claim.chain))]


def describe(unit: Unit | None) -> str:
    """A unit as text."""
    return show(unit)
