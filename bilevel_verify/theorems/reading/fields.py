"""Reading one table of a card: typed access to its keys, and errors that name the place."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bilevel_verify.errors import CardError, ExpressionError
from bilevel_verify.language import CARD, Node, instead_of, nearest, parse, to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.latex import is_latex, parse_any
from bilevel_verify.latex.source import symbols
from bilevel_verify.latex.source.symbols import COMPARABLE
from bilevel_verify.theorems.card_parts import ORDER_SYMBOLS, Condition, Domain, Expression, Link, Mark, Scope
from bilevel_verify.theorems.vocabulary import (
    ARGUMENTS,
    FUNCTIONS_OF_SCOPE,
    LETTERS_OF_SCOPE,
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
    from bilevel_verify.latex import Notation

MARK_FIELDS = {"special": "special", "step": "step", "part": "part", "letters": "letters", "by_hand": "by hand"}
"""Field of a card -> mark; the others (``added``, ``reading``, ``repaired``) follow from fields of their own."""
LONGEST_NAME = 100
LATEX_RELATION = re.compile(r"\s*\\([a-zA-Z]+)")
RELATION = re.compile(r"\s*(<=|>=|==|<|>)(.*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Names:
    """What an expression may mention: letters, functions, sequences; ``scope`` only words the error message."""

    letters: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    sequences: frozenset[str] = frozenset()
    scope: Scope = "parameters"
    noun: str = "letter"

    def plus(self, letters: Collection[str] = (), functions: Collection[str] = ()) -> Names:
        """The same with more letters or functions."""
        return Names(
            self.letters | set(letters), self.functions | set(functions), self.sequences, self.scope, self.noun
        )


def names_of_scope(scope: Scope, letters: Collection[str], functions: Collection[str], run: Collection[str]) -> Names:
    """Vocabulary of a scope: card letters plus what the scope has; ``run`` are declared letters of the run."""
    sequences = SEQUENCES | set(run) if scope in SCOPES_WITH_SEQUENCES else frozenset()
    known = frozenset(letters) | LETTERS_OF_SCOPE[scope] | (frozenset(run) if sequences else frozenset())
    hidden = frozenset() if sequences else frozenset(run)
    return Names(known - hidden, FUNCTIONS_OF_SCOPE[scope] | set(functions), frozenset(sequences), scope)


@dataclass(slots=True)
class Place:
    """Where in a card we are, for messages: file, statement, claim, field; and how its LaTeX is to be read.

    ``alone`` : there is no card, the formula was given to ``check``.
    """

    file: str
    parts: tuple[str, ...] = ()
    notation: Notation | None = None
    alone: bool = False

    def at(self, *parts: str) -> Place:
        """A place inside this one."""
        return replace(self, parts=self.parts + parts)

    def out_of_scope(self, name: str, scopes: list[Scope], here: Scope) -> str:
        """What is wrong where a quantity is not of the scope, and what to change; a formula alone has no scope."""
        if self.alone and name in ORDER_SYMBOLS:
            return (
                "is an order, and needs what tends to where: a claim of a card (docs/cards.md); check compares numbers"
            )
        said = f"is a quantity of scope {' or '.join(scopes)}, not of {here}"
        if self.alone:
            return f"{said}; letters that are vectors are declared as such: --for 'a, b = vectors'"
        return f'{said}; set over = "{scopes[0]}" or take it out'

    def fail(self, message: str) -> CardError:
        """The error, in the words of the card language page: file: place: message."""
        where = f"{', '.join(self.parts)}: " if self.parts else ""
        return CardError(f"{self.file}: {where}{message}")


@dataclass(slots=True)
class Table:
    """One table of the file; every key must be asked for, what is left over is an error."""

    data: Mapping[str, Any]
    place: Place
    asked: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if not isinstance(self.data, Mapping):
            raise self.place.fail(f"expected a table, found {type(self.data).__name__}")

    def get(self, key: str, default: object = None) -> Any:
        """Raw value."""
        self.asked.add(key)
        return self.data.get(key, default)

    def text(self, key: str, default: str | None = "") -> str:
        """A string; ``default=None`` makes it required."""
        value = self.get(key, default)
        if value is None:
            raise self.place.fail(f"the field '{key}' is missing")
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.place.at(key).fail(f"expected a string, found {type(value).__name__}")
        return value if isinstance(value, str) else repr(value)

    def name(self, key: str) -> str:
        """A required string that stands in names of rows, files and commands: one short line of printable signs."""
        value = self.text(key, None)
        if not value.isprintable() or not 0 < len(value) <= LONGEST_NAME:
            raise self.place.at(key).fail(f"a name is one line of 1 to {LONGEST_NAME} printable signs")
        return value

    def origin(self, key: str) -> str:
        """Where the paper prints something; empty where nobody has said so."""
        return place_named(self.text(key), self.place.at(key))

    def flag(self, key: str, default: bool = False) -> bool:
        """true or false."""
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise self.place.at(key).fail("expected true or false")
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        """A list of strings; a single string is a list of one."""
        value = self.get(key, [])
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list) or not all(isinstance(i, str) for i in items):
            raise self.place.at(key).fail("expected a string or a list of strings")
        return tuple(items)

    def numbers(self, key: str) -> tuple[float, ...]:
        """A list of numbers; a single number is a list of one."""
        value = self.get(key, [])
        items = value if isinstance(value, list) else [value]
        if any(isinstance(i, bool) or not isinstance(i, int | float) for i in items):
            raise self.place.at(key).fail("expected a number or a list of numbers")
        return tuple(float(i) for i in items)

    def sourced(self, key: str) -> list[tuple[str, str]]:
        """A list of texts with the places where the paper prints them (``KEY_from``, or ``{ is = .., from = .. }``)."""
        value = self.get(key, [])
        self._no_origin_alone(key)
        items = [value] if isinstance(value, str | dict) else value
        if not isinstance(items, list) or not all(isinstance(i, str | dict) for i in items):
            raise self.place.at(key).fail("expected a string or a list of strings")
        origins = self.get(f"{key}_from", "")
        listed = origins if isinstance(origins, list) else [origins] * len(items)
        if not all(isinstance(origin, str) for origin in listed) or not isinstance(origins, str | list):
            raise self.place.at(f"{key}_from").fail("expected a string or a list of strings")
        listed = [place_named(origin, self.place.at(f"{key}_from")) for origin in listed]
        if len(listed) != len(items):
            raise self.place.at(f"{key}_from").fail(
                f"{len(listed)} places for {len(items)} of {key}; give one for each"
            )
        return [self._sourced(item, origin, key) for item, origin in zip(items, listed)]

    def _no_origin_alone(self, key: str) -> None:
        if f"{key}_from" in self.data and key not in self.data:
            raise self.place.at(f"{key}_from").fail(f"an origin of nothing: there is no '{key}' here")

    def _sourced(self, item: Any, origin: str, key: str) -> tuple[str, str]:
        if isinstance(item, str):
            return item, origin
        inner = Table(item, self.place.at(key))
        found = inner.text("is", None), inner.origin("from") or origin
        inner.finish()
        return found

    def sourced_table(self, key: str) -> dict[str, tuple[str, str]]:
        """Name -> (text, place in the paper); ``KEY_from`` is one place for all, or a table of them."""
        data, origins = self.table(key), self.get(f"{key}_from", "")
        self._no_origin_alone(key)
        if not isinstance(origins, str | dict):
            raise self.place.at(f"{key}_from").fail("expected a string or a table")
        for name in origins if isinstance(origins, dict) else ():
            if name not in data:
                what = "has no range here" if key == "for" else f"is not under '{key}' here"
                raise self.place.at(f"{key}_from").fail(f"'{name}' {what}{nearest(name, data)}")
        found = {}
        for name, value in data.items():
            origin = origins.get(name, "") if isinstance(origins, dict) else origins
            if not isinstance(origin, str):
                raise self.place.at(f"{key}_from", name).fail("expected a string")
            place_named(origin, self.place.at(f"{key}_from", *([name] if isinstance(origins, dict) else [])))
            found[name] = self._sourced(value, origin, f"{key}, {name}") if isinstance(value, dict) else (value, origin)
        return found

    def marks(self) -> tuple[Mark, ...]:
        """Why this is not judged as printed, in the card's own words."""
        found = {key: self.text(key) for key in MARK_FIELDS}
        for key in self.data.keys() & found.keys():
            if not found[key].strip():
                raise self.place.at(key).fail("give the reason in words")
        return tuple(Mark(MARK_FIELDS[key], why.strip()) for key, why in found.items() if why)

    def table(self, key: str) -> dict[str, Any]:
        """A sub-table (empty if absent)."""
        value = self.get(key, {})
        if not isinstance(value, dict):
            raise self.place.at(key).fail(f"expected a table, found {type(value).__name__}")
        return value

    def tables(self, key: str) -> list[dict[str, Any]]:
        """An array of tables; a single table is an array of one."""
        value = self.get(key, [])
        items = [value] if isinstance(value, dict) else value
        if not isinstance(items, list) or not all(isinstance(i, dict) for i in items):
            raise self.place.at(key).fail("expected an array of tables")
        return items

    def finish(self) -> None:
        """Refuse keys that nobody asked for."""
        for key in self.data:
            if key not in self.asked:
                fix = nearest(key, self.asked) or f"; known are {', '.join(sorted(self.asked))}"
                raise self.place.fail(f"unknown field '{key}'{fix}")


