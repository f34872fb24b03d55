"""The relations of a print: every display read with the notation of its paper, chain by chain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from bilevel_verify.errors import InputError, LatexError
from bilevel_verify.language import tree
from bilevel_verify.latex import Notation, Statement, read_latex
from bilevel_verify.latex.source.symbols import COMPARABLE
from bilevel_verify.latex.statements import open_ends
from bilevel_verify.manuscript.comparing import Relation
from bilevel_verify.manuscript.formulas import Formula, Print, Said
from bilevel_verify.theorems.rewrite import rebuild, substitute

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


def read_said(
    source: Print, notation: Notation, by_number: Mapping[int, ReadFormula]
) -> tuple[tuple[Said, frozenset[str], tuple[Relation, ...]], ...]:
    """What a paper says beside its formulas: with the letters that stand for anything, and its relations.

    Raises
    ------
    InputError : a formula that is not read.
    """
    found = []
    for said in source.said:
        one = by_number[said.use] if said.use else _read(Formula(0, said.latex), notation)
        if one.reason and not said.use:
            raise InputError(f"{source.paper}, said {said.source!r}: {one.message}")
        letters = frozenset(name for word in said.any.split() if (name := _letter(word, notation)))
        relations = tuple(p.relation for p in relations_of(one) if p.relation.op in tree.MIRRORED)
        found.append((said, letters, relations))
    return tuple(found)


def _letter(latex: str, notation: Notation) -> str:
    """The name of a letter; empty for what is none."""
    try:
        found = read_latex(latex, notation).tree
    except LatexError:
        return ""
    return found.name if isinstance(found, tree.Letter) else ""


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
                    relation.word == ":=",
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
            one = Relation(members[start], ops[start], members[start + 1])
            found += [one, *_ends(one)]
        for start in range(len(ops)):
            for end in range(start + 2, len(members)):
                whole = combined(ops[start:end])
                if whole:
                    found.append(Relation(members[start], whole, members[end]))
    return found


def _ends(one: Relation) -> list[Relation]:
    """``x in [a, b]`` says ``a <= x`` and ``x <= b``."""
    right = one.right
    if one.op != "in" or not isinstance(right, tree.Call) or not right.function.startswith("interval_"):
        return []
    low, high = ("<" if is_open else "<=" for is_open in open_ends(right.function))
    return [Relation(right.arguments[0], low, one.left), Relation(one.left, high, right.arguments[1])]


def combined(ops: list[str]) -> str:
    """The relation between the ends of a chain; empty where its signs do not go one way."""
    ways = {DIRECTION.get(op, "") for op in ops} - {"=="}
    if "" in ways or len(ways) > 1:
        return ""
    if not ways:
        return "=="
    strict = [op for op in ops if op in ("<", ">")]
    return strict[0] if strict else ways.pop()


@dataclass(frozen=True)
class Definitions:
    """What the print defines (``:=``): letters, entries of sequences, functions of letters."""

    rules: tuple[tuple[tree.Node, tree.Node], ...] = ()

    def out(self, node: tree.Node) -> tree.Node:
        """An expression with everything that the print defines written out, definitions inside definitions too."""
        for _ in range(6):
            changed = self._once(node)
            if changed == node:
                break
            node = changed
        return node

    def letters(self) -> dict[str, tree.Node]:
        """The letters among what is defined, each with its definition."""
        return {pattern.name: body for pattern, body in self.rules if isinstance(pattern, tree.Letter)}

    def _once(self, node: tree.Node) -> tree.Node:
        node = rebuild(node, self._once)
        for pattern, body in self.rules:
            match pattern, node:
                case (tree.Letter(name=a), tree.Letter(name=b)) if a == b:
                    return body
                case (tree.Index(base=a, indices=p), tree.Index(base=b, indices=q)) if a == b and len(p) == len(q):
                    return _filled(body, p, q)
                case (tree.Call(function=a, arguments=p), tree.Call(function=b, arguments=q)) if a == b and len(
                    p
                ) == len(q):
                    return _filled(body, p, q)
        return node


def _filled(body: tree.Node, places: tuple[tree.Node, ...], values: tuple[tree.Node, ...]) -> tree.Node:
    return substitute(body, {p.name: v for p, v in zip(places, values) if isinstance(p, tree.Letter)})


def definitions_of(read: tuple[ReadFormula, ...]) -> Definitions:
    """The definitions of a print, as far as each symbol is defined once and not by itself."""
    found: dict[str, list[tuple[tree.Node, tree.Node]]] = {}
    for printed in (p for one in read if one.formula.kind != "algorithm-line" for p in relations_of(one)):
        left, right = printed.relation.left, printed.relation.right
        name = _defined_name(left)
        if printed.definition and name and not printed.goal and name not in _names(right):
            known = found.setdefault(name, [])
            if (left, right) not in known:
                known.append((left, right))
    return Definitions(tuple(rules[0] for rules in found.values() if len(rules) == 1))


def defined_before(read: Iterable[ReadFormula], printed: Printed) -> tree.Node | None:
    """What an earlier definition of a function says at the arguments of a later one; None where there is none."""
    left = printed.relation.left
    for one in read:
        if one.formula.n >= printed.formula.n:
            break
        for line in relations_of(one):
            first = line.relation.left
            match first, left:
                case (tree.Call(function=a, arguments=p), tree.Call(function=b, arguments=q)) if (
                    line.definition and a == b and len(p) == len(q) and _defined_name(first)
                ):
                    return _filled(line.relation.right, p, q)
    return None


def _defined_name(node: tree.Node) -> str:
    """The symbol that a left side defines: a letter, or a sequence or function of different letters."""
    match node:
        case tree.Letter(name=name):
            return name if name != "_" else ""
        case tree.Index(base=name, indices=places) | tree.Call(function=name, arguments=places):
            plain = [p.name for p in places if isinstance(p, tree.Letter)]
            return name if plain and len(plain) == len(set(plain)) == len(places) else ""
    return ""


def _names(node: tree.Node) -> set[str]:
    found = set()
    for part in node.walk():
        if isinstance(part, tree.Letter):
            found.add(part.name)
        elif isinstance(part, tree.Index):
            found.add(part.base)
        elif isinstance(part, tree.Call):
            found.add(part.function)
    return found


def _all(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    for statement in statements:
        yield statement
        yield from _all(statement.conditions)
