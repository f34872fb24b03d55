"""``run`` and ``report``: campaigns into a store, stores into pages."""

from __future__ import annotations

import argparse
import json
import shlex
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bilevel_verify.campaign.cell import Cell, Limits
from bilevel_verify.campaign.controls import Control, judge_controls
from bilevel_verify.campaign.grids import Campaign, load_campaign
from bilevel_verify.campaign.run import STORE_NAME, Outcome, plan, run_campaign
from bilevel_verify.campaign.store import Store
from bilevel_verify.cli import output
from bilevel_verify.errors import InputError
from bilevel_verify.files import is_folder, is_there, read_text

if TYPE_CHECKING:
    from bilevel_verify.campaign.answers import RunRecord
    from bilevel_verify.checks.verdicts.verdict import RowRecord
    from bilevel_verify.reporting.document import ReportDocument

INTERRUPTED, OUR_ERROR, WRONG_USE = 130, 3, 2
LARGEST_REPORT = 1_000_000_000


def run_command(arguments: argparse.Namespace) -> int:
    """Run a campaign (the main job by default), then write its report."""
    campaign = _campaign(arguments)
    if arguments.dry_run:
        return _dry_run(campaign, arguments)
    interrupt_politely()
    with output.ProgressBar(_left(campaign, arguments)) as bar:
        outcome = run_campaign(campaign, arguments.out, jobs=arguments.jobs, retry=arguments.retry, progress=bar)
    for row in outcome.altered:
        output.say(f"{row} was altered on the disk; its cell was done anew")
    for failure in outcome.failures:
        output.say(f"{Cell.from_dict(failure.cell).label}: {failure.status}: {failure.message}")
    with Store(outcome.store, read_only=True) as store:
        rows, runs, controls = _answers(store, outcome)
        document = None if arguments.no_report else _document(store, outcome, campaign, arguments)
        if arguments.export:
            _export(store, Path(arguments.out), arguments.export, outcome.keys)
    page = None
    if document is not None:
        from bilevel_verify.reporting.write import FORMATS, export_rest, write_document

        formats = FORMATS if arguments.figures else tuple(f for f in FORMATS if f != "figures")
        page = write_document(document, arguments.out, formats)
        with Store(outcome.store, read_only=True) as store:
            export_rest(store, document, arguments.out, outcome.keys)
    _say_result(rows, runs, outcome, page, arguments)
    if outcome.interrupted:
        output.say("interrupted; what was done is kept, run the same command again to go on")
        return INTERRUPTED
    if not _controls_kept(controls, arguments) or any(
        f.limits.get("fault") in ("ours", "crashed") for f in outcome.failures
    ):
        return OUR_ERROR
    status = output.exit_status(rows, arguments.strict)
    wrong_input = any(f.limits.get("fault") == "input" for f in outcome.failures)
    return status or (WRONG_USE if wrong_input else 0)


def interrupt_politely() -> None:
    """A polite end (a batch system's, a closed terminal's) is an interrupt: what was done is kept."""
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP; ``nohup`` has it ignored, and it stays so
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) != signal.SIG_IGN:
            signal.signal(getattr(signal, name), _stop)


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _campaign(arguments: argparse.Namespace) -> Campaign:
    if arguments.campaign:
        campaign = load_campaign(arguments.campaign, arguments.solver)
    else:
        from bilevel_verify.campaign.builtin_job import main_job

        if arguments.solver:
            raise InputError("--solver needs a campaign file with own:FUNCTION among its methods")

        campaign = main_job(arguments.paper)
    own = campaign.limits
    limits = Limits(arguments.time_limit or own.seconds, arguments.memory_limit or own.megabytes)
    return replace(campaign, limits=limits, total_seconds=arguments.total_time or campaign.total_seconds)


def _left(campaign: Campaign, arguments: argparse.Namespace) -> int:
    """Number of cells to work on, for the bar; the run plans again by itself."""
    path = Path(arguments.out) / STORE_NAME
    if not is_there(path):
        return len(campaign.cells)
    with Store(path, read_only=True) as store:
        return len(plan(campaign, store, retry=arguments.retry).work)