def place_named(origin: str, place: Place) -> str:
    """An origin as it was given: empty for none, else a text that names a place."""
    if origin and not any(sign.isalnum() for sign in origin):
        raise place.fail(f"{origin!r} names no place of the paper; write it as in 'Lemma 2, (5)', or leave it out")
    return origin


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
            sides.append(Expression(found.tree.operands[0], unparse(found.tree.operands[0])))
            for operator, operand in zip(found.tree.operators, found.tree.operands[1:]):
                operators.append(operator)
                sides.append(Expression(operand, unparse(operand)))
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


def displayed(links: tuple[Link, ...], table: Table) -> tuple[Link, ...]:
    """The links with what the card quotes (``printed``) or states itself (``stated``), and with their marks.

    ``link`` has marks under the number of a link, or under several: ``"2, 3"``.

    A list with one text a link is theirs, ``""`` where a link has none; any other belongs to the whole.
    """
    printed, stated = (table.strings(key) for key in ("printed", "stated"))
    if len(printed) == len(links):
        links = tuple(replace(link, printed=text) for link, text in zip(links, printed))
    if len(stated) == len(links):
        links = tuple(replace(link, stated=text) for link, text in zip(links, stated))
    of_links = [(n.strip(), marks) for numbers, marks in table.table("link").items() for n in numbers.split(",")]
    for number, data in of_links:
        place = table.place.at("link", number)
        if not number.isdecimal() or not 1 <= int(number) <= len(links):
            raise place.fail(f"the links are numbered 1 to {len(links)}")
        if [n for n, _ in of_links].count(number) > 1:
            raise place.fail("its marks stand there twice; write them together")
        inner = Table(data, place)
        marks = inner.marks()
        inner.finish()
        at = int(number) - 1
        links = (*links[:at], replace(links[at], marks=marks), *links[at + 1 :])
    return links


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


