"""The built-in job: which statements are checked on which problems, as data.

``builtin.toml`` holds settings made by hand, ``grid.toml`` every statement with claims on instances on at least six
problems from two starts, ``worst.toml`` the worst instances that a search has found.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

JOB_FILES = tuple(Path(__file__).with_name(name) for name in ("builtin.toml", "grid.toml", "worst.toml"))


def builtin_jobs(paper: str | None = None, text: str | None = None) -> list[dict[str, Any]]:
    """Keyword arguments of :func:`bilevel_verify.checks.verify`, one mapping for each cell of the built-in job.

    A table ``[[job]]`` names ``problem`` (with ``knobs``), ``statements``, and optionally ``eps`` (numbers, or lists
    for sweeps), ``x0`` (one start or several), ``parameters``, ``values``, ``method``, ``budget`` and ``control`` (the
    verdict that a negative control must get). ``"paper/*"`` means every statement of a card that has claims, those in
    ``skip`` left out. Every statement with every entry of ``eps`` is one cell.

    Parameters
    ----------
    paper : only the statements of this paper.
    text : another job file as text.
    """
    texts = [path.read_text(encoding="utf-8") for path in JOB_FILES] if text is None else [text]
    jobs = [job for one in texts for job in tomllib.loads(one)["job"]]
    return [cell for job in jobs for cell in _cells(job) if paper in (None, cell["statement"].split("/")[0])]


def _cells(job: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    shared = {key: value for key, value in job.items() if key not in ("statements", "eps", "skip")}
    tolerances = job.get("eps")
    for name in job["statements"]:
        for statement in _names(name, job.get("skip", ())):
            for eps in tolerances if isinstance(tolerances, list) else [tolerances]:
                yield {**shared, "statement": statement, "eps": eps}


def _names(name: str, skip: Collection[str]) -> list[str]:
    """Statement names behind one entry of a job."""
    paper, _, identity = name.partition("/")
    if identity != "*":
        return [name]
    from bilevel_verify.theorems import load_card

    found = [entry.id for entry in load_card(paper).statements if entry.claims]
    return [f"{paper}/{one}" for one in found if one not in skip]
