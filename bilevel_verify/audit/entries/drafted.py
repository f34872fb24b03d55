"""Entries that a machine drafted from a paper: what may be said of them before somebody has read them.

The text may restrict a letter in words that no machine reads. So a point at which a drafted relation fails refutes
nothing; it is shown, and the row is undecided and says which range is missing. Refuted is a drafted relation in two
cases: it is false at every point of the ranges that the paper prints (then no hypothesis can save it), or all its
letters are quantified, with their ranges, in the formula itself. A relation whose letters stand for values of
functions, norms or vectors is never refuted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from bilevel_verify.audit.entries.reading import Written
from bilevel_verify.audit.findings.finding import Finding, Place, row_of
from bilevel_verify.audit.scalar.claim import POSITIVE, Decision, ScalarClaim
from bilevel_verify.audit.scalar.deciding import decide
from bilevel_verify.language import tree
from bilevel_verify.theorems.card import Card, Entry
from bilevel_verify.theorems.card_parts import Domain
from bilevel_verify.theorems.rewrite import infinite

AGAINST = {"<=": (">",), "<": (">=",), ">=": ("<",), ">": ("<=",), "==": ("<", ">")}
ENGINE = "not refuted in a draft"
ZERO = tree.Number(Fraction(0))


def open_letters(claim: ScalarClaim) -> tuple[str, ...]:
    """Letters for which neither the paper nor its author gives a range."""
    return tuple(name for name in claim.letters if not claim.domains[name].origin)


def as_drafted(
    entry: Entry, claim: ScalarClaim | None, decision: Decision, definedness: Decision, *, seed: int, effort: float
) -> Decision:
    """The decision about a drafted relation: a refutation only where it is one of what the paper means."""
    if decision.outcome != "refuted" or claim is None:
        return decision
    if not entry.marks and _quantified(entry, claim):
        return decision
    missing = open_letters(claim)
    if not entry.marks and not missing and definedness.outcome == "proved" and _nowhere(claim, seed, effort):
        return replace(decision, certificate=f"false at every point of the printed ranges; {decision.certificate}")
    return replace(decision, outcome="undecided", engine=_why(entry, decision, missing), certificate="", attacks=0)


def _quantified(entry: Entry, claim: ScalarClaim) -> bool:
    return bool(claim.letters) and set(claim.letters) <= set(entry.quantified)


def _nowhere(claim: ScalarClaim, seed: int, effort: float) -> bool:
    """Whether the relation fails at every point: its negation is proved (of an equation, one strict side)."""
    if not claim.letters:
        return True
    return any(
        decide(replace(claim, op=op), seed=seed, effort=effort).outcome == "proved" for op in AGAINST.get(claim.op, ())
    )


def _why(entry: Entry, decision: Decision, missing: Iterable[str]) -> str:
    """One line: where it fails, and what to give."""
    point = ", ".join(f"{name} = {value}" for name, value in decision.point.items())
    at = f"fails at {point}" if point else "fails somewhere"
    letters = [name for name in missing if not _stands(entry, name)]
    if letters:
        return f"{at}; the text gives no range for {', '.join(letters)}: give it in [letters] (domain, domain_from)"
    if entry.marks:
        return f"{at}; no identity by itself: it needs what the text knows of {_named(entry)}"
    return f"{at}; if that point meets every hypothesis of the text, write drafted = false and it is refuted"


def _stands(entry: Entry, name: str) -> bool:
    return any(mark.name == "letters" and f"{name} stands for" in mark.why for mark in entry.marks)


def _named(entry: Entry) -> str:
    words = [part.partition(" stands for ")[0] for mark in entry.marks for part in mark.why.split("; ")]
    return ", ".join(words[:4]) + (" ..." if len(words) > 4 else "")


def positive(table: Written, claim: ScalarClaim, entry: Entry) -> tuple[Written, tuple[str, ...]]:
    """The letters of an entry with those taken positive that have no range, or may be 0, and the texts that say so."""
    free = [n for n in open_letters(claim) if _whole(claim.domains[n])]
    free += [n for n in claim.letters if claim.domains[n].origin and _not_negative(claim.domains[n])]
    names = [n for n in free if not _stands(entry, n)]
    domains = {**table.domains, **{n: replace(POSITIVE, text="(0, oo)", added=True) for n in names}}
    return replace(table, domains=domains), tuple(f"{name} in (0, oo)" for name in names)


def _whole(domain: Domain) -> bool:
    return domain.kind == "interval" and domain.lower is None and domain.upper is None


def _not_negative(domain: Domain) -> bool:
    """Whether a range is all numbers from 0 on: what a text says of a Lipschitz constant."""
    low = domain.lower.tree if domain.lower is not None else None
    open_end = domain.upper is None or infinite(domain.upper.tree)
    return domain.kind == "interval" and low == ZERO and domain.lower_closed and open_end


def margin_findings(card: Card, entry: Entry) -> list[Finding]:
    """What the draft noted in the margin, as undecided rows that are counted apart: indices, letters."""
    first = next(iter(card.entries), "")
    found = []
    for number, note in enumerate(card.draft.get("note", ()) if card.draft else ()):
        if isinstance(note, dict) and (note.get("entry") or first) == entry.id:
            text = f"{note.get('where', '')}: {note.get('text', '')}"
            place = Place(
                card.key, entry.id, f"note-{number + 1}", str(note.get("where", "")) or None, as_printed=False
            )
            row = row_of(place, "bookkeeping", Decision("undecided", "draft"), "", "", "")
            found.append(Finding(replace(row, left=None, right=None, reason=text)))
    return found
