"""Texts of a card as checked trees: expressions, conditions, chains of relations and ranges of letters."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from bilevel_verify.errors import CardError, ExpressionError
from bilevel_verify.language import CARD, Node, instead_of, parse, to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.latex import is_latex, parse_any
from bilevel_verify.latex.source import symbols
from bilevel_verify.latex.source.symbols import COMPARABLE
from bilevel_verify.theorems.card_parts import Condition, Domain, Expression, Link, Scope
from bilevel_verify.theorems.vocabulary import (
    ARGUMENTS,
    NUMBERS,
    ORACLE_KINDS,
    RANGE_FUNCTIONS,
    RANGE_ONLY,
    SCOPES_WITH_SEQUENCES,
    SEQUENCES,
    scopes_of_function,
    scopes_of_letter,
)

if TYPE_CHECKING:
    pass

from bilevel_verify.theorems.reading.fields import Names, Place

LATEX_RELATION = re.compile(r"\s*\\([a-zA-Z]+)")


RELATION = re.compile(r"\s*(<=|>=|==|<|>)(.*)\Z", re.DOTALL)


def expression(text: object, place: Place, names: Names | None = None) -> Expression:
    """Parse a text, in LaTeX or not, and check its names (no check for ``names=None``)."""
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise place.fail(f"expected an expression as a string, found {type(text).__name__}")
    source = text if isinstance(text, str) else repr(text)
    try:
        if is_latex(source):
            known = names.letters | names.sequences if names is not None else ()
            node = parse_any(source, known, notation=place.notation)
            source = to_text(node)
        else:
            node = _parsed(source)
    except ExpressionError as error:
        raise place.fail(_plain(error)) from None
    if names is not None:
        check(node, names, place, source)
    return Expression(node, source.strip())


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Node:
    """The tree of a text: a card has the same hypothesis and the same local definition in many places."""
    return parse(text, limits=CARD)


def condition(text: str, place: Place, names: Names | None, origin: str = "", added: bool = False) -> Condition:
    """A hypothesis with its origin."""
    found = expression(text, place, names)
    return Condition(found.tree, found.text, origin, added)


USUAL = {
    "eps": 'from = "user"',
    "Delta": 'from = "truth", called = "delta"',
    "dx": 'from = "problem"',
    "d": 'from = "problem"',
}
USUAL |= dict.fromkeys(("L", "mu", "L_g", "L_f", "C_f", "M_g", "rho_g", "rho_f", "H_f"), 'from = "constants"')
"""Letters whose number comes from somewhere, and how a card says so."""


def declared_as(name: str) -> str:
    """How an undeclared letter is declared, where nearly every card means the same by it."""
    return f"; declare it under [letters]: {name} = {{ {USUAL[name]} }}" if name in USUAL else ""


def _plain(error: ExpressionError) -> str:
    column = "" if error.column is None else f" (column {error.column})"
    head, mark, hint = error.plain.partition(";")
    return f"{head}{column}{mark}{hint}"


def check(node: Node, names: Names, place: Place, text: str, bound: frozenset[str] = frozenset()) -> None:
    """Refuse unknown letters and functions, and quantities that the scope does not have."""

    def unknown(name: str, what: str, column: int, known: Collection[str], scopes: list[Scope]) -> CardError:
        if scopes:
            return place.fail(f"'{name}' (column {column}) {place.out_of_scope(name, scopes, names.scope)}")
        function = f"; it is a function: write {name}(...)" if name in names.functions else ""
        hint = function or declared_as(name) or instead_of(name, names.functions, known)
        if names.scope == "point" and name in ("x", "y", "z"):
            hint = f'; the points of a claim are named: for = {{ {name} = "domain{" y" * (name == "y")}" }}'
        return place.fail(f"unknown {what} '{name}' (column {column}){hint}")

    match node:
        case tree.Letter(name=name) if name not in NUMBERS | bound | names.letters:
            elsewhere = scopes_of_letter(name)
            raise unknown(name, names.noun, node.column, names.letters | NUMBERS, elsewhere)
        case tree.Index(base=base) if base not in names.sequences and base not in names.letters:
            elsewhere = sorted(SCOPES_WITH_SEQUENCES) if base in SEQUENCES and not names.sequences else []
            raise unknown(base, "sequence", node.column, names.sequences | names.letters, elsewhere)
        case tree.Call(function=name) if name not in names.functions:
            raise unknown(name, "function", node.column, names.functions, scopes_of_function(name))
        case tree.Call(function="calls", arguments=arguments):
            kind = arguments[0].name if len(arguments) == 1 and isinstance(arguments[0], tree.Letter) else ""
            if kind not in ORACLE_KINDS:
                kinds = f"one of {', '.join(sorted(ORACLE_KINDS))}"
                raise place.fail(f"calls(...) needs one oracle kind (column {node.column}): {kinds}")
            return
        case tree.Call() if wrong := misuse(node):
            raise place.fail(f"{wrong} (column {node.column})")
        case tree.Call() if (span := binder(node)) is not None:
            index, lo, hi = span
            check(lo, names, place, text, bound)
            check(hi, names, place, text, bound)
            for part in node.arguments[:-1]:
                check(part, names, place, text, bound | {index})
            return
    for part in node.children():
        check(part, names, place, text, bound)


def misuse(node: tree.Call) -> str | None:
    """What is wrong with the arguments of a call: their number, or a sum over no range."""
    name, given = node.function, len(node.arguments)
    if name in RANGE_ONLY and binder(node) is None:
        return f"{name}(...) needs a range: {name}(term, (i, lo, hi))"
    needed = ARGUMENTS.get(name)
    if needed is not None and given != needed:
        return f"{name}(...) takes {needed} argument{'s' * (needed > 1)}, not {given}"
    return f"{name}() has no argument" if not given and name in RANGE_FUNCTIONS else None


def chain_of(parts: tuple[str, ...], place: Place, names: Names) -> tuple[Link, ...]:
    """``["a", "<= b", "== c"]`` as links; one text with relations in it (``a <= b <= c``) is a chain too."""
    sides: list[Expression] = []
    operators: list[str] = []
    for number, part in enumerate(parts):
        here = place.at(f"chain, member {number + 1}")
        relation = RELATION.match(_plain_sign(part) if number else part)
        if number and not relation:
            raise here.fail("a member after the first begins with <=, <, ==, >= or >")
        if relation and not number:
            raise here.fail("the first member has no relation in front")
        if relation:
            operators.append(relation[1])
        found = expression(relation[2] if relation else part, here, names)
        if isinstance(found.tree, tree.Compare):
            sides.append(Expression.of(found.tree.operands[0]))
            for operator, operand in zip(found.tree.operators, found.tree.operands[1:]):
                operators.append(operator)
                sides.append(Expression.of(operand))
        else:
            sides.append(found)
    if not operators:
        raise place.fail("a chain needs at least one relation")
    return tuple(Link(sides[i], operators[i], sides[i + 1]) for i in range(len(operators)))


def _plain_sign(part: str) -> str:
    """A member typed in LaTeX with its relation as the language writes it: ``\\le x`` begins with ``<=``."""
    if not is_latex(part):
        return part
    found = LATEX_RELATION.match(part)
    word = COMPARABLE.get(symbols.RELATIONS.get(found[1], "")) if found else None
    return f"{word} {part[found.end() :]}" if found and word else part


def domain_of(text: str, place: Place, names: Names, origin: str = "", added: bool = False) -> Domain:
    """Read the range of a letter (see :class:`Domain`); ``origin`` and ``added`` say whose it is."""
    return replace(_domain_of(text, place, names), origin=origin, added=added)


def _domain_of(text: str, place: Place, names: Names) -> Domain:
    if not isinstance(text, str):
        raise place.fail("a range is a string such as '(0, oo)', 'integers 1..', 'domain'")
    words = text.split()
    if text.startswith("integers"):
        low, mark, high = text.removeprefix("integers").partition("..")
        if not mark:
            raise place.fail("an integer range is written 'integers 1..' or 'integers 0..k-1'")
        ends = [expression(e, place, names) if e.strip() else None for e in (low, high)]
        return Domain(text, "integers", ends[0], ends[1])
    if words and words[0] in ("domain", "vectors", "weights") and len(words) <= 2:
        space = words[1] if len(words) == 2 else "x"
        return Domain(text, words[0], space=space)  # type: ignore[arg-type]
    stripped = text.strip()
    if len(stripped) > 2 and stripped[0] in "([" and stripped[-1] in ")]":
        cut = _top_comma(stripped[1:-1])
        if cut is not None:
            low, high = stripped[1 : 1 + cut], stripped[2 + cut : -1]
            return Domain(
                text,
                "interval",
                expression(low, place, names),
                expression(high, place, names),
                stripped[0] == "[",
                stripped[-1] == "]",
            )
    others = "'vectors' or 'matrices'" if place.alone else "'vectors', 'domain' or 'vectors y'"
    raise place.fail(f"{text!r} is not a range; write '(0, oo)', '[mu, oo)', 'integers 1..', {others}")


def _top_comma(text: str) -> int | None:
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            return place
    return None
