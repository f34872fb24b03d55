"""One call from a problem and a statement to a verdict, and, where that is asked for, to certificates of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bilevel_verify.certificates.numbers.runs import CertificatesOfRuns, folder_of
from bilevel_verify.checks import engine
from bilevel_verify.checks.solvers.running import DEFAULT_BUDGET
from bilevel_verify.checks.verdicts.verification import Verification


def verify(
    problem: object,
    statement: object,
    *,
    eps: float | Sequence[float] | None = None,
    method: str | Callable[..., Any] | None = None,
    x0: object = None,
    parameters: Mapping[str, object] | None = None,
    values: Mapping[str, object] | None = None,
    readings: Sequence[str] | None = None,
    sweep: Mapping[str, Sequence[float]] | None = None,
    budget: int = DEFAULT_BUDGET,
    seed: int = 0,
    record: str = "all",
    progress: engine.Progress | None = None,
    certificates: str | Path | None = None,
    seconds: float | None = None,
    **options: object,
) -> Verification:
    """Check a statement on a problem.

    Parameters
    ----------
    problem : a problem, a family (knobs that depend on eps), or the name of a zoo entry.
    statement : "paper/id", a card, the path of a card file (all its statements), or "file.toml/id".
    eps : one tolerance or several; orders need several. ``sweep`` : values of another letter of a family, as in
        ``{"kappa": [16, 32, 64]}``.
    method : name, "literal" (the card's own steps), or ``solver(oracles, x0, parameters) -> iterates``.
    x0 : one start, or a list of starts; by default the problem's own.
    parameters : letters that win over the card's formulas. ``values`` : leaf letters (``zeta``, ``nu_f`` ...).
    certificates : a folder for certificates of decided rows about parameters and runs, a file for each place; rows say
        in their details which files they have (``python -m bilevel_check FOLDER`` checks them).
    budget : most oracle calls of one run. ``options`` : ``y0 v0 noise digits compiled``, as the methods take them.
    seconds : of the clock. Claims that are not judged then are undecided and say so; no other verdict depends on it.

    Raises
    ------
    InputError : an unknown name or letter, eps <= 0, a start of the wrong shape or outside the domain.
    """
    observer = None if certificates is None else CertificatesOfRuns(folder_of(certificates))
    return engine.verify(
        problem, statement, eps=eps, method=method, x0=x0, parameters=parameters, values=values, readings=readings,
        sweep=sweep, budget=budget, seed=seed, record=record, progress=progress, observer=observer,
        seconds=seconds, **options,
    )  # fmt: skip
