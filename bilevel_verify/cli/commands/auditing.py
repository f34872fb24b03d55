"""``audit`` and ``check``: printed formulas, without any run."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bilevel_verify.cli import output
from bilevel_verify.cli.commands.drafting import drafted_cards
from bilevel_verify.errors import CardError, InputError, visible

if TYPE_CHECKING:
    from bilevel_verify.audit.findings.coverage import Line
    from bilevel_verify.audit.findings.finding import Finding
    from bilevel_verify.audit.findings.levels import Levels
    from bilevel_verify.campaign.answers import RestoredAnswer
    from bilevel_verify.checks.verdicts.verdict import Row, RowRecord
    from bilevel_verify.drafting.draft import Draft
    from bilevel_verify.manuscript.fidelity import Row as Quoted
    from bilevel_verify.proofreading.report import Report
    from bilevel_verify.reporting.document import Quotations
    from bilevel_verify.theorems.card import Card

SPARE = 0.6
"""Seconds by the clock beyond its budget that a link may take where others use the processor: the engines load."""


def _relation(row: RowRecord) -> str:
    """Both sides with the relation between them; ``~`` where only their units are compared."""
    if row["left"] is None:
        return ""
    return f"{row['left']} {(row.get('details') or {}).get('op', '~')} {row['right']}"


@dataclass(frozen=True)
class _Judged:
    """What an audit found in its cards: rows, what they cover, planted faults, defects between the formulas, errors."""

    cards: Sequence[Card]
    findings: list[Finding]
    levels: Levels | None
    lines: list[Line]
    mutants: Mapping[str, Any] | None
    reports: Mapping[str, Report]
    errors: list[str]

    @property
    def status(self) -> int:
        """Exit status of what could not be read: 2 if nothing else was."""
        return 0 if not self.errors else 1 if self.findings else 2


def audit_command(arguments: argparse.Namespace) -> int:
    """Judge the printed formulas of one card or of all."""
    judged = _judge(arguments)
    if judged.errors and not judged.cards:
        if arguments.json:
            output.print_json({"error": judged.errors[0], "errors": judged.errors})
        return 2
    if arguments.out:
        _write(judged.findings, judged.lines, judged.cards, Path(arguments.out), judged.reports)
    if arguments.json:
        return max(_print_json(judged, arguments), judged.status)
    status = _show(judged.findings, arguments)
    if judged.levels is not None:
        output.show(str(judged.levels))
    _show_defects(judged.reports)
    _summary(judged.lines, [f.row for f in judged.findings], judged.mutants)
    return max(status, judged.status)


def _judge(arguments: argparse.Namespace) -> _Judged:
    """Read the cards, judge their formulas and, without a single statement in mind, what stands between them."""
    from bilevel_verify.audit import audit
    from bilevel_verify.audit.findings.coverage import coverage

    errors: list[str] = []

    def remember(error: CardError) -> None:
        errors.append(" ".join(str(error).split()))
        output.say(f"error: {errors[-1]}")

    given, drafts = drafted_cards([*arguments.paper, *arguments.card], arguments.out, arguments.answers)
    papers, asked = given or None, arguments.statement
    jobs = arguments.jobs or os.cpu_count() or 1
    progress = _Progress(quiet=arguments.json)
    findings = audit(
        papers, statement=asked, budget=arguments.budget, seed=arguments.seed, progress=progress, quick=arguments.quick,
        jobs=jobs, on_error=remember, memory=arguments.memory * 2**30,
    )  # fmt: skip
    cards = _cards(papers)
    findings += _attacked(cards, arguments, progress)
    progress.close()
    findings, levels = _certified(findings, arguments, jobs)
    rows = [f.row for f in findings]
    lines = [line for card in cards for line in coverage(card, rows) if asked in (None, line.id)]
    mutants = _controls(cards, arguments)
    reports = _proofread(cards, drafts) if asked is None else {}
    return _Judged(cards, findings, levels, lines, mutants, reports, errors)


def _attacked(cards: Sequence[Card], arguments: argparse.Namespace, progress: _Progress) -> list[Finding]:
    """Claims about instances, attacked on families of problems."""
    from bilevel_verify.audit.instances.claims import instance_findings

    return instance_findings(
        cards,
        instances=arguments.instances,
        quick=arguments.quick,
        statement=arguments.statement,
        seed=arguments.seed,
        jobs=arguments.jobs or os.cpu_count() or 1,
        progress=progress,
    )


def _proofread(cards: Sequence[Card], drafts: Mapping[str, Draft]) -> dict[str, Report]:
    """What stands between the formulas: of a paper's source where it was drafted, else of its card and print."""
    from bilevel_verify.proofreading import proofread, proofread_draft

    return {c.key: proofread_draft(drafts[c.key]) if c.key in drafts else proofread(c) for c in cards}


