"""Statements of a display, each a chain of members and relations with labels and conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from bilevel_verify.language import to_text, tree
from bilevel_verify.latex.source.symbols import COMPARABLE

EQUATES = frozenset({"==", ":=", "<-"})
"""Words of relations that give the left side a value."""
ORDERED = frozenset({"<", "<=", ">", ">="})


def open_ends(interval: str) -> tuple[bool, bool]:
    """Whether an interval, ``interval_closed_open``, is without its first end and without its last one."""
    words = interval.removeprefix("interval_").split("_")
    return words[0] == "open", words[-1] == "open"


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between two members; ``label`` stands over it, ``column`` is the 1-based offset in the source."""

    word: str
    label: str = ""
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Goal:
    """``\\min_{x \\in X}`` before a whole chain; without a range ``\\min`` of a programme."""

    operator: str
    range: tree.Tuple | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """A chain ``members[0] relations[0] members[1] ...``.

    ``continues`` says that the chain begins with a relation: its first member stands in the display before, so that
    there are as many relations as members. ``word`` joins it to the statement before (``where``, ``and``, ``s.t.``,
    ``iff``, ``label`` for what an underbrace names). ``start`` and ``end`` are 0-based offsets in the source.
    """

    members: tuple[tree.Node, ...]
    relations: tuple[Relation, ...] = ()
    conditions: tuple[Statement, ...] = ()
    goals: tuple[Goal, ...] = ()
    word: str = ""
    continues: bool = False
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)

    def links(self) -> Iterator[tuple[tree.Node, Relation, tree.Node]]:
        """Neighbours with the relation between them; that to a member in the display before is none of them."""
        between = self.relations[1:] if self.continues else self.relations
        return zip(self.members, between, self.members[1:], strict=False)

    @property
    def equation(self) -> tuple[tree.Node, tree.Node] | None:
        """Both sides of ``a = b`` or ``a := b``; None of any other chain."""
        defines = [r.word for r in self.relations] in (["=="], [":="]) and not self.continues
        return (self.members[0], self.members[1]) if defines else None

    @property
    def tree(self) -> tree.Node | None:
        """The chain as one tree of the card language; None where that has no such relation."""
        if self.continues or self.goals:
            return None
        if not self.relations:
            return self.members[0]
        words = [COMPARABLE.get(r.word) for r in self.relations]
        if any(word is None for word in words):
            return None
        return tree.Compare(self.members, tuple(w for w in words if w), column=self.members[0].column)

    @property
    def text(self) -> str:
        """The chain as text of the card language, relations that it lacks by their word."""
        parts = [f"{goal.operator} {to_text(goal.range) if goal.range else ''}:" for goal in self.goals]
        members = [to_text(member) for member in self.members]
        words = [r.word for r in self.relations]
        if self.continues:
            parts += [f"{w} {m}" for w, m in zip(words, members, strict=True)]
        else:
            parts += [members[0], *(f"{w} {m}" for w, m in zip(words, members[1:], strict=True))]
        text = " ".join(parts)
        for condition in self.conditions:
            text += f", {condition.word} {condition.text}"
        return text
