"""Algorithms as data: the small statement language in which a card writes printed pseudo-code line for line.

Assignments (also to sequence entries), ``if/elif/else``, ``while``, ``for k in range(a, b)``, ``break``, ``return``;
a trailing comment carries the paper's line number. The text is parsed by Python's ``ast``, checked statement by
statement against this list, and interpreted (``theorems.interpreter``); it is never executed.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from bilevel_verify.errors import CardError, ExpressionError
from bilevel_verify.language import Limits, convert, to_text, tree

STEPS = Limits(length=20_000, nodes=20_000)
MAXIMAL_NESTING = 12


@dataclass(frozen=True, slots=True)
class Line:
    """Base of all statements: ``number`` is the place in the text (1-based), ``label`` the paper's line number."""

    number: int = field(default=0, kw_only=True, compare=False)
    label: str = field(default="", kw_only=True, compare=False)

    @property
    def shown(self) -> str:
        """``line 10`` as the paper counts, or as the text does."""
        return f"line {self.label}" if self.label else f"text line {self.number}"


@dataclass(frozen=True, slots=True)
class Assign(Line):
    """``a = b = value``; targets are letters or sequence entries."""

    targets: tuple[tree.Letter | tree.Index, ...]
    value: tree.Node


@dataclass(frozen=True, slots=True)
class If(Line):
    """``if test: ... else: ...``."""

    test: tree.Node
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class While(Line):
    """``while test: ...``; ``while True`` with a ``break`` is a paper's repeat-until."""

    test: tree.Node
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class For(Line):
    """``for index in range(start, stop)``: stop is excluded, as in the language it borrows from."""

    index: str
    start: tree.Node
    stop: tree.Node
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Break(Line):
    """Leave the innermost loop."""


@dataclass(frozen=True, slots=True)
class Return(Line):
    """Output of the algorithm; several values are a tuple."""

    values: tuple[tree.Node, ...]


Statement: TypeAlias = Assign | If | While | For | Break | Return


@dataclass(frozen=True, slots=True)
class Program:
    """A parsed pseudo-code."""

    statements: tuple[Statement, ...]
    text: str = field(compare=False)

    def walk(self) -> Iterator[Statement]:
        """Every statement, in the order of the text."""
        stack = list(reversed(self.statements))
        while stack:
            statement = stack.pop()
            yield statement
            stack.extend(reversed(_inside(statement)))


def _mend(source: str, number: int) -> str:
    """What to change in a line that cannot be read, where that can be seen."""
    line = source.splitlines()[number - 1 : number]
    code = line[0].partition("#")[0].strip() if line else ""
    missing = code.count("(") - code.count(")")
    if missing:
        return f"; a {')' if missing > 0 else '('!r} is missing in {code!r}"
    if re.search(r"\blambda\b", source):
        return "; write 'lam' for lambda"
    if found := re.search(r"(?<![\w.])\d+(?=[A-Za-z(])", code):
        return f"; a '*' is missing after {found[0]!r} in {code!r}"
    return f"; {code!r} is neither an assignment nor while, if, for, break or return"


def _inside(statement: Statement) -> list[Statement]:
    match statement:
        case If(body=body, orelse=orelse):
            return [*body, *orelse]
        case While(body=body) | For(body=body):
            return list(body)
    return []


def expressions_of(statement: Statement) -> list[tree.Node]:
    """The expressions that a statement itself evaluates (not those of its body)."""
    match statement:
        case Assign(targets=targets, value=value):
            return [value, *(i for t in targets if isinstance(t, tree.Index) for i in t.indices)]
        case If(test=test) | While(test=test):
            return [test]
        case For(start=start, stop=stop):
            return [start, stop]
        case Return(values=values):
            return list(values)
    return []


def read_program(text: str) -> Program:
    """Parse the steps of an algorithm.

    Raises
    ------
    CardError : not of this language; names the line and the column.
    """
    if len(text) > STEPS.length:
        raise CardError(f"{len(text)} characters; at most {STEPS.length} are allowed")
    if re.search(r"[^\s\x20-\x7e]", text):
        raise CardError("only printable ASCII characters are allowed in steps")
    source = textwrap.dedent(text.strip("\n"))
    depth = 0
    for letter in source:
        depth += (letter in "([{") - (letter in ")]}")
        if depth > STEPS.depth:
            raise CardError(f"nested deeper than {STEPS.depth} levels")
    try:
        module = ast.parse(source)
    except SyntaxError as error:
        said = f"line {error.lineno}: not a statement of this language (column {error.offset})"
        raise CardError(said + _mend(source, error.lineno or 1)) from None
    except (RecursionError, MemoryError, ValueError):
        raise CardError("the steps are nested too deeply") from None
    reader = _Reader(source)
    return Program(reader.block(module.body, 0, in_loop=False), source)


