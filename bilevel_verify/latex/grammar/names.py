"""Symbols: which declared letter, sequence or function one is, and whether a bracket after it applies it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bilevel_verify.language import tree
from bilevel_verify.latex.grammar.brackets import arguments
from bilevel_verify.latex.grammar.cursor import Cursor, begins_operand
from bilevel_verify.latex.grammar.derivatives import derivative_name, nabla_of, value_kind
from bilevel_verify.latex.grammar.expressions import raised, term, whole
from bilevel_verify.latex.grammar.undeclared import (
    APPLIED,
    indices_of,
    no_argument,
    operator_word,
    side_by_side,
    undeclared,
)
from bilevel_verify.latex.notation import Entry
from bilevel_verify.latex.source.atoms import Atom, atom_of
from bilevel_verify.latex.source.items import Fence, Item, Script, closing, opens
from bilevel_verify.latex.source.structure import flat
from bilevel_verify.latex.source.tokens import Token
from bilevel_verify.latex.values import LINES, Kind, Value

EXPECTATION = "expectation"
"""A declared function of this name has its argument in square brackets, too, and is what its argument is."""


@dataclass(frozen=True, slots=True)
class Match:
    """An entry for a symbol and the scripts that it leaves over."""

    entry: Entry
    sub: tuple[Item, ...] | None
    sup: tuple[Item, ...] | None

    @property
    def left(self) -> int:
        """How many scripts are left over."""
        return (self.sub is not None) + (self.sup is not None)


def symbol(cursor: Cursor) -> Value:
    """A letter, an indexed letter, a function with its arguments, a derivative.

    Raises
    ------
    LatexError : undeclared, or a bracket that could be both argument and factor.
    """
    item = cursor.look(operand=True)
    assert item is not None
    atom, place = atom_of(cursor.context.source, cursor.items, cursor.place)
    if atom is None:
        raise cursor.error("syntax", f"{flat([item])[:20]!r} is not a symbol", item)
    if _nabla(atom):
        cursor.place = place
        return _derivative(cursor, atom)
    found = matches(cursor, atom)
    if not found:
        return undeclared(cursor, atom, place, item)
    cursor.place = place
    return _chosen(cursor, atom, found, item)


def _nabla(atom: Atom) -> bool:
    return atom.symbol.endswith("\\nabla") or "{\\nabla}" in atom.symbol


def matches(cursor: Cursor, atom: Atom) -> list[Match]:
    """Entries that explain a symbol best: with the fewest scripts left over."""
    found = []
    for entry, lower, upper in cursor.context.notation.explaining(atom):
        left_sub, left_sup = None if lower else atom.sub, None if upper else atom.sup
        family = bool(entry.flags & {"first", "last"})
        if family != (left_sub is not None) and (family or entry.role != "sequence"):
            continue
        if "split" in entry.flags and not side_by_side(left_sub or ()):
            continue
        found.append(Match(entry, left_sub, left_sup))
    if not found and atom.primes and not atom.star:
        return _primed_index(cursor, atom)
    best = min((m.left for m in found), default=0)
    split = [m for m in found if "split" in m.entry.flags]
    found = split or [m for m in found if m.left == best]
    plain = [m for m in found if m.entry.role != "sequence"]
    return plain if any(m.entry.role == "letter" for m in plain) else found


def _primed_index(cursor: Cursor, atom: Atom) -> list[Match]:
    """``k'`` is a running letter where ``k`` is one."""
    plain = replace(atom, primes=0)
    out = []
    for match in matches(cursor, plain):
        if match.entry.name in cursor.context.notation.indices and match.entry.role == "letter":
            named = replace(
                match.entry, name=match.entry.name + "_p" * atom.primes, display=replace(atom, sup=None).latex()
            )
            out.append(replace(match, entry=named))
    return out


