"""The command line that repeats a row, with the names that the caller used."""

from __future__ import annotations

import shlex
from dataclasses import replace

from bilevel_verify.checks.verdicts.verdict import Row
from bilevel_verify.checks.verdicts.verification import Verification


def with_commands(
    found: Verification,
    problem: str,
    card: str | None = None,
    seed: int = 0,
    budget: int | None = None,
    solver: str | None = None,
) -> Verification:
    """The verification with command lines that name the caller's own files, seed and budget.

    Parameters
    ----------
    problem : reference of the problem (``zoo:NAME`` or a path) with its knobs.
    card : path of a user's card, if it is one. ``solver`` : reference of a user's solver.
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
        words += [] if solver is None else ["--solver", solver]
        return replace(row, reproduce=shlex.join(words))

    hypotheses = tuple(mended(row) for row in found.hypotheses)
    return replace(found, claims=tuple(mended(row) for row in found.claims), hypotheses=hypotheses)
