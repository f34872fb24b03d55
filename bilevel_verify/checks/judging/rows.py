"""Rows: the verdict of one relation with its evidence, and the command that repeats it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING, Any, Literal

from bilevel_verify.checks.claims.claims import Judged
from bilevel_verify.checks.claims.facts import reads_iterates, rests_on_the_end
from bilevel_verify.checks.claims.growth import stays_violated
from bilevel_verify.checks.evidence.confirm import confirmed, met_elsewhere
from bilevel_verify.checks.evidence.drift import is_carried
from bilevel_verify.checks.instances import hypotheses as hyp
from bilevel_verify.checks.instances.premise import Premise
from bilevel_verify.checks.verdicts.verdict import Row, Verdict
from bilevel_verify.methods.run import ENDED
from bilevel_verify.problems.catalogue import names
from bilevel_verify.theorems.card import Claim
from bilevel_verify.theorems.card_parts import Link, Mark
from bilevel_verify.theorems.origins import not_given, unread_claims
from bilevel_verify.theorems.units.unit_table import claim_fault
from bilevel_verify.truth.arithmetic.enclosure import Certainty, weakest

if TYPE_CHECKING:
    from bilevel_verify.checks.instances.case import Case
    from bilevel_verify.checks.requests.request import Request


def verdict_of(case: Case, judged: Judged, along_run: bool) -> tuple[Verdict, str]:
    """Verdict and reason of one relation, hypotheses and containment included."""
    verdict, reason = judged.tally.outcome()
    worst = hyp.combine(case.premises)
    if worst is not None and worst.verdict == "not applicable":
        return "not applicable", worst.reason
    cut = along_run and case.run is not None and case.run.status not in ENDED
    if verdict == "not applicable" and not cut:
        still = reason == "vacuous" and along_run and case.run is not None and case.run.iterations == 0
        return verdict, "vacuous: the run takes no step from this start; give another one (x0)" if still else reason
    if worst is not None:
        return "undecided", worst.reason
    contained = case.contained if along_run else None
    if contained is not None and contained.verdict != "holds":
        return "undecided", contained.reason
    if along_run and case.run is not None:
        verdict, reason = _cut_short(case, judged, verdict, reason)
        if cut and verdict == "refuted" and any(premise.along for premise in case.premises):
            return (
                "undecided",
                f"{status_reason(case.run.status, case.run.note)}, and with it its conditions; {reason}",
            )
    claimed = as_claimed(case, judged.claim, (verdict, reason), judged.link)
    if claimed[0] == "refuted":
        return _publish(case, judged, along_run, claimed[1])
    if claimed[0] == "holds" and along_run and _is_elsewhere(case, judged.claim):
        return met_elsewhere(case, judged)
    if claimed[0] == "holds" and case.instance.local:
        return "holds", "local constants"
    return claimed


def _is_elsewhere(case: Case, claim: Claim) -> bool:
    """Whether a relation may hold along a run in floats only since rounding errors have led it elsewhere.

    A solver of the user is looked at as it is, in its own arithmetic.
    """
    if case.run is None or case.digits is not None or case.in_blocks is not None or callable(case.request.method):
        return False
    return not is_carried(case, reads_iterates(claim))


def as_claimed(case: Case, claim: Claim, outcome: tuple[Verdict, str], *links: Link) -> tuple[Verdict, str]:
    """An outcome as it may be said of a claim: what is assumed is not refuted, what holds between unlike units is open.

    What breaks between unlike units is broken all the same, and the reason names the units. ``links`` are those whose
    two sides the outcome compares (none for an order, which hides a constant with units).
    """
    verdict, reason = outcome
    request = case.request
    if verdict in ("refuted", "inconsistent") and claim.assumed:
        return "not applicable", f"assumed, not claimed: {reason}"
    if verdict not in ("holds", "refuted"):
        return outcome
    faults = (claim_fault(request.card, request.statement, claim, link) for link in links)
    fault = next((fault for fault in faults if fault), "")
    if fault and verdict == "holds":
        return "undecided", f"units: {fault}; that it holds here says nothing in other units"
    return (verdict, f"{reason}; units: {fault}") if fault else outcome


def _cut_short(case: Case, judged: Judged, verdict: Verdict, reason: str) -> tuple[Verdict, str]:
    """A run that was cut short decides nothing about what was not run, unless what is violated now stays violated."""
    assert case.run is not None
    status = case.run.status
    if case.below_precision:
        if not case.whole and (verdict == "not applicable" or rests_on_the_end(judged.claim)):
            return "undecided", f"precision: {case.below_precision}"
        return verdict, seen_in_digits(case) if verdict == "holds" else reason
    if status in ENDED:
        return verdict, reason
    if verdict == "not applicable" or rests_on_the_end(judged.claim):
        if verdict == "refuted" and status == "budget" and stays_violated(judged):
            return verdict, f"{reason}; the run was not even finished"
        return "undecided", status_reason(status, case.run.note)
    if verdict == "holds":
        return (
            "undecided",
            f"{status_reason(status, case.run.note)}; so far, {case.run.iterations} iterations, it holds",
        )
    return verdict, reason


def seen_in_digits(case: Case) -> str:
    """How much of a run was seen whose parameters float64 does not resolve."""
    assert case.trajectory is not None
    how_many = f"{case.trajectory.iterations()} iterations"
    part = f"the whole run, {how_many}" if case.whole else f"the first {how_many}"
    return f"over {part}, in {case.digits} digits: {case.below_precision}"


def status_reason(status: str, note: str = "") -> str:
    """Why a run that did not end by itself decides nothing; pseudo-code that cannot be carried out says where."""
    if status == "budget":
        return "budget: the run was not finished"
    if status == "interrupted" and note:
        return f"hypothesis: the steps cannot be carried out: {note}"
    if status in ("precision", "not finite", "diverged"):
        return f"precision: the run ended as {status}"
    return f"budget: the run ended as {status}"


def on_a_box(names: Sequence[str]) -> str:
    """Why local constants refute nothing, and what turns this into a refutation on the theorem's own domain."""
    hold = "hold" if len(names) > 1 else "holds"
    remedy = (
        "remove [domain] if they stay finite without it, else name the points of the proof: points = [...] in the claim"
    )
    return f"{', '.join(names)} {hold} on a box only ({remedy})"