def _chosen(cursor: Cursor, atom: Atom, found: list[Match], item: Item) -> Value:
    """One entry of those that match: a symbol may be a letter here and a function there."""
    functions = [m for m in found if m.entry.role == "function"]
    letters = [m for m in found if m.entry.role != "function"]
    if len(functions) > 1 or len(letters) > 1:
        readings = tuple(m.entry.name for m in (functions if len(functions) > 1 else letters))
        raise cursor.error("ambiguous", f"{atom.latex()} is declared twice", item, readings[:2])
    turned = letters and functions and functions[0].sup is not None and flat(functions[0].sup) in ("top", "intercal")
    if functions and not turned and (not letters or _applies(cursor, functions[0].entry, letters[0].entry, item)):
        return _applied(cursor, atom, functions[0], item)
    value = _letter(cursor, letters[0], item)
    if atom.symbol in APPLIED and letters[0].entry.kind == "scalar" and opens(cursor.look(), "["):
        raise operator_word(cursor, atom, item)
    if not functions and isinstance(value.node, tree.Letter | tree.Index):
        no_argument(cursor, atom, letters[0].entry.name, item, declared=True, timed=_is_line(value))
    return value


def _applies(cursor: Cursor, function: Entry, letter: Entry, item: Item) -> bool:
    """Whether a bracket holds arguments, where the symbol is a letter too: by their number and kind, else ask."""
    place, fences = cursor.place, list(cursor.fences)
    values = arguments(cursor)
    cursor.place, cursor.fences = place, fences
    if values is None:
        return False
    if len(values) > 1:
        return True
    if cursor.habits and isinstance(values[0].node, tree.Letter | tree.Index | tree.Number):
        return True  # nobody prints a product with one symbol in brackets
    if function.arities and 1 not in function.arities:
        return False
    if function.of == "matrix":
        return values[0].kind == "matrix"
    if function.of and function.of != "scalar":
        node = values[0].node
        return function.of == (node.name if isinstance(node, tree.Letter) else getattr(node, "base", ""))
    if values[0].kind in ("vector", "set") and letter.kind == "scalar" and not function.of:
        return True
    if values[0].kind == letter.kind == "vector" and cursor.habits:
        return True  # two vectors side by side are no product
    readings = (f"{function.name} applied to the bracket", f"{letter.name} times the bracket")
    raise cursor.error("ambiguous", f"{letter.display} is a letter and a function", item, readings)


def _letter(cursor: Cursor, match: Match, item: Item) -> Value:
    """A letter or an entry of a sequence, with the power that is left over."""
    entry = match.entry
    column = item.at + 1
    cursor.context.named(entry.name, entry.display, item.at)
    value = Value(tree.Letter(entry.name, column=column), entry.kind)
    sup = match.sup
    if entry.role == "sequence":
        indices: list[tree.Node] = []
        upper = "upper" in entry.flags and not (sup is not None and flat(sup) in ("top", "intercal"))
        scripts = [match.sub, sup if upper else None]
        if "upper-component" not in entry.flags:
            scripts.reverse()
        for script in scripts:
            indices += [] if script is None else indices_of(cursor, entry, script)
        if len(indices) == 1 and _alone_wrong(entry, match):
            raise cursor.error("script", f"{entry.display} with the script of its component only", item)
        if indices:
            value = Value(tree.Index(entry.name, tuple(indices), column=column), _entry_kind(entry, match))
            if isinstance(last := indices[-1], tree.Letter) and f"entry-{last.name}" in entry.flags and not upper:
                value = _entry(entry, indices, column)
        if upper:
            sup = None
    return value if sup is None else raised(cursor, value, Script("^", sup, item.at))


def _entry(entry: Entry, indices: list[tree.Node], column: int) -> Value:
    """``x_{t,i}`` and ``x_i``, where the paper shows that i picks an entry."""
    vector: tree.Node = tree.Letter(entry.name, column=column)
    if len(indices) > 1:
        vector = tree.Index(entry.name, tuple(indices[:-1]), column=column)
    return Value(tree.Call("component", (vector, indices[-1]), column=column), "scalar")


def _alone_wrong(entry: Entry, match: Match) -> bool:
    """The script of the component without that of the iterate: the echo could not tell them apart."""
    if "upper" not in entry.flags:
        return False
    lone = match.sup if match.sub is None else match.sub if match.sup is None else None
    return lone is not None and ("lower-component" if match.sup is None else "upper-component") in entry.flags


