"""Displays to statements: chains over several lines, separators, conditions, programmes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bilevel_verify.language import tree
from bilevel_verify.latex.grammar.binding import bound_by, free_letters
from bilevel_verify.latex.grammar.cursor import Cursor, begins_operand, blank
from bilevel_verify.latex.grammar.expressions import expression, listed
from bilevel_verify.latex.grammar.sets import member
from bilevel_verify.latex.grammar.tables import is_system
from bilevel_verify.latex.source import symbols
from bilevel_verify.latex.source.items import Environment, Item
from bilevel_verify.latex.source.structure import flat
from bilevel_verify.latex.source.tokens import Token
from bilevel_verify.latex.statements import Goal, Relation, Statement

CONDITIONS = frozenset({"for", "if", "for some"})
LISTING = frozenset({"<", ">", "<=", ">=", "in", "!=", "subset"})
"""Relations that a list before them shares: ``a, b > 0``."""
PUNCTUATION = frozenset({",", ";", "."})


@dataclass
class Part:
    """A statement with what stood between it and the next one."""

    statement: Statement
    comma: bool = False
    line_end: bool = False


def top_items(items: Sequence[Item]) -> list[Item]:
    """Items of a display with aligned environments opened and ``s.t.`` as a word."""
    out: list[Item] = []
    for item in items:
        if isinstance(item, Environment) and item.name in symbols.ALIGNED:
            out += top_items(item.items)
        elif isinstance(item, Environment) and item.name in symbols.CASES and is_system(item):
            for part in item.items:
                if isinstance(part, Token) and part.kind == "row":
                    out.append(Token("mark", ",", part.at))
                out.append(part)
        else:
            out.append(item)
    return _subject_to(out)


def _subject_to(items: list[Item]) -> list[Item]:
    """``s.t.`` typed as letters."""
    out: list[Item] = []
    place = 0
    while place < len(items):
        texts = [i.text if isinstance(i, Token) else "" for i in items[place : place + 4]]
        if texts[:3] == ["s", ".", "t"]:
            out.append(Token("word", "s.t.", items[place].at))
            place += 4 if texts[3:] == ["."] else 3
        elif texts[:3] in (["s.t"], ["s.t", "."]):
            out.append(Token("word", "s.t.", items[place].at))
            place += 2 if texts[1:2] == ["."] else 1
        else:
            out.append(items[place])
            place += 1
    return out


def statements(cursor: Cursor) -> tuple[Statement, ...]:
    """All statements of a display.

    Raises
    ------
    LatexError : with the reason why it cannot be read.
    """
    parts: list[Part] = []
    word, ranged = "", False
    if cursor.habits and (mapping := _mapping(cursor)) is not None:
        return (mapping,)
    while (item := cursor.look(operand=True)) is not None:
        if isinstance(item, Token) and item.kind == "mark" and item.text in PUNCTUATION:
            cursor.place += 1
            continue
        said = _word(cursor, item)
        if said is not None:
            cursor.place += 1
            word = said or word
            continue
        statement = _statement(cursor, word)
        if not word and ranged and [r.word for r in statement.relations] == ["in"]:
            word, statement = "for", replace(statement, word="for")
        comma = cursor.sees("mark", ",")
        if word in CONDITIONS and parts and not (len(parts) == 1 and parts[0].statement.word in CONDITIONS):
            statement, comma = _condition_list(cursor, statement)
            _condition(parts, statement)
            ranged = [r.word for r in statement.relations] == ["in"]
        else:
            ranged = False
            parts.append(Part(statement, comma and word not in CONDITIONS, _ends_line(cursor)))
        word = ""
        _separated(cursor)
    if not parts:
        raise cursor.error("missing", "there is no formula")
    return _asides(cursor, [part for s in _lists(parts) for part in _defined(_programme(s))])


def _mapping(cursor: Cursor) -> Statement | None:
    """``f, g: X \\to \\mathbb{R}`` as a whole: names, and from where they go to where; None if it is something else."""
    marks = [getattr(item, "text", "") for item in cursor.items]
    if ":" not in marks or not {"to", "rightarrow"} & {*marks[marks.index(":") :]}:
        return None
    first, arrow = marks.index(":"), next(n for n, m in enumerate(marks) if m in ("to", "rightarrow"))
    ends = [cursor.items[first + 1 : arrow], cursor.items[arrow + 1 :]]
    while ends[1] and getattr(ends[1][-1], "text", "") in PUNCTUATION:
        ends[1] = ends[1][:-1]
    inside = [cursor.child(part, cursor.at) for part in ends]
    names = listed(cursor.child(cursor.items[:first], cursor.at))
    sets = [member(part) for part in inside]
    if not all(part.done() for part in inside):
        return None
    cursor.place = len(cursor.items)
    node = tree.Call("maps", tuple(v.node for v in (*names, *sets)), column=1)
    return Statement((node,), (), start=0, end=len(marks))


def _condition(parts: list[Part], condition: Statement) -> None:
    """Attach a condition to the statement before it; "for all k" also to the others of its line that mention k."""
    letters = (
        frozenset().union(*(free_letters(m) for m in condition.members[:1])) if condition.relations else frozenset()
    )
    for place in range(len(parts) - 1, -1, -1):
        part = parts[place]
        first = place == len(parts) - 1
        used = frozenset().union(*(free_letters(m) for m in part.statement.members))
        if not first and (part.statement.conditions or part.line_end or not used & letters):
            break
        part.statement = replace(part.statement, conditions=(*part.statement.conditions, condition))
        if condition.word != "for" or part.statement.word not in ("", "and"):
            break
    parts[-1].comma = False


def _condition_list(cursor: Cursor, statement: Statement) -> tuple[Statement, bool]:
    """``for i = 1, 2, 3`` and ``for all x, y \\in X``: the whole list belongs to the condition."""
    parts = [Part(statement, cursor.sees("mark", ","))]
    while parts[-1].comma and (not parts[-1].statement.relations or _goes_on_counting(cursor, parts)):
        place = cursor.place
        cursor.take()
        after = cursor.look(operand=True)
        if after is None or cursor.gap or not begins_operand(cursor, after):
            cursor.place = place
            break
        parts.append(Part(_statement(cursor, ""), cursor.sees("mark", ",")))
    found = _lists(parts)
    if len(found) > 1 and not any(
        s.relations or s.conditions for s in found
    ):  # "for all x, y": nothing is said of them
        listed = tree.Call("list", tuple(m for s in found for m in s.members), column=found[0].members[0].column)
        return replace(found[0], members=(listed,)), False
    if len(found) != 1:
        raise cursor.error("syntax", "a condition that is a list without a relation")
    return found[0], False


def _goes_on_counting(cursor: Cursor, parts: list[Part]) -> bool:
    """After the comma comes a number or dots, or dots came before."""
    after = cursor.items[cursor.place + 1] if cursor.place + 1 < len(cursor.items) else None
    if isinstance(after, Token) and (after.kind == "digits" or after.text in symbols.DOTS):
        return True
    return parts[-1].statement.members[-1] == tree.Letter("dots")


def _word(cursor: Cursor, item: Item) -> str | None:
    """What a separating word does; None if the item is none."""
    if isinstance(item, Token):
        if item.kind == "connective":
            return item.text
        if item.kind == "command" and item.text == "forall":
            return "for"
        if item.kind == "word" and not begins_operand(cursor, item):
            said = symbols.WORDS.get(item.text.lower().strip(" ,.:;()"))
            if said is None and item.text.strip(" ,.:;()") and not (cursor.habits and _is_reason(cursor, item)):
                raise cursor.error("words", f"{item.text[:40]!r} is neither a separator nor a declared name", item)
            return said or ""
    return None


def _is_reason(cursor: Cursor, item: Token) -> bool:
    """Whether words at the end of a line say why: ``\\text{by the triangle inequality}``."""
    return symbols.REASON.match(item.text) is not None and _ended(cursor.items[cursor.place + 1 :]) is not False


def _ends_line(cursor: Cursor) -> bool:
    """Whether the line ends here, but for punctuation."""
    return _ended(cursor.items[cursor.place :]) is True


def _ended(items: Sequence[Item]) -> bool | None:
    """Whether a line ends before anything but punctuation stands in it; None if all ends there."""
    for item in items:
        if isinstance(item, Token) and item.kind == "row":
            return True
        if not (isinstance(item, Token) and (item.kind in ("gap", "space", "cell") or item.text in PUNCTUATION)):
            return False
    return None


def _separated(cursor: Cursor) -> None:
    """After a statement: an end, a sign of punctuation, a word, a wide gap, or a line that is clearly a new one."""
    item = cursor.look()
    if item is None:
        return
    if isinstance(item, Token):
        if item.kind == "mark" and item.text in PUNCTUATION:
            return
        if item.kind == "row":
            _new_line(cursor)
            return
        if item.kind == "connective" or (item.kind == "command" and item.text == "forall"):
            return
        if item.kind == "word":
            return
        if item.kind == "delimiter" and not begins_operand(cursor, item):
            raise cursor.error("unbalanced", f"{item.text[-1:]!r} closes what was never opened", item)
    if cursor.gap and begins_operand(cursor, item):
        return
    if isinstance(item, Token) and item.kind == "command":
        raise cursor.error("macro", f"\\{item.text} is not known", item)
    raise cursor.error("syntax", f"{flat([item])[:20]!r} has no place here", item)


def _new_line(cursor: Cursor) -> None:
    """A line that begins with an operand, after a line without punctuation: a product or a new statement?"""
    place = cursor.place
    while place < len(cursor.items) and blank(cursor.items[place]):
        place += 1
    for item in cursor.items[place:]:
        if isinstance(item, Token) and item.kind == "row":
            break
        if isinstance(item, Token) and item.kind in ("relation", "word", "connective"):
            return
    if place < len(cursor.items):
        readings = ("a product with the line before", "a new formula")
        raise cursor.error("ambiguous", "a line that begins with an operand", cursor.items[place], readings)


def _statement(cursor: Cursor, word: str) -> Statement:
    """One chain."""
    start = cursor.here()
    goals = _bare_goal(cursor)
    members: list[tree.Node] = []
    relations: list[Relation] = []
    cursor.row_relation = False
    continues = cursor.sees("relation")
    if not continues:
        members.append(expression(cursor).node)
    while cursor.sees("relation"):
        sign = cursor.take()
        assert isinstance(sign, Token)
        relations.append(Relation(sign.text, sign.label, sign.at + 1))
        cursor.row_relation = True
        value = member(cursor) if sign.text in ("in", "not in", "subset") else expression(cursor)
        members.append(value.node)
    end = cursor.items[cursor.place - 1].at + 1 if cursor.place else start
    return Statement(
        tuple(members), tuple(relations), goals=goals, word=word, continues=continues, start=start, end=end
    )


def _bare_goal(cursor: Cursor) -> tuple[Goal, ...]:
    """``\\min \\quad f(x)`` of a programme without a range."""
    item = cursor.look(operand=True)
    if not (isinstance(item, Token) and item.kind == "operator" and item.text in ("min", "max")):
        return ()
    after = cursor.items[cursor.place + 1] if cursor.place + 1 < len(cursor.items) else None
    if isinstance(after, Token) and after.kind in ("gap", "space", "cell"):
        cursor.place += 1
        return (Goal(item.text),)
    return ()


def _lists(parts: list[Part]) -> list[Statement]:
    """``a, b > 0`` and ``k = 0, 1, \\dots, K``: lists on one side of a relation are one statement."""
    out: list[Statement] = []
    waiting: list[Statement] = []
    counted = False
    for place, part in enumerate(parts):
        statement = part.statement
        after_comma = place > 0 and parts[place - 1].comma and not statement.word
        plain = not statement.relations and not statement.conditions
        if plain and after_comma and not waiting and out and _counts(out[-1], statement, counted):
            out[-1] = _counted(out[-1], statement)
            counted = True
            continue
        counted = False
        if plain and part.comma and isinstance(statement.members[0], tree.Letter | tree.Index):
            waiting.append(statement)
            continue
        if waiting and statement.relations and statement.relations[0].word in LISTING and not statement.continues:
            members = tree.Call("list", (*(w.members[0] for w in waiting), statement.members[0]))
            first = waiting[0]
            statement = replace(
                statement, members=(members, *statement.members[1:]), word=first.word, start=first.start
            )
            waiting = []
        out += [*waiting, statement]
        waiting = []
    return [*out, *waiting]


def _counts(before: Statement, after: Statement, counted: bool) -> bool:
    """Whether a plain part goes on with the numbers on the right of the relation before it."""
    if not before.relations or before.conditions:
        return False
    node = after.members[0]
    last = before.members[-1]
    if isinstance(last, tree.Call) and last.function == "list":
        last = last.arguments[-1]
    inner = node.operand if isinstance(node, tree.Negate) else node
    first = last.operand if isinstance(last, tree.Negate) else last
    if node == tree.Letter("dots"):
        return True
    return last == tree.Letter("dots") or (isinstance(inner, tree.Number) and isinstance(first, tree.Number))


def _counted(before: Statement, after: Statement) -> Statement:
    last = before.members[-1]
    items = last.arguments if isinstance(last, tree.Call) and last.function == "list" else (last,)
    call = tree.Call("list", (*items, after.members[0]), column=last.column)
    return replace(before, members=(*before.members[:-1], call), end=after.end)


def _programme(statement: Statement) -> Statement:
    """``\\min_x f(x) := g(x)``: where later members mention the running letter, the minimum is over the whole chain."""
    first = statement.members[0]
    if statement.continues or not isinstance(first, tree.Call) or first.function not in ("min", "max", "sup", "inf"):
        return statement
    bound = bound_by(first)
    if not bound or not any(free_letters(m) & bound for m in statement.members[1:]):
        return statement
    span = first.arguments[-1]
    assert isinstance(span, tree.Tuple)
    opened = replace(
        statement,
        members=(first.arguments[0], *statement.members[1:]),
        goals=(*statement.goals, Goal(first.function, span)),
    )
    return _programme(opened)


def _defined(statement: Statement) -> list[Statement]:
    """``x = \\arg\\min_z g(z) := h(z)``: what follows says what g(z) is, not what the minimiser is."""
    for place, node in enumerate(statement.members[:-1]):
        if isinstance(node, tree.Call) and node.function in ("argmin", "argmax"):
            later = frozenset().union(*(free_letters(m) for m in statement.members[place + 1 :]))
            if bound_by(node) & later:
                cut = place + (1 if statement.continues else 0)
                first = replace(statement, members=statement.members[: place + 1], relations=statement.relations[:cut])
                rest = replace(
                    statement,
                    members=(node.arguments[0], *statement.members[place + 1 :]),
                    relations=statement.relations[cut:],
                    word="where",
                    continues=False,
                    goals=(),
                )
                return [first, *_defined(rest)]
    return [statement]


def _asides(cursor: Cursor, found: list[Statement]) -> tuple[Statement, ...]:
    """What underbraces name, as statements of their own."""
    extra = [
        Statement((name, value), (Relation("=="),), word="label")  # type: ignore[arg-type]
        for name, value in cursor.context.asides
    ]
    return (*found, *extra)