def _show_defects(reports: Mapping[str, Report]) -> None:
    """The defects between the formulas, the gravest first, as a table."""
    lines = [
        [group.first.grade, report.paper, group.first.kind, group.first.place, group.first.title]
        for report in reports.values()
        for group in report.groups
    ]
    if lines:
        output.table("Between the formulas", ["grade", "paper", "kind", "place", "what"], lines)
    counts = [
        [report.paper, kind, *(str(sum(j.kind == kind and j.verdict == verdict for j in report.joints))
                               for verdict in ("holds", "refuted", "undecided"))]
        for report in reports.values() for kind in dict.fromkeys(j.kind for j in report.joints)
    ]  # fmt: skip
    if counts:
        output.table("Joints", ["paper", "kind", "holds", "refuted", "undecided"], counts)


def _errata_record(cards: Sequence[Card], findings: Sequence[Finding], reports: Mapping[str, Report]) -> list[object]:
    """Findings of all kinds, each defect once, the gravest of each paper first."""
    from bilevel_verify.proofreading.errata.collecting import errata

    return [
        {"paper": card.key, **one.to_dict()}
        for card in cards
        for one in errata(card, [f for f in findings if f.row.paper == card.key], reports.get(card.key))
    ]


def _certified(
    findings: list[Finding], arguments: argparse.Namespace, jobs: int
) -> tuple[list[Finding], Levels | None]:
    """The findings with what they stand on, and the counts; None where no certificates were asked for."""
    if not (arguments.certificates or arguments.coq):
        return findings, None
    from bilevel_verify.certificates.audited import with_certificates

    progress = _Progress(quiet=arguments.json)
    folder, coq = (Path(name) if name else None for name in (arguments.certificates, arguments.coq))
    found, levels = with_certificates(findings, folder, jobs, progress, coq)
    progress.close()
    return found, levels


def _print_json(judged: _Judged, arguments: argparse.Namespace) -> int:
    """Rows, coverage, share decided, controls, errors and what was asked for besides as one object; the exit status."""
    from bilevel_verify.audit.findings.coverage import decided
    from bilevel_verify.checks.verdicts.counting import count_of

    rows = [f.to_dict() for f in judged.findings]
    share = decided([f.row for f in judged.findings])
    record: dict[str, object] = {
        "rows": rows,
        "counts": count_of(rows).to_dict(),
        "coverage": [line.to_dict() for line in judged.lines],
        "decided": {"decided": share.decided, "total": share.total, "percent": share.percent},
        "controls": judged.mutants,
        "errors": judged.errors,
        "certificates": None if judged.levels is None else judged.levels.to_dict(),
        "proofreading": [report.to_dict() for report in judged.reports.values()],
    }
    if arguments.statement is None:
        record["errata"] = _errata_record(judged.cards, judged.findings, judged.reports)
    output.print_json(record)
    return output.exit_status(rows, arguments.strict)


