"""Reading one table of a card: typed access to its keys, and errors that name the place."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bilevel_verify.errors import CardError
from bilevel_verify.language import nearest
from bilevel_verify.theorems.card_parts import ORDER_SYMBOLS, Link, Mark, Scope
from bilevel_verify.theorems.vocabulary import (
    FUNCTIONS_OF_SCOPE,
    LETTERS_OF_SCOPE,
    SCOPES_WITH_SEQUENCES,
    SEQUENCES,
)

if TYPE_CHECKING:
    from bilevel_verify.latex import Notation

MARK_FIELDS = {"special": "special", "step": "step", "part": "part", "letters": "letters", "by_hand": "by hand"}
"""Field of a card -> mark; the others (``added``, ``reading``, ``repaired``) follow from fields of their own."""
LONGEST_NAME = 100


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
