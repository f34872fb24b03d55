"""Results as plain JSON data: what the store keeps and the report shows, with nothing of Python in it.

A number that JSON cannot say (an infinity) becomes text; NaN becomes None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, TypeGuard

from bilevel_verify.campaign.answers import (
    AnswerRecord,
    CellRecord,
    ConstantRecord,
    Document,
    EnclosureRecord,
    Plain,
    ProblemRecord,
    RestoredAnswer,
    RunRecord,
    TreeRecord,
)
from bilevel_verify.campaign.cell import digest
from bilevel_verify.truth.arithmetic.enclosure import Enclosure

if TYPE_CHECKING:
    import sympy

    from bilevel_verify.checks.verdicts.verification import Verification
    from bilevel_verify.constants.bound.constant import Constant, Reason
    from bilevel_verify.methods.run import Run
    from bilevel_verify.problems.problem import Problem

LONGEST_LATEX = 3000
LONGEST_LIST = 24


def plain(value: object) -> Plain:
    """Any result as JSON data; unknown objects become their text, long arrays their shape."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return number(value)
    if isinstance(value, Enclosure):
        return enclosure_record(value)
    if _is_constant(value):
        return constant_record(value)
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        size = getattr(value, "size", 1)
        return plain(value.tolist()) if size <= LONGEST_LIST else f"array of shape {getattr(value, 'shape', ())}"
    return str(value)


def _is_constant(value: object) -> TypeGuard[Constant]:
    """Whether it is a constant; its room is not loaded to find that out."""
    return hasattr(value, "route") and hasattr(value, "why")


def number(value: float) -> float | str | None:
    """A number as JSON can say it."""
    return None if math.isnan(value) else value if math.isfinite(value) else str(value)


def constant_record(constant: Constant) -> ConstantRecord:
    """A constant with its provenance and its derivation as a tree."""
    return {
        "name": constant.name,
        "value": plain(constant.value),
        "lower": plain(constant.lower),
        "upper": plain(constant.upper),
        "side": constant.side,
        "certified": constant.status == "certified",
        "status": constant.status,
        "route": constant.route,
        "norm": constant.norm,
        "domain": constant.domain,
        "exact": None if constant.exact is None else _latex(constant.exact),
        "attained": constant.attained,
        "whole_space": constant.whole_space,
        "meaning": constant.meaning,
        "witness": plain(constant.witness),
        "why": _tree(constant.why),
        "cause": constant.why.cause(),
        "remedies": constant.why.remedies(),
    }


def _tree(reason: Reason) -> TreeRecord:
    return {"rule": reason.rule, "statement": reason.said(), "parts": [_tree(p) for p in reason.parts]}


def enclosure_record(enclosure: Enclosure) -> EnclosureRecord:
    """A true value with its error bar."""
    return {
        "value": plain(enclosure.value),
        "error": plain(enclosure.error),
        "certainty": enclosure.certainty,
        "method": enclosure.method,
        "attained": enclosure.attained,
    }


def run_record(run: Run) -> RunRecord:
    """What a run did: how it ended and what it cost, without its iterates and without times."""
    return {
        "method": run.method,
        "problem": run.problem,
        "eps": None if run.eps is None else number(run.eps),
        "status": run.status,
        "iterations": run.iterations,
        "epochs": run.epochs,
        "counts": {k: int(v) for k, v in sorted(run.counts.items()) if v},
        "x": plain(run.x),
        "seed": run.seed,
        "note": run.note,
        "parameters": {k: plain(v) for k, v in run.parameters.items() if _short(v)},
    }


def _short(value: object) -> bool:
    return getattr(value, "size", 1) <= LONGEST_LIST


def problem_record(problem: Problem) -> ProblemRecord:
    """A problem for a reader: formulas as LaTeX, domain, knobs, what its author states about it."""
    return {
        "name": problem.name,
        "title": problem.title,
        "kind": problem.kind,
        "source": problem.source,
        "note": problem.note,
        "f": formula_latex(problem, "f"),
        "g": formula_latex(problem, "g") if problem.g is not None else None,
        "text": {k: v[:LONGEST_LATEX] for k, v in problem.text.items()},
        "x": [s.name for s in problem.x[:LONGEST_LIST]],
        "y": [s.name for s in problem.y[:LONGEST_LIST]],
        "dx": problem.dx,
        "dy": problem.dy,
        "domain": {k: [_latex(a), _latex(b)] for k, (a, b) in list(problem.domain.items())[:LONGEST_LIST]},
        "feasible": None if problem.feasible is None else str(problem.feasible),
        "knobs": plain(problem.knobs),
        "known": plain(problem.known),
        "data": {k: list(v.shape) for k, v in problem.data.items()},
        "hash": problem.content_hash(),
    }


def formula_latex(problem: Problem, level: str) -> str:
    """LaTeX of ``f`` or ``g``: from the author's text where there is one (as it was understood), else from SymPy."""
    from bilevel_verify import language
    from bilevel_verify.errors import InputError

    text = problem.text.get(level)
    if text and len(text) <= LONGEST_LATEX:
        try:
            return language.to_latex(language.parse(text, limits=language.PROBLEM))
        except (InputError, TypeError):
            pass
    return _latex(getattr(problem, level))


def _latex(expression: sympy.Expr) -> str:
    import sympy

    if sympy.count_ops(expression) > 400:
        return rf"\text{{an expression of {sympy.count_ops(expression)} operations}}"
    return str(sympy.latex(expression))


def answer_of(verification: Verification, problem: Problem | None = None) -> tuple[AnswerRecord, list[Document]]:
    """A verification as data, with the documents it refers to by hash (``problem``, ``constants``, ``truth``)."""
    documents: list[Document] = []

    def keep(kind: Literal["constants", "truth", "problem"], body: object) -> str | None:
        if not body:
            return None
        document: Document = {"kind": kind, "body": body}
        documents.append(document)
        return digest(document)

    answer: AnswerRecord = {
        "statement": verification.statement,
        "problem": verification.problem,
        "verdict": verification.verdict,
        "rows": [row.to_dict() for row in verification.claims],
        "hypotheses": [row.to_dict() for row in verification.hypotheses],
        "runs": [run_record(run) for run in verification.runs if hasattr(run, "counts")],
        "parameters": [{k: plain(v) for k, v in p.items()} for p in verification.parameters],
        "constants": keep("constants", plain(verification.constants)),
        "truth": keep("truth", plain(verification.truth)),
        "problem_record": keep("problem", None if problem is None else problem_record(problem)),
    }
    return answer, documents


def restore(
    answer: AnswerRecord, document: Callable[[str], Document], cell: CellRecord | None = None
) -> RestoredAnswer:
    """An answer with its documents put back in, beside its cell; ``document`` maps a hash to a stored document."""
    constants, truth, problem = (
        document(reference)["body"] if reference else None
        for reference in (answer.get("constants"), answer.get("truth"), answer.get("problem_record"))
    )
    return {**answer, "constants": constants, "truth": truth, "problem_record": problem, "cell": cell or {}}
