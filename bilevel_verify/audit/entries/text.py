"""Executability: what the printed pseudo-code does not say or cannot do, found by reading it and by trial runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bilevel_verify.audit.findings.finding import Finding
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.language import tree
from bilevel_verify.theorems.card import Algorithm, Card, Entry
from bilevel_verify.theorems.card_parts import Mark
from bilevel_verify.theorems.pseudocode.assignment import Range
from bilevel_verify.theorems.pseudocode.executability import static_findings
from bilevel_verify.theorems.pseudocode.trial import trial_findings


def executability_findings(card: Card, entry: Entry) -> Iterator[Finding]:
    """One finding per defect of an algorithm, or one that says that none was found."""
    if not isinstance(entry, Algorithm) or entry.program is None:
        return
    functions = {*card.functions, *entry.functions, *(a.id for a in card.algorithms)}
    found = static_findings(entry, supplied=entry.supplied_by, functions=functions, least=_least(card))
    for number, defect in enumerate(found):
        yield Finding(
            _row(card, entry, f"defect-{number + 1}", "refuted", f"{defect.kind}: {defect}", defect.line),
            counterexample={"line": defect.line or "-", "defect": defect.message},
        )
    trials = trial_findings(card, entry)
    for number, defect in enumerate(trials):
        yield Finding(
            _row(card, entry, f"trial-{number + 1}", "refuted", f"{defect.kind}: {defect}", defect.line),
            counterexample={"line": defect.line or "-", "defect": defect.message},
        )
    if not found:
        reason = "every name that is read is assigned, every input is used"
        row = _row(card, entry, "static", "holds", reason, "")
        if entry.taken:  # the printed list of inputs does not suffice
            reading = "; ".join(f"{name} is taken: {why}" for name, why in entry.taken.items())
            marks = (str(Mark("reading", reading)), *row.marks)
            row = replace(row, reading=reading, as_printed=False, marks=marks)
        yield Finding(row)


def _least(card: Card) -> dict[str, Range]:
    """Lower ends of the ranges of letters that are numbers."""
    found = {}
    for name, spec in card.letters.items():
        low = None if spec.domain is None or spec.domain.lower is None else spec.domain.lower.tree
        if isinstance(low, tree.Number):
            found[name] = low.value, spec.domain.lower_closed  # type: ignore[union-attr]
    return found


def _row(card: Card, entry: Algorithm, claim: str, verdict: str, reason: str, where: str) -> Row:
    return Row(
        paper=card.key,
        statement=entry.id,
        claim=claim,
        source=entry.source or None,
        problem=None,
        method=entry.method or None,
        kind="executability",
        verdict=verdict,  # type: ignore[arg-type]
        certainty="proved",
        where=where or None,
        reason=reason,
        known_refuted=entry.refuted is not None,
        as_printed=not entry.marks,
        marks=tuple(str(mark) for mark in entry.marks),
    )
