"""From a TOML file to a :class:`Card`, strictly: what is not understood is an error that names its place."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bilevel_verify.errors import CardError, InputError
from bilevel_verify.files import parse_toml, read_text
from bilevel_verify.language import nearest
from bilevel_verify.latex import Notation
from bilevel_verify.theorems.card import Card, Derivation, Entry, Statement
from bilevel_verify.theorems.card_parts import (
    PASSIVE_KINDS,
    STATEMENT_KINDS,
    Condition,
    Definition,
    Expression,
    FunctionSpec,
    Hides,
    LetterSpec,
    Reading,
    Settings,
)
from bilevel_verify.theorems.notation import notation_of, notation_table
from bilevel_verify.theorems.prescribed import formulas_of
from bilevel_verify.theorems.reading.declarations import Declarations, letters_of, read_definitions
from bilevel_verify.theorems.reading.entries import ENTRY_READERS, read_statement
from bilevel_verify.theorems.reading.fields import Names, Place, Table, place_named
from bilevel_verify.theorems.reading.ranges import check_ranges
from bilevel_verify.theorems.reading.short import lines_of_ids, written_out
from bilevel_verify.theorems.reading.written import domain_of, expression
from bilevel_verify.theorems.rewrite import order_of
from bilevel_verify.theorems.units.unit_form import unit_fault
from bilevel_verify.theorems.vocabulary import NUMBERS, RANGE_FUNCTIONS, SCALAR_FUNCTIONS

MAXIMAL_SIZE = 1_000_000
LETTER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
SOURCES = ("constants", "truth", "user", "run", "problem", "settings")
HEADER = frozenset("paper units letters functions definitions settings readings regime hides notation draft".split())
DEFINITION = ("measure", "of", "norm", "partner")
"""Fields by which a letter is a constant of the card's own definition."""
FORMULA = SCALAR_FUNCTIONS | RANGE_FUNCTIONS
KINDS = (*STATEMENT_KINDS, *PASSIVE_KINDS, *ENTRY_READERS)


def read_card(path: Path, label: str | None = None) -> Card:
    """Read and validate one card file.

    Raises
    ------
    CardError : one line that names the card, the statement, the field, the column and the fix.
    """
    label = label or str(path)
    return card_of(read_text(path, MAXIMAL_SIZE, label, CardError), label, path)


def card_of(text: str, label: str, path: Path) -> Card:
    """The card that a text says; ``path`` : where it stands or would stand.

    Raises
    ------
    CardError : as :func:`read_card`.
    """
    data = parse_toml(text, label, CardError)
    return _Reader(label, text, data, path).card(hashlib.sha256(text.encode()).hexdigest())


