"""``solve``: one run of a method, with the truth beside it if asked for."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bilevel_verify.campaign.records import run_record
from bilevel_verify.cli import output, values
from bilevel_verify.cli.commands.true_values import (
    refuse_certificates,
    show_certificates,
    shown,
    truth_at,
    truth_certificates,
)
from bilevel_verify.errors import BilevelVerifyError, InputError

if TYPE_CHECKING:
    from bilevel_verify.methods.run import Run
    from bilevel_verify.problems.problem import Problem


def solve_command(arguments: argparse.Namespace) -> int:
    """Run a method and show its output, counts and parameters."""
    from bilevel_verify.solving import solve

    tolerances = values.tolerances(arguments.eps)
    if tolerances is not None and len(tolerances) > 1:
        raise InputError("--eps: solve takes one tolerance; verify takes several")
    eps = tolerances[0] if tolerances else None
    problem = values.member_of(values.problem_of(arguments)[0], eps)
    if arguments.certificates and not arguments.truth:
        raise InputError("--certificates: certificates are of the truth; add --truth")
    refuse_certificates(problem, arguments.certificates)
    options: dict[str, Any] = {
        "x0": values.numbers(arguments.x0, "--x0"),
        "y0": values.numbers(arguments.y0, "--y0"),
        "budget": arguments.budget,
        "statement": arguments.statement,
    }
    if options["x0"] is not None:
        from bilevel_verify.checks.requests.starts import point_of

        point_of(problem, options["x0"])
    letters = values.assignments(arguments.letters, "--set")
    given = {k: v for k, v in options.items() if v is not None}
    limit = {} if arguments.seconds is None else {"seconds": arguments.seconds}
    run = solve(problem, arguments.method, eps=eps, parameters=letters, seed=arguments.seed, **given, **limit)
    record: dict[str, Any] = {**run_record(run), "versions": dict(run.versions), "seconds": run.seconds}
    if arguments.truth:
        record["truth"] = truth_at(problem, run.x, arguments.seconds)
        plain = not letters and not (given.keys() - {"x0", "statement"})  # the run that the theorem prescribes
        asked = {"eps": eps, "x0": options["x0"], "method": arguments.method, "seed": arguments.seed, **limit}
        record["promised"] = _promised(arguments.method, arguments.statement, problem if plain else None, asked)
    if arguments.certificates:
        record["certificates"] = truth_certificates(problem, run.x, Path(arguments.certificates))
    if arguments.out:
        _write(run, record, Path(arguments.out))
    if arguments.json:
        output.print_json(record)
    else:
        _show(record)
        if arguments.certificates:
            show_certificates(record["certificates"], arguments.certificates)
    return 0


def _promised(method: str, statement: str | None, problem: Problem | None, asked: dict[str, object]) -> list[str]:
    """What the theorem of the method says of its output, and beside it what the run reached.

    Parameters
    ----------
    problem : None where the run is not the one that the theorem speaks of (letters or a budget by hand).
    """
    from bilevel_verify.methods.registry import method_named
    from bilevel_verify.solving import statement_of

    try:
        card, entry = statement_of(method_named(method.partition(":")[0]), statement)
    except InputError:
        return []
    claims = [claim for claim in entry.claims if claim.over == "run" and "norm(" in str(claim.chain[0])]
    reached = _reached(problem, f"{card.key}/{entry.id}", [claim.id for claim in claims], asked)
    return [f"{card.key}/{entry.id}, {claim.id}: {claim.chain[0]}{reached.get(claim.id, '')}" for claim in claims]


def _reached(problem: Problem | None, statement: str, claims: list[str], asked: dict[str, Any]) -> dict[str, str]:
    """Claim -> both sides on this run with the verdict, as ``verify`` has them; nothing where it says nothing."""
    from bilevel_verify.checks import verify
    from bilevel_verify.reporting.words import number

    if problem is None or not claims:
        return {}
    try:
        rows = verify(problem, f"{statement}:{','.join(claims)}", **asked).claims
    except BilevelVerifyError:
        return {}
    found: dict[str, str] = {}
    for row in rows:
        name = (row.claim or "").partition("/")[0]  # of a chain the first link speaks
        if row.measured is not None and row.bound is not None:
            said = f"; reached {number(row.measured, 6)}, promised {number(row.bound, 6)}: {row.verdict}"
        else:
            said = f" ({row.verdict}: {row.reason})" if row.reason else ""
        found.setdefault(name, said)
    return found


def _show(record: dict[str, Any]) -> None:
    from bilevel_verify.methods.run import shown_letters
    from bilevel_verify.reporting.words import number

    counts = ", ".join(f"{k} {v}" for k, v in record["counts"].items())
    x = record["x"]
    point = ", ".join(number(v, 8) for v in x) if isinstance(x, list) else str(x)
    lines = [
        ("method", record["method"]),
        ("problem", record["problem"]),
        ("ended", record["status"]),
        ("x", point),
        ("iterations", f"{record['iterations']} in {record['epochs']} epoch{'s' if record['epochs'] != 1 else ''}"),
        ("oracle calls", counts or "none"),
        ("time", f"{record['seconds']:.3g} s"),
    ]
    lines += [(f"parameter {name}", value) for name, value in shown_letters(record["parameters"]).items()]
    for name, value in record.get("truth", {}).items():
        lines.append((f"true {name}", shown(value)))
    lines += [("promised", text) for text in record.get("promised", ())]
    if record["note"]:
        lines.append(("note", record["note"]))
    output.table("", ["", ""], lines)


def _write(run: Run, record: dict[str, object], folder: Path) -> None:
    import json

    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(record, indent=1, allow_nan=False, ensure_ascii=False)
        (folder / "run.json").write_text(text + "\n", encoding="utf-8")
        with (folder / "trace.csv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            trace = run.trace
            names = [n for n, rows in trace.sequences.items() if len(rows) == len(trace.k)]
            heads = [f"{n}{i + 1}" for n in names for i in range(trace.sequences[n].shape[1])]
            writer.writerow(["epoch", "k", *heads])
            for row in range(len(trace.k)):
                entries = [repr(float(v)) for n in names for v in trace.sequences[n][row]]
                writer.writerow([int(trace.epoch[row]), int(trace.k[row]), *entries])
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}: choose another --out folder") from None
