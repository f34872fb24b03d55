"""Algorithms of a paper as steps of a card: their lines, what they take, and why one is not understood."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from bilevel_verify.drafting.document import Document, Unit, Words, slug
from bilevel_verify.drafting.kinds import Declared
from bilevel_verify.drafting.listings.blocks import understood
from bilevel_verify.drafting.listings.lines import Listing, NotUnderstood, Row, Told
from bilevel_verify.drafting.relations import Reader
from bilevel_verify.drafting.written import written
from bilevel_verify.errors import CardError, LatexError
from bilevel_verify.language import tree
from bilevel_verify.latex import Notation, read_latex
from bilevel_verify.latex.grammar.derivatives import split_name
from bilevel_verify.theorems.algorithm import Program, expressions_of, program_text, read_program
from bilevel_verify.theorems.pseudocode.executability import called_in, names_in
from bilevel_verify.theorems.vocabulary import NUMBERS


@dataclass(frozen=True, slots=True)
class Steps:
    """An algorithm of the paper as a card has it; without ``text`` it was not understood, and ``why`` says the reason.

    ``taken`` are letters that no input names and the text does: letter -> where; ``unknown`` those that nothing gives.
    """

    unit: int
    name: str
    text: str = ""
    inputs: tuple[str, ...] = ()
    taken: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    why: str = ""


def algorithms_of(
    reader: Reader, notation: Notation, symbols: Iterable[Declared], running: frozenset[str], answers: Mapping[str, str]
) -> tuple[Steps, ...]:
    """Every algorithm of a paper in order.

    Parameters
    ----------
    symbols : what the letters were taken for; with a doubt that the lines turn on nothing is understood.
    running : letters that run: outside of an algorithm they stand for nothing that it could take.
    answers : the steps that the author gives for an algorithm, by its name.
    """
    document = reader.document
    listings = [(n, _listing(document, unit, notation)) for n, unit in enumerate(document.units)
                if unit.kind == "algorithm"]  # fmt: skip
    known = {name: where for name, where in _known(reader) if name not in running}
    doubts = {d.entry.name: d.doubt for d in symbols}
    return tuple(
        _answered(number, listing.name, answers[listing.name], known)
        if listing.name in answers
        else _steps(number, listing, notation, known, doubts)
        for number, listing in listings
    )


def _listing(document: Document, unit: Unit, notation: Notation) -> Listing:
    parts: list[str | Told] = []
    for part in unit.parts:
        if isinstance(part, Words):
            parts.append(part.text)
            continue
        one = written(document, part)
        try:
            if one.error is not None:
                raise one.error
            parts.append(Row(one.latex, read_latex(one.source, notation).statements))
        except LatexError as error:
            parts.append(Row(one.latex, (), error.plain))
    return Listing(slug(unit.name), unit.name, tuple(parts))


def _known(reader: Reader) -> Iterator[tuple[str, str]]:
    """Names that the paper uses outside of its algorithms, with the first place."""
    yield from ((name, "the text") for name in reader.named)
    for one in reversed(reader.printed):
        if reader.document.units[one.unit].kind != "algorithm":
            where = str(reader.where(one.context.formula))
            for name in tree.letters(one.left) | tree.letters(one.right):
                yield name, where


def _steps(
    number: int, listing: Listing, notation: Notation, known: Mapping[str, str], doubts: Mapping[str, str]
) -> Steps:
    """One algorithm: read, written as steps, and these read again."""
    try:
        printed = understood(listing, notation)
        if printed.passed:
            raise NotUnderstood("; ".join(printed.passed))
        text = program_text(printed.program.statements)
        program = read_program(text)
    except NotUnderstood as reason:
        return Steps(number, listing.name, why=str(reason))
    except CardError as error:
        return Steps(number, listing.name, why=f"a card cannot say it so: {error}")
    if program.statements != printed.program.statements or not program.statements:
        what = "as something else" if program.statements else "no line"
        return Steps(number, listing.name, why=f"its steps are read {what} in a card")
    if doubt := next(_turned_on(program, doubts), ""):
        return Steps(number, listing.name, why=doubt)
    derived = {split[1] for name in called_in(program) if (split := split_name(name, notation.functions))}
    inputs = tuple(name for name in printed.named if name not in derived)
    return Steps(number, listing.name, text, inputs, *_given(program, inputs, known))


def _turned_on(program: Program, doubts: Mapping[str, str]) -> Iterator[str]:
    """Doubts that change what a line says: ``r^T`` of a vector is no power, ``P(x)`` of a function no product."""
    for node in (n for s in program.walk() for e in expressions_of(s) for n in e.walk()):
        parts: tuple[tree.Node, ...]
        match node:
            case tree.Power(base=base):
                parts, word = (base,), "a vector"
            case tree.Multiply(factors=factors):
                parts, word = factors, "a function"
            case _:
                continue
        for part in parts:
            if isinstance(part, tree.Letter | tree.Index):
                doubt = doubts.get(part.name if isinstance(part, tree.Letter) else part.base, "")
                yield from (doubt,) if word in doubt else ()


def _answered(number: int, name: str, text: str, known: Mapping[str, str]) -> Steps:
    """An algorithm whose steps the author gives; it takes what they read and do not assign."""
    return Steps(number, name, text, (), *_given(read_program(text), (), known))


def _given(
    program: Program, inputs: tuple[str, ...], known: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Letters that no input names: with the place where the text gives them, and those that nothing gives."""
    names = names_in(program)
    missing = sorted(names.read.keys() - names.assigned - {*inputs, *NUMBERS, "_", "oo", "dots"})
    taken = {name: f"no input of the algorithm; {known[name]} gives it" for name in missing if name in known}
    return taken, tuple(name for name in missing if name not in known)
