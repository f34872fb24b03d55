"""A printed algorithm as statements: lines of ``algorithmic`` or a numbered list, formula by formula.

What is not understood ends the reading of that algorithm with the line and the reason; nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from bilevel_verify.errors import LatexError
from bilevel_verify.language import tree
from bilevel_verify.latex import Notation, Statement, read_latex
from bilevel_verify.latex.source.structure import flat
from bilevel_verify.proofreading.names.occurrences import whole
from bilevel_verify.proofreading.source import Listing, Sentence
from bilevel_verify.theorems import algorithm as script
from bilevel_verify.theorems.rewrite import rebuild

COMMANDS = (
    "State|Statex|ForAll|ForEach|For|While|If|ElsIf|ElseIf|Else|EndForAll|EndFor|EndWhile|EndIf|Repeat|Until|Return"
    "|Require|Ensure|Input|Output|KwIn|KwOut|KwData|KwResult"
)
LINE = re.compile(rf"\\(?P<command>{COMMANDS})(?![A-Za-z])|(?:\A|\n)[ \t]*(?:(?P<number>\d+)[.:)]|-)(?=\s)", re.I)
MARKUP = re.compile(r"\\(?:caption|label|begin|end|Comment|tcp|vspace)\*?\s*(?:\[[^\]]*\])?\{[^{}]*\}(?:\[\d\])?", re.I)
KEYWORDS = (
    ("else if", "elif"), ("elseif", "elif"), ("elsif", "elif"), ("elif", "elif"), ("else", "else"), ("end", "end"),
    ("for", "for"), ("while", "while"), ("if", "if"), ("repeat", "repeat"), ("until", "until"), ("return", "return"),
    ("output", "return"), ("input", "input"), ("require", "input"), ("ensure", "return"), ("given", "input"),
    ("data", "input"), ("parameters", "input"), ("initialization", "do"), ("initialize", "do"),
)  # fmt: skip
NAMES = {"forall": "for", "foreach": "for", "kwin": "input", "kwdata": "input", "kwout": "return", "kwresult": "return",
         "state": "", "statex": "", "endfor": "end", "endforall": "end", "endwhile": "end", "endif": "end",
         "elseif": "elif", "elsif": "elif", "require": "input", "ensure": "return", "output": "return"}  # fmt: skip
LEAVES = re.compile(r"\b(?:break|stop|terminate|exit)\b", re.I)
ASSIGNS = frozenset({"==", ":=", "<-"})
DRAWN = frozenset({"distributed", "in"})
COMPARES = frozenset({"<", "<=", ">", ">=", "=="})


class NotUnderstood(Exception):
    """A line that is not understood; the message names it."""


@dataclass
class _Line:
    label: str
    keyword: str
    parts: list[str | Sentence] = field(default_factory=list)

    @property
    def words(self) -> str:
        """The words of the line, formulas as a sign."""
        return " ".join(p if isinstance(p, str) else "\x01" for p in self.parts)

    @property
    def formulas(self) -> list[Sentence]:
        """The formulas of the line."""
        return [p for p in self.parts if isinstance(p, Sentence)]


@dataclass(frozen=True, slots=True)
class Printed:
    """An algorithm as it was understood: its statements and the names that it takes.

    ``sequences`` are given as a whole, ``conditions`` are what the list of inputs says of them.
    """

    program: script.Program
    inputs: frozenset[str]
    sequences: frozenset[str] = frozenset()
    conditions: tuple[tree.Node, ...] = ()


def understood(listing: Listing, notation: Notation) -> Printed:
    """The statements of a printed algorithm; ``notation`` says that ``x_K`` is an entry of ``x_k``.

    Raises
    ------
    NotUnderstood : a formula that could not be read, a loop whose range cannot be told, blocks that do not close.
    """
    lines = list(_lines(listing))
    reader = _Blocks(lines)
    for sentence in _header(listing):
        reader.inputs |= _names(sentence)
    statements = reader.block(frozenset())
    if reader.place < len(lines):
        raise NotUnderstood(f"line {lines[reader.place].label}: closes what was never opened")
    entries = Entries(notation)
    return Printed(
        script.Program(tuple(entries.statement(s) for s in statements), ""),
        frozenset(reader.inputs),
        frozenset(reader.sequences),
        tuple(reader.conditions),
    )


@dataclass
class Entries:
    """Letters such as ``x_K`` and ``x_{t,0}`` as entries, where the notation has a sequence ``x`` beside them."""

    notation: Notation
    known: dict[str, tree.Node] = field(default_factory=dict)

    def statement(self, statement: script.Statement) -> script.Statement:
        """The statement with entries in the place of such letters."""
        match statement:
            case script.Assign(targets=targets, value=value):
                found = tuple(t for target in targets for t in _targets(self.node(target)))
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
        return rebuild(node, self.node)

    def _entry(self, node: tree.Letter) -> tree.Node:
        declared = self.notation.by_name.get((node.name, "letter"))
        if declared is None or declared.atom.sub is None:
            return node
        for other in self.notation.by_symbol.get(declared.atom.symbol, ()):
            if other.role == "sequence" and other.atom.primes == declared.atom.primes:
                try:
                    texts = flat(declared.atom.sub).split(",")
                    indices = tuple(read_latex(t, self.notation).statements[0].members[0] for t in texts)
                except LatexError:
                    return node
                return tree.Index(other.name, indices)
        return node


def _header(listing: Listing) -> Iterator[Sentence]:
    """Formulas before the first line: the name of the algorithm with what it takes."""
    for part in listing.parts:
        if isinstance(part, Sentence):
            yield part
        elif LINE.search(MARKUP.sub(" ", part)):
            return


def _names(sentence: Sentence) -> set[str]:
    """Letters and sequences of a formula."""
    return set().union(*(tree.letters(node) for node in sentence.nodes())) if sentence.read.statements else set()


def _lines(listing: Listing) -> Iterator[_Line]:
    """The lines of a listing, with their keyword."""
    current: _Line | None = None
    count = 0
    for part in listing.parts:
        if isinstance(part, Sentence):
            if current is not None:
                current.parts.append(part)
            continue
        text = MARKUP.sub(" ", part)
        place = 0
        for mark in LINE.finditer(text):
            if current is not None:
                current.parts.append(text[place : mark.start()])
                yield _keyed(current)
            count += 1
            command = (mark["command"] or "").lower()
            current = _Line(mark["number"] or str(count), NAMES.get(command, command))
            place = mark.end()
        if current is not None:
            current.parts.append(text[place:])
    if current is not None:
        yield _keyed(current)


def _keyed(line: _Line) -> _Line:
    """The line with the keyword that its first words say, where the command says none."""
    line.parts = [_plain(p) if isinstance(p, str) else p for p in line.parts]
    line.parts = [p for p in line.parts if not isinstance(p, str) or p]
    if not line.keyword and line.parts and isinstance(line.parts[0], str):
        first = line.parts[0].lower().lstrip(" :.")
        for word, keyword in KEYWORDS:
            if re.match(rf"{word}(?![a-z])", first):
                line.keyword = keyword
                break
    return line


def _plain(text: str) -> str:
    text = re.sub(r"\\(?:textbf|textit|emph|text|bf|it|algorithmic\w*)(?![A-Za-z])|[{}*~]|\\\\|\\[,;: ]", " ", text)
    return re.sub(r"\s+", " ", text).strip()


@dataclass
class _Blocks:
    """Blocks out of lines, by recursive descent."""

    lines: list[_Line]
    place: int = 0
    inputs: set[str] = field(default_factory=set)
    sequences: set[str] = field(default_factory=set)
    conditions: list[tree.Node] = field(default_factory=list)

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

    def statement(self, line: _Line) -> list[script.Statement]:
        """The statements of a line, with the block that it opens."""
        number = {"number": self.place, "label": line.label}
        match line.keyword:
            case "for":
                index, start, stop = _range(line)
                return [script.For(index, start, stop, self._body(line), **number)]  # type: ignore[arg-type]
            case "while":
                return [script.While(_test(line.parts, line), self._body(line), **number)]  # type: ignore[arg-type]
            case "repeat":
                body = self.block(frozenset({"until"}))
                self._expect(line, "until")
                until = self.lines[self.place - 1]
                test = _test(until.parts, until)
                leave = script.If(test, (script.Break(label=until.label),), label=until.label)
                return [script.While(tree.Truth(True), (*body, leave), **number)]  # type: ignore[arg-type]
            case "if":
                return [self._if(line)]
            case "return":
                return self.returned(line)
            case "input":
                return self._taken(line)
        found = _line_assignments(line)
        return [*found, script.Break(label=line.label)] if LEAVES.search(line.words) else found

    def _body(self, line: _Line) -> tuple[script.Statement, ...]:
        body = tuple(self.block(frozenset({"end"})))
        self._expect(line, "end")
        return body

    def _expect(self, line: _Line, keyword: str) -> None:
        if self.place >= len(self.lines) or self.lines[self.place].keyword != keyword:
            raise NotUnderstood(f"line {line.label}: its block does not end")
        self.place += 1

    def _if(self, line: _Line) -> script.If:
        """An ``if`` with its branches; on one line where words or formulas follow ``then``."""
        head, rest = _split_then(line)
        test = _test(head, line)
        if rest:
            inner = _Line(line.label, "", rest)
            return script.If(test, tuple(self.statement(_keyed(inner))), label=line.label)
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

    def _taken(self, line: _Line) -> list[script.Statement]:
        """Names that a line of inputs mentions; equations in it are assignments."""
        found: list[script.Statement] = []
        for formula in line.formulas:
            made = _assigned(formula, line)
            found += made
            self.inputs |= _names(formula)
            for node in formula.nodes():
                moving = (p for p in node.walk() if isinstance(p, tree.Index) and p.indices)
                self.sequences |= {p.base for p in moving if whole(p.indices[-1]) is None}
                self.sequences |= {p.name for p in node.walk() if isinstance(p, tree.Letter)}
            self.conditions += [c.tree for c in formula.chains() if isinstance(c.tree, tree.Compare)]
        return found

    def returned(self, line: _Line) -> list[script.Statement]:
        """What is put out; ``x = formula`` assigns it first."""
        found: list[script.Statement] = []
        values: list[tree.Node] = []
        for sentence in line.formulas:
            chains = _chain(sentence, line)
            made = _assigned(sentence, line)
            found += made
            values += [s.targets[0] for s in made if isinstance(s, script.Assign)] or [chains[0].members[0]]
        return [*found, script.Return(tuple(values), label=line.label)] if values else found


def _split_then(line: _Line) -> tuple[list[str | Sentence], list[str | Sentence]]:
    """What stands before and after ``then`` (or ``do``)."""
    for place, part in enumerate(line.parts):
        if isinstance(part, str) and (mark := re.search(r"\b(?:then|do)\b[ :]*", part)):
            rest: list[str | Sentence] = [p for p in (part[mark.end() :].strip(), *line.parts[place + 1 :]) if p]
            return [*line.parts[:place], part[: mark.start()]], rest
    return line.parts, []


def _chain(sentence: Sentence, line: _Line) -> list[Statement]:
    chains = list(sentence.chains())
    if not chains:
        raise NotUnderstood(f"line {line.label}: {sentence.read.message or 'a formula is not read'}")
    return chains


def _range(line: _Line) -> tuple[str, tree.Node, tree.Node]:
    """The letter of a ``for`` and its range, the end excluded."""
    formulas = line.formulas
    if not formulas:
        raise NotUnderstood(f"line {line.label}: a loop without a range")
    members = _chain(formulas[0], line)[0].members
    if len(members) == 2 and isinstance(members[0], tree.Letter):
        letter, span = members[0].name, members[1]
        if isinstance(span, tree.Call) and span.function in ("list", "set") and len(span.arguments) > 1:
            last = span.arguments[-1]
            stop = tree.Letter("oo") if last == tree.Letter("dots") else plus_one(last)
            return letter, span.arguments[0], stop
        if len(formulas) > 1:
            return letter, span, plus_one(_chain(formulas[1], line)[0].members[0])
    raise NotUnderstood(f"line {line.label}: the range of the loop cannot be told")


def plus_one(node: tree.Node) -> tree.Node:
    """``node + 1``, with ``K - 1 + 1`` as ``K``."""
    match node:
        case tree.Number(value=value):
            return tree.Number(value + 1)
        case tree.Add(terms=(*rest, tree.Negate(operand=tree.Number(value=value)))) if value == 1 and rest:
            return rest[0] if len(rest) == 1 else tree.Add(tuple(rest))
    return tree.Add((node, tree.Number(Fraction(1))))


def _test(parts: list[str | Sentence], line: _Line) -> tree.Node:
    """The condition of a test: comparisons with ``or`` and ``and`` between them."""
    found: list[tree.Node] = []
    words: list[str] = []
    for part in parts:
        if isinstance(part, str):
            words += re.findall(r"\b(or|and)\b", part) if found else []
            continue
        for chain in _chain(part, line):
            if chain.relations and {r.word for r in chain.relations} <= COMPARES and len(chain.members) > len(
                chain.relations
            ):  # fmt: skip
                found.append(tree.Compare(chain.members, tuple(r.word for r in chain.relations)))
                if chain.word in ("or", "and") and len(found) > 1:
                    words.append(chain.word)
    if not found or len(set(words)) > 1 or (len(found) > 1 and len(words) != len(found) - 1):
        raise NotUnderstood(f"line {line.label}: the test cannot be told")
    return found[0] if len(found) == 1 else tree.Logical(words[0], tuple(found))


def _assigned(sentence: Sentence, line: _Line) -> list[script.Statement]:
    """The assignments that a formula prints: ``a = b = value``; what is drawn from a set or distribution too."""
    found: list[script.Statement] = []
    drawn: list[script.Statement] = []
    for chain in _chain(sentence, line):
        words = [r.word for r in chain.relations]
        if not words or chain.word in ("where", "for", "if", "s.t.") or chain.continues:
            continue
        targets: list[tree.Letter | tree.Index] = []
        value = chain.members[-1]
        for member, word in zip(chain.members, words, strict=False):
            if word not in ASSIGNS | DRAWN:
                break
            if word == "in" and not targets:
                break
            targets += [t for t in _targets(member) if t not in targets]
        if targets:
            made = script.Assign(tuple(targets), value, label=line.label)
            (drawn if words[0] == "distributed" else found).append(made)
    return [*drawn, *found]


def _line_assignments(line: _Line) -> list[script.Statement]:
    """The assignments of a line; what stands after ``where`` or ``with``, or is drawn, comes before what uses it."""
    first: list[script.Statement] = []
    then: list[script.Statement] = []
    told = ""
    for part in line.parts:
        if isinstance(part, str):
            told = part
            continue
        drawn = any(r.word == "distributed" for chain in part.chains() for r in chain.relations)
        (first if drawn or re.search(r"\b(?:where|with)\b", told) else then).extend(_assigned(part, line))
    return [*first, *then]


def _targets(node: tree.Node) -> list[tree.Letter | tree.Index]:
    if isinstance(node, tree.Letter | tree.Index):
        return [node]
    if isinstance(node, tree.Tuple) or (isinstance(node, tree.Call) and node.function == "list"):
        return [t for part in node.children() for t in _targets(part)]
    return []
