"""Executability: what the printed pseudo-code does not say or cannot do, found by reading it and by trial runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bilevel_verify.audit.entries.run_script import run_script
from bilevel_verify.audit.findings.finding import Finding
from bilevel_verify.audit.scalar.claim import KINDS
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.language import tree
from bilevel_verify.theorems import algorithm as script
from bilevel_verify.theorems.card import Algorithm, Card, Entry
from bilevel_verify.theorems.card_parts import Mark
from bilevel_verify.theorems.pseudocode.assignment import undecided_loops, undecided_reads
from bilevel_verify.theorems.pseudocode.choices import far_constants
from bilevel_verify.theorems.pseudocode.executability import static_findings
from bilevel_verify.theorems.pseudocode.interpreter import ScriptFinding
from bilevel_verify.theorems.pseudocode.trial import trial_findings

ADVICE = "read the drafted steps against the paper and write drafted = false, then this refutes them"


def executability_findings(card: Card, entry: Entry) -> Iterator[Finding]:
    """One finding per defect of an algorithm, or one that says that none was found."""
    if not isinstance(entry, Algorithm) or entry.program is None:
        return
    functions = {*card.functions, *entry.functions, *(a.id for a in card.algorithms)}
    ranges = {name: spec.domain for name, spec in card.letters.items() if spec.domain is not None}
    ranges = {name: domain for name, domain in {**ranges, **entry.for_}.items() if domain.kind in KINDS}
    found = static_findings(entry, supplied=entry.supplied_by, functions=functions, ranges=ranges)
    for number, defect in enumerate(found):
        yield _defect(card, entry, f"defect-{number + 1}", defect)
    for number, defect in enumerate(() if entry.drafted else trial_findings(card, entry)):
        yield _defect(card, entry, f"trial-{number + 1}", defect)
    far = () if found else far_constants(entry.program)
    open_reads = () if found else undecided_reads(entry.program, entry.needs, ranges)
    open_loops = () if found else undecided_loops(entry.program, entry.needs, ranges)
    if open_loops:
        reason = f"whether a loop ends is not decided: {'; '.join(map(str, open_loops))}"
        yield Finding(replace(_row(card, entry, "static", "undecided", reason, ""), certainty=None))
    elif far and not open_reads and _has_entries(entry):
        reason = f"entries of sequences are not followed to where {', '.join(map(str, far))} decides a test or an index"
        yield Finding(replace(_row(card, entry, "static", "undecided", reason, ""), certainty=None))
    elif open_reads:
        names = "; ".join(f"{one.line}: {one.message.partition(',')[0]}" for one in open_reads)
        reason = f"whether every path assigns what is read is not decided: {names}"
        yield Finding(replace(_row(card, entry, "static", "undecided", reason, ""), certainty=None))
    elif not found:
        entries = " (entries of sequences: on the paths of small numbers)" if _has_entries(entry) else ""
        reason = f"every name that is read is assigned{entries}, every input is used"
        row = _row(card, entry, "static", "holds", reason, "")
        if entry.taken:  # the printed list of inputs does not suffice
            reading = "; ".join(f"{name} is taken: {why}" for name, why in entry.taken.items())
            marks = (str(Mark("reading", reading)), *row.marks)
            row = replace(row, reading=reading, as_printed=False, marks=marks)
        yield Finding(row)


def _defect(card: Card, entry: Algorithm, claim: str, defect: ScriptFinding) -> Finding:
    """A defect; of drafted steps it refutes nothing: a machine read them, and words may say what is missing."""
    if entry.drafted:
        reason = f"{defect.kind}: {defect}; {ADVICE}"
        return Finding(replace(_row(card, entry, claim, "undecided", reason, defect.line), certainty=None))
    return Finding(
        _row(card, entry, claim, "refuted", f"{defect.kind}: {defect}", defect.line),
        counterexample={"line": defect.line or "-", "defect": defect.message},
        script=run_script(card, entry, defect),
    )


def _has_entries(algorithm: Algorithm) -> bool:
    nodes = (node for statement in algorithm.program.walk() for node in script.expressions_of(statement))
    return any(isinstance(part, tree.Index) for node in nodes for part in node.walk())


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