def _publish(case: Case, judged: Judged, along_run: bool, reason: str) -> tuple[Verdict, str]:
    """A refutation stands on the theorem's own domain, with a trajectory that agrees in 50 digits."""
    if case.instance.local and not judged.claim.points:
        return "undecided", f"local: {reason}, but {on_a_box(case.instance.local)}"
    if not along_run:
        return "refuted", reason
    return confirmed(case, judged, reason)


def row_of(case: Case, judged: Judged, outcome: tuple[Verdict, str]) -> Row:
    """The row of one relation."""
    claim, tally = judged.claim, judged.tally
    verdict, reason = outcome
    shown = tally.shown
    letters = case.resolved.letters
    request = case.request
    name = claim.id if len(claim.chain) == 1 else f"{claim.id}/{judged.number + 1}"
    return Row(
        paper=request.card.key,
        statement=request.statement.id,
        claim=name,
        source=claim.source or request.statement.source or None,
        problem=case.problem.name or None,
        method=case.method if claim.over in ("step", "epoch", "run", "order") else None,
        kind=claim.over,
        verdict=verdict,
        certainty=_certainty(case, judged) if verdict in ("holds", "refuted") else None,
        left=str(judged.link.left),
        right=str(judged.link.right),
        measured=_finite(shown.measured) if shown else None,
        bound=_finite(shown.bound) if shown else None,
        margin=_margin(verdict, shown.margin) if shown else None,
        where=_where(case, shown.where if shown else ""),
        places=tally.places or None,
        reason=reason or None,
        reproduce=command(case),
        reading=readings_of(case, claim),
        as_printed=not (marks := marks_of(case, claim, *judged.link.marks)),
        marks=marks,
        known_refuted=claim.refuted is not None or request.statement.refuted is not None,
        printed=_shown(judged, "printed"),
        stated=_shown(judged, "stated"),
        details={
            "op": judged.link.op,
            "eps": case.eps,
            "knobs": {name: str(value) for name, value in case.problem.knobs.items()},
            "x0": [float(a) for a in case.instance.start],
            "skipped": tally.skipped,
            "parameters": {n: letters[n].run for n in letters if letters[n].chosen},
        },
    )


