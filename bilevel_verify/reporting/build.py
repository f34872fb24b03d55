"""From answers to the report document: one JSON value with a published schema, from which every form is rendered.

Nothing is judged here. Rows are grouped, counted and put beside what the cards print.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from bilevel_verify.campaign.answers import Document, Plain, RestoredAnswer
from bilevel_verify.campaign.cell import canonical, digest
from bilevel_verify.campaign.records import answer_of, restore
from bilevel_verify.campaign.store import Failure, Store
from bilevel_verify.checks.verdicts.counting import Count, in_order, is_new_refutation
from bilevel_verify.checks.verdicts.verdict import Row, RowRecord
from bilevel_verify.checks.verdicts.verification import Verification
from bilevel_verify.reporting.cards import paper_records
from bilevel_verify.reporting.document import MatrixCell, ProblemEntry, ReportDocument, RunEntry, Summary
from bilevel_verify.reporting.plots import plot_records
from bilevel_verify.reporting.profiles import profile_records
from bilevel_verify.reporting.words import LOOKS

if TYPE_CHECKING:
    from bilevel_verify.problems.problem import Problem

Kept = TypeVar("Kept", RowRecord, RunEntry)
SCHEMA_NAME = "bilevel-verify-report-1"
SHOWN_ROWS = 20_000
"""More rows than this are not carried in the page: the worst 500 are, with the aggregates; all lie in an export."""
WORST_ROWS = 500
REASONS = {"time": "budget", "memory": "budget", "crashed": "error", "error": "error"}


def document_of(
    verifications: Sequence[Verification],
    *,
    title: str = "Verification report",
    command: str = "",
    problems: Sequence[Problem | None] = (),
) -> ReportDocument:
    """The report document of some verifications.

    Parameters
    ----------
    verifications : what ``verify`` returned.
    title, command : shown at the top; the command repeats the whole.
    problems : the :class:`Problem` objects, in the order of the verifications, as far as at hand.
    """
    answers = []
    known = [*problems, *[None] * (len(verifications) - len(tuple(problems)))]
    for verification, problem in zip(verifications, known, strict=False):
        answer, documents = answer_of(verification, problem or zoo_problem(verification.problem))
        bodies = {digest(d): d for d in documents}
        answers.append(restore(answer, bodies.__getitem__))
    seconds = sum(v.seconds for v in verifications)
    return build(answers, title=title, command=command, seconds=seconds)


def document_of_store(
    store: Store,
    keys: Iterable[str] | None = None,
    *,
    title: str = "Verification report",
    command: str = "",
    failures: Iterable[Failure] = (),
) -> ReportDocument:
    """The report document of stored answers (of ``keys``, or all)."""
    documents: dict[str, Document] = {}
    seconds = 0.0

    def document(reference: str) -> Document:
        if reference not in documents:
            documents[reference] = store.document(reference)
        return documents[reference]

    def answers() -> Iterator[RestoredAnswer]:
        nonlocal seconds
        for stored in store.cells(keys):
            seconds += stored.seconds
            yield restore(stored.answer, document, stored.cell)

    made = build(answers(), title=title, command=command, failures=failures)
    made["summary"]["seconds"] = round(seconds, 3)
    return made


def build(
    answers: Iterable[RestoredAnswer],
    *,
    title: str,
    command: str,
    seconds: float = 0.0,
    failures: Iterable[Failure] = (),
) -> ReportDocument:
    """Put a document together from answers whose shared parts are restored."""
    from bilevel_verify.campaign.fingerprint import versions

    recorder = RowRecorder()
    hypotheses: dict[str, RowRecord] = {}
    runs: dict[str, RunEntry] = {}
    problems: dict[str, ProblemEntry] = {}
    cells = 0
    for answer in answers:
        cells += 1
        recorder.add(answer.get("rows") or [])
        _remember(hypotheses, answer.get("hypotheses") or [])
        _remember(runs, _placed_runs(answer))
        _remember_problem(problems, answer)
    lost = [failure_row(f) for f in failures]
    recorder.add(lost)
    rows = sorted(recorder.rows(), key=_order)
    listed = list(runs.values())
    return {
        "schema": SCHEMA_NAME,
        "title": title,
        "command": command,
        "created": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "versions": versions(),
        "summary": recorder.summary(cells + len(lost), round(seconds, 3)),
        "matrix": recorder.matrix(),
        "rows": rows,
        "hypotheses": list(hypotheses.values()),
        "runs": listed,
        "problems": [problems[name] for name in sorted(problems)],
        "papers": paper_records(rows),
        "plots": plot_records(rows, listed),
        "detection": None,
        "rates": None,
        "tightness": None,
        "profiles": profile_records(listed, list(problems.values())),
    }


class RowRecorder:
    """Counts every row and keeps as many as a page can carry.

    Up to :data:`SHOWN_ROWS` rows all are kept; of more, the worst :data:`WORST_ROWS` and the worst one of each claim,
    problem and verdict, so that memory does not grow with a campaign.
    """

    def __init__(self) -> None:
        self._rows: list[RowRecord] = []
        self._cells: dict[tuple[str, str, str | None], Count] = {}
        self._newly = self._known = self._total = 0
        self._methods: set[str] = set()

    def add(self, rows: Iterable[RowRecord]) -> None:
        """Count some rows and keep them for now."""
        for row in rows:
            place = (row["paper"] or "", row["statement"] or "", row["problem"])
            self._cells.setdefault(place, Count()).add(row)
            self._newly += is_new_refutation(row)
            self._known += row["verdict"] in ("refuted", "inconsistent") and row["known_refuted"]
            self._methods.update([row["method"]] if row["method"] else [])
            self._total += 1
            self._rows.append(row)
        if len(self._rows) > 2 * SHOWN_ROWS:
            self._rows = spread(self._rows)

    def rows(self) -> list[RowRecord]:
        """The rows that are shown."""
        return self._rows if self._total <= SHOWN_ROWS else spread(self._rows)

    def summary(self, cells: int = 0, seconds: float = 0.0) -> Summary:
        """Counts for the top of the page and the terminal; ``holds`` is always split by certainty.

        ``verdicts`` counts rows that judge a relation; rows of units and the like are ``apart``.
        """
        total = Count()
        for count in self._cells.values():
            total.update(count)
        return {
            "cells": cells,
            "seconds": seconds,
            "rows": self._total,
            **total.to_dict(),
            "newly_refuted": self._newly,
            "known_refuted": self._known,
            "problems": len({p for _, _, p in self._cells if p}),
            "statements": len({(paper, s) for paper, s, _ in self._cells if s}),
            "papers": len({paper for paper, _, _ in self._cells if paper}),
            "methods": len(self._methods),
        }

    def matrix(self) -> list[MatrixCell]:
        """Counts for every statement and problem (None: the statement as a whole).

        ``verdicts`` is what the cell shows: relations as printed, or marked ones where none is judged as printed.
        """
        found = []
        for paper, statement, problem in sorted(self._cells, key=lambda place: (*place[:2], place[2] or "")):
            count = self._cells[paper, statement, problem]
            told = count.to_dict()
            cell: MatrixCell = {
                "paper": paper,
                "statement": statement,
                "problem": problem,
                "verdicts": in_order(count.summed_up),
                "as_printed": told["as_printed"],
                "marked": told["marked"],
                "apart": told["apart"],
            }
            found.append(cell)
        return found


def summary_of(rows: Iterable[RowRecord]) -> Summary:
    """The summary of some rows."""
    recorder = RowRecorder()
    recorder.add(rows)
    return recorder.summary()


def badness(row: RowRecord) -> tuple[int, float]:
    """Most serious first, then by the smallest margin."""
    margin = row["margin"] if isinstance(row["margin"], int | float) else float("inf")
    return LOOKS[row["verdict"]].rank, margin


def worst_rows(rows: Sequence[RowRecord], count: int = WORST_ROWS) -> list[RowRecord]:
    """The most serious rows, those with the smallest margin first."""
    return heapq.nsmallest(count, rows, key=badness) if count < len(rows) else sorted(rows, key=badness)


def spread(rows: Sequence[RowRecord]) -> list[RowRecord]:
    """The worst rows, and the worst one of every claim on every problem with every verdict."""
    ordered = sorted(rows, key=badness)
    kept: dict[tuple[str | None, ...], RowRecord] = {}
    for row in ordered:
        kept.setdefault((row["paper"], row["statement"], row["claim"], row["problem"], row["verdict"]), row)
    chosen = {id(r): r for r in [*ordered[:WORST_ROWS], *list(kept.values())[: SHOWN_ROWS // 2]]}
    return list(chosen.values())


def failure_row(failure: Failure) -> RowRecord:
    """A cell that ended without an answer, as a row: nothing is hidden from the reader."""
    statement = failure.cell.get("statement") or failure.cell.get("card") or ""
    paper, _, name = statement.rpartition("/")
    row = Row(
        paper=paper or None,
        statement=name or None,
        claim=None,
        source=None,
        problem=failure.cell.get("problem", "").removeprefix("zoo:") or None,
        method=failure.cell.get("method"),
        kind="run",
        verdict="undecided",
        reason=f"{REASONS[failure.status]}: {failure.message}",
    )
    return row.to_dict()


def _remember_problem(problems: dict[str, ProblemEntry], answer: RestoredAnswer) -> None:
    """Keep one record a problem name, with the constants and truths of its first answer that has them."""
    name = answer.get("problem")
    if not name:
        return
    known = problems.get(name, blank_problem(name))
    record = answer.get("problem_record")
    if record is not None and not known["kind"]:  # another record of the name may be of other knobs: they do not mix
        known = {**known, **record}
    problems[name] = known
    for mine, found in ((known["constants"], answer.get("constants")), (known["truth"], answer.get("truth"))):
        for letter, value in (found or {}).items():
            mine.setdefault(letter, value)
    for parameters in answer.get("parameters") or []:
        entry: dict[str, Plain] = {"statement": answer.get("statement"), **parameters}
        if entry not in known["parameters"] and len(known["parameters"]) < 60:
            known["parameters"].append(entry)


def blank_problem(name: str) -> ProblemEntry:
    """The record of a problem of which nothing but the name is known; the same fields as a full one."""
    return {
        "name": name,
        "title": "",
        "kind": "",
        "source": "",
        "note": "",
        "hash": "",
        "f": None,
        "g": None,
        "feasible": None,
        "dx": None,
        "dy": None,
        "x": [],
        "y": [],
        "text": {},
        "domain": {},
        "knobs": {},
        "known": {},
        "data": {},
        "constants": {},
        "truth": {},
        "parameters": [],
    }


def _remember(known: dict[str, Kept], records: Iterable[Kept]) -> None:
    """Keep distinct records, up to a number that a page can carry."""
    for record in records:
        if len(known) < SHOWN_ROWS // 4:
            known.setdefault(canonical(record), record)


def _placed_runs(answer: RestoredAnswer) -> list[RunEntry]:
    """The runs of an answer with what its cell varied: start, knobs, letters given by hand, number of the seed."""
    cell = answer.get("cell") or {}
    given = {k: v for k, v in (cell.get("parameters") or {}).items() if isinstance(v, int | float)}
    return [
        {
            **run,
            "statement": answer.get("statement"),
            "x0": cell.get("x0"),
            "given": given,
            "knobs": cell.get("knobs") or {},
            "replicate": cell.get("replicate") or 0,
        }
        for run in answer.get("runs") or []
    ]


def _order(row: RowRecord) -> tuple[float | str, ...]:
    """Worst first within a statement on a problem; statements and problems by name."""
    margin = row["margin"] if isinstance(row["margin"], int | float) else float("inf")
    look = LOOKS.get(row["verdict"])
    place = (row["paper"] or "", row["statement"] or "", row["problem"] or "", row["claim"] or "")
    return (*place, look.rank if look else 2, margin, row["where"] or "")


def zoo_problem(name: str) -> Problem | None:
    """The zoo's problem of that name, for its formulas; None for anything else."""
    from bilevel_verify.errors import BilevelVerifyError

    try:
        from bilevel_verify.problems import zoo

        found = zoo(name)
    except (ImportError, BilevelVerifyError, KeyError, TypeError):
        return None
    return found if hasattr(found, "content_hash") else None
