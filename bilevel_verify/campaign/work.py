"""What a worker does with a cell: open what it names, ask the rooms above, give the answer back as data."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

from bilevel_verify.campaign.cell import Cell
from bilevel_verify.campaign.records import Json, answer_of, run_record
from bilevel_verify.campaign.sources import open_problem, split_reference
from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.checks.verdicts.verification import Verification
from bilevel_verify.errors import InputError


def work(cell: Cell) -> tuple[Json, list[Json]]:
    """The answer to a cell and the documents that it refers to.

    Raises
    ------
    InputError
        The cell names something that does not exist or does not fit together.
    """
    return {"verify": _verify, "solve": _solve, "audit": _audit}[cell.kind](cell)


def _verify(cell: Cell) -> tuple[Json, list[Json]]:
    from bilevel_verify.checks import verify

    problem = open_problem(cell.problem or "", cell.knobs)
    options: dict[str, Any] = {"parameters": dict(cell.parameters), "values": dict(cell.values), "seed": cell.seed}
    if cell.budget is not None:
        options["budget"] = cell.budget
    found = verify(
        problem,
        cell.card or cell.statement,
        eps=list(cell.eps) or None,
        method=cell.method,
        x0=None if cell.x0 is None else list(cell.x0),
        **options,
    )
    found = with_commands(found, split_reference(cell.problem or "")[0], cell.card, cell.seed, cell.budget)
    return answer_of(found, instance_of(problem, cell.eps))


def _solve(cell: Cell) -> tuple[Json, list[Json]]:
    from bilevel_verify.solving import solve

    if cell.method is None:
        raise InputError("a cell without a statement needs a method")
    family = open_problem(cell.problem or "", cell.knobs)
    runs = []
    for eps in cell.eps or (None,):
        problem = family if eps is None else instance_of(family, (eps,))
        options: dict[str, Any] = {"x0": cell.x0, "y0": cell.y0, "budget": cell.budget}
        given = {k: v for k, v in options.items() if v is not None}
        parameters = dict(cell.parameters)
        runs.append(solve(problem, cell.method, eps=eps, parameters=parameters, seed=cell.seed, record="thin", **given))
    answer: Json = {"statement": None, "problem": runs[0].problem, "verdict": None, "rows": [], "hypotheses": []}
    return answer | {"runs": [run_record(r) for r in runs], "parameters": []}, []


def _audit(cell: Cell) -> tuple[Json, list[Json]]:
    from bilevel_verify.audit import audit

    findings = audit(cell.statement)
    rows = [
        f.row.to_dict() | {"details": {**f.row.details, "script": f.script, "repaired": f.repaired}} for f in findings
    ]
    answer = {"statement": cell.statement, "problem": None, "verdict": None, "rows": rows, "hypotheses": []}
    return answer | {"runs": [], "parameters": []}, []


def instance_of(problem: Any, eps: tuple[float, ...]) -> Any:
    """A problem as it is, or the member of a family at the first tolerance; None where that does not exist."""
    if hasattr(problem, "content_hash"):
        return problem
    try:
        return problem.at(eps=eps[0]) if eps else None
    except InputError:
        return None


def with_commands(
    found: Verification, problem: str, card: str | None = None, seed: int = 0, budget: int | None = None
) -> Verification:
    """The verification with command lines that name the caller's own files, seed and budget.

    Parameters
    ----------
    problem : reference of the problem (``zoo:NAME`` or a path) without its knobs.
    card : path of a user's card, if it is one.
    """

    def mended(row: Row) -> Row:
        if not row.reproduce:
            return row
        words = shlex.split(row.reproduce)
        if card and len(words) > 2:
            words[2] = f"{card}/{row.statement}"
        if "--problem" in words:
            words[words.index("--problem") + 1] = problem
        words += [] if seed == 0 else ["--seed", str(seed)]
        words += [] if budget is None else ["--budget", str(budget)]
        return replace(row, reproduce=shlex.join(words))

    hypotheses = tuple(mended(row) for row in found.hypotheses)
    return replace(found, claims=tuple(mended(row) for row in found.claims), hypotheses=hypotheses)
