"""Links, vector steps and derivations of an entry: verdict, counterexample, script, definedness, repair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bilevel_verify.audit.definedness import undefined
from bilevel_verify.audit.derivations import decide_derivation, sides
from bilevel_verify.audit.finding import Finding, Place, exact_text, row_of
from bilevel_verify.audit.reading import Written, written
from bilevel_verify.audit.regimes import hidden
from bilevel_verify.audit.repair import Candidate, Repair, nearest_true
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.prove import decide
from bilevel_verify.audit.script import growth_script, scalar_script, undefined_script
from bilevel_verify.audit.steps import decide_step, refuted_in_numbers
from bilevel_verify.language import to_latex, to_text, tree
from bilevel_verify.theorems.card import Card, Derivation, Entry, Expression, Inequality, Link, Step
from bilevel_verify.theorems.unit_table import unit_table

REPAIR_SECONDS = 12.0


@dataclass(frozen=True, slots=True)
class Judge:
    """What the links of one entry share."""

    card: Card
    entry: Entry
    table: Written
    budget: float
    seed: int
    as_printed: bool = True

    def place(self, claim: str) -> Place:
        """Where a decision belongs."""
        known = self.entry.refuted is not None and self.as_printed
        entry = self.entry
        return Place(
            self.card.key, entry.id, claim, entry.source or None, entry.reading or None, self.as_printed, known
        )


def link_findings(card: Card, entry: Entry, budget: float, seed: int, repairs: bool = False) -> Iterator[Finding]:
    """The links of an entry as printed, and those of the repaired form that its card carries."""
    found = _links(Judge(card, entry, written(card, entry), budget, seed), repairs and not entry.assumed)
    yield from (_assumed(finding) if entry.assumed else finding for finding in found)
    if entry.repaired is not None:
        judge = Judge(card, entry.repaired, written(card, entry.repaired), budget, seed, False)
        yield from _links(judge, False)


def _assumed(finding: Finding) -> Finding:
    """Where an assumption is false the paper says nothing: its range is a remark, never a refutation."""
    if finding.verdict != "refuted":
        return finding
    at = f" at {finding.row.where}" if finding.row.where else ""
    row = replace(finding.row, verdict="not applicable", reason=f"assumed, not claimed; it does not hold{at}")
    return Finding(row, printed=finding.printed)


def _links(judge: Judge, repairs: bool) -> Iterator[Finding]:
    match judge.entry:
        case Inequality() | Step():
            vectors = judge.entry.vectors if isinstance(judge.entry, Step) else ()
            for number, link in enumerate(judge.entry.chain):
                yield from _link(judge, link, number, vectors, repairs)
        case Derivation():
            decision = decide_derivation(judge.card, judge.entry)
            entry = judge.entry
            fixed = sorted(hidden(judge.card, sides(entry)))
            details = {"premise": list(entry.premise) or None, "fixed": fixed or None}
            place = replace(judge.place("derivation"), details=details)
            row = row_of(place, "derivation", decision, entry.result.text, "<=", entry.gives.text)
            shown, script = None, None
            if decision.outcome == "refuted" and decision.ray is not None:
                shown = decision.ray.family()
                script = growth_script(*sides(entry), decision.ray)
            printed = _printed(judge, 0)
            yield Finding(row, printed=printed, counterexample=shown, repaired=_repair_text(entry), script=script)


def _link(judge: Judge, link: Link, number: int, vectors: tuple[str, ...], repairs: bool) -> Iterator[Finding]:
    claim, decision = _decision(judge, link, vectors)
    kind = "step-algebra" if vectors else "inequality"
    row = row_of(judge.place(f"link-{number + 1}"), kind, decision, link.left.text, link.op, link.right.text)
    refuted = decision.outcome == "refuted" and claim is not None
    witness, point = claim, decision.point
    if refuted and claim is not None and vectors:  # numbers in place of vectors show it as well
        found = refuted_in_numbers(claim, vectors, judge.seed)
        witness, point = (None, decision.point) if found is None else (found[0], found[1].point)
    finding = Finding(
        row,
        printed=link.printed or _printed(judge, number) or _latex(judge, link.left.tree, link.op, link.right.tree),
        counterexample=exact_text(point) if refuted else None,
        repaired=_repair_text(judge.entry),
        script=scalar_script(witness, point) if refuted and witness is not None else None,
    )
    if refuted and repairs and not vectors and finding.repaired is None:
        repair = _search(judge, link)
        yield replace(finding, repaired=None if repair is None else f"{repair.text} [{repair.change}]")
        if repair is not None:
            yield _repair_finding(judge, number, repair)
    else:
        yield finding
    if claim is not None and not vectors:
        yield from _definedness(judge, link, number, claim)


def _decision(judge: Judge, link: Link, vectors: tuple[str, ...]) -> tuple[ScalarClaim | None, Decision]:
    try:
        claim = judge.table.claim(link)
        if not vectors:
            return claim, decide(claim, seed=judge.seed, seconds=judge.budget)
        domains = {n: d for n, d in claim.domains.items() if n not in vectors}
        scalars = ScalarClaim(claim.left, claim.op, claim.right, domains, claim.where)
        return scalars, decide_step(scalars, vectors, seed=judge.seed, seconds=judge.budget)
    except ValueError as reason:  # definitions that do not end, functions without a scalar value
        return None, Decision("undecided", "reading", str(reason))


def _definedness(judge: Judge, link: Link, number: int, claim: ScalarClaim) -> Iterator[Finding]:
    """A finding of its own where a side is not defined on the whole printed range; nothing where it is."""
    decision, needed = undefined(claim, judge.seed)
    if decision.outcome == "proved":
        return
    row = row_of(
        judge.place(f"link-{number + 1}: defined"), "definedness", decision, link.left.text, link.op, link.right.text
    )
    refuted = decision.outcome == "refuted"
    yield Finding(
        row,
        printed=_latex(judge, link.left.tree, link.op, link.right.tree),
        counterexample=exact_text(decision.point) if refuted else None,
        script=undefined_script(claim, needed, decision.point) if refuted and needed is not None else None,
    )


def _search(judge: Judge, link: Link) -> Repair | None:
    units = unit_table(judge.card)

    def claim_of(candidate: Candidate) -> ScalarClaim:
        table = judge.table
        if candidate.hypothesis is not None:
            table = Written(table.formulas, table.domains, (*table.where, table.out(candidate.hypothesis)))
        changed = Link(Expression(candidate.left, ""), candidate.op, Expression(candidate.right, ""))
        return table.claim(changed)

    def fits(left: tree.Node, right: tree.Node) -> bool:
        return not judge.card.units or not units.relation(left, right)

    return nearest_true(
        link.left.tree, link.op, link.right.tree, claim_of, fits, seconds=REPAIR_SECONDS, seed=judge.seed
    )


def _repair_finding(judge: Judge, number: int, repair: Repair) -> Finding:
    place = replace(judge.place(f"link-{number + 1}: nearest true"), as_printed=False, known_refuted=False)
    place = replace(place, details={"change": repair.change})
    left, right = to_text(repair.left), to_text(repair.right)
    row = row_of(place, "inequality", repair.decision, left, repair.op, right)
    where = "" if repair.hypothesis is None else f"where {to_text(repair.hypothesis)}; "
    shown = _latex(judge, repair.left, repair.op, repair.right)
    return Finding(replace(row, reason=f"{where}{row.reason}"), printed=shown)


def _latex(judge: Judge, left: tree.Node, op: str, right: tree.Node) -> str:
    return to_latex(tree.Compare((left, right), (op,)), display(judge.card))


def display(card: Card) -> dict[str, str]:
    """Letter -> the paper's own symbol."""
    return {name: spec.display for name, spec in card.letters.items() if spec.display}


def _printed(judge: Judge, number: int) -> str | None:
    printed = judge.entry.printed
    return printed[number] if number < len(printed) else None


def _repair_text(entry: Entry) -> str | None:
    repaired = entry.repaired
    if isinstance(repaired, Inequality | Step):
        return "; ".join(to_text(tree.Compare((k.left.tree, k.right.tree), (k.op,))) for k in repaired.chain)
    if isinstance(repaired, Derivation):
        return to_text(repaired.gives.tree)
    return None
