"""Relations and values that a card does not write a second time: they are read from its ``printed`` or ``stated`` text.

Strict, because nobody has written down what is meant: one chain, with the letters of the card as it declares them, no
condition beside it and nothing that the expression language does not have. What is not read so is an error that asks
for the relation itself.
"""

from __future__ import annotations

from bilevel_verify.errors import CardError, LatexError
from bilevel_verify.language import tree
from bilevel_verify.latex import Statement, read_latex
from bilevel_verify.latex.read import FREE
from bilevel_verify.latex.source.symbols import COMPARABLE
from bilevel_verify.theorems.card_parts import Expression, Link
from bilevel_verify.theorems.reading.fields import Names, Place, Table
from bilevel_verify.theorems.reading.written import check

DISPLAYS = ("printed", "stated")


def display_of(table: Table) -> tuple[str, tuple[str, ...]]:
    """The field and the texts that a relation may be read from: what is quoted, else what the card states itself."""
    return next(((key, texts) for key in DISPLAYS if (texts := table.strings(key))), ("", ()))


def read_links(key: str, texts: tuple[str, ...], place: Place, names: Names) -> tuple[Link, ...]:
    """The links of a chain, printed in one text or in several, each of which goes on from the one before.

    Raises
    ------
    CardError : it is not read, or is something else than one chain; names the field, the text and the column.
    """
    sides: list[Expression] = []
    operators: list[str] = []
    for number, text in enumerate(texts, 1):
        here = place.at(key if len(texts) == 1 else f"{key}, text {number}")
        statement = _statement(text, here, names)
        if statement.continues != (number > 1):
            what = "begins with the member before it" if number > 1 else "has no first member"
            raise here.fail(f"a chain in several texts goes on from text to text, and this one {what}{_INSTEAD}")
        operators += [_operator(relation.word, relation.column, here) for relation in statement.relations]
        sides += [_side(member, here, names, text) for member in statement.members]
    if not operators:
        raise place.at(key).fail(f"no relation is printed there{_INSTEAD}")
    return tuple(Link(sides[i], operators[i], sides[i + 1]) for i in range(len(operators)))


def read_value(key: str, text: str, place: Place, names: Names, name: str = "") -> Expression:
    """What a letter ``name`` is printed to be equal to: 1/(4 L) in ``\\eta=\\frac1{4L}``, else the last bound.

    Raises
    ------
    CardError : it is not read, or says something else than that the letter is equal to something.
    """
    here = place.at(key)
    statement = _statement(text, here, names)
    words = [_operator(relation.word, relation.column, here) for relation in statement.relations]
    if statement.continues:
        raise here.fail(f"the first member is missing{_INSTEAD}")
    if name and (set(words) != {"=="} or statement.members[0] != tree.Letter(name)):
        raise here.fail(f"it does not say what '{name}' is equal to{_INSTEAD}")
    if not set(words) <= {"==", "<="}:
        raise here.fail(f"its last member is no bound from above{_INSTEAD}")
    return _side(statement.members[-1], here, names, text)


_INSTEAD = "; write the expression beside it"


def _statement(text: str, place: Place, names: Names) -> Statement:
    """The one statement of a text."""
    try:
        notation = (place.notation or FREE).with_names(names.letters | names.sequences)
        found = read_latex(text, notation).statements
    except LatexError as error:
        column = "" if error.column is None else f" (column {error.column})"
        raise place.fail(f"not read{column}: {error.plain}{_INSTEAD}") from None
    if len(found) != 1 or found[0].conditions or found[0].goals:
        raise place.fail(f"more stands there than one chain{_INSTEAD}")
    return found[0]


def _operator(word: str, column: int, place: Place) -> str:
    found = COMPARABLE.get(word)
    if found is None:
        raise place.fail(f"the relation '{word}' (column {column}) is none that is judged{_INSTEAD}")
    return found


def _side(node: tree.Node, place: Place, names: Names, text: str) -> Expression:
    try:
        check(node, names, place, text)
    except CardError as error:
        raise CardError(f"{error}{_INSTEAD}") from None
    return Expression.of(node)
