"""What a worker does with a cell: open what it names, ask the rooms above, give the answer back as data."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from bilevel_verify.campaign.answers import AnswerRecord, Document
from bilevel_verify.campaign.cell import Cell
from bilevel_verify.campaign.records import answer_of, run_record
from bilevel_verify.campaign.solvers import Solver, load_solver
from bilevel_verify.campaign.sources import join_reference, open_problem, split_reference
from bilevel_verify.checks.verdicts.commands import with_commands
from bilevel_verify.errors import InputError

if TYPE_CHECKING:
    from bilevel_verify.methods.run import Run
    from bilevel_verify.problems.family import ProblemFamily
    from bilevel_verify.problems.problem import Problem


def work(cell: Cell) -> tuple[AnswerRecord, list[Document]]:
    """The answer to a cell and the documents that it refers to.

    Raises
    ------
    InputError
        The cell names something that does not exist or does not fit together.
    """
    return {"verify": _verify, "solve": _solve, "audit": _audit}[cell.kind](cell)


def _verify(cell: Cell) -> tuple[AnswerRecord, list[Document]]:
    from bilevel_verify.checks import verify

    problem = open_problem(cell.problem or "", cell.knobs)
    options: dict[str, Any] = {"parameters": dict(cell.parameters), "values": dict(cell.values), "seed": cell.seed}
    more = {"budget": cell.budget, "y0": cell.y0}
    options |= {name: value for name, value in more.items() if value is not None}
    found = verify(
        problem,
        cell.card or cell.statement,
        eps=list(cell.eps) or None,
        method=cell.method if cell.solver is None else _solver(cell),
        x0=None if cell.x0 is None else list(cell.x0),
        **options,
    )
    name, own = split_reference(cell.problem or "")
    reference = join_reference(name, own | dict(cell.knobs))
    found = with_commands(found, reference, cell.card, cell.seed, cell.budget, cell.solver)
    return answer_of(found, instance_of(problem, cell.eps))


def _solve(cell: Cell) -> tuple[AnswerRecord, list[Document]]:
    from bilevel_verify.solving import solve

    if cell.method is None:
        raise InputError("a cell without a statement needs a method")
    own = None if cell.solver is None else _solver(cell)
    family = open_problem(cell.problem or "", cell.knobs)
    runs = []
    for eps in cell.eps or (None,):
        problem: Any = family if eps is None else instance_of(family, (eps,))
        if own is not None:
            runs.append(_own_run(problem, own, eps, cell))
            continue
        options: dict[str, Any] = {"x0": cell.x0, "y0": cell.y0, "budget": cell.budget}
        given = {k: v for k, v in options.items() if v is not None}
        parameters = dict(cell.parameters)
        runs.append(solve(problem, cell.method, eps=eps, parameters=parameters, seed=cell.seed, record="thin", **given))
    answer: AnswerRecord = {
        "statement": None,
        "problem": runs[0].problem,
        "verdict": None,
        "rows": [],
        "hypotheses": [],
        "runs": [run_record(r) for r in runs],
        "parameters": [],
    }
    return answer, []


def _solver(cell: Cell) -> Solver:
    """The user's function, with the global generators of random numbers at the seed of the cell."""
    import numpy as np

    found = load_solver(cell.solver or "")
    random.seed(cell.seed)
    np.random.seed(cell.seed % 2**32)  # noqa: NPY002 (the generator that a solver draws from if it names none)
    return found


def _own_run(problem: Problem, solver: Solver, eps: float | None, cell: Cell) -> Run:
    """A run of the user's solver: the letters of the cell, ``eps`` among them, and the counts of our oracles.

    Raises
    ------
    InputError : no start; a y0, which a solver has no place for; more calls than the budget; what the solver raised.
    """
    from bilevel_verify.checks.requests.starts import point_of
    from bilevel_verify.checks.solvers.own_solver import run_own
    from bilevel_verify.oracles import BudgetExhausted

    if cell.y0 is not None:
        raise InputError(
            "own solver: it is handed x0 alone; hand it a start of y as a parameter, or choose it yourself"
        )
    start = cell.x0 if cell.x0 is not None else problem.start
    if start is None:
        raise InputError("own solver: the problem has no start of its own; give x0")
    letters = {**cell.parameters} if eps is None else {"eps": eps, **cell.parameters}
    options = {"budget": cell.budget, "seed": cell.seed, "eps": eps}
    try:
        return run_own(problem, solver, letters, point_of(problem, list(start))[0], options, None)
    except BudgetExhausted:
        raise InputError(
            f"own solver: more than budget = {cell.budget} oracle calls; oracles.budget says the limit"
        ) from None


def _audit(cell: Cell) -> tuple[AnswerRecord, list[Document]]:
    from bilevel_verify.audit import audit

    findings = audit(cell.statement)
    rows = []
    for found in findings:
        row = found.row.to_dict()
        rows.append(row | {"details": {**row["details"], "script": found.script, "repaired": found.repaired}})
    answer: AnswerRecord = {
        "statement": cell.statement,
        "problem": None,
        "verdict": None,
        "rows": rows,
        "hypotheses": [],
        "runs": [],
        "parameters": [],
    }
    return answer, []


def instance_of(problem: Problem | ProblemFamily, eps: tuple[float, ...]) -> Problem | None:
    """A problem as it is, or the member of a family at the first tolerance; None where that does not exist."""
    from bilevel_verify.problems.family import ProblemFamily

    if not isinstance(problem, ProblemFamily):
        return problem
    try:
        return problem.at(eps=eps[0]) if eps else None
    except InputError:
        return None