class _Reader:
    """Reads the tables in the order in which they depend on each other."""

    def __init__(self, label: str, text: str, data: dict[str, Any], path: Path) -> None:
        self.place, self.text, self.path = Place(label), text, path
        self.top = Table(written_out(data, KINDS, self.place), self.place)

    def card(self, digest: str) -> Card:
        """The card: letters and functions before what mentions them, entries after them, what concerns several last."""
        if "paper" not in self.top.data:
            raise self.place.fail("the table [paper] is missing")
        paper = Table(self.top.table("paper"), self.place.at("[paper]"))
        units = self.units()
        letters = self.letters(units, paper.origin("standing"))
        functions = self.functions(units, letters)
        self.place.notation = self.notation(letters, functions)
        declared = Declarations(self.place, letters, functions, dict(units), {}, {}, {})
        definitions = self.definitions(declared)
        declared.settings.update(self.settings(declared))
        declared.readings.update(self.readings(declared))
        declared.regimes.update(self.regimes(declared))
        self.check_circles(definitions, declared)
        hides = self.hides(letters)
        self.top.table("draft")
        entries = self.entries(declared)
        self.top.finish()
        card = Card(
            key=paper.name("key"),
            title=paper.text("title"),
            authors=paper.text("authors"),
            venue=paper.text("venue"),
            note=paper.text("note"),
            path=self.path,
            units=units,
            letters=letters,
            functions=functions,
            definitions=definitions,
            settings=declared.settings,
            readings=declared.readings,
            regimes=declared.regimes,
            hides=hides,
            entries=entries,
            digest=digest,
            notation=self.place.notation or Notation(),
            draft=self.top.table("draft"),
        )
        paper.finish()
        _check_references(card, self.place)
        _check_circles(card, self.place)
        check_ranges(card, self.place)
        return card

    def notation(self, letters: Mapping[str, LetterSpec], functions: Mapping[str, FunctionSpec]) -> Notation:
        """How the card's LaTeX is read; a table that cannot be read is an error of the card."""
        self.top.table("notation")
        try:
            return notation_of(notation_table(self.top.data, self.path), letters, functions, self.path.stem)
        except InputError as error:
            raise self.place.fail(str(error)) from None

    def units(self) -> dict[str, str]:
        table = Table(self.top.table("units"), self.place.at("[units]"))
        units = {name: table.text(name) for name in table.data}
        for name in units:
            if not LETTER_NAME.match(name):
                raise table.place.fail(f"{name!r} is not a unit name")
        return units

    def unit(self, text: str, place: Place, units: Mapping[str, str], letters: set[str]) -> Expression:
        names = Names(frozenset(units) | frozenset(letters), frozenset({"max", "min"}), noun="unit")
        if isinstance(text, int):
            text = str(text)
        try:
            found = expression(text, place, names)
        except CardError as error:
            message = str(error).replace("unknown unit", "undeclared unit")
            if "undeclared unit" in message and "did you mean" not in message:
                message += "; declare it under [units]"
            raise CardError(message) from None
        if fault := unit_fault(found.tree, units):
            raise place.fail(f"{found.text!r} is not a unit: {fault}")
        return found

    def letters(self, units: Mapping[str, str], standing: str) -> dict[str, LetterSpec]:
        """The declared letters; ``standing`` is where the paper prints ranges that have no origin of their own.

        Their names are all known from the start, as ranges and defaults may mention letters that are declared later.
        """
        tables = self.top.table("letters")
        found: dict[str, LetterSpec] = {}
        own: dict[str, dict[str, Any]] = {}
        exponents = {
            name for name, data in tables.items() if isinstance(data, dict) and data.get("unit", "1") in (1, "1")
        }
        everything = Names(frozenset(tables) | {"k_end", "d"}, FORMULA)
        for name, data in tables.items():
            place = self.place.at("[letters]", name)
            if not LETTER_NAME.match(name) or "__" in name or name in NUMBERS:
                raise place.fail(f"{name!r} cannot be the name of a letter")
            table = Table(data, place)
            unit = table.get("unit")
            if unit is None and units and "draft" not in self.top.data:
                raise place.fail('the letter has no unit; write unit = "1" if it is a number')
            source = table.text("from", "settings")
            if source not in SOURCES:
                raise place.at("from").fail(f"unknown source {source!r}{nearest(source, SOURCES)}")
            if definition := {field: value for field in DEFINITION if (value := table.get(field)) is not None}:
                if source != "constants":
                    raise place.fail(f'{", ".join(definition)} define a constant of the problem: from = "constants"')
                own[name] = {**definition, "meaning": data.get("meaning", "")}
            domain, origin = table.get("domain"), table.origin("domain_from") or standing
            default = table.get("default")
            found[name] = LetterSpec(
                name=name,
                unit=None if unit is None else self.unit(unit, place.at("unit"), units, exponents),
                domain=None if domain is None else domain_of(domain, place.at("domain"), everything, origin),
                meaning=table.text("meaning"),
                source=source,  # type: ignore[arg-type]
                called=table.text("called"),
                sign=table.text("sign"),  # type: ignore[arg-type]
                display=table.text("display"),
                relation=tuple(self.unit(r, place.at("relation"), units, exponents) for r in table.strings("relation")),
                default=None if default is None else expression(default, place.at("default"), everything),
                needs=table.strings("needs"),
                rounding=table.text("rounding"),  # type: ignore[arg-type]
            )
            table.finish()
        return self.defined(found, own)

    def defined(self, letters: dict[str, LetterSpec], own: Mapping[str, object]) -> dict[str, LetterSpec]:
        """The letters, those with a definition in the card with all of its definitions."""
        if not own:
            return letters
        from bilevel_verify.constants.papers import read_letters

        try:
            definition = read_letters(self.place.file, {"letters": own}, "[letters]")
        except InputError as error:
            raise self.place.fail(str(error)) from None
        return {n: replace(spec, definition=definition) if n in own else spec for n, spec in letters.items()}

    def functions(self, units: Mapping[str, str], letters: Mapping[str, LetterSpec]) -> dict[str, FunctionSpec]:
        found: dict[str, FunctionSpec] = {}
        known = set(letters)
        for name, data in self.top.table("functions").items():
            place = self.place.at("[functions]", name)
            table = Table(data, place)
            arguments = tuple(self.unit(a, place.at("arguments"), units, known) for a in table.strings("arguments"))
            value = table.get("value")
            found[name] = FunctionSpec(
                name,
                arguments,
                None if value is None else self.unit(value, place.at("value"), units, known),
                table.text("computes", name),
                table.text("meaning"),
                table.text("display"),
            )
            table.finish()
        return found

    def definitions(self, declared: Declarations) -> dict[str, Definition]:
        return read_definitions(self.top.table("definitions"), declared, self.place.at("[definitions]"))

    def settings(self, declared: Declarations) -> dict[str, Settings]:
        found: dict[str, Settings] = {}
        for name, data in self.top.table("settings").items():
            place = self.place.at(f"[settings.{name}]")
            table = Table(data, place)
            parameters = read_definitions(_parameters(table, declared), declared, place)
            found[name] = Settings(
                name,
                parameters,
                declared.conditions(table, "where", "parameters"),
                declared.conditions(table, "added", "parameters"),
                table.text("source"),
                table.text("printed"),
                table.text("stated"),
                table.text("note"),
                table.strings("includes"),
            )
            table.finish()
        for name, settings in found.items():
            for other in settings.includes:
                if other not in found:
                    raise self.place.at(f"[settings.{name}]").fail(f"unknown settings '{other}'{nearest(other, found)}")
        return found

    def readings(self, declared: Declarations) -> dict[str, Reading]:
        found: dict[str, Reading] = {}
        for name, data in self.top.table("readings").items():
            place = self.place.at(f"[readings.{name}]")
            table = Table(data, place)
            parameters = read_definitions(_parameters(table, declared), declared, place)
            label = table.text("label", None)
            found[name] = Reading(
                name, label, table.text("why"), table.flag("literal"), table.text("source"), parameters
            )
            table.finish()
        return found

    def regimes(self, declared: Declarations) -> dict[str, tuple[Condition, ...]]:
        table = Table(self.top.table("regime"), self.place.at("[regime]"))
        names = [key for key in table.data if not key.endswith("_from")]
        found = {name: declared.conditions(table, name, "parameters", extra=True) for name in names}
        table.finish()
        return found

    def hides(self, letters: Mapping[str, LetterSpec]) -> Hides | None:
        """``[hides]``: letters that the orders of the paper leave out, and where it says so."""
        if "hides" not in self.top.data:
            return None
        table = Table(self.top.table("hides"), self.place.at("[hides]"))
        source = place_named(table.text("source", None), table.place.at("source"))
        found = Hides(table.strings("letters"), source, table.text("printed"))
        for name in found.letters:
            _known(name, letters, table.place.at("letters"), "letter")
        table.finish()
        return found

    def check_circles(self, definitions: Mapping[str, Definition], declared: Declarations) -> None:
        for name, settings in {"": None, **declared.settings}.items():
            formulas = dict(definitions)
            if settings is not None:
                formulas |= settings.parameters
            try:
                order_of({letter: letters_of(d) for letter, d in formulas.items()})
            except CardError as error:
                place = self.place.at(f"[settings.{name}]") if name else self.place.at("[definitions]")
                raise place.fail(str(error)) from None

    def entries(self, declared: Declarations) -> dict[str, Entry]:
        lines = lines_of_ids(self.text, KINDS)
        found: dict[str, Entry] = {}
        readers: dict[str, Callable[[Table, Declarations, str], Entry]] = {
            kind: ENTRY_READERS.get(kind, read_statement) for kind in KINDS
        }
        known = set(readers) | HEADER | {"shared"}
        for kind in self.top.data:
            if kind not in known:
                raise self.place.fail(f"unknown table '{kind}'{nearest(kind, known)}")
        for kind, reader in readers.items():
            for data in self.top.tables(kind):
                table = Table(data, self.place.at(kind))
                identity = table.name("id")
                table.place = self.place.at(identity)
                if identity in found:
                    where = " and ".join(str(line) for line in lines.get(identity, [])[:2])
                    raise self.place.fail(f'"{identity}" occurs twice (lines {where}); rename one of them')
                found[identity] = reader(table, declared, kind)
                table.finish()
        return _in_file_order(found, lines)