def check_command(arguments: argparse.Namespace) -> int:
    """Prove or refute the links of one chain."""
    from bilevel_verify.audit import limits as of_engines
    from bilevel_verify.audit.formula import checked, range_names, understood  # what a fork has then

    memory = arguments.memory * 2**30
    of_engines.begin(memory)
    ranges, conditions = "; ".join(arguments.ranges), list(arguments.where)
    echo = understood(arguments.formula, range_names(ranges))
    if echo is not None and not arguments.json:
        output.show(f"understood: {echo.text}")
    ends = _ends(arguments.began, arguments.budget)
    limits = {"seed": arguments.seed, "seconds": arguments.budget, "memory": memory}
    findings, levels = _certified(
        checked(arguments.formula, ranges, conditions, **limits, ends=ends), arguments, jobs=1
    )
    if arguments.out:
        _write_scripts(findings, Path(arguments.out))
    if arguments.json:
        rows = [f.to_dict() for f in findings]
        output.print_json({"rows": rows} | ({"certificates": levels.to_dict()} if levels else {}))
        return output.exit_status(rows, arguments.strict)
    status = _show(findings, arguments)
    _show_values(findings, written=bool(arguments.out))
    if levels:
        output.show(str(levels))
    assumed = findings[0].row.details["taken_positive"]
    if assumed:
        output.show(f"no range given, taken positive: {', '.join(assumed)}")
        if "e" in assumed:
            output.show("e is a letter here; Euler's number is exp(1)")
    return status


def _ends(began: float, budget: float) -> Iterator[float]:
    """When each link has to be judged, by the clock: the first counts from the start of the command."""
    while True:
        yield began + budget + SPARE
        began = time.monotonic()


def _show_values(findings: Sequence[Finding], written: bool) -> None:
    """Both sides of every refuted link at its point, and where the script is that shows it."""
    for finding in findings:
        row, point = finding.row, finding.counterexample
        if point is None:
            continue
        at = ", ".join(f"{name} = {value}" for name, value in point.items())
        lines = [f"{row.statement}{' at ' + at if at else ''}:"]
        if row.measured is not None:
            left, right = f"{row.measured:.15g}", f"{row.bound:.15g}"
            if left == right:
                left, right = f"{row.measured:.17g}", f"{row.bound:.17g}"
            lines += [f"  left   {row.left} = {left}", f"  right  {row.right} = {right}"]
        elif row.kind == "definedness":
            lines.append(f"  {(row.reason or '').removeprefix('definedness: ')}")
        if not written and finding.script:
            lines.append("  a script that shows it by itself: check ... --out DIR writes it")
        output.show("\n".join(lines))


