"""Observed exponents beside those of the papers: what this report measured, and the long sweeps kept beforehand.

``bilevel-verify rates --out FOLDER`` writes ``rates.json``; a report into the same folder shows it. Elsewhere a report
shows the sweeps that are kept with the package, those of the papers that it is about.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from bilevel_verify.checks.verdicts.verdict import RowRecord, related
from bilevel_verify.reporting.document import Curve, PlotLine, Rates, ReportDocument, Series


class JudgedSweep(TypedDict):
    """A row that judges an order over a sweep, as a line of the table."""

    name: str
    statement: str
    problem: str | None
    method: str | None
    right: str
    where: str
    exponent: float
    last: float
    interval: list[float]
    points: int
    verdict: str
    reason: str


DATA = "rates.json"
MOST_SERIES = 500
BESIDE, KEPT = "measured into the folder of this report", "measured beforehand and kept with the package"
VERDICTS = ("consistent", "inconsistent", "uninformative", "undecided")


def rates_record(folder: str | Path, papers: Collection[str]) -> Rates | None:
    """The long sweeps that a report shows: ``origin`` and ``series``; None where there are none.

    Parameters
    ----------
    folder : of the report; a ``rates.json`` in it is shown whole.
    papers : keys of the papers that the report is about, for what is kept with the package.
    """
    beside = _read(Path(folder) / DATA)
    if beside:
        return {"origin": BESIDE, "series": beside}
    kept = [row for row in _read(kept_file()) if row["paper"] in papers]
    return {"origin": KEPT, "series": kept} if kept else None


def kept_file() -> Path:
    """Where the package keeps its sweeps: inside a wheel, or among the reports of a checkout."""
    here = Path(__file__).resolve().parent
    inside = here / DATA
    return inside if inside.exists() else here.parent.parent / "reports" / DATA


def _read(path: Path) -> list[Series]:
    """The series of a file, arranged for the page; none where it is missing or is something else."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return [arranged(row) for row in data[:MOST_SERIES]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return []


def arranged(row: Mapping[str, Any]) -> Series:
    """One series: what was promised, the fitted slope, the last local slope, the interval, the verdict."""
    low, high = row["interval"]
    points = row["points"]
    power = row["exponent"]
    if row["verdict"] not in VERDICTS:
        raise ValueError("not a verdict on a rate")
    return {
        "name": str(row["name"]),
        "paper": str(row["paper"]),
        "source": str(row["source"]),
        "letter": "1/eps" if row["letter"] == "eps" else str(row["letter"]),
        "range": [float(points[0]["value"]), float(points[-1]["value"])],
        "exponent": None if power is None else float(power),
        "log": bool(row["log"]),
        "slope": float(row["slope"]),
        "last": float(row["last"]),
        "interval": [float(low), float(high)],
        "points": len(points),
        "curve": _curve(row),
        "largest": float(max(p["count"] for p in points)),
        "verdict": str(row["verdict"]),
        "within": float(row["tolerance"]) if row["within"] else None,
        "note": "; ".join(part for part in (str(row["note"]), str(row.get("reason") or "")) if part),
    }


def _curve(row: Mapping[str, Any]) -> Curve:
    """Counts along the series with the promised slope through the last point, as a plot."""
    points = sorted((1 / float(p["value"]) if row["letter"] == "eps" else float(p["value"]), p) for p in row["points"])
    x, y = [v for v, _ in points], [float(p["count"]) for _, p in points]
    lines: list[PlotLine] = [{"name": "measured", "x": x, "y": y, "style": "points"}]
    if row["exponent"] is not None:
        slope = float(row["exponent"])
        bound = [y[-1] * (v / x[-1]) ** slope for v in x]
        lines.append({"name": f"promised slope {slope:.4g}", "x": x, "y": bound, "style": "bound"})
    return {
        "statement": str(row["name"]),
        "problem": str(row.get("problem", "")),
        "lines": lines,
        "x_label": "1/ε" if row["letter"] == "eps" else str(row["letter"]),
        "y_label": str(row.get("count", "")),
    }


def judged_here(rows: Sequence[RowRecord]) -> list[JudgedSweep]:
    """The rows of a report that judge an order over a sweep, as lines of the table."""
    found: list[JudgedSweep] = []
    for row in rows:
        details = row["details"] or {}
        interval = details.get("interval")
        if row["kind"] != "order" or not interval or row["bound"] is None or row["measured"] is None:
            continue
        name = "/".join(part for part in (row["paper"], row["statement"], row["claim"]) if part)
        found.append(
            {
                "name": name,
                "statement": "/".join(part for part in (row["paper"], row["statement"]) if part),
                "problem": row["problem"],
                "method": row["method"],
                "right": related(row["right"], details),
                "where": row["where"] or "",
                "exponent": float(row["bound"]),
                "last": float(row["measured"]),
                "interval": interval,
                "points": len(details.get("counts") or ()),
                "verdict": row["verdict"],
                "reason": row["reason"] or "",
            }
        )
    return found


def power(value: float | None, log: bool = False) -> str:
    """A promised exponent as text."""
    return "" if value is None else f"{value:.3f}" + (" + log" if log else "")


def lines(document: ReportDocument) -> list[list[str]]:
    """The whole table as text: what, in which letter, promised, fitted, last local slope, interval, verdict."""
    table = []
    for one in judged_here(document["rows"]):
        low, high = one["interval"]
        what = f"{one['name']} on {one['problem']}"
        ends = [power(one["exponent"]), "", f"{one['last']:.3f}", f"[{low:.3f}, {high:.3f}]", one["verdict"]]
        table.append([what, "sweep", *ends])
    kept = document.get("rates")
    for series in kept["series"] if kept else ():
        low, high = series["interval"]
        ends = [f"{series['slope']:.3f}", f"{series['last']:.3f}", f"[{low:.3f}, {high:.3f}]", series["verdict"]]
        table.append([series["name"], series["letter"], power(series["exponent"], series["log"]), *ends])
    return table