def _margin(verdict: Verdict, margin: float) -> float | None:
    """What is proved of all places is met at each, also at one where the enclosures of two equal sides overlap."""
    return _finite(max(margin, 0.0) if verdict == "holds" else margin)


def readings_of(case: Case, claim: Claim) -> str | None:
    """Labels of the named readings behind a row."""
    return "; ".join(dict.fromkeys([*case.resolved.readings, *([claim.reading] if claim.reading else [])])) or None


def marks_of(case: Case, claim: Claim, *more: Mark) -> tuple[str, ...]:
    """Why a row about a claim is not about what is printed; empty where it is."""
    named = [Mark("reading", label) for label in case.resolved.readings]
    found = [*case.request.statement.marks, *claim.marks, *more, *named]
    return tuple(dict.fromkeys(str(mark) for mark in found))


def with_unjudged(rows: list[Row], request: Request) -> list[Row]:
    """The rows, and before each one under a hypothesis of unknown origin the row as printed, which is not judged."""
    unread = unread_claims(request.card, request.statement)
    found = []
    for row in rows:
        texts = unread.get((row.claim or "").partition("/")[0])
        added = [mark for mark in row.marks if mark.startswith("added")]
        if texts and len(row.marks) == len(added) == 1:
            blank = dict.fromkeys(("certainty", "measured", "bound", "margin", "places"), None)
            plain = {"verdict": "undecided", "reason": not_given(texts), "marks": (), "as_printed": True}
            found.append(replace(row, **blank, **plain))  # type: ignore[arg-type]
        found.append(row)
    return found


def _shown(judged: Judged, key: Literal["printed", "stated"]) -> str | None:
    """The display of a link: its own, or that of the claim."""
    texts: tuple[str, ...] = getattr(judged.claim, key)
    if len(texts) == len(judged.claim.chain):
        return texts[judged.number] or None
    return next((text for text in texts if text), None)


def _certainty(case: Case, judged: Judged) -> Certainty:
    parts = [judged.tally.certainty, *(p.certainty for p in case.premises if p.verdict == "holds")]
    if case.contained is not None:
        parts.append(case.contained.certainty)
    return weakest(*parts)


def _finite(number: float) -> float | None:
    return None if isnan(number) else number


def _where(case: Case, place: str) -> str | None:
    parts = [f"eps = {case.eps:g}"] if case.eps is not None else []
    return ", ".join([*parts, place] if place else parts) or None


def command(case: Case) -> str:
    """The command line that repeats a check, quoted for the shell."""
    request = case.request
    words = ["bilevel-verify", "verify", request.name]
    problem = case.problem
    words += ["--problem", request.label or (f"zoo:{problem.name}" if problem.name in names() else "PROBLEM.toml")]
    if case.eps is not None:
        words += ["--eps", f"{case.eps:g}" if float(f"{case.eps:g}") == case.eps else repr(case.eps)]
    words += ["--x0=" + ",".join(repr(float(a)) for a in case.instance.start)]
    if request.options.get("y0") is not None:
        words += ["--y0=" + ",".join(repr(float(b)) for b in request.options["y0"])]
    for name, value in {**request.values, **request.parameters}.items():
        words += ["--set", f"{name}={value}"]
    if isinstance(request.method, str):
        words += ["--method", request.method]
    return " ".join(shlex.quote(word) for word in words)


def premise_row(case: Case, premise: Premise) -> Row:
    """A hypothesis as a row."""
    request = case.request
    return Row(
        paper=request.card.key,
        statement=request.statement.id,
        claim=None,
        source=premise.source or None,
        problem=case.problem.name or None,
        method=None,
        kind="hypothesis",
        verdict=premise.verdict,
        certainty=premise.certainty if premise.verdict == "holds" else None,
        left=premise.text,
        margin=premise.margin,
        where=_where(case, premise.witness),
        reason=premise.reason or None,
        reproduce=command(case),
        details={"eps": case.eps},
    )


def plain_row(case: Case, **fields: object) -> Row:
    """A row about the statement on this instance, for scopes that judge in their own way."""
    request = case.request
    base: dict[str, Any] = {
        "paper": request.card.key,
        "statement": request.statement.id,
        "source": request.statement.source or None,
        "problem": case.problem.name or None,
        "method": None,
        "reproduce": command(case),
        "reading": case.resolved.reading,
    }
    return Row(**{**base, **fields})
