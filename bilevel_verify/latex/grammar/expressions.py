"""Sums, products and factors: the grammar of expressions, by recursive descent over items."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from bilevel_verify.language import tree
from bilevel_verify.latex.grammar.binding import free_letters
from bilevel_verify.latex.grammar.cursor import Cursor, begins_operand
from bilevel_verify.latex.grammar.doubts import no_open_remainder, no_script_in_brackets
from bilevel_verify.latex.source.items import Item, Macro, Script
from bilevel_verify.latex.source.structure import flat
from bilevel_verify.latex.source.symbols import FRACTIONS
from bilevel_verify.latex.source.tokens import Token
from bilevel_verify.latex.values import LINES, ProductError, Value, added, negate, product, transposed

WIDE = frozenset({"argmin", "argmax"})
"""Operators whose value cannot be added to what follows: they take the whole sum after them."""


def expression(cursor: Cursor) -> Value:
    """A sum of terms.

    Raises
    ------
    LatexError : with the reason why it cannot be read.
    """
    terms: list[Value] = []
    sign = _sign(cursor)
    while True:
        cursor.leading = not terms and sign == "+"
        value = term(cursor)
        _scope(cursor, terms, value)
        no_open_remainder(cursor, value, not terms and sign == "+")
        terms.append(negate(value) if sign == "-" else value)
        item = cursor.look()
        if not (isinstance(item, Token) and item.kind in ("mark", "command") and item.text in ("+", "-", "pm", "mp")):
            return added(terms)
        sign = _sign(cursor)


def _sign(cursor: Cursor) -> str:
    """Take the sign before a term."""
    item = cursor.look(operand=True)
    if isinstance(item, Token) and item.kind == "command" and item.text in ("pm", "mp"):
        raise cursor.error("ambiguous", f"\\{item.text} stands for two formulas", item, ("+", "-"))
    if isinstance(item, Token) and item.kind == "mark" and item.text in "+-":
        cursor.take()
        return item.text
    return "+"


def _scope(cursor: Cursor, terms: list[Value], value: Value) -> None:
    """A running letter of an operator that comes again after the next sign leaves the scope open: ask."""
    used = free_letters(value.node)
    for before in terms:
        open_letters = before.bound & used
        if open_letters:
            letter = sorted(open_letters)[0]
            readings = (
                f"the {before.operator} over {letter} ends before the sign",
                f"the {before.operator} over {letter} goes on to the end of the sum",
            )
            raise cursor.context.source.error(
                "ambiguous", f"{letter!r} comes again after the sign; write brackets", value.node.column - 1, readings
            )


def term(cursor: Cursor) -> Value:
    """A product: neighbours, explicit signs, one fraction bar at a time.

    Raises
    ------
    LatexError : ``a/b c`` without brackets, neighbours that do not multiply, a missing operand.
    """
    factors = [factor(cursor)]
    last = factors[0]
    divided = False
    while not last.operator:
        item = cursor.look()
        if item is None or (cursor.outside and cursor.gap and begins_operand(cursor, item)):
            break
        sign = _product_sign(item)
        if sign == "mod" and item.text == "%" and isinstance(last.node, tree.Number):  # type: ignore[union-attr]
            readings = ("hundredths, written as a number", "a remainder, written with \\bmod")
            raise cursor.error("ambiguous", "a number before \\%", item, readings)
        if sign == "/":
            cursor.take()
            last = factor(cursor)
            whole = _product(cursor, factors)
            factors = [_quotient(cursor, whole, last, item)]
            divided = True
        elif sign in ("times", "circ", "otimes") and (mode := _mode(cursor, sign)):
            factors = [_contracted(cursor, _product(cursor, factors), mode, item)]
        elif sign in ("union", "intersection") or (sign == "times" and last.kind == "set"):
            factors = [_united(cursor, _product(cursor, factors), sign, item)]
        elif sign == "mod":
            cursor.take()
            last = factor(cursor)
            node = tree.Modulo(_product(cursor, factors).node, last.node, column=item.at + 1)
            factors = [Value(node, "scalar")]
        elif sign:
            cursor.take()
            last = factor(cursor)
            factors.append(last)
            divided = False
        elif begins_operand(cursor, item):
            if divided:
                readings = ("what follows multiplies the quotient", "what follows belongs to the denominator")
                raise cursor.error("ambiguous", "a/b c without brackets; write a fraction", item, readings)
            _no_number(cursor, item)
            _no_mixed_number(cursor, factors[-1], item)
            last = factor(cursor)
            factors.append(last)
        else:
            break
    return _product(cursor, factors)


def _no_number(cursor: Cursor, item: Item) -> None:
    """A number that follows a factor without a sign: ``x1``, ``2 3``."""
    if isinstance(item, Token) and item.kind == "digits" and not item.font:
        readings = ("a product, written with \\cdot", "part of a name, written with _")
        raise cursor.error("ambiguous", f"the number {item.text} right after a factor", item, readings)


def _no_mixed_number(cursor: Cursor, before: Value, item: Item) -> None:
    """A whole number right before a fraction of whole numbers: ``2\\frac13``."""
    if not (isinstance(before.node, tree.Number) and isinstance(item, Macro) and item.name in FRACTIONS):
        return
    parts = [argument.items for argument in item.arguments]
    if all(len(p) == 1 and isinstance(p[0], Token) and p[0].kind == "digits" for p in parts):
        readings = ("a product, written with \\cdot", "a mixed number, written as a sum")
        raise cursor.error("ambiguous", "a number right before a fraction of numbers", item, readings)


COMMAND_SIGNS = {
    "cdot": "*", "times": "times", "ast": "*", "circ": "circ", "otimes": "otimes", "bmod": "mod", "div": "/",
    "cup": "union", "cap": "intersection",
}  # fmt: skip
MARK_SIGNS = {"/": "/", "*": "*", "%": "mod"}


def _product_sign(item: Item) -> str:
    if isinstance(item, Token):
        table = {"command": COMMAND_SIGNS, "mark": MARK_SIGNS}.get(item.kind, {})
        return table.get(item.text, "")
    return ""


def _product(cursor: Cursor, factors: list[Value]) -> Value:
    try:
        return product(factors)
    except ProductError as error:
        at = factors[-1].node.column - 1
        reason = "arguments" if any(f.kind == "function" for f in factors) else "kind"
        raise cursor.context.source.error(reason, f"{error}", at) from None


def _quotient(cursor: Cursor, top: Value, bottom: Value, item: Item) -> Value:
    if bottom.kind not in ("scalar", "unknown"):
        raise cursor.error("kind", f"a {bottom.kind} in a denominator", item)
    if top.kind in ("function", "set", "words", "tuple"):
        raise cursor.error("kind", f"a {top.kind} divided by something", item)
    return Value(tree.Divide(top.node, bottom.node, column=top.node.column), top.kind)


def _mode(cursor: Cursor, sign: str) -> Item | str | None:
    """``\\times_i``: the script says which mode; ``\\circ``: an outer product. Takes the sign only then."""
    if sign in ("circ", "otimes"):
        cursor.take()
        return sign
    after = cursor.items[cursor.place + 1] if cursor.place + 1 < len(cursor.items) else None
    if isinstance(after, Script) and after.kind == "_":
        cursor.take()
        return cursor.take()
    return None


def _united(cursor: Cursor, left: Value, sign: str, item: Item) -> Value:
    """Two sets joined or cut."""
    cursor.take()
    after = cursor.look(operand=True)
    right = factor(cursor)
    if getattr(after, "left", getattr(after, "text", "")) == "{" and right.kind != "set":  # {k}: braces are no bracket
        right = Value(tree.Call("set", (right.node,), column=right.node.column), "set")
    if left.kind != "set" or right.kind != "set":
        raise cursor.error("kind", f"the {sign} of a {left.kind} and a {right.kind}", item)
    return Value(tree.Call(sign, (left.node, right.node), column=left.node.column), "set")


def _contracted(cursor: Cursor, left: Value, mode: Item | str, item: Item) -> Value:
    right = factor(cursor)
    column = left.node.column
    if isinstance(mode, str):
        if "function" in (left.kind, right.kind):
            raise cursor.error("arguments", "functions one after the other; write f(g(x))", item)
        told = mode == "otimes" or cursor.context.notation.options.get("circ") == "outer"
        if not told or "matrix" in (left.kind, right.kind):
            readings = ("the outer product", "the Kronecker product" if told else "the product entry by entry")
            raise cursor.error("ambiguous", f"\\{mode} between a {left.kind} and a {right.kind}", item, readings)
        return Value(tree.Call("outer", (left.node, right.node), column=column), "tensor")
    assert isinstance(mode, Script)
    if left.kind not in ("tensor", "matrix") or right.kind not in LINES:
        raise cursor.error("kind", f"a mode product of a {left.kind} and a {right.kind}", item)
    index = whole(cursor.child(mode.items, mode.at))
    loose: tuple[tree.Node, ...] = ()
    node = left.node
    if isinstance(node, tree.Multiply):
        *front, node = node.factors
        loose = tuple(front)
    call: tree.Node = tree.Call("mode", (node, index.node, right.node), column=column)
    return Value(tree.Multiply((*loose, call), column=column) if loose else call, "tensor")


def whole(cursor: Cursor) -> Value:
    """One expression and nothing after it."""
    value = expression(cursor)
    if not cursor.done():
        raise no_place(cursor)
    return replace(value, bound=frozenset(), operator="")


def factor(cursor: Cursor) -> Value:
    """An operand with its powers."""
    item = cursor.look(operand=True)
    if isinstance(item, Token) and item.kind == "mark" and item.text == "-":
        cursor.take()
        return negate(term(cursor))
    if _placeholder(cursor, item):
        cursor.place += 1
        return Value(tree.Letter("_"), "unknown")
    if not begins_operand(cursor, item, expected=True):
        raise _no_operand(cursor, item)
    assert item is not None
    cursor.context.step(item.at)
    value = cursor.context.operand(cursor)
    cursor.leading = False
    while (script := _next_script(cursor)) is not None:
        cursor.place += 1
        value = raised(cursor, value, script)
    return value


def _placeholder(cursor: Cursor, item: Item | None) -> bool:
    """The dot that holds the place of an argument: ``g(x, \\cdot)``, ``\\|\\cdot\\|``."""
    if not (isinstance(item, Token) and item.kind == "command" and item.text == "cdot"):
        return False
    after = cursor.items[cursor.place + 1] if cursor.place + 1 < len(cursor.items) else None
    return after is None or (
        isinstance(after, Token) and (after.kind == "delimiter" or after.text in (",", ";", "mid"))
    )


def _no_operand(cursor: Cursor, item: Item | None) -> Exception:
    if item is None:
        return cursor.error("missing", "the formula ends where an operand is expected")
    if isinstance(item, Token) and item.kind == "word":
        return cursor.error("words", f"{item.text!r} is neither a separator nor a declared name", item)
    if isinstance(item, Token) and item.kind == "command":
        return cursor.error("macro", f"\\{item.text} is not known as an operand", item)
    if isinstance(item, Token) and item.kind == "delimiter":
        return cursor.error("unbalanced", f"{item.text!r} closes where an operand is expected", item)
    return cursor.error("missing", f"an operand is expected before {flat([item])[:20]!r}", item)


def _next_script(cursor: Cursor) -> Script | Token | None:
    """A script (or factorial sign) that belongs to what was just read."""
    item = cursor.items[cursor.place] if cursor.place < len(cursor.items) else None
    if isinstance(item, Script):
        return item
    if isinstance(item, Token) and item.kind == "mark" and item.text == "!":
        return item
    return None


def raised(cursor: Cursor, value: Value, script: Script | Token) -> Value:
    """A power, inverse, transpose, component or entry of a value.

    Raises
    ------
    LatexError : a script that the notation does not explain.
    """
    column = value.node.column
    if isinstance(script, Token):
        if isinstance(_next_script(cursor), Token):
            readings = ("the double factorial", "the factorial of the factorial")
            raise cursor.error("ambiguous", "!!", script, readings)
        if value.kind not in ("scalar", "unknown"):
            raise cursor.error("kind", f"the factorial of a {value.kind}", script)
        return Value(tree.Call("factorial", (value.node,), column=column), "scalar")
    text = flat(script.items)
    if script.kind == "_":
        return _lowered(cursor, value, script, text)
    if script.kind == "'":
        raise cursor.error("script", "a prime on something that is not a letter", script)
    if text in (r"top", "intercal") or (text == "T" and value.kind in LINES):
        if value.kind not in LINES:
            raise cursor.error("kind", f"the transpose of a {value.kind}", script)
        return Value(tree.Call("T", (value.node,), column=column), transposed(value.kind))
    if text == "T" and value.kind not in ("scalar",):
        raise cursor.error("ambiguous", "T above this", script, ("a transpose", "a power T"))
    if text in ("*", "ast", "star", "dagger", "circ", "prime", "+", "-"):
        raise cursor.error("script", f"{text!r} above something that is not a declared letter", script)
    if text in cursor.context.notation.components and value.kind in ("vector", "covector"):
        index = whole(cursor.child(script.items, script.at))
        return Value(tree.Call("component", (value.node, index.node), column=column), "scalar")
    return power(cursor, value, script)


def power(cursor: Cursor, value: Value, script: Script) -> Value:
    """``value**exponent``, an inverse for a matrix; literal exponents are bounded."""
    column = value.node.column
    if flat(script.items) == "-1" and value.kind == "matrix":
        return Value(tree.Call("inv", (value.node,), column=column), "matrix")
    if flat(script.items) in ("-T", "-top", "-intercal") and value.kind == "matrix":
        return Value(tree.Call("inv", (tree.Call("T", (value.node,), column=column),), column=column), "matrix")
    if value.kind in ("vector", "covector", "tensor", "set", "function", "tuple", "words"):
        raise cursor.error("kind", f"a {value.kind} to a power", script)
    no_script_in_brackets(cursor, script)
    exponent = whole(cursor.child(script.items, script.at))
    if exponent.kind not in ("scalar", "unknown"):
        raise cursor.error("kind", f"a {exponent.kind} as an exponent", script)
    if value.node == tree.Letter("E"):
        return Value(tree.Call("exp", (exponent.node,), column=column), "scalar", grouped=True)
    inner = exponent.node.operand if isinstance(exponent.node, tree.Negate) else exponent.node
    limit = cursor.context.source.limits.exponent
    if isinstance(inner, tree.Number) and inner.value > limit:
        raise cursor.error("too large", f"an exponent beyond {limit}", script)
    if isinstance(inner, tree.Power) and not tree.letters(inner):
        raise cursor.error("too large", "a tower of exponents; write the number", script)
    if isinstance(value.node, tree.Power) and not value.grouped:
        raise cursor.error("script", "two superscripts", script)
    return Value(tree.Power(value.node, exponent.node, column=column), value.kind, mixed=value.mixed)


def _lowered(cursor: Cursor, value: Value, script: Script, text: str) -> Value:
    """``(x)_+`` and entries of vectors, matrices and tensors."""
    column = value.node.column
    if text == "+" and value.kind == "scalar":
        return Value(tree.Call("plus", (value.node,), column=column), "scalar")
    if value.kind in ("vector", "covector", "matrix", "tensor"):
        nodes = tuple(
            v.node for part in _entries(value.kind, script.items) for v in listed(cursor.child(part, script.at))
        )
        if len(nodes) != {"matrix": 2, "tensor": len(nodes)}.get(value.kind, 1):
            raise cursor.error("ambiguous", f"an entry of a {value.kind}", script, ("its indices", "their product"))
        return Value(tree.Call("entry", (value.node, *nodes), column=column), "scalar")
    raise cursor.error("script", f"the subscript {text[:20]!r} of a {value.kind} that is not a letter", script)


def _entries(kind: str, items: tuple[Item, ...]) -> list[tuple[Item, ...]]:
    """The indices of an entry: two letters or two digits side by side are those of a row and a column."""
    digits = items[0] if len(items) == 1 else None
    if kind == "matrix" and isinstance(digits, Token) and digits.kind == "digits" and len(digits.text) == 2:
        return [(replace(digits, text=one),) for one in digits.text]
    side_by_side = len(items) == 2 and all(isinstance(i, Token) and i.kind in ("letter", "digits") for i in items)
    return [(one,) for one in items] if kind == "matrix" and side_by_side else [items]


def separated(cursor: Cursor, given: bool) -> bool:
    """Whether the next sign stands between two expressions: a comma, or the bar of what is ``given``."""
    barred = given and cursor.habits and cursor.sees("command", "mid")
    return cursor.sees("mark", ",", ";") or barred


def listed(cursor: Cursor, *, given: bool = False) -> list[Value]:
    """Expressions separated by commas, up to the end; arguments may be separated by a bar."""
    out = [expression(cursor)]
    while separated(cursor, given):
        cursor.take()
        out.append(expression(cursor))
    if not cursor.done():
        raise no_place(cursor)
    return out


def no_place(cursor: Cursor) -> Exception:
    """What is wrong with the item here, with which nothing can go on: a command that nobody knows, or a sign."""
    item = cursor.items[cursor.place]
    if isinstance(item, Token) and item.kind == "command":
        return cursor.error("macro", f"\\{item.text} is not known")
    return cursor.error("syntax", f"{flat(list(cursor.items[cursor.place :]))[:30]!r} has no place here")


def number(token: Token) -> Value:
    """A literal."""
    return Value(tree.Number(Fraction(token.text), column=token.at + 1), "scalar")