def _dry_run(campaign: Campaign, arguments: argparse.Namespace) -> int:
    path = Path(arguments.out) / STORE_NAME
    if is_there(path):
        with Store(path, read_only=True) as store:
            planned = plan(campaign, store, retry=arguments.retry)
    else:
        planned = plan(campaign, None)
    found = planned.to_dict()
    if arguments.json:
        output.print_json(found)
    else:
        output.line(
            ", ".join(f"{found[k]} {k}" for k in ("done", "todo", "stale", "failed")) + f" of {found['total']} cells"
        )
        for label in found["cells"][:50]:
            output.line(f"  {label}")
    return 0


def _document(store: Store, outcome: Outcome, campaign: Campaign, arguments: argparse.Namespace) -> ReportDocument:
    from bilevel_verify.reporting import document_of_store

    words = ["bilevel-verify", "run", *([arguments.campaign] if arguments.campaign else [])]
    words += [*(w for s in arguments.solver for w in ("--solver", s)), "--out", arguments.out]
    title = campaign.title or f"Campaign {campaign.name}"
    return document_of_store(store, outcome.keys, title=title, command=shlex.join(words), failures=outcome.failures)


def _answers(store: Store, outcome: Outcome) -> tuple[list[RowRecord], list[RunRecord], list[Control]]:
    """The rows of all answers, the runs of those cells that asked for runs alone, and the controls; read once."""
    rows: list[RowRecord] = []
    runs: list[RunRecord] = []
    controls: list[Control] = []
    for stored in store.cells(outcome.keys):
        rows += stored.answer.get("rows", ())
        runs += stored.answer.get("runs", ()) if stored.cell.get("kind") == "solve" else ()
        controls += judge_controls([stored])
    return rows, runs, controls


def _say_result(
    rows: list[RowRecord],
    runs: list[RunRecord],
    outcome: Outcome,
    page: Path | None,
    arguments: argparse.Namespace,
) -> None:
    summary = {
        "cells": len(outcome.keys),
        "done_before": outcome.done,
        "answered": outcome.answered,
        "failures": [
            {"cell": f.cell, "status": f.status, "message": f.message, "limits": f.limits} for f in outcome.failures
        ],
        "interrupted": outcome.interrupted,
        "out_of_time": outcome.out_of_time,
        "seconds": round(outcome.seconds, 3),
        "store": str(outcome.store),
        "report": None if page is None else str(page),
    }
    if arguments.json:
        output.print_json({"summary": summary, "rows": rows} | ({"runs": runs} if runs else {}))
        return
    if rows:
        _summary_table(rows)
        output.show(output.verdict_counts(rows))
    if runs:
        _runs_table(runs)
    output.line(f"{outcome.answered} cells answered in {outcome.seconds:.1f} s, {outcome.done} were known")
    if outcome.out_of_time:
        left = len(outcome.keys) - outcome.done - outcome.answered
        output.line(f"the total time is over, {left} cells are left: run the same command again to go on")
    if page is not None:
        output.line(f"report: {page}")


def _summary_table(rows: list[RowRecord]) -> None:
    """One line a statement: how many rows of each verdict, on how many problems, with the smallest margin."""
    from collections import Counter

    from bilevel_verify.reporting.words import LOOKS, number

    groups: dict[str, list[RowRecord]] = {}
    for row in rows:
        groups.setdefault("/".join(p for p in (row["paper"], row["statement"]) if p), []).append(row)
    lines = []
    for name, members in sorted(groups.items()):
        counts = Counter(r["verdict"] for r in members)
        margins = [r["margin"] for r in members if r["verdict"] == "holds" and isinstance(r["margin"], int | float)]
        verdicts = "  ".join(f"{LOOKS[v].symbol} {counts[v]} {v}" for v in LOOKS if counts[v])
        problems = len({r["problem"] for r in members if r["problem"]})
        lines.append([name, problems or "", verdicts, number(min(margins), 3) if margins else ""])
    output.table(
        "", ["statement", "problems", "verdicts", "smallest margin"], lines, numeric=("problems", "smallest margin")
    )


