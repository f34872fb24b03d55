"""Links, vector steps and derivations of an entry: verdict, counterexample, script, definedness, repair."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

from bilevel_verify.audit.entries.definedness import effort_within, script_of, undefined, where_defined
from bilevel_verify.audit.entries.drafted import as_drafted, positive
from bilevel_verify.audit.entries.gram import decide_vectors, witness
from bilevel_verify.audit.entries.reading import Written, written
from bilevel_verify.audit.entries.repair import Candidate, Repair, nearest_true
from bilevel_verify.audit.entries.script import growth_script, scalar_script
from bilevel_verify.audit.findings.finding import Finding, Place, exact_text, row_of
from bilevel_verify.audit.orders.derivations import decide_derivation, sides
from bilevel_verify.audit.orders.regimes import domain_of, hidden
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.deciding import decide
from bilevel_verify.errors import MathematicalError
from bilevel_verify.language import to_latex, to_text, tree
from bilevel_verify.numbers.exact import BITS, Formula, middle
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.theorems.card import Card, Derivation, Entry, Inequality, Step
from bilevel_verify.theorems.card_parts import Condition, Expression, Link, Mark
from bilevel_verify.theorems.origins import added_mark, as_printed, not_given, ours_of, unread_of, with_ours
from bilevel_verify.theorems.rewrite import free_letters
from bilevel_verify.theorems.units.unit_table import unit_table
from bilevel_verify.theorems.vocabulary import NUMBERS


@dataclass(frozen=True, slots=True)
class Judge:
    """What the links of one entry share; ``marks`` of the judgement, none where the entry is judged as printed."""

    card: Card
    entry: Entry
    table: Written
    budget: float
    seed: int
    as_printed: bool = True
    marks: tuple[Mark, ...] = ()

    def place(self, claim: str, stated: str | None = None) -> Place:
        """Where a decision belongs."""
        entry = self.entry
        return Place(
            self.card.key,
            entry.id,
            claim,
            entry.source or None,
            entry.reading or None,
            self.as_printed,
            entry.refuted is not None and self.as_printed,
            marks=self.marks,
            stated=stated,
        )


def link_findings(card: Card, entry: Entry, budget: float, seed: int, repairs: bool = False) -> Iterator[Finding]:
    """The links of an entry as printed, under definitions of our own, and those of the repaired form of its card."""
    for form in (as_printed(card, entry), entry, entry.repaired):
        if form is not None:
            own = form is not entry.repaired
            judge = Judge(card, form, written(card, form), budget, seed, own, form.marks)
            found = _links(judge, repairs and own and not form.assumed)
            yield from (_assumed(finding) if form.assumed else finding for finding in found)


def _table(card: Card, entry: Inequality | Step, link: Link, ours: bool = False) -> Written:
    """What is known about the letters of a link; one about a defined letter alone may say what its range is."""
    letters = (free_letters(link.left.tree) | free_letters(link.right.tree)) - NUMBERS
    return written(card, entry, ours, within=not (len(letters) == 1 and letters <= set(entry.define)))


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
            for number, link in enumerate(judge.entry.chain):
                table = _table(judge.card, judge.entry, link)
                yield from _link(replace(judge, table=table, marks=(*judge.marks, *link.marks)), link, number, repairs)
        case Derivation():
            entry = judge.entry
            whole = replace(judge, entry=with_ours(entry))
            for one, reason in _judgements(judge, whole, unread_of_growth(judge.card, entry), ours_of(entry)):
                if reason:
                    yield _not_judged(one, None, 0, reason)
                else:
                    yield from _derivation(one)


def _judgements(
    judge: Judge, whole: Judge, unread: tuple[str, ...], ours: tuple[str, ...]
) -> Iterator[tuple[Judge, str]]:
    """The judgements of one relation: as printed, and in ``whole`` under what the card adds to the print.

    With each the reason why it cannot be made, or "": what nobody has read may belong to the print or not.
    """
    if not unread and not ours:
        yield judge, ""
        return
    if not judge.marks:
        yield judge, not_given(unread) if unread else ""
    yield replace(whole, marks=(*judge.marks, added_mark((*unread, *ours)))), ""


def _not_judged(judge: Judge, link: Link | None, number: int, reason: str) -> Finding:
    """A relation as printed that is not judged, with the reason."""
    entry = judge.entry
    if link is None:
        assert isinstance(entry, Derivation)
        link, kind, claim = _growth(entry), "derivation", "derivation"
    else:
        kind, claim = "step-algebra" if isinstance(entry, Step) else "inequality", f"link-{number + 1}"
    decision = Decision("undecided", "origins")
    row = row_of(
        judge.place(claim, _stated(judge, link, number)), kind, decision, link.left.text, link.op, link.right.text
    )
    return Finding(replace(row, reason=reason), printed=_quoted(judge, link, number), repaired=_repair_text(entry))


def _derivation(judge: Judge) -> Iterator[Finding]:
    """An order, and once more where it holds under a hypothesis that keeps its logarithms away from 0."""
    finding, wanting = _order(judge)
    yield finding
    if wanting:
        ours = tuple(Condition(node, to_text(node), "", True) for node in wanting)
        marks = (*judge.marks, added_mark(c.text for c in ours))
        entry = replace(judge.entry, where=(*judge.entry.where, *ours))
        second, _ = _order(replace(judge, entry=entry, marks=marks, as_printed=False))
        if second.verdict == "holds":
            yield second


def _order(judge: Judge) -> tuple[Finding, tuple[tree.Node, ...]]:
    entry = judge.entry
    assert isinstance(entry, Derivation)
    narrower = with_ours(entry) if entry.added and not entry.narrowed else None
    assert narrower is None or isinstance(narrower, Derivation)
    decision = decide_derivation(judge.card, entry, narrower)
    if entry.drafted and decision.outcome == "refuted":
        text = f"may grow faster: {decision.certificate}; the regime of the text is not known to the draft"
        decision = Decision("undecided", "order algebra", text)
    link = _growth(entry)
    place = judge.place("derivation", _stated(judge, link, 0))
    fixed = sorted(hidden(judge.card, sides(entry)))
    place = replace(place, details={**place.details, "premise": list(entry.premise) or None, "fixed": fixed or None})
    row = row_of(place, "derivation", decision, entry.result.text, "<=", entry.gives.text)
    shown, script = None, None
    if decision.outcome == "refuted" and decision.ray is not None:
        shown = decision.ray.family()
        script = growth_script(*sides(entry), decision.ray)
    printed = _quoted(judge, link, 0)
    found = Finding(row, printed=printed, counterexample=shown, repaired=_repair_text(entry), script=script)
    return found, decision.wanting


def _growth(entry: Derivation) -> Link:
    return Link(entry.result, "<=", entry.gives)


def unread_of_growth(card: Card, entry: Derivation) -> tuple[str, ...]:
    """Conditions and ranges in force in a comparison of growth of which nobody has said where they come from.

    That a letter is positive is no hypothesis there: monomials are compared.
    """
    names = set().union(*(free_letters(side) for side in sides(entry))) - NUMBERS
    ranges = {n: d for n in sorted(names) if (d := domain_of(card, entry, n)) is not None}
    ranges = {n: d for n, d in ranges.items() if d.text.replace(" ", "") not in ("(0,oo)", "[0,oo)")}
    return unread_of((*entry.where, *(entry.regime or card.regimes.get("default", ()))), ranges)


def _link(judge: Judge, link: Link, number: int, repairs: bool) -> Iterator[Finding]:
    """The judgements of one link: as printed, and under what the card adds to the print."""
    vectors = judge.entry.vectors if isinstance(judge.entry, Step) else ()
    assert isinstance(judge.entry, Inequality | Step)
    whole = replace(judge, table=_table(judge.card, judge.entry, link, ours=True))
    claim = _claim(whole.table, link, vectors)
    unread, ours = ((), ()) if claim is None else (whole.table.unread(claim), whole.table.ours(claim))
    for one, reason in _judgements(judge, whole, unread, ours):
        if reason:
            yield _not_judged(one, link, number, reason)
        elif judge.entry.drafted:
            yield from _drafted(one, link, number, vectors, repairs)
        else:
            yield from _judged(one, link, number, vectors, repairs)


def _drafted(judge: Judge, link: Link, number: int, vectors: tuple[str, ...], repairs: bool) -> Iterator[Finding]:
    """A drafted link as printed; where it does not hold so, with the letters without a range taken positive."""
    first, *others = _judged(judge, link, number, vectors, repairs)
    yield first
    yield from (f for f in others if f.row.claim and f.row.claim.endswith("nearest true"))
    claim = _claim(judge.table, link, vectors)
    if first.verdict in ("holds", "refuted") or claim is None:
        return
    table, texts = positive(judge.table, claim, judge.entry)
    if texts:
        marked = replace(judge, table=table, marks=(*judge.marks, added_mark(texts)), as_printed=False)
        second = next(iter(_judged(marked, link, number, vectors, False)))
        if second.verdict == "holds":
            yield second


def _judged(judge: Judge, link: Link, number: int, vectors: tuple[str, ...], repairs: bool) -> Iterator[Finding]:
    judge, claim, decision = _decided(judge, link, vectors)
    definedness, needed = _definedness(judge, claim, vectors)
    decision = where_defined(decision, definedness)
    if judge.entry.drafted:
        decision = as_drafted(judge.entry, claim, decision, definedness, seed=judge.seed, effort=judge.budget)
    kind = "step-algebra" if vectors else "inequality"
    place = judge.place(f"link-{number + 1}", _stated(judge, link, number))
    place = replace(place, details={**place.details, "definitions": _definitions(judge, link, decision) or None})
    refuted = decision.outcome == "refuted" and claim is not None
    numbers = claim
    if refuted and claim is not None and vectors:  # numbers in place of vectors show it as well
        numbers, decision = witness(claim, vectors, decision, judge.seed)
    row = row_of(place, kind, decision, link.left.text, link.op, link.right.text)
    finding = Finding(
        row,
        printed=_quoted(judge, link, number),
        counterexample=exact_text(decision.point) if refuted else None,
        repaired=_repair_text(judge.entry),
        script=scalar_script(numbers, decision.point) if refuted and numbers is not None else None,
        claim=claim,
        vectors=vectors,
    )
    if refuted and repairs and not judge.marks and not vectors and finding.repaired is None:
        repair = _search(judge, link)
        yield replace(finding, repaired=None if repair is None else f"{repair.text} [{repair.change}]")
        if repair is not None:
            yield _repair_finding(judge, number, repair)
    else:
        yield finding
    if claim is not None and definedness.outcome != "proved":
        yield _pole(judge, link, number, claim, definedness, None if vectors else needed)  # no script for vectors


def _decided(judge: Judge, link: Link, vectors: tuple[str, ...]) -> tuple[Judge, ScalarClaim | None, Decision]:
    """The decision of a link, and in whose judgement: without the ranges of letters that the entry defines, where it is
    proved without them, which is easier to see.
    """
    bare = replace(judge.table, where=tuple(node for _, node in judge.table.conditions))
    if bare.where != judge.table.where:
        without = replace(judge, table=bare)
        claim, decision = _decision(without, link, vectors)
        if claim is not None and decision.outcome == "proved":
            return without, claim, decision
    return judge, *_decision(judge, link, vectors)


def _definitions(judge: Judge, link: Link, decision: Decision) -> dict[str, str]:
    """Letter of the relation -> its definition in force, with its value at the counterexample where there is one."""
    found = {}
    letters = free_letters(link.left.tree) | free_letters(link.right.tree)
    for name in sorted(letters & judge.table.formulas.keys()):
        found[name] = to_text(judge.table.formulas[name])
        with suppress(MathematicalError, KeyError, ValueError), precision(BITS):
            value = Formula(decision.point).value(judge.table.out(tree.Letter(name)))
            found[name] += f" = {value if isinstance(value, Fraction) else format(middle(value), '.9g')}"
    return found


def _claim(table: Written, link: Link, vectors: tuple[str, ...]) -> ScalarClaim | None:
    """The link as a relation between scalars; None where it has no reading as one."""
    try:
        claim = table.claim(link)
    except ValueError:  # definitions that do not end, functions without a scalar value
        return None
    return replace(claim, domains={n: d for n, d in claim.domains.items() if n not in vectors})


def _decision(judge: Judge, link: Link, vectors: tuple[str, ...]) -> tuple[ScalarClaim | None, Decision]:
    try:
        claim = judge.table.claim(link)
        if not vectors:
            return claim, decide(claim, seed=judge.seed, effort=judge.budget)
        domains = {n: d for n, d in claim.domains.items() if n not in vectors}
        scalars = ScalarClaim(claim.left, claim.op, claim.right, domains, claim.where)
        return scalars, decide_vectors(scalars, vectors, seed=judge.seed, effort=judge.budget)
    except ValueError as reason:  # definitions that do not end, functions without a scalar value
        return None, Decision("undecided", "reading", str(reason))


def _definedness(
    judge: Judge, claim: ScalarClaim | None, vectors: tuple[str, ...]
) -> tuple[Decision, ScalarClaim | None]:
    """Whether both sides are defined on the whole printed range; of steps with vectors, their scalar parts."""
    if claim is None:
        return Decision("proved", "definedness"), None
    return undefined(claim, judge.seed, vectors, effort=effort_within(judge.budget))


def _pole(
    judge: Judge, link: Link, number: int, claim: ScalarClaim, decision: Decision, needed: ScalarClaim | None
) -> Finding:
    """A finding of its own where a side is not (shown to be) defined on the whole printed range."""
    place = judge.place(f"link-{number + 1}: defined", _latex(judge, link.left.tree, link.op, link.right.tree))
    row = row_of(place, "definedness", decision, link.left.text, link.op, link.right.text)
    refuted = decision.outcome == "refuted"
    return Finding(
        row,
        counterexample=exact_text(decision.point) if refuted else None,
        script=script_of(claim, needed, decision.point) if refuted and needed is not None else None,
    )


def _search(judge: Judge, link: Link) -> Repair | None:
    units = unit_table(judge.card)

    def claim_of(candidate: Candidate) -> ScalarClaim:
        table = judge.table
        if candidate.hypothesis is not None:
            table = replace(table, where=(*table.where, table.out(candidate.hypothesis)))
        changed = Link(Expression(candidate.left, ""), candidate.op, Expression(candidate.right, ""))
        return table.claim(changed)

    def fits(left: tree.Node, right: tree.Node) -> bool:
        return not judge.card.units or not units.relation(left, right)

    return nearest_true(link.left.tree, link.op, link.right.tree, claim_of, fits, seed=judge.seed)


def _repair_finding(judge: Judge, number: int, repair: Repair) -> Finding:
    place = replace(judge.place(f"link-{number + 1}: nearest true"), as_printed=False, known_refuted=False)
    place = replace(place, details={"change": repair.change}, marks=(Mark("repaired", repair.change),))
    place = replace(place, stated=_latex(judge, repair.left, repair.op, repair.right))
    left, right = to_text(repair.left), to_text(repair.right)
    row = row_of(place, "inequality", repair.decision, left, repair.op, right)
    where = "" if repair.hypothesis is None else f"where {to_text(repair.hypothesis)}; "
    return Finding(replace(row, reason=f"{where}{row.reason}"))


def _latex(judge: Judge, left: tree.Node, op: str, right: tree.Node) -> str:
    return to_latex(tree.Compare((left, right), (op,)), display(judge.card))


def display(card: Card) -> dict[str, str]:
    """Letter -> the paper's own symbol."""
    return {name: spec.display for name, spec in card.letters.items() if spec.display}


def _quoted(judge: Judge, link: Link, number: int) -> str | None:
    """What the card quotes for a link."""
    return link.printed or _of(judge.entry.printed, number)


def _stated(judge: Judge, link: Link, number: int) -> str | None:
    """The display of the card's own making for a link; where it quotes nothing either, the LaTeX of what was read."""
    stated = link.stated or _of(judge.entry.stated, number)
    if stated or _quoted(judge, link, number):
        return stated
    return _latex(judge, link.left.tree, link.op, link.right.tree)


def _of(texts: tuple[str, ...], number: int) -> str | None:
    return (texts[number] or None) if number < len(texts) else None


def _repair_text(entry: Entry) -> str | None:
    repaired = entry.repaired
    if isinstance(repaired, Inequality | Step):
        return "; ".join(to_text(tree.Compare((k.left.tree, k.right.tree), (k.op,))) for k in repaired.chain)
    if isinstance(repaired, Derivation):
        return to_text(repaired.gives.tree)
    return None
