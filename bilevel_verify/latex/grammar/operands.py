"""Operands: numbers, brackets, bars, fractions, roots, matrices, cases, elementary functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from bilevel_verify.language import tree
from bilevel_verify.latex.grammar.brackets import arguments, until
from bilevel_verify.latex.grammar.cursor import BARS, Cursor, begins_operand
from bilevel_verify.latex.grammar.doubts import no_open_bars
from bilevel_verify.latex.grammar.expressions import expression, factor, listed, number, raised, term, whole
from bilevel_verify.latex.grammar.names import symbol
from bilevel_verify.latex.grammar.operators import operator, probability, subdifferential
from bilevel_verify.latex.grammar.sets import braces
from bilevel_verify.latex.grammar.tables import cases, matrix
from bilevel_verify.latex.source import symbols
from bilevel_verify.latex.source.items import Environment, Fence, Group, Item, Macro, Script
from bilevel_verify.latex.source.structure import flat
from bilevel_verify.latex.source.tokens import Token
from bilevel_verify.latex.values import LINES, Kind, Value


def operand(cursor: Cursor) -> Value:
    """One operand, without the powers after it.

    Raises
    ------
    LatexError : with the reason.
    """
    item = cursor.look(operand=True)
    match item:
        case Token(kind="digits", font=""):
            cursor.place += 1
            return number(item)
        case Token(kind="elementary"):
            cursor.place += 1
            return elementary(cursor, item)
        case Token(kind="operator"):
            cursor.place += 1
            return operator(cursor, item)
        case Token(kind="delimiter"):
            return bracket(cursor, item)
        case Token(kind="command", text="infty"):
            cursor.place += 1
            return Value(tree.Letter("oo", column=item.at + 1), "scalar")
        case Token(kind="command", text="emptyset" | "varnothing"):
            cursor.place += 1
            return Value(tree.Call("set", (), column=item.at + 1), "set")
        case Token(kind="command", text="partial"):
            cursor.place += 1
            return subdifferential(cursor, item)
        case Token(kind="command", text="Pr") if cursor.habits:
            cursor.place += 1
            return probability(cursor, item)
        case Token(kind="command", text=text) if text in symbols.DOTS:
            cursor.place += 1
            return Value(tree.Letter("dots", column=item.at + 1), "unknown")
        case Group():
            return _braced(cursor, item)
        case Fence():
            cursor.place += 1
            return fenced(cursor, item)
        case Macro() if item.name not in symbols.ACCENTS:
            cursor.place += 1
            return macro(cursor, item)
        case Environment():
            cursor.place += 1
            return environment(cursor, item)
    return symbol(cursor)


def _braced(cursor: Cursor, item: Group) -> Value:
    """Braces that carry a script: they are not printed, so that they may hold one factor only."""
    cursor.place += 1
    value = whole(cursor.child(item.items, item.at))
    loose = (
        isinstance(value.node, tree.Call) and isinstance(item.items[0], Token) and item.items[0].kind == "elementary"
    )
    if (isinstance(value.node, tree.Add | tree.Multiply | tree.Divide | tree.Negate) or loose) and not value.grouped:
        readings = ("the script belongs to the last factor", "the script belongs to all of it")
        raise cursor.error("ambiguous", "braces that are not printed around more than one factor", item, readings)
    return replace(value, grouped=True)


def bracket(cursor: Cursor, item: Token) -> Value:
    """What stands between plain delimiters."""
    cursor.place += 1
    if item.text in ("|(", "||("):
        item = replace(item, text=item.text[:-1])
        return _bars(cursor, item, item.text + ")")
    if item.text in BARS:
        after = cursor.items[cursor.place] if cursor.place < len(cursor.items) else None
        if item.text == "|" and isinstance(after, Token) and after.text == "|" and after.at == item.at + 1:
            cursor.place += 1
            return _bars(cursor, replace(item, text="||"), "|-|")
        return _bars(cursor, item, item.text)
    if item.text == "{":
        return _curly(cursor, item)
    values, closing = until(cursor, item)
    return _grouped(cursor, item.text, closing, values, item)


def _bars(cursor: Cursor, item: Token, closing: str) -> Value:
    """A norm or an absolute value between plain bars; the same bar closes it where an operand has ended."""
    cursor.fences.append((closing, item.size))
    value = expression(cursor)
    end = cursor.look()
    if closing.endswith(")") and isinstance(end, Token) and end.text == closing:
        cursor.place += 1
    elif cursor.closes(end):
        cursor.place += 2 if closing == "|-|" else 1
    else:
        raise cursor.error("unbalanced", "a bar that is not closed", item)
    cursor.fences.pop()
    found = _length(cursor, item.text, value, item)
    if closing == "|":
        no_open_bars(cursor, item)
    return found


def _length(cursor: Cursor, bar: str, value: Value, item: Item) -> Value:
    """``|.|``, ``\\|.\\|`` and its index, which says which norm."""
    column = item.at + 1
    if bar == "|":
        if value.kind == "set":
            return Value(tree.Call("count", (value.node,), column=column), "scalar")
        if value.kind == "vector" and cursor.habits:
            return Value(tree.Call("norm", (value.node,), column=column), "scalar")
        if value.kind not in ("scalar", "unknown"):
            raise cursor.error("kind", f"single bars around a {value.kind}", item)
        return Value(tree.Call("abs", (value.node,), column=column), "scalar")
    if value.kind in ("set", "function", "tuple", "words"):
        raise cursor.error("kind", f"the norm of a {value.kind}", item)
    index = ""
    after = cursor.items[cursor.place] if cursor.place < len(cursor.items) else None
    if isinstance(after, Script) and after.kind == "_":
        index = flat(after.items)
        cursor.place += 1
    name = cursor.context.notation.norms.get(index)
    if name is None:
        raise cursor.error("script", f"the norm with index {index!r} is not declared", after)
    return Value(tree.Call(name, (value.node,), column=column), "scalar")


def _grouped(cursor: Cursor, left: str, right: str, values: list[Value], item: Item) -> Value:
    """A bracketed expression, a pair, a row matrix, an inner product, a rounding."""
    column = item.at + 1
    one = replace(values[0], bound=frozenset(), operator="", grouped=True) if len(values) == 1 else None
    if left in ("ceil(", "floor("):
        if one is None or one.kind not in ("scalar", "unknown"):
            raise cursor.error("arguments", "rounding takes one number", item)
        return Value(tree.Call(left[:-1], (one.node,), column=column), "scalar")
    nodes = tuple(value.node for value in values)
    if left == "dot(":
        if len(values) != 2:
            raise cursor.error("arguments", "an inner product takes two arguments", item)
        return Value(tree.Call("dot", nodes, column=column), "scalar")
    if left == "(" and right == ")":
        return one if one is not None else Value(tree.Tuple(nodes, column=column), "tuple")
    if left == "[" and right == "]":
        if one is not None:
            return one
        after = cursor.items[cursor.place] if cursor.place < len(cursor.items) else None
        turned = isinstance(after, Script) and flat(after.items) in ("top", "\\top", "T", "intercal")
        if not turned and not any(value.kind in LINES for value in values):
            if len(values) == 2 and cursor.habits:
                return Value(tree.Call("interval_closed", nodes, column=column), "set")
            readings = ("an interval", "a row of a matrix: write \\begin{bmatrix}")
            raise cursor.error("ambiguous", "square brackets around numbers", item, readings)
        return Value(tree.Call("matrix", (tree.Tuple(nodes, column=column),), column=column), "matrix")
    raise cursor.error("unbalanced", f"{left!r} is closed by {right!r}", item)


def _curly(cursor: Cursor, item: Token) -> Value:
    """Braces on the page: a set, a family, or a bracket around one expression."""
    inner: list[Item] = []
    depth = 1
    while cursor.place < len(cursor.items):
        part = cursor.items[cursor.place]
        cursor.place += 1
        if isinstance(part, Token) and part.kind == "delimiter":
            depth += {"{": 1, "}": -1}.get(part.text, 0)
        if depth == 0:
            return braces(cursor, inner, item)
        inner.append(part)
    raise cursor.error("unbalanced", "'{' is not closed", item)


def fenced(cursor: Cursor, item: Fence) -> Value:
    """``\\left( ... \\right)``."""
    left, right = item.left, item.right
    if left == "{" and right == "." and _cases(item.items):
        return environment(cursor, _cases(item.items)[0])
    if left == "{" and right == "}":
        return braces(cursor, list(item.items), item)
    if left in ("|", "||", "|(", "||(") and right.rstrip(")") == left.rstrip("("):
        bar = left.rstrip("(")
        inner = item.items
        if bar == "|" and len(inner) == 1 and isinstance(inner[0], Fence) and inner[0].left == inner[0].right == "|":
            bar, inner = "||", inner[0].items
        return _length(cursor, bar, whole(cursor.child(inner, item.at)), item)
    if left not in symbols.CLOSING or right == ".":
        raise cursor.error("unbalanced", f"\\left{left} is closed by \\right{right}", item)
    values = listed(cursor.child(item.items, item.at))
    return _grouped(cursor, left, right, values, item)


def _cases(items: Sequence[Item]) -> list[Environment]:
    """The one array inside ``\\left\\{ ... \\right.``."""
    found = [i for i in items if isinstance(i, Environment) and i.name in symbols.CASES]
    rest = [
        i for i in items if not isinstance(i, Environment) and not (isinstance(i, Token) and i.kind in ("gap", "space"))
    ]
    return found if len(found) == 1 and not rest else []


def macro(cursor: Cursor, item: Macro) -> Value:
    """Fractions, roots, binomials, braces below."""
    column = item.at + 1
    inside = [cursor.child(argument.items, argument.at) for argument in item.arguments]
    if item.name in symbols.FRACTIONS:
        return _fraction(cursor, item, inside)
    if item.name == "sqrt":
        value = whole(inside[0])
        if value.kind not in ("scalar", "unknown"):
            raise cursor.error("kind", f"the root of a {value.kind}", item)
        if item.option is None:
            return Value(tree.Call("sqrt", (value.node,), column=column), "scalar")
        degree = whole(cursor.child(item.option.items, item.at))
        one = tree.Number(Fraction(1))
        return Value(tree.Power(value.node, tree.Divide(one, degree.node), column=column), "scalar", grouped=True)
    if item.name in ("binom", "tbinom", "dbinom"):
        nodes = tuple(whole(part).node for part in inside)
        return Value(tree.Call("binomial", nodes, column=column), "scalar")
    if item.name in ("underbrace", "overbrace"):
        return _under(cursor, whole(inside[0]))
    if item.name == "boxed":
        return whole(inside[0])
    raise cursor.error("macro", f"\\{item.name} is not read here", item)


def _fraction(cursor: Cursor, item: Macro, inside: list[Cursor]) -> Value:
    column = item.at + 1
    if inside[0].sees("command", "partial"):
        return _jacobian(cursor, item, inside)
    if _differentials(item) and len(item.arguments[0].items) == 1 and cursor.habits:
        value, by = term(cursor), whole(cursor.child(item.arguments[1].items[1:], item.at))
        return Value(tree.Call("derivative", (value.node, by.node), column=column), value.kind, grouped=True)
    if _differentials(item):
        readings = ("a derivative", "a quotient with a letter d")
        raise cursor.error("ambiguous", "d above and below a fraction bar", item, readings)
    top, bottom = whole(inside[0]), whole(inside[1])
    if bottom.kind not in ("scalar", "unknown"):
        raise cursor.error("kind", f"a {bottom.kind} in a denominator", item)
    if top.kind in ("function", "set", "words", "tuple"):
        raise cursor.error("kind", f"a {top.kind} divided by something", item)
    return Value(tree.Divide(top.node, bottom.node, column=column), top.kind, grouped=True)


def _differentials(item: Macro) -> bool:
    """``\\frac{d y}{d x}``, ``\\frac{d}{d x}``, upright or not."""
    heads = []
    for argument in item.arguments:
        items = argument.items
        first = items[0] if items else None
        heads.append(isinstance(first, Token) and first.text == "d" and first.kind in ("letter", "word"))
    below = item.arguments[1].items
    return all(heads) and len(below) >= 2 and isinstance(below[1], Token) and below[1].kind == "letter"


def _jacobian(cursor: Cursor, item: Macro, inside: list[Cursor]) -> Value:
    """``\\frac{\\partial y(x)}{\\partial x}``."""
    for part in inside:
        if not part.sees("command", "partial"):
            raise cursor.error("syntax", "a partial derivative needs \\partial above and below", item)
        part.take()
    top, below = whole(inside[0]), whole(inside[1])
    if not isinstance(top.node, tree.Call) or not isinstance(below.node, tree.Letter):
        raise cursor.error("arguments", "a partial derivative of a function by one letter is read", item)
    kind: Kind = {("scalar", "scalar"): "scalar", ("scalar", "vector"): "vector"}.get((top.kind, below.kind), "matrix")  # type: ignore[assignment]
    return Value(tree.Call("jacobian", (top.node, below.node), column=item.at + 1), kind, grouped=True)


def _under(cursor: Cursor, value: Value) -> Value:
    """``\\underbrace{X}_{C}``: the value is X; that it is called C is kept as a statement of its own."""
    after = cursor.items[cursor.place] if cursor.place < len(cursor.items) else None
    if isinstance(after, Script) and after.kind in "_^":
        cursor.place += 1
        texts = [i.text for i in after.items if isinstance(i, Token)]
        words = all(isinstance(i, Token) and i.kind in ("word", "gap", "space") for i in after.items)
        if not words and texts[:1] != ["("]:
            name = whole(cursor.child(after.items, after.at))
            cursor.context.asides.append((name.node, value.node))
    return replace(value, grouped=True)


def environment(cursor: Cursor, item: Environment) -> Value:
    """Matrices and cases inside a formula."""
    if item.name in symbols.MATRICES:
        return matrix(cursor, item)
    if item.name in symbols.CASES:
        return cases(cursor, item)
    raise cursor.error("syntax", f"\\begin{{{item.name}}} inside a formula", item)


def elementary(cursor: Cursor, item: Token) -> Value:
    """``\\log``, ``\\exp``, ``\\sin`` ... with a bracket, or with the one factor after them."""
    column = item.at + 1
    scripts: list[Script] = []
    while cursor.place < len(cursor.items) and isinstance(cursor.items[cursor.place], Script):
        scripts.append(cursor.items[cursor.place])  # type: ignore[arg-type]
        cursor.place += 1
    base = None
    if item.text == "log" and len(scripts) == 1 and scripts[0].kind == "_":
        base = whole(cursor.child(scripts.pop().items, item.at))
    for script in scripts:
        if script.kind != "^" or flat(script.items) == "-1":
            raise cursor.error("script", f"{flat([script])!r} at \\{item.text}", script)
    found = arguments(cursor)
    if found is not None:
        if len(found) != 1:
            raise cursor.error("arguments", f"\\{item.text} takes one argument", item)
        inner = _powered(cursor, found[0], item)
    else:
        inner = _looseexpression(cursor, item)
    if inner.kind not in ("scalar", "unknown"):
        raise cursor.error("kind", f"\\{item.text} of a {inner.kind}", item)
    value = Value(tree.Call(item.text, (inner.node,), column=column), "scalar")
    if base is not None:  # \log_2 x
        below = tree.Call("log", (base.node,), column=column)
        return Value(tree.Divide(value.node, below, column=column), "scalar", grouped=True)
    for script in scripts:
        value = raised(cursor, value, script)
    return value


def _powered(cursor: Cursor, inner: Value, item: Token) -> Value:
    """``\\log(x)^2``: the power of the logarithm or of its argument? The notation says, or the reader asks."""
    after = cursor.items[cursor.place] if cursor.place < len(cursor.items) else None
    if not (isinstance(after, Script) and after.kind == "^"):
        return inner
    choice = cursor.context.notation.options.get("power_after")
    if choice is None:
        readings = (f"the power of \\{item.text}(...)", f"\\{item.text} of the power")
        raise cursor.error("ambiguous", f"a power after \\{item.text}(...)", after, readings)
    if choice == "argument":
        cursor.place += 1
        return raised(cursor, replace(inner, grouped=True), after)
    return inner


def _looseexpression(cursor: Cursor, item: Token) -> Value:
    """``\\log T``, ``\\sin 2x``: one factor, a number before a letter included; more than that is a question."""
    first = cursor.look(operand=True)
    if isinstance(first, Token) and first.kind == "mark" and first.text == "-":
        raise cursor.error("ambiguous", f"\\{item.text} of a negative without brackets", first, ("-x", "minus"))
    if cursor.context.notation.options.get("log_takes") == "product":
        return term(cursor)
    inner = factor(cursor)
    after = cursor.look()
    if cursor.outside and cursor.gap:
        return inner
    if isinstance(first, Token) and first.kind == "digits" and isinstance(after, Token) and after.kind == "letter":
        second = factor(cursor)
        inner = replace(inner, node=tree.Multiply((inner.node, second.node), column=inner.node.column))
        after = cursor.look()
    named = isinstance(after, Token) and after.kind in ("elementary", "operator")
    open_ = begins_operand(cursor, after) and not named
    if open_ and cursor.context.notation.options.get("log_takes") != "factor":
        readings = (f"\\{item.text} of the first factor only", f"\\{item.text} of the whole product")
        raise cursor.error("ambiguous", f"\\{item.text} without brackets before a product", after, readings)
    if isinstance(after, Token) and after.kind == "mark" and after.text == "/":
        readings = (f"\\{item.text} ends before the bar", f"\\{item.text} of the quotient")
        raise cursor.error("ambiguous", f"\\{item.text} without brackets before '/'", after, readings)
    return inner
