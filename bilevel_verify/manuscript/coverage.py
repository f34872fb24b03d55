"""Coverage by the print: for every relation of every display, which row judges it, or why none does.

A relation is judged by the card (as printed, or in a marked form), by the print layer (the reader's own expression,
where the card has none), or not at all, for a reason of a closed list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from bilevel_verify.audit.limits import MEMORY, memory_limit
from bilevel_verify.audit.pool import shared
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.language import to_text
from bilevel_verify.manuscript.fidelity import Paper
from bilevel_verify.manuscript.formulas import Formula, Print
from bilevel_verify.manuscript.judging import OutOfScope, judge
from bilevel_verify.manuscript.matching import Item, Match, matches
from bilevel_verify.manuscript.proofs.lines import grounded
from bilevel_verify.manuscript.relations import Printed, ReadFormula, relations_of
from bilevel_verify.theorems.card import Card
from bilevel_verify.theorems.rewrite import free_letters

NO_RELATION = "no relation"
REASONS = {
    "definition": "it defines a symbol",
    "range or hypothesis": "it says where a letter lives, or repeats a hypothesis",
    "assumption": "it is assumed, not claimed",
    "set or operator statement": "membership, an order of matrices, a programme or a minimiser",
    "equation between vectors, matrices or sets": "a side of it is no sum of products of vectors and matrices",
    "order": "an order that bounds nothing from above, or stands inside of a side",
    NO_RELATION: "a formula alone: nothing to judge, and not counted among the relations",
    "not read": "the reader does not read the display",
}
"""Why nothing judges a relation: the list is closed."""
_Verdicts = dict[tuple[str, str], list[Row]]
BY = ("card", "card, marked", "with verify", "print layer", "reason")
DECIDED = ("holds", "refuted", "consistent", "inconsistent")


@dataclass(frozen=True, slots=True)
class Line:
    """One relation of a display.

    Attributes
    ----------
    name : ``n.index``, number of the formula in the print and of the relation in it.
    place : where a reader finds it.
    text : what was understood, in the card language.
    by : a word of :data:`BY`.
    verdict : of the row that judges it; empty for a reason, ``with verify`` where runs on problems judge it.
    entry, claim : the card's row, empty where there is none.
    reason : of the verdict, or a word of :data:`REASONS` and more.
    marks : of the row.
    uses : printed relations from which it follows, where they are not decided themselves.
    """

    paper: str
    name: str
    place: str
    text: str
    by: str
    verdict: str = ""
    entry: str = ""
    claim: str = ""
    reason: str = ""
    marks: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()

    @property
    def decided(self) -> bool:
        """Whether there is a verdict other than undecided."""
        return self.verdict in DECIDED

    def to_dict(self) -> dict[str, object]:
        """All fields, for JSON."""
        found = {name: getattr(self, name) for name in self.__slots__}
        return {**found, "marks": list(self.marks), "uses": list(self.uses)}


@dataclass(frozen=True, slots=True)
class Walk:
    """A paper's displays in order, each with the lines of its relations."""

    paper: str
    steps: tuple[tuple[Formula, tuple[Line, ...]], ...]

    @property
    def lines(self) -> tuple[Line, ...]:
        """All lines, in the order of the paper."""
        return tuple(line for _, lines in self.steps for line in lines)

    @property
    def relations(self) -> tuple[Line, ...]:
        """The lines without those of displays in which no relation stands; one that is not read counts once."""
        return tuple(line for line in self.lines if line.reason != NO_RELATION)

    def counts(self) -> dict[str, int]:
        """By whom the relations are judged, and how many have a verdict."""
        found = Counter(line.by for line in self.relations)
        return {by: found[by] for by in BY if found[by]}

    def summary(self) -> str:
        """How many relations are judged, decided, given a reason."""
        lines = self.relations
        judged = [line for line in lines if line.by != "reason"]
        by = ", ".join(f"{n} {what}" for what, n in self.counts().items())
        why = ", ".join(f"{n} {what}" for what, n in sorted(self.reasons().items()))
        decided = sum(line.decided for line in judged)
        steps = sum(bool(line.uses) for line in judged)
        return (
            f"{self.paper}: {len(lines)} relations in displays; {by}; {decided} decided, "
            f"{steps} follow from undecided lines; reasons: {why}"
        )

    def to_dict(self) -> dict[str, object]:
        """Lines and counts, for JSON."""
        lines = [line.to_dict() for line in self.lines]
        return {"paper": self.paper, "lines": lines, "counts": self.counts(), "reasons": self.reasons()}

    def reasons(self) -> dict[str, int]:
        """How often each reason of the closed list occurs."""
        return dict(Counter(line.reason.partition(":")[0] for line in self.lines if line.by == "reason"))


