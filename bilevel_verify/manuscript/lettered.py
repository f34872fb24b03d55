"""Relations that a card judges with letters for norms, values and entries of sequences.

``M*s**3/12 <= ...`` is the printed relation with a norm where the card has ``s``: for a printed relation all such
parts become letters, and the letters of the card are tried in their places. What agrees then in trees or values is that
relation, judged for all numbers in the place of the objects of the print.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

from bilevel_verify.language import tree
from bilevel_verify.manuscript.comparing import Relation, same_relation
from bilevel_verify.manuscript.fidelity import Paper
from bilevel_verify.manuscript.opaque import Letters, opaque
from bilevel_verify.manuscript.relations import Printed
from bilevel_verify.theorems.rewrite import free_letters, has_order, substitute
from bilevel_verify.theorems.vocabulary import NUMBERS

MOST = 4
"""Letters that are tried in the places of parts of the print."""


@dataclass(frozen=True)
class _Form:
    """A printed relation with letters for its parts (``value_1`` ...), and its other letters."""

    name: str
    relation: Relation
    made: tuple[str, ...]
    others: frozenset[str]


class Lettered:
    """The printed relations with letters for their parts, by what else stands in them."""

    def __init__(self, paper: Paper, printed: list[Printed]) -> None:
        self.paper = paper
        self.forms: dict[int, list[_Form]] = {}
        for one in printed:
            form = self._form(one)
            if form is not None and 1 <= len(form.made) <= MOST:
                self.forms.setdefault(len(form.made), []).append(form)

    def _form(self, one: Printed) -> _Form | None:
        relation = one.relation
        if relation.op not in tree.MIRRORED or any(has_order(s) for s in (relation.left, relation.right)):
            return None
        letters = Letters(self.paper)
        try:
            left, right = (opaque(side, letters) for side in (relation.left, relation.right))
        except (ValueError, RecursionError):
            return None
        made = tuple(letters.made.values())
        others = (free_letters(left) | free_letters(right)) - NUMBERS - set(made)
        return _Form(one.name, Relation(left, relation.op, right), made, frozenset(others))

    def names(self, relation: Relation) -> list[str]:
        """Names of the printed relations that a relation of the card is with letters of its own."""
        if any(isinstance(p, tree.Index) for s in (relation.left, relation.right) for p in s.walk()):
            return []
        naming = self.paper.naming
        mine = Relation(naming.renamed(relation.left), relation.op, naming.renamed(relation.right))
        used = (free_letters(mine.left) | free_letters(mine.right)) - NUMBERS
        found = []
        for count, forms in self.forms.items():
            for form in forms:
                own = used - form.others
                if len(own) == count and form.others <= used and self._agrees(mine, form, sorted(own)):
                    found.append(form.name)
        return found

    def _agrees(self, mine: Relation, form: _Form, own: list[str]) -> bool:
        if form.relation.op != mine.op and form.relation.op != tree.MIRRORED.get(mine.op):
            return False
        for order in permutations(own):
            values = {name: tree.Letter(letter) for name, letter in zip(form.made, order)}
            sides = [substitute(side, values) for side in (form.relation.left, form.relation.right)]
            if same_relation(mine, Relation(sides[0], form.relation.op, sides[1]), self.paper.usual):
                return True
        return False
