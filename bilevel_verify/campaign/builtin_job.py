"""The main job: every card on the built-in zoo, by the plan that the checks room ships as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bilevel_verify.campaign.cell import Cell, Limits
from bilevel_verify.campaign.grids import Campaign
from bilevel_verify.errors import InputError
from bilevel_verify.language import nearest

LIMITS = Limits(seconds=300.0, megabytes=4000.0)


def main_job(paper: str | Sequence[str] | None = None) -> Campaign:
    """The cells of the main job, or those of one paper or of several.

    Raises
    ------
    InputError
        No cell of the main job is about one of the papers.
    """
    from bilevel_verify.checks import builtin_jobs

    wanted = {paper} if isinstance(paper, str) else set(paper or ())
    every = [(job["statement"].partition("/")[0], job) for job in builtin_jobs()]
    papers = sorted({paper for paper, _ in every})
    for one in sorted(wanted - set(papers)):
        raise InputError(f"the main job has nothing on {one!r}{nearest(one, papers)}; it has {', '.join(papers)}")
    cells: dict[str, Cell] = {}
    for job in (job for paper, job in every if not wanted or paper in wanted):
        for cell in cells_of(job):
            cells.setdefault(cell.content, cell)
    return Campaign(tuple(cells.values()), "main job", "Every card on the built-in zoo", LIMITS)


def cells_of(job: Mapping[str, Any]) -> list[Cell]:
    """The cells of one job of the plan: one for each of its starts."""
    eps = job.get("eps")
    tolerances = () if eps is None else tuple(float(e) for e in (eps if isinstance(eps, Sequence) else [eps]))
    problem = str(job["problem"])
    return [
        Cell(
            problem=problem if ":" in problem or problem.endswith(".toml") else f"zoo:{problem}",
            knobs=job.get("knobs") or {},
            statement=job["statement"],
            method=job.get("method"),
            eps=tolerances,
            x0=start,
            parameters=job.get("parameters") or {},
            values=job.get("values") or {},
            budget=job.get("budget"),
            control=job.get("control"),
        )
        for start in starts_of(job.get("x0"))
    ]


def starts_of(x0: Any) -> list[tuple[float, ...] | None]:
    """The starts of a job: none given (the problem's own), one, or several."""
    if x0 is None:
        return [None]
    if isinstance(x0, int | float):
        return [(float(x0),)]
    if any(isinstance(entry, list | tuple) for entry in x0):
        return [tuple(float(v) for v in start) for start in x0]
    return [tuple(float(v) for v in x0)]