def _entry_kind(entry: Entry, match: Match) -> Kind:
    component = ("lower-component" in entry.flags and match.sub is not None) or (
        "upper-component" in entry.flags and match.sup is not None
    )
    return "scalar" if component else entry.kind


def _applied(cursor: Cursor, atom: Atom, match: Match, item: Item) -> Value:
    """A declared function with its arguments; alone it stands for itself."""
    entry = match.entry
    cursor.context.named(entry.name, entry.display, item.at)
    if match.sup is not None:
        raise cursor.error("script", f"a superscript between {entry.display} and its arguments", item)
    return application(cursor, entry, entry.name, entry.kind, match.sub, item)


def application(cursor: Cursor, entry: Entry, name: str, kind: Kind, sub: tuple[Item, ...] | None, item: Item) -> Value:
    """``name(arguments)``, the index of a family of functions among them."""
    column = item.at + 1
    index: list[tree.Node] = []
    if sub is not None:
        index = indices_of(cursor, entry, sub)
    expected = entry.name == EXPECTATION
    values = _expected(cursor) if expected else arguments(cursor)
    if values is None and "map" in entry.flags and begins_operand(cursor, cursor.look()):
        values = [cursor.context.operand(cursor)]  # ``T x``
    if values is None:
        node = tree.Index(name, tuple(index), column=column) if index else tree.Letter(name, column=column)
        return Value(node, "function")
    if entry.arities and len(values) not in entry.arities:
        wanted = " or ".join(str(n) for n in sorted(entry.arities))
        raise cursor.error("arguments", f"{entry.display} takes {wanted} arguments, {len(values)} stand here", item)
    nodes = [value.node for value in values]
    nodes = [*nodes, *index] if "last" in entry.flags else [*index, *nodes]
    kind = values[-1].kind if expected else kind
    return Value(tree.Call(name, tuple(nodes), column=column), kind)


def _expected(cursor: Cursor) -> list[Value] | None:
    """What an expectation is of: a bracket, in it perhaps ``X \\mid Y`` (then ``Y, X``), or the term behind it."""
    item, start = cursor.look(), cursor.place
    if not opens(item, "(["):
        return [term(cursor)] if begins_operand(cursor, item) else None
    end = start if isinstance(item, Fence) else closing(cursor.items, start)
    inner = item.items if isinstance(item, Fence) else cursor.items[start + 1 : end]
    bars = [n for n, i in enumerate(inner) if isinstance(i, Token) and i.kind == "command" and i.text == "mid"]
    if len(bars) != 1 or item is None or end is None:
        return arguments(cursor, "([")
    cursor.place = end + 1
    of, given = (whole(cursor.child(part, item.at)) for part in (inner[: bars[0]], inner[bars[0] + 1 :]))
    return [given, of]


def _derivative(cursor: Cursor, atom: Atom) -> Value:
    """``\\nabla_{xy}^2 g(x, y)``: the name of the derivative follows from that of the function."""
    nabla = nabla_of(cursor, atom)
    item = cursor.look(operand=True)
    below, place = atom_of(cursor.context.source, cursor.items, cursor.place)
    found = [m for m in matches(cursor, below) if m.entry.role == "function"] if below is not None else []
    if below is None or not found or item is None:
        if below is not None and not matches(cursor, below) and not cursor.context.notation.free:
            return undeclared(cursor, below, place, item or cursor.items[-1])
        raise cursor.error("arguments", "the gradient of something that is not a declared function", item)
    cursor.place = place
    match = found[0]
    if match.sup is not None:
        raise cursor.error("script", f"a superscript between {match.entry.display} and its arguments", item)
    name = derivative_name(match.entry.name, nabla)
    cursor.context.named(match.entry.name, match.entry.display, item.at)
    value = application(cursor, match.entry, name, value_kind(match.entry, nabla), match.sub, item)
    if nabla.component is not None and isinstance(value.node, tree.Call):
        component = whole(cursor.child(nabla.component, item.at))
        return Value(tree.Call("component", (value.node, component.node), column=value.node.column), "scalar")
    return value


def _is_line(value: Value) -> bool:
    """A vector or matrix without an index: ``x(t+1)`` may be its value at a time."""
    return value.kind in LINES and isinstance(value.node, tree.Letter)
