"""Pictures of a report as data that stands inside the page: problems, the methods that ran on them, claims along runs.

Nothing is drawn for a problem whose content is not that of the zoo's problem of its name, and no run that does not
come out again as the report has it.
"""

from __future__ import annotations

import math
import re
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from bilevel_verify.checks.verdicts.verdict import RowRecord, related
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.files import slug
from bilevel_verify.methods.run import ENDED
from bilevel_verify.reporting.document import ReportDocument, RunEntry
from bilevel_verify.reporting.words import statement_name

if TYPE_CHECKING:
    from bilevel_verify.plot.progress import History
    from bilevel_verify.plot.style import Picture
    from bilevel_verify.problems.problem import Problem

PATIENCE = 120.0
"""Seconds for all pictures of a report; they decide nothing, so what comes after is left out."""
COUNT, CURVE, COARSE = 41, 81, 31
"""Points along each axis of contours; along a curve; along each axis of a field of curvature."""
PAGE, ROOM = 1_850_000, 100_000
"""Bytes of a page with its pictures (captions and frames are a twentieth more); bytes that they may take on any."""
METHODS, MOST_ITERATIONS, MOST_PLACES = 3, 5_000, 2_000
FAMOUS = ("refuted", "holds", "undecided")
"""Verdicts whose claims are worth a picture, the most serious first."""
_FINE = re.compile(r"(\d\.\d\d)\d+")
"""Coordinates finer than a hundredth of a point: a third of the bytes of contours, and nothing to see."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One picture: what stands under it, and its SVG as a data address."""

    caption: str
    source: str


@dataclass(slots=True)
class PagePictures:
    """What a page shows: problem -> its pictures, statement -> those of its claims."""

    problems: dict[str, list[Drawn]] = field(default_factory=dict)
    statements: dict[str, list[Drawn]] = field(default_factory=dict)


def page_pictures(document: ReportDocument, folder: Path, without: int = 0) -> PagePictures:
    """The pictures of a report; ``folder`` gets the SVG files of all, also of those without room in the page.

    A claim of every statement along its run, in turn with hyper-objectives, then runs, penalties and curvatures.

    Parameters
    ----------
    without : bytes of the page without pictures.
    """
    end, room = time.monotonic() + PATIENCE, max(ROOM, PAGE - without)
    found = PagePictures()
    problems = _problems_of(document)
    for place, key, kind, caption, draw in _wanted(document, problems):
        if time.monotonic() > end:
            break
        try:
            svg = draw()
        except (BilevelVerifyError, ArithmeticError, ValueError, LookupError):
            continue
        if svg is None:
            continue
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{slug(kind, *key.split('/'))}.svg").write_text(svg, encoding="utf-8")
        svg = _FINE.sub(r"\1", svg)
        size = len(zlib.compress(svg.encode())) * 4 // 3
        if size <= room:
            room -= size
            shown: dict[str, list[Drawn]] = getattr(found, place)
            shown.setdefault(key, []).append(Drawn(caption, "data:image/svg+xml," + quote(svg, safe=" =:/,;()'")))
    return found


Wanted = tuple[str, str, str, str, Callable[[], str | None]]
"""Where it stands, whose it is, kind, caption, how it is drawn (None: there is nothing to show)."""


def _problems_of(document: ReportDocument) -> dict[str, Problem]:
    """Problems of the zoo with the very content that was judged."""
    from bilevel_verify.reporting.build import zoo_problem

    known = {record["name"]: (zoo_problem(record["name"]), record["hash"]) for record in document["problems"]}
    return {name: p for name, (p, said) in known.items() if p is not None and p.content_hash() == said}


def _wanted(document: ReportDocument, problems: dict[str, Problem]) -> Iterator[Wanted]:
    """Claims and problems in turn: neither takes the time or the room of the other."""
    for pair in zip_longest(_of_claims(document, problems), _of_problems(document, problems)):
        yield from (one for one in pair if one is not None)


def _of_claims(document: ReportDocument, problems: dict[str, Problem]) -> Iterator[Wanted]:
    for statement, problem, row in _along_runs(document, problems):
        said = f"{row['claim']} on {problem}: measured against bound at every place of the run."
        yield "statements", statement, "bound", said, _later(_bound, problems[problem], row)


def _of_problems(document: ReportDocument, problems: dict[str, Problem]) -> Iterator[Wanted]:
    from bilevel_verify.plot.landscape import penalty, surface
    from bilevel_verify.plot.smoothness import curvature

    shown = {name: p for name, p in problems.items() if p.kind != "simple_bilevel" and p.dx in (1, 2)}
    for name, p in shown.items():
        yield "problems", name, "phi", "The hyper-objective, from truth.", _later(surface, p, COUNT)
    for name, p in problems.items():
        runs = _runs_on(document, name)
        if runs:
            yield from _of_runs(name, p, runs)
    for name, p in shown.items():
        if p.y:
            said = "The penalty functions beside the hyper-objective, and how far below it they lie."
            yield "problems", name, "penalty", said, _later(penalty, p, count=CURVE)
        said = "The curvature behind the Lipschitz constant, and the certified constant in the title."
        yield "problems", name, "curvature", said, _later(curvature, p, count=COARSE)


