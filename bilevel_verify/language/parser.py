"""Text to tree, by whitelist: the only way in which text of a user enters the package.

The text is measured (length, nesting, runs of signs) *before* it reaches :func:`ast.parse`; the resulting Python tree
is checked node by node and converted, never executed. Which letters and functions are allowed is said by the caller.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction

from bilevel_verify.errors import ExpressionError
from bilevel_verify.language import tree
from bilevel_verify.language.elementary import ELEMENTARY
from bilevel_verify.language.flat import parse_flat

SYNONYMS = {"Abs": "abs", "Max": "max", "Min": "min"}
SYNONYMS |= {other: one.name for one in ELEMENTARY.values() for other in one.synonyms}
COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "=="}
UNREAD = {ast.NotEq: "!=", ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"}
PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z|_\Z")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a text may cost. Everything is checked before anything is expanded.

    ``length`` in characters, ``nodes`` of the tree, ``depth`` of nesting (a sum counts once), ``exponent`` the largest
    literal exponent, ``digits`` of one literal.
    """

    length: int = 4_000
    nodes: int = 20_000
    depth: int = 60
    exponent: int = 64
    digits: int = 60


CARD = Limits()
PROBLEM = Limits(length=1_000_000, nodes=100_000)


def parse(text: str, *, limits: Limits = CARD) -> tree.Node:
    """Read one expression.

    Raises
    ------
    ExpressionError : outside the grammar or beyond ``limits``; carries the column and the fix.
    """
    _measure(text, limits)
    source = " ".join(text.split("\n")) if "\n" in text else text
    stripped = source.lstrip()
    try:
        parsed = parse_flat(stripped)
    except (SyntaxError, ValueError) as error:
        column = getattr(error, "offset", None)
        raise ExpressionError(_syntax_hint(stripped), stripped, column) from None
    except (RecursionError, MemoryError):
        raise ExpressionError("the expression is nested too deeply; split it with definitions", stripped[:80]) from None
    return convert(parsed, stripped, limits)


def convert(node: ast.expr, text: str, limits: Limits = CARD) -> tree.Node:
    """Convert one checked Python expression node (used by the algorithm language too)."""
    return _Converter(text, limits).visit(node, 0)


def check_names(
    node: tree.Node, letters: Collection[str], functions: Collection[str], text: str, *, what: str = "letter"
) -> None:
    """Refuse letters and functions outside the two whitelists, with the nearest known name."""
    for part in node.walk():
        match part:
            case tree.Letter(name=name) | tree.Index(base=name) if name not in letters:
                raise ExpressionError(f"unknown {what} {name!r}{nearest(name, letters)}", text, part.column)
            case tree.Call(function=name) if name not in functions:
                raise ExpressionError(f"unknown function {name!r}{instead_of(name, functions)}", text, part.column)
            case _:
                continue


ROOM = 60
"""Names that an error may list."""


def nearest_of(name: str, known: Collection[str]) -> str:
    """:func:`nearest` with the list of all names, where it is short enough to be read."""
    return nearest(name, known) + (f"; there are {', '.join(sorted(known))}" if len(known) <= ROOM else "")


def some_of(names: Iterable[str], few: int = 20) -> str:
    """All names where a line has room for them, else the first few."""
    listed = list(names)
    return ", ".join(listed if len(listed) <= ROOM else [*listed[:few], "..."])


SUGGESTED = {"relu": "plus(t)", "step": "Piecewise", "sign": "Piecewise", "norm2": "norm(t)**2", "pow": "t**p"}
_ENDS = ("_min", "_opt", "_inf", "min", "star")
SUGGESTED |= {f"{of}{end}": f"{of}_star()" for of in ("f", "g", "phi") for end in _ENDS}
SUGGESTED |= dict.fromkeys(("x_min", "x_opt", "xstar"), "x_star()")
SUGGESTED |= dict.fromkeys(("y_opt", "ystar"), "y_star(x)")
"""Names that other systems and texts have, and how the same is written here."""


