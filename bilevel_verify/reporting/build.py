"""From answers to the report document: one JSON value with a published schema, from which every form is rendered.

Nothing is judged here. Rows are grouped, counted and put beside what the cards print.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bilevel_verify.campaign.records import answer_of, restore
from bilevel_verify.campaign.store import Failure, Store
from bilevel_verify.checks.verdict import Verification
from bilevel_verify.reporting.cards import paper_records
from bilevel_verify.reporting.plots import plot_records
from bilevel_verify.reporting.words import LOOKS

Json = dict[str, Any]
SCHEMA_NAME = "bilevel-verify-report-1"
SHOWN_ROWS = 20_000
"""More rows than this are not carried in the page: the worst 500 are, with the aggregates; all lie in an export."""
WORST_ROWS = 500
REASONS = {"time": "budget", "memory": "budget", "crashed": "error", "error": "error"}


def document_of(
    verifications: Sequence[Verification], *, title: str = "Verification report", command: str = "", problems: Any = ()
) -> Json:
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
        answer, documents = answer_of(verification, problem or _zoo_problem(verification.problem))
        bodies = {_digest(d): d for d in documents}
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
) -> Json:
    """The report document of stored answers (of ``keys``, or all)."""
    seconds = 0.0
    answers = []
    documents: dict[str, Json] = {}

    def document(reference: str) -> Json:
        if reference not in documents:
            documents[reference] = store.document(reference)
        return documents[reference]

    for stored in store.cells(keys):
        seconds += stored.seconds
        answers.append(restore(stored.answer, document) | {"cell": stored.cell})
    return build(answers, title=title, command=command, seconds=seconds, failures=failures)


def build(
    answers: Iterable[Json], *, title: str, command: str, seconds: float = 0.0, failures: Iterable[Failure] = ()
) -> Json:
    """Put a document together from answers whose shared parts are restored."""
    from bilevel_verify.campaign.fingerprint import versions

    rows: list[Json] = []
    hypotheses: list[Json] = []
    runs: list[Json] = []
    problems: dict[str, Json] = {}
    cells = 0
    for answer in answers:
        cells += 1
        rows += answer.get("rows") or []
        hypotheses += answer.get("hypotheses") or []
        runs += [run | {"statement": answer.get("statement")} for run in answer.get("runs") or []]
        _remember_problem(problems, answer)
    lost = [failure_row(f) for f in failures]
    rows += lost
    rows.sort(key=_order)
    return {
        "schema": SCHEMA_NAME,
        "title": title,
        "command": command,
        "created": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "versions": versions(),
        "summary": summary_of(rows, cells + len(lost), seconds),
        "rows": rows,
        "hypotheses": _distinct(hypotheses),
        "runs": _distinct(runs),
        "problems": [problems[name] for name in sorted(problems)],
        "papers": paper_records(rows),
        "plots": plot_records(rows, runs),
    }


def summary_of(rows: Sequence[Json], cells: int, seconds: float) -> Json:
    """Counts for the top of the page and the terminal; ``holds`` is always split by certainty."""
    verdicts = Counter(r["verdict"] for r in rows)
    newly = sum(is_new_refutation(r) for r in rows)
    return {
        "cells": cells,
        "rows": len(rows),
        "verdicts": {v: verdicts[v] for v in LOOKS if verdicts[v]},
        "holds_by_certainty": dict(
            sorted(Counter(r["certainty"] or "computed" for r in rows if r["verdict"] == "holds").items())
        ),
        "newly_refuted": newly,
        "known_refuted": sum(r["verdict"] in ("refuted", "inconsistent") and r["known_refuted"] for r in rows),
        "problems": len({r["problem"] for r in rows if r["problem"]}),
        "statements": len({(r["paper"], r["statement"]) for r in rows if r["statement"]}),
        "papers": len({r["paper"] for r in rows if r["paper"]}),
        "methods": len({r["method"] for r in rows if r["method"]}),
        "seconds": round(seconds, 3),
    }


def is_new_refutation(row: Mapping[str, Any]) -> bool:
    """A promise as printed, refuted, whose card does not already record it."""
    return row["verdict"] in ("refuted", "inconsistent") and not row["known_refuted"] and row["as_printed"]


def failure_row(failure: Failure) -> Json:
    """A cell that ended without an answer, as a row: nothing is hidden from the reader."""
    from bilevel_verify.checks.verdict import Row

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


def _remember_problem(problems: dict[str, Json], answer: Json) -> None:
    """Keep one record a problem name, with the constants and truths of its first answer that has them."""
    name = answer.get("problem")
    if not name:
        return
    record = answer.get("problem_record") or {}
    known = problems.setdefault(name, blank_problem(name))
    for field, value in record.items():
        if known.get(field) in (None, "", {}, []):
            known[field] = value
    for field in ("constants", "truth"):
        for letter, value in (answer.get(field) or {}).items():
            known[field].setdefault(letter, value)
    known["name"] = name
    for parameters in answer.get("parameters") or []:
        entry = {"statement": answer.get("statement"), **parameters}
        if entry not in known["parameters"] and len(known["parameters"]) < 60:
            known["parameters"].append(entry)


def blank_problem(name: str) -> Json:
    """The record of a problem of which nothing but the name is known; the same fields as a full one."""
    texts = dict.fromkeys(("title", "kind", "source", "note", "hash"), "")
    none = dict.fromkeys(("f", "g", "feasible", "dx", "dy"), None)
    tables: Json = {field: {} for field in ("text", "domain", "knobs", "known", "data", "constants", "truth")}
    return {"name": name, "x": [], "y": [], "parameters": []} | texts | none | tables


def _distinct(records: Sequence[Json]) -> list[Json]:
    from bilevel_verify.campaign.cell import canonical

    return list({canonical(r): r for r in records}.values())


def _order(row: Json) -> tuple[Any, ...]:
    """Worst first within a statement on a problem; statements and problems by name."""
    margin = row["margin"] if isinstance(row["margin"], int | float) else float("inf")
    look = LOOKS.get(row["verdict"])
    place = (row["paper"] or "", row["statement"] or "", row["problem"] or "", row["claim"] or "")
    return (*place, look.rank if look else 2, margin, row["where"] or "")


def _zoo_problem(name: str) -> Any:
    """The zoo's problem of that name, for its formulas; None for anything else."""
    from bilevel_verify.errors import BilevelVerifyError

    try:
        from bilevel_verify.problems import zoo

        found = zoo(name)
    except (ImportError, BilevelVerifyError, KeyError, TypeError):
        return None
    return found if hasattr(found, "content_hash") else None


def _digest(document: Json) -> str:
    from bilevel_verify.campaign.cell import digest

    return digest(document)