def unparse(node: Node) -> str:
    """Text of a tree in the language itself, fully parenthesised where needed; parses back to the same tree."""
    match node:
        case tree.Number(value=value):
            return str(value) if value.denominator == 1 else f"({value})"
        case tree.Truth(value=value):
            return str(value)
        case tree.Letter(name=name):
            return name
        case tree.Add(terms=terms):
            return "(" + " + ".join(map(unparse, terms)) + ")"
        case tree.Multiply(factors=factors):
            return "(" + "*".join(map(unparse, factors)) + ")"
        case tree.Divide(numerator=a, denominator=b):
            return f"({unparse(a)}/{unparse(b)})"
        case tree.Power(base=a, exponent=b):
            return f"({unparse(a)}**{unparse(b)})"
        case tree.Modulo(left=a, right=b):
            return f"({unparse(a)} % {unparse(b)})"
        case tree.MatrixMultiply(left=a, right=b):
            return f"({unparse(a)} @ {unparse(b)})"
        case tree.Negate(operand=a):
            return f"(-{unparse(a)})"
        case tree.Not(operand=a):
            return f"(not {unparse(a)})"
        case tree.Logical(operator=word, operands=parts):
            return "(" + f" {word} ".join(map(unparse, parts)) + ")"
        case tree.Compare(operands=parts, operators=signs):
            body = unparse(parts[0]) + "".join(f" {s} {unparse(p)}" for s, p in zip(signs, parts[1:]))
            return f"({body})"
        case tree.Conditional(test=test, yes=yes, no=no):
            return f"({unparse(yes)} if {unparse(test)} else {unparse(no)})"
        case tree.Call(function=name, arguments=parts):
            return f"{name}({', '.join(map(unparse, parts))})"
        case tree.Index(base=name, indices=parts):
            return f"{name}[{', '.join(map(unparse, parts))}]"
        case tree.Tuple(items=parts):
            return "(" + ", ".join(map(unparse, parts)) + ("," if len(parts) == 1 else "") + ")"
    raise TypeError(f"no text for {type(node).__name__}")