def _later(draw: Callable[..., Picture | None], *arguments: object, **options: object) -> Callable[[], str | None]:
    return lambda: None if (made := draw(*arguments, **options)) is None else made.to_svg()


def _along_runs(document: ReportDocument, problems: dict[str, Problem]) -> Iterator[tuple[str, str, RowRecord]]:
    """Statement -> its row over steps or epochs that says most: refuted before the smallest margin, 0 of 0 apart."""
    best: dict[str, tuple[tuple[int, float], str, RowRecord]] = {}
    for row in document["rows"]:
        margin, problem, sides = row["margin"], row["problem"], (row["measured"], row["bound"])
        decided = all(isinstance(v, int | float) for v in sides) and any(sides)
        if row["kind"] not in ("step", "epoch") or row["verdict"] not in FAMOUS or not decided:
            continue
        given = any(word in (row["reproduce"] or "") for word in (" --reading", " --set", " --knob"))
        if not isinstance(margin, int | float) or problem is None or problem not in problems:
            continue
        if not 3 <= (row["places"] or 0) <= MOST_PLACES or given:
            continue
        key = statement_name(row)
        rank = FAMOUS.index(row["verdict"]), float(margin)
        if key not in best or rank < best[key][0]:
            best[key] = rank, problem, row
    for key, (_, problem, row) in sorted(best.items(), key=lambda item: item[1][0]):
        yield key, problem, row


def _bound(problem: Problem, row: RowRecord) -> Picture | None:
    """The relation of a row along its run; None if the run does not give the margin that the row has."""
    from bilevel_verify.checks.series import series_of
    from bilevel_verify.plot.promises import one_series

    details, margin = row["details"], row["margin"]
    claim, eps = (row["claim"] or "").partition("/")[0], details.get("eps")
    if not isinstance(margin, int | float) or isinstance(eps, list):
        return None
    found = series_of(problem, statement_name(row), claim, eps=eps, x0=details.get("x0"), method=row["method"])
    for shown in found:
        tight = shown.tightest
        if (shown.left, shown.right) == (row["left"], related(row["right"], row.get("details"))) and tight is not None:
            again = shown.judgements[tight].margin
            return one_series(shown) if math.isclose(again, margin, rel_tol=1e-6, abs_tol=1e-12) else None
    return None


def _tolerance(run: RunEntry) -> float:
    return float(run["eps"] or 0.0)


def _runs_on(document: ReportDocument, name: str) -> list[RunEntry]:
    """One run a method on a problem, all from the start that most methods had: not too long to draw, the finest."""
    starts: dict[str, dict[str, RunEntry]] = {}
    for run in document["runs"]:
        usual = run["problem"] == name and not run["knobs"] and not run["given"] and run["seed"] is None
        usual = usual and run["status"] in ENDED
        if usual and 3 <= run["iterations"] <= MOST_ITERATIONS:
            best = starts.setdefault(repr(run["x0"]), {})
            known = best.get(run["method"])
            if known is None or _tolerance(run) < _tolerance(known):
                best[run["method"]] = run
    most = max(starts.values(), key=len, default={})
    return sorted(most.values(), key=lambda run: run["iterations"])[:METHODS]


def _of_runs(name: str, problem: Problem, runs: Sequence[RunEntry]) -> Iterator[Wanted]:
    """Convergence and paths of the runs of a report, both from runs made once more."""
    from bilevel_verify.plot.paths import trajectory
    from bilevel_verify.plot.progress import convergence

    made: dict[str, History] = {}

    def measured() -> Picture | None:
        made.update(again for run in runs if (again := _again(problem, run)) is not None)
        return convergence(problem, made) if made else None

    def paths() -> Picture | None:
        drawn = {label: one.run for label, one in made.items()}
        return trajectory(drawn, problem, count=COUNT) if drawn else None

    said = "Gap and gradient norm, from truth, against oracle calls."
    if problem.kind == "simple_bilevel":
        said = "Distance of both levels to their best values against oracle calls."
    yield "problems", name, "convergence", said, _later(measured)
    if problem.kind != "simple_bilevel" and problem.dx in (1, 2):
        said = "Iterates of these runs; squares are restarts, the circle is the start, the star the output."
        yield "problems", name, "path", said, _later(paths)


def _again(problem: Problem, run: RunEntry) -> tuple[str, History] | None:
    """A label and the run once more, with its costs; None if it does not end where the report says."""
    from bilevel_verify.plot.progress import history

    start = {} if run["x0"] is None else {"x0": run["x0"]}
    try:
        found = history(problem, run["method"], run["eps"], parameters=run["parameters"], **start)
    except BilevelVerifyError:
        return None
    same = found.run.iterations == run["iterations"] and [float(v) for v in found.run.x] == run["x"]
    return (f"{run['method']}, eps {run['eps']:g}" if run["eps"] else run["method"], found) if same else None