def _controls_kept(controls: list[Control], arguments: argparse.Namespace) -> bool:
    """Say how the controls came out; False if one did not get the verdict that it must get."""
    wrong = [c for c in controls if not c.kept]
    if controls and not arguments.json:
        output.line(f"controls: {len(controls) - len(wrong)} of {len(controls)} got the verdict that they must get")
    for control in wrong:
        output.say(f"control {control.label}: must be {control.expected!r}, was {control.found!r}")
    return not wrong


def _runs_table(runs: list[RunRecord]) -> None:
    """One line a method: on how many problems it ran, how its runs ended, and the median of its oracle calls."""
    from collections import Counter
    from statistics import median

    from bilevel_verify.campaign.statistics import oracle_calls
    from bilevel_verify.reporting.words import number

    groups: dict[str, list[RunRecord]] = {}
    for run in runs:
        groups.setdefault(run["method"], []).append(run)
    lines = []
    for name, members in sorted(groups.items()):
        ended = ", ".join(f"{n} {status}" for status, n in Counter(r["status"] for r in members).most_common())
        calls = median(oracle_calls(r["counts"]) for r in members)
        lines.append([name, len({r["problem"] for r in members}), len(members), ended, number(calls, 4)])
    output.table("", ["method", "problems", "runs", "ended", "median calls"], lines, numeric=("problems", "runs"))


def report_command(arguments: argparse.Namespace) -> int:
    """Write the report of a stored campaign, or render a report.json again."""
    from bilevel_verify.reporting import document_of_store
    from bilevel_verify.reporting.write import FORMATS, write_document

    source = Path(arguments.source)
    formats = tuple(arguments.format.replace(",", " ").split()) if arguments.format else FORMATS
    if source.suffix == ".json":
        document = load_document(source)
        if arguments.title:
            document["title"] = arguments.title
        out = arguments.out or source.parent
    else:
        path = source / STORE_NAME if is_folder(source) else source
        out = arguments.out or path.parent
        words = shlex.join(["bilevel-verify", "report", arguments.source, "--out", str(out)])
        with Store(path, read_only=True) as store:
            title = arguments.title or "Verification report"
            failures = store.failures().values()
            document = document_of_store(store, title=title, command=words, failures=failures)
            if arguments.export:
                _export(store, Path(out), arguments.export, None)
    columns = arguments.columns.replace(",", " ").split() if arguments.columns else None
    page = write_document(document, out, formats, columns)
    if arguments.json:
        output.print_json({"report": str(page), "summary": document["summary"]})
    else:
        output.line(f"report: {page}")
    return 0


def load_document(path: Path) -> ReportDocument:
    """A report document from its JSON file.

    Raises
    ------
    InputError
        The file is missing, no JSON, or not a report of this schema.
    """
    from bilevel_verify.reporting.build import SCHEMA_NAME
    from bilevel_verify.reporting.schema import problems_with

    text = read_text(path, LARGEST_REPORT)
    try:
        report: ReportDocument = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"{path}: not JSON") from None
    if not isinstance(report, dict) or report.get("schema") != SCHEMA_NAME:
        raise InputError(f"{path}: not a report of schema {SCHEMA_NAME!r}")
    faults = problems_with(report)
    if faults:
        raise InputError(f"{path}: {faults[0]}")
    return report


def _export(store: Store, folder: Path, kind: str, keys: Any) -> None:
    from bilevel_verify.campaign import export

    folder.mkdir(parents=True, exist_ok=True)
    for name, write in (
        ("rows", export.export_csv if kind == "csv" else export.export_parquet),
        ("runs", export.export_runs_csv if kind == "csv" else export.export_runs_parquet),
    ):
        count = write(store, folder / f"{name}.{kind}", keys)
        output.say(f"{count} {name}: {folder / f'{name}.{kind}'}")