def nearest(name: str, known: Collection[str]) -> str:
    """``; did you mean 'kappa'?`` or nothing."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def instead_of(name: str, functions: Collection[str], known: Collection[str] | None = None) -> str:
    """What to write in the place of a name that there is not: another way to say it, else the nearest that is known.

    A function is only proposed where it is one of ``functions``; ``known`` (by default the same) are the near names.
    """
    other = SUGGESTED.get(name, "")
    head, call, _ = other.partition("(")
    if other and (not call or head in functions):
        return f"; write {other}"
    return nearest(name, functions if known is None else known)


def _measure(text: str, limits: Limits) -> None:
    if not isinstance(text, str):
        raise ExpressionError(f"an expression must be a string, not {type(text).__name__}")
    if len(text) > limits.length:
        raise ExpressionError(f"{len(text)} characters; at most {limits.length} are allowed", text[:40], 1)
    if not text.strip():
        raise ExpressionError("the expression is empty", text)
    if "\x00" in text or (not text.isprintable() and re.search(r"[^\s\x20-\x7e]", text)):
        raise ExpressionError("only printable characters are allowed", text[:40])
    depth = signs = 0
    for place, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        signs = signs + 1 if letter in "+-~" else (signs if letter.isspace() else 0)
        if depth > limits.depth or signs > limits.depth:
            raise ExpressionError(f"nested deeper than {limits.depth} levels", text, place + 1)
    for literal in re.finditer(r"[0-9][0-9_.]*", text):
        if len(literal[0]) > limits.digits:
            raise ExpressionError(f"a number of more than {limits.digits} digits", text, literal.start() + 1)
    for literal in re.finditer(r"[0-9.][eE][+-]?([0-9]+)", text):
        if int(literal[1]) > 400:
            raise ExpressionError("a decimal exponent beyond 400", text, literal.start() + 1)


def _syntax_hint(text: str) -> str:
    if re.search(r"\blambda\b", text):
        return "'lambda' is reserved; write 'lam'"
    if "^" in text:
        return "'^' is not a power; write '**'"
    missing = text.count("(") - text.count(")")
    if missing:
        return (
            f"a {')' if missing > 0 else '('!r} is missing"
            if abs(missing) == 1
            else f"{abs(missing)} brackets are missing"
        )
    for wrong, right in (("=<", "<="), ("=>", ">="), ("<>", "")):
        if wrong in text:
            return f"{wrong!r} is no relation" + (f"; write {right!r}" if right else "")
    if re.search(r"(?<![<>=!:])=(?!=)", text):
        return "'=' is no relation; write '=='"
    if factorial := re.search(r"(\w+|\))!(?!=)", text):
        return f"{factorial[0]!r} is written factorial({factorial[1] if factorial[1] != ')' else '...'})"
    word = r"(?:and|or|if|else|in|not|is|for)\b"
    number_or_bracket = rf"((?<![\w.])\d+\.?\d*|\))\s*(?=[A-Za-z(])(?!{word})"
    name = rf"\b(?!{word})([A-Za-z_]\w*)\s+(?=[\w(])(?!{word})"
    product = re.search(f"{number_or_bracket}|{name}", text)
    if product and product[2] in ELEMENTARY:
        return f"the argument of {product[2]!r} stands in brackets: write {product[2]}(...)"
    if product:
        return f"a '*' is missing after {product[1] or product[2]!r}"
    lonely = re.search(r"([-+*/%<>=]+)(?![-+*/%<>=])\s*($|[)\]]|[*/<>=])", text)
    if lonely:
        return f"{lonely[1]!r} has nothing to its right"
    return "not an expression of this language"


class _Converter:
    """Walks the Python tree; left-deep sums and products are flattened without recursion."""

    def __init__(self, text: str, limits: Limits) -> None:
        self.text, self.limits, self.count = text, limits, 0
        self.lines = [line.encode() for line in re.split(r"\r\n|\r|\n", text)]

    def fail(self, message: str, node: ast.AST) -> ExpressionError:
        return ExpressionError(message, self.text, getattr(node, "col_offset", 0) + 1)

    def visit(self, node: ast.expr, depth: int) -> tree.Node:
        self.count += 1
        if self.count > self.limits.nodes:
            raise self.fail(f"more than {self.limits.nodes} nodes", node)
        if depth > self.limits.depth:
            raise self.fail(f"nested deeper than {self.limits.depth} levels", node)
        method = getattr(self, f"visit_{type(node).__name__.lower()}", None)
        if method is None:
            raise self.fail(f"{type(node).__name__} is not part of this language", node)
        result: tree.Node = method(node, depth)
        return result

    def visit_constant(self, node: ast.Constant, depth: int) -> tree.Node:
        if isinstance(node.value, bool):
            return tree.Truth(node.value, column=node.col_offset + 1)
        if type(node.value) not in (int, float):
            raise self.fail(f"{node.value!r} is not a number", node)
        literal = self.lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
        try:
            return tree.Number(Fraction(literal.replace("_", "")), column=node.col_offset + 1)
        except ValueError:
            raise self.fail(f"{literal[:40]!r} is not a decimal number", node) from None

    def visit_name(self, node: ast.Name, depth: int) -> tree.Node:
        if not PLAIN_NAME.match(node.id) or "__" in node.id:
            raise self.fail(f"{node.id[:40]!r} is not a name of this language", node)
        return tree.Letter(node.id, column=node.col_offset + 1)

    def visit_binop(self, node: ast.BinOp, depth: int) -> tree.Node:
        if isinstance(node.op, ast.Add | ast.Sub):
            return self._chain(node, depth, (ast.Add, ast.Sub))
        if isinstance(node.op, ast.Mult | ast.Div):
            return self._chain(node, depth, (ast.Mult, ast.Div))
        if isinstance(node.op, ast.BitXor):
            raise self.fail("'^' is not a power; write '**'", node)
        left, right = self.visit(node.left, depth + 1), self.visit(node.right, depth + 1)
        column = node.col_offset + 1
        match node.op:
            case ast.Pow():
                self._bound_exponent(right, node)
                return tree.Power(left, right, column=column)
            case ast.Mod():
                return tree.Modulo(left, right, column=column)
            case ast.MatMult():
                return tree.MatrixMultiply(left, right, column=column)
        raise self.fail(f"the operator {type(node.op).__name__} is not part of this language", node)

    def _chain(self, node: ast.BinOp, depth: int, kinds: tuple[type[ast.operator], ...]) -> tree.Node:
        """Unroll ``((a op b) op c) op d`` from the left, so that long sums cost no depth."""
        spine: list[tuple[ast.operator, ast.expr]] = []
        current: ast.expr = node
        while isinstance(current, ast.BinOp) and isinstance(current.op, kinds):
            spine.append((current.op, current.right))
            current = current.left
        column = node.col_offset + 1
        parts = [self.visit(current, depth + 1)]
        for operator, operand in reversed(spine):
            part = self.visit(operand, depth + 1)
            match operator:
                case ast.Sub():
                    parts.append(tree.Negate(part, column=part.column))
                case ast.Div():
                    top = parts[0] if len(parts) == 1 else tree.Multiply(tuple(parts), column=column)
                    parts = [tree.Divide(top, part, column=column)]
                case _:
                    parts.append(part)
        if len(parts) == 1:
            return parts[0]
        return (tree.Add if ast.Add in kinds else tree.Multiply)(tuple(parts), column=column)

    def _bound_exponent(self, exponent: tree.Node, node: ast.AST) -> None:
        inner = exponent.operand if isinstance(exponent, tree.Negate) else exponent
        if isinstance(inner, tree.Number) and inner.value > self.limits.exponent:
            raise self.fail(f"an exponent larger than {self.limits.exponent}", node)
        if isinstance(inner, tree.Power) and not tree.letters(inner):
            raise self.fail("a tower of exponents; write the number", node)

    def visit_unaryop(self, node: ast.UnaryOp, depth: int) -> tree.Node:
        operand = self.visit(node.operand, depth + 1)
        match node.op:
            case ast.USub():
                return tree.Negate(operand, column=node.col_offset + 1)
            case ast.UAdd():
                return operand
            case ast.Not():
                return tree.Not(operand, column=node.col_offset + 1)
        raise self.fail("'~' is not part of this language", node)

    def visit_boolop(self, node: ast.BoolOp, depth: int) -> tree.Node:
        word = "and" if isinstance(node.op, ast.And) else "or"
        return tree.Logical(word, tuple(self.visit(v, depth + 1) for v in node.values), column=node.col_offset + 1)

    def visit_compare(self, node: ast.Compare, depth: int) -> tree.Node:
        for operator in node.ops:
            if type(operator) not in COMPARISONS:
                word = UNREAD.get(type(operator), type(operator).__name__)
                raise self.fail(f"the comparison {word!r} is not part of this language", node)
        operands = tuple(self.visit(v, depth + 1) for v in (node.left, *node.comparators))
        return tree.Compare(operands, tuple(COMPARISONS[type(o)] for o in node.ops), column=node.col_offset + 1)

    def visit_ifexp(self, node: ast.IfExp, depth: int) -> tree.Node:
        test, yes, no = (self.visit(v, depth + 1) for v in (node.test, node.body, node.orelse))
        return tree.Conditional(test, yes, no, column=node.col_offset + 1)

    def visit_call(self, node: ast.Call, depth: int) -> tree.Node:
        if not isinstance(node.func, ast.Name):
            raise self.fail("only plain functions can be called", node)
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            raise self.fail("functions take plain arguments only", node)
        name = self.visit_name(node.func, depth)
        assert isinstance(name, tree.Letter)
        if len(node.args) > 1000:
            raise self.fail("more than 1000 arguments", node)
        arguments = tuple(self.visit(a, depth + 1) for a in node.args)
        ranged = len(arguments) > 2 and isinstance(arguments[-1], tree.Tuple) and name.name != "Piecewise"
        if ranged:  # all readers take the first and the last
            raise self.fail(f"an index range follows one expression: {name.name}(expression, (i, lo, hi))", node)
        return tree.Call(SYNONYMS.get(name.name, name.name), arguments, column=node.col_offset + 1)

    def visit_subscript(self, node: ast.Subscript, depth: int) -> tree.Node:
        if not isinstance(node.value, ast.Name):
            raise self.fail("only a named sequence can be indexed", node)
        base = self.visit_name(node.value, depth)
        assert isinstance(base, tree.Letter)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        indices = tuple(self.visit(p, depth + 1) for p in parts)
        return tree.Index(base.name, indices, column=node.col_offset + 1)

    def visit_tuple(self, node: ast.Tuple, depth: int) -> tree.Node:
        return tree.Tuple(tuple(self.visit(e, depth + 1) for e in node.elts), column=node.col_offset + 1)
