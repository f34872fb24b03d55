"""``verify``: statements on a problem, in this process."""

from __future__ import annotations

import argparse
import contextlib
import functools
import sys
from typing import TYPE_CHECKING, Any

from bilevel_verify.campaign.cell import Scalar
from bilevel_verify.campaign.work import instance_of
from bilevel_verify.checks.requests.request import statements_of
from bilevel_verify.checks.verdicts.commands import with_commands
from bilevel_verify.cli import output, values
from bilevel_verify.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from bilevel_verify.checks import Verification
    from bilevel_verify.checks.verdicts.verdict import RowRecord
    from bilevel_verify.problems.family import ProblemFamily
    from bilevel_verify.problems.problem import Problem
    from bilevel_verify.worst import RandomVerification


def verify_command(arguments: argparse.Namespace) -> int:
    """Verify every named statement and card on the problem."""
    wanted = [*arguments.statements, *arguments.statement, *arguments.card]
    for name in arguments.card:
        if "/" in name and not name.endswith(".toml"):
            raise InputError(f"--card: {name}: a card is a .toml file")
    if not wanted:
        first = "ragd-gs/lemma-1 serves on two levels, `bilevel-verify list statements` says what else there is"
        raise InputError(f"name a statement (paper/id), a paper's key, or --card FILE.toml; {first}")
    drawn = _on_random(arguments, wanted) if arguments.random else []
    if arguments.random:
        found = [one for each in drawn for one in each.verifications]
        instances: list[Problem | None] = [one.problem for each in drawn for one in each.instances]
    else:
        problem, found = _verifications(arguments, wanted)
        instances = [instance_of(problem, tuple(values.tolerances(arguments.eps) or ()))] * len(found)
    rows = [row.to_dict() for one in found for row in one.claims]
    if arguments.out:
        from bilevel_verify.reporting import report

        page = report(found, arguments.out, title=f"Verification of {', '.join(wanted)}", problems=instances)
        output.say(f"report: {page}")
    if arguments.json:
        hypotheses = [row.to_dict() for one in found for row in one.hypotheses]
        counts = {"random": [one.to_dict() for one in drawn]} if drawn else {}
        output.print_json({"rows": rows, "hypotheses": hypotheses, **counts})
    else:
        output.verdict_table(rows)
        output.show(output.verdict_counts(rows))
        for remark in _remarks(rows):
            output.line(remark)
    for name in _left_out(found, wanted):
        output.say(f"{name} is an order of growth: one tolerance shows none, give several (--eps 0.1,0.03,0.01)")
    if arguments.certificates:
        output.say(_said_of_certificates(rows, arguments.certificates))
    return output.exit_status(rows, arguments.strict)


def _verifications(
    arguments: argparse.Namespace, wanted: list[str]
) -> tuple[Problem | ProblemFamily, list[Verification]]:
    """The problem (or family), and one verification of each statement with the command that repeats it."""
    from bilevel_verify.verifying import verify

    eps = values.tolerances(arguments.eps)
    x0 = values.numbers(arguments.x0, "--x0")
    letters = values.assignments(arguments.letters, "--set")
    problem, reference = values.problem_of(arguments)
    options: dict[str, Any] = {} if arguments.budget is None else {"budget": arguments.budget}
    options["seconds"] = arguments.seconds
    if arguments.y0 is not None:
        options["y0"] = values.numbers(arguments.y0, "--y0")
    letter, numbers = values.sweep_of(arguments.sweep)
    if letter is not None:
        options["sweep"] = {letter: numbers}
    method = _method(arguments)
    found = []
    for name in wanted:
        explicit, leaves = split_letters(name, letters)
        one = verify(
            problem,
            name,
            eps=eps,
            method=method,
            x0=x0,
            parameters=explicit,
            values=leaves,
            seed=arguments.seed,
            certificates=arguments.certificates,
            **options,
        )
        card = name.partition(".toml")[0] + ".toml" if ".toml" in name else None
        found.append(with_commands(one, reference, card, arguments.seed, arguments.budget, arguments.solver))
    return problem, found