def _write_scripts(findings: Sequence[Finding], folder: Path) -> None:
    """The independent script of every refutation, named after its link."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for finding in findings:
            if finding.script:
                path = folder / f"{str(finding.row.statement).replace(': ', '-')}.py"
                path.write_text(finding.script, encoding="utf-8")
                output.say(f"script: {path}")
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}: choose another --out folder") from None


def _cards(papers: Sequence[str] | None) -> list[Card]:
    """The cards that could be read."""
    from bilevel_verify.theorems.library import cards, load_card

    found: dict[str, Any] = {}
    for name in papers if papers is not None else [r.name for r in cards() if not r.error]:
        try:
            card = load_card(name)
        except CardError:
            continue
        found.setdefault(card.key, card)
    return list(found.values())


def _controls(cards: Sequence[Card], arguments: argparse.Namespace) -> dict[str, Any] | None:
    """The three counts over mutants of the proved links of every card."""
    if not arguments.controls:
        return None
    from bilevel_verify.audit.controls.running import controls, counts

    jobs, progress = arguments.jobs or os.cpu_count() or 1, _Progress(quiet=arguments.json)
    found = [
        mutant
        for card in cards
        for mutant in controls(card, per_link=arguments.controls, seed=arguments.seed, jobs=jobs, progress=progress)
    ]
    progress.close()
    return counts(found)


def _show(findings: Sequence[Finding], arguments: argparse.Namespace) -> int:
    from bilevel_verify.checks.verdicts.counting import word_of

    rows = [f.to_dict() for f in findings]
    lines = []
    for row in rows:
        name = "/".join(p for p in (row["paper"], row["statement"], row["claim"]) if p)
        point = row.get("counterexample")
        shown = ", ".join(f"{k} = {v}" for k, v in point.items()) if point else row["reason"] or ""
        if row.get("repaired"):
            shown += f"; nearest true: {row['repaired']}"
        shown += "".join(f" [{mark}]" for mark in row["marks"])
        lines.append([word_of(row), name, _relation(row), shown])
    output.table("", ["verdict", "statement", "relation", "counterexample or certificate"], lines)
    output.show(output.verdict_counts(rows))
    return output.exit_status(rows, arguments.strict)


def _summary(lines: Sequence[Line], rows: Sequence[Row], mutants: Mapping[str, Any] | None) -> None:
    """The coverage table, the decided share, the counts of the controls."""
    from bilevel_verify.audit.findings.coverage import decided

    cells = []
    for line in lines:
        rest = f"with verify: {', '.join(line.elsewhere)}" if line.elsewhere else line.nothing_to_decide
        cells.append([line.paper, line.id, line.kind, line.shown, rest])
    columns = ["paper", "item", "what", "kind of check: verdicts", "elsewhere, or why nothing"]
    output.table("Coverage", columns, cells)
    output.show(str(decided(rows)))
    if mutants is not None:
        from bilevel_verify.audit.controls.running import share_refuted, shown

        share = f"{share_refuted(dict(mutants)):.1f} % of the mutants not proved still true are refuted"
        output.show(f"controls: {shown(dict(mutants))}; {share}")


class _Progress:
    """What is being judged, on stderr: one changing line on a terminal, a line every 10 seconds elsewhere."""

    def __init__(self, quiet: bool = False) -> None:
        self._live, self._quiet, self._said = sys.stderr.isatty(), quiet, time.monotonic()

    def __call__(self, name: str, done: int, total: int) -> None:
        text = visible(f"{done} of {total}: {name}")
        if self._live:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
        elif not self._quiet and time.monotonic() - self._said > 10:
            self._said = time.monotonic()
            output.say(text)

    def close(self) -> None:
        """Clear the changing line."""
        if self._live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _quotations(quoted: Mapping[str, Sequence[Quoted]]) -> list[Quotations]:
    """How the quotations of each card compare with its print, and those that are wrong."""
    from bilevel_verify.manuscript import BAD, counts

    return [
        {"paper": key, "counts": counts(rows), "wrong": [row.to_dict() for row in rows if row.outcome in BAD]}
        for key, rows in quoted.items()
    ]


def _write(
    findings: Sequence[Finding],
    lines: Sequence[Line],
    cards: Sequence[Card],
    folder: Path,
    reports: Mapping[str, Report],
) -> None:
    """The report of the findings, an errata page for each paper and the independent scripts of the refutations."""
    from bilevel_verify.proofreading.errata.collecting import script_name
    from bilevel_verify.reporting.build import build
    from bilevel_verify.reporting.errata import quotations, write_errata
    from bilevel_verify.reporting.write import write_document

    what = ", ".join(card.key for card in cards) or "nothing"
    answer: RestoredAnswer = {"statement": what, "problem": None, "rows": [f.row.to_dict() for f in findings]}
    document = build([answer], title=f"Audit of {what}", command="bilevel-verify audit")
    quoted = quotations(cards)
    page = write_document({**document, "quotations": _quotations(quoted)}, folder)
    pages = write_errata(findings, lines, cards, folder, reports, quoted)
    try:
        for finding in findings:
            if finding.script:
                (folder / "counterexamples").mkdir(exist_ok=True)
                (folder / "counterexamples" / script_name(finding)).write_text(finding.script, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}: choose another --out folder") from None
    output.say(f"report: {page}")
    for path in pages:
        output.say(f"errata: {path}")