def coverage_by_print(
    card: Card, source: Print, rows: Iterable[Row], *, effort: float = 0.3, jobs: int = 1, memory: float = MEMORY
) -> Walk:
    """The table of a paper.

    Parameters
    ----------
    card, source : the card and the print of its paper.
    rows : of the audit (and of ``verify``, if there are any).
    effort : of the engines for a relation that only the print layer judges, in seconds of an idle machine, counted.
    jobs : processes.
    memory : bytes that the engines may use.
    """
    paper = Paper(card, source)
    known = matches(paper)
    verdicts = _verdicts(card.key, rows)
    displays = [one for one in paper.read if one.formula.kind == "display"]
    printed = [p for one in displays for p in relations_of(one)]
    ours = {p.name: _by_card(card.key, p, known[p.name], verdicts) for p in printed if p.name in known}
    open_ = [p for p in printed if p.name not in ours or not ours[p.name].decided]
    with memory_limit(memory):
        judged = shared(_task, [(paper, one, effort) for one in open_], jobs, lambda number, count: None)
    free = {p.name for p in printed if not _running(p) & paper.notation.indices and not p.conditions}
    found = {one.name: line for one, line in zip(open_, judged)}
    alone = _grounded(found, [line for line in ours.values() if line.name in free])
    steps = tuple((one.formula, tuple(_lines(card.key, one, ours, alone))) for one in displays)
    return Walk(card.key, steps)


def _running(printed: Printed) -> set[str]:
    """The free letters of a relation."""
    return free_letters(printed.relation.left) | free_letters(printed.relation.right)


def _grounded(alone: dict[str, Line], ours: Iterable[Line]) -> dict[str, Line]:
    """Lines that follow from lines hold where those do: by the print layer, or by a row of the card as printed.

    ``ours`` are lines of the card without running letters: of these a card may have ranges of its own.
    """
    every = [*alone.values(), *(line for line in ours if line.by == "card")]
    held = {line.name for line in every if line.verdict == "holds"}
    holds = grounded({line.name: line.uses for line in alone.values() if line.uses}, held)
    return {
        name: replace(line, verdict="holds", uses=()) if line.uses and name in holds else line
        for name, line in alone.items()
    }


def _task(task: tuple[Paper, Printed, float]) -> Line:
    """The line of a relation that the card does not have."""
    paper, printed, effort = task
    formula, key = printed.formula, paper.card.key
    shown = _shown(printed)
    if formula.within.startswith(("assumption", "condition")):
        return Line(key, printed.name, formula.place, shown, "reason", reason="assumption")
    try:
        found = judge(paper, printed, effort)
    except OutOfScope as reason:
        return Line(key, printed.name, formula.place, shown, "reason", reason=str(reason))
    return Line(
        key, printed.name, formula.place, shown, "print layer", found.verdict, reason=found.reason, uses=found.uses
    )


def _shown(printed: Printed) -> str:
    one = printed.relation
    return f"{to_text(one.left)} {one.op} {to_text(one.right)}"


def _lines(key: str, one: ReadFormula, ours: Mapping[str, Line], alone: Mapping[str, Line]) -> Iterable[Line]:
    formula = one.formula
    if not one.statements:
        yield Line(key, f"{formula.n}.1", formula.place, "", "reason", reason=f"not read: {one.reason}: {one.message}")
        return
    found = relations_of(one)
    if not found:
        yield Line(key, f"{formula.n}.1", formula.place, "", "reason", reason=NO_RELATION)
    for printed in found:
        card, layer = ours.get(printed.name), alone.get(printed.name)
        if card is None or (layer is not None and (layer.decided or (layer.uses and card.by != "with verify"))):
            assert layer is not None
            yield layer if card is None else replace(layer, entry=card.entry, claim=card.claim)
        else:
            yield card


def _verdicts(key: str, rows: Iterable[Row]) -> _Verdicts:
    """Rows that judge relations of a card, by entry and claim."""
    found: _Verdicts = {}
    for row in rows:
        if row.paper == key and row.statement and row.judges == "relation":
            found.setdefault((row.statement, row.claim or ""), []).append(row)
    return found


def _by_card(key: str, printed: Printed, ours: Sequence[Match], verdicts: _Verdicts) -> Line:
    """The line of a relation that the card has: the best row of its items."""
    best = max((_ranked(m, verdicts) for m in ours), key=lambda r: r[0])
    (_, match, row), item = best, best[1].item
    place, shown = printed.formula.place, _shown(printed)
    if row is None:
        how = f"{item.over or 'no row of the audit'}: {item.entry}/{item.claim}"
        by = "with verify" if item.over else "card, marked"
        return Line(key, printed.name, place, shown, by, "with verify" if item.over else "undecided", item.entry,
                    item.claim, how)  # fmt: skip
    exact = match.exact and row.as_printed
    marks = row.marks or (() if exact else ("in the card's own form",))
    return Line(key, printed.name, place, shown, "card" if exact else "card, marked", row.verdict, item.entry,
                item.claim, row.reason or "", marks)  # fmt: skip


def _ranked(match: Match, verdicts: _Verdicts) -> tuple[tuple[int, int, int], Match, Row | None]:
    """Refuted as printed first, then decided as printed, then marked ones, then what only runs judge."""
    rows = _rows_of(match.item, verdicts)
    if not rows:
        return (0, match.exact, bool(match.item.over)), match, None
    row = max(rows, key=lambda r: _rank(r, match.exact))
    return _rank(row, match.exact), match, row


def _rank(row: Row, exact: bool) -> tuple[int, int, int]:
    printed = exact and row.as_printed
    return (2 if printed else 1, row.verdict in ("refuted", "inconsistent"), row.verdict in DECIDED)


def _rows_of(item: Item, verdicts: _Verdicts) -> list[Row]:
    """The rows of an item, repaired forms and readings apart."""
    rows = verdicts.get((item.entry, item.claim), [])
    own = [r for r in rows if not any(m.startswith(("repaired", "reading")) for m in r.marks)]
    return own or [r for r in rows if not any(m.startswith("repaired") for m in r.marks)]
