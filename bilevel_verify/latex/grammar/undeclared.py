"""Symbols without a declaration: a letter of its own where nothing speaks against it, and what would be an operator."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Sequence
from dataclasses import replace

from bilevel_verify.language import tree
from bilevel_verify.latex.grammar.binding import free_letters
from bilevel_verify.latex.grammar.brackets import arguments
from bilevel_verify.latex.grammar.cursor import Cursor, begins_operand
from bilevel_verify.latex.grammar.doubts import bracketed, unbracketed
from bilevel_verify.latex.grammar.expressions import expression, raised, whole
from bilevel_verify.latex.grammar.sets import reals, relation
from bilevel_verify.latex.notation import Entry
from bilevel_verify.latex.source.atoms import Atom, default_names
from bilevel_verify.latex.source.items import Item, Script, opens
from bilevel_verify.latex.source.structure import flat
from bilevel_verify.latex.source.tokens import Token
from bilevel_verify.latex.values import Value

FUNCTION_LIKE = frozenset("f g h F G \\varphi \\phi \\Phi \\psi \\Psi".split())
"""Letters that are hardly ever factors before a bracket."""


APPLIED = frozenset({"E", "P", "O", *(rf"\{font}{{{x}}}" for font in ("mathbb", "mathcal", "mathrm") for x in "EPO")})
"""Expectations, probabilities and orders: without a declaration no bracket after one is a factor."""


EXPECTED = frozenset({"\\mathbb{E}", "\\mathbb{P}", "\\mathbb{V}"})
"""Nobody calls a number so: what stands after one is no factor."""


def side_by_side(items: Sequence[Item]) -> bool:
    """Two letters without a sign between them."""
    letters = [isinstance(i, Token) and i.kind == "letter" for i in items]
    return any(one and two for one, two in itertools.pairwise(letters))


def indices_of(cursor: Cursor, entry: Entry, items: Sequence[Item]) -> list[tree.Node]:
    """Indices between commas; neighbours without a comma are a product, or two indices where the notation says so."""
    if "upper" in entry.flags and cursor.context.notation.options.get("bracketed_index") and bracketed(items):
        items = unbracketed(items)
    inside = cursor.child(items, items[0].at if items else cursor.at)
    if "split" in entry.flags and not any(isinstance(i, Token) and i.text == "," for i in items):
        parts = [[i] for i in items]
        return [whole(cursor.child(part, inside.at)).node for part in parts]
    if _run_together(cursor, items):
        return [whole(cursor.child([i], inside.at)).node for i in items]
    if bracketed(items):
        readings = ("an index, written without the brackets", "an order statistic, an entry or another name")
        raise inside.error("ambiguous", "a subscript in brackets", None, readings)
    if side_by_side(items) and cursor.context.notation.options.get("subscripts") != "product":
        readings = ("two indices", "their product")
        raise inside.error("ambiguous", "two letters side by side in a subscript", None, readings)
    if inside.sees("mark", "+"):  # x_{+1}: an index lost its letter
        raise inside.error("syntax", "a subscript that begins with '+'")
    out = [expression(inside).node]
    while inside.sees("mark", ",", ";"):
        inside.take()
        out.append(expression(inside).node)
    if not inside.done():
        raise inside.error("syntax", f"{flat(list(inside.items[inside.place :]))[:20]!r} in a subscript")
    return out


def _run_together(cursor: Cursor, items: Sequence[Item]) -> bool:
    """``h_{ij}`` where both letters run: two indices, where the notation says so."""
    indices = cursor.context.notation.indices
    letters = [i.text for i in items if isinstance(i, Token) and i.kind == "letter"]
    both = len(letters) == len(items) == 2 and all(letter in indices for letter in letters)
    return both and cursor.context.notation.options.get("subscripts") == "indices"


def undeclared(cursor: Cursor, atom: Atom, place: int, item: Item) -> Value:
    """A symbol without a declaration: a letter that names itself where the notation is free, else an error."""
    if atom.symbol == "\\mathbb{R}":
        cursor.place += 1
        return reals(cursor, item)
    if atom.symbol in ("\\mathbf{1}", "\\mathbb{1}") and atom.sub is not None and _has_relation(atom.sub):
        return _indicator(cursor, atom, place, item)
    if atom.symbol in ("\\mathrm{e}", "\\mathrm{E}") and not atom.primes:
        cursor.place = place
        value = Value(tree.Letter("E", column=item.at + 1), "scalar")
        return value if atom.sup is None else raised(cursor, value, Script("^", atom.sup, item.at))
    if not cursor.context.notation.free:
        raise _unknown(cursor, atom, item)
    return _free(cursor, atom, place, item)


def _has_relation(items: tuple[Item, ...]) -> bool:
    return any(isinstance(i, Token) and i.kind == "relation" for i in items)


def _indicator(cursor: Cursor, atom: Atom, place: int, item: Item) -> Value:
    """``\\mathbf{1}_{a \\le b}``."""
    assert atom.sub is not None
    if atom.sup is not None:
        raise cursor.error("script", "a power of an indicator", item)
    cursor.place = place
    condition = relation(cursor.child(atom.sub, item.at))
    return Value(tree.Call("indicator", (condition,), column=item.at + 1), "scalar")


def _unknown(cursor: Cursor, atom: Atom, item: Item) -> Exception:
    display = replace(atom, sup=None).latex()
    known = [entry.display for entry in cursor.context.notation.entries]
    close = difflib.get_close_matches(display, known, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    if any(e.role == "sequence" for e in cursor.context.notation.by_symbol.get(atom.symbol, ())):
        hint = ""
    if cursor.context.notation.by_symbol.get(atom.symbol):
        return cursor.error("letter", f"{display} is not declared with these scripts{hint}", item)
    return cursor.error("letter", f"{display} is not declared{hint}", item)


def _free(cursor: Cursor, atom: Atom, place: int, item: Item) -> Value:
    """A letter of a single formula: ``x_1``, ``L_g`` are letters, ``x_{k+1}`` and ``x_i`` under a sum are entries."""
    notation = cursor.context.notation
    column = item.at + 1
    bare = replace(atom, sub=None, sup=None)
    if atom.symbol == "e" and not atom.primes and atom.sub is None and "e" not in notation.known:
        readings = ("Euler's number, written \\mathrm{e} or \\exp", "a letter e")
        raise cursor.error("ambiguous", "e", item, readings)
    if atom.symbol == "\\pi" and atom.sub is None:
        bare, name = replace(atom, sup=None), "pi"
        value = Value(tree.Letter("pi", column=column), "scalar")
    elif atom.sub is not None and not _part_of_name(cursor, atom.sub):
        name = _preferred(cursor, bare, item)
        entry = Entry(name, "sequence", "scalar", bare.latex(), bare)
        value = Value(tree.Index(name, tuple(indices_of(cursor, entry, atom.sub)), column=column), "scalar")
    else:
        bare = replace(atom, sup=None)
        name = _preferred(cursor, bare, item)
        value = Value(tree.Letter(name, column=column), "scalar")
    cursor.context.named(name, bare.latex(), item.at)
    cursor.place = place
    if name not in notation.known:
        no_operator(cursor, atom, item)
    no_argument(cursor, atom, name, item)
    return value if atom.sup is None else raised(cursor, value, Script("^", atom.sup, item.at))


def operator_word(cursor: Cursor, atom: Atom, item: Item) -> Exception:
    name = atom.latex()
    readings = (
        f"{name} of what follows: declare it as a function",
        f"{name} times what follows: declare it as a letter",
    )
    return cursor.error("ambiguous", f"{name} before an operand", item, readings)


def no_operator(cursor: Cursor, atom: Atom, item: Item) -> None:
    """Ask of ``E[X]``, ``O(n)`` and ``x^T``, where nobody said that these letters are numbers.

    Raises
    ------
    LatexError : it is one.
    """
    if (opens(cursor.look(), "([") and atom.symbol in APPLIED) or (
        atom.symbol in EXPECTED and begins_operand(cursor, cursor.look())
    ):
        raise operator_word(cursor, atom, item)
    if atom.sup is not None and flat(atom.sup) == "T" and "T" not in cursor.context.notation.known:
        readings = ("a transpose, written with \\top", "a power: name T among the letters")
        raise cursor.error("ambiguous", "T above a letter", item, readings)


def no_argument(
    cursor: Cursor, atom: Atom, name: str, item: Item, *, declared: bool = False, timed: bool = False
) -> None:
    """A letter before a bracket multiplies it; where it looks like a function at a point, or at a time, ask."""
    place, fences = cursor.place, list(cursor.fences)
    values = arguments(cursor)
    cursor.place, cursor.fences = place, fences
    if values is None:
        return
    single = isinstance(values[0].node, tree.Letter | tree.Index) and atom.symbol not in ("\\pi",)
    single = single or (timed and free_letters(values[0].node) <= cursor.context.notation.indices)
    if len(values) > 1 or single or (not declared and (atom.symbol in FUNCTION_LIKE or atom.primes)):
        readings = (f"{name} applied to the bracket: declare it as a function", f"{name} times the bracket")
        raise cursor.error("ambiguous", f"{atom.latex()} before a bracket", item, readings)


def _part_of_name(cursor: Cursor, items: tuple[Item, ...]) -> bool:
    """Whether a subscript is part of the name: one word, letter or number that does not run."""
    if not all(isinstance(i, Token) and i.kind in ("letter", "digits", "word", "operator") for i in items):
        return False
    tokens = [i for i in items if isinstance(i, Token)]
    return not any(t.text.removeprefix("\\") in cursor.bound for t in tokens)


def _preferred(cursor: Cursor, atom: Atom, item: Item) -> str:
    """The name of a free letter: one that the caller knows, else the usual one."""
    names = default_names(atom)
    known = cursor.context.notation.known
    for name in names:
        if name in known:
            return name
    if cursor.context.notation.closed:
        close = difflib.get_close_matches(names[0], sorted(known), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise cursor.error("letter", f"{atom.latex()} is not declared{hint}", item)
    return names[0]
