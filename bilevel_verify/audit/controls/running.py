"""Controls of the audit: mutants of every link that was proved, and what becomes of them.

A mutant may still be true (a slack bound); such survivors are proved true and counted apart. Of the others, nearly all
must be refuted: a checker that lets mutants pass would let errors of papers pass too. Every proved link is also judged
once more in another form that means the same (``none``): it must never be refuted.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from bilevel_verify.audit.controls.mutations import CLAIM_OPERATORS, tree_mutants
from bilevel_verify.audit.entries.definedness import undefined
from bilevel_verify.audit.entries.reading import Written, written
from bilevel_verify.audit.entries.steps import decide_step
from bilevel_verify.audit.orders.derivations import decide_derivation, sides
from bilevel_verify.audit.pool import shared
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.deciding import decide
from bilevel_verify.language import to_text, tree
from bilevel_verify.theorems.card import Card, Derivation, Entry, Inequality, Step
from bilevel_verify.theorems.card_parts import Expression, Link
from bilevel_verify.theorems.origins import with_ours
from bilevel_verify.theorems.rewrite import free_letters, has_order
from bilevel_verify.theorems.vocabulary import NUMBERS

Progress = Callable[[str, int, int], None]
SCALE = tree.Number(Fraction(2, 7))
BLIND_TO_ORDERS = ("sign", "factor 2", "factor 1/2")
"""Operators without a meaning for relations between orders of growth, which hide constants and know no signs."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mutated link: which operator (``none`` for the link itself), where, and what was decided."""

    paper: str
    statement: str
    link: int
    operator: str
    decision: Decision
    text: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        point = {name: str(value) for name, value in self.decision.point.items()}
        return {
            "paper": self.paper,
            "statement": self.statement,
            "link": self.link,
            "operator": self.operator,
            "outcome": self.decision.outcome,
            "engine": self.decision.engine,
            "certificate": self.decision.certificate,
            "point": point,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class Target:
    """A link of an entry of a card, in the printed or in the repaired form."""

    card: Card
    name: str
    number: int = 0
    repaired: bool = False

    @property
    def form(self) -> Entry:
        """The entry that carries the link, under the hypotheses that the card adds too: engines are tried here."""
        entry = self.card.entries[self.name]
        assert not self.repaired or entry.repaired is not None
        return with_ours(entry.repaired if self.repaired and entry.repaired is not None else entry)

    @property
    def key(self) -> str:
        """A name that no other link has."""
        return f"{self.card.key}/{self.name}{'/repaired' if self.repaired else ''}/{self.number + 1}"

    @property
    def fingerprint(self) -> str:
        """Changes with everything that the judgement of the link rests on."""
        reader = _reader(self)
        return "" if reader is None else f"{zlib.crc32(repr(reader.basis).encode()):08x}"


@dataclass(frozen=True, slots=True)
class Effort:
    """Mutants of each link, seed of the draws and of the engines, effort for each decision (idle seconds).

    With ``operator``, every mutant of that operator instead of a few of all.
    """

    per_link: int = 2
    seed: int = 0
    seconds: float = 5.0
    operator: str = ""


Candidate = tuple[str, str, Callable[[int, float], Decision]]
"""Operator, text, and the judgement of one mutant for a seed and a number of seconds."""


def targets(card: Card) -> list[Target]:
    """Every scalar link, vector step and derivation of a card, as printed and as repaired."""
    found = []
    for entry in card.entries.values():
        for form, repaired in ((entry, False), (entry.repaired, True)):
            if isinstance(form, Inequality | Step):
                found += [Target(card, entry.id, number, repaired) for number in range(len(form.chain))]
            elif isinstance(form, Derivation):
                found.append(Target(card, entry.id, 0, repaired))
    return found


def controls(
    card: Card,
    *,
    per_link: int = 2,
    most: int | None = None,
    seed: int = 0,
    seconds: float = 5.0,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Mutant]:
    """Mutants of every link of a card that is proved, and the proved links themselves (operator ``none``).

    Parameters
    ----------
    per_link : mutants of each link, drawn with the seed from all operators and places.
    most : no more than so many links, drawn with the seed; all of them by default.
    seed, seconds : of the engines; effort for each link and mutant, in seconds of an idle machine.
    jobs : processes.
    progress : called with (link, done, total).
    """
    links = targets(card)
    if most is not None and most < len(links):
        chosen = sorted(np.random.default_rng(seed).permutation(len(links))[:most])
        links = [links[i] for i in chosen]
    tasks = [(target, Effort(per_link, seed, seconds)) for target in links]

    def done(number: int, count: int) -> None:
        if progress is not None:
            progress(links[number].key, count, len(links))

    return [mutant for part in shared(controls_of, tasks, jobs, done) for mutant in part]


def controls_of(task: tuple[Target, Effort]) -> list[Mutant]:
    """The link itself in another form, and some of its mutants; nothing unless the link is proved."""
    target, effort = task
    reader = _reader(target)
    if reader is None or (effort.operator and all(name != effort.operator for name, _, _ in reader.mutants())):
        return []
    if _judge(reader.itself, effort).outcome != "proved":
        return []
    candidates = list({(o, text): (o, text, judged) for o, text, judged in reader.mutants()}.values())
    random = np.random.default_rng([effort.seed, zlib.crc32(target.key.encode())])
    kinds = sorted({operator for operator, _, _ in candidates})
    chosen: list[Candidate] = [("none", "the link in another form", reader.mirrored)]
    if effort.operator:
        kinds, chosen = [], [c for c in candidates if c[0] == effort.operator]
    for operator in random.permutation(kinds)[: effort.per_link] if kinds else []:
        same = [c for c in candidates if c[0] == operator]
        chosen.append(same[int(random.integers(len(same)))])
    return [
        Mutant(target.card.key, target.name, target.number + 1, operator, _judge(judged, effort), text)
        for operator, text, judged in chosen
    ]


def counts(mutants: Iterable[Mutant]) -> dict[str, int]:
    """Mutants refuted, proved still true (or without any place left), undecided; true links tried and refuted."""
    return tally((mutant.operator, mutant.decision.outcome) for mutant in mutants)


def tally(outcomes: Iterable[tuple[str, str]]) -> dict[str, int]:
    """The same counts from pairs (operator, outcome)."""
    pairs = list(outcomes)
    found = Counter(outcome for operator, outcome in pairs if operator != "none")
    true = [outcome for operator, outcome in pairs if operator == "none"]
    return {
        "refuted": found["refuted"],
        "proved still true": found["proved"] + found["vacuous"],
        "undecided": found["undecided"],
        "true links": len(true),
        "true links refuted": true.count("refuted"),
    }


def _judge(judged: Callable[[int, float], Decision], effort: Effort) -> Decision:
    try:
        return judged(effort.seed, effort.seconds)
    except (ValueError, ArithmeticError) as reason:
        return Decision("undecided", "reading", str(reason))


def _reader(target: Target) -> _Relation | _Order | None:
    form = target.form
    try:
        if isinstance(form, Derivation):
            return _Order(target.card, form)
        assert isinstance(form, Inequality | Step)
        return _Relation(written(target.card, form, ours=True), form, form.chain[target.number])
    except ValueError:
        return None


class _Relation:
    """A scalar link or a vector step."""

    def __init__(self, table: Written, form: Inequality | Step, link: Link) -> None:
        self.table, self.link = table, link
        self.vectors = form.vectors if isinstance(form, Step) else ()
        claim = table.claim(link)
        self.claim = replace(claim, domains={n: d for n, d in claim.domains.items() if n not in self.vectors})
        self.basis = (link.left.tree, link.right.tree, self.claim)

    def itself(self, seed: int, seconds: float) -> Decision:
        return self._decide(self.claim, seed, seconds)

    def mirrored(self, seed: int, seconds: float) -> Decision:
        """Sides exchanged and multiplied by a number, with another seed: true if and only if the link is."""
        claim = self.claim
        left, right = (tree.Multiply((SCALE, side)) for side in (claim.right, claim.left))
        return self._decide(replace(claim, left=left, op=tree.MIRRORED[claim.op], right=right), seed + 1, seconds)

    def mutants(self) -> Iterator[Candidate]:
        integers = frozenset(n for n in self.claim.letters if self.claim.domains[n].kind == "integers")
        for side in ("left", "right"):
            for name, mutant in tree_mutants(getattr(self.link, side).tree, integers):
                try:
                    changed = self.table.out(mutant)
                except (ValueError, KeyError):
                    continue
                if changed != getattr(self.claim, side):
                    yield self._candidate(name, replace(self.claim, **{side: changed}))  # type: ignore[arg-type]
        for name, change in CLAIM_OPERATORS.items():
            for altered in change(self.claim):
                yield self._candidate(name, altered)

    def _candidate(self, operator: str, claim: ScalarClaim) -> Candidate:
        ranges = "; ".join(f"{n} in {claim.domains[n].text}" for n in claim.letters)
        moved = [d for n, d in claim.domains.items() if d is not self.claim.domains.get(n)]
        ends = "; ".join(f"{e.text}" for d in moved for e in (d.lower, d.upper) if e is not None)
        relation = to_text(tree.Compare((claim.left, claim.right), (claim.op,)))
        where = "; ".join(to_text(w) for w in claim.where)
        text = f"{relation} for {ranges}{f' (now {ends})' if moved else ''} where {where}"
        return operator, text, lambda seed, seconds: self._mutant(claim, seed, seconds)

    def _mutant(self, claim: ScalarClaim, seed: int, seconds: float) -> Decision:
        """The decision, or the finding that the mutant is undefined somewhere where the link is not."""
        decision = self._decide(claim, seed, seconds)
        if decision.outcome == "undecided" and not self.vectors:
            hole = undefined(claim, seed)[0]
            if hole.outcome == "refuted" and undefined(self.claim, seed)[0].outcome == "proved":
                return hole
        return decision

    def _decide(self, claim: ScalarClaim, seed: int, seconds: float) -> Decision:
        if self.vectors:
            return decide_step(claim, self.vectors, seed=seed, effort=seconds)
        return decide(claim, seed=seed, effort=seconds)


class _Order:
    """A derivation."""

    def __init__(self, card: Card, form: Derivation) -> None:
        self.card, self.form = card, form
        self.basis = (
            form,
            card.regimes.get("default"),
            tuple((n, card.letters[n].domain) for n in sorted(card.letters)),
        )
        self.orders = any(has_order(side) for side in sides(form))

    def itself(self, seed: int, seconds: float) -> Decision:
        return decide_derivation(self.card, self.form)

    def mirrored(self, seed: int, seconds: float) -> Decision:
        """The result multiplied and divided by a letter: the same order, the same formula."""
        free = sorted(
            (free_letters(self.form.result.tree) | set(self.card.letters)) - set(self.form.substitute) - NUMBERS
        )
        if not free:
            return decide_derivation(self.card, self.form)
        letter = tree.Letter(free[0])
        result = tree.Divide(tree.Multiply((letter, self.form.result.tree)), letter)
        return decide_derivation(self.card, replace(self.form, result=Expression(result, self.form.result.text)))

    def mutants(self) -> Iterator[Candidate]:
        integers = frozenset(n for n, d in self.form.for_.items() if d.kind == "integers")
        for side in ("result", "gives"):
            for name, mutant in tree_mutants(getattr(self.form, side).tree, integers):
                if not (self.orders and name in (*BLIND_TO_ORDERS, "index", "off-by-one loop")):
                    changed = replace(self.form, **{side: Expression.of(mutant)})  # type: ignore[arg-type]
                    yield self._candidate(name, changed)
        for place in range(len(self.form.regime)):
            regime = self.form.regime[:place] + self.form.regime[place + 1 :]
            yield self._candidate("dropped hypothesis", replace(self.form, regime=regime))

    def _candidate(self, operator: str, form: Derivation) -> Candidate:
        regime = "; ".join(r.text for r in form.regime)
        text = f"{to_text(form.result.tree)} gives {to_text(form.gives.tree)} for {regime}"
        return operator, text, lambda seed, seconds: decide_derivation(self.card, form)


def shown(counted: dict[str, int]) -> str:
    """The counts as a line of text."""
    return ", ".join(f"{number} {word}" for word, number in counted.items())


def share_refuted(counted: dict[str, int]) -> float:
    """Refuted mutants in percent of those that are not proved still true (100 where there are none)."""
    rest = counted["refuted"] + counted["undecided"]
    return 100.0 * counted["refuted"] / rest if rest else 100.0


def by_operator(outcomes: Sequence[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """The counts of every operator."""
    names = sorted({operator for operator, _ in outcomes} - {"none"})
    return {name: tally(pair for pair in outcomes if pair[0] == name) for name in names}
