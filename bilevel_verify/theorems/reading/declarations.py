"""Declarations: what later expressions of a card may lean on, local definitions, and parameter formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bilevel_verify.errors import CardError
from bilevel_verify.language import nearest, tree
from bilevel_verify.theorems.card_parts import (
    Condition,
    Definition,
    Domain,
    Expression,
    FunctionSpec,
    LetterSpec,
    Link,
    Mark,
    Reading,
    Root,
    Scope,
    Settings,
)
from bilevel_verify.theorems.reading.fields import Names, Place, Table, names_of_scope
from bilevel_verify.theorems.reading.from_print import display_of, read_links, read_value
from bilevel_verify.theorems.reading.written import chain_of, condition, domain_of, expression
from bilevel_verify.theorems.rewrite import free_letters, inline

SIGNATURE = re.compile(r"\s*([A-Za-z][A-Za-z0-9_]*)\s*\(([^()]*)\)\s*\Z")
LocalFunctions = dict[str, tuple[tuple[str, ...], Any]]


@dataclass(frozen=True, slots=True)
class Declarations:
    """What has been read so far and every later expression may lean on."""

    place: Place
    letters: Mapping[str, LetterSpec]
    functions: Mapping[str, FunctionSpec]
    units: dict[str, str]
    settings: dict[str, Settings]
    readings: dict[str, Reading]
    regimes: dict[str, tuple[Condition, ...]]

    def names(self, scope: Scope) -> Names:
        """Vocabulary of a scope with the letters and functions of this card."""
        run = {n for n, spec in self.letters.items() if spec.source == "run"}
        own = self.functions if scope != "parameters" else ()
        return names_of_scope(scope, self.letters, own, run)

    def conditions(self, table: Table, key: str, scope: Scope, extra: bool = False) -> tuple[Condition, ...]:
        """Conditions of a list; ``extra`` allows letters that are not declared (regimes)."""
        names, place = None if extra else self.names(scope), table.place.at(key)
        added = key == "added"
        return tuple(condition(text, place, names, origin, added) for text, origin in table.sourced(key))


@dataclass(frozen=True, slots=True)
class Context:
    """Quantified letters, local definitions and local functions of a statement or a claim.

    ``unread`` are the local functions of which nobody has said where the paper defines them, as texts; ``called``
    collects those that something in this context calls.
    """

    for_: Mapping[str, Domain]
    define: Mapping[str, Condition]
    local: LocalFunctions
    narrowed: Mapping[str, Domain]
    unread: Mapping[str, str] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)

    def expression(self, text: object, place: Place, names: Names) -> Expression:
        """Parse, check with the local names, write out local functions."""
        found = expression(text, place, self.known(names))
        return self.write_out(found, place)

    def known(self, names: Names) -> Names:
        """A vocabulary with the local letters and functions."""
        return names.plus(letters=(*self.for_, *self.define), functions=self.local)

    def write_out(self, found: Expression, place: Place) -> Expression:
        """Replace calls of local functions by their bodies."""
        if not self.local:
            return found
        self._note_calls(found.tree)
        try:
            return Expression(inline(found.tree, self.local), found.text)
        except CardError as error:
            raise place.fail(str(error)) from None

    def _note_calls(self, node: tree.Node) -> None:
        for part in node.walk():
            if isinstance(part, tree.Call) and part.function in self.local and part.function not in self.called:
                self.called.add(part.function)
                self._note_calls(self.local[part.function][1])

    def conditions(self, table: Table, key: str, names: Names) -> tuple[Condition, ...]:
        """The hypotheses of a list, with their origins; those under ``added`` are ours."""
        found = []
        for text, origin in table.sourced(key):
            read = self.expression(text, table.place.at(key), names)
            found.append(Condition(read.tree, read.text, origin, key == "added"))
        return tuple(found)

    def added(self, trees: Iterable[tree.Node] | None = None) -> tuple[Mark, ...]:
        """A mark for every definition without an origin that the trees use; for every one without ``trees``."""
        used = set(self.define) if trees is None else reached(trees, self.define)
        own = (f"{name} = {one.text}" for name, one in self.define.items() if one.unread and name in used)
        functions = (text for name, text in self.unread.items() if name in self.called)
        return tuple(Mark("added", text) for text in (*own, *functions))

    def chain(self, parts: tuple[str, ...], place: Place, names: Names) -> tuple[Link, ...]:
        """A chain of relations in this context."""
        return self._written(chain_of(parts, place, self.known(names)), place)

    def printed(self, key: str, texts: tuple[str, ...], place: Place, names: Names) -> tuple[Link, ...]:
        """The chain that is printed in the texts of a field."""
        return self._written(read_links(key, texts, place, self.known(names)), place)

    def _written(self, links: tuple[Link, ...], place: Place) -> tuple[Link, ...]:
        """Links with local functions written out."""
        return tuple(
            replace(link, left=self.write_out(link.left, place), right=self.write_out(link.right, place))
            for link in links
        )


def context_of(table: Table, names: Names, parent: Context | None = None) -> Context:
    """``for`` and ``define`` of a table, on top of those of its parent."""
    ranges = dict(parent.for_) if parent else {}
    quantified = table.sourced_table("for")
    known = names.plus(letters=(*ranges, *quantified, *(parent.define if parent else ())))
    for letter, (text, origin) in quantified.items():
        ranges[letter] = domain_of(text, table.place.at("for", letter), known, origin)
    narrowed = {}
    for letter, text in table.table("narrowed").items():
        place = table.place.at("narrowed", letter)
        if letter not in known.letters:
            raise place.fail(f"unknown letter '{letter}'{nearest(letter, known.letters)}")
        narrowed[letter] = domain_of(text, place, known, added=True)
    define: dict[str, Condition] = dict(parent.define) if parent else {}
    local: LocalFunctions = dict(parent.local) if parent else {}
    unread = dict(parent.unread) if parent else {}
    sourced = table.sourced_table("define")
    texts = {key: text for key, (text, _) in sourced.items()}
    plain = [key for key in texts if not SIGNATURE.match(key)]
    calls = {m[1]: key for key in texts if (m := SIGNATURE.match(key))}
    known = known.plus(letters=(*define, *plain), functions=(*local, *calls))
    for name, key in calls.items():
        signature = SIGNATURE.match(key)
        assert signature is not None
        parameters = tuple(p.strip() for p in signature[2].split(",") if p.strip())
        body = expression(texts[key], table.place.at("define", key), known.plus(letters=parameters))
        local[name] = (parameters, body.tree)
        if not sourced[key][1]:
            unread[name] = f"{key} = {body.text}"
    here = Context(ranges, define, local, narrowed, unread)
    for key in plain:
        found = here.write_out(expression(texts[key], table.place.at("define", key), known), table.place)
        define[key] = Condition(found.tree, found.text, sourced[key][1])
    return here


def reached(trees: Iterable[tree.Node], define: Mapping[str, Expression]) -> set[str]:
    """The defined letters in some trees, and those in their definitions."""
    used = set().union(*map(free_letters, trees)) & define.keys()
    while more := set().union(*(free_letters(define[name].tree) for name in used)) & define.keys() - used:
        used |= more
    return used


def read_definitions(data: Mapping[str, object], declared: Declarations, place: Place) -> dict[str, Definition]:
    """Letters that are formulas: ``letter = "formula"`` or ``letter = { value = ..., printed = ..., side = ... }``."""
    found: dict[str, Definition] = {}
    names = declared.names("parameters")
    for name, value in data.items():
        here = place.at(name)
        if name not in declared.letters:
            raise place.fail(
                f"letter '{name}' is defined but not declared{nearest(name, declared.letters)};"
                f" add {name} = {{}} under [letters]"
            )
        if not isinstance(value, dict):
            found[name] = Definition(name, expression(value, here, names))
            continue
        table = Table(value, here)
        side = table.text("side", "middle")
        if side not in ("upper", "lower", "middle"):
            raise here.at("side").fail(f"'{side}' is not upper, lower or middle")
        formula: Expression | Root
        if "root" in value:
            formula = _root(table, here, names)
        else:
            formula = _value(table, here, names, name)
        conditions = declared.conditions(table, "where", "parameters")
        found[name] = Definition(
            name,
            formula,
            table.text("printed"),
            table.text("stated"),
            table.text("source"),
            side,  # type: ignore[arg-type]
            conditions,
        )
        table.finish()
    return found


def _value(table: Table, place: Place, names: Names, name: str) -> Expression:
    """``value``, or what is printed to be equal to the letter."""
    key, texts = display_of(table)
    if "value" in table.data or not key:
        return expression(table.get("value"), place.at("value"), names)
    return read_value(key, texts[0], place, names, name)


def _root(table: Table, place: Place, names: Names) -> Root:
    define = table.table("define")
    local = names.plus(letters=define)
    between = table.strings("between")
    if len(between) != 2:
        raise place.at("between").fail("a root needs a bracket of two ends")
    return Root(
        expression(table.get("root"), place.at("root"), local),
        (expression(between[0], place, names), expression(between[1], place, names)),
        {key: expression(text, place.at("define", key), local) for key, text in define.items()},
    )


def letters_of(definition: Definition) -> set[str]:
    """What a definition depends on (its own letter excluded in a root)."""
    if not isinstance(definition.value, Root):
        return free_letters(definition.value.tree)
    root = definition.value
    found = free_letters(root.equation.tree).union(
        *(free_letters(part.tree) for part in (*root.between, *root.define.values()))
    )
    return found - {definition.name} - root.define.keys()