def _remarks(rows: list[RowRecord]) -> list[str]:
    """What a table of verdicts leaves open: refutations that are no news, and runs that wanted more calls."""
    known = sum(row["verdict"] == "refuted" and bool(row["known_refuted"]) for row in rows)
    short = any((row["reason"] or "").startswith("budget: the run was not finished") for row in rows)
    said = [f"refuted and on record in the card: {known}; the exit status is about new ones"] if known else []
    return said + (["budget: --budget N lets the run make more oracle calls"] if short else [])


def _left_out(found: list[Verification], wanted: list[str]) -> list[str]:
    """Orders of own cards that no row is about, because a single tolerance shows no rate."""
    judged = {(f"{row.paper}/{row.statement}", row.claim) for one in found for row in one.claims}
    named = [pair for name in wanted if ".toml" in name for pair in statements_of(name)]
    claims = [(f"{card.key}/{entry.id}", claim) for card, entry in named for claim in entry.claims]
    rates = [(name, claim.id) for name, claim in claims if claim.is_order and claim.over in ("step", "epoch", "run")]
    return [f"{name}:{claim}" for name, claim in rates if (name, claim) not in judged]


def _said_of_certificates(rows: list[RowRecord], folder: str) -> str:
    """How many decided rows have certificates, in how many files, and how they are checked."""
    decided = [row["details"] for row in rows if row["verdict"] in ("holds", "refuted")]
    files = [file for details in decided for file in details.get("certificate_files", ())]
    with_files = sum("certificate_files" in details for details in decided)
    words = f"certificates: {with_files} of {len(decided)} decided rows, {len(files)} files"
    return f"{words}; check them: python -m bilevel_check {folder}" if files else words


def _method(arguments: argparse.Namespace) -> str | Callable[..., object] | None:
    """The method that is named, or the user's own solver, whose words go to stderr."""
    if not arguments.solver:
        named: str | None = arguments.method
        return named
    if arguments.method:
        raise InputError("give --method or --solver, not both")
    from bilevel_verify.campaign.solvers import load_solver, name_of

    name_of(arguments.solver)
    with contextlib.redirect_stdout(sys.stderr):
        solver = load_solver(arguments.solver)

    @functools.wraps(solver)
    def quiet(*handed: object) -> Any:
        with contextlib.redirect_stdout(sys.stderr):
            return solver(*handed)

    return quiet


def _on_random(arguments: argparse.Namespace, wanted: list[str]) -> list[RandomVerification]:
    """Random problems of the class of each statement, and a verification on each of them."""
    from bilevel_verify.worst import verify_random

    if arguments.seconds:
        raise InputError("--seconds is about named problems; --random N says how much is done")
    if arguments.certificates:
        raise InputError("--certificates is about named problems: verify a file that --random --out DIR writes")
    if arguments.problem or arguments.sweep or arguments.x0 or arguments.y0:
        raise InputError("--random draws problems and starts: leave out --problem, --x0, --y0 and --sweep")
    method = _method(arguments)
    eps = values.tolerances(arguments.eps)
    if eps is not None and len(eps) != 1:
        raise InputError("--random takes one tolerance in --eps, or none, and it is drawn too")
    letters = values.assignments(arguments.letters, "--set")
    found = []
    for name in wanted:
        explicit, leaves = split_letters(name, letters)
        one = verify_random(
            name, arguments.random, arguments.seed, eps=None if eps is None else eps[0], method=method,
            parameters=explicit, values=leaves, budget=arguments.budget, out=arguments.out, progress=output.say,
        )  # fmt: skip
        output.say(str(one))
        found.append(one)
    return found


def split_letters(statement: str, letters: dict[str, Scalar]) -> tuple[dict[str, Scalar], dict[str, Scalar]]:
    """Explicit letters as (prescribed by settings, leaves such as ``zeta`` or a constant), by the statement's card."""
    if not letters:
        return {}, {}
    from bilevel_verify.checks.requests.request import statements_of

    card = statements_of(statement)[0][0]
    leaves = {n for n, spec in card.letters.items() if spec.source in ("constants", "truth", "user", "problem")}
    explicit = {n: v for n, v in letters.items() if n not in leaves}
    return explicit, {n: v for n, v in letters.items() if n in leaves}
