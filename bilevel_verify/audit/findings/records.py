"""What a card records as refuted is shown as refuted: by its findings, or by running the recorded counterexample again.

A record that its own audit contradicts, or that nothing repeats, is shown as open: the word of a card refutes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bilevel_verify.audit.findings.finding import Finding
from bilevel_verify.checks.engine import verify
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.problems.family import ProblemFamily
from bilevel_verify.problems.files import from_spec
from bilevel_verify.problems.problem import Problem
from bilevel_verify.theorems.card import NEVER, Card, Claim, Entry, Statement
from bilevel_verify.theorems.card_parts import Refuted

NOT_REPEATED = "not repeated here"
OWN = ("added", "repaired")
"""Marks of rows that are not about the recorded relation under its printed hypotheses."""
LEAVES = ("constants", "truth", "user", "problem")
"""Sources of letters that an instance or a user gives; the others are prescribed."""


def with_records(card: Card, entry: Entry, found: Sequence[Finding]) -> list[Finding]:
    """The findings about an entry, its recorded refutations among them; those of claims are run once more."""
    findings = list(found) if entry.refuted is None else _of_entry(card, entry, entry.refuted, found)
    if isinstance(entry, Statement):
        for claim in entry.claims:
            if claim.refuted is not None:
                units = [
                    f for f in findings if f.row.kind == "units" and f.row.verdict == "refuted" and _names(claim, f)
                ]
                if not (claim.refuted.never == "units" and units):
                    findings += _of_claim(card, entry, claim, claim.refuted)
    return findings


def _names(claim: Claim, finding: Finding) -> bool:
    """Whether a finding is about a claim, or about one of the links of its chain."""
    return (finding.row.claim or "").partition("/")[0] == claim.id


def _of_entry(card: Card, entry: Entry, record: Refuted, found: Sequence[Finding]) -> list[Finding]:
    """A recorded entry: where nothing that is judged as printed breaks, the record itself stands as a row."""
    printed = [f.row for f in found if f.row.as_printed]
    relations = [row for row in printed if row.judges == "relation"]
    broken = [row for row in printed if row.verdict == "refuted"]
    if any(row.judges == "relation" for row in broken):
        return list(found)
    if not broken and relations and all(row.verdict == "holds" for row in relations):
        return [_contradicted(f) if f.row in relations else f for f in found]
    own = [f for f in found if f.row.verdict == "refuted" and _is_own(f.row)]
    marked = [f for f in own if f.row.judges == "relation"]
    broken = broken or [f.row for f in own if not marked]  # its units, or where it is defined
    shown = ", ".join(dict.fromkeys(f"{row.kind} of {row.claim}" for row in broken))
    other = "; ".join(dict.fromkeys(mark for f in marked for mark in f.row.marks))
    how = f"shown by {shown}" if broken else f"repeated, but not as printed: {other}" if marked else NOT_REPEATED
    row = _row(card, entry, None, entry.kind.replace("_", " "), f"on record: {record.why} ({how})")
    if not broken and not marked:
        row = replace(row, verdict="undecided")
    alone = len(relations) == 1
    kept = [f for f in found if not (alone and f.row in relations and f.row.verdict == "holds")]
    printed_text = next((text for text in entry.printed if text), None)
    if not own:
        return [*kept, Finding(row, printed=printed_text)]
    first = min(marked or own, key=lambda f: f.row.kind == "units")
    stated = first.row.stated if first.row.kind != "units" else None  # sides whose units are compared are no equation
    row = replace(row, left=first.row.left, right=first.row.right, stated=stated, details=first.row.details,
                  measured=first.row.measured, bound=first.row.bound)  # fmt: skip
    return [*kept, replace(first, row=row, printed=printed_text)]


def _is_own(row: Row) -> bool:
    """Whether a marked row is about the recorded relation, not about a repaired form."""
    return bool(row.marks) and not any(mark.startswith("repaired") for mark in row.marks)


def _contradicted(finding: Finding) -> Finding:
    reason = f"on record as refuted, but: {finding.row.reason}; the record or the card's relation is wrong"
    return replace(finding, row=replace(finding.row, verdict="undecided", certainty=None, reason=reason))


def _of_claim(card: Card, entry: Statement, claim: Claim, record: Refuted) -> Iterator[Finding]:
    """A recorded claim: the recorded counterexample again, or the record itself.

    A counterexample that needs a named reading of a letter is not about the printed relation alone: the record stands
    beside it as the row as printed.
    """
    printed = next((text for text in claim.printed if text), None)
    rows = _again(card, entry, claim, record) if record.on else []
    broken = [row for row in rows if row.verdict in ("refuted", "inconsistent")]
    for row in broken:
        reason = f"on record: {record.why}; again here: {row.reason or 'every hypothesis holds and the bound does not'}"
        command = row.reproduce if isinstance(record.on, str) else None
        found = replace(row, reason=reason, known_refuted=True, reproduce=command)
        yield Finding(found, printed=printed, counterexample=_instance(record))
    if broken and not any(row.as_printed for row in broken) and not claim.marks:
        readings = "; ".join(dict.fromkeys(mark for row in broken for mark in row.marks))
        row = _row(
            card, entry, claim, claim.over, f"on record: {record.why} (repeated, but not as printed: {readings})"
        )
        yield Finding(row, printed=printed, counterexample=_instance(record))
    if not broken:
        outcome = "; ".join(dict.fromkeys(f"{row.verdict}: {row.reason or 'kept'}" for row in rows))
        name = record.on if isinstance(record.on, str) else "the recorded problem"
        how = f"{name} gives {outcome}" if rows else "; ".join(filter(None, (NEVER.get(record.never), NOT_REPEATED)))
        row = _row(card, entry, claim, claim.over, f"on record: {record.why} ({how})")
        yield Finding(replace(row, verdict="undecided"), printed=printed)


def _instance(record: Refuted) -> dict[str, str]:
    """The recorded counterexample as text: the problem, the tolerance, the start, the letters."""
    problem = {"problem": record.on} if isinstance(record.on, str) else record.on
    shown = {name: _in_words(value) for name, value in problem.items()}
    for name, numbers in (("eps", record.eps), ("x0", record.x0)):
        if numbers:
            shown[name] = ", ".join(f"{number:g}" for number in numbers)
    digits = {"digits": str(record.digits)} if record.digits else {}
    return {**shown, **{name: str(value) for name, value in record.set.items()}, **digits}


def _in_words(value: object) -> str:
    """A value of a problem's table; a set as its name with its numbers."""
    if not isinstance(value, Mapping):
        return str(value)
    told = [f"{n} = ({', '.join(map(str, v))})" if isinstance(v, list | tuple) else f"{n} = {v}"
            for n, v in value.items() if n != "set"]  # fmt: skip
    return f"{value.get('set', '')} with {', '.join(told)}".strip()


