"""A printed algorithm as statements, formula by formula.

What is not understood ends the reading of that algorithm with the line and the reason; nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from bilevel_verify.drafting.listings.assignments import (
    RANGES,
    assigned,
    line_assignments,
    range_of,
    targets_of,
    test_of,
    value_entry,
)
from bilevel_verify.drafting.listings.indented import with_ends
from bilevel_verify.drafting.listings.lines import (
    HOLE,
    LEAVES,
    Line,
    Listing,
    NotUnderstood,
    Told,
    chain_of,
    header,
    keyed,
    lines_of,
    mended,
    split_then,
    unbraced,
    without_comments,
)
from bilevel_verify.drafting.listings.loosely import read_loosely
from bilevel_verify.errors import LatexError
from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.latex import Notation, read_latex
from bilevel_verify.latex.grammar.binding import bound_by
from bilevel_verify.latex.source.structure import flat
from bilevel_verify.latex.statements import EQUATES
from bilevel_verify.theorems import algorithm as script
from bilevel_verify.theorems.rewrite import rebuild, substitute

BARE_OUTPUT = re.compile(
    rf"(?:[\s.,:;()]|{HOLE}|\b(?:outputs?|return\w*|ensure|stop|and|the|a|an|final|last|approximate|current"
    r"|solutions?|points?|iterates?|estimates?|vectors?|pairs?|as|results?|parameters?|values?|then|end)\b)*",
    re.I,
)
"""Words of an output that do not say what it is."""
EXTREMES = frozenset({"min", "max", "argmin", "argmax"})
COMMA = re.compile(r",(?![^()]*\))")
ZERO = re.compile(r"\\[a-z]+\{0\}")


@dataclass(frozen=True, slots=True)
class Printed:
    """An algorithm as it was understood: its statements and the names that it takes.

    ``sequences`` are given as a whole, ``conditions`` are what the list of inputs says of them. ``named`` are the
    inputs alone, in order, without indices and what only bounds them; ``passed`` are lines of which nothing was read,
    ``worded`` outputs of which words say what they are.
    """

    program: script.Program
    inputs: frozenset[str]
    sequences: frozenset[str] = frozenset()
    conditions: tuple[tree.Node, ...] = ()
    named: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    worded: frozenset[str] = frozenset()


def understood(listing: Listing, notation: Notation, *, loose: bool = False) -> Printed:
    """The statements of a printed algorithm; ``notation`` says that ``x_K`` is an entry of ``x_k``.

    ``loose``: formulas that the grammar refuses are read for what they name.

    Raises
    ------
    NotUnderstood : a formula that could not be read, a loop whose range cannot be told, blocks that do not close.
    """
    parts = tuple(unbraced(tuple(without_comments(listing.parts))))
    whole = tuple(mended(parts, notation))
    listing = replace(listing, parts=tuple(read_loosely(whole, notation)) if loose else whole)
    lines = with_ends(list(lines_of(listing)))
    reader = _Blocks(lines, loose=loose)
    for sentence in header(listing):
        reader.take(sentence)
    statements = reader.block(frozenset())
    if reader.place < len(lines):
        raise NotUnderstood(f"line {lines[reader.place].label}: closes what was never opened")
    walked = list(script.Program(tuple(statements), "").walk())
    targets = [t for s in walked if isinstance(s, script.Assign) for t in s.targets]
    counters = {s.index for s in walked if isinstance(s, script.For)} | {
        t.name for t in targets if isinstance(t, tree.Letter)
    }
    entries = Entries(notation, frozenset(t.base for t in targets if isinstance(t, tree.Index)), frozenset(counters))
    lines_read = [entries.statement(s) for s in statements]
    if not any(isinstance(s, script.Return) for s in walked):
        lines_read += _put_out([entries.statement(s) for s in reader.outputs], targets)
    return Printed(
        script.Program(tuple(lines_read), ""),
        frozenset(reader.inputs),
        frozenset(reader.sequences),
        tuple(reader.conditions),
        tuple(dict.fromkeys(name for n in reader.named if (name := entries.name(n)))),
        tuple(reader.passed),
        frozenset(reader.worded),
    )


def _put_out(outputs: list[script.Statement], targets: Sequence[tree.Node]) -> list[script.Statement]:
    """Outputs that the head of a listing names, as its last line, where lines assign them."""
    known = {n for t in targets for n in _outer(t)}
    return [s for s in outputs if isinstance(s, script.Return) and all(set(_outer(v)) & known for v in s.values)]


@dataclass
class Entries:
    """Letters such as ``x_K`` and ``x_{t,0}`` as entries, where the notation has a sequence ``x`` beside them.

    ``values`` are the sequences that lines assign: a value of a function at an entry may be one, and ``s_n`` is one,
    where ``n`` is one of the ``counters``, also if the paper says nothing of it.
    """

    notation: Notation
    values: frozenset[str] = frozenset()
    counters: frozenset[str] = frozenset()
    known: dict[str, tree.Node] = field(default_factory=dict)

    def statement(self, statement: script.Statement) -> script.Statement:
        """The statement with entries in the place of such letters."""
        match statement:
            case script.Assign(targets=targets, value=value):
                found = tuple(t for target in targets for t in targets_of(self.node(target)))
                return replace(statement, targets=found, value=self.node(value))
            case script.If(test=test, body=body, orelse=orelse):
                yes, no = (tuple(self.statement(s) for s in block) for block in (body, orelse))
                return replace(statement, test=self.node(test), body=yes, orelse=no)
            case script.While(test=test, body=body):
                return replace(statement, test=self.node(test), body=tuple(self.statement(s) for s in body))
            case script.For(body=body):
                return replace(statement, body=tuple(self.statement(s) for s in body))
            case script.Return(values=values):
                return replace(statement, values=tuple(self.node(v) for v in values))
        return statement

    def node(self, node: tree.Node) -> tree.Node:
        """The tree with entries in the place of such letters."""
        if isinstance(node, tree.Letter):
            if node.name not in self.known:
                self.known[node.name] = self._entry(node)
            return self.known[node.name]
        if isinstance(node, tree.Call) and (free := _over_all(node)):
            node = substitute(node, {name: tree.Letter("_") for name in free})
        if isinstance(node, tree.Call) and (entry := value_entry(node)) is not None and entry.base in self.values:
            node = entry
        return rebuild(node, self.node)

    def name(self, name: str) -> str:
        """The name of an input as the lines have it; empty where it is a number."""
        entry = self.node(tree.Letter(name))
        return entry.base if isinstance(entry, tree.Index) else "" if isinstance(entry, tree.Number) else name

    def _entry(self, node: tree.Letter) -> tree.Node:
        declared = self.notation.by_name.get((node.name, "letter"))
        if declared is not None and ZERO.fullmatch(declared.atom.symbol):
            return tree.Number(Fraction(0))
        base, _, index = node.name.rpartition("_")
        if declared is None and base in self.values and index in self.counters:
            return tree.Index(base, (tree.Letter(index),))
        if declared is None or declared.atom.sub is None:
            return node
        for other in self.notation.by_symbol.get(declared.atom.symbol, ()):
            if other.role == "sequence" and other.atom.fixed()[:2] == declared.atom.fixed()[:2]:
                try:
                    texts = COMMA.split(flat(declared.atom.sub))
                    indices = tuple(read_latex(t, self.notation).statements[0].members[0] for t in texts)
                except LatexError:
                    return node
                return tree.Index(other.name, indices)
        return node


def _over_all(node: tree.Call) -> frozenset[str]:
    """Letters over which something is smallest or largest, with no range: they are not those of a line."""
    return bound_by(node) if node.function in EXTREMES and binder(node) is None else frozenset()


def _names(sentence: Told) -> set[str]:
    """Letters and sequences of a formula."""
    return set().union(*(tree.letters(node) for node in sentence.nodes()))


def _outer(node: tree.Node) -> Iterator[str]:
    """Letters and sequences of an input, without the indices of entries and the ranges of families."""
    match node:
        case tree.Letter(name=name):
            yield name
        case tree.Index(base=base):
            yield base
        case tree.Call(function="family", arguments=(inner, *_)):
            yield from _outer(inner)
        case _:
            for part in node.children():
                yield from _outer(part)


def _of_every_index(statement: script.Statement) -> bool:
    """Whether an input is a formula for all entries of a sequence, ``a_k = 1/(k+1)``: it is given as a whole."""
    targets = statement.targets if isinstance(statement, script.Assign) else ()
    return any(isinstance(t, tree.Index) and tree.rational(t.indices[-1]) is None for t in targets)


def _listed(formula: Told) -> set[str]:
    """Sequences of which an input lists the entries: ``a_0, a_1, \\dots``."""
    heads = [chain.members[0] for chain in formula.chains()]
    if tree.Letter("dots") not in heads and not any(isinstance(h, tree.Call) and h.function == "list" for h in heads):
        return set()
    nodes = [p for h in heads for p in h.walk()]
    return {p.base for p in nodes if isinstance(p, tree.Index)} if tree.Letter("dots") in nodes else set()


@dataclass
class _Blocks:
    """Blocks out of lines, by recursive descent."""

    lines: list[Line]
    place: int = 0
    inputs: set[str] = field(default_factory=set)
    sequences: set[str] = field(default_factory=set)
    conditions: list[tree.Node] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    worded: set[str] = field(default_factory=set)
    outputs: list[script.Statement] = field(default_factory=list)
    loose: bool = False

    def take(self, formula: Told) -> None:
        """What a formula of an input names; of a relation its first side."""
        self.inputs |= _names(formula)
        for chain in formula.chains():
            heads = chain.members[-1:] if chain.relations and chain.relations[0].word in EQUATES else chain.members[:1]
            self.named += [n for head in heads for n in _outer(head) if n not in ("_", "dots", "oo")]

    def block(self, ends: frozenset[str]) -> list[script.Statement]:
        """Statements up to a line with one of the keywords; with none, to the end."""
        found: list[script.Statement] = []
        while self.place < len(self.lines):
            line = self.lines[self.place]
            if line.keyword in ("end", "else", "elif", "until"):
                if line.keyword not in ends:
                    return found
                break
            self.place += 1
            found += self.statement(line)
        return found

    def statement(self, line: Line) -> list[script.Statement]:
        """The statements of a line, with the block that it opens."""
        number = {"number": self.place, "label": line.label}
        match line.keyword:
            case "for" | "loop" if line.formulas or line.keyword == "for":
                index, start, stop = range_of(line)
                return [script.For(index, start, stop, self._body(line), **number)]  # type: ignore[arg-type]
            case "while":
                return [script.While(test_of(line.parts, line, self.loose), self._body(line), **number)]  # type: ignore[arg-type]
            case "loop":
                return [script.While(tree.Truth(True), self._body(line), **number)]  # type: ignore[arg-type]
            case "repeat":
                body = self.block(frozenset({"until"}))
                self._expect(line, "until")
                until = self.lines[self.place - 1]
                test = test_of(until.parts, until, self.loose)
                leave = script.If(test, (script.Break(label=until.label),), label=until.label)
                return [script.While(tree.Truth(True), (*body, leave), **number)]  # type: ignore[arg-type]
            case "if":
                return [self._if(line)]
            case "return":
                if line.label == "input" and self.place < len(self.lines):  # \Ensure before the lines that do it
                    self.outputs += self.returned(line)
                    return []
                return self.returned(line)
            case "input":
                return self._taken(line)
        return self._plain(line)

    def _plain(self, line: Line) -> list[script.Statement]:
        """A line without a block: assignments, starts, ``break``."""
        found = line_assignments(line)
        said = (c for f in line.formulas for c in f.chains() if not (found and c.relations))
        self.worded |= {n for chain in said for member in chain.members for n in _outer(member)}
        leaves = LEAVES.search(line.words)
        if line.keyword == "do":
            for formula, chain in ((told, chain) for told in line.formulas for chain in told.chains()):
                words = [r.word for r in chain.relations]
                if not words or "in" in words:  # a start that is given: x_0, or x_0 = z_0 in a space
                    start = chain.members[words.index("in") if words else 0]
                    self.inputs |= tree.letters(start)
                    self.named += _outer(start)
                elif set(words) <= RANGES and words:  # ``B_0, c > 1``: given with a range
                    self.take(formula)
        elif not found and not leaves and (line.words.strip(" .;:") or line.formulas):
            self.passed.append(f"line {line.label}: no assignment was found in it")
        return [*found, script.Break(label=line.label)] if leaves else found

    def _body(self, line: Line) -> tuple[script.Statement, ...]:
        body = tuple(self.block(frozenset({"end"})))
        self._expect(line, "end")
        return body

    def _expect(self, line: Line, keyword: str) -> None:
        if self.place >= len(self.lines) or self.lines[self.place].keyword != keyword:
            raise NotUnderstood(f"line {line.label}: its block does not end")
        self.place += 1

    def _if(self, line: Line) -> script.If:
        """An ``if`` with its branches; on one line where words or formulas follow ``then``."""
        head, rest = split_then(line)
        test = test_of(head, line, self.loose)
        if rest:
            inner = Line(line.label, "", rest)
            return script.If(test, tuple(self.statement(keyed(inner))), label=line.label)
        body = tuple(self.block(frozenset({"end", "else", "elif"})))
        if self.place >= len(self.lines):
            raise NotUnderstood(f"line {line.label}: its block does not end")
        after = self.lines[self.place]
        self.place += 1
        orelse: tuple[script.Statement, ...] = ()
        if after.keyword == "elif":
            orelse = (self._if(after),)
        elif after.keyword == "else":
            inner_if = re.match(r"else[ :]*if\b", after.words, re.I)
            orelse = (self._if(after),) if inner_if else self._body(after)
        return script.If(test, body, orelse, label=line.label)

    def _taken(self, line: Line) -> list[script.Statement]:
        """Names that a line of inputs mentions; equations in it are assignments."""
        found: list[script.Statement] = []
        for formula in line.formulas:
            found += [s for s in assigned(formula, line) if not _of_every_index(s)]
            self.take(formula)
            self.sequences |= _listed(formula)
            for node in formula.nodes():
                moving = (p for p in node.walk() if isinstance(p, tree.Index) and p.indices)
                self.sequences |= {p.base for p in moving if tree.rational(p.indices[-1]) is None}
                self.sequences |= {p.name for p in node.walk() if isinstance(p, tree.Letter)}
            self.conditions += [c.tree for c in formula.chains() if isinstance(c.tree, tree.Compare)]
        return found

    def returned(self, line: Line) -> list[script.Statement]:
        """What is put out; ``x = formula`` assigns it first."""
        found: list[script.Statement] = []
        values: list[tree.Node] = []
        for sentence in line.formulas:
            chains = chain_of(sentence, line)
            if not BARE_OUTPUT.fullmatch(re.sub(r"\A\W*\w+\s*:", "", line.words)):
                self.worded |= {n for chain in chains for n in _outer(chain.members[0])}
            made = assigned(sentence, line)
            found += made
            values += [s.targets[0] for s in made if isinstance(s, script.Assign)] or [chains[0].members[0]]
            values += [c.members[0] for c in chains[not made :] if not c.relations and c.word in ("", "and")]
        return [*found, script.Return(tuple(values), label=line.label)] if values else found
