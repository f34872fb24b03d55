"""A card from a paper's source: read, asked, composed."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bilevel_verify.drafting.answers import Answers, Question
from bilevel_verify.drafting.compared import with_numbers
from bilevel_verify.drafting.document import Document
from bilevel_verify.drafting.drafted import Drafted
from bilevel_verify.drafting.entries import Composer
from bilevel_verify.drafting.evidence import Evidence, Key
from bilevel_verify.drafting.forms import Sorts, Store
from bilevel_verify.drafting.kinds import Declared, notation_of, said
from bilevel_verify.drafting.latex_source import read_latex_source
from bilevel_verify.drafting.letters import introduced, used_in
from bilevel_verify.drafting.listings.steps import Steps, algorithms_of
from bilevel_verify.drafting.markdown_source import read_markdown_source
from bilevel_verify.drafting.notes import Note
from bilevel_verify.drafting.relations import Printed, Reader
from bilevel_verify.drafting.scopes import Scopes
from bilevel_verify.drafting.sentences import contexts
from bilevel_verify.drafting.stretches import is_running
from bilevel_verify.drafting.writing import card_text
from bilevel_verify.drafting.written import Written, written
from bilevel_verify.errors import InputError, LatexError
from bilevel_verify.latex import Notation
from bilevel_verify.latex.source.atoms import atom_of
from bilevel_verify.latex.source.structure import flat
from bilevel_verify.theorems.vocabulary import NUMBERS

OTHER_NORM = re.compile(r"\b(?:arbitrary|any|general|dual) norms?\b", re.IGNORECASE)
AFTER = re.compile(r"\s*(?:is|are|be|denotes?)\s+(?:a|an|the|some|any)?\s*(?:\w+[- ]){0,2}?(\w+)")


class Draft(Drafted):
    """A drafted card: what was read of a paper, and everything that goes into the card."""

    def text(self) -> str:
        """The card as TOML."""
        return card_text(self)


def draft(path: str | Path, answers: Answers | None = None) -> Draft:
    """Draft a card from a paper: ``.tex`` (with what it takes in) or ``.md``.

    Parameters
    ----------
    path : the source of the paper.
    answers : what its author says to the questions of an earlier draft.

    Raises
    ------
    InputError : the file cannot be read, or holds no formula that can be read.
    """
    path, answers = Path(path), answers or Answers()
    if path.suffix.lower() not in (".tex", ".md", ".markdown", ".ltx"):
        raise InputError(f"{path}: a paper is a .tex or a .md file")
    markdown = path.suffix.lower() in (".md", ".markdown")
    document = read_markdown_source(path) if markdown else read_latex_source(path)
    if not any(True for unit in document.units for _ in unit.formulas()):
        first = f"; {document.remarks[0]}" if document.remarks else ""
        raise InputError(f"{path}:1:1: no formula was found{first}")
    evidence, spoken = _evidence(document)
    notation, symbols = notation_of(evidence, spoken, answers.kinds)
    reader = Reader(document, notation)
    reader.read()
    return _composed(path, document, notation, symbols, reader, answers, evidence)


def _composed(
    path: Path, document: Document, notation: Notation, symbols: list[Declared], reader: Reader, answers: Answers,
    evidence: Evidence,
) -> Draft:  # fmt: skip
    notation = with_numbers(notation, reader.printed, answers.kinds)
    scalars = _scalars(notation, reader)
    scopes = Scopes(document, reader.printed, scalars, dict(reader.document_labels()), reader.spoken)
    words = " ".join(scopes.words(i) for i in range(len(document.units)))
    sorts = Sorts(notation, euclidean=OTHER_NORM.search(words) is None)
    names = {e.name for e in notation.entries} | scalars | NUMBERS | _reserved()
    doubtful = frozenset(d.entry.name for d in symbols if d.doubt and d.kind == "scalar" and d.entry.role != "function")
    running = frozenset({*evidence.indices, *(e.name for e in notation.entries if e.display in evidence.indices)})
    composer = Composer(reader, scopes, sorts, Store(names), doubtful, running)
    composer.compose()
    places = introduced(reader.printed, {})
    notes = (*composer.notes, *_letter_notes(composer, symbols, places))
    algorithms = algorithms_of(reader, notation, symbols, running, answers.steps)
    questions = (*_questions(composer, symbols, answers), *_of_algorithms(document, algorithms))
    known = (tuple(symbols), reader, scopes, composer, answers, questions, notes, places, algorithms)
    return Draft(path, document, notation, *known)


def _reserved() -> set[str]:
    from bilevel_verify.drafting.kinds import TAKEN

    return set(TAKEN)


def _scalars(notation: Notation, reader: Reader) -> frozenset[str]:
    """Names of letters that are numbers, those that name themselves included."""
    from bilevel_verify.language import tree

    other = {e.name for e in notation.entries if e.role != "letter" or e.kind != "scalar"}
    found = {e.name for e in notation.entries if e.role == "letter" and e.kind == "scalar"}
    for one in reader.printed:
        for side in (one.left, one.right, *one.where):
            found |= {part.name for part in side.walk() if isinstance(part, tree.Letter)}
    return frozenset(found - other - NUMBERS - {"dots"})


def _evidence(document: Document) -> tuple[Evidence, dict[Key, Counter[str]]]:
    """Two looks at all formulas: which letters run, then everything else; and what the words say."""
    formulas = []
    for unit in document.units:
        for context in contexts(unit):
            one = written(document, context.formula)
            if one.items:
                formulas.append((one, context))
    first = Evidence()
    for one, context in formulas:
        first.add(one.source, one.items, context.formula.at)
    evidence = Evidence(frozenset(first.running))
    spoken: dict[Key, Counter[str]] = defaultdict(Counter)
    for one, context in formulas:
        evidence.add(one.source, one.items, context.formula.at)
        what = said(context.before) or _said_after(context.after)
        key = _first_symbol(one, evidence.indices) if what and not context.formula.display else None
        if key is not None:
            spoken[key][what] += 1
    return evidence, spoken


def _said_after(words: str) -> str:
    found = AFTER.match(words)
    return said(found[1]) if found else ""


def _first_symbol(one: Written, indices: frozenset[str]) -> Key | None:
    """The symbol with which a formula begins."""
    try:
        atom, _ = atom_of(one.source, one.items, 0)
    except LatexError:
        return None
    if atom is None:
        return None
    named = atom.sub is not None and not is_running(atom.sub, indices)
    return atom.symbol, atom.primes, atom.star, flat(atom.sub) if named and atom.sub is not None else ""


def _letter_notes(composer: Composer, symbols: list[Declared], places: dict[str, Printed]) -> list[Note]:
    """Letters that nobody introduced, and letters that are introduced and never used."""
    reader = composer.reader
    counts = used_in(reader.printed)
    claims = used_in(p for p in reader.printed if composer.judged(p))
    text = reader.document.text
    found = []
    for one in symbols:
        name, display = one.entry.name, one.entry.display
        if one.entry.role == "function" or one.entry.display in composer.running or name not in composer.scopes.scalars:
            continue
        if claims[name] and name not in places and name not in reader.named:
            found.append(Note("", text.where(one.first), f"${display}$ is used and introduced nowhere"))
        elif name in places and counts[name] == 1 and one.count == 1 and not _names_a_space(places[name], name):
            found.append(Note("", text.where(one.first), f"${display}$ is introduced and never used"))
    return found


def _names_a_space(printed: Printed, name: str) -> bool:
    """Whether a letter stands in the set of a membership alone: the dimension d of R^d belongs to the name."""
    return printed.op == "in" and name not in used_in([replace(printed, right=printed.left)])


def _questions(composer: Composer, symbols: list[Declared], answers: Answers) -> tuple[Question, ...]:
    """Questions whose answers links wait for, the most wanted first."""
    text = composer.reader.document.text
    weight: Counter[str] = Counter()
    for made in composer.made:
        weight.update(made.letters - made.fields.get("define", {}).keys() - made.fields.get("for", {}).keys())
    known = set(composer.scopes.standing) | set(answers.ranges) | set(composer.scopes.general)
    found: dict[tuple[str, str], Question] = {}
    for one in symbols:
        name, display, where = one.entry.name, one.entry.display, str(text.where(one.first))
        if one.doubt and one.count > 1:
            sort = "kind"
            found.setdefault((sort, display), Question(sort, display, one.doubt, where, weight[name] or one.count // 4))
        if weight[name] and name not in known:
            asked = f"what is the range of ${display}$ ({name})?"
            found.setdefault(("range", name), Question("range", name, asked, where, weight[name]))
        if weight[name] and name in composer.scopes.ambiguous:
            asked = f"${display}$ is defined in more than one way; which definition is in force?"
            found.setdefault(("definition", name), Question("definition", name, asked, where, weight[name]))
        if answers.base and weight[name] and name not in answers.units:
            found.setdefault(("unit", name), Question("unit", name, f"units of ${display}$?", where, weight[name]))
    for name, where in _both(symbols, composer).items():
        asked = f"does ${name}$ depend on its argument everywhere? It is printed with one and without"
        found.setdefault(("dependence", name), Question("dependence", name, asked, where, 1))
    return tuple(sorted(found.values(), key=lambda q: (-q.weight, q.sort, q.about)))


def _of_algorithms(document: Document, algorithms: tuple[Steps, ...]) -> Iterator[Question]:
    """What the author is asked about algorithms: their steps, and where a letter comes from."""
    for one in algorithms:
        where = str(document.text.where(document.units[one.unit].at))
        if one.why:
            yield Question("steps", one.name, f"how do the lines of {one.name} read as steps? {one.why}", where)
        for name in one.unknown:
            yield Question(
                "input", name, f"what is {name} in {one.name}? No line assigns it and nothing gives it", where
            )


def _both(symbols: list[Declared], composer: Composer) -> dict[str, str]:
    """Symbols that are declared as a function and as something else."""
    roles: dict[str, set[str]] = defaultdict(set)
    first: dict[str, int] = {}
    for one in symbols:
        roles[one.entry.display].add("function" if one.entry.role == "function" else "letter")
        first[one.entry.display] = one.first
    text = composer.reader.document.text
    return {display: str(text.where(first[display])) for display, found in roles.items() if len(found) > 1}
