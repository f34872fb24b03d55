"""From a card to what the engines work on: letters written out, ranges in force, standing assumptions attached."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bilevel_verify.audit.scalar.claim import KINDS, POSITIVE, ScalarClaim, end_conditions
from bilevel_verify.language import tree
from bilevel_verify.theorems.card import Card, Entry
from bilevel_verify.theorems.card_parts import Condition, Domain, Link, Root
from bilevel_verify.theorems.origins import range_text, with_ours
from bilevel_verify.theorems.prescribed import formulas_of, included
from bilevel_verify.theorems.rewrite import free_letters, has_order, substitute
from bilevel_verify.theorems.vocabulary import NUMBERS, SCALAR_CALLS

REAL = Domain("(-oo, oo)", "interval", None, None, False, False)
DEPTH_LIMIT = 40


@dataclass(frozen=True, slots=True)
class Written:
    """The letters of an entry: formulas to write out, ranges of the rest, standing conditions.

    ``conditions`` are those of the card, each beside what became of it in ``where``.
    """

    formulas: Mapping[str, tree.Node]
    domains: Mapping[str, Domain]
    where: tuple[tree.Node, ...]
    conditions: tuple[tuple[Condition, tree.Node], ...] = ()

    def out(self, node: tree.Node) -> tree.Node:
        """A tree with every defined letter replaced by its formula.

        Raises
        ------
        ValueError : definitions that never end.
        """
        for _ in range(DEPTH_LIMIT):
            used = free_letters(node) & self.formulas.keys()
            if not used:
                return node
            node = substitute(node, {name: self.formulas[name] for name in used}, caught=True)
        raise ValueError("definitions that do not end")

    def claim(self, link: Link) -> ScalarClaim:
        """A link of a chain as a scalar claim; conditions that mention none of its letters are left out."""
        left, right = self.out(link.left.tree), self.out(link.right.tree)
        domains = dict(self.domains)
        used = self._reach({left, right}, domains)
        where = tuple(w for w in self.where if free_letters(w) - NUMBERS <= used)
        for name in used - domains.keys():
            domains[name] = POSITIVE
        return ScalarClaim(left, link.op, right, {n: domains[n] for n in domains if n in used}, where)

    def unread(self, claim: ScalarClaim) -> tuple[str, ...]:
        """Hypotheses and ranges in force of which nobody has said where they come from."""
        found = [c.text for c, node in self.conditions if c.unread and node in claim.where]
        return (*found, *(range_text(n, d) for n, d in claim.domains.items() if d.unread))

    def ours(self, claim: ScalarClaim) -> tuple[str, ...]:
        """Hypotheses and ranges in force that the card adds to the print."""
        found = [c.text for c, node in self.conditions if c.added and node in claim.where]
        return (*found, *(range_text(n, d) for n, d in claim.domains.items() if d.added))

    def _reach(self, trees: Iterable[tree.Node], domains: Mapping[str, Domain]) -> set[str]:
        """Letters of the sides, and letters tied to them by conditions and by the ends of ranges."""
        used = set().union(*(free_letters(t) for t in trees)) - NUMBERS
        grown = True
        while grown:
            before = len(used)
            for condition in self.where:
                inside = free_letters(condition) - NUMBERS
                if inside & used:
                    used |= inside
            for name in list(used):
                domain = domains.get(name)
                for end in (domain.lower, domain.upper) if domain else ():
                    used |= (free_letters(end.tree) - NUMBERS) if end is not None else set()
            grown = len(used) > before
        return used


def written(card: Card, entry: Entry, ours: bool = False, within: bool = True) -> Written:
    """What is known about the letters of an entry: its quantified letters are free again, the rest is written out.

    With ``ours`` the hypotheses and ranges that the card adds are in force too; ``within``: what an entry defines a
    letter by lies in the printed range of the letter.
    """
    entry = with_ours(entry) if ours else entry
    formulas: dict[str, tree.Node] = {}
    for name, (definition, _label, _chosen) in formulas_of(card, entry).items():
        if name not in entry.for_ and not isinstance(definition.value, Root) and not has_order(definition.value.tree):
            formulas[name] = definition.value.tree
    formulas |= {name: value.tree for name, value in entry.define.items()}
    domains = {name: spec.domain for name, spec in card.letters.items() if spec.domain is not None}
    domains |= {name: REAL for name, spec in card.letters.items() if spec.domain is None and spec.sign == "any"}
    domains |= dict(entry.for_)
    first = Written(formulas, {}, ())
    conditions = list(entry.where)
    for name in included(card, entry.settings):
        conditions += [*card.settings[name].where, *(card.settings[name].added if ours else ())]
    where = tuple((condition, first.out(condition.tree)) for condition in conditions)
    kept = {n: d.with_ends(first.out) for n, d in domains.items() if n not in formulas and d.kind in KINDS}
    own = {n: domains[n] for n in entry.define if within and n in domains and n not in entry.for_}
    inside = tuple(out for n, d in own.items() for node in _in_range(n, d) if _scalar(out := first.out(node)))
    return Written(formulas, kept, (*(node for _, node in where), *inside), where)


def _scalar(node: tree.Node) -> bool:
    """Whether a relation has numbers alone in it: no norm, no function of the problem, no entry of a sequence."""
    calls = {p.function for p in node.walk() if isinstance(p, tree.Call)}
    return calls <= SCALAR_CALLS and not any(isinstance(p, tree.Index) for p in node.walk())


def _in_range(name: str, domain: Domain) -> tuple[tree.Node, ...]:
    """What the printed range of a letter says of the formula that an entry defines it by."""
    if domain.kind not in KINDS or domain.unread or domain.added:
        return ()
    whole = tree.Compare((tree.Call("floor", (tree.Letter(name),)), tree.Letter(name)), ("==",))
    return (*end_conditions(name, domain), *((whole,) if domain.kind == "integers" else ()))