def program_text(statements: tuple[Statement, ...], indent: str = "", text_of: Callable[..., str] = to_text) -> str:
    """Statements as the steps of a card, one a line with the paper's number behind it; the inverse of reading them."""
    out = []
    for one in statements:
        mark = f"  # {one.label}\n" if one.label else "\n"
        inner = indent + "    "
        match one:
            case Assign(targets=targets, value=value):
                out.append(" = ".join(map(text_of, (*targets, value))) + mark)
            case If(test=test, body=body, orelse=orelse):
                other = f"{indent}else:\n{program_text(orelse, inner, text_of)}" if orelse else ""
                out.append(f"if {text_of(test)}:{mark}{program_text(body, inner, text_of)}{other}")
            case While(test=test, body=body):
                out.append(f"while {text_of(test)}:{mark}{program_text(body, inner, text_of)}")
            case For(index=index, start=start, stop=stop, body=body):
                span = f"range({text_of(start)}, {text_of(stop)})"
                out.append(f"for {index} in {span}:{mark}{program_text(body, inner, text_of)}")
            case Break():
                out.append("break" + mark)
            case Return(values=values):
                out.append(f"return {', '.join(map(text_of, values))}{mark}")
    return "".join(f"{indent}{text}" for text in out)


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.labels = {}
        for number, line in enumerate(source.splitlines(), 1):
            _, mark, comment = line.partition("#")
            if mark and (found := re.match(r"\s*([0-9]+[a-z]?(?:-[0-9]+)?)\b", comment)):
                self.labels[number] = found[1]

    def fail(self, node: ast.AST, message: str) -> CardError:
        number = getattr(node, "lineno", 0)
        return CardError(f"line {number}: {message}")

    def expression(self, node: ast.expr) -> tree.Node:
        try:
            found = convert(node, self.source, STEPS)
        except ExpressionError as error:
            raise self.fail(node, f"{error.plain} (column {error.column})") from None
        for part in found.walk():
            if isinstance(part, tree.MatrixMultiply) and any(isinstance(p, tree.Number) for p in part.children()):
                raise self.fail(node, f"@ multiplies matrices and vectors, not numbers; write * (column {part.column})")
        return found

    def block(self, nodes: list[ast.stmt], depth: int, in_loop: bool) -> tuple[Statement, ...]:
        if depth > MAXIMAL_NESTING:
            raise self.fail(nodes[0], f"nested deeper than {MAXIMAL_NESTING} blocks")
        return tuple(self.statement(node, depth, in_loop) for node in nodes)

    def statement(self, node: ast.stmt, depth: int, in_loop: bool) -> Statement:
        number, label = node.lineno, self.labels.get(node.lineno, "")
        match node:
            case ast.Assign(targets=targets, value=value):
                found = tuple(self.target(t) for t in targets)
                return Assign(found, self.expression(value), number=number, label=label)
            case ast.If(test=test, body=body, orelse=orelse):
                yes, no = self.block(body, depth + 1, in_loop), self.block(orelse, depth + 1, in_loop)
                return If(self.expression(test), yes, no, number=number, label=label)
            case ast.While(test=test, body=body, orelse=[]):
                return While(self.expression(test), self.block(body, depth + 1, True), number=number, label=label)
            case ast.For(target=ast.Name(id=index), iter=ast.Call() as span, body=body, orelse=[]):
                start, stop = self.range(span)
                inner = self.block(body, depth + 1, True)
                return For(index, start, stop, inner, number=number, label=label)
            case ast.Break():
                if not in_loop:
                    raise self.fail(node, "break outside a loop")
                return Break(number=number, label=label)
            case ast.Return(value=ast.Tuple(elts=parts)):
                return Return(tuple(self.expression(p) for p in parts), number=number, label=label)
            case ast.Return(value=ast.expr() as value):
                return Return((self.expression(value),), number=number, label=label)
        raise self.fail(node, f"{type(node).__name__} is not a statement of this language")

    def target(self, node: ast.expr) -> tree.Letter | tree.Index:
        found = self.expression(node)
        if not isinstance(found, tree.Letter | tree.Index):
            raise self.fail(node, "only a letter or a sequence entry can be assigned")
        return found

    def range(self, span: ast.Call) -> tuple[tree.Node, tree.Node]:
        if not (isinstance(span.func, ast.Name) and span.func.id == "range" and len(span.args) in (1, 2)):
            raise self.fail(span, "a for loop runs over range(a, b)")
        ends = [self.expression(a) for a in span.args]
        return (tree.Number(Fraction(0)), ends[0]) if len(ends) == 1 else (ends[0], ends[1])
