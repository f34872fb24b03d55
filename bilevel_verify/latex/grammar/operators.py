"""Operators with a range: sums, products, minima, maxima, integrals; signs before what they are about."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from bilevel_verify.language import tree
from bilevel_verify.latex.grammar.binding import free_letters, names_of
from bilevel_verify.latex.grammar.brackets import arguments, from_to
from bilevel_verify.latex.grammar.cursor import Cursor, begins_operand
from bilevel_verify.latex.grammar.derivatives import WORDS
from bilevel_verify.latex.grammar.doubts import no_open_factor
from bilevel_verify.latex.grammar.expressions import WIDE, expression, factor, term, whole
from bilevel_verify.latex.grammar.sets import member, relation
from bilevel_verify.latex.source.items import Fence, Item, Script, closing, opens
from bilevel_verify.latex.source.structure import flat
from bilevel_verify.latex.source.tokens import Token
from bilevel_verify.latex.values import Kind, Value

EXTREMA = frozenset({"min", "max", "sup", "inf"})
DISCRETE = frozenset({"sum", "prod"})


def operator(cursor: Cursor, item: Token) -> Value:
    """The value of ``\\sum``, ``\\min`` and their kind, with range and body.

    Raises
    ------
    LatexError : the range cannot be told, or the body is missing.
    """
    scripts: dict[str, Script] = {}
    while cursor.place < len(cursor.items) and isinstance(cursor.items[cursor.place], Script):
        script = cursor.items[cursor.place]
        assert isinstance(script, Script)
        if script.kind in scripts or script.kind == "'":
            raise cursor.error("script", f"two scripts at the {item.text}", script)
        scripts[script.kind] = script
        cursor.place += 1
    if item.text == "integral":
        return _integral(cursor, item, scripts)
    if not scripts:
        return _listed(cursor, item)
    leading = cursor.leading
    ranges = _ranges(cursor, item, scripts)
    bound = frozenset().union(*(names_of(name) for entry in ranges for name in _variables(entry)))
    outer, cursor.bound = cursor.bound, cursor.bound | bound
    body = _body(cursor, item, bound, leading)
    cursor.bound = outer
    _no_open_start(cursor, scripts["_"], body.node)
    no_open_factor(cursor, item.text, body, bound, item)
    if body.kind in ("tuple", "words", "function") or (body.kind == "set" and item.text != "prod"):
        raise cursor.error("kind", f"the {item.text} of a {body.kind}", item)
    node = body.node
    for entry in reversed(ranges):
        node = tree.Call(item.text, (node, entry), column=item.at + 1)
    kind: Kind = "vector" if item.text in WIDE else body.kind
    return Value(node, kind, bound | body.bound, item.text)


def _variables(entry: tree.Tuple) -> tuple[tree.Node, ...]:
    first = entry.items[0]
    return first.items if isinstance(first, tree.Tuple) else (first,)


def _body(cursor: Cursor, item: Token, bound: frozenset[str], leading: bool) -> Value:
    """What the operator works on: the product after it; for ``\\arg\\min`` the whole sum, as nothing adds to it.

    A paper may declare that a minimum or sum at the beginning of a side goes on to its end where its letter does.
    """
    option = "open_sums" if item.text in DISCRETE else "open_minima"
    if item.text not in WIDE and not (leading and cursor.context.notation.options.get(option) == "wide"):
        return term(cursor)
    place = cursor.place
    body = term(cursor)
    after = cursor.look()
    if not (isinstance(after, Token) and after.kind == "mark" and after.text in "+-"):
        return body
    narrow = cursor.place
    cursor.place = place
    broad = expression(cursor)
    if item.text in WIDE or _later_uses(broad, bound):
        return replace(broad, bound=frozenset(), operator=item.text)
    cursor.place = narrow
    return body


def _later_uses(broad: Value, bound: frozenset[str]) -> bool:
    """Whether the running letters come again after the first term."""
    if not isinstance(broad.node, tree.Add):
        return False
    return any(free_letters(part) & bound for part in broad.node.terms[1:])


def _listed(cursor: Cursor, item: Token) -> Value:
    """``\\max\\{a, b\\}``, ``\\min(a, b)``."""
    after = cursor.look()
    values: list[Value] | None = None
    if item.text in ("min", "max"):
        if isinstance(after, Fence) and (after.left, after.right) in (("{", "}"), ("[", "]")):
            cursor.place += 1
            values = _elements(cursor.child(after.items, after.at))
        elif isinstance(after, Token) and after.kind == "delimiter" and after.text == "{":
            cursor.place += 1
            values = _elements(cursor, after)
        else:
            values = arguments(cursor)
    if values is None:
        return _implied(cursor, item)
    if any(v.kind not in ("scalar", "unknown") for v in values):
        raise cursor.error("kind", f"the {item.text} of things that are not numbers", item)
    return Value(tree.Call(item.text, tuple(v.node for v in values), column=item.at + 1), "scalar")


def _implied(cursor: Cursor, item: Token) -> Value:
    """``\\min f(x)``: one value of a function at a bare letter has no other minimum than that over the letter."""
    if item.text in EXTREMA and begins_operand(cursor, cursor.look()):
        body = factor(cursor)
        node = body.node
        if isinstance(node, tree.Call) and len(node.arguments) == 1 and isinstance(node.arguments[0], tree.Letter):
            name = node.arguments[0]
            if node.function in cursor.context.notation.functions:
                call = tree.Call(item.text, (node, tree.Tuple((name,))), column=item.at + 1)
                return Value(call, body.kind, names_of(name), item.text)
        if isinstance(node, tree.Letter) and (node.name, "function") in cursor.context.notation.by_name:
            name = tree.Letter("_", column=node.column)
            call = tree.Call(item.text, (tree.Call(node.name, (name,)), tree.Tuple((name,))), column=item.at + 1)
            return Value(call, "scalar", frozenset(), item.text)
    raise cursor.error("range", f"the {item.text} of what, and over what?", item)


def _elements(cursor: Cursor, item: Token | None = None) -> list[Value]:
    """Expressions separated by commas, up to the closing brace."""
    if item is not None:
        cursor.fences.append(("{", item.size))
    values = [expression(cursor)]
    while cursor.sees("mark", ",", ";"):
        cursor.take()
        values.append(expression(cursor))
    end = cursor.look(operand=True)
    if item is not None:
        if not (isinstance(end, Token) and end.text == "}"):
            raise cursor.error("unbalanced", "'{' is not closed", item)
        cursor.place += 1
        cursor.fences.pop()
    elif end is not None:
        raise cursor.error("syntax", f"{flat([end])[:20]!r} has no place here", end)
    return values


def _ranges(cursor: Cursor, item: Token, scripts: dict[str, Script]) -> list[tree.Tuple]:
    """The ranges below (and above) an operator, outermost first."""
    below = scripts.get("_")
    if below is None:
        raise cursor.error("range", f"the {item.text} has no running letter", item)
    inside = cursor.child(below.items, below.at)
    upper = scripts.get("^")
    parts = _parts(below.items)
    if upper is not None:
        return _from_to_each(cursor, item, below, upper, parts)
    if any(isinstance(i, Token) and i.kind == "relation" and i.text in ("<", "<=") for i in below.items):
        if len(parts) > 1:
            raise cursor.error("range", f"several conditions below the {item.text}", below)
        return _between(inside, item)
    members = any(isinstance(i, Token) and i.kind == "relation" for i in below.items)
    if members and (listed := _dotted(cursor, below, parts)) is not None:
        return [listed]
    if members:
        return _members(cursor, item, parts, below)
    names = [whole(cursor.child(part, below.at)).node for part in parts]
    for name in names:
        _variable(cursor, item, name, below)
    return [tree.Tuple((name,), column=name.column) for name in names]


def _from_to_each(
    cursor: Cursor, item: Token, below: Script, upper: Script, parts: list[tuple[Item, ...]]
) -> list[tree.Tuple]:
    """``_{i=1}^{n}``, ``_{i,j=1}^{n}``: letters before the last one have its range."""
    names = [whole(cursor.child(part, below.at)).node for part in parts[:-1] if len(part) == 1]
    if len(names) < len(parts) - 1 or not all(isinstance(name, tree.Letter) for name in names):
        names, parts = [], [below.items]
    last = from_to(cursor, item, replace(below, items=parts[-1]), upper)
    return [replace(last, items=(name, *last.items[1:])) for name in names] + [last]


def _dotted(cursor: Cursor, below: Script, parts: list[tuple[Item, ...]]) -> tree.Tuple | None:
    """``_{i=1,\\dots,n}``; None if it is none."""
    dots = {"dots", "ldots", "cdots"}
    if len(parts) != 3 or [getattr(i, "text", "") for i in parts[1] if not _blank(i)] not in [[d] for d in dots]:
        return None
    signs = [p for p, i in enumerate(parts[0]) if isinstance(i, Token) and i.kind == "relation"]
    if len(signs) != 1 or getattr(parts[0][signs[0]], "text", "") != "==":
        return None
    name = whole(cursor.child(parts[0][: signs[0]], below.at)).node
    low = whole(cursor.child(parts[0][signs[0] + 1 :], below.at)).node
    high = whole(cursor.child(parts[2], below.at)).node
    return tree.Tuple((name, low, high), column=below.at + 1) if isinstance(name, tree.Letter) else None


def _blank(item: Item) -> bool:
    return isinstance(item, Token) and item.kind in ("gap", "space")


def _parts(items: tuple[Item, ...]) -> list[tuple[Item, ...]]:
    """Items between commas outside round brackets."""
    parts: list[tuple[Item, ...]] = []
    current: list[Item] = []
    depth = 0
    for item in items:
        if isinstance(item, Token) and item.kind == "delimiter":
            depth += (item.text in ("(", "[", "{")) - (item.text in (")", "]", "}"))
        if isinstance(item, Token) and item.kind == "mark" and item.text == "," and depth == 0:
            parts.append(tuple(current))
            current = []
        else:
            current.append(item)
    return [*parts, tuple(current)]


def _variable(cursor: Cursor, item: Token, name: tree.Node, where: Item) -> None:
    if not isinstance(name, tree.Letter | tree.Index) or name == tree.Letter("dots"):
        raise cursor.error("range", f"the {item.text} runs over something that is not a letter", where)


def _between(inside: Cursor, item: Token) -> list[tree.Tuple]:
    """``1 \\le i < j \\le n``: for every j its own range of i, so that nothing is counted twice."""
    members, signs = [expression(inside).node], []
    while inside.sees("relation", "<", "<="):
        sign = inside.take()
        assert isinstance(sign, Token)
        signs.append(sign.text)
        members.append(expression(inside).node)
    if not inside.done() or len(members) < 3:
        raise inside.error("range", f"the range of the {item.text} needs two ends: 'a <= i <= b'")
    names = members[1:-1]
    indices = inside.context.notation.indices
    for name in names:
        if not (isinstance(name, tree.Letter) and name.name in indices):
            raise inside.error("range", f"the {item.text} runs over something that is not a running letter")
    out = []
    for place in range(len(names) - 1, -1, -1):
        strict = signs[: place + 1].count("<")
        high = _moved(members[place + 2], -1 if signs[place + 1] == "<" else 0)
        low = _moved(members[0], strict)
        out.append(tree.Tuple((names[place], low, high), column=members[0].column))
    return out


def _no_open_start(cursor: Cursor, below: Script, body: tree.Node) -> None:
    """Ask of ``\\sum_{i<j\\le n} a_ia_j`` whether the letter that begins the range runs, too.

    Raises
    ------
    LatexError : nothing around binds it, and the body holds it.
    """
    start, *rest = below.items
    if not (isinstance(start, Token) and rest and isinstance(rest[0], Token) and rest[0].text in ("<", "<=")):
        return
    name = whole(cursor.child((start,), start.at)).node
    running = cursor.context.notation.indices - cursor.bound
    if isinstance(name, tree.Letter) and name.name in running & free_letters(body):
        readings = (f"{name.name} runs, too: write where it begins", f"{name.name} is given: write '='")
        raise cursor.error("ambiguous", f"does {name.name} run, too?", below, readings)


def _moved(node: tree.Node, step: int) -> tree.Node:
    """An end of a range of whole numbers, moved by a whole number."""
    if step == 0:
        return node
    if isinstance(node, tree.Number):
        value = node.value + step
        moved = tree.signed(value)
        return replace(moved, column=node.column)
    one = tree.Number(Fraction(abs(step)))
    terms = node.terms if isinstance(node, tree.Add) else (node,)
    return tree.Add((*terms, one if step > 0 else tree.Negate(one)), column=node.column)


def _members(cursor: Cursor, item: Token, parts: list[tuple[Item, ...]], below: Script) -> list[tree.Tuple]:
    """``x \\in X, y \\in Y(x)`` and ``(x_i, y_i) \\in D``."""
    out = []
    for part in parts:
        signs = [p for p, i in enumerate(part) if isinstance(i, Token) and i.kind == "relation"]
        if len(signs) != 1 or getattr(part[signs[0]], "text", "") != "in":
            raise cursor.error("range", f"the range of the {item.text} is not read", below)
        name = whole(cursor.child(part[: signs[0]], below.at)).node
        inside = cursor.child(part[signs[0] + 1 :], below.at)
        held = member(inside)
        if not inside.done():
            raise inside.error("syntax", "something after the set", below)
        for one in name.items if isinstance(name, tree.Tuple) else (name,):
            _variable(cursor, item, one, below)
        out.append(tree.Tuple((name, held.node), column=below.at + 1))
    return out


def _integral(cursor: Cursor, item: Token, scripts: dict[str, Script]) -> Value:
    """``\\int_a^b ... dt``."""
    if set(scripts) != {"_", "^"}:
        raise cursor.error("range", "an integral without both ends", item)
    for stop in range(cursor.place, len(cursor.items) - 1):
        sign, letter = cursor.items[stop], cursor.items[stop + 1]
        after = cursor.items[stop + 2] if stop + 2 < len(cursor.items) else None
        if (
            _differential(sign)
            and isinstance(letter, Token)
            and letter.kind == "letter"
            and not isinstance(after, Script)
        ):
            inside = cursor.child(cursor.items[cursor.place : stop], item.at)
            body = whole(inside)
            name = whole(cursor.child([letter], letter.at)).node
            low = whole(cursor.child(scripts["_"].items, item.at)).node
            high = whole(cursor.child(scripts["^"].items, item.at)).node
            cursor.place = stop + 2
            span = tree.Tuple((name, low, high), column=item.at + 1)
            return Value(tree.Call("integral", (body.node, span), column=item.at + 1), body.kind)
    raise cursor.error("range", "the differential of the integral is not found at its level", item)


def _differential(item: Item) -> bool:
    return isinstance(item, Token) and item.text == "d" and item.kind in ("letter", "word")


def subdifferential(cursor: Cursor, item: Token) -> Value:
    """``\\partial f(x)``, where the notation says that it is a set."""
    if "partial" not in cursor.context.notation.options:
        raise cursor.error("macro", "\\partial is not known as an operand", item)
    if isinstance(below := cursor.look(), Script) and below.kind == "_":
        cursor.place += 1
        return _partial(cursor, below)
    value = factor(cursor)
    if not isinstance(value.node, tree.Call) or value.kind != "scalar":
        raise cursor.error("macro", "\\partial of something that is not a value of a function", item)
    return Value(tree.Call("subdifferential", (value.node,), column=item.at + 1), "set")


def probability(cursor: Cursor, item: Token) -> Value:
    """``\\Pr[X \\ge s]``: what stands in the bracket is an event."""
    place = cursor.place
    after = cursor.look()
    if not opens(after, "(["):
        raise cursor.error("arguments", "a probability without brackets", item)
    end = place if isinstance(after, Fence) else closing(cursor.items, place)
    inner = after.items if isinstance(after, Fence) else cursor.items[place + 1 : end]
    if end is None:
        raise cursor.error("unbalanced", "a bracket that is not closed", item)
    cursor.place = end + 1
    event = relation(cursor.child(inner, item.at))
    return Value(tree.Call("probability", (event,), column=item.at + 1), "scalar")


def _partial(cursor: Cursor, below: Script) -> Value:
    """``\\partial_i f(x)``: an entry of the gradient."""
    start = cursor.look(operand=True)
    value = factor(cursor)
    name = value.node.function if isinstance(value.node, tree.Call) else getattr(value.node, "name", "")
    if name not in cursor.context.notation.functions or value.kind not in ("scalar", "function"):
        raise cursor.error("macro", "\\partial of something that is not a value of a function", start)
    index = whole(cursor.child(below.items, below.at)).node
    gradient = f"{WORDS[1]}_{name}"
    if isinstance(value.node, tree.Call):
        node = tree.Call("component", (replace(value.node, function=gradient), index), column=value.node.column)
        return Value(node, "scalar")
    return Value(tree.Index(gradient, (index,), column=value.node.column), "function")
