"""The relations of a print: every display read with the notation of its paper, chain by chain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bilevel_verify.errors import LatexError
from bilevel_verify.language import tree
from bilevel_verify.latex import Notation, Statement, read_latex
from bilevel_verify.latex.symbols import COMPARABLE
from bilevel_verify.manuscript.comparing import Relation
from bilevel_verify.manuscript.formulas import Formula, Print

DIRECTION = {"<": "<=", "<=": "<=", ">": ">=", ">=": ">=", "==": "=="}


@dataclass(frozen=True, slots=True)
class Printed:
    """One relation of a formula of the print.

    ``index`` counts the relations of the formula from 1; ``definition`` says that it was printed as one (``:=``);
    ``word`` joins it to what stands before (``where``, ``s.t.``); ``goal`` is the minimum before a programme;
    ``sign`` is the reader's word where cards have no such relation (``in``, ``psd<=``).
    """

    formula: Formula
    index: int
    relation: Relation
    conditions: tuple[Statement, ...] = ()
    definition: bool = False
    word: str = ""
    goal: bool = False
    statement: int = 0

    @property
    def name(self) -> str:
        """``n.index``: formula and relation."""
        return f"{self.formula.n}.{self.index}"


@dataclass(frozen=True, slots=True)
class ReadFormula:
    """A formula as it was read, or the reason why it was not."""

    formula: Formula
    statements: tuple[Statement, ...] = ()
    reason: str = ""
    message: str = ""

    def members(self) -> Iterator[tree.Node]:
        """Every member of every chain, conditions included."""
        for statement in _all(self.statements):
            yield from statement.members


def read_print(source: Print, notation: Notation) -> tuple[ReadFormula, ...]:
    """All formulas of a print; a chain that goes on gets its first member from the display before."""
    found: list[ReadFormula] = []
    last: tree.Node | None = None
    for formula in source:
        one = _joined(_read(formula, notation), last)
        found.append(one)
        if formula.kind == "display":
            last = one.statements[-1].members[-1] if one.statements and one.statements[-1].members else None
    return tuple(found)




def _read(formula: Formula, notation: Notation) -> ReadFormula:
    try:
        return ReadFormula(formula, read_latex(formula.latex, notation).statements)
    except LatexError as error:
        return ReadFormula(formula, (), error.reason, error.plain)


def _joined(one: ReadFormula, last: tree.Node | None) -> ReadFormula:
    """A first statement that begins with a relation, with the last member of the display before it."""
    from dataclasses import replace

    if not one.statements or not one.statements[0].continues or last is None:
        return one
    first = replace(one.statements[0], members=(last, *one.statements[0].members), continues=False)
    return replace(one, statements=(first, *one.statements[1:]))


def relations_of(one: ReadFormula) -> tuple[Printed, ...]:
    """The relations of a formula in order; conditions after a formula are no relations of their own."""
    found: list[Printed] = []
    for number, statement in enumerate(one.statements):
        if statement.word in ("label", "for", "if"):
            continue
        shift = 1 if statement.continues else 0
        for place, relation in enumerate(statement.relations):
            right = statement.members[place + 1 - shift]
            left = statement.members[place - shift] if place >= shift else tree.Letter("_")
            op = COMPARABLE.get(relation.word, relation.word)
            found.append(
                Printed(
                    one.formula,
                    len(found) + 1,
                    Relation(left, op, right),
                    statement.conditions,
                    relation.word in (":=", "equiv", "<-"),
                    statement.word,
                    bool(statement.goals),
                    number,
                )
            )
    return tuple(found)


def candidates(statements: tuple[Statement, ...]) -> list[Relation]:
    """What a display says: its relations, and those from one member of a chain to a later one."""
    found: list[Relation] = []
    for statement in _all(statements):
        members = statement.members if not statement.continues else (tree.Letter("_"), *statement.members)
        ops = [COMPARABLE.get(r.word, r.word) for r in statement.relations]
        for start in range(len(ops)):
            found.append(Relation(members[start], ops[start], members[start + 1]))
        for start in range(len(ops)):
            for end in range(start + 2, len(members)):
                whole = combined(ops[start:end])
                if whole:
                    found.append(Relation(members[start], whole, members[end]))
    return found


def combined(ops: list[str]) -> str:
    """The relation between the ends of a chain; empty where its signs do not go one way."""
    ways = {DIRECTION.get(op, "") for op in ops} - {"=="}
    if "" in ways or len(ways) > 1:
        return ""
    if not ways:
        return "=="
    strict = [op for op in ops if op in ("<", ">")]
    return strict[0] if strict else ways.pop()


def _all(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    for statement in statements:
        yield statement
        yield from _all(statement.conditions)