def _parameters(table: Table, declared: Declarations) -> dict[str, Any]:
    """What settings or a reading say of letters, in their table or under ``parameters``."""
    own = {name: value for name, value in table.data.items() if name in declared.letters}
    table.asked |= own.keys()
    return own | table.table("parameters")


def _in_file_order(entries: dict[str, Entry], lines: Mapping[str, list[int]]) -> dict[str, Entry]:
    far = len(lines) + 10**9
    return dict(sorted(entries.items(), key=lambda item: lines.get(item[0], [far])[0]))


def _check_references(card: Card, place: Place) -> None:
    """Ids that statements mention must exist: assumes, uses, items, algorithm, settings, readings, same_as."""
    for entry in card.entries.values():
        here = place.at(entry.id)
        for name in entry.assumes:
            _known(name, card.entries, here.at("assumes"), "statement")
        for name in entry.same_as:
            _known(name.split("/")[0], {**card.entries, **card.settings}, here.at("same_as"), "statement")
        for name in entry.settings:
            _known(name, card.settings, here.at("settings"), "settings")
        if isinstance(entry, Derivation):
            for path in entry.premise:
                _check_premise(card, path, here.at("premise"))
        if isinstance(entry, Statement):
            for name in (*entry.items, *entry.uses):
                _known(name, card.entries, here, "entry")
            if entry.algorithm:
                _known(entry.algorithm, {a.id: a for a in card.algorithms}, here.at("algorithm"), "algorithm")
            for name in entry.readings:
                _known(name, card.readings, here.at("readings"), "reading")


def _check_premise(card: Card, path: str, place: Place) -> None:
    name, _, claim = path.partition("/")
    _known(name, card.entries, place, "entry")
    source = card.entries[name]
    if claim:
        _known(claim, {c.id: c for c in source.claims} if isinstance(source, Statement) else {}, place, "claim")


def _check_circles(card: Card, place: Place) -> None:
    """Parameters of a statement must not depend on each other in a circle."""
    for entry in card.entries.values():
        if not entry.parameters:
            continue
        formulas = formulas_of(card, entry)
        try:
            order_of({name: letters_of(found[0]) for name, found in formulas.items()})
        except CardError as error:
            raise place.at(entry.id).fail(str(error)) from None


def _known(name: str, known: Mapping[str, object], place: Place, what: str) -> None:
    if name not in known:
        raise place.fail(f"unknown {what} '{name}'{nearest(name, known)}")