def _problem(entry: Statement, claim: Claim, record: Refuted) -> str | Problem | ProblemFamily:
    """The problem of a recorded counterexample: a name of the zoo, or what its table says."""
    return record.on if isinstance(record.on, str) else from_spec(record.on, name=f"{entry.id}-{claim.id}")


def _again(card: Card, entry: Statement, claim: Claim, record: Refuted) -> list[Row]:
    """Rows of the claim on the recorded instance, as printed or with the numbers of a named reading for its letters."""
    alone = (card, replace(entry, claims=(replace(claim, readings=(), repaired=None),)))
    given = {n: v for n, v in record.set.items() if card.letters[n].source in LEAVES}
    chosen = {n: v for n, v in record.set.items() if n not in given}
    accuracies, start = list(record.eps) or None, list(record.x0) or None
    digits: dict[str, Any] = {"digits": record.digits} if record.digits else {}
    try:
        problem = _problem(entry, claim, record)
        found = verify(problem, alone, eps=accuracies, x0=start, parameters=chosen, values=given, **digits)
    except BilevelVerifyError as error:
        reason = f"cannot be run: {error}"
        return [replace(_row(card, entry, claim, claim.over, reason), verdict="undecided")]
    return [row for row in found.claims if not any(mark.startswith(OWN) for mark in row.marks)]


def _row(card: Card, entry: Entry, claim: Claim | None, kind: str, reason: str) -> Row:
    links = claim.chain if claim is not None else ()
    return Row(
        paper=card.key,
        statement=entry.id,
        claim=claim.id if claim is not None else "on record",
        source=(claim.source if claim is not None else "") or entry.source or None,
        problem=None,
        method=None,
        kind=kind,
        verdict="refuted",
        left=links[0].left.text if links else None,
        right=links[-1].right.text if links else None,
        reason=reason,
        known_refuted=True,
        marks=(marks := tuple(str(mark) for mark in claim.marks) if claim is not None else ()),
        as_printed=not marks,
        details={"op": links[0].op} if links else {},
    )
