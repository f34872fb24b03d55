"""``truth``, and the truth beside a run: every quantity with value, error bar, method and certificate."""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path
from typing import Any

from bilevel_verify.campaign.records import plain
from bilevel_verify.cli import output, values
from bilevel_verify.errors import BilevelVerifyError, InputError
from bilevel_verify.problems.problem import Problem

CERTIFICATES = {
    "proved": "exact arithmetic",
    "certified": "outward rounding all the way",
    "computed": "none: floating point with an error estimate",
    "sampled": "none: an estimate",
}


def truth_command(arguments: argparse.Namespace) -> int:
    """Print the true quantities of a problem at a point, with certificates where a folder is named."""
    problem = values.member_of(values.problem_of(arguments)[0])
    x = values.numbers(arguments.x, "--x")
    refuse_certificates(problem, arguments.certificates)
    if x is not None:
        from bilevel_verify.checks.requests.starts import point_of

        point_of(problem, x)
    at = x if x is not None else problem.start
    record: dict[str, Any] = {"problem": problem.name, "kind": problem.kind, "x": plain(at)}
    record["truth"] = truth_at(problem, at, arguments.seconds)
    if arguments.certificates:
        record["certificates"] = truth_certificates(problem, at, Path(arguments.certificates))
    if arguments.json:
        output.print_json(record)
        return 0
    rows = [("problem", problem.name), ("x", "the best point found" if at is None else ", ".join(map(str, at)))]
    output.table("", ["", ""], [*rows, *((name, shown(one)) for name, one in record["truth"].items())])
    if arguments.certificates:
        show_certificates(record["certificates"], arguments.certificates)
    return 0


def refuse_certificates(problem: Problem, folder: str | None) -> None:
    """Certificates of the truth are those of problems with one or two unconstrained levels.

    Raises
    ------
    InputError : they are asked for, and there are none for this kind.
    """
    if folder and problem.kind not in ("single_level", "bilevel", "minimax"):
        raise InputError(f"--certificates: none for problems of the kind {problem.kind}")


def truth_certificates(problem: Problem, x: Any, folder: Path) -> dict[str, dict[str, object]]:
    """Certificates of the least value, and of y* at a point if there is one, written."""
    from bilevel_verify.certificates.numbers.truth import certified_ball, certified_minimum
    from bilevel_verify.certificates.numbers.writing import write_certificates
    from bilevel_verify.truth import truth

    answers = truth(problem)
    numbers = [*certified_minimum(answers)]
    if problem.y and x is not None:
        numbers.append(certified_ball(answers, {v.name: Fraction(float(value)) for v, value in zip(problem.x, x)}))
    return write_certificates(problem.name, numbers, folder)


def show_certificates(said: dict[str, dict[str, object]], folder: str) -> None:
    """What the files show, a line for each number."""
    from bilevel_verify.certificates.numbers.writing import lines_of

    output.line("\n".join(["", *lines_of(said, Path(folder))]))


def truth_at(problem: Problem, x: Any, seconds: float | None = None) -> dict[str, object]:
    """True quantities at x, each with its error bar and certificate; what does not exist says why (``error``), and what
    the seconds that are given break off says so.
    """
    from bilevel_verify.truth import truth

    answers = truth(problem)
    found: dict[str, Any] = {}
    rows = answers.summary(x, seconds)
    if problem.kind == "simple_bilevel" and x is not None and seconds is None:
        rows.append(_distance(answers, x))
    for row in rows:
        name = str(row["quantity"])
        if row["value"] is None:
            found[name] = {"error": " ".join(str(row["method"]).split())}
        else:
            record = {k: plain(row[k]) for k in ("value", "error", "certainty", "method", "attained")}
            found[name] = record | {"certificate": CERTIFICATES[str(row["certainty"])]}
    return found


def _distance(answers: Any, x: object) -> dict[str, object]:
    try:
        found = answers.distance_to_solutions(x)
    except BilevelVerifyError as error:
        return {"quantity": "distance_to_solutions", "value": None, "method": str(error)}
    return {
        "quantity": "distance_to_solutions", "value": float(found.value), "error": found.error,
        "certainty": found.certainty, "method": found.method, "attained": None,
    }  # fmt: skip


def shown(value: Any) -> str:
    """One true quantity as text: value, error bar, certificate, method (or why there is none)."""
    from bilevel_verify.reporting.words import number

    if "value" not in value:
        return str(value["error"])
    inner = value["value"]
    if isinstance(inner, list):
        flat = [", ".join(number(v, 8) for v in row) if isinstance(row, list) else number(row, 8) for row in inner]
        text = ("; " if inner and isinstance(inner[0], list) else ", ").join(flat)
    else:
        text = number(inner, 8)
    ends = "" if value["attained"] is not False else ", not attained"
    return (
        f"{text} ± {number(value['error'], 2)} ({value['certainty']}: {value['certificate']}{ends})\n{value['method']}"
    )
