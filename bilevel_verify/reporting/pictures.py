"""Pictures of the problems of a report: their hyper-objectives, as data that stands inside the page."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.files import slug

Json = dict[str, Any]
PATIENCE = 40.0
"""Seconds for all pictures of a report; they decide nothing, so what comes after is left out."""
COUNT = 41


def problem_pictures(document: Json, folder: Path) -> dict[str, str]:
    """Problem -> its hyper-objective as a data address; the SVG files are written into ``folder`` too.

    Only problems of the zoo with the very content that was judged, of one or two upper-level variables.
    """
    from bilevel_verify.plot.landscape import surface
    from bilevel_verify.reporting.build import zoo_problem

    found: dict[str, str] = {}
    end = time.monotonic() + PATIENCE
    for record in document["problems"]:
        if time.monotonic() > end:
            break
        if record["kind"] == "simple_bilevel" or record["dx"] not in (1, 2):
            continue
        problem = zoo_problem(record["name"])
        if problem is None or problem.content_hash() != record["hash"]:
            continue
        try:
            svg = surface(problem, COUNT).to_svg()
        except (BilevelVerifyError, ArithmeticError, ValueError):
            continue
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{slug('phi', record['name'])}.svg").write_text(svg, encoding="utf-8")
        found[record["name"]] = "data:image/svg+xml," + quote(svg)
    return found
