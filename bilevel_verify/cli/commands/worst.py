"""``worst``: how tight the claims of a statement are, by search over families of problems."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from bilevel_verify.cli import output, values
from bilevel_verify.cli.commands.verifying import split_letters
from bilevel_verify.errors import InputError

if TYPE_CHECKING:
    from bilevel_verify.worst import WorstCase

INTERRUPTED = 130


def worst_command(arguments: argparse.Namespace) -> int:
    """Search, show the largest share of every bound; 1 where a bound is newly broken, 130 where it was interrupted."""
    from bilevel_verify.worst import worst_case

    if arguments.families:
        return _listed(arguments)
    if not arguments.statement:
        raise InputError("name a statement (paper/id, paper/id:claim or FILE.toml/id)")
    eps = values.tolerances(arguments.eps)
    if eps is not None and len(eps) != 1:
        raise InputError("--eps: one tolerance, or none, and it is searched too")
    explicit, leaves = split_letters(arguments.statement, values.assignments(arguments.letters, "--set"))
    found = worst_case(
        arguments.statement,
        family=arguments.family or None,
        problem=arguments.problem,
        method=arguments.method,
        eps=None if eps is None else eps[0],
        parameters=explicit,
        values=leaves,
        minutes=arguments.minutes,
        candidates=arguments.candidates,
        seed=arguments.seed,
        out=arguments.out,
        progress=_Progress(),
        **({} if arguments.budget is None else {"budget": arguments.budget}),
    )
    if arguments.json:
        output.print_json(found.to_dict())
    else:
        _show(found)
    if arguments.out:
        output.say(f"written: {arguments.out}")
    if found.interrupted:
        return INTERRUPTED
    return output.exit_status([one.row.to_dict() for one in found.claims if one.row is not None], strict=False)


class _Progress:
    """A line every few seconds on stderr."""

    def __init__(self) -> None:
        self.said = time.monotonic()

    def __call__(self, tried: int, seconds: float) -> None:
        if time.monotonic() - self.said > 5:
            self.said = time.monotonic()
            output.say(f"{tried} candidates, {tried / max(seconds, 1e-9):.3g} a second")


def _show(found: WorstCase) -> None:
    lines = [
        [f"{one.ratio:.6g}", one.claim, one.word, one.share.certainty, one.verdict or "", str(one.candidate)]
        for one in found.claims
    ]
    columns = ["share", "claim", "finding", "certainty", "verify", "worst instance"]
    output.table(found.statement, columns, lines, numeric=("share",))
    tail = str(found).splitlines()
    for line in [tail[0], *tail[1 + len(found.claims) :]]:
        output.show(line.strip())


def _listed(arguments: argparse.Namespace) -> int:
    from bilevel_verify.worst import families

    every = families()
    if arguments.json:
        output.print_json([{"name": one.name, "kind": one.kind, "title": one.title} for one in every])
        return 0
    lines = [[one.name, one.kind, ", ".join(r.name for r in one.ranges), one.title] for one in every]
    output.table("families", ["name", "kind", "free", "title"], lines)
    return 0
