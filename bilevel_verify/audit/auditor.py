"""The auditor: every entry of a card through every engine that applies to it.

Runs (claims along trajectories, attacks on lemmas) are the business of ``checks``; here is what needs the text alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from bilevel_verify.audit.derivations import decide_derivation
from bilevel_verify.audit.finding import Finding, Place, exact_text, row_of
from bilevel_verify.audit.homogeneity import unit_findings
from bilevel_verify.audit.identities import identity_findings
from bilevel_verify.audit.reading import Written, written
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.prove import decide
from bilevel_verify.audit.script import scalar_script
from bilevel_verify.audit.steps import decide_step
from bilevel_verify.audit.text import executability_findings
from bilevel_verify.checks.verdict import Row
from bilevel_verify.language import to_latex, to_text, tree
from bilevel_verify.theorems.card import Card, Derivation, Entry, Inequality, Link, Step
from bilevel_verify.theorems.shelf import cards, load_card

Progress = Callable[[str, int, int], None]


def audit(
    paper: str | Path | Card | None = None,
    *,
    statement: str | None = None,
    budget: float = 20.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Finding]:
    """Judge every printed formula of a paper that can be judged without a run.

    Parameters
    ----------
    paper : key of a shipped card, path of a card file, a card, or None for all shipped cards.
    statement : only this entry.
    budget : seconds after which no further engine is started, for each link.
    seed : of the attacks.
    progress : called with (entry, done, total).

    Raises
    ------
    CardError : the card cannot be read; names the card, the statement, the field and the fix.
    """
    chosen = [r.name for r in cards() if not r.error] if paper is None else [paper]
    found: list[Finding] = []
    for item in chosen:
        card = item if isinstance(item, Card) else load_card(item)
        entries = [e for e in card.entries.values() if statement in (None, e.id)]
        for place, entry in enumerate(entries):
            if progress is not None:
                progress(f"{card.key}/{entry.id}", place, len(entries))
            found += findings_of(card, entry, budget=budget, seed=seed)
    return found


def findings_of(card: Card, entry: Entry, *, budget: float = 20.0, seed: int = 0) -> list[Finding]:
    """All findings about one entry: its links, its units, its pseudo-code."""
    table = written(card, entry)
    found = list(unit_findings(card, entry))
    found += list(_links(card, entry, table, budget, seed))
    found += list(executability_findings(card, entry))
    found += list(identity_findings(card, entry, seed))
    if entry.repaired is not None:
        found += list(_links(card, entry.repaired, written(card, entry.repaired), budget, seed, as_printed=False))
    return found


def _links(
    card: Card, entry: Entry, table: Written, budget: float, seed: int, as_printed: bool = True
) -> Iterator[Finding]:
    match entry:
        case Inequality() | Step():
            vectors = entry.vectors if isinstance(entry, Step) else ()
            for number, link in enumerate(entry.chain):
                yield _link(card, entry, table, link, number, vectors, budget, seed, as_printed)
        case Derivation():
            decision = decide_derivation(card, entry)
            place = _place(card, entry, "derivation", as_printed)
            row = row_of(place, "derivation", decision, entry.result.text, "<=", entry.gives.text)
            yield Finding(row, printed=_printed(entry, 0), repaired=_repair_text(entry))


def _link(
    card: Card,
    entry: Entry,
    table: Written,
    link: Link,
    number: int,
    vectors: tuple[str, ...],
    budget: float,
    seed: int,
    as_printed: bool,
) -> Finding:
    claim, decision = _decision(table, link, vectors, budget, seed)
    kind = "step-algebra" if vectors else "inequality"
    place = _place(card, entry, f"link-{number + 1}", as_printed)
    row = row_of(place, kind, decision, link.left.text, link.op, link.right.text)
    refuted = decision.outcome == "refuted" and claim is not None
    return Finding(
        row,
        printed=link.printed or to_latex(tree.Compare((link.left.tree, link.right.tree), (link.op,)), display(card)),
        counterexample=exact_text(decision.point) if refuted else None,
        repaired=_repair_text(entry),
        script=scalar_script(claim, decision.point) if refuted and claim is not None and not vectors else None,
    )


def _decision(
    table: Written, link: Link, vectors: tuple[str, ...], budget: float, seed: int
) -> tuple[ScalarClaim | None, Decision]:
    try:
        claim = table.claim(link)
        if not vectors:
            return claim, decide(claim, seed=seed, seconds=budget)
        domains = {n: d for n, d in claim.domains.items() if n not in vectors}
        scalars = ScalarClaim(claim.left, claim.op, claim.right, domains, claim.where)
        return scalars, decide_step(scalars, vectors, seed=seed, seconds=budget)
    except ValueError as reason:  # definitions that do not end, functions without a scalar value
        return None, Decision("undecided", "reading", str(reason))


def display(card: Card) -> dict[str, str]:
    """Letter -> the paper's own symbol."""
    return {name: spec.display for name, spec in card.letters.items() if spec.display}


def tally(rows: Iterable[Row]) -> dict[str, int]:
    """How often each verdict occurs."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.verdict] = counts.get(row.verdict, 0) + 1
    return counts


def _place(card: Card, entry: Entry, claim: str, as_printed: bool) -> Place:
    known = entry.refuted is not None and as_printed
    return Place(card.key, entry.id, claim, entry.source or None, entry.reading or None, as_printed, known)


def _printed(entry: Entry, number: int) -> str | None:
    return entry.printed[number] if number < len(entry.printed) else None


def _repair_text(entry: Entry) -> str | None:
    repaired = entry.repaired
    if isinstance(repaired, Inequality | Step):
        return "; ".join(to_text(tree.Compare((k.left.tree, k.right.tree), (k.op,))) for k in repaired.chain)
    if isinstance(repaired, Derivation):
        return to_text(repaired.gives.tree)
    return None
