"""Printed orders by themselves: the growth of one side against the other, with what the statement sets.

``A = O(B)`` and ``A <= O(B)`` are one-sided. What a statement prescribes for its letters counts where the print has
it; a norm, a value of a function or an entry of a sequence is a letter that may have any value of its kind, and has the
bound that a line before gives it. The ratio of two letters that the paper names serves to write one of them by it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from bilevel_verify.audit.entries.reading import REAL, Written
from bilevel_verify.audit.orders.derivations import decide_derivation
from bilevel_verify.audit.scalar.claim import NONNEGATIVE, Decision
from bilevel_verify.language import to_text, tree
from bilevel_verify.manuscript.comparing import Relation
from bilevel_verify.manuscript.fidelity import Paper
from bilevel_verify.manuscript.opaque import Letters, blind, opaque
from bilevel_verify.manuscript.proofs.said import rules_of
from bilevel_verify.manuscript.relations import Printed, candidates
from bilevel_verify.theorems.card import Card, Derivation
from bilevel_verify.theorems.card_parts import Condition, Domain, Expression, Root
from bilevel_verify.theorems.prescribed import formulas_of
from bilevel_verify.theorems.rewrite import free_letters, has_order, rebuild
from bilevel_verify.theorems.vocabulary import NUMBERS, ORDER_FUNCTIONS

UPPER = frozenset({"O", "softO"})
SYMBOLS = frozenset({"O", "softO", "Theta", "Omega"})
PRINTED = "of the print"


@dataclass(frozen=True, slots=True)
class Ordered:
    """What the engine of orders says of a relation: of which one (``text``), from which lines (``uses``), and with
    which letters as the paper sets, defines or says them (``known``)."""

    decision: Decision
    text: str
    uses: tuple[str, ...] = ()
    known: tuple[str, ...] = ()


def decide_order(paper: Paper, printed: Printed, table: Written, lines: Sequence[Printed]) -> Ordered | None:
    """The growth of the left side against that of the right one; None where the relation is none of these.

    Raises
    ------
    ValueError : a side is no formula of numbers.
    """
    relation = between_numbers(printed.relation)
    right = None if relation is None else _one_symbol(relation.right)
    if relation is None or right is None or relation.op not in ("==", "<=") or not _bounds_above(relation.left):
        return None
    if right.function not in UPPER and has_order(relation.left):
        return None
    alone = _decided(paper, printed, table, relation.left, right)
    if alone.decision.outcome == "proved":
        return alone
    left, uses = _bounded(relation.left, lines)
    said, cited = _said(paper, printed, free_letters(left))
    if not uses and not said:
        return alone
    found = _decided(paper, printed, table, left, right, said)
    return replace(found, uses=tuple(dict.fromkeys((*uses, *cited))))


def between_numbers(relation: Relation) -> Relation | None:
    """``a I >= b I`` in the order of matrices as ``-a <= -b``; a relation between numbers as it is."""
    if relation.op not in ("psd>=", "psd<="):
        return relation
    sides = [_of_identity(side) for side in (relation.left, relation.right)]
    if sides[0] is None or sides[1] is None:
        return None
    larger, smaller = sides if relation.op == "psd>=" else sides[::-1]
    assert larger is not None
    assert smaller is not None
    return Relation(_minus(larger), "<=", _minus(smaller))


def _of_identity(node: tree.Node) -> tree.Node | None:
    """``s`` of ``s I``, of sums of such."""
    match node:
        case tree.Negate(operand=inner):
            found = _of_identity(inner)
            return None if found is None else _minus(found)
        case tree.Add(terms=terms):
            parts = [_of_identity(t) for t in terms]
            return None if None in parts else tree.Add(tuple(p for p in parts if p is not None))
        case tree.Multiply(factors=(*front, tree.Letter(name="I"))) if front:
            return front[0] if len(front) == 1 else tree.Multiply(tuple(front))
    return None


def _minus(node: tree.Node) -> tree.Node:
    match node:
        case tree.Negate(operand=inner):
            return inner
        case tree.Add(terms=terms):
            return tree.Add(tuple(_minus(t) for t in terms))
    return tree.Negate(node)


def _one_symbol(node: tree.Node) -> tree.Call | None:
    """A side that is an order, or a product of orders, which is one."""
    if isinstance(node, tree.Call) and node.function in SYMBOLS and not has_order(node.arguments[0]):
        return node
    if isinstance(node, tree.Multiply):
        parts = [_one_symbol(f) for f in node.factors]
        known = [p for p in parts if p is not None and p.function in UPPER]
        if len(known) == len(node.factors):
            name = "softO" if any(p.function == "softO" for p in known) else "O"
            return tree.Call(name, (tree.Multiply(tuple(p.arguments[0] for p in known)),))
    return None


def _bounds_above(node: tree.Node) -> bool:
    """Whether every order in a side bounds it from above: none is taken away, or stands below a line."""
    if not has_order(node):
        return True
    match node:
        case tree.Add(terms=parts) | tree.Multiply(factors=parts):
            return all(map(_bounds_above, parts))
        case tree.Divide(numerator=top, denominator=below):
            return _bounds_above(top) and not has_order(below)
        case tree.Call(function=name, arguments=(inner,)):
            return name in (*UPPER, "Theta") and not has_order(inner)
    return False


def _bounded(left: tree.Node, lines: Sequence[Printed]) -> tuple[tree.Node, tuple[str, ...]]:
    """A sum whose terms have the last bound that a line before gives them, and the names of these lines."""
    uses: list[str] = []
    terms = []
    for term in left.terms if isinstance(left, tree.Add) else (left,):
        found = next((one for one in reversed(lines) if one.relation.left == term and _is_bound(one)), None)
        terms.append(term if found is None else found.relation.right)
        uses += [] if found is None else [found.name]
    return (terms[0] if len(terms) == 1 else tree.Add(tuple(terms))), tuple(dict.fromkeys(uses))


def _said(paper: Paper, printed: Printed, names: Collection[str]) -> tuple[dict[str, tree.Node], tuple[str, ...]]:
    """Letters whose order the paper says, in the names of the print, and the printed relations that say it."""
    rules = [rule for rule in rules_of(paper, printed.formula.statement) if has_order(rule.relation.right)]
    found = {r.relation.left.name: r for r in rules if isinstance(r.relation.left, tree.Letter)}
    used = {name: r for name, r in found.items() if name in names}
    return {n: r.relation.right for n, r in used.items()}, tuple(r.line for r in used.values() if r.line)


def _is_bound(line: Printed) -> bool:
    """Whether a line says how large its left side is."""
    return line.relation.op in ("==", "<=", "<") and _bounds_above(line.relation.right)


def _decided(
    paper: Paper,
    printed: Printed,
    table: Written,
    left: tree.Node,
    right: tree.Call,
    said: Mapping[str, tree.Node] = MappingProxyType({}),
) -> Ordered:
    """With what the statement sets, defined letters free in their ranges; then with every definition."""
    letters = Letters(paper)
    result, gives = (_in_letters(paper, side, letters) for side in (left, right))
    own = _set(paper, printed) | _letters(paper, said)
    defined = {name: body for name, body in _of_print(paper).items() if not has_order(body)} | dict(table.formulas)
    free = {name: value for name, value in own.items() if name not in defined}
    sure = {name: value for name, value in free.items() if not _vague(value)}
    for values in (sure, free, defined | own):
        values = _in_force(values, (result, gives))
        decision = _question(paper, printed, table, letters, (result, gives), values)
        if decision.outcome == "proved":
            break
    shown = f", {letters.shown()}" if letters.made else ""
    known = tuple(f"{name} = {to_text(value)}" for name, value in sorted(values.items()))
    return Ordered(decision, f"{to_text(result)} {printed.relation.op} {to_text(gives)}{shown}", (), known)


def _vague(value: tree.Node) -> bool:
    """Whether a value is known from one side only."""
    return any(isinstance(part, tree.Call) and part.function in (*UPPER, "Omega") for part in value.walk())


def _in_letters(paper: Paper, node: tree.Node, letters: Letters) -> tree.Node:
    """A side in the names of the card, with letters for what is no formula of numbers."""

    def numbers(part: tree.Node) -> tree.Node:
        if isinstance(part, tree.Call) and part.function in ORDER_FUNCTIONS:
            return replace(part, arguments=(numbers(part.arguments[0]),))
        return rebuild(part, numbers) if has_order(part) else opaque(part, letters)

    return numbers(paper.naming.of_card(node))


def _of_print(paper: Paper) -> dict[str, tree.Node]:
    """Letters that the print defines as formulas of numbers, in the names of the card."""
    return {n: body for n, body in _letters(paper, paper.defined.letters()).items() if not blind(body)}


def _letters(paper: Paper, values: Mapping[str, tree.Node]) -> dict[str, tree.Node]:
    """Letters of the print and their values, in the names of the card."""
    named = ((paper.naming.of_card(tree.Letter(name)), value) for name, value in values.items())
    return {one.name: paper.naming.of_card(value) for one, value in named if isinstance(one, tree.Letter)}


def _question(
    paper: Paper,
    printed: Printed,
    table: Written,
    letters: Letters,
    sides: tuple[tree.Node, tree.Node],
    values: dict[str, tree.Node],
) -> Decision:
    names = set().union(*(free_letters(node) for node in (*sides, *values.values()))) - NUMBERS
    ranges = {n: table.domains.get(n, REAL) for n in names - values.keys()}
    ranges |= {n: NONNEGATIVE if _is_term(sides[0], n) else d for n, d in letters.domains.items() if n in names}
    entry = Derivation(
        kind="derivation",
        id=printed.name,
        result=Expression.of(sides[0]),
        gives=Expression.of(sides[1]),
        substitute={n: Expression.of(v) for n, v in values.items()},
        where=tuple(Condition(w, to_text(w), PRINTED) for w in (*table.where, *_conditions(paper, printed))),
        for_=_with_ends(ranges, table),
    )
    return decide_derivation(_with_printed_regime(paper.card), entry)


def _is_term(node: tree.Node, name: str) -> bool:
    """Whether a letter is a term of a sum and stands nowhere else: where it is negative the sum is only smaller."""
    terms = node.terms if isinstance(node, tree.Add) else (node,)
    return tree.Letter(name) in terms and sum(name in free_letters(t) for t in terms) == 1


def _reached(values: Mapping[str, tree.Node], *nodes: tree.Node) -> set[str]:
    """Letters with a value that occur, also in the values of such."""
    used = set().union(*map(free_letters, nodes))
    while more := set().union(*(free_letters(values[n]) for n in used & values.keys()), set()) - used:
        used |= more
    return used & values.keys()


def _in_force(values: Mapping[str, tree.Node], sides: tuple[tree.Node, tree.Node]) -> dict[str, tree.Node]:
    """The values that two sides need, as far as they may be put there."""
    values = _by_ratio(values, free_letters(sides[1]))
    values = _only(values, _reached(values, *sides) - _unsure(values, sides))
    return _only(values, _reached(values, *sides))


def _unsure(values: Mapping[str, tree.Node], sides: tuple[tree.Node, tree.Node]) -> set[str]:
    """Letters that are known from one side only and stand where that does not tell: in the bound, in other values."""
    used = _reached(values, *sides)
    elsewhere = free_letters(sides[1]).union(*(free_letters(values[n]) for n in used))
    return {n for n in used if _vague(values[n]) and n in elsewhere}


def _only(values: Mapping[str, tree.Node], names: set[str]) -> dict[str, tree.Node]:
    return {name: value for name, value in values.items() if name in names}


def _by_ratio(values: Mapping[str, tree.Node], right: frozenset[str] | set[str]) -> dict[str, tree.Node]:
    """``mu = ell/kappa`` in the place of ``kappa = ell/mu`` where the right side speaks of ``kappa``."""
    found = dict(values)
    for name in sorted(right & values.keys()):
        match values[name]:
            case tree.Divide(numerator=tree.Letter() as top, denominator=tree.Letter(name=below)) if (
                below not in values
            ):
                found[below] = tree.Divide(top, tree.Letter(name))
                del found[name]
    return found


def _set(paper: Paper, printed: Printed) -> dict[str, tree.Node]:
    """Letters that the statement sets, as the print has it; not the one of which a statement speaks itself."""
    entry = paper.card.entries.get(printed.formula.statement)
    if entry is None:
        return {}
    own = paper.naming.of_card(printed.relation.left)
    found = {}
    for name, (definition, _, chosen) in formulas_of(paper.card, entry, ()).items():
        if isinstance(definition.value, Root) or not chosen or not definition.printed:
            continue
        if own != tree.Letter(name) and paper.index.places(definition.printed):
            found[name] = definition.value.tree
    return found


def _conditions(paper: Paper, printed: Printed) -> list[tree.Node]:
    said = [c for c in candidates(printed.conditions) if c.op in ("<", "<=", ">", ">=", "==")]
    known = [tree.Compare((c.left, c.right), (c.op,)) for c in said]
    return [paper.naming.of_card(c) for c in known if not any(isinstance(p, tree.Index) for p in c.walk())]


def _with_ends(domains: Mapping[str, Domain], table: Written) -> dict[str, Domain]:
    """Ranges with the letters in their ends: those have ranges of their own."""
    found = dict(domains)
    pending = list(domains.values())
    while pending:
        domain = pending.pop()
        for end in (domain.lower, domain.upper):
            for name in sorted(free_letters(end.tree) - NUMBERS - found.keys()) if end is not None else ():
                found[name] = table.domains.get(name, REAL)
                pending.append(found[name])
    return found


def _with_printed_regime(card: Card) -> Card:
    """The card with the conditions of its regime that the paper prints."""
    usual = tuple(c for c in card.regimes.get("default", ()) if c.origin and not c.added)
    return replace(card, regimes={"default": usual})
